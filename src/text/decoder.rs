//! The decoder with its policies.

use super::pieces::{TextPiece, TextPieces, repair};
use crate::boundary::floor_boundary;
use crate::decoder::Utf8Decoder;
use crate::decoder::{Piece, from_utf8};
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::ShortStr;
use crate::policy::{BomPolicy, Counters, ErrorPolicy, Policies};
use crate::subset::Subset;

/// A [`Utf8Decoder`] with an [`ErrorPolicy`], a [`BomPolicy`] and an optional [`Subset`]. Its output is always
/// well-formed text.
///
/// Like [`Utf8Decoder`] it accepts chunks of any size, does not allocate and does not panic, and its text, errors and
/// offsets do not depend on how the stream is split into chunks.
///
/// A clone is a snapshot: to undo a chunk, go back to a clone from before it.
///
/// All adapters of this crate get their policies from it. An adapter for one stream continues the stream of the decoder:
/// its offset, its counters and its pending bytes, which a codec of the module `codec` expects in the read buffer
/// instead. An adapter for many texts (frames, relayed connections, bodies under rules) uses only the policies.
///
/// ```
/// use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
///
/// let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Strip);
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
/// With the feature `alloc`, `decode_chunk` returns the text of each chunk as one string, `feed_into` appends it to a
/// `String`, `finish_into` appends the rest, and `decode_whole` decodes a complete input. `feed_ranges` returns pieces with
/// their positions in the chunk.
///
/// # Cost
///
/// [`feed`](Self::feed) returns two pieces for each error. `feed_into` and the adapters that copy text repair errors that are
/// close together in runs, several times as fast.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[doc(alias("carry", "lossy", "valid_up_to"))]
pub struct TextDecoder {
    pub(super) decoder: Utf8Decoder,
    pub(super) policies: Policies,
}

impl TextDecoder {
    /// Creates a strict decoder that keeps the BOM.
    #[inline]
    pub const fn new() -> Self {
        Self { decoder: Utf8Decoder::new(), policies: Policies::new() }
    }

    /// Creates a decoder that continues the stream of another one.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) const fn of(decoder: Utf8Decoder, on_error: ErrorPolicy) -> Self {
        Self { decoder, ..Self::new().with_error_policy(on_error) }
    }

    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) const fn into_decoder(self) -> Utf8Decoder {
        self.decoder
    }

    /// Returns a new decoder with the same policies, `offset` bytes into a stream, same as
    /// [`Utf8Decoder::with_offset`]. Its counters are 0. The [`BomPolicy`] is only applied at offset 0.
    #[must_use]
    #[inline]
    pub const fn restarted_at(&self, offset: u64) -> Self {
        Self { decoder: Utf8Decoder::with_offset(offset), policies: self.policies.restarted(offset == 0) }
    }

    /// Sets the policy for ill-formed sequences.
    #[must_use]
    #[inline]
    pub const fn with_error_policy(mut self, on_error: ErrorPolicy) -> Self {
        self.policies.on_error = on_error;
        self
    }

    /// Sets the policy for the BOM.
    #[must_use]
    #[inline]
    pub const fn with_bom_policy(mut self, bom: BomPolicy) -> Self {
        self.policies.bom = bom;
        self
    }

    /// Returns the adopted subset.
    #[inline]
    pub const fn subset(&self) -> Option<&'static Subset> {
        self.policies.subset
    }

    /// Sets the adopted subset. The [`ErrorPolicy`] applies to a character outside the subset as it does to an
    /// ill-formed sequence (ISO/IEC 10646-1 Annex R.7), with the kind [`ErrorKind::OutsideSubset`]. A BOM that the
    /// [`BomPolicy`] removes need not be in the subset.
    ///
    /// Replacements are not compared with the subset. Under [`ErrorPolicy::Latin1`] and [`ErrorPolicy::Windows1252`] a
    /// character below U+0080, such as NUL, is replaced by itself, and other bytes may become characters outside the
    /// subset. If no such character may remain, use a policy whose replacement is in the subset.
    #[must_use]
    #[inline]
    pub const fn with_subset(mut self, subset: &'static Subset) -> Self {
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

    /// Decodes the first piece of a chunk. Returns the piece and the number of bytes decoded. This is for adapters,
    /// which cannot keep [`TextPieces`] between calls. Under a [subset](Self::with_subset) long text is returned in several
    /// pieces, all of them borrowed.
    #[doc(hidden)]
    #[inline]
    pub fn take_piece<'c>(&mut self, chunk: &'c [u8]) -> (Option<TextPiece<'c>>, usize) {
        let before = self.offset();
        let window = match self.policies.subset {
            None => chunk,
            Some(_) => &chunk[..floor_boundary(chunk, VALIDATED_FOR_SUBSET)],
        };
        let piece = self.feed(window).next();
        (piece, self.offset().wrapping_sub(before) as usize)
    }

    /// Same as [`Utf8Decoder::take_plain`] if no policy applies to the text. Otherwise the text is empty.
    #[inline]
    pub(crate) fn take_plain<'c>(&mut self, chunk: &'c [u8]) -> &'c str {
        let applies = self.policies.subset.is_some() || self.policies.is_at_start();
        if applies { "" } else { self.decoder.take_plain(chunk) }
    }

    /// Whether errors are repaired, and no replacement has a backslash, unless a backslash is outside the subset.
    #[inline]
    pub(crate) fn repairs_without_backslash(&self) -> bool {
        match self.policies.on_error {
            ErrorPolicy::Strict | ErrorPolicy::Escape => false,
            ErrorPolicy::ReplaceWith(character) => character != '\\',
            ErrorPolicy::Substitute(ascii) => ascii.get() != b'\\',
            _ => true,
        }
    }

    /// Ends the stream. If the stream ended inside a sequence, returns its replacement or the error. If it is empty and
    /// [`BomPolicy::Require`] is set, returns the missing BOM. As with [`Utf8Decoder::finish`], a second call returns
    /// `None`. The decoder can be used again, and the offset is not reset.
    #[must_use = "the end of the stream may be ill-formed"]
    #[inline]
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

    /// Returns the absolute offset in the stream: the number of bytes decoded so far, including those of an unfinished
    /// sequence.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// Returns the bytes of an unfinished sequence, at most 3.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.decoder.pending()
    }

    /// Returns the policy for ill-formed sequences.
    #[inline]
    pub const fn error_policy(&self) -> ErrorPolicy {
        self.policies.on_error
    }

    /// Returns the policy for the BOM.
    #[inline]
    pub const fn bom_policy(&self) -> BomPolicy {
        self.policies.bom
    }

    /// Returns the number of errors so far, by kind.
    #[inline]
    pub const fn counters(&self) -> Counters {
        self.policies.counters()
    }

    /// Returns the offset up to which the text is validated, without the pending bytes.
    #[inline]
    pub(crate) const fn valid_up_to(&self) -> u64 {
        self.decoder.valid_up_to()
    }

    /// Whether well-formed text passes unchanged: the BOM policy has been applied or keeps the BOM, and there is no
    /// subset.
    #[doc(hidden)]
    #[inline(always)]
    pub fn is_past_start(&self) -> bool {
        self.policies.subset.is_none()
            && (matches!(self.policies.bom, BomPolicy::Keep) || !self.policies.is_at_start())
    }

    #[doc(hidden)]
    #[inline]
    pub const fn has_subset(&self) -> bool {
        self.policies.subset.is_some()
    }

    /// Whether a whole string is ill-formed or has a character outside the subset.
    #[doc(hidden)]
    #[inline]
    pub fn has_error(&self, text: &[u8]) -> bool {
        let Ok(text) = from_utf8(text) else { return true };
        self.policies.subset.is_some_and(|subset| subset.first_outside(text).is_some())
    }

    /// Repairs a whole string that was decoded before: its errors are neither counted nor reported again. Calls `put` with
    /// each part of the text. The policy for the BOM is not applied.
    #[doc(hidden)]
    pub fn repair_again(&self, text: &[u8], put: &mut impl FnMut(&str)) {
        let mut decoder = Utf8Decoder::new();
        let mut policies = self.policies;
        let mut pieces = decoder.feed(text);
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text(text) => policies.put_within_subset(text, put),
                Piece::Seam(character) => policies.put_within_subset(character.encode_utf8(&mut [0; 4]), put),
                Piece::IllFormed(error) => {
                    put(&policies.replace(error, pieces.rejected()).unwrap_or(ShortStr::EMPTY))
                }
            }
        }
        let end = decoder;
        if let Err(error) = decoder.finish() {
            put(&policies.replace(error, end.pending()).unwrap_or(ShortStr::EMPTY));
        }
    }

    /// Whether the BOM policy is still to be applied.
    #[cfg(feature = "codec")]
    #[inline(always)]
    pub(crate) const fn is_at_start(&self) -> bool {
        self.policies.is_at_start()
    }

    /// Applies the BOM policy to `line`, which follows, as to the start of a stream. Without a BOM it need not be applied,
    /// unless one is required.
    #[cfg(feature = "codec")]
    #[cold]
    pub(crate) fn restart_line(&mut self, line: &[u8]) {
        if line.starts_with(b"\xEF\xBB\xBF") || matches!(self.policies.bom, BomPolicy::Require) {
            self.policies.restart();
        }
    }

    /// Counts an error in the text that this decoder returned.
    #[inline]
    pub(crate) fn count(&mut self, error: Utf8Error) {
        self.policies.count(error);
    }

    /// Whether an ill-formed sequence is an error.
    #[cfg(any(feature = "codec", feature = "stream"))]
    #[inline]
    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.policies.on_error, ErrorPolicy::Strict)
    }

    /// [`Utf8Decoder::validate`]: no policy is applied to an error, and it is not counted. May only be called [past the
    /// start](Self::is_past_start).
    #[doc(hidden)]
    #[inline]
    pub fn validate(&mut self, chunk: &[u8]) -> Result<(), Utf8Error> {
        self.decoder.validate(chunk)
    }

    /// [`Utf8Decoder::validate_whole`]. May only be called [past the start](Self::is_past_start).
    #[cfg(feature = "codec")]
    #[inline(always)]
    pub(crate) fn validate_whole<'t>(&mut self, text: &'t [u8]) -> Result<&'t str, Utf8Error> {
        self.decoder.validate_whole(text)
    }

    /// [`Utf8Decoder::take_text`]. May only be called [past the start](Self::is_past_start).
    #[cfg(any(feature = "codec", feature = "stream"))]
    #[inline(always)]
    pub(crate) fn take_text<'c>(&mut self, chunk: &'c [u8]) -> (&'c str, Option<Utf8Error>) {
        self.decoder.take_text(chunk)
    }

    /// Applies the policies to an error that [`validate`](Self::validate) returned, and to its bytes.
    #[doc(hidden)]
    #[inline]
    pub fn apply_policy(&mut self, error: Utf8Error, bytes: &[u8]) -> TextPiece<'static> {
        repair(&mut self.policies, error, bytes)
    }

    /// Starts another text at offset 0. The counters continue.
    #[doc(hidden)]
    #[inline]
    pub fn restart(&mut self) {
        self.decoder.seek(0);
        self.policies.restart();
    }

    /// Moves to a character boundary at another offset of the same stream. Pending bytes are discarded, and no policy
    /// is applied to skipped bytes. After this the BOM policy no longer applies, unless the offset did not change.
    #[doc(hidden)]
    #[inline(always)]
    pub fn seek(&mut self, offset: u64) {
        if self.policies.is_at_start() && offset != self.valid_up_to() {
            self.policies.pass_start();
        }
        self.decoder.seek(offset);
    }

    /// Same as [`seek`](Self::seek), to the offset after the next `bytes` bytes.
    #[doc(hidden)]
    #[inline(always)]
    pub fn skip(&mut self, bytes: usize) {
        self.seek(self.offset().wrapping_add(bytes as u64));
    }
}

/// The maximum number of bytes that are validated at a time under a subset. Validated text is searched for characters
/// outside the subset, and the rest may be validated again after each of them, so this number is small.
pub(super) const VALIDATED_FOR_SUBSET: usize = 4 * 1024;
