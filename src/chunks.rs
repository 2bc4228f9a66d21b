//! Text out of a stream of `Bytes`: the sentence that streams, bodies and filters have in common.

use bytes::Bytes;
use bytestring::ByteString;

use crate::error::Utf8Error;
use crate::text::{TextDecoder, TextPiece};

/// A decoder and what it has not yet taken of the chunk that it was given.
///
/// As an iterator it gives the text of the chunk, never empty: well-formed spans are slices of the chunk, only seams
/// and repairs are copies. `None` asks for the next chunk. What is kept between two chunks is the decoder alone; a
/// chunk that was taken is not held any more.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextChunks {
    decoder: TextDecoder,
    rest: Bytes,
}

impl TextChunks {
    pub(crate) const fn new(decoder: TextDecoder) -> Self {
        Self { decoder, rest: Bytes::new() }
    }

    /// Gives it the next chunk, once the one before it has been taken.
    pub(crate) fn feed(&mut self, chunk: Bytes) -> &mut Self {
        debug_assert!(self.rest.is_empty(), "the chunk before has not been taken");
        self.rest = chunk;
        self
    }

    /// Ends the stream, once the last chunk has been taken: what becomes of a sequence that it cut short.
    pub(crate) fn finish(&mut self) -> Option<Result<ByteString, Utf8Error>> {
        let end = copy(self.decoder.finish()?);
        (end != Ok(ByteString::new())).then_some(end)
    }

    /// Whether it has taken all that it was given.
    #[cfg(feature = "http")]
    pub(crate) const fn is_empty(&self) -> bool {
        self.rest.is_empty()
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }
}

impl Iterator for TextChunks {
    type Item = Result<ByteString, Utf8Error>;

    fn next(&mut self) -> Option<Self::Item> {
        while !self.rest.is_empty() {
            let (piece, taken) = self.decoder.take_piece(&self.rest);
            let text = match piece {
                // The whole chunk, or all but an unfinished character: it is handed on, and no reference is counted.
                Some(TextPiece::Text(text))
                    if taken == self.rest.len() && text.as_ptr() == self.rest.as_ptr() =>
                {
                    let len = text.len();
                    let mut chunk = core::mem::take(&mut self.rest);
                    chunk.truncate(len);
                    return Some(Ok(checked(chunk)));
                }
                Some(TextPiece::Text(text)) => Some(Ok(slice(&self.rest, text))),
                Some(short) => Some(copy(short)),
                None => None,
            };
            drop(self.rest.split_to(taken));
            match text {
                None => {}
                Some(Ok(text)) if text.is_empty() => {}
                text => return text,
            }
        }
        None
    }
}

fn copy(piece: TextPiece<'_>) -> Result<ByteString, Utf8Error> {
    piece.text().map(ByteString::from)
}

/// The part of `chunk` that `text` borrows, without a copy.
pub(crate) fn slice(chunk: &Bytes, text: &str) -> ByteString {
    checked(chunk.slice_ref(text.as_bytes()))
}

/// Bytes that are known to be those of a `str`.
fn checked(bytes: Bytes) -> ByteString {
    // SAFETY: the caller has just seen them as a `str`; they are `Bytes`, so nobody can change them.
    #[allow(unsafe_code)]
    unsafe {
        ByteString::from_bytes_unchecked(bytes)
    }
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
    fn a_chunk_that_was_taken_is_not_held() {
        let chunk = Bytes::from(b"long text that ends in a lead\xE2".to_vec());
        let mut chunks = TextChunks::new(TextDecoder::new());
        drop(chunks.feed(chunk.clone()).collect::<Vec<_>>());
        assert!(chunk.is_unique());
        assert_eq!(chunks.decoder().pending(), b"\xE2");
    }

    #[test]
    fn policies_apply_and_nothing_comes_out_empty() {
        let skip = TextDecoder::new().on_error(ErrorPolicy::Skip).bom(BomPolicy::Strip);
        let mut chunks = TextChunks::new(skip);
        assert_eq!(texts(&mut chunks, b""), [""; 0]);
        assert_eq!(texts(&mut chunks, b"\xEF\xBB"), [""; 0]);
        assert_eq!(texts(&mut chunks, b"\xBF\xFFa\xFF\xFFb\xE2"), ["a", "b"]);
        assert_eq!(chunks.finish(), None, "a skipped end gives no text");

        let mut chunks = TextChunks::new(TextDecoder::new().on_error(ErrorPolicy::Replace));
        assert_eq!(texts(&mut chunks, b"a\xFF\xE2"), ["a", "\u{FFFD}"]);
        assert_eq!(chunks.finish(), Some(Ok("\u{FFFD}".into())));
        assert_eq!(chunks.finish(), None);
    }

    #[test]
    fn what_follows_an_error_can_still_be_asked_for() {
        let mut chunks = TextChunks::new(TextDecoder::new().bom(BomPolicy::Require));
        let error = |offset, kind, len| Some(Err(Utf8Error::new(offset, kind, len)));
        chunks.feed(Bytes::from_static(b"ab\xFFcd\xE2"));
        assert_eq!(chunks.next(), error(0, ErrorKind::MissingBom, 0));
        assert_eq!(chunks.next(), Some(Ok("ab".into())));
        assert_eq!(chunks.next(), error(2, ErrorKind::InvalidLead, 1));
        assert_eq!(chunks.next(), Some(Ok("cd".into())));
        assert_eq!(chunks.next(), None);
        assert_eq!(chunks.finish(), error(5, ErrorKind::Truncated, 1));
    }
}
