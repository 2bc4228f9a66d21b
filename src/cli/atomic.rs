//! Atomic replacement of files, for `convert --output` and `check --fix`.
//!
//! The new content is written to a temporary file in the same directory, with mode 0600 and the owner of the original
//! file. When the content is complete, the temporary file gets the mode of the original file, is flushed to disk, and
//! is renamed to the name of the original file.
//!
//! Pipes, devices and open descriptors are written to directly.

use std::ffi::OsStr;
use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Seek, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::{process, thread};

use tempfile::NamedTempFile;

use super::files::is_standard;
use super::outcome::{CommandStatus, print_error};

/// The output of a command.
#[derive(Debug)]
pub(super) enum OutputFile {
    Stdout(io::Stdout),
    Stderr(io::Stderr),
    /// A pipe, a device, or an open descriptor.
    Stream(File),
    File(Box<Replacement>),
}

impl OutputFile {
    /// Opens the output. `-` is stdout. If the path is a symbolic link, its target is replaced, and the link does not
    /// change.
    pub(super) fn open(path: &Path) -> io::Result<Self> {
        if is_standard(path) {
            return Ok(Self::Stdout(io::stdout()));
        }
        match resolve(path)? {
            Destination::Descriptor(1) => Ok(Self::Stdout(io::stdout())),
            Destination::Descriptor(2) => Ok(Self::Stderr(io::stderr())),
            Destination::Descriptor(number) => duplicate(number).map(Self::Stream),
            Destination::Path(path) => match fs::metadata(&path) {
                Ok(metadata) if !metadata.is_file() => {
                    OpenOptions::new().write(true).open(path).map(Self::Stream)
                }
                Ok(metadata) => Replacement::of(path, Some(metadata)).map(Box::new).map(Self::File),
                Err(error) if error.kind() == io::ErrorKind::NotFound => {
                    Replacement::of(path, None).map(Box::new).map(Self::File)
                }
                Err(error) => Err(error),
            },
        }
    }

    pub(super) fn is_stdout(&self) -> bool {
        matches!(self, Self::Stdout(_))
    }

    /// Writes the bytes. Stdout is flushed, so that its reader receives text while the conversion is running.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Self::Stderr(stream) => stream.write_all(bytes),
            Self::Stream(stream) => stream.write_all(bytes),
            Self::File(replacement) => replacement.write(bytes),
        }
    }

    /// Replaces the file, if the output is a regular file. Other outputs are already written.
    pub(super) fn commit(self) -> io::Result<()> {
        match self {
            Self::Stdout(_) | Self::Stderr(_) | Self::Stream(_) => Ok(()),
            Self::File(replacement) => replacement.commit(),
        }
    }
}

/// The new content of a regular file. The file does not change before [`commit`](Self::commit).
#[derive(Debug)]
pub(super) struct Replacement {
    temporary: Temporary,
    target: PathBuf,
    /// The metadata of the original file, if it exists.
    replaced: Option<Metadata>,
}

impl Replacement {
    /// Creates the temporary file. `target` must not be a symbolic link.
    pub(super) fn of(target: PathBuf, replaced: Option<Metadata>) -> io::Result<Self> {
        if let Some(replaced) = &replaced {
            // The superuser can open a read-only file for writing, so `open` below does not detect it.
            if replaced.permissions().readonly() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
            }
            // A rename only needs permission to write to the directory. This fails if the user may not write to the
            // file.
            OpenOptions::new().write(true).open(&target)?;
        }
        let temporary = Temporary::in_directory(directory_of(&target))?;
        if let Some(replaced) = &replaced {
            keep_owner(temporary.file()?, replaced)?;
        }
        Ok(Self { temporary, target, replaced })
    }

    /// Opens a regular file in order to replace its content. Symbolic links are followed and do not change.
    ///
    /// Fails for a file with other hard links, because these would keep the old content.
    pub(super) fn of_content(path: &Path) -> io::Result<(File, Self)> {
        let Destination::Path(target) = resolve(path)? else {
            return Err(io::Error::other("an open descriptor cannot be replaced"));
        };
        // Opening a pipe would block until it has a writer.
        if !fs::metadata(&target)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let content = File::open(&target)?;
        let metadata = content.metadata()?;
        let links = hard_links(&metadata);
        if links > 1 {
            return Err(io::Error::other(format!(
                "it has {links} hard links, and the others would keep the old content"
            )));
        }
        Ok((content, Self::of(target, Some(metadata))?))
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.temporary.file()?.write_all(bytes)
    }

    /// Returns the new content for reading from its start. Do not call [`write`](Self::write) afterwards: it would
    /// write at the position that the reader left.
    pub(super) fn new_content(&self) -> io::Result<&File> {
        let mut file = self.temporary.file()?;
        file.rewind()?;
        Ok(file)
    }

    /// Replaces the file like [`commit`](Self::commit). With a suffix `backup`, first keeps the old file under its name
    /// with that suffix. Fails if the old file has changed since it was opened, or if the backup already exists.
    pub(super) fn commit_content(self, backup: Option<&OsStr>) -> io::Result<()> {
        let now = fs::symlink_metadata(&self.target)?;
        if self.replaced.as_ref().is_some_and(|old| !is_same(old, &now)) {
            return Err(io::Error::other("it changed while it was read"));
        }
        let Some(suffix) = backup else { return self.commit() };
        let mut name = self.target.clone().into_os_string();
        name.push(suffix);
        let backup = PathBuf::from(name);
        keep(&self.target, &backup)
            .map_err(|error| io::Error::new(error.kind(), format!("{}: {error}", backup.display())))?;
        let directory = directory_of(&self.target).to_path_buf();
        if let Err(error) = self.replace() {
            // The file still has its old content, so the backup is not needed.
            let _ = fs::remove_file(&backup);
            return Err(error);
        }
        sync_directory(&directory)
    }

    /// Replaces the file. After a power failure the file has either the old content or the new content.
    pub(super) fn commit(self) -> io::Result<()> {
        let directory = directory_of(&self.target).to_path_buf();
        self.replace()?;
        sync_directory(&directory)
    }

    /// Renames the temporary file to the target. The directory is not synchronized yet.
    fn replace(self) -> io::Result<()> {
        let file = self.temporary.file()?;
        set_mode(file, self.replaced.as_ref())?;
        file.sync_all()?;
        self.temporary.rename(&self.target)
    }
}

/// Creates a hard link to a file, or a copy if a link cannot be created. Fails if `name` exists.
fn keep(file: &Path, name: &Path) -> io::Result<()> {
    match fs::hard_link(file, name) {
        Err(error) if error.kind() == io::ErrorKind::AlreadyExists => Err(error),
        Err(_) => {
            let mut old = File::open(file)?;
            let mut copy = OpenOptions::new().write(true).create_new(true).open(name)?;
            io::copy(&mut old, &mut copy)?;
            copy.set_permissions(old.metadata()?.permissions())?;
            copy.sync_all()
        }
        linked => linked,
    }
}

/// Whether both are metadata of the same file, with the same length and the same time of modification.
fn is_same(old: &Metadata, now: &Metadata) -> bool {
    let is_untouched = old.len() == now.len() && old.modified().ok() == now.modified().ok();
    is_untouched && identity(old) == identity(now)
}

#[cfg(unix)]
fn identity(metadata: &Metadata) -> (u64, u64) {
    use std::os::unix::fs::MetadataExt;

    (metadata.dev(), metadata.ino())
}

#[cfg(not(unix))]
fn identity(_: &Metadata) -> (u64, u64) {
    (0, 0)
}

#[cfg(unix)]
fn hard_links(metadata: &Metadata) -> u64 {
    use std::os::unix::fs::MetadataExt;

    metadata.nlink()
}

#[cfg(not(unix))]
fn hard_links(_: &Metadata) -> u64 {
    1
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Sets the owner and the group to those of the replaced file.
#[cfg(unix)]
fn keep_owner(file: &File, replaced: &Metadata) -> io::Result<()> {
    use std::os::unix::fs::{MetadataExt, fchown};

    let own = file.metadata()?;
    let change = |old: u32, new: u32| (old != new).then_some(new);
    let (owner, group) = (change(own.uid(), replaced.uid()), change(own.gid(), replaced.gid()));
    if owner.is_none() && group.is_none() {
        return Ok(());
    }
    fchown(file, owner, group).map_err(|error| {
        let whose = format!("user {} and group {}", replaced.uid(), replaced.gid());
        io::Error::new(error.kind(), format!("the file belongs to {whose}, which cannot be kept: {error}"))
    })
}

#[cfg(not(unix))]
fn keep_owner(_: &File, _: &Metadata) -> io::Result<()> {
    Ok(())
}

/// Sets the mode to that of the replaced file, or to 0666 minus the umask for a new file. Called after `keep_owner`,
/// because a change of owner resets the set-user-ID bit.
#[cfg(unix)]
fn set_mode(file: &File, replaced: Option<&Metadata>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::Mode;

    let permissions = match replaced {
        Some(replaced) => replaced.permissions(),
        None => {
            // The umask can only be read by setting it.
            let mask = rustix::process::umask(Mode::empty());
            rustix::process::umask(mask);
            #[allow(clippy::useless_conversion, reason = "macOS has 16 bits")]
            fs::Permissions::from_mode(0o666 & !u32::from(mask.as_raw_mode()))
        }
    };
    file.set_permissions(permissions)
}

#[cfg(not(unix))]
fn set_mode(file: &File, replaced: Option<&Metadata>) -> io::Result<()> {
    replaced.map_or(Ok(()), |replaced| file.set_permissions(replaced.permissions()))
}

/// Flushes the rename to disk. Otherwise the old content may come back after a power failure.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // The directory is not readable, or the file system does not support `fsync` of a directory.
        Err(error)
            if matches!(
                error.kind(),
                io::ErrorKind::PermissionDenied | io::ErrorKind::InvalidInput | io::ErrorKind::Unsupported
            ) =>
        {
            Ok(())
        }
        synced => synced,
    }
}

#[cfg(not(unix))]
fn sync_directory(_: &Path) -> io::Result<()> {
    Ok(())
}

/// The destination of a path.
enum Destination {
    /// An open descriptor of this process, such as `/dev/stdout` or `/dev/fd/3`.
    Descriptor(u32),
    /// A path whose last component is not a symbolic link. The file may not exist.
    Path(PathBuf),
}

/// The maximum number of symbolic links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Follows symbolic links in the last component of a path, one by one. `canonicalize` would not detect a descriptor: it
/// resolves `/proc/self/fd/1` to the file that is open there.
fn resolve(path: &Path) -> io::Result<Destination> {
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
fn duplicate(number: u32) -> io::Result<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let number = i32::try_from(number).map_err(|_| io::ErrorKind::NotFound)?;
    let duplicate = pidfd_getfd(own, number, PidfdGetfdFlags::empty())
        .map_err(|error| io::Error::other(format!("{error}; redirect stdout instead: >&{number}")))?;
    Ok(duplicate.into())
}

/// On these systems, opening the path duplicates the descriptor.
#[cfg(not(target_os = "linux"))]
fn duplicate(number: u32) -> io::Result<File> {
    OpenOptions::new().write(true).open(format!("/dev/fd/{number}"))
}

/// A temporary file. It is removed on drop, and when a signal ends the program.
#[derive(Debug)]
struct Temporary(Option<NamedTempFile>);

impl Temporary {
    /// Creates the file in the directory of the target, because a rename cannot cross file systems. Its mode is 0600
    /// from the start. Its name does not contain the name of the target, which may already have the maximum length.
    fn in_directory(directory: &Path) -> io::Result<Self> {
        let mut removed_on_signal = removed_on_signal()?;
        let file = tempfile::Builder::new().prefix(".utf8-codec.").suffix(".part").tempfile_in(directory)?;
        removed_on_signal.push(file.path().to_owned());
        Ok(Self(Some(file)))
    }

    fn file(&self) -> io::Result<&File> {
        self.0.as_ref().map(NamedTempFile::as_file).ok_or_else(|| io::ErrorKind::NotFound.into())
    }

    fn rename(mut self, target: &Path) -> io::Result<()> {
        match self.0.take() {
            Some(file) => {
                let path = file.path().to_owned();
                let renamed = file.persist(target);
                forget(&path);
                renamed?;
                Ok(())
            }
            None => Err(io::ErrorKind::NotFound.into()),
        }
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if let Some(file) = self.0.take() {
            let path = file.path().to_owned();
            drop(file);
            forget(&path);
        }
    }
}

/// The paths of all temporary files.
static TEMPORARIES: LazyLock<Mutex<Vec<PathBuf>>> = LazyLock::new(Mutex::default);

/// Locks the list of temporary files. The first call starts a thread that on SIGINT, SIGTERM or SIGHUP (elsewhere than
/// on Unix: Ctrl-C) removes these files and exits.
fn removed_on_signal() -> io::Result<MutexGuard<'static, Vec<PathBuf>>> {
    static STARTED: Mutex<bool> = Mutex::new(false);

    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*started {
        start_signal_thread()?;
        *started = true;
    }
    Ok(TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner))
}

fn forget(path: &Path) {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner).retain(|temporary| temporary != path);
}

/// Removes the temporary files and exits. The lock is held until the process ends, so that no new file is created.
fn interrupted() -> ! {
    let temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
    for path in temporaries.iter() {
        // The file may already have been renamed. Other errors cannot be reported here.
        let _ = fs::remove_file(path);
    }
    print_error("interrupted");
    process::exit(CommandStatus::Trouble as i32);
}

/// Starts the thread that waits for signals. The main thread cannot do this, because it may be blocked on input.
#[cfg(unix)]
fn start_signal_thread() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;

    let ignored = ignored_signals();
    let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = Signals::new(wanted)?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if signals.forever().next().is_some() {
            interrupted();
        }
    })?;
    Ok(())
}

/// Returns the signals that were ignored when this process started, for example SIGHUP under `nohup`. Bit `n - 1` is
/// signal `n`. These signals stay ignored. On systems without `/proc` the result is 0.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

#[cfg(not(unix))]
fn start_signal_thread() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            interrupted();
        }
    })?;
    Ok(())
}
