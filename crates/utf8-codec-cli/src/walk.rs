//! Expands the paths on the command line to the files that are read.

use core::num::NonZeroUsize;
use std::fs::{self, File};
use std::io::{self, BufRead, BufReader, Read};
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::thread;

use ignore::types::TypesBuilder;
use ignore::{WalkBuilder, WalkState};

use crate::args::at_least_one;
use crate::directory::Directory;
use crate::exclude::Exclude;
use crate::files::{
    MAX_CONFIG, Opened, is_standard, not_regular, open_regular, read_stdin_once, stdin, too_long,
};

/// The options that select files.
#[derive(Clone, Debug, Default, clap::Args)]
pub(super) struct WalkArgs {
    /// Files and directories to read; `-` is stdin. In directories, hidden files, binary files and files excluded by
    /// .gitignore and .ignore are skipped [default: .]
    #[arg(value_name = "PATH")]
    paths: Vec<PathBuf>,
    /// Read file names from FILE (`-` is stdin), separated by NUL or, if there is none, by LF or CRLF
    #[arg(long, value_name = "FILE")]
    files_from: Option<PathBuf>,
    /// Skip files and directories in directories, as in .gitignore, relative to the current directory; can be repeated
    #[arg(long, value_name = "GLOB")]
    exclude: Vec<String>,
    /// Also skip files that are named, as by a hook
    #[arg(long)]
    force_exclude: bool,
    /// The name of stdin in reports, and for settings that depend on the name. Without PATH, stdin is read
    #[arg(long, value_name = "FILE")]
    stdin_filename: Option<PathBuf>,
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

/// Directories and files that belong to version control, whose content is no text of a user.
const VERSION_CONTROL: [&str; 7] = [".bzr", ".git", ".hg", ".jj", ".pijul", ".sl", ".svn"];

/// The maximum number of threads. More would not read faster, and each takes memory.
const MAX_JOBS: NonZeroUsize = NonZeroUsize::new(256).unwrap();

/// A file to read.
#[derive(Clone, Debug)]
pub(super) struct Input {
    pub(super) path: PathBuf,
    /// Whether the path was given on the command line or in `--files-from`. Such a file is read even if it is hidden,
    /// ignored or binary.
    pub(super) is_named: bool,
    /// Whether stdin is read. Its path is `-`, or a name for reports and settings.
    pub(super) is_stdin: bool,
    /// The directory on the command line in which the file was found.
    tree: Option<Arc<Tree>>,
    /// Why the path could not be read: a directory, or a file that excludes others.
    error: Option<String>,
}

/// A directory on the command line. Its files are opened below its descriptor.
#[derive(Debug)]
struct Tree {
    directory: Directory,
    path: PathBuf,
}

impl Tree {
    fn open(path: PathBuf) -> io::Result<Self> {
        Ok(Self { directory: Directory::open(&path)?, path })
    }

    fn below<'p>(&self, path: &'p Path) -> io::Result<&'p Path> {
        path.strip_prefix(&self.path).map_err(|_| io::ErrorKind::NotFound.into())
    }
}

impl Input {
    pub(super) fn named(path: PathBuf) -> Self {
        Self { is_stdin: is_standard(&path), path, is_named: true, tree: None, error: None }
    }

    fn unreadable(path: &Path, error: &impl ToString) -> Self {
        Self { is_named: false, error: Some(error.to_string()), ..Self::named(path.to_owned()) }
    }

    /// A path that the walk from `root` could not read.
    fn not_walked(error: &ignore::Error, root: &Path) -> Self {
        match error {
            ignore::Error::WithPath { path, err } => Self::not_walked(err, path),
            ignore::Error::WithDepth { err, .. } | ignore::Error::WithLineNumber { err, .. } => {
                Self::not_walked(err, root)
            }
            error => Self::unreadable(root, error),
        }
    }

    /// Whether this is a directory that could not be read, or that has a file which excludes others and could not be read.
    pub(super) fn is_unread(&self) -> bool {
        self.error.is_some()
    }

    /// Returns the error if the path could not be read during the walk.
    fn check(&self) -> io::Result<()> {
        self.error.clone().map_or(Ok(()), |error| Err(io::Error::other(error)))
    }

    /// Opens the file. If it was found in a directory, it must still be a regular file, and no symbolic link below the
    /// directory is followed: others may have put one there since the directory was read.
    pub(super) fn open(&self) -> io::Result<Opened> {
        self.check()?;
        match &self.tree {
            None => Opened::of(File::open(&self.path)?),
            Some(tree) => Opened::of(tree.directory.open_file(tree.below(&self.path)?)?)?.regular(),
        }
    }

    /// Opens the file, or stdin for `-`.
    pub(super) fn read(&self) -> io::Result<Box<dyn Read>> {
        Ok(if self.is_stdin { Box::new(stdin()) } else { Box::new(self.open()?.file) })
    }

    /// Opens the file if it is a regular one.
    pub(super) fn open_regular(&self) -> io::Result<Opened> {
        self.check()?;
        if self.tree.is_some() { self.open() } else { open_regular(&self.path) }
    }

    /// Opens the directory of a file that was found in a directory, like [`open`](Self::open).
    pub(super) fn directory(&self) -> Option<io::Result<Directory>> {
        let tree = self.tree.as_ref()?;
        let below = tree.below(&self.path);
        Some(below.and_then(|file| tree.directory.subdirectory(file.parent().unwrap_or(Path::new("")))))
    }
}

impl WalkArgs {
    /// Selects these files, and all files in these directories.
    pub(super) fn all(paths: Vec<PathBuf>) -> Self {
        Self { paths, no_ignore: true, hidden: true, ..Self::default() }
    }

    /// Whether files that are named are excluded as those in directories.
    pub(super) fn force_exclude(&self) -> bool {
        self.force_exclude
    }

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
            paths.push(if self.stdin_filename.is_some() { "-" } else { "." }.into());
        }
        if self.stdin_filename.is_some() && !paths.iter().any(|path| is_standard(path)) {
            return Err("--stdin-filename names stdin, which is not read: `-` is missing".to_owned());
        }
        let mut types = TypesBuilder::new();
        types.add_defaults();
        let exclude = Arc::new(Exclude::here(&self.exclude).map_err(|error| format!("--exclude: {error}"))?);
        self.types.iter().for_each(|name| {
            types.select(name);
        });
        let types = types.build().map_err(|error| error.to_string())?;
        let mut inputs = Vec::new();
        for path in paths {
            let is_stdin = is_standard(&path);
            let path = self.stdin_filename.clone().filter(|_| is_stdin).unwrap_or(path);
            let is_file = is_stdin || !path.is_dir();
            if self.force_exclude && exclude.matches(&path, !is_file) {
                continue;
            }
            if is_file {
                inputs.push(Input { is_stdin, ..Input::named(path) });
                continue;
            }
            let tree = match Tree::open(path.clone()) {
                Ok(tree) => Arc::new(tree),
                Err(error) => {
                    inputs.push(Input::unreadable(&path, &error));
                    continue;
                }
            };
            if !self.no_ignore
                && let Some(unread) = fs::canonicalize(&path)
                    .ok()
                    .and_then(|path| path.ancestors().find_map(irregular_ignore_file))
            {
                inputs.push(unread);
                continue;
            }
            let found = Arc::new(Mutex::new(Vec::new()));
            let mut walk = WalkBuilder::new(&path);
            let filter = (self.no_ignore, Arc::clone(&exclude), Arc::clone(&found));
            walk.filter_entry(move |entry| {
                let (no_ignore, exclude, found) = &filter;
                let is_directory = entry.file_type().is_some_and(|kind| kind.is_dir());
                let is_skipped = entry.depth() > 0
                    && (VERSION_CONTROL.iter().any(|name| entry.file_name() == *name)
                        || exclude.matches(entry.path(), is_directory));
                if is_skipped {
                    return false;
                }
                let is_searched = is_directory && !no_ignore;
                let unread = is_searched.then(|| irregular_ignore_file(entry.path())).flatten();
                let is_read = unread.is_none();
                unread.into_iter().for_each(|unread| push(found, unread));
                is_read
            });
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
                                let path = entry.into_path();
                                let tree = Some(Arc::clone(&tree));
                                push(
                                    &found,
                                    Input { path, is_named: false, is_stdin: false, tree, error: None },
                                );
                            }
                            Ok(_) => {}
                            Err(error) => push(&found, Input::not_walked(&error, &path)),
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

fn push(found: &Mutex<Vec<Input>>, input: Input) {
    found.lock().unwrap_or_else(PoisonError::into_inner).push(input);
}

/// Returns an ignore file of a directory if it is a FIFO or a device other than `/dev/null`: opening a FIFO waits
/// for a writer, and a device may never end. The same applies to a long file, because lines are read into memory. The files
/// that it excludes are not known, so the directory is not read.
fn irregular_ignore_file(directory: &Path) -> Option<Input> {
    // In a working tree of git, `.git` may be a file.
    [".gitignore", ".ignore", ".git", ".git/info/exclude"].iter().find_map(|name| {
        let file = directory.join(name);
        let found = fs::metadata(&file).ok().filter(|found| !found.is_dir())?;
        let error = if found.is_file() {
            Some(too_long()).filter(|_| found.len() > MAX_CONFIG)?
        } else if fs::canonicalize(&file).is_ok_and(|file| file == Path::new("/dev/null")) {
            return None;
        } else {
            not_regular()
        };
        Some(Input::unreadable(&file, &error))
    })
}

/// Returns a key that sorts in the same order as the components of the path, and is compared faster.
fn sort_key(path: &Path) -> Vec<u8> {
    let bytes = path.as_os_str().as_encoded_bytes();
    bytes.iter().map(|&byte| if std::path::is_separator(byte.into()) { 0 } else { byte }).collect()
}

/// The length of the start of a list that is searched for NUL, and the maximum length of a name.
const MAX_NAME: usize = 64 * 1024;

/// Reads a list of file names. A name is not longer than 64 KiB, so a list that is separated by NUL has one in its first
/// 64 KiB.
fn read_list(list: &Path) -> io::Result<Vec<PathBuf>> {
    if is_standard(list) { names(stdin()) } else { names(File::open(list)?) }
}

fn names(input: impl Read) -> io::Result<Vec<PathBuf>> {
    let mut input = BufReader::new(input);
    let mut start = Vec::new();
    input.by_ref().take(MAX_NAME as u64).read_to_end(&mut start)?;
    let separator = if start.contains(&0) { 0 } else { b'\n' };
    let mut input = start.as_slice().chain(input);
    let mut paths = Vec::new();
    let mut name = Vec::new();
    loop {
        // A sparse file consists of NUL.
        while let separators @ 1.. = input.fill_buf()?.iter().take_while(|&&byte| byte == separator).count() {
            input.consume(separators);
        }
        name.clear();
        let len = input.by_ref().take(MAX_NAME as u64 + 1).read_until(separator, &mut name)?;
        if len == 0 {
            return Ok(paths);
        }
        if name.last() == Some(&separator) {
            name.pop();
            // A name that ends with CR needs a list that is separated by NUL.
            if separator == b'\n' && name.last() == Some(&b'\r') {
                name.pop();
            }
        }
        match &*name {
            b"" => {}
            // In a list `-` is a file: the output of `git ls-files` contains no options.
            b"-" => paths.push(path_of(b"./-")?),
            name if name.len() > MAX_NAME => {
                return Err(io::Error::other(format!("a name is longer than {} KiB", MAX_NAME >> 10)));
            }
            name => paths.push(path_of(name)?),
        }
    }
}

#[cfg(unix)]
fn path_of(name: &[u8]) -> io::Result<PathBuf> {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    Ok(OsStr::from_bytes(name).into())
}

#[cfg(not(unix))]
fn path_of(name: &[u8]) -> io::Result<PathBuf> {
    str::from_utf8(name).map(Into::into).map_err(|error| io::Error::new(io::ErrorKind::InvalidData, error))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_separated_by_nul_or_lf() {
        let long = "n".repeat(MAX_NAME - 1);
        for (list, expected) in [
            (String::new(), vec![]),
            ("a\n\n-\nb c".to_owned(), vec!["a", "./-", "b c"]),
            ("a\r\n\r\n-\r\nb\r".to_owned(), vec!["a", "./-", "b\r"]),
            ("a\r\0b\n\0".to_owned(), vec!["a\r", "b\n"]),
            ("a\nb\0\0\0c\nd\0".to_owned(), vec!["a\nb", "c\nd"]),
            // The longest name that the program finds the NUL after.
            (format!("{long}\0b\nc"), vec![&*long, "b\nc"]),
            (format!("{long}n\nb"), vec![&*(long.clone() + "n"), "b"]),
            ("\0".repeat(3 * MAX_NAME) + "a", vec!["a"]),
        ] {
            let expected: Vec<PathBuf> = expected.into_iter().map(PathBuf::from).collect();
            assert_eq!(names(list.as_bytes()).expect("names"), expected);
        }
        let names = |list: String| names(list.as_bytes()).map_err(|error| error.to_string());
        assert_eq!(names(format!("a\n{long}nn\n")), Err("a name is longer than 64 KiB".to_owned()));
        // The rest of an endless name is not read.
        let endless = io::repeat(b'n').take(u64::MAX);
        assert!(super::names(endless).is_err());
    }
}
