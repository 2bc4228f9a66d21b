//! Listeners and connections over TCP and Unix sockets.

use core::fmt;
use core::net::{IpAddr, SocketAddr};
use core::pin::Pin;
use core::task::{Context, Poll};
use core::time::Duration;
use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::{TcpListener, TcpStream, lookup_host};
use tokio::time::{Instant, sleep};

use crate::address::Address;
use crate::sockets;
use crate::unix_socket::{self, FileId, PassedSocket, PassedSockets, UnixListener, UnixStream};

/// The pause between two questions whether a peer has left.
const LEFT_INTERVAL: Duration = Duration::from_millis(100);

/// A bound listener. Dropping a listener on a Unix socket removes the socket file.
#[derive(Debug)]
pub(super) enum Listener {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl Listener {
    /// Binds the first address of the name that can be bound. `mode` is the mode of the file of a Unix socket. Without
    /// it the umask determines the mode.
    pub(super) async fn bind(address: &Address, backlog: u32, mode: Option<u32>) -> io::Result<Self> {
        let name = match address {
            Address::Unix(path) => return unix_socket::bind(path, backlog, mode).map(Self::Unix),
            Address::Tcp(name) => name,
        };
        let mut last = io::ErrorKind::NotFound.into();
        for address in lookup_host(name).await? {
            match sockets::listen(address, backlog) {
                Ok(listener) => return Ok(Self::Tcp(listener)),
                Err(error) => last = error,
            }
        }
        Err(last)
    }

    /// Takes the next socket that the service manager passes.
    pub(super) fn take(passed: &mut PassedSockets) -> io::Result<Self> {
        Ok(match passed.take()? {
            PassedSocket::Tcp(listener) => Self::Tcp(listener),
            PassedSocket::Unix(listener) => Self::Unix(listener),
        })
    }

    /// Accepts a connection.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no connection is lost if the future is dropped.
    pub(super) async fn accept(&self) -> io::Result<(Socket, Peer)> {
        match self {
            Self::Tcp(listener) => {
                let (stream, address) = listener.accept().await?;
                Ok((Socket::Tcp(stream), Peer::Tcp(address)))
            }
            Self::Unix(listener) => {
                let stream = listener.accept().await?;
                let (uid, pid) = unix_socket::credentials(&stream);
                Ok((Socket::Unix(stream), Peer::Unix { uid, pid }))
            }
        }
    }

    /// Returns the address to connect to.
    pub(super) fn address(&self) -> io::Result<Address> {
        Ok(match self {
            Self::Tcp(listener) => Address::Tcp(listener.local_addr()?.to_string()),
            Self::Unix(listener) => Address::Unix(listener.path().to_owned()),
        })
    }

    pub(super) fn identity(&self) -> io::Result<ListenerIdentity> {
        Ok(match self {
            Self::Tcp(listener) => ListenerIdentity::Tcp(listener.local_addr()?),
            Self::Unix(listener) => ListenerIdentity::Unix(listener.file()),
        })
    }
}

/// Identifies a listener, to detect whether an address leads to it.
#[derive(Clone, Copy, Debug)]
pub(super) enum ListenerIdentity {
    Tcp(SocketAddr),
    Unix(FileId),
}

impl ListenerIdentity {
    /// Whether TCP connections to `address` reach the listener.
    pub(super) fn is_at(self, address: SocketAddr) -> bool {
        let Self::Tcp(own) = self else { return false };
        address.port() == own.port()
            && (address.ip().to_canonical() == own.ip().to_canonical()
                || own.ip().is_unspecified()
                    && (address.is_ipv4() || own.is_ipv6())
                    && sockets::is_own(address))
    }

    /// Whether connections to the Unix socket at `path` reach the listener.
    pub(super) fn is_at_path(self, path: &Path) -> bool {
        let Self::Unix(own) = self else { return false };
        FileId::of(path).is_ok_and(|file| file == own)
    }
}

/// The client of a connection.
#[derive(Clone, Copy, Debug)]
pub(super) enum Peer {
    Tcp(SocketAddr),
    /// The user and the process that connected, if the system reports them.
    Unix {
        uid: Option<u32>,
        pid: Option<i32>,
    },
}

impl Peer {
    /// Returns the address that the limits for each source use. The clients of a Unix socket have none.
    pub(super) fn ip(self) -> Option<IpAddr> {
        match self {
            Self::Tcp(address) => Some(address.ip()),
            Self::Unix { .. } => None,
        }
    }
}

impl fmt::Display for Peer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Tcp(address) => address.fmt(f),
            Self::Unix { uid, pid } => {
                f.write_str("unix:")?;
                if let Some(uid) = uid {
                    write!(f, "uid={uid}")?;
                }
                if let Some(pid) = pid {
                    write!(f, ",pid={pid}")?;
                }
                Ok(())
            }
        }
    }
}

/// A connection.
#[derive(Debug)]
pub(super) enum Socket {
    Tcp(TcpStream),
    Unix(UnixStream),
}

impl Socket {
    /// Returns the address of this end. The clients of a Unix socket have none.
    pub(super) fn address(&self) -> Option<SocketAddr> {
        match self {
            Self::Tcp(stream) => stream.local_addr().ok(),
            Self::Unix(_) => None,
        }
    }

    /// Turns off Nagle's algorithm. Unix sockets do not have it.
    pub(super) fn set_nodelay(&self) -> io::Result<()> {
        match self {
            Self::Tcp(stream) => stream.set_nodelay(true),
            Self::Unix(_) => Ok(()),
        }
    }

    /// Resets the connection when the socket is dropped. A Unix socket cannot be reset: its peer receives the end of
    /// the stream, or on Linux a reset if it has sent bytes that were not read.
    pub(super) fn reset(&self) {
        if let Self::Tcp(stream) = self {
            sockets::reset(stream);
        }
    }

    /// Waits until the peer has left: until it has reset the connection, or for `grace` after it has ended its stream,
    /// because a peer that has only shut down its write half still waits for a response.
    pub(super) async fn left(&self, grace: Duration) {
        let mut over = None;
        while over.is_none_or(|over| Instant::now() < over) {
            // An end that follows unread bytes cannot be waited for without reading them.
            sleep(LEFT_INTERVAL).await;
            match self.readiness().await {
                Ok(ready) if !ready.is_read_closed() => {}
                Ok(ready) if !ready.is_write_closed() => over = over.or(Instant::now().checked_add(grace)),
                _ => return,
            }
        }
    }

    /// Returns at once: a socket to which nothing was written is writable.
    async fn readiness(&self) -> io::Result<Ready> {
        let interest = Interest::READABLE | Interest::WRITABLE;
        match self {
            Self::Tcp(stream) => stream.ready(interest).await,
            Self::Unix(stream) => stream.ready(interest).await,
        }
    }

    /// Waits until a reset would discard nothing, until there is no progress for `timeout`, or until the progress is
    /// slower than `min_rate` bytes per second. Bytes that were written to a Unix socket are already in the queue of its
    /// peer.
    pub(super) async fn delivered(&self, timeout: Duration, min_rate: u64) {
        if let Self::Tcp(stream) = self {
            sockets::delivered(stream, timeout, min_rate).await;
        }
    }
}

impl AsyncRead for Socket {
    fn poll_read(
        self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_read(cx, buffer),
            Self::Unix(stream) => Pin::new(stream).poll_read(cx, buffer),
        }
    }
}

impl AsyncWrite for Socket {
    fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, bytes: &[u8]) -> Poll<io::Result<usize>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_write(cx, bytes),
            Self::Unix(stream) => Pin::new(stream).poll_write(cx, bytes),
        }
    }

    fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_flush(cx),
            Self::Unix(stream) => Pin::new(stream).poll_flush(cx),
        }
    }

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.get_mut() {
            Self::Tcp(stream) => Pin::new(stream).poll_shutdown(cx),
            Self::Unix(stream) => Pin::new(stream).poll_shutdown(cx),
        }
    }
}
