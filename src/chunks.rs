//! The text of each chunk of a stream of `Bytes`.

use alloc::borrow::Cow;

use bytes::{Buf, Bytes};
use bytestring::ByteString;
use kernels::held;

use crate::boundary::floor_boundary;
use crate::error::Utf8Error;
use crate::text::TextDecoder;

/// The maximum number of bytes of a chunk that one text is decoded from. It limits the memory of a copy and the work of a poll.
const AT_ONCE: usize = 64 * 1024;

/// A decoder, and the part of the current chunk that was not decoded yet.
///
/// The text of a chunk is a slice of it. It is a copy if a character started in an earlier chunk or an error was repaired.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextChunks {
    decoder: TextDecoder,
    /// The rest of the chunk. If there is an error, it starts with the ill-formed sequence.
    rest: Bytes,
    /// The error after the text that was returned last.
    error: Option<Utf8Error>,
}

impl TextChunks {
    pub(crate) const fn new(decoder: TextDecoder) -> Self {
        Self { decoder, rest: Bytes::new(), error: None }
    }

    /// Sets the next chunk. The previous one was decoded completely.
    pub(crate) fn feed(&mut self, chunk: Bytes) {
        self.rest = chunk;
    }

    /// Returns the number of bytes of the chunk that were not decoded yet.
    pub(crate) fn rest(&self) -> usize {
        self.rest.len()
    }

    /// Decodes the chunk, at most [`AT_ONCE`] bytes of it. Returns the text, or the error if there is no text before it.
    pub(crate) fn next_text(&mut self) -> Option<Result<ByteString, Utf8Error>> {
        if let Some(error) = self.error.take() {
            self.rest.advance(self.rest.len().min(error.len.into()));
            return Some(Err(error));
        }
        let decoder = &mut self.decoder;
        let (text, copied) = held::take_piece(&mut self.rest, |rest| {
            let window = &rest[..floor_boundary(rest, AT_ONCE)];
            match decoder.decode_chunk(window) {
                Ok(Cow::Borrowed(text)) => (Some(text), window.len(), None),
                Ok(Cow::Owned(text)) => (None, window.len(), Some((text, None))),
                Err(failed) => {
                    // After a text the error is returned by the next call.
                    let len = if failed.text.is_empty() { 0 } else { usize::from(failed.error.len) };
                    (None, failed.read - len, Some((failed.text, Some(failed.error))))
                }
            }
        });
        match copied {
            None => text.filter(|text| !text.is_empty()).map(Ok),
            Some((text, Some(error))) if text.is_empty() => Some(Err(error)),
            Some((text, error)) => {
                self.error = error;
                (!text.is_empty()).then(|| Ok(text.into()))
            }
        }
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

    /// Returns the decoder and the bytes that were not returned as text: those of an unfinished character, and the rest of the
    /// chunk. The next byte of the decoder is the first of them.
    pub(crate) fn into_parts(self) -> (TextDecoder, Bytes) {
        let Self { mut decoder, rest, error } = self;
        let pending = [decoder.pending(), &rest].concat();
        decoder.seek(error.map_or(decoder.valid_up_to(), |error| error.offset));
        (decoder, if pending.len() == rest.len() { rest } else { pending.into() })
    }
}
