//! Text from a stream of `Bytes`, for streams.

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;

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
    /// The buffer for the next copies. `None` before the first copy.
    copies: Option<BytesMut>,
}

/// The capacity in bytes of the buffer that several copies share. A copy is short: a seam has at most 4 bytes, a
/// replacement at most 32. When the buffer is full, it is reused if all of its copies were dropped.
const ROOM: usize = 64;

impl TextChunks {
    pub(crate) const fn new(decoder: TextDecoder) -> Self {
        Self { decoder, rest: Bytes::new(), copies: None }
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
        let end = copy(&mut self.copies, end);
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
            let (piece, taken) = self.decoder.take_piece(&self.rest);
            let text = match piece {
                // The text is the whole chunk, possibly without an unfinished character at its end. It is returned
                // without changing the reference count.
                Some(TextPiece::Text(text))
                    if taken == self.rest.len() && text.as_ptr() == self.rest.as_ptr() =>
                {
                    let len = text.len();
                    let mut chunk = core::mem::take(&mut self.rest);
                    chunk.truncate(len);
                    // SAFETY: `text` was a `str` of `len` bytes at the start of the chunk.
                    #[allow(unsafe_code)]
                    return Some(Ok(unsafe { text_of(chunk) }));
                }
                Some(TextPiece::Text(text)) => {
                    let text = self.rest.slice_ref(text.as_bytes());
                    // SAFETY: these are the bytes of a `str`.
                    #[allow(unsafe_code)]
                    Some(Ok(unsafe { text_of(text) }))
                }
                Some(short) => Some(copy(&mut self.copies, short)),
                None => None,
            };
            drop(self.rest.split_to(taken));
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

/// Returns a copy of a seam or of a replacement.
fn copy(room: &mut Option<BytesMut>, piece: TextPiece<'_>) -> Result<ByteString, Utf8Error> {
    let text = piece.text()?;
    if text.is_empty() {
        return Ok(ByteString::new());
    }
    let room = room.get_or_insert_with(|| BytesMut::with_capacity(ROOM));
    room.extend_from_slice(text.as_bytes());
    // SAFETY: the buffer contains only the bytes of this `str`, because earlier copies were split off.
    #[allow(unsafe_code)]
    Ok(unsafe { text_of(room.split().freeze()) })
}

/// Converts bytes to text without validation.
///
/// # Safety
///
/// - `bytes` must be well-formed UTF-8.
#[allow(unsafe_code)]
#[inline(always)]
pub(crate) unsafe fn text_of(bytes: Bytes) -> ByteString {
    // At `opt-level = 0` the caller has just validated the bytes with the same function, so this check is omitted.
    debug_assert!(cfg!(utf8_codec_unoptimized) || core::str::from_utf8(&bytes).is_ok());
    // SAFETY: the caller guarantees well-formed UTF-8.
    unsafe { ByteString::from_bytes_unchecked(bytes) }
}
