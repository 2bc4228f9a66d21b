//! The log of `proxy` and `serve`: a bounded queue that a separate thread writes to stderr. The other commands log only
//! on request, and directly to stderr.
//!
//! Tasks that serve a connection or wait for a signal never write to stderr. If stderr is not read, the queue fills up,
//! and further lines are dropped and counted.

use core::time::Duration;
use std::io::{self, IsTerminal};
use std::sync::mpsc;
use std::{env, panic, thread};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing::{error, warn};
use tracing_appender::non_blocking::{ErrorCounter, NonBlockingBuilder, WorkerGuard};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

/// The capacity of the queue, in lines of about 200 bytes.
const QUEUED_LINES: usize = 8 * 1024;

/// The interval at which dropped lines are reported.
const REPORT_INTERVAL: Duration = Duration::from_secs(10);

/// The time limit for flushing the queue at the end of the program.
const FLUSH_TIME: Duration = Duration::from_secs(2);

/// The options for the log.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct LogArgs {
    /// The format of the log on stderr; json is one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    log: LogFormat,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// The option `--verbose`.
#[derive(Clone, Copy, Debug, clap::Args)]
pub(super) struct Verbosity {
    /// Log more: once for debug events, twice for trace events. RUST_LOG has precedence
    #[arg(short, long, action = clap::ArgAction::Count)]
    verbose: u8,
}

impl Verbosity {
    /// Installs a subscriber that logs to stderr, for commands that do not log by default. The level comes from
    /// `RUST_LOG` or `--verbose`.
    pub(super) fn start(self) -> Result<(), String> {
        let filter = self.filter(LevelFilter::OFF)?;
        if self.verbose > 0 || env::var_os("RUST_LOG").is_some() {
            let lines = tracing_subscriber::fmt::layer().with_writer(io::stderr).with_ansi(wants_color());
            tracing_subscriber::registry().with(lines.with_target(false).with_filter(filter)).init();
        }
        Ok(())
    }

    fn filter(self, default: LevelFilter) -> Result<Targets, String> {
        match env::var("RUST_LOG") {
            Ok(directives) if !directives.is_empty() => {
                directives.parse().map_err(|error| format!("RUST_LOG: {error}"))
            }
            _ => Ok(Targets::new().with_default(match self.verbose {
                0 => default,
                1 => LevelFilter::DEBUG,
                _ => LevelFilter::TRACE,
            })),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum LogFormat {
    Text,
    Json,
}

/// The running log. Dropping it flushes the queue, for at most [`FLUSH_TIME`].
#[derive(Debug)]
pub(super) struct Log {
    worker: Option<WorkerGuard>,
    dropped: DroppedLines,
}

impl LogArgs {
    /// Starts the log thread and installs the subscriber.
    ///
    /// # Errors
    ///
    /// Returns an error if `RUST_LOG` cannot be parsed.
    pub(super) fn start(self) -> Result<Log, String> {
        let filter = self.verbosity.filter(LevelFilter::INFO)?;
        let (writer, worker) = NonBlockingBuilder::default()
            .lossy(true)
            .buffered_lines_limit(QUEUED_LINES)
            .thread_name("log")
            .finish(io::stderr());
        let dropped = DroppedLines { counter: writer.error_counter(), reported: 0 };
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(writer)
            .with_ansi(self.log == LogFormat::Text && wants_color())
            .with_target(false)
            .log_internal_errors(false);
        let registry = tracing_subscriber::registry();
        match self.log {
            LogFormat::Text => registry.with(lines.with_filter(filter)).init(),
            LogFormat::Json => registry.with(lines.json().flatten_event(true).with_filter(filter)).init(),
        }
        // The default hook writes to stderr directly, which would block if stderr is not read.
        panic::set_hook(Box::new(|bug| {
            let at = bug.location().map(ToString::to_string);
            let payload = bug.payload();
            let message = payload.downcast_ref::<&str>().copied();
            let message = message.or_else(|| payload.downcast_ref::<String>().map(String::as_str));
            error!(at, "bug: {}", message.unwrap_or("panic"));
        }));
        Ok(Log { worker: Some(worker), dropped })
    }
}

/// Whether stderr is a terminal, `NO_COLOR` (<https://no-color.org>) is not set, and `TERM` is not `dumb`.
fn wants_color() -> bool {
    let no_color = env::var_os("NO_COLOR").is_some_and(|value| !value.is_empty());
    let dumb = env::var_os("TERM").is_some_and(|term| term == "dumb");
    io::stderr().is_terminal() && !no_color && !dumb
}

impl Log {
    /// Returns the counter of lines that are dropped because the queue is full.
    pub(super) fn dropped(&self) -> DroppedLines {
        self.dropped.clone()
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.dropped.report();
        let worker = self.worker.take();
        let (done, flushed) = mpsc::channel();
        // Dropping the guard can block and can print a message. A separate thread drops it, so that the program waits
        // for at most `FLUSH_TIME`.
        thread::spawn(move || {
            drop(worker);
            done.send(())
        });
        let _ = flushed.recv_timeout(FLUSH_TIME);
    }
}

/// The counter of dropped lines.
#[derive(Clone, Debug)]
pub(super) struct DroppedLines {
    counter: ErrorCounter,
    reported: usize,
}

impl DroppedLines {
    /// Returns the number of lines dropped since the start.
    pub(super) fn count(&self) -> usize {
        self.counter.dropped_lines()
    }

    /// Periodically reports new drops in the log. Never returns.
    pub(super) async fn keep_reporting(mut self) {
        loop {
            tokio::time::sleep(REPORT_INTERVAL).await;
            self.report();
        }
    }

    fn report(&mut self) {
        let dropped = self.counter.dropped_lines();
        if dropped > self.reported {
            warn!(lines = dropped - self.reported, "log lines were dropped: stderr is read too slowly");
            self.reported = dropped;
        }
    }
}
