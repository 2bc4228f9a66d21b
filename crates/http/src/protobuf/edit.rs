//! The edits of a chunk.

use core::ops::Range;

use utf8_codec::Utf8Error;

use super::error::FieldPath;

/// A change to the chunk. Edits are in stream order.
///
/// Bytes of the chunk that no `Pass` covers are not forwarded: they are replaced by the `Insert` at their position, held
/// until the rest of their character or compressed message arrives, or rejected.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub enum StringEdit<'a> {
    /// The bytes at these positions of the chunk are forwarded unchanged. The range is never empty, and ranges ascend.
    Pass(Range<usize>),
    /// These bytes are inserted: a character that the chunk completes, or a replacement. Never empty.
    Insert(&'a [u8]),
    /// An ill-formed sequence in this field, which the next `Insert` replaces. In a compressed message, the offset is that in
    /// the inflated message.
    IllFormed(Utf8Error, FieldPath<'a>),
}

/// The edits of a chunk.
pub(super) struct Edits<'c, F> {
    chunk: &'c [u8],
    /// The start of the bytes that were neither forwarded nor replaced.
    start: usize,
    edit: F,
}

impl<'c, F: FnMut(StringEdit<'_>)> Edits<'c, F> {
    pub(super) const fn new(chunk: &'c [u8], edit: F) -> Self {
        Self { chunk, start: 0, edit }
    }

    pub(super) fn pass_up_to(&mut self, end: usize) {
        if end > self.start {
            (self.edit)(StringEdit::Pass(self.start..end));
            self.start = end;
        }
    }

    pub(super) fn replace(
        &mut self,
        range: Range<usize>,
        bytes: &[u8],
        error: Option<(Utf8Error, FieldPath<'_>)>,
    ) {
        self.pass_up_to(range.start);
        if let Some((error, path)) = error {
            (self.edit)(StringEdit::IllFormed(error, path));
        }
        if !bytes.is_empty() {
            (self.edit)(StringEdit::Insert(bytes));
        }
        self.start = range.end;
    }

    /// Reports an ill-formed sequence that a later edit replaces.
    pub(super) fn report(&mut self, error: Utf8Error, path: FieldPath<'_>) {
        (self.edit)(StringEdit::IllFormed(error, path));
    }

    /// Leaves out the bytes of an unfinished character, or of a compressed message.
    pub(super) fn hold(&mut self, range: Range<usize>) {
        if !range.is_empty() {
            self.pass_up_to(range.start);
            self.start = range.end;
        }
    }

    pub(super) fn end(&mut self) {
        self.pass_up_to(self.chunk.len());
    }
}
