//! The result of a command: its exit status and its messages on stderr.

use core::error::Error;
use core::fmt;
use std::io::{self, Write};
use std::process::ExitCode;

use crate::escape;

/// The status of a command that returned no error.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum CommandStatus {
    /// Exit status 0.
    Success,
    /// Exit status 1: the input is ill-formed, violates a rule, or is in an unknown encoding.
    IllFormed,
    /// Exit status 2: some files could not be read or written. The reasons are on stderr.
    Trouble,
}

impl From<CommandStatus> for ExitCode {
    fn from(status: CommandStatus) -> Self {
        Self::from(status as u8)
    }
}

/// The result of a command. An `Err` means exit status 2. It is printed as one line on stderr, except [`ClosedPipe`]
/// and [`Logged`].
pub(super) type CommandResult = Result<CommandStatus, Box<dyn Error>>;

/// Converts an error of writing to stdout.
pub(super) fn cannot_write(error: io::Error) -> Box<dyn Error> {
    match error.kind() {
        io::ErrorKind::BrokenPipe => ClosedPipe.into(),
        _ => format!("cannot write to stdout: {error}").into(),
    }
}

/// The error for a write to a closed pipe. The program ends without a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct ClosedPipe;

impl fmt::Display for ClosedPipe {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("stdout was closed")
    }
}

impl Error for ClosedPipe {}

/// An error that was already written to the log. The program ends without a message.
#[derive(Clone, Copy, Debug)]
pub(super) struct Logged;

impl fmt::Display for Logged {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the error is in the log")
    }
}

impl Error for Logged {}

/// Prints one line on stderr.
pub(super) fn print_error(message: &str) {
    // If this fails, the failure cannot be reported.
    let _ = writeln!(io::stderr(), "utf8-codec: {}", escape::message(message));
}
