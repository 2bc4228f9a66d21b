//! The server that a proxy forwards to.

use core::net::SocketAddr;
use core::time::Duration;
use std::io;

use tokio::net::{TcpStream, lookup_host};
use tokio::time::{Instant, sleep, timeout_at};

use crate::address::Address;
use crate::net::{ListenerIdentity, Socket};
use crate::sockets::is_out_of_descriptors;
use crate::unix_socket;

/// The pause before another attempt after a temporary error.
const RETRY_INTERVAL: Duration = Duration::from_millis(100);

/// The address of the server, and the settings for connections to it.
#[derive(Debug)]
pub(super) struct Upstream {
    pub(super) address: Address,
    /// The listener of the proxy. A proxy that is its own upstream would open a new connection for each connection.
    pub(super) own: ListenerIdentity,
    /// The timeout of [`connect`](Self::connect); 0 means no limit.
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

    /// Connects to the first address of the server that accepts. If no descriptor is free, or the queue of a Unix socket
    /// is full, it tries again until the timeout.
    pub(super) async fn connect(&self) -> io::Result<Socket> {
        let over = Some(self.connect_timeout).filter(|timeout| !timeout.is_zero());
        let over = over.and_then(|timeout| Instant::now().checked_add(timeout));
        loop {
            match self.try_connect(over).await {
                Err(error) if is_temporary(&error) && over.is_none_or(|over| Instant::now() < over) => {
                    sleep(RETRY_INTERVAL).await;
                }
                connected => return connected,
            }
        }
    }

    async fn try_connect(&self, over: Option<Instant>) -> io::Result<Socket> {
        match &self.address {
            Address::Unix(path) if self.own.is_at_path(path) => Err(is_own()),
            Address::Unix(path) => unix_socket::connect(path).await.map(Socket::Unix),
            Address::Tcp(name) => {
                let addresses: Vec<_> = within(over, lookup_host(name)).await?.collect();
                connect_to_any(&addresses, self.own, over).await.map(Socket::Tcp)
            }
        }
    }
}

/// Connects to the first of these addresses that accepts. The time until `over` is divided among them, so that one that
/// does not respond does not use up the time of the others.
async fn connect_to_any(
    addresses: &[SocketAddr],
    own: ListenerIdentity,
    over: Option<Instant>,
) -> io::Result<TcpStream> {
    let mut last = io::ErrorKind::NotFound.into();
    for (&address, left) in addresses.iter().zip((1..=addresses.len() as u32).rev()) {
        if own.is_at(address) {
            last = is_own();
            continue;
        }
        let now = Instant::now();
        let share = over.map(|over| now + over.saturating_duration_since(now) / left);
        match within(share, TcpStream::connect(address)).await {
            Ok(stream) => return Ok(stream),
            Err(error) => last = error,
        }
    }
    Err(last)
}

/// Waits for the result until a time, or without a limit.
async fn within<T>(over: Option<Instant>, result: impl Future<Output = io::Result<T>>) -> io::Result<T> {
    match over {
        Some(over) => timeout_at(over, result).await?,
        None => result.await,
    }
}

/// Whether another attempt can succeed soon. A Unix socket whose queue is full returns `WouldBlock`, where a TCP socket
/// would wait.
fn is_temporary(error: &io::Error) -> bool {
    is_out_of_descriptors(error) || error.kind() == io::ErrorKind::WouldBlock
}

fn is_own() -> io::Error {
    io::Error::other("the upstream is this proxy")
}

// Other systems refuse a connection if the queue is full.
#[cfg(all(test, target_os = "linux"))]
mod tests {
    use socket2::{Domain, Socket as RawSocket, Type};
    use tokio::net::TcpListener;

    use super::*;

    #[tokio::test]
    async fn an_address_that_does_not_respond_leaves_time_for_the_next_one() {
        let any = SocketAddr::from(([127, 0, 0, 1], 0));
        let hanging = RawSocket::new(Domain::IPV4, Type::STREAM, None).unwrap();
        hanging.bind(&any.into()).unwrap();
        hanging.listen(0).unwrap();
        let address = hanging.local_addr().unwrap().as_socket().unwrap();
        // These connections fill the queue, so that the next one does not complete.
        let soon = || Some(Instant::now() + Duration::from_millis(200));
        let mut queued = Vec::new();
        while let Ok(stream) = within(soon(), TcpStream::connect(address)).await {
            queued.push(stream);
        }
        let good = TcpListener::bind(any).await.unwrap();
        let addresses = [address, good.local_addr().unwrap()];
        let own = ListenerIdentity::Tcp(any);
        let over = Instant::now() + Duration::from_secs(1);
        let stream = connect_to_any(&addresses, own, Some(over)).await.unwrap();
        assert_eq!(stream.peer_addr().unwrap(), addresses[1]);
        let error = connect_to_any(&addresses[..1], own, soon()).await.unwrap_err();
        assert_eq!(error.kind(), io::ErrorKind::TimedOut);
    }
}
