//! The step between a read and a write: applies the filter of a direction to the buffer of its pump.

use core::ops::Range;

use crate::error::Utf8Error;
use crate::proxy::buffer::HEADROOM;
use crate::proxy::edit::{Edit, RejectedLine};
use crate::proxy::filter::{Filter, Verdict};
use crate::proxy::lines::LineFilter;

/// The filter of a direction.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    Untouched,
    Text(Filter),
    Lines(LineFilter),
}

/// Why a direction is rejected.
#[derive(Clone, Copy, Debug)]
pub(super) enum StageError {
    IllFormed(Utf8Error),
    Line(RejectedLine),
}

impl Stage {
    /// Filters the bytes that were read. If `end` is set, ends the stream, and the slice must be empty.
    pub(super) fn take(
        &mut self,
        slice: &[u8],
        end: bool,
        mut edit: impl FnMut(Edit<'_>),
    ) -> Result<(), StageError> {
        match self {
            Self::Untouched => {
                edit(Edit::Pass(0..slice.len()));
                Ok(())
            }
            Self::Text(filter) => match if end { filter.finish(edit) } else { filter.feed(slice, edit) } {
                Verdict::Reject(error) => Err(StageError::IllFormed(error)),
                Verdict::Pass | Verdict::Repaired(_) => Ok(()),
            },
            Self::Lines(filter) => {
                if end { filter.finish(edit) } else { filter.feed(slice, edit) }.map_err(StageError::Line)
            }
        }
    }

    /// Returns the number of bytes that wait for the rest of their character or line.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Untouched => 0,
            Self::Text(filter) => filter.pending().len(),
            Self::Lines(filter) => filter.held(),
        }
    }
}

/// The bytes to write: a part of the buffer if possible, otherwise a copy.
#[derive(Debug, Default)]
pub(super) struct Pending {
    /// A range of the whole buffer, including the [`HEADROOM`] bytes at its start.
    range: Range<usize>,
    /// Repaired text. If it is not empty, it contains all bytes to write.
    copy: Vec<u8>,
    written: usize,
}

impl Pending {
    pub(super) fn bytes<'b>(&'b self, buffer: &'b [u8]) -> &'b [u8] {
        let all = if self.copy.is_empty() { &buffer[self.range.clone()] } else { &self.copy };
        &all[self.written..]
    }

    pub(super) fn len(&self) -> usize {
        self.range.len().max(self.copy.len()) - self.written
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn advance(&mut self, written: usize) {
        self.written += written;
    }

    /// Discards the bytes but keeps the memory of the copy.
    pub(super) fn clear(&mut self) {
        self.range = 0..0;
        self.copy.clear();
        self.written = 0;
    }

    /// Frees the memory of the copy.
    pub(super) fn release(&mut self) {
        self.copy = Vec::new();
    }

    /// Appends bytes of the slice, which is in the buffer after the headroom.
    pub(super) fn pass(&mut self, head: &[u8], slice: &[u8], range: Range<usize>) {
        let moved = range.start + HEADROOM..range.end + HEADROOM;
        if self.copy.is_empty() && self.range.is_empty() {
            self.range = moved;
        } else if self.copy.is_empty() && self.range.end == moved.start {
            self.range.end = moved.end;
        } else {
            self.copy(head, slice, &slice[range]);
        }
    }

    /// Appends bytes that are not in the slice. If they are the first bytes to write and are short, they are put into
    /// the headroom.
    pub(super) fn insert(&mut self, head: &mut [u8], slice: &[u8], bytes: &[u8]) {
        if bytes.len() <= head.len() && self.range.is_empty() && self.copy.is_empty() {
            self.range = HEADROOM - bytes.len()..HEADROOM;
            head[self.range.clone()].copy_from_slice(bytes);
        } else {
            self.copy(head, slice, bytes);
        }
    }

    fn copy(&mut self, head: &[u8], slice: &[u8], bytes: &[u8]) {
        let Range { start, end } = core::mem::take(&mut self.range);
        if start < end {
            self.copy.extend_from_slice(&head[start.min(HEADROOM)..end.min(HEADROOM)]);
            self.copy.extend_from_slice(&slice[start.max(HEADROOM) - HEADROOM..end.max(HEADROOM) - HEADROOM]);
        }
        self.copy.extend_from_slice(bytes);
    }

    /// Inserts `answer` after the last complete line of the bytes to write. If they contain no end of a line, inserts
    /// it before them, but only if the bytes written before ended a line. Returns whether a position was found.
    pub(super) fn answer(&mut self, buffer: &[u8], answer: &mut Vec<u8>, between_lines: bool) -> bool {
        let text = self.bytes(buffer);
        let at = match memchr::memrchr(b'\n', text) {
            Some(end) => end + 1,
            None if between_lines => 0,
            None => return false,
        };
        let copy = [&text[..at], answer, &text[at..]].concat();
        answer.clear();
        self.clear();
        self.copy = copy;
        true
    }
}
