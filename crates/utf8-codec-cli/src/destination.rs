//! Where a path leads: to an open descriptor of this process, or to a name in a directory.

use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::process;

use crate::files::directory_of;

/// The destination of a path.
pub(super) enum Destination {
    /// An open descriptor of this process, such as `/dev/stdout` or `/dev/fd/3`.
    Descriptor(u32),
    /// A path whose last component is not a symbolic link. The file may not exist.
    Path(PathBuf),
}

/// The maximum number of symbolic links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Follows symbolic links in the last component of a path, one by one. `canonicalize` would not detect a descriptor: it
/// resolves `/proc/self/fd/1` to the file that is open there.
pub(super) fn resolve(path: &Path) -> io::Result<Destination> {
    let mut path = path.to_owned();
    for _ in 0..MAX_LINKS {
        let name = path.file_name().ok_or(io::ErrorKind::IsADirectory)?;
        let directory = fs::canonicalize(directory_of(&path))?;
        if let Some(number) = descriptor(&directory, Path::new(name)) {
            return Ok(Destination::Descriptor(number));
        }
        let whole = directory.join(name);
        if !fs::symlink_metadata(&whole).is_ok_and(|metadata| metadata.is_symlink()) {
            return Ok(Destination::Path(whole));
        }
        path = directory.join(fs::read_link(&whole)?);
    }
    // `fs::metadata` follows the links again and returns the error of the system for too many links.
    Err(fs::metadata(&path).err().unwrap_or_else(|| io::Error::other("too many levels of symbolic links")))
}

/// Returns the number of the open descriptor if the file `name` in `directory` is one, such as `/dev/fd/3`.
fn descriptor(directory: &Path, name: &Path) -> Option<u32> {
    let own = Path::new("/proc").join(process::id().to_string());
    let is_own =
        directory == Path::new("/dev/fd") || (directory.starts_with(own) && directory.ends_with("fd"));
    if is_own { name.to_str()?.parse().ok() } else { None }
}

/// Duplicates an open descriptor. If the path were opened instead, writing would start at the beginning of the file.
#[cfg(target_os = "linux")]
pub(super) fn duplicate(number: u32) -> io::Result<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let number = i32::try_from(number).map_err(|_| io::ErrorKind::NotFound)?;
    let duplicate = pidfd_getfd(own, number, PidfdGetfdFlags::empty())
        .map_err(|error| io::Error::other(format!("{error}; redirect stdout instead: >&{number}")))?;
    Ok(duplicate.into())
}

/// On these systems, opening the path duplicates the descriptor.
#[cfg(not(target_os = "linux"))]
pub(super) fn duplicate(number: u32) -> io::Result<File> {
    fs::OpenOptions::new().write(true).open(format!("/dev/fd/{number}"))
}
