//! How a command ends: its exit status, and its messages on stderr.

use core::error::Error;
use core::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

/// How a command that did its work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum Status {
    /// Exit status 0.
    Success,
    /// Exit status 1: the work is done, and the input was ill-formed.
    IllFormed,
    /// Exit status 2: some of the work could not be done, as stderr says.
    Trouble,
}

impl From<Status> for ExitCode {
    fn from(status: Status) -> Self {
        Self::from(status as u8)
    }
}

/// What a command returns. An `Err` is one line on stderr, and exit status 2.
pub(super) type Outcome = Result<Status, Box<dyn Error>>;

/// The error for a stdout that cannot be written to.
pub(super) fn cannot_write(error: io::Error) -> Box<dyn Error> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => ClosedPipe.into(),
        _ => format!("cannot write to stdout: {error}").into(),
    }
}

/// The reader of stdout is gone. It is not an error of this program, and no message says so.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedPipe;

impl fmt::Display for ClosedPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the reader of stdout is gone")
    }
}

impl Error for ClosedPipe {}

/// One line on stderr.
pub(super) fn complain(what: &str) {
    // A failure can be reported nowhere.
    let _ = writeln!(io::stderr(), "utf8-codec: {}", one_line(what));
}

/// Control characters, which a file name or an argument may hold, are escaped: one line stays one line.
pub(super) fn one_line(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}
