//! Text from a stream of `Bytes`, for streams, HTTP bodies and the codec for chunks of text.

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

    /// Returns the rest of the chunk as one text: a slice of the chunk if it is one piece, a copy otherwise. `last` is
    /// whether the stream ends after the chunk.
    ///
    /// # Errors
    ///
    /// Returns the first error that the policy does not repair.
    #[cfg(feature = "codec")]
    pub(crate) fn take_all(&mut self, last: bool) -> Result<ByteString, Utf8Error> {
        let first = self.next().transpose()?.unwrap_or_default();
        let mut copy = String::new();
        if !self.rest.is_empty() {
            copy.reserve(first.len() + self.rest.len());
            copy.push_str(&first);
            let before = self.decoder.offset();
            let decoded = self.decoder.feed_into(&self.rest, &mut copy);
            drop(self.rest.split_to(self.decoder.offset().wrapping_sub(before) as usize));
            decoded?;
        }
        let end = if last { self.finish().transpose()? } else { None };
        match (copy.is_empty(), end) {
            (true, None) => Ok(first),
            (true, Some(end)) if first.is_empty() => Ok(end),
            (true, Some(end)) => Ok((String::from(first) + &end).into()),
            (false, end) => Ok((copy + &end.unwrap_or_default()).into()),
        }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{BomPolicy, ErrorKind, ErrorPolicy};

    fn texts(chunks: &mut TextChunks, chunk: &[u8]) -> Vec<String> {
        chunks.feed(Bytes::copy_from_slice(chunk)).map(|text| text.unwrap().to_string()).collect()
    }

    #[test]
    fn well_formed_text_is_a_slice_and_the_seam_is_not() {
        let mut chunks = TextChunks::new(TextDecoder::new());
        let first = Bytes::from_static(b"caf\xC3");
        let got: Vec<_> = chunks.feed(first.clone()).map(Result::unwrap).collect();
        assert_eq!(got, ["caf"]);
        assert_eq!(got[0].as_ptr(), first.as_ptr());

        let second = Bytes::from(b"\xA9 cr\xC3\xA8me".to_vec());
        let got: Vec<_> = chunks.feed(second.clone()).map(Result::unwrap).collect();
        assert_eq!(got, ["é", " crème"]);
        assert_eq!(got[1].as_ptr(), second[1..].as_ptr());
        assert_eq!(chunks.finish(), None);
    }

    #[test]
    fn a_decoded_chunk_is_released() {
        let chunk = Bytes::from(b"long text that ends in a lead\xE2".to_vec());
        let mut chunks = TextChunks::new(TextDecoder::new());
        drop(chunks.feed(chunk.clone()).collect::<Vec<_>>());
        assert!(chunk.is_unique());
        assert_eq!(chunks.decoder().pending(), b"\xE2");
    }

    #[test]
    fn policies_apply_and_no_item_is_empty() {
        let skip = TextDecoder::new().with_error_policy(ErrorPolicy::Skip).with_bom_policy(BomPolicy::Strip);
        let mut chunks = TextChunks::new(skip);
        assert_eq!(texts(&mut chunks, b""), [""; 0]);
        assert_eq!(texts(&mut chunks, b"\xEF\xBB"), [""; 0]);
        assert_eq!(texts(&mut chunks, b"\xBF\xFFa\xFF\xFFb\xE2"), ["a", "b"]);
        assert_eq!(chunks.finish(), None, "a skipped end has no text");

        let mut chunks = TextChunks::new(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
        assert_eq!(texts(&mut chunks, b"a\xFF\xE2"), ["a", "\u{FFFD}"]);
        assert_eq!(chunks.finish(), Some(Ok("\u{FFFD}".into())));
        assert_eq!(chunks.finish(), None);
    }

    #[test]
    fn decoding_can_continue_after_an_error() {
        let mut chunks = TextChunks::new(TextDecoder::new().with_bom_policy(BomPolicy::Require));
        let error = |offset, kind, len| Some(Err(Utf8Error::new(offset, kind, len)));
        chunks.feed(Bytes::from_static(b"ab\xFFcd\xE2"));
        assert_eq!(chunks.next(), error(0, ErrorKind::MissingBom, 0));
        assert_eq!(chunks.next(), Some(Ok("ab".into())));
        assert_eq!(chunks.next(), error(2, ErrorKind::InvalidLead, 1));
        assert_eq!(chunks.next(), Some(Ok("cd".into())));
        assert_eq!(chunks.next(), None);
        assert_eq!(chunks.finish(), error(5, ErrorKind::Truncated, 1));
    }

    #[cfg(feature = "codec")]
    #[test]
    fn take_all_returns_a_slice_or_a_copy_of_the_same_text() {
        let mut chunks = TextChunks::new(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
        let mut all = |chunk: &Bytes, last| chunks.feed(chunk.clone()).take_all(last).unwrap();
        let good = Bytes::from_static(b"caf\xC3");
        let text = all(&good, false);
        assert_eq!((&*text, text.as_ptr()), ("caf", good.as_ptr()));
        assert_eq!(all(&Bytes::from_static(b"\xA9 \xFF!\xE2"), false), "\u{E9} \u{FFFD}!");
        assert_eq!(all(&Bytes::from_static(b"\x82"), false), "");
        assert_eq!(all(&Bytes::from_static(b"\xAC\xFF"), false), "\u{20AC}\u{FFFD}");
        assert_eq!(all(&Bytes::from_static(b"\xE2"), true), "\u{FFFD}");
        assert_eq!(all(&Bytes::from_static(b"ab\xE2"), true), "ab\u{FFFD}");
        assert_eq!(all(&Bytes::new(), true), "");

        let mut strict = TextChunks::new(TextDecoder::new());
        let error = strict.feed(Bytes::from_static(b"a\xFFbc")).take_all(true).unwrap_err();
        assert_eq!(error.offset, 1);
        assert_eq!(strict.take_all(true).unwrap(), "bc", "the rest can be decoded");
    }

    #[test]
    fn pieces_without_text_are_bounded() {
        let mut chunks = TextChunks::new(TextDecoder::new().with_error_policy(ErrorPolicy::Skip));
        chunks.feed(Bytes::from_static(b"\xFF\xFF\xFFa"));
        assert_eq!(chunks.next_within(&mut 2), None);
        let mut pieces = 2;
        assert_eq!(chunks.next_within(&mut pieces), Some(Ok("a".into())));
        assert_eq!(pieces, 1);
    }
}
