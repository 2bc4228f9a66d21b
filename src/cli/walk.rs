//! Expands the paths on the command line to the files that are read.

use core::num::NonZeroUsize;
use std::fs;
use std::io::{self, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread::{self, Scope};

use ignore::types::TypesBuilder;
use ignore::{WalkBuilder, WalkState};

use super::args::at_least_one;
use super::files::{is_standard, read_stdin_once, stdin};

/// The options that select files.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct WalkArgs {
    /// Files and directories to read; `-` is stdin. In directories, hidden files, binary files and files excluded by
    /// .gitignore and .ignore are skipped [default: .]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read file names from FILE (`-` is stdin), separated by NUL or, if there is none, by LF
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// Do not respect .gitignore, .ignore and similar files
    #[arg(long)]
    no_ignore: bool,
    /// Read hidden files in directories
    #[arg(long)]
    hidden: bool,
    /// Read only files of a type in directories, such as `rust` or `md`; can be repeated
    #[arg(long = "type", value_name = "TYPE")]
    types: Vec<String>,
    /// Number of files that are read in parallel, at most 256 [default: the number of CPUs]
    #[arg(long, short, value_name = "N", value_parser = at_least_one)]
    jobs: Option<NonZeroUsize>,
}

/// The maximum number of threads. More would not read faster, and each takes memory.
const MAX_JOBS: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// A file to read.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// Whether the path was given on the command line or in `--files-from`. Such a file is read even if it is hidden,
    /// ignored or binary.
    pub(super) is_named: bool,
    /// Why the path could not be read: a directory, or a file that excludes others.
    pub(super) error: Option<String>,
}

impl Input {
    /// A file in a directory.
    fn found(path: PathBuf) -> Self {
        Self { path, is_named: false, error: None }
    }

    /// A path that the walk from `root` could not read.
    fn unreadable(error: ignore::Error, root: &Path) -> Self {
        match error {
            ignore::Error::WithPath { path, err } => Self::unreadable(*err, &path),
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
                Self::unreadable(*err, root)
            }
            error => Self { error: Some(error.to_string()), ..Self::found(root.to_owned()) },
        }
    }
}

impl WalkArgs {
    pub(super) fn jobs(&self) -> NonZeroUsize {
        let jobs = self.jobs.or_else(|| thread::available_parallelism().ok());
        jobs.unwrap_or(NonZeroUsize::MIN).min(MAX_JOBS)
    }

    /// Returns the files in the order of the report: in command line order, with the files of a directory sorted.
    pub(super) fn collect(&self) -> Result<Vec<Input>, String> {
        read_stdin_once(self.paths.iter().chain(&self.files_from))?;
        let mut paths = self.paths.clone();
        if let Some(list) = &self.files_from {
            paths
                .extend(read_list(list).map_err(|error| format!("cannot read {}: {error}", list.display()))?);
        } else if paths.is_empty() {
            paths.push(".".into());
        }
        let mut types = TypesBuilder::new();
        types.add_defaults();
        self.types.iter().for_each(|name| {
            types.select(name);
        });
        let types = types.build().map_err(|error| error.to_string())?;
        let mut inputs = Vec::new();
        for path in paths {
            if is_standard(&path) || !path.is_dir() {
                inputs.push(Input { path, is_named: true, error: None });
                continue;
            }
            if !self.no_ignore
                && let Some(unread) = fs::canonicalize(&path)
                    .ok()
                    .and_then(|path| path.ancestors().find_map(irregular_ignore_file))
            {
                inputs.push(unread);
                continue;
            }
            let found = Arc::new(Mutex::new(Vec::new()));
            let push = |found: &Mutex<Vec<Input>>, input| {
                found.lock().unwrap_or_else(PoisonError::into_inner).push(input);
            };
            let mut walk = WalkBuilder::new(&path);
            if !self.no_ignore {
                let found = Arc::clone(&found);
                walk.filter_entry(move |entry| {
                    let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                    let unread = is_directory.then(|| irregular_ignore_file(entry.path())).flatten();
                    let is_read = unread.is_none();
                    unread.into_iter().for_each(|unread| push(&found, unread));
                    is_read
                });
            }
            walk.standard_filters(!self.no_ignore)
                .hidden(!self.hidden)
                .require_git(false)
                .types(types.clone())
                .threads(self.jobs().get())
                .build_parallel()
                .run(|| {
                    Box::new(|entry| {
                        match entry {
                            Ok(entry) if entry.file_type().is_some_and(|kind| kind.is_file()) => {
                                push(&found, Input::found(entry.into_path()));
                            }
                            Ok(_) => {}
                            Err(error) => push(&found, Input::unreadable(error, &path)),
                        }
                        WalkState::Continue
                    })
                });
            let mut files = core::mem::take(&mut *found.lock().unwrap_or_else(PoisonError::into_inner));
            files.sort_by_cached_key(|file| sort_key(&file.path));
            inputs.append(&mut files);
        }
        Ok(inputs)
    }
}

/// Returns an ignore file of a directory that is a FIFO or a device other than `/dev/null`: opening a FIFO waits for a
/// writer, and a device may never end. The files that it excludes are not known, so the directory is not read.
fn irregular_ignore_file(directory: &Path) -> Option<Input> {
    [".gitignore", ".ignore"].iter().find_map(|name| {
        let file = directory.join(name);
        let is_irregular = fs::metadata(&file).is_ok_and(|file| !file.is_file() && !file.is_dir());
        let is_empty = || fs::canonicalize(&file).is_ok_and(|file| file == Path::new("/dev/null"));
        let error = Some("it is not a regular file".to_owned());
        (is_irregular && !is_empty()).then(|| Input { error, ..Input::found(file) })
    })
}

/// Starts the threads that share the work with this one, `jobs` in total. If the system does not allow so many, the
/// others do the work.
pub(super) fn spawn<'scope>(
    scope: &'scope Scope<'scope, '_>,
    jobs: usize,
    work: impl Fn() + Copy + Send + 'scope,
) {
    let _ = (1..jobs).try_for_each(|_| thread::Builder::new().spawn_scoped(scope, work).map(drop));
}

/// Returns a key that sorts in the same order as the components of the path, and is compared faster.
fn sort_key(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().map(|&byte| if std::path::is_separator(byte.into()) { 0 } else { byte }).collect()
}

fn read_list(list: &Path) -> io::Result<Vec<PathBuf>> {
    let mut bytes = Vec::new();
    if is_standard(list) {
        stdin().read_to_end(&mut bytes)?;
    } else {
        bytes = fs::read(list)?;
    }
    let separator = if bytes.contains(&0) { 0 } else { b'\n' };
    let names = bytes.split(|&byte| byte == separator).filter(|name| !name.is_empty());
    // In a list `-` is a file: the output of `git ls-files` contains no options.
    names.map(|name| path_of(if name == b"-" { b"./-" } else { name })).collect()
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> io::Result<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    Ok(OsStr::from_bytes(name).into())
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> io::Result<PathBuf> {
    let name = name.strip_suffix(b"\r").unwrap_or(name);
    str::from_utf8(name).map(Into::into).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}
