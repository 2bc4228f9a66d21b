//! Splits the edits of a slice into lines.
//!
//! [`LineEdits`] forwards a line only when its terminator arrives, so until then the line is in two parts: `held`, a copy of
//! the bytes of earlier slices and of repairs, and `tail`, a range of the current slice that follows it. A line that starts and
//! ends in one slice is never copied, and neither are the lines between the first and the last terminator of a slice, which are
//! forwarded as one range if none of them can be too long.
//!
//! Three things can depend on where a slice ends. They are stored between slices, the first and the last in [`Line`]:
//!
//! - a CR at the end may be the start of CRLF (`after_cr`), so it does not count towards the limit, and an LF after it
//!   belongs to the line before (`skipped_before`);
//! - an unfinished character is in the decoder of the filter, and an unfinished escape of JSON in its `escapes`;
//! - the rest of a rejected line is dropped up to its terminator (`skipped`).

use alloc::vec::Vec;
use core::ops::Range;

use utf8_codec::internal::Sink;
use utf8_codec::{LineEnding, Utf8Error};

use crate::edit::{Edit, Edits, LineError, RejectedLine, position};

/// The maximum memory, in bytes, that is kept allocated for the next incomplete line.
const KEPT: usize = 1024;

/// The incomplete line.
#[derive(Clone, Debug)]
pub(super) struct Line {
    /// The line number, counted from 1.
    number: u64,
    /// The start of the line: the part from earlier slices, after repair, and any part of the current slice that must
    /// be copied.
    pub(super) held: Vec<u8>,
    /// Whether the line was rejected. The rest of it is dropped.
    pub(super) skipped: bool,
    /// Whether the last byte is a CR.
    pub(super) after_cr: bool,
    /// Whether the line before this one, whose terminator is that CR, was rejected.
    skipped_before: bool,
}

impl Line {
    pub(super) const FIRST: Self =
        Self { number: 1, held: Vec::new(), skipped: false, after_cr: false, skipped_before: false };

    /// Starts the next line, after `lines` lines were completed.
    pub(super) fn next(&mut self, lines: u64) {
        self.number += lines;
        self.skipped_before = self.skipped;
        self.skipped = false;
    }
}

/// Splits the edits of a slice into lines and forwards them to the caller.
pub(super) struct LineEdits<'s, F> {
    pub(super) slice: &'s [u8],
    pub(super) edit: F,
    pub(super) line: &'s mut Line,
    pub(super) ending: LineEnding,
    pub(super) max_length: usize,
    pub(super) first_error_only: bool,
    pub(super) stops: bool,
    /// The part of the line in the slice that follows the bytes in `held`.
    pub(super) tail: Range<usize>,
    /// The first line that was rejected.
    pub(super) rejected: Option<RejectedLine>,
}

/// The first terminator in a part of a slice.
#[derive(Clone, Copy)]
pub(super) struct End {
    /// The position after the content in that part. The content may include the CR of a CRLF.
    pub(super) content: usize,
    /// The position after the terminator.
    pub(super) after: usize,
}

impl<F: FnMut(Edit<'_>)> LineEdits<'_, F> {
    /// Returns the first terminator that ends in `bytes[from..]`.
    pub(super) fn first_end(&self, bytes: &[u8], from: usize) -> Option<End> {
        // The CR was in another piece.
        if self.ending == LineEnding::CrLf && self.line.after_cr && bytes.get(from) == Some(&b'\n') {
            return Some(End { content: from, after: from + 1 });
        }
        let (content, len) = self.ending.find(bytes, from)?;
        let after = content + len;
        // A CR before `from` is content that was already processed.
        Some(End { content: content.max(from), after })
    }

    /// Whether the bytes start with the LF of a terminator whose CR has already ended a line.
    fn continues_terminator(&self, bytes: &[u8]) -> bool {
        self.ending == LineEnding::Any && self.line.after_cr && bytes.first() == Some(&b'\n')
    }

    /// Whether the stream has ended because a line was rejected.
    fn over(&self) -> bool {
        self.stops && self.rejected.is_some()
    }

    fn reject(&mut self, reason: LineError) {
        if !self.line.skipped && !self.over() {
            let rejected = RejectedLine { line: self.line.number, reason };
            self.rejected.get_or_insert(rejected);
            (self.edit)(Edit::LineRejected(rejected));
        }
        self.line.skipped = true;
        self.line.held = Vec::new();
    }

    /// Rejects the line because of an ill-formed sequence that follows all bytes so far.
    pub(super) fn reject_ill_formed(&mut self, error: Utf8Error) {
        self.reject(LineError::IllFormed(error));
        self.line.after_cr = false;
    }

    /// Copies the part of the line in `tail` to `held`.
    pub(super) fn hold(&mut self) {
        let tail = core::mem::take(&mut self.tail);
        if !self.line.skipped {
            self.line.held.extend_from_slice(&self.slice[tail]);
        }
    }

    /// Rejects the line if its `len` bytes so far are too long. `last` is the last of them. A CR that may be part of the
    /// terminator is not counted.
    fn measure(&mut self, len: usize, last: u8) {
        let may_have_cr = matches!(self.ending, LineEnding::LfOrCrLf | LineEnding::CrLf);
        let terminator = usize::from(may_have_cr && last == b'\r');
        if len > self.max_length.saturating_add(terminator) {
            self.reject(LineError::TooLong(self.max_length));
        }
    }

    /// Adds bytes to the line, without a terminator.
    fn grow(&mut self, range: Range<usize>) {
        if self.line.skipped || range.is_empty() {
            return;
        }
        if self.tail.end != range.start {
            self.hold();
        }
        let start = if self.tail.is_empty() { range.start } else { self.tail.start };
        self.tail = start..range.end;
        self.measure(self.line.held.len() + self.tail.len(), self.slice[range.end - 1]);
    }

    /// Processes well-formed text of the slice.
    fn text(&mut self, Range { start: mut at, end }: Range<usize>) {
        let slice = self.slice;
        let Some(&last_byte) = slice[at..end].last() else { return };
        if self.continues_terminator(&slice[at..end]) && !self.over() {
            if !self.line.skipped_before {
                (self.edit)(Edit::Pass(at..at + 1));
            }
            at += 1;
            self.tail = at..at;
        }
        while at < end && !self.over() {
            let Some(first) = self.first_end(&slice[..end], at) else {
                self.grow(at..end);
                break;
            };
            self.line.after_cr = false;
            // The CR of a CRLF is measured as a part of the line, because it may have come in an earlier slice.
            let content = if self.ending == LineEnding::Any { first.content } else { first.after - 1 };
            self.grow(at..content);
            if self.line.skipped {
                self.line.next(1);
                at = first.after;
                self.tail = at..at;
                continue;
            }
            // If at most `max_length` bytes follow this line, no line in them is too long.
            let others = &slice[first.after..end];
            let all_short = others.len() <= self.max_length;
            let len = if all_short { self.ending.find_last(others).unwrap_or(0) } else { 0 };
            self.complete(at, first.after + len);
            self.line.next(1 + self.ending.count(&others[..len]) as u64);
            at = first.after + len;
            self.tail = at..at;
        }
        self.line.after_cr = last_byte == b'\r';
    }

    /// Forwards the line, and the complete lines after it up to `end`. `at` is the start of the line in the slice if
    /// `tail` is empty.
    fn complete(&mut self, at: usize, end: usize) {
        self.insert_held();
        let start = if self.tail.is_empty() { at } else { self.tail.start };
        (self.edit)(Edit::Pass(start..end));
    }

    /// Ends the stream.
    pub(super) fn end(&mut self) {
        if !self.line.skipped && self.line.held.len() > self.max_length {
            self.reject(LineError::TooLong(self.max_length));
        }
        let is_line = self.line.skipped || !self.line.held.is_empty();
        self.insert_held();
        self.line.next(u64::from(is_line));
        self.line.after_cr = false;
    }

    /// Forwards the held bytes. Their memory is kept for the next line, unless it is more than most lines need.
    fn insert_held(&mut self) {
        let mut held = core::mem::take(&mut self.line.held);
        if !held.is_empty() {
            (self.edit)(Edit::Insert(&held));
        }
        if held.capacity() <= KEPT {
            held.clear();
            self.line.held = held;
        }
    }
}

impl<F: FnMut(Edit<'_>)> Edits for LineEdits<'_, F> {
    fn pass(&mut self, range: Range<usize>) {
        self.text(range);
    }

    fn may_end(&self) -> bool {
        self.stops
    }

    fn held(&mut self, bytes: &[u8]) {
        self.hold();
        self.line.after_cr &= bytes.is_empty();
        if !self.line.skipped {
            self.line.held.extend_from_slice(bytes);
        }
    }
}

impl<F: FnMut(Edit<'_>)> Sink for LineEdits<'_, F> {
    fn borrowed(&mut self, text: &str) {
        let start = position(self.slice, text);
        self.text(start..start + text.len());
    }

    fn made(&mut self, text: &str) {
        self.hold();
        let bytes = text.as_bytes();
        let Some(&last_byte) = bytes.last() else { return };
        let mut at = 0;
        if self.continues_terminator(bytes) && !self.over() {
            if !self.line.skipped_before {
                (self.edit)(Edit::Insert(&bytes[..1]));
            }
            at = 1;
        }
        while at < bytes.len() && !self.over() {
            let end = self.first_end(bytes, at);
            self.line.after_cr = false;
            let content = match end {
                Some(end) if self.ending == LineEnding::Any => end.content,
                Some(end) => end.after - 1,
                None => bytes.len(),
            };
            if !self.line.skipped {
                self.line.held.extend_from_slice(&bytes[at..content]);
                let last = self.line.held.last().copied().unwrap_or_default();
                self.measure(self.line.held.len(), last);
            }
            let Some(end) = end else { break };
            if !self.line.skipped {
                self.line.held.extend_from_slice(&bytes[content..end.after]);
                self.insert_held();
            }
            self.line.next(1);
            at = end.after;
        }
        self.line.after_cr = last_byte == b'\r';
    }

    fn error(&mut self, error: Utf8Error) {
        let known = self.line.skipped && self.first_error_only;
        if !known && !self.over() {
            (self.edit)(Edit::IllFormed(error));
        }
    }
}
