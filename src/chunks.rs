//! Text from a stream of `Bytes`, for streams.

use bytes::Bytes;
use bytestring::ByteString;
use kernels::held::{self, Copies};

use crate::error::Utf8Error;
use crate::text::{TextDecoder, TextPiece};

/// A decoder and the part of the current chunk that was not decoded yet.
///
/// The iterator returns the text and the errors of the chunk. Well-formed text is a slice of the chunk; only seams and
/// replacements are copies. A text is never empty. `None` means that the next chunk is needed. Between two chunks only
/// the decoder has state, and a chunk is released as soon as it is decoded.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextChunks {
    decoder: TextDecoder,
    rest: Bytes,
    /// Contains the seams and replacements.
    copies: Copies,
}

impl TextChunks {
    pub(crate) const fn new(decoder: TextDecoder) -> Self {
        Self { decoder, rest: Bytes::new(), copies: Copies::new() }
    }

    /// Sets the next chunk. The previous chunk must have been decoded completely.
    pub(crate) fn feed(&mut self, chunk: Bytes) -> &mut Self {
        debug_assert!(self.rest.is_empty(), "the previous chunk was not decoded completely");
        self.rest = chunk;
        self
    }

    /// Ends the stream after the last chunk has been decoded. If the stream ended inside a sequence, returns its
    /// replacement or the error.
    pub(crate) fn finish(&mut self) -> Option<Result<ByteString, Utf8Error>> {
        let end = self.decoder.finish()?;
        let end = end.text().map(|text| self.copies.copy(text));
        (end != Ok(ByteString::new())).then_some(end)
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Returns the bytes that were not returned as text: those of an unfinished character, and the rest of the chunk.
    #[cfg(feature = "stream")]
    pub(crate) fn into_rest(self) -> Bytes {
        if self.decoder.pending().is_empty() {
            self.rest
        } else {
            [self.decoder.pending(), &self.rest].concat().into()
        }
    }

    /// Same as `next`, but also returns `None` after `pieces` pieces without text. Decrements `pieces` for each of
    /// them.
    pub(crate) fn next_within(&mut self, pieces: &mut usize) -> Option<Result<ByteString, Utf8Error>> {
        while !self.rest.is_empty() && *pieces > 0 {
            let decoder = &mut self.decoder;
            let (text, short) = held::take_piece(&mut self.rest, |rest| match decoder.take_piece(rest) {
                (Some(TextPiece::Text(text)), taken) => (Some(text), taken, None),
                (piece, taken) => (None, taken, piece.and_then(TextPiece::short)),
            });
            let text = match short {
                Some(short) => Some(short.text().map(|text| self.copies.copy(text))),
                None => text.map(Ok),
            };
            match text {
                None => {}
                Some(Ok(text)) if text.is_empty() => *pieces -= 1,
                text => return text,
            }
        }
        None
    }
}

impl Iterator for TextChunks {
    type Item = Result<ByteString, Utf8Error>;

    fn next(&mut self) -> Option<Self::Item> {
        // A chunk never has more pieces than bytes, so this limit is never reached.
        let mut pieces = usize::MAX;
        self.next_within(&mut pieces)
    }
}
