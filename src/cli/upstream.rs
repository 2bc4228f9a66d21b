//! The server that a proxy forwards to.

use core::time::Duration;
use std::io;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::{sleep, timeout};

use super::address::Address;
use super::net::{ListenerIdentity, Socket};
use super::sockets::is_out_of_descriptors;
use super::unix_socket;

/// The pause before another attempt if no descriptor is free.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The address of the server, and the settings for connections to it.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) address: Address,
    /// The listener of the proxy. A proxy that is its own upstream would open a new connection for each connection.
    pub(super) own: ListenerIdentity,
    pub(super) connect_timeout: Duration,
}

impl Upstream {
    /// Resolves the name, so that an invalid name is reported at the start and not for every connection. Also returns
    /// an error if the server is this proxy.
    pub(super) async fn check(&self) -> Result<(), String> {
        let address = &self.address;
        let is_own = match address {
            Address::Unix(path) => self.own.is_at_path(path),
            Address::Tcp(name) => lookup_host(name)
                .await
                .map_err(|error| format!("cannot resolve the upstream {address}: {error}"))?
                .any(|address| self.own.is_at(address)),
        };
        if is_own { Err(format!("the upstream {address} is this proxy")) } else { Ok(()) }
    }

    /// Connects to the first address of the server that accepts. If no descriptor is free, it tries again until the
    /// timeout.
    pub(super) async fn connect(&self) -> io::Result<Socket> {
        timeout(self.connect_timeout, async {
            loop {
                match self.try_connect().await {
                    Err(error) if is_out_of_descriptors(&error) => sleep(RETRY_INTERVAL).await,
                    connected => return connected,
                }
            }
        })
        .await?
    }

    async fn try_connect(&self) -> io::Result<Socket> {
        match &self.address {
            Address::Unix(path) if self.own.is_at_path(path) => Err(is_own()),
            Address::Unix(path) => unix_socket::connect(path).await.map(Socket::Unix),
            Address::Tcp(name) => self.connect_tcp(name).await.map(Socket::Tcp),
        }
    }

    async fn connect_tcp(&self, name: &str) -> io::Result<TcpStream> {
        let mut last = io::ErrorKind::NotFound.into();
        for address in lookup_host(name).await? {
            if self.own.is_at(address) {
                last = is_own();
                continue;
            }
            match TcpStream::connect(address).await {
                Ok(stream) => return Ok(stream),
                Err(error) => last = error,
            }
        }
        Err(last)
    }
}

fn is_own() -> io::Error {
    io::Error::other("the upstream is this proxy")
}
