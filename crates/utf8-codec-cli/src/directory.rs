//! Directories as open descriptors. What is done to a name in such a directory is not redirected if somebody else replaces
//! a directory above it, or the file itself, by a symbolic link.

use std::ffi::OsStr;
use std::fs::{File, Metadata};
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::path::{Component, Path};

use rustix::fs::{self, Access, AtFlags, CWD, Mode, OFlags};
use rustix::io::Errno;

/// Opening a FIFO without `NONBLOCK` would wait for a writer.
const READ: OFlags = OFlags::RDONLY
    .union(OFlags::CLOEXEC)
    .union(OFlags::NOFOLLOW)
    .union(OFlags::NONBLOCK)
    .union(OFlags::NOCTTY);

const DIRECTORY: OFlags = OFlags::RDONLY.union(OFlags::CLOEXEC).union(OFlags::DIRECTORY);

#[derive(Debug)]
pub(super) struct Directory(OwnedFd);

impl Directory {
    /// Opens a directory by its path. Symbolic links are followed.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        Self::or_unreadable(DIRECTORY, |flags| fs::openat(CWD, path, flags, Mode::empty()))
    }

    /// Opens a directory below this one. No component of the path may be a symbolic link.
    pub(super) fn subdirectory(&self, path: &Path) -> io::Result<Self> {
        let path = if path.as_os_str().is_empty() { Path::new(".") } else { path };
        Self::or_unreadable(DIRECTORY | OFlags::NOFOLLOW, |flags| self.below(path, flags))
    }

    /// Opens a file below this directory for reading. No component of the path may be a symbolic link.
    pub(super) fn open_file(&self, path: &Path) -> io::Result<File> {
        match self.below(path, READ) {
            Ok(file) => Ok(file.into()),
            Err(Errno::LOOP) => Err(io::Error::other("a symbolic link has taken its place")),
            Err(error) => Err(error.into()),
        }
    }

    /// Returns the metadata of a file in this directory, which is not a symbolic link.
    pub(super) fn metadata(&self, name: &OsStr) -> io::Result<Metadata> {
        self.open_file(Path::new(name))?.metadata()
    }

    pub(super) fn exists(&self, name: &OsStr) -> bool {
        fs::statat(&self.0, name, AtFlags::SYMLINK_NOFOLLOW).is_ok()
    }

    /// Returns an error if the user may not write to the file. The file is not opened, because an overlay file system
    /// would then copy it, which looks like a change.
    pub(super) fn check_writable(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::accessat(&self.0, name, Access::WRITE_OK, AtFlags::empty())?)
    }

    /// Creates a file with mode 0600, or if it is not private with that of any new file. Fails if the name exists.
    pub(super) fn create(&self, name: &OsStr, is_private: bool) -> io::Result<File> {
        let flags = OFlags::RDWR | OFlags::CREATE | OFlags::EXCL | OFlags::NOFOLLOW | OFlags::CLOEXEC;
        let mode = if is_private { 0o600 } else { 0o666 };
        Ok(fs::openat(&self.0, name, flags, Mode::from_raw_mode(mode))?.into())
    }

    pub(super) fn remove(&self, name: &OsStr) -> io::Result<()> {
        Ok(fs::unlinkat(&self.0, name, AtFlags::empty())?)
    }

    pub(super) fn rename(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(fs::renameat(&self.0, from, &self.0, to)?)
    }

    pub(super) fn hard_link(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        Ok(fs::linkat(&self.0, from, &self.0, to, AtFlags::empty())?)
    }

    /// Exchanges two names. Returns false if the system or the file system cannot do this.
    #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
    pub(super) fn exchange(&self, a: &OsStr, b: &OsStr) -> io::Result<bool> {
        match fs::renameat_with(&self.0, a, &self.0, b, fs::RenameFlags::EXCHANGE) {
            Ok(()) => Ok(true),
            // `PERM` comes from sandboxes that know no `renameat2`. `rename` also returns it, if it has another reason.
            Err(error) if is_unsupported(error) || error == Errno::PERM => Ok(false),
            Err(error) => Err(error.into()),
        }
    }

    #[cfg(not(any(target_os = "linux", target_os = "android", target_vendor = "apple")))]
    pub(super) fn exchange(&self, _: &OsStr, _: &OsStr) -> io::Result<bool> {
        Ok(false)
    }

    /// Renames a file. Fails if the new name exists.
    pub(super) fn rename_new(&self, from: &OsStr, to: &OsStr) -> io::Result<()> {
        #[cfg(any(target_os = "linux", target_os = "android", target_vendor = "apple"))]
        match fs::renameat_with(&self.0, from, &self.0, to, fs::RenameFlags::NOREPLACE) {
            Err(error) if is_unsupported(error) => {}
            renamed => return Ok(renamed?),
        }
        self.hard_link(from, to)?;
        self.remove(from)
    }

    /// Flushes renames to disk. Otherwise the old content may come back after a power failure.
    pub(super) fn sync(&self) -> io::Result<()> {
        match File::from(self.0.try_clone()?).sync_all() {
            // The directory is not readable, or the file system does not support `fsync` of a directory.
            Err(error)
                if Errno::from_io_error(&error).is_some_and(|error| {
                    is_unsupported(error) || error == Errno::BADF || error == Errno::ACCESS
                }) =>
            {
                Ok(())
            }
            synced => synced,
        }
    }

    /// Opens a directory for reading or, if it is not readable, without: its files can be used nevertheless.
    fn or_unreadable(flags: OFlags, open: impl Fn(OFlags) -> Result<OwnedFd, Errno>) -> io::Result<Self> {
        let opened = match open(flags) {
            #[cfg(any(target_os = "linux", target_os = "android"))]
            Err(Errno::ACCESS) => open(flags | OFlags::PATH),
            opened => opened,
        };
        opened.map(Self).map_err(|error| match error {
            Errno::LOOP => io::Error::other("a symbolic link has taken the place of its directory"),
            error => error.into(),
        })
    }

    /// Opens a path below this directory in one system call, or in one for each component.
    fn below(&self, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
        #[cfg(any(target_os = "linux", target_os = "android"))]
        {
            let resolve = fs::ResolveFlags::BENEATH | fs::ResolveFlags::NO_SYMLINKS;
            match fs::openat2(&self.0, path, flags, Mode::empty(), resolve) {
                // `PERM` comes from sandboxes that know no `openat2`.
                Err(Errno::NOSYS | Errno::PERM | Errno::AGAIN) => {}
                opened => return opened,
            }
        }
        below(self.0.as_fd(), path, flags)
    }
}

/// Whether the system or the file system has no such operation.
fn is_unsupported(error: Errno) -> bool {
    [Errno::NOSYS, Errno::INVAL, Errno::NOTSUP, Errno::OPNOTSUPP].contains(&error)
}

/// Opens a path below a directory, one component after the other.
fn below(directory: BorrowedFd<'_>, path: &Path, flags: OFlags) -> Result<OwnedFd, Errno> {
    #[cfg(any(target_os = "linux", target_os = "android"))]
    let on_the_way = DIRECTORY | OFlags::NOFOLLOW | OFlags::PATH;
    #[cfg(not(any(target_os = "linux", target_os = "android")))]
    let on_the_way = DIRECTORY | OFlags::NOFOLLOW;
    let mut opened: Option<OwnedFd> = None;
    let mut components = path.components().peekable();
    while let Some(component) = components.next() {
        let name = match component {
            Component::Normal(_) | Component::CurDir => component.as_os_str(),
            Component::ParentDir | Component::RootDir | Component::Prefix(_) => return Err(Errno::XDEV),
        };
        let at = opened.as_ref().map_or(directory, AsFd::as_fd);
        let flags = if components.peek().is_some() { on_the_way } else { flags };
        let next = fs::openat(at, name, flags, Mode::empty());
        opened = Some(next.map_err(|error| match fs::statat(at, name, AtFlags::SYMLINK_NOFOLLOW) {
            // Linux returns `NOTDIR` for a link.
            Ok(found) if fs::FileType::from_raw_mode(found.st_mode).is_symlink() => Errno::LOOP,
            _ => error,
        })?);
    }
    opened.ok_or(Errno::NOENT)
}

#[cfg(test)]
mod tests {
    use std::io::Read;
    use std::os::unix::fs::symlink;

    use super::*;

    /// `openat2` and the opening of one component after the other have the same results.
    #[test]
    fn symbolic_links_below_a_directory_are_not_followed() {
        let outside = tempfile::tempdir().expect("a directory");
        std::fs::write(outside.path().join("file"), "outside").expect("a file");
        let inside = tempfile::tempdir().expect("a directory");
        let path = |name: &str| inside.path().join(name);
        std::fs::create_dir_all(path("a/b")).expect("directories");
        std::fs::write(path("a/b/file"), "inside").expect("a file");
        symlink(outside.path(), path("a/link")).expect("a link");
        symlink(outside.path().join("file"), path("a/b/link")).expect("a link");
        symlink("b", path("a/inner")).expect("a link");
        let directory = Directory::open(inside.path()).expect("a directory");
        let read = |file: OwnedFd| {
            let mut text = String::new();
            File::from(file).read_to_string(&mut text).map(|_| text).expect("text")
        };
        for (name, expected) in [
            ("a/b/file", Ok("inside")),
            ("./a/b/file", Ok("inside")),
            ("a/link/file", Err(Errno::LOOP)),
            ("a/b/link", Err(Errno::LOOP)),
            ("a/inner/file", Err(Errno::LOOP)),
            ("a/../../file", Err(Errno::XDEV)),
            ("a/b/absent", Err(Errno::NOENT)),
            ("a/b/file/file", Err(Errno::NOTDIR)),
        ] {
            let name = Path::new(name);
            let expected = expected.map(str::to_owned);
            assert_eq!(directory.below(name, READ).map(read), expected, "{name:?}");
            assert_eq!(below(directory.0.as_fd(), name, READ).map(read), expected, "{name:?}");
        }
        for name in ["a/link", "a/inner", "a/inner/file"] {
            assert!(directory.subdirectory(Path::new(name)).is_err(), "{name}");
        }
        // The descriptor stays in the tree if the path leads elsewhere.
        let below = directory.subdirectory(Path::new("a/b")).expect("a directory");
        std::fs::rename(path("a"), path("moved")).expect("it is renamed");
        symlink(outside.path(), path("a")).expect("a link");
        assert_eq!(read(below.below(Path::new("file"), READ).expect("a file")), "inside");
        assert_eq!(directory.below(Path::new("a/file"), READ).map(read), Err(Errno::LOOP));
    }
}
