//! Code that the commands for files share: opening inputs, `-`, the report on stdout, the exit status.

use std::fs::{self, File, Metadata, OpenOptions};
use std::io::{self, IsTerminal, Read, StdinLock, Write};
use std::path::{self, Component, Path, PathBuf};

use serde_json::{Value, json};

use crate::escape;
use crate::outcome::print_error;

/// The size of the read buffer.
pub(super) const BUFFER: usize = 64 * 1024;

/// Whether a path on the command line is `-`: stdin for an input, stdout for an output.
pub(super) fn is_standard(path: &Path) -> bool {
    path.as_os_str() == "-"
}

/// Checks that at most one of the inputs is stdin. Another one would be empty, and would be reported as such.
pub(super) fn read_stdin_once<'p>(inputs: impl IntoIterator<Item = &'p PathBuf>) -> Result<(), &'static str> {
    match inputs.into_iter().filter(|path| is_standard(path)).count() {
        0 | 1 => Ok(()),
        _ => Err("stdin can only be read once, and `-` is given several times"),
    }
}

/// Opens stdin. If it is a terminal, prints a line on stderr, because the program then waits for input.
pub(super) fn stdin() -> StdinLock<'static> {
    let stdin = io::stdin();
    if stdin.is_terminal() {
        let end =
            if cfg!(windows) { "Ctrl-Z and Enter end it" } else { "Ctrl-D at the start of a line ends it" };
        print_error(&format!("reading standard input from the terminal; {end}"));
    }
    stdin.lock()
}

/// An open file, and its metadata when it was opened.
#[derive(Debug)]
pub(super) struct Opened {
    pub(super) file: File,
    pub(super) metadata: Metadata,
}

impl Opened {
    pub(super) fn of(file: File) -> io::Result<Self> {
        Ok(Self { metadata: file.metadata()?, file })
    }

    /// Returns an error if it is not a regular file.
    pub(super) fn regular(self) -> io::Result<Self> {
        if self.metadata.is_file() { Ok(self) } else { Err(not_regular()) }
    }
}

/// Opens a regular file. Opening a pipe would wait until it has a writer, and opening a device may have an effect.
pub(super) fn open_regular(path: &Path) -> io::Result<Opened> {
    if !fs::metadata(path)?.is_file() {
        return Err(not_regular());
    }
    let mut options = OpenOptions::new();
    // Another file may have taken its place.
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::custom_flags(&mut options, rustix::fs::OFlags::NONBLOCK.bits() as i32);
    Opened::of(options.read(true).open(path)?)?.regular()
}

/// The maximum length of a file that configures the program, which is read into memory.
pub(super) const MAX_CONFIG: u64 = 1 << 20;

/// Reads a file that configures the program.
pub(super) fn read_config(file: File) -> io::Result<Vec<u8>> {
    let mut content = Vec::new();
    file.take(MAX_CONFIG + 1).read_to_end(&mut content)?;
    if content.len() as u64 > MAX_CONFIG { Err(too_long()) } else { Ok(content) }
}

pub(super) fn not_regular() -> io::Error {
    io::Error::other("it is not a regular file")
}

pub(super) fn too_long() -> io::Error {
    io::Error::other(format!("it is longer than {} MiB", MAX_CONFIG >> 20))
}

/// Returns the directory of a path, `.` if it has none.
pub(super) fn directory_of(path: &Path) -> &Path {
    path.parent().filter(|parent| !parent.as_os_str().is_empty()).unwrap_or(Path::new("."))
}

/// Returns the absolute path with symbolic links and `..` resolved, as far as it exists. The rest is appended, so that a
/// name for stdin may be in a directory that does not exist.
pub(super) fn resolved(path: &Path) -> io::Result<PathBuf> {
    let absolute = path::absolute(path)?;
    for existing in absolute.ancestors() {
        let Ok(mut real) = fs::canonicalize(existing) else { continue };
        for part in absolute.strip_prefix(existing).unwrap_or(Path::new("")).components() {
            match part {
                Component::ParentDir => drop(real.pop()),
                part => real.push(part),
            }
        }
        return Ok(real);
    }
    Ok(absolute)
}

/// Reads some bytes. Returns 0 at the end. Retries if a signal interrupts the read.
pub(super) fn read(input: &mut impl Read, buffer: &mut [u8]) -> io::Result<usize> {
    loop {
        match input.read(buffer) {
            Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
            read => return read,
        }
    }
}

/// Escapes a file name for a report.
pub(super) fn name_of(file: &Path) -> String {
    escape::name(file.as_os_str().as_encoded_bytes())
}

/// Writes a JSON object as a line.
pub(super) fn write_object(out: &mut (impl Write + ?Sized), object: &Value) -> io::Result<()> {
    writeln!(out, "{}", escape::json(object))
}

/// Returns a JSON object with the name of a file. If the name is not UTF-8, `file_hex` has its bytes.
pub(super) fn file_members(path: &Path) -> Value {
    let mut members = json!({ "file": path.to_string_lossy() });
    if path.to_str().is_none() {
        let hex: String =
            path.as_os_str().as_encoded_bytes().iter().map(|byte| format!("{byte:02x}")).collect();
        members["file_hex"] = json!(hex);
    }
    members
}
