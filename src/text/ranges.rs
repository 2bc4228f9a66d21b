//! The pieces of a chunk with their positions in the chunk.

use core::iter::FusedIterator;
use core::ops::Range;

use super::decoder::TextDecoder;
use super::pieces::{TextPiece, TextPieces};

impl TextDecoder {
    /// Same as [`feed`](Self::feed), but also returns the range of each piece in the chunk. Use it if the chunks are
    /// reference-counted buffers that can be sliced (`Bytes`, `Arc<[u8]>`, a `Tendril`).
    ///
    /// - The range of a [`TextPiece::Text`] contains the bytes of the text.
    /// - The range of any other piece contains those bytes of its sequence that are in this chunk. It is empty if all
    ///   of them came in earlier chunks.
    ///
    /// The ranges are in order and do not overlap. Bytes outside all ranges are a removed BOM, or the start of a
    /// character that continues in the next chunk.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use utf8_codec::{ErrorPolicy, TextDecoder, TextPiece};
    ///
    /// let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    /// let mut parts = Vec::new();
    /// for chunk in [Bytes::from_static(b"na\xC3"), Bytes::from_static(b"\xAFve \xFF!")] {
    ///     for (range, piece) in decoder.feed_ranges(&chunk) {
    ///         parts.push(match piece {
    ///             TextPiece::Text(_) => chunk.slice(range),
    ///             short => Bytes::copy_from_slice(short.text()?.as_bytes()),
    ///         });
    ///     }
    /// }
    /// assert_eq!(parts, ["na", "ï", "ve ", "\u{FFFD}", "!"]);
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    #[must_use = "the chunk is only decoded as the iterator is advanced"]
    #[inline]
    pub fn feed_ranges<'d, 'c>(&'d mut self, chunk: &'c [u8]) -> TextRanges<'d, 'c> {
        TextRanges { start: self.offset(), pieces: self.feed(chunk) }
    }
}

/// The pieces of a chunk with their ranges, returned by [`TextDecoder::feed_ranges`].
#[derive(Debug)]
pub struct TextRanges<'d, 'c> {
    /// The offset of the chunk.
    start: u64,
    pieces: TextPieces<'d, 'c>,
}

impl TextRanges<'_, '_> {
    /// Returns the bytes of the ill-formed sequence that was returned last, or an empty slice before the first one.
    #[inline]
    pub fn rejected(&self) -> &[u8] {
        self.pieces.rejected()
    }
}

impl<'c> Iterator for TextRanges<'_, 'c> {
    type Item = (Range<usize>, TextPiece<'c>);

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        let piece = self.pieces.next()?;
        let len = match &piece {
            TextPiece::Text(text) => text.len(),
            TextPiece::Seam(character) => character.len(),
            TextPiece::Repaired(_, error) | TextPiece::IllFormed(error) => usize::from(error.len),
        };
        let end = self.pieces.decoded_since(self.start);
        // The first bytes of the sequence may have come in an earlier chunk.
        Some((end.saturating_sub(len)..end, piece))
    }
}

impl FusedIterator for TextRanges<'_, '_> {}
