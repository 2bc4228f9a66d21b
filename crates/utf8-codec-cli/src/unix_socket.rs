//! Unix sockets: the file of a listener from its creation to its removal.

use std::fs::{self, Permissions};
use std::io;
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, PermissionsExt};
use std::path::{Path, PathBuf};

use socket2::{Domain, SockAddr, Socket, Type};

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

/// The file of a listener. Dropping it removes the file, unless another file has replaced it.
#[derive(Debug)]
struct SocketFile {
    path: PathBuf,
    id: FileId,
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        if FileId::of(&self.path).is_ok_and(|id| id == self.id) {
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
    let file = SocketFile { path: path.to_owned(), id: FileId::of(path)? };
    // Connections are refused until `listen` is called, so none is accepted with the mode of the umask.
    if let Some(mode) = mode {
        fs::set_permissions(path, Permissions::from_mode(mode))?;
    }
    socket.listen(i32::try_from(backlog).unwrap_or(i32::MAX))?;
    socket.set_nonblocking(true)?;
    let listener = tokio::net::UnixListener::from_std(OwnedFd::from(socket).into())?;
    Ok(UnixListener { listener, file })
}

/// Removes a socket file if connections to it are refused.
fn remove_stale(path: &Path, address: &SockAddr) -> io::Result<()> {
    let in_use = |why| Err(io::Error::new(io::ErrorKind::AddrInUse, why));
    if !fs::symlink_metadata(path)?.file_type().is_socket() {
        return in_use("the file exists and is not a socket");
    }
    let probe = Socket::new(Domain::UNIX, Type::STREAM, None)?;
    // A blocking connect would wait if the queue is full.
    probe.set_nonblocking(true)?;
    match probe.connect(address) {
        Err(error) if error.kind() == io::ErrorKind::ConnectionRefused => fs::remove_file(path),
        Err(error) if error.kind() == io::ErrorKind::PermissionDenied => Err(error),
        _ => in_use("another process listens on it"),
    }
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
