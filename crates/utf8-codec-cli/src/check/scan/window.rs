//! The part of an input that is in memory.

use core::cell::Cell;
use core::ops::Range;
use std::io::{self, Read};

use crate::files::read;
use crate::guess::mojibake::long_segments;

/// The maximum length of a line to which rules are applied as a whole.
const MAX_LINE: usize = 256 * 1024;

/// The size of the buffer: the longest line, the bytes that are kept before it, and the bytes after it.
const BUFFER: usize = HISTORY + MAX_LINE + AHEAD;

/// The number of scanned bytes that are kept for the context of an error.
const HISTORY: usize = 256;

/// The number of bytes after a line that are read before the line is scanned: a row of a hex dump. The report does not
/// depend on where reads end.
const AHEAD: usize = 16;

thread_local! {
    /// The buffer of the last scan on this thread. Allocating a new one for each small file would cost more than its
    /// scan.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

/// A window that moves over the input: scanned bytes for the context of errors, the bytes to scan next, and some after them.
#[derive(Debug)]
pub(super) struct Window {
    buffer: Vec<u8>,
    /// The offset of the first byte of the buffer.
    base: u64,
    /// The number of bytes in the buffer.
    filled: usize,
    /// The number of those that were scanned.
    done: usize,
    is_at_end: bool,
}

impl Window {
    /// Creates a window at the start of an input.
    pub(super) fn new() -> Self {
        let mut buffer = SPARE.take();
        buffer.resize(BUFFER, 0);
        Self { buffer, base: 0, filled: 0, done: 0, is_at_end: false }
    }

    /// Reads more into the free part of the window.
    pub(super) fn read(&mut self, input: &mut dyn Read) -> io::Result<()> {
        let more = read(&mut &mut *input, &mut self.buffer[self.filled..])?;
        self.filled += more;
        self.is_at_end = more == 0;
        Ok(())
    }

    /// Whether the input has ended.
    pub(super) fn is_at_end(&self) -> bool {
        self.is_at_end
    }

    /// Returns the number of bytes of the input up to the end of the window.
    pub(super) fn end(&self) -> u64 {
        self.base + self.filled as u64
    }

    /// Returns all bytes of the window.
    pub(super) fn bytes(&self) -> &[u8] {
        &self.buffer[..self.filled]
    }

    /// Returns the position in the window of an offset in the input. A position outside the window becomes the nearest
    /// end.
    pub(super) fn position(&self, offset: u64) -> usize {
        (offset.saturating_sub(self.base)).min(self.filled as u64) as usize
    }

    /// Returns the bytes to scan next: complete lines that are followed by [`AHEAD`] bytes, or all at the end of the input.
    ///
    /// Without such a line there are none, except in a full window in which no more than [`HISTORY`] bytes would be
    /// scanned, because [`make_room`](Self::make_room) would make no room. There it is the start of the line: complete
    /// segments if a rule depends on words, and otherwise all but [`HISTORY`] bytes, so that the context after an error is
    /// available.
    pub(super) fn unscanned(&self, needs_words: bool) -> &[u8] {
        if self.is_at_end {
            return &self.buffer[self.done..self.filled];
        }
        let bytes = &self.buffer[self.done..self.filled.saturating_sub(AHEAD).max(self.done)];
        let lines = memchr::memrchr(b'\n', bytes).map_or(0, |at| at + 1);
        if self.filled < self.buffer.len() || self.done + lines > HISTORY {
            return &bytes[..lines];
        }
        if needs_words {
            return &bytes[..long_segments(bytes)];
        }
        &self.buffer[self.done..self.filled.saturating_sub(HISTORY).max(self.done)]
    }

    /// Records that this number of bytes was scanned.
    pub(super) fn advance(&mut self, len: usize) {
        self.done += len;
    }

    /// Drops what was scanned, except the last [`HISTORY`] bytes.
    pub(super) fn make_room(&mut self) {
        let dropped = self.done.saturating_sub(HISTORY);
        self.buffer.copy_within(dropped..self.filled, 0);
        self.base += dropped as u64;
        self.filled -= dropped;
        self.done -= dropped;
    }

    /// Returns the range of the line around a position, as far as it is in the window, without the line break.
    pub(super) fn line_around(&self, at: usize) -> Range<usize> {
        line_around(self.bytes(), at)
    }
}

impl Drop for Window {
    fn drop(&mut self) {
        SPARE.set(core::mem::take(&mut self.buffer));
    }
}

/// Returns the range of the line around the position `at`, as far as it is in `bytes`, without the line break.
pub(super) fn line_around(bytes: &[u8], at: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &bytes[..at]).map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &bytes[at..]).map_or(bytes.len(), |end| at + end);
    start..end
}
