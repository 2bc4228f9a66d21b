//! Output files that appear whole or not at all: for `convert --output` and `check --fix`.
//!
//! The new content goes to a temporary file in the same directory, which only its owner can read. When it is complete
//! it gets the owner and the mode of the file that it replaces, is flushed to the disk, and is renamed.
//!
//! What is not a regular file (a pipe, a device, an open descriptor) is written to, never replaced.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, Write};
use std::path::{Path, PathBuf};
use std::sync::{LazyLock, Mutex, MutexGuard, PoisonError};
use std::{process, thread};

use tempfile::NamedTempFile;

use super::files::is_standard;
use super::outcome::{Status, complain};

/// Where the output of a command goes.
#[derive(Debug)]
pub(super) enum Output {
    Stdout(io::Stdout),
    Stderr(io::Stderr),
    /// What is not a regular file.
    Stream(File),
    File(Box<Replacement>),
}

impl Output {
    /// `-` is stdout. A symbolic link is followed: the file that it names is replaced, and the link stays.
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

    /// A stream has the bytes when this returns: whoever reads it sees text as it is converted.
    pub(super) fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        match self {
            Self::Stdout(stream) => stream.write_all(bytes).and_then(|()| stream.flush()),
            Self::Stderr(stream) => stream.write_all(bytes),
            Self::Stream(stream) => stream.write_all(bytes),
            Self::File(replacement) => replacement.write(bytes),
        }
    }

    /// The output is complete.
    pub(super) fn commit(self) -> io::Result<()> {
        match self {
            Self::Stdout(_) | Self::Stderr(_) | Self::Stream(_) => Ok(()),
            Self::File(replacement) => replacement.commit(),
        }
    }
}

/// The new content of a regular file. Without [`commit`](Self::commit) the file stays as it is.
#[derive(Debug)]
pub(super) struct Replacement {
    temporary: Temporary,
    target: PathBuf,
    /// Of the file that is replaced, if there is one.
    replaced: Option<Metadata>,
}

impl Replacement {
    /// `target` is no symbolic link.
    pub(super) fn of(target: PathBuf, replaced: Option<Metadata>) -> io::Result<Self> {
        if let Some(replaced) = &replaced {
            // The superuser may write to it all the same.
            if replaced.permissions().readonly() {
                return Err(io::Error::new(io::ErrorKind::PermissionDenied, "the file is read-only"));
            }
            // Whether this user may.
            OpenOptions::new().write(true).open(&target)?;
        }
        let temporary = Temporary::in_directory(directory_of(&target))?;
        if let Some(replaced) = &replaced {
            keep_owner(temporary.file()?, replaced)?;
        }
        Ok(Self { temporary, target, replaced })
    }

    pub(super) fn write(&self, bytes: &[u8]) -> io::Result<()> {
        self.temporary.file()?.write_all(bytes)
    }

    /// Makes this the content of the file, also if the power fails: there is the old one or the new one.
    pub(super) fn commit(self) -> io::Result<()> {
        let file = self.temporary.file()?;
        set_mode(file, self.replaced.as_ref())?;
        file.sync_all()?;
        self.temporary.rename(&self.target)?;
        sync_directory(directory_of(&self.target))
    }
}

fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// The owner and the group of a new file are those of the one that it replaces, or it is an error.
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

/// After the owner, because a change of owner resets the set-user-ID bit.
#[cfg(unix)]
fn set_mode(file: &File, replaced: Option<&Metadata>) -> io::Result<()> {
    use std::os::unix::fs::PermissionsExt;

    use rustix::fs::Mode;

    let permissions = match replaced {
        Some(replaced) => replaced.permissions(),
        None => {
            // It can only be read by setting it.
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

/// Without it the new name may be lost with the power, and the old content be back.
#[cfg(unix)]
fn sync_directory(directory: &Path) -> io::Result<()> {
    match File::open(directory).and_then(|directory| directory.sync_all()) {
        // A directory that may be written to and not read, or a file system that does not do it.
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

/// What a path on the command line stands for.
enum Destination {
    /// An open descriptor of this process, such as `/dev/stdout` or `/dev/fd/3`.
    Descriptor(u32),
    /// A path whose last component is no symbolic link. There need not be a file.
    Path(PathBuf),
}

/// Symbolic links that are followed, as in Linux.
const MAX_LINKS: usize = 40;

/// Follows the symbolic links of a path. They are followed one by one, because the system would follow
/// `/proc/self/fd/1` to the file behind the descriptor.
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
    // With the message of the system.
    Err(fs::metadata(&path).err().unwrap_or_else(|| io::Error::other("too many levels of symbolic links")))
}

/// The number of a descriptor of this process, if the path is one.
fn descriptor(directory: &Path, name: &Path) -> Option<u32> {
    let own = Path::new("/proc").join(process::id().to_string());
    let is_own =
        directory == Path::new("/dev/fd") || (directory.starts_with(own) && directory.ends_with("fd"));
    if is_own { name.to_str()?.parse().ok() } else { None }
}

/// Another handle of an open descriptor: one that opened its path again would start at the beginning of the file.
#[cfg(target_os = "linux")]
fn duplicate(number: u32) -> io::Result<File> {
    use rustix::process::{PidfdFlags, PidfdGetfdFlags, getpid, pidfd_getfd, pidfd_open};

    let own = pidfd_open(getpid(), PidfdFlags::empty())?;
    let number = i32::try_from(number).map_err(|_| io::ErrorKind::NotFound)?;
    let duplicate = pidfd_getfd(own, number, PidfdGetfdFlags::empty())
        .map_err(|error| io::Error::other(format!("{error}; redirect stdout instead: >&{number}")))?;
    Ok(duplicate.into())
}

/// Elsewhere to open the path is to duplicate the descriptor.
#[cfg(not(target_os = "linux"))]
fn duplicate(number: u32) -> io::Result<File> {
    OpenOptions::new().write(true).open(format!("/dev/fd/{number}"))
}

/// A temporary file, removed when it is dropped or when a signal ends the program.
#[derive(Debug)]
struct Temporary(Option<NamedTempFile>);

impl Temporary {
    /// In the directory of the target, because a file cannot be renamed to another file system. Its mode is 0600 from
    /// the start, and its name does not depend on that of the target, which may be as long as a name can be.
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

/// The temporary files that there are.
static TEMPORARIES: LazyLock<Mutex<Vec<PathBuf>>> = LazyLock::new(Mutex::default);

/// The temporary files that there are. From the first call on, SIGINT, SIGTERM and SIGHUP remove them before they end
/// the program.
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

/// The lock is kept until the process is gone, so that no other temporary file is made.
fn interrupted() -> ! {
    let temporaries = TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner);
    for path in temporaries.iter() {
        // It may be renamed by now, and there is nobody to tell another failure to.
        let _ = fs::remove_file(path);
    }
    complain("interrupted");
    process::exit(Status::Trouble as i32);
}

/// A thread of its own, because the program may be waiting for input.
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

/// The signals that whoever started this process chose to ignore, as `nohup` does with SIGHUP: bit `n - 1` is signal
/// `n`. They stay ignored.
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
