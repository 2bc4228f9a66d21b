//! The decoder with its policies.

use super::pieces::{TextPiece, TextPieces, repair};
#[cfg(feature = "alloc")]
use crate::boundary::floor_boundary;
use crate::decoder::Utf8Decoder;
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::{BomPolicy, Counters, ErrorPolicy, Policies};
use crate::subset::Subset;

/// A [`Utf8Decoder`] with an [`ErrorPolicy`] and a [`BomPolicy`]. Its output is always well-formed text.
///
/// The policies of every adapter of the crate are set here. Like [`Utf8Decoder`] it accepts chunks of any size, does
/// not allocate and does not panic, and its text, errors and offsets do not depend on where chunks end.
///
/// ```
/// use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
///
/// let mut decoder = TextDecoder::new().on_error(ErrorPolicy::Replace).bom(BomPolicy::Strip);
/// let mut text = String::new();
/// for chunk in [&b"\xEF\xBB"[..], b"\xBFna\xC3", b"\xAFve \xFF"] {
///     for piece in decoder.feed(chunk) {
///         text.push_str(piece.text()?);
///     }
/// }
/// if let Some(piece) = decoder.finish() {
///     text.push_str(piece.text()?);
/// }
/// assert_eq!(text, "naïve \u{FFFD}");
/// assert_eq!(decoder.counters().total(), 1);
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
///
/// With the feature `alloc`, `push` returns the text of each chunk as one string, `decode_into` appends it to a
/// `String`, and `decode_to_string` decodes bytes that are all in memory. `feed_ranges` returns pieces with their
/// positions in the chunk.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TextDecoder {
    pub(super) decoder: Utf8Decoder,
    pub(super) policies: Policies,
}

impl TextDecoder {
    /// A strict decoder that keeps the BOM.
    pub const fn new() -> Self {
        Self { decoder: Utf8Decoder::new(), policies: Policies::new() }
    }

    /// A new decoder with the same policies, `offset` bytes into a stream, as [`Utf8Decoder::at`]. Its counters are 0.
    /// A BOM is only looked for at offset 0.
    #[must_use]
    pub const fn at(self, offset: u64) -> Self {
        Self { decoder: Utf8Decoder::at(offset), policies: self.policies.restarted(offset == 0) }
    }

    /// Sets what happens to ill-formed sequences.
    #[must_use]
    pub const fn on_error(mut self, on_error: ErrorPolicy) -> Self {
        self.policies.on_error = on_error;
        self
    }

    /// Sets what happens to the BOM.
    #[must_use]
    pub const fn bom(mut self, bom: BomPolicy) -> Self {
        self.policies.bom = bom;
        self
    }

    /// Adopts a subset: a character outside it goes through the [`ErrorPolicy`] as an ill-formed sequence does (ISO/IEC
    /// 10646-1 Annex R.7), with the kind [`ErrorKind::OutsideSubset`]. A BOM that the [`BomPolicy`] removes need not be
    /// in the subset.
    #[must_use]
    pub const fn subset(mut self, subset: Subset) -> Self {
        self.policies.subset = Some(subset);
        self
    }

    /// Decodes the next chunk and returns its text piece by piece, borrowed from the chunk. As with
    /// [`Utf8Decoder::feed`], a piece is decoded when the iterator is advanced, and [`offset`](Self::offset) counts the
    /// bytes decoded so far.
    #[inline]
    #[must_use = "the chunk is only decoded as the iterator is advanced"]
    pub fn feed<'d, 'c>(&'d mut self, chunk: &'c [u8]) -> TextPieces<'d, 'c> {
        TextPieces::new(self.decoder.feed(chunk), &mut self.policies)
    }

    /// Decodes the first piece of a chunk. Returns the piece and the number of bytes decoded, for adapters, which
    /// cannot keep [`TextPieces`] from one call to the next. All text that is in a [subset](Self::subset) is borrowed, in
    /// several pieces if it is long.
    #[cfg(feature = "alloc")]
    pub(crate) fn take_piece<'c>(&mut self, chunk: &'c [u8]) -> (Option<TextPiece<'c>>, usize) {
        let before = self.offset();
        let window = match self.policies.subset {
            None => chunk,
            Some(_) => &chunk[..floor_boundary(chunk, VALIDATED_FOR_SUBSET)],
        };
        let piece = self.feed(window).next();
        (piece, self.offset().wrapping_sub(before) as usize)
    }

    /// Ends the stream. Returns the repair or the error of a truncated sequence, if there is one. As with
    /// [`Utf8Decoder::finish`], it is returned exactly once, and the decoder can be fed again; the offset continues.
    #[must_use = "the end of the stream may be ill-formed"]
    pub fn finish(&mut self) -> Option<TextPiece<'static>> {
        let before = self.decoder;
        if let Err(error) = self.decoder.finish() {
            return Some(repair(&mut self.policies, error, before.pending()));
        }
        if self.policies.misses_bom() {
            let error = Utf8Error::new(self.offset(), ErrorKind::MissingBom, 0);
            return Some(TextPiece::IllFormed(self.policies.reject(error)));
        }
        None
    }

    /// Absolute offset in the stream: the bytes decoded so far, including those of an unfinished sequence.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// The bytes of an unfinished sequence, `0..=3` of them.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.decoder.pending()
    }

    /// The policy for ill-formed sequences.
    pub const fn error_policy(&self) -> ErrorPolicy {
        self.policies.on_error
    }

    /// The policy for the BOM.
    pub const fn bom_policy(&self) -> BomPolicy {
        self.policies.bom
    }

    /// Errors so far, by kind.
    pub const fn counters(&self) -> Counters {
        self.policies.counters()
    }

    /// The offset of the end of the validated text, without the pending bytes.
    #[cfg(any(feature = "proxy", feature = "std"))]
    pub(crate) const fn valid_up_to(&self) -> u64 {
        self.decoder.valid_up_to()
    }

    /// Whether well-formed text passes unchanged: there is no BOM to look for and no subset.
    #[cfg(any(feature = "codec", feature = "proxy"))]
    pub(crate) fn is_past_start(&self) -> bool {
        self.policies.subset.is_none()
            && (matches!(self.policies.bom, BomPolicy::Keep) || !self.policies.is_at_start())
    }

    /// Whether an ill-formed sequence is an error.
    #[cfg(feature = "codec")]
    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.policies.on_error, ErrorPolicy::Strict)
    }

    /// [`Utf8Decoder::validate`]: no policy is applied to an error, and it is not counted. May only be called [past the
    /// start](Self::is_past_start).
    #[cfg(any(feature = "codec", feature = "proxy"))]
    pub(crate) fn validate(&mut self, chunk: &[u8]) -> Result<(), Utf8Error> {
        self.decoder.validate(chunk)
    }

    /// Applies the policies to an error that [`validate`](Self::validate) returned, and to its bytes.
    #[cfg(feature = "proxy")]
    pub(crate) fn apply_policy(&mut self, error: Utf8Error, bytes: &[u8]) -> TextPiece<'static> {
        repair(&mut self.policies, error, bytes)
    }

    /// Moves to another offset of the same stream, which is between characters. Pending bytes are dropped, and no
    /// policy is applied to skipped bytes. A decoder past the start stays past the start.
    #[cfg(any(feature = "proxy", feature = "std"))]
    pub(crate) fn seek(&mut self, offset: u64) {
        if self.policies.is_at_start() && offset != self.valid_up_to() {
            self.policies.pass_start();
        }
        self.decoder.seek(offset);
    }
}

/// The maximum number of bytes that are validated at a time under a subset. Characters outside the subset are searched
/// in validated text, and the rest may be validated again after each of them, so this must not be large.
#[cfg(feature = "alloc")]
pub(super) const VALIDATED_FOR_SUBSET: usize = 4 * 1024;
