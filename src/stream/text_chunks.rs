//! The text of each chunk of a stream of `Bytes`.

use alloc::borrow::Cow;
use alloc::string::String;

use bytes::Bytes;
use bytestring::ByteString;
use kernels::held::{self, Taken};

use crate::boundary::floor_boundary;
use crate::error::Utf8Error;
use crate::text::{TextDecoder, TextPiece};

/// The maximum number of bytes of a chunk that are decoded into one text. It limits the memory of a copy and the work
/// of a poll.
const AT_ONCE: usize = 64 * 1024;

/// A decoder, and the part of the current chunk that was not decoded yet.
///
/// The text of a chunk is a slice of it. It is a copy if a character started in an earlier chunk or an error was repaired.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextChunks {
    decoder: TextDecoder,
    rest: Bytes,
}

/// A text that is not a slice of the chunk, or an error.
type Copied = Option<Result<String, Utf8Error>>;

impl TextChunks {
    pub(crate) const fn new(decoder: TextDecoder) -> Self {
        Self { decoder, rest: Bytes::new() }
    }

    /// Sets the next chunk. The previous one was decoded completely.
    pub(crate) fn feed(&mut self, chunk: Bytes) {
        self.rest = chunk;
    }

    /// Returns the number of bytes of the chunk that were not decoded yet.
    pub(crate) fn rest(&self) -> usize {
        self.rest.len()
    }

    /// Decodes the chunk, at most [`AT_ONCE`] bytes of it, up to an error. Returns the text, or the error if there is no text
    /// before it. The error after a text is decoded, counted and logged by the next call.
    pub(crate) fn next_text(&mut self) -> Option<Result<ByteString, Utf8Error>> {
        let decoder = &mut self.decoder;
        let (text, copied) = held::take_piece(&mut self.rest, |rest| {
            let window = &rest[..floor_boundary(rest, AT_ONCE)];
            match decoder.is_strict() {
                true => take_strict(decoder, window),
                false => take_repaired(decoder, window),
            }
        });
        let text = match copied {
            None => text?,
            Some(Ok(text)) => text.into(),
            Some(Err(error)) => return Some(Err(error)),
        };
        (!text.is_empty()).then_some(Ok(text))
    }

    /// Ends the stream. If the stream ended inside a sequence, returns its replacement or the error.
    pub(crate) fn finish(&mut self) -> Option<Result<ByteString, Utf8Error>> {
        let end = self.decoder.finish()?;
        let end = end.text().map(ByteString::from);
        (end != Ok(ByteString::new())).then_some(end)
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Returns the decoder and the bytes that were not returned as text: an unfinished character and the rest of the
    /// chunk. The decoder continues at the first of these bytes.
    pub(crate) fn into_parts(self) -> (TextDecoder, Bytes) {
        let Self { mut decoder, rest } = self;
        let pending = [decoder.pending(), &rest].concat();
        decoder.seek(decoder.valid_up_to());
        (decoder, if pending.len() == rest.len() { rest } else { pending.into() })
    }
}

/// Takes the text before the next error. The error is not consumed.
fn take_strict<'c>(decoder: &mut TextDecoder, chunk: &'c [u8]) -> Taken<'c, Copied> {
    let mut taken = 0;
    let mut copy = String::new();
    if !decoder.pending().is_empty() || !decoder.is_past_start() {
        let (piece, bytes) = decoder.take_piece(chunk);
        taken = bytes;
        match piece {
            None => return (None, taken, None),
            Some(TextPiece::Text(text)) => return (Some(text), taken, None),
            Some(TextPiece::IllFormed(error)) => return (None, taken, Some(Err(error))),
            Some(TextPiece::Seam(character) | TextPiece::Repaired(character, _)) => copy.push_str(&character),
        }
        if decoder.has_subset() {
            return (None, taken, Some(Ok(copy)));
        }
    }
    let rest = &chunk[taken..];
    let (text, error) = decoder.take_text(rest);
    let end = if error.is_some() { taken + text.len() } else { chunk.len() };
    if !copy.is_empty() {
        copy.push_str(text);
        return (None, end, Some(Ok(copy)));
    }
    if error.is_some() && text.is_empty() {
        let (piece, bytes) = decoder.take_piece(rest);
        let error = piece.and_then(|piece| piece.text().err());
        return (None, taken + bytes, error.map(Err));
    }
    (Some(text), end, None)
}

/// Takes the text of a chunk under a policy that repairs every error except a BOM error, which no text precedes.
fn take_repaired<'c>(decoder: &mut TextDecoder, chunk: &'c [u8]) -> Taken<'c, Copied> {
    match decoder.decode_chunk(chunk) {
        Ok(Cow::Borrowed(text)) => (Some(text), chunk.len(), None),
        Ok(Cow::Owned(text)) => (None, chunk.len(), Some(Ok(text))),
        Err(failed) => (None, failed.read, Some(Err(failed.error))),
    }
}
