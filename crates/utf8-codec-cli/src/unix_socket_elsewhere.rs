//! Stubs for systems without Unix sockets. `Address` does not parse Unix sockets there, so these types have no values.

use core::convert::Infallible;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::io;
use std::path::Path;

use tokio::io::{AsyncRead, AsyncWrite, Interest, ReadBuf, Ready};
use tokio::net::TcpListener;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId(Infallible);

impl FileId {
    pub(super) fn of(_: &Path) -> io::Result<Self> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

#[derive(Debug)]
pub(super) struct UnixListener(Infallible);

impl UnixListener {
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        match self.0 {}
    }

    pub(super) fn path(&self) -> &Path {
        match self.0 {}
    }

    pub(super) fn file(&self) -> FileId {
        match self.0 {}
    }
}

pub(super) fn bind(_: &Path, _: u32, _: Option<u32>) -> io::Result<UnixListener> {
    Err(io::ErrorKind::Unsupported.into())
}

/// `ListenAddress` does not parse `systemd` there.
pub(super) struct PassedSockets;

#[allow(dead_code)]
pub(super) enum PassedSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl PassedSockets {
    pub(super) fn from_env() -> Self {
        Self
    }

    pub(super) fn all_taken(&self) -> Result<(), &'static str> {
        Ok(())
    }

    pub(super) fn take(&mut self) -> io::Result<PassedSocket> {
        Err(io::ErrorKind::Unsupported.into())
    }
}

pub(super) fn credentials(stream: &UnixStream) -> (Option<u32>, Option<i32>) {
    match stream.0 {}
}

pub(super) async fn connect(_: &Path) -> io::Result<UnixStream> {
    Err(io::ErrorKind::Unsupported.into())
}

#[derive(Debug)]
pub(super) struct UnixStream(Infallible);

impl UnixStream {
    pub(super) async fn ready(&self, _: Interest) -> io::Result<Ready> {
        match self.0 {}
    }
}

impl AsyncRead for UnixStream {
    fn poll_read(self: Pin<&mut Self>, _: &mut Context<'_>, _: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}

impl AsyncWrite for UnixStream {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
        match self.0 {}
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
        match self.0 {}
    }
}
