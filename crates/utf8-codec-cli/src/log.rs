//! The log of `proxy` and `serve`: a bounded queue that a separate thread writes to stderr. The other commands log only
//! on request, and directly to stderr.
//!
//! Tasks that serve a connection or wait for a signal never write to stderr. If stderr is not read, the queue fills up,
//! and further lines are dropped and counted.

use core::error::Error;
use core::sync::atomic::{AtomicUsize, Ordering};
use core::time::Duration;
use std::io::{self, IsTerminal, Write};
use std::sync::Arc;
use std::sync::mpsc::{self, Receiver, Sender, SyncSender, TrySendError};
use std::{env, panic, thread};

use clap::ValueEnum;
use tracing::level_filters::LevelFilter;
use tracing::{error, warn};
use tracing_subscriber::filter::Targets;
use tracing_subscriber::layer::{Layer, SubscriberExt};
use tracing_subscriber::util::SubscriberInitExt;

use crate::outcome::{ClosedPipe, Logged};

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
    queue: SyncSender<Entry>,
    dropped: DroppedLines,
}

/// An entry of the queue.
#[derive(Debug)]
enum Entry {
    Line(Vec<u8>),
    /// The end of the log, and who waits for it.
    End(Sender<()>),
}

/// Writes the lines of the queue to stderr until its end. A line that cannot be written is lost.
fn write_lines(queue: &Receiver<Entry>) {
    for entry in queue {
        match entry {
            Entry::Line(line) => {
                let _ = io::stderr().write_all(&line);
            }
            Entry::End(done) => {
                let _ = done.send(());
                return;
            }
        }
    }
}

/// A writer that puts a line into the queue with each call of `write`, and never waits.
#[derive(Clone, Debug)]
struct Line {
    queue: SyncSender<Entry>,
    dropped: Arc<AtomicUsize>,
}

impl Write for Line {
    fn write(&mut self, line: &[u8]) -> io::Result<usize> {
        if let Err(TrySendError::Full(_)) = self.queue.try_send(Entry::Line(line.to_vec())) {
            self.dropped.fetch_add(1, Ordering::Relaxed);
        }
        Ok(line.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        Ok(())
    }
}

impl LogArgs {
    /// Starts the log thread and installs the subscriber. Also returns an error if `RUST_LOG` cannot be parsed, and then the
    /// log has the default level.
    pub(super) fn start(self) -> (Log, Result<(), String>) {
        let (filter, parsed) = match self.verbosity.filter(LevelFilter::INFO) {
            Ok(filter) => (filter, Ok(())),
            Err(error) => (Targets::new().with_default(LevelFilter::INFO), Err(error)),
        };
        let (queue, lines) = mpsc::sync_channel(QUEUED_LINES);
        let started = thread::Builder::new().name("log".to_owned()).spawn(move || write_lines(&lines));
        let dropped = DroppedLines { count: Arc::default(), reported: 0 };
        let writer = Line { queue: queue.clone(), dropped: Arc::clone(&dropped.count) };
        let lines = tracing_subscriber::fmt::layer()
            .with_writer(move || writer.clone())
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
        let parsed =
            parsed.and_then(|()| started.map(drop).map_err(|error| format!("cannot start the log: {error}")));
        (Log { queue, dropped }, parsed)
    }

    /// Writes the error that ends the program to the log, if its lines are objects: any other line would be lost for
    /// the reader.
    pub(super) fn failed(self, error: Box<dyn Error>) -> Box<dyn Error> {
        if self.log == LogFormat::Text || error.is::<ClosedPipe>() {
            return error;
        }
        error!("{error}");
        Logged.into()
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
        let queue = self.queue.clone();
        let (done, flushed) = mpsc::channel();
        // The queue may be full. A separate thread waits for it, so that the program waits for at most `FLUSH_TIME`.
        let waiting = thread::Builder::new().spawn(move || queue.send(Entry::End(done)));
        if waiting.is_ok() {
            let _ = flushed.recv_timeout(FLUSH_TIME);
        }
    }
}

/// The counter of dropped lines.
#[derive(Clone, Debug)]
pub(super) struct DroppedLines {
    count: Arc<AtomicUsize>,
    reported: usize,
}

impl DroppedLines {
    /// Returns the number of lines dropped since the start.
    pub(super) fn count(&self) -> usize {
        self.count.load(Ordering::Relaxed)
    }

    /// Periodically reports new drops in the log. Never returns.
    pub(super) async fn keep_reporting(mut self) {
        loop {
            tokio::time::sleep(REPORT_INTERVAL).await;
            self.report();
        }
    }

    fn report(&mut self) {
        let dropped = self.count();
        if dropped > self.reported {
            warn!(lines = dropped - self.reported, "log lines were dropped: stderr is read too slowly");
            self.reported = dropped;
        }
    }
}
