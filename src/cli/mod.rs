//! The command line: one file for each subcommand, one line on stderr for each failure.
//!
//! A new subcommand is a `mod` line, a variant of [`Command`] and an arm of [`Command::run`].

mod args;
mod atomic;
mod charset;
mod check;
mod convert;
mod detect;
mod files;
mod log;
mod mail;
mod proxy;
mod serve;
mod server;
#[cfg(unix)]
mod signals;
#[cfg(not(unix))]
#[path = "signals_elsewhere.rs"]
mod signals;

use core::error::Error;
use std::io::{self, Write};
use std::process::ExitCode;

use clap::Parser;
use clap::error::ErrorKind as ClapErrorKind;
use files::{ClosedPipe, cannot_write};

/// Bytes from a network become text that is certainly text.
#[derive(Debug, Parser)]
#[command(name = "utf8-codec", version, max_term_width = 110)]
enum Command {
    Check(check::Args),
    Convert(convert::Args),
    Detect(detect::Args),
    Mail(mail::Args),
    Proxy(proxy::Args),
    Serve(serve::Args),
}

impl Command {
    fn run(self) -> Outcome {
        match self {
            Self::Check(args) => args.run(),
            Self::Convert(args) => args.run(),
            Self::Detect(args) => args.run(),
            Self::Mail(args) => args.run(),
            Self::Proxy(args) => args.run(),
            Self::Serve(args) => args.run(),
        }
    }
}

/// How a command that did its work ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Status {
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

/// What a command returns. An `Err` is told in one line on stderr, and is exit status 2.
type Outcome = Result<Status, Box<dyn Error>>;

/// Parses the command line and runs what it names.
pub(crate) fn main() -> ExitCode {
    let outcome = match Command::try_parse() {
        Ok(command) => command.run(),
        Err(error) if matches!(error.kind(), ClapErrorKind::DisplayHelp | ClapErrorKind::DisplayVersion) => {
            error.print().map(|()| Status::Success).map_err(cannot_write)
        }
        Err(error) => Err(usage(&error).into()),
    };
    outcome
        .unwrap_or_else(|error| {
            if error.is::<ClosedPipe>() {
                end_by_closed_pipe();
            } else {
                complain(&error.to_string());
            }
            Status::Trouble
        })
        .into()
}

/// Ends as a program ends that writes to a pipe without a reader: killed by SIGPIPE. (The runtime of Rust ignores that
/// signal, so that temporary files are removed before.) Elsewhere there is no such convention.
fn end_by_closed_pipe() {
    #[cfg(unix)]
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// One line on stderr.
fn complain(what: &str) {
    // There is nowhere left to tell a failure.
    let _ = writeln!(io::stderr(), "utf8-codec: {}", one_line(what));
}

/// Control characters, which a file name or an argument may hold, are escaped: one line stays one line.
fn one_line(text: &str) -> String {
    text.chars().flat_map(|c| if c.is_control() { c.escape_default().collect() } else { vec![c] }).collect()
}

/// The first paragraph of clap's message and its tips, in one line. The paragraphs after it repeat the usage.
fn usage(error: &clap::Error) -> String {
    if error.kind() == ClapErrorKind::DisplayHelpOnMissingArgumentOrSubcommand {
        return "a subcommand is missing: try `utf8-codec --help`".to_owned();
    }
    let message = error.render().to_string();
    let mut lines = message.lines().map(str::trim);
    let paragraph: Vec<&str> = lines.by_ref().take_while(|line| !line.is_empty()).collect();
    let paragraph = paragraph.join(" ");
    let mut line = paragraph.strip_prefix("error: ").unwrap_or(&paragraph).to_owned();
    for tip in lines.filter_map(|line| line.strip_prefix("tip: ")) {
        line.push_str("; ");
        line.push_str(tip);
    }
    line
}
