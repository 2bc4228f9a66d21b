//! The edits of a filter.

use core::ops::Range;

use utf8_codec::Utf8Error;
use utf8_codec::validator::Mask;

use super::frames::Message;
use super::header::{FrameHeader, MAX_CONTROL, Opcode};
use crate::Edit;

/// Calls `edit` with each edit. Adjacent ranges are joined.
pub(super) struct Plan<F> {
    edit: F,
    passed: Range<usize>,
}

impl<F: FnMut(Edit<'_>)> Plan<F> {
    pub(super) const fn new(edit: F) -> Self {
        Self { edit, passed: 0..0 }
    }

    #[inline(always)]
    pub(super) fn pass(&mut self, range: Range<usize>) {
        if range.is_empty() {
            return;
        }
        if self.passed.end == range.start {
            self.passed.end = range.end;
        } else {
            self.flush();
            self.passed = range;
        }
    }

    #[inline(always)]
    pub(super) fn flush(&mut self) {
        if !self.passed.is_empty() {
            let end = self.passed.end;
            (self.edit)(Edit::Pass(core::mem::replace(&mut self.passed, end..end)));
        }
    }

    pub(super) fn insert(&mut self, bytes: &[u8]) {
        if !bytes.is_empty() {
            self.flush();
            (self.edit)(Edit::Insert(bytes));
        }
    }

    pub(super) fn header(&mut self, header: &FrameHeader) {
        let (bytes, len) = header.bytes();
        self.insert(&bytes[..len]);
    }

    /// Inserts the header of a fragment of a message: of a continuation if `is_continued` is set, otherwise of the
    /// first fragment. Sets `is_continued`.
    pub(super) fn fragment(
        &mut self,
        message: Message,
        is_continued: &mut bool,
        (is_final, mask, len): (bool, Option<Mask>, u64),
    ) {
        let is_first = !core::mem::replace(is_continued, true);
        self.header(&FrameHeader {
            is_final,
            is_compressed: is_first && message.is_compressed,
            opcode: match is_first {
                true if message.is_text => Opcode::Text,
                true => Opcode::Binary,
                false => Opcode::Continuation,
            },
            mask: mask.map(Mask::key),
            len,
        });
    }

    /// Inserts at most 125 bytes.
    pub(super) fn insert_masked(&mut self, bytes: &[u8], mask: Option<Mask>) {
        let mut masked = [0; MAX_CONTROL];
        let masked = &mut masked[..bytes.len()];
        masked.copy_from_slice(bytes);
        if let Some(mut mask) = mask {
            mask.apply(masked);
        }
        self.insert(masked);
    }

    pub(super) fn report(&mut self, error: Utf8Error) {
        (self.edit)(Edit::IllFormed(error));
    }
}
