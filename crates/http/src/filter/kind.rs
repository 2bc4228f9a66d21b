//! The interface that the filters of all kinds of bodies share.

use bytes::Bytes;
use utf8_codec::internal::Escapes;
use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder, TextPiece, Utf8Error};

use crate::reason::RejectReason;

/// The filter of one kind of body.
pub(crate) trait KindFilter {
    /// Accepts the next chunk, which is not empty. The previous chunk must have been read to its end.
    fn feed(&mut self, chunk: Bytes);

    /// Returns the next output, never empty, or the error after it.
    fn next(&mut self) -> Option<Result<Bytes, RejectReason>>;

    /// Ends the body.
    fn finish(&mut self) {}

    /// Whether all output was returned and the end of the body would add none.
    fn is_clean(&self) -> bool;

    /// Returns the number of bytes fed so far.
    fn offset(&self) -> u64;

    /// Returns the number of ill-formed sequences repaired so far.
    fn repaired(&self) -> u64 {
        0
    }

    /// Returns the number of pending bytes, which were fed but are neither queued nor part of an error.
    fn held(&self) -> u64 {
        0
    }

    /// Returns the number of bytes in the queue, and whether an error follows them.
    fn queued(&self) -> (u64, bool) {
        (0, false)
    }

    /// Returns the minimum length of the output for `bytes` bytes of input.
    fn min_output(&self, bytes: u64) -> u64 {
        bytes
    }

    /// Returns the maximum length of the output for `bytes` bytes of input.
    fn max_output(&self, bytes: u64) -> Option<u64> {
        Some(bytes)
    }
}

/// Appends the text of a piece.
pub(super) fn append(text: &mut Vec<u8>, piece: &TextPiece<'_>) -> Result<(), Utf8Error> {
    text.extend_from_slice(piece.text()?.as_bytes());
    Ok(())
}

/// Returns the number of sequences that a decoder repaired so far.
pub(crate) fn repaired(decoder: &TextDecoder) -> u64 {
    match decoder.error_policy() {
        ErrorPolicy::Strict => 0,
        _ => decoder.counters().repairable(),
    }
}

/// Returns how many sequences a decoder repaired so far, plus how many escapes of JSON were replaced.
pub(super) fn repaired_json(decoder: &TextDecoder, escapes: Option<&Escapes>) -> u64 {
    let (wrong, replaced) = escapes.map_or((0, 0), Escapes::wrong_and_replaced);
    repaired(decoder).saturating_sub(wrong) + replaced
}

/// Returns the minimum length of the output for the next `bytes` bytes of one text.
pub(super) fn min_text_output(decoder: &TextDecoder, bytes: u64) -> u64 {
    let policy = decoder.error_policy();
    let bom = if matches!(decoder.bom_policy(), BomPolicy::Strip | BomPolicy::Require) { 3 } else { 0 };
    // The rest of a surrogate whose first byte was replaced.
    let surrogate = if policy == ErrorPolicy::ReplaceAsJava { 2 } else { 0 };
    policy.min_output_len(bytes.saturating_sub(bom + surrogate))
}

/// The filter of a body that is not checked.
#[derive(Debug)]
pub(super) struct PassFilter {
    chunk: Bytes,
    offset: u64,
}

impl PassFilter {
    /// Creates the filter for the rest of a body.
    pub(super) const fn at(offset: u64) -> Self {
        Self { chunk: Bytes::new(), offset }
    }
}

impl KindFilter for PassFilter {
    fn feed(&mut self, chunk: Bytes) {
        self.offset += chunk.len() as u64;
        self.chunk = chunk;
    }

    #[inline]
    fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        let chunk = core::mem::take(&mut self.chunk);
        (!chunk.is_empty()).then_some(Ok(chunk))
    }

    fn is_clean(&self) -> bool {
        self.chunk.is_empty()
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn queued(&self) -> (u64, bool) {
        (self.chunk.len() as u64, false)
    }
}

/// The filter of a body that is rejected at its first byte.
#[derive(Debug)]
pub(super) struct RefusingFilter {
    reason: RejectReason,
    offset: u64,
}

impl RefusingFilter {
    #[cfg(feature = "body")]
    pub(super) const fn new(reason: RejectReason) -> Self {
        Self { reason, offset: 0 }
    }
}

impl KindFilter for RefusingFilter {
    fn feed(&mut self, chunk: Bytes) {
        self.offset += chunk.len() as u64;
    }

    fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        (self.offset > 0).then(|| Err(self.reason.clone()))
    }

    fn is_clean(&self) -> bool {
        self.offset == 0
    }

    fn offset(&self) -> u64 {
        self.offset
    }
}
