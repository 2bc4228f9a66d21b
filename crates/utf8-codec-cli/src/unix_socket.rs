//! Unix sockets: the file of a listener from its creation to its removal. Sockets that the service manager passes.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use listenfd::ListenFd;
use rustix::net::sockopt::socket_acceptconn;
use socket2::{Domain, SockAddr, Socket, Type};
use tokio::net::TcpListener;

pub(super) use tokio::net::UnixStream;

/// Identifies a file independently of its path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct FileId {
    device: u64,
    inode: u64,
}

impl FileId {
    pub(super) fn of(path: &Path) -> io::Result<Self> {
        let metadata = fs::metadata(path)?;
        Ok(Self { device: metadata.dev(), inode: metadata.ino() })
    }
}

/// The file of a listener. Dropping it removes the file, unless another file has replaced it or the service manager
/// created it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    id: FileId,
    is_passed: bool,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if !self.is_passed && FileId::of(&self.path).is_ok_and(|id| id == self.id) {
            // If the directory is no longer writable, the next start removes the file.
            let _ = fs::remove_file(&self.path);
        }
    }
}

/// A listener on a Unix socket.
#[derive(Debug)]
pub(super) struct UnixListener {
    // Dropped first, so that no client connects while the file is being removed.
    listener: tokio::net::UnixListener,
    file: SocketFile,
}

impl UnixListener {
    /// Accepts a connection.
    ///
    /// # Cancel safety
    ///
    /// Cancel safe: no connection is lost if the future is dropped.
    pub(super) async fn accept(&self) -> io::Result<UnixStream> {
        let (stream, _) = self.listener.accept().await?;
        Ok(stream)
    }

    pub(super) fn path(&self) -> &Path {
        &self.file.path
    }

    pub(super) fn file(&self) -> FileId {
        self.file.id
    }
}

/// Binds a listener. A socket file without a listening process, which a killed process leaves, is replaced.
pub(super) fn bind(path: &Path, backlog: u32, mode: Option<u32>) -> io::Result<UnixListener> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    let address = SockAddr::unix(path)?;
    match socket.bind(&address) {
        Err(error) if error.kind() == io::ErrorKind::AddrInUse => {
            remove_stale(path, &address)?;
            socket.bind(&address)?;
        }
        bound => bound?,
    }
    let file = SocketFile { path: path.to_owned(), id: FileId::of(path)?, is_passed: false };
    // Connections are refused until `listen` is called, so none is accepted with the mode of the umask.
    if let Some(mode) = mode {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(OwnedFd::from(socket).into())?;
    Ok(UnixListener { listener, file })
}

/// The sockets that the service manager passes (`sd_listen_fds(3)`), in its order. Their names are ignored.
pub(super) struct PassedSockets {
    sockets: ListenFd,
    taken: usize,
}

pub(super) enum PassedSocket {
    Tcp(TcpListener),
    Unix(UnixListener),
}

impl PassedSockets {
    /// Reads `LISTEN_FDS` and `LISTEN_PID`, and removes them from the environment, so no other thread may run.
    pub(super) fn from_env() -> Self {
        Self { sockets: ListenFd::from_env(), taken: 0 }
    }

    /// Returns an error if a socket was not taken, whose clients would wait forever. Without `systemd` as an address, the
    /// sockets are for another program.
    pub(super) fn all_taken(&self) -> Result<(), &'static str> {
        if self.taken == 0 || self.taken == self.sockets.len() {
            return Ok(());
        }
        Err("the service manager passes more sockets than there are options with the address systemd")
    }

    /// Returns the next socket.
    pub(super) fn take(&mut self) -> io::Result<PassedSocket> {
        if self.taken == self.sockets.len() {
            return Err(io::Error::other("the service manager passed no socket for it (LISTEN_FDS)"));
        }
        let index = self.taken;
        self.taken += 1;
        if let Ok(Some(listener)) = self.sockets.take_tcp_listener(index) {
            must_listen(&listener)?;
            listener.set_nonblocking(true)?;
            return TcpListener::from_std(listener).map(PassedSocket::Tcp);
        }
        let listener = self.sockets.take_unix_listener(index)?.ok_or(io::ErrorKind::NotFound)?;
        must_listen(&listener)?;
        listener.set_nonblocking(true)?;
        let path = listener.local_addr()?.as_pathname().map(Path::to_owned);
        let path = path.ok_or_else(|| io::Error::other("the Unix socket that was passed has no path"))?;
        let file = SocketFile { id: FileId::of(&path)?, path, is_passed: true };
        let listener = tokio::net::UnixListener::from_std(listener)?;
        Ok(PassedSocket::Unix(UnixListener { listener, file }))
    }
}

fn must_listen(socket: &impl AsFd) -> io::Result<()> {
    if socket_acceptconn(socket)? {
        return Ok(());
    }
    Err(io::Error::other("the socket that was passed is a connection (Accept=yes)"))
}

/// Removes a socket file if connections to it are refused.
fn remove_stale(path: &Path, address: &SockAddr) -> io::Result<()> {
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return Err(in_use("the file exists and is not a socket"));
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A blocking connect would wait if the queue is full.
    probe.set_nonblocking(true)?;
    match probe.connect(address) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        _ => Err(in_use("another process listens on it")),
    }
}

fn in_use(why: &str) -> io::Error {
    io::Error::new(io::ErrorKind::AddrInUse, why)
}

/// Returns the user and the process of the peer, if the system reports them.
pub(super) fn credentials(stream: &UnixStream) -> (Option<u32>, Option<i32>) {
    match stream.peer_cred() {
        Ok(credentials) => (Some(credentials.uid()), credentials.pid()),
        Err(_) => (None, None),
    }
}

/// Connects to the socket at `path`.
pub(super) async fn connect(path: &Path) -> io::Result<UnixStream> {
    UnixStream::connect(path).await
}
