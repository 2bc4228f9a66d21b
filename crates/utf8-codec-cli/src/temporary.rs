//! Temporary files. Those with a name are removed on drop, and when a signal ends the program.

use core::hash::{BuildHasher, Hasher};
use std::collections::hash_map::RandomState;
use std::ffi::{OsStr, OsString};
use std::fs::File;
use std::io::{Read, Seek, SeekFrom, Write};
use std::sync::{Arc, LazyLock, Mutex, MutexGuard, PoisonError, RwLock, RwLockReadGuard};
use std::{env, io, process, thread};

use tempfile::SpooledTempFile;

use crate::directory::Directory;
use crate::outcome::print_error;

/// A temporary file. It is removed on drop, unless it was renamed.
#[derive(Debug)]
pub(super) struct Temporary {
    directory: Arc<Directory>,
    name: OsString,
    file: File,
    is_kept: bool,
}

impl Temporary {
    /// Creates the file in the directory of the target, because a rename cannot cross file systems. Its mode is 0600
    /// from the start, if it is private. Its name does not contain the name of the target, which may already have the
    /// maximum length.
    pub(super) fn in_directory(directory: Arc<Directory>, is_private: bool) -> io::Result<Self> {
        let mut removed_on_signal = removed_on_signal()?;
        loop {
            let name = OsString::from(format!(
                ".utf8-codec.{:016x}.part",
                RandomState::new().build_hasher().finish()
            ));
            match directory.create(&name, is_private) {
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                created => {
                    let file = created?;
                    removed_on_signal.push((Arc::clone(&directory), name.clone()));
                    return Ok(Self { directory, name, file, is_kept: false });
                }
            }
        }
    }

    pub(super) fn directory(&self) -> &Directory {
        &self.directory
    }

    pub(super) fn name(&self) -> &OsStr {
        &self.name
    }

    pub(super) fn file(&self) -> &File {
        &self.file
    }

    /// Whether the file has another name now.
    pub(super) fn is_kept(&self) -> bool {
        self.is_kept
    }

    /// Does not remove what now has the name of the file.
    pub(super) fn keep(&mut self) {
        self.is_kept = true;
        self.forget();
    }

    fn forget(&self) {
        lock_temporaries()
            .retain(|(directory, name)| !Arc::ptr_eq(directory, &self.directory) || *name != self.name);
    }
}

impl Drop for Temporary {
    fn drop(&mut self) {
        if !self.is_kept {
            // This fails if the file is already gone. Other errors cannot be reported here.
            let _ = self.directory.remove(&self.name);
            self.forget();
        }
    }
}

/// Content that is read again: in memory and, if it is longer than 1 MiB, in an unnamed file in the directory for
/// temporary files.
#[derive(Debug)]
pub(super) struct Scratch(SpooledTempFile);

/// The length of a [`Scratch`] in memory. Few texts are longer, so that a system without such a directory is enough.
const IN_MEMORY: usize = 1 << 20;

impl Scratch {
    pub(super) fn new() -> Self {
        Self(SpooledTempFile::new(IN_MEMORY))
    }

    /// Copies an input.
    pub(super) fn of(input: &mut dyn Read) -> io::Result<Self> {
        let mut copy = Self::new();
        io::copy(input, &mut copy)?;
        copy.rewind()?;
        Ok(copy)
    }
}

impl Write for Scratch {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.0.write(bytes).map_err(|error| {
            let directory = env::temp_dir();
            io::Error::new(error.kind(), format!("a temporary file in {}: {error}", directory.display()))
        })
    }

    fn flush(&mut self) -> io::Result<()> {
        self.0.flush()
    }
}

impl Read for Scratch {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        self.0.read(buffer)
    }
}

impl Seek for Scratch {
    fn seek(&mut self, to: SeekFrom) -> io::Result<u64> {
        self.0.seek(to)
    }
}

/// The name of a temporary file in its directory.
type TemporaryName = (Arc<Directory>, OsString);

/// The names of all temporary files.
static TEMPORARIES: LazyLock<Mutex<Vec<TemporaryName>>> = LazyLock::new(Mutex::default);

/// Held for reading while the name of a temporary file may have the content of another file.
static EXCHANGES: RwLock<()> = RwLock::new(());

/// Delays the end of the program by a signal.
pub(super) fn exchanging() -> RwLockReadGuard<'static, ()> {
    EXCHANGES.read().unwrap_or_else(PoisonError::into_inner)
}

fn lock_temporaries() -> MutexGuard<'static, Vec<TemporaryName>> {
    TEMPORARIES.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Locks the list of temporary files. The first call starts a thread that on SIGINT, SIGTERM or SIGHUP (elsewhere than
/// on Unix: Ctrl-C) removes these files and ends the process.
fn removed_on_signal() -> io::Result<MutexGuard<'static, Vec<TemporaryName>>> {
    static STARTED: Mutex<bool> = Mutex::new(false);

    let mut started = STARTED.lock().unwrap_or_else(PoisonError::into_inner);
    if !*started {
        start_signal_thread()?;
        *started = true;
    }
    Ok(lock_temporaries())
}

/// Removes the temporary files and ends the process with `end`. The locks are held until then, so that no new file is
/// created and none is exchanged.
fn interrupted(end: impl FnOnce()) {
    let _exchanges = EXCHANGES.write().unwrap_or_else(PoisonError::into_inner);
    let temporaries = lock_temporaries();
    for (directory, name) in temporaries.iter() {
        // The file may already have been renamed. Other errors cannot be reported here.
        let _ = directory.remove(name);
    }
    print_error("interrupted");
    end();
}

/// Starts the thread that waits for signals. The main thread cannot do this, because it may be blocked on input.
#[cfg(unix)]
fn start_signal_thread() -> io::Result<()> {
    use signal_hook::consts::{SIGHUP, SIGINT, SIGTERM};
    use signal_hook::iterator::Signals;
    use signal_hook::low_level::emulate_default_handler;

    let ignored = ignored_signals();
    let wanted = [SIGHUP, SIGINT, SIGTERM].into_iter().filter(|signal| ignored >> (signal - 1) & 1 == 0);
    let mut signals = Signals::new(wanted)?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if let Some(signal) = signals.forever().next() {
            // As without a handler, so that a shell also ends the script that called the program.
            interrupted(|| {
                let _ = emulate_default_handler(signal);
                process::exit(128 + signal);
            });
        }
    })?;
    Ok(())
}

/// Returns the signals that were ignored when this process started, for example SIGHUP under `nohup`. Bit `n - 1` is
/// signal `n`. These signals stay ignored. On systems without `/proc` the result is 0.
#[cfg(unix)]
fn ignored_signals() -> u64 {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let mask = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    mask.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0)
}

/// The exit status after Ctrl-C, as in a shell on Unix.
#[cfg(not(unix))]
const CTRL_C: i32 = 130;

#[cfg(not(unix))]
fn start_signal_thread() -> io::Result<()> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build()?;
    thread::Builder::new().name("signals".to_owned()).spawn(move || {
        if runtime.block_on(tokio::signal::ctrl_c()).is_ok() {
            interrupted(|| process::exit(CTRL_C));
        }
    })?;
    Ok(())
}
