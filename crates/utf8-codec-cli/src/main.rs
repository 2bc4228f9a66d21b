//! The `utf8-codec` command. Each subcommand has its own file, and each failure is reported as one line on stderr.
//!
//! To add a subcommand, add a `mod` line, a variant of [`Command`] and an arm of [`Command::run`].

mod address;
mod admin;
mod args;
mod attributes;
mod charset;
mod check;
mod convert;
mod destination;
#[cfg(unix)]
mod directory;
#[cfg(not(unix))]
#[path = "directory_elsewhere.rs"]
mod directory;
mod escape;
mod exclude;
mod fallback;
mod files;
mod fingerprint;
mod guess;
mod identity;
mod limits;
mod log;
mod mail;
mod metrics;
mod net;
mod outcome;
mod output;
mod process;
mod progress;
mod proxy;
mod proxy_protocol;
mod replacement;
mod serve;
mod server;
mod shell;
mod signals;
mod sockets;
mod temporary;
#[cfg(unix)]
mod unix_socket;
#[cfg(not(unix))]
#[path = "unix_socket_elsewhere.rs"]
mod unix_socket;
mod upstream;
mod walk;

use std::process::ExitCode;

use clap::error::ErrorKind as ClapErrorKind;
use clap::{CommandFactory, FromArgMatches, Parser};
use outcome::{ClosedPipe, CommandResult, CommandStatus, Logged, cannot_write, print_error};

/// Check, convert and filter text, so that no ill-formed UTF-8 passes
#[derive(Debug, Parser)]
#[command(name = "utf8-codec", version = env!("UTF8_CODEC_VERSION"), max_term_width = 110)]
enum Command {
    Check(Box<check::Args>),
    Completions(shell::CompletionsArgs),
    Convert(convert::Args),
    Detect(check::DetectArgs),
    Mail(mail::Args),
    Man(shell::ManArgs),
    Proxy(proxy::Args),
    Serve(serve::Args),
}

impl Command {
    fn run(self) -> CommandResult {
        match self {
            Self::Check(args) => args.run(),
            Self::Completions(args) => args.run::<Self>(),
            Self::Convert(args) => args.run(),
            Self::Detect(args) => args.run(),
            Self::Mail(args) => args.run(),
            Self::Man(args) => args.run::<Self>(),
            Self::Proxy(args) => args.run(),
            Self::Serve(args) => args.run(),
        }
    }
}

/// Parses the command line and runs the subcommand.
fn main() -> ExitCode {
    // An option takes `-1` as its value, so that the error is that of the number and not that of an unknown option.
    let options = Command::command().mut_subcommands(|command| {
        command.mut_args(|arg| match arg.get_long() {
            Some(_) if arg.get_action().takes_values() => arg.allow_negative_numbers(true),
            _ => arg,
        })
    });
    let parsed = options.try_get_matches().and_then(|matches| Command::from_arg_matches(&matches));
    let outcome = match parsed {
        Ok(command) => command.run(),
        Err(error) if matches!(error.kind(), ClapErrorKind::DisplayHelp | ClapErrorKind::DisplayVersion) => {
            error.print().map(|()| CommandStatus::Success).map_err(cannot_write)
        }
        // A call without a subcommand is a question, but not a success. The help is on stderr.
        Err(error) if error.kind() == ClapErrorKind::DisplayHelpOnMissingArgumentOrSubcommand => {
            error.print().map(|()| CommandStatus::Trouble).map_err(cannot_write)
        }
        Err(error) => Err(usage(&error).into()),
    };
    outcome
        .unwrap_or_else(|error| {
            if error.is::<ClosedPipe>() {
                end_by_closed_pipe();
            } else if !error.is::<Logged>() {
                print_error(&error.to_string());
            }
            CommandStatus::Trouble
        })
        .into()
}

/// Ends the process with SIGPIPE, like other programs that write to a closed pipe. Rust programs ignore SIGPIPE at
/// first, so the write returned an error, and destructors have already removed the temporary files. Only Unix has this
/// signal.
fn end_by_closed_pipe() {
    #[cfg(unix)]
    let _ = signal_hook::low_level::emulate_default_handler(signal_hook::consts::SIGPIPE);
}

/// Returns the first paragraph of clap's message and its tips as one line. The other paragraphs repeat the usage.
fn usage(error: &clap::Error) -> String {
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
