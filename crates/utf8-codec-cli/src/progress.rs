//! Progress bars on stderr, by bytes.

use core::convert::Infallible;
use core::time::Duration;
use std::io::{self, IsTerminal, Read, Write};
use std::sync::mpsc::{self, Receiver, RecvTimeoutError};
use std::thread;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

/// How long a command runs before its bar appears.
const DELAY: Duration = Duration::from_secs(1);

const REDRAW_INTERVAL: Duration = Duration::from_millis(100);

/// The size of the report from which whole lines are written.
const BUFFER: usize = 64 * 1024;

/// A bar that is hidden at first. It is `None` if it is never drawn, so that it costs nothing.
#[derive(Clone, Debug)]
pub(super) struct Progress(Option<ProgressBar>);

impl Progress {
    /// Creates a bar, unless stderr is not a terminal.
    pub(super) fn new(is_wanted: bool) -> Self {
        Self((is_wanted && io::stderr().is_terminal()).then(ProgressBar::hidden))
    }

    pub(super) fn is_on(&self) -> bool {
        self.0.is_some()
    }

    pub(super) fn advance(&self, bytes: u64) {
        if let Some(bar) = &self.0 {
            bar.inc(bytes);
        }
    }

    /// Runs `work`, and removes the bar. `total` is as in [`appear`](Self::appear).
    pub(super) fn during(&self, total: impl FnOnce() -> Option<u64> + Send, work: impl FnOnce()) {
        thread::scope(|scope| {
            let (_running, ended) = mpsc::channel();
            if self.is_on() {
                scope.spawn(move || self.appear(&ended, total));
            }
            work();
        });
        self.finish();
    }

    /// Waits for [`DELAY`], then the bar appears, unless the sender of `ended` was dropped before. `total` returns the
    /// number of bytes if it is known; it is called only then.
    pub(super) fn appear(&self, ended: &Receiver<Infallible>, total: impl FnOnce() -> Option<u64>) {
        let Some(bar) = &self.0 else { return };
        if !matches!(ended.recv_timeout(DELAY), Err(RecvTimeoutError::Timeout)) {
            return;
        }
        let total = total();
        let template = match total {
            Some(_) => "{bytes}/{total_bytes} {wide_bar} {bytes_per_sec} {eta}",
            None => "{bytes} {bytes_per_sec} {elapsed}",
        };
        let style = ProgressStyle::with_template(template);
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        if let Some(total) = total {
            bar.set_length(total);
        }
        bar.set_draw_target(ProgressDrawTarget::stderr());
        bar.enable_steady_tick(REDRAW_INTERVAL);
    }

    /// Removes the bar, runs `write`, which writes to the terminal, and draws the bar again.
    pub(super) fn suspend<T>(&self, write: impl FnOnce() -> T) -> T {
        match &self.0 {
            Some(bar) => bar.suspend(write),
            None => write(),
        }
    }

    /// Removes the bar.
    pub(super) fn finish(&self) {
        if let Some(bar) = &self.0 {
            bar.finish_and_clear();
        }
    }
}

/// A reader that advances a bar.
#[derive(Debug)]
pub(super) struct Counted<'p, R> {
    input: R,
    progress: &'p Progress,
    read: u64,
}

impl<'p, R> Counted<'p, R> {
    pub(super) fn new(input: R, progress: &'p Progress) -> Self {
        Self { input, progress, read: 0 }
    }

    /// Advances the bar by the rest of a file of this length, which is not read.
    pub(super) fn skip_to(&self, len: u64) {
        self.progress.advance(len.saturating_sub(self.read));
    }
}

impl<R: Read> Read for Counted<'_, R> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.read += read as u64;
        self.progress.advance(read as u64);
        Ok(read)
    }
}

/// Stdout. If it is a terminal, the bar is removed before each write. Except for the last write, only whole lines are
/// written, because a bar would overwrite the start of a line.
#[derive(Debug)]
pub(super) struct Stdout {
    out: io::Stdout,
    progress: Progress,
    buffer: Vec<u8>,
}

impl Stdout {
    pub(super) fn new(progress: Progress) -> Self {
        let out = io::stdout();
        let progress = if out.is_terminal() { progress } else { Progress(None) };
        Self { out, progress, buffer: Vec::with_capacity(2 * BUFFER) }
    }

    pub(super) fn is_terminal(&self) -> bool {
        self.out.is_terminal()
    }

    /// Writes the first bytes of the buffer.
    fn write_out(&mut self, len: usize) -> io::Result<()> {
        let Self { out, progress, buffer } = self;
        let written = progress.suspend(|| {
            out.write_all(&buffer[..len])?;
            out.flush()
        });
        buffer.drain(..len);
        written
    }
}

impl Write for Stdout {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        self.buffer.extend_from_slice(bytes);
        if self.buffer.len() >= BUFFER
            && let Some(end) = memchr::memrchr(b'\n', &self.buffer)
        {
            self.write_out(end + 1)?;
        }
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        self.write_out(self.buffer.len())
    }
}
