//! Codec for JSON text sequences.

use bytes::{Buf, BufMut, Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

use super::error::FramingError;
use super::reader::DEFAULT_MAX_LENGTH;
use crate::codec::ending::LineEnding;
use crate::policy::Ascii;

const SEPARATOR: LineEnding = LineEnding::Ascii(Ascii::RECORD_SEPARATOR);

/// A codec for JSON text sequences (RFC 7464, `application/json-seq`): RS (U+001E) before each JSON text, LF after it.
///
/// A text is returned when the next RS or the end of the stream arrives, because LF may also occur inside a text. The
/// LF at its end is removed. Several consecutive RS are read as one.
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::{Decoder, Encoder};
/// use utf8_codec::codec::framing::JsonSequenceCodec;
/// use utf8_codec::codec::Utf8FramesCodec;
///
/// let mut codec = Utf8FramesCodec::new(JsonSequenceCodec::new());
/// let mut buffer = BytesMut::new();
/// codec.encode("[1]", &mut buffer)?;
/// codec.encode("\"gr\u{FC}n\"", &mut buffer)?;
/// assert_eq!(&buffer[..], "\u{1E}[1]\n\u{1E}\"gr\u{FC}n\"\n".as_bytes());
/// assert_eq!(codec.decode_eof(&mut buffer)?.as_deref(), Some("[1]"));
/// assert_eq!(codec.decode_eof(&mut buffer)?.as_deref(), Some("\"grün\""));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`FramingError::Truncated`] for a text without LF at its end, because it may be incomplete: `12` may be the start
///   of `123` (RFC 7464 section 2.4). The same error is returned for bytes before the first RS, because they are the
///   end of a text whose start is missing. Both are discarded.
/// - [`FramingError::FrameTooLong`] for a text that is longer than the limit. It is returned even if the end of the
///   text has not arrived.
///
/// After either error the codec continues after the next RS.
#[derive(Clone, Copy, Debug)]
pub struct JsonSequenceCodec {
    max_length: usize,
    /// The absolute offset of the front of the buffer.
    offset: u64,
    /// The number of bytes at the front of the buffer in which no RS was found.
    searched: usize,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first RS.
    Start,
    Text,
    /// After an error, up to the next RS. These bytes are discarded.
    Discard,
}

impl Default for JsonSequenceCodec {
    fn default() -> Self {
        Self::new()
    }
}

impl JsonSequenceCodec {
    /// The default limit of a text: 8 MiB.
    pub const DEFAULT_MAX_LENGTH: usize = DEFAULT_MAX_LENGTH;

    /// Creates a codec with the default limit.
    pub const fn new() -> Self {
        Self { max_length: DEFAULT_MAX_LENGTH, offset: 0, searched: 0, state: State::Start }
    }

    /// Sets the limit of a text that is read, in bytes, without its LF.
    #[must_use]
    pub const fn max_length(mut self, bytes: usize) -> Self {
        self.max_length = bytes;
        self
    }

    /// Returns the absolute offset, in bytes, up to which the stream was read or discarded.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    fn advance(&mut self, src: &mut BytesMut, bytes: usize) {
        src.advance(bytes);
        self.pass(bytes);
    }

    /// Updates the state after bytes were removed from the front of the buffer.
    fn pass(&mut self, bytes: usize) {
        self.offset = self.offset.wrapping_add(bytes as u64);
        self.searched = 0;
    }

    /// Discards the rest of a text that was reported when the stream has ended, and ends the stream if no other text
    /// follows. `FramedRead` does not call again after the error.
    fn end_discarded(&mut self, src: &mut BytesMut) {
        if self.state == State::Discard {
            let rest = SEPARATOR.find(src, 0).map_or(src.len(), |(length, separator)| length + separator);
            self.advance(src, rest);
            self.state = State::Text;
        }
        if src.iter().all(|&byte| byte == SEPARATOR.last_byte()) {
            self.advance(src, src.len());
            self.state = State::Start;
        }
    }

    /// Removes and returns the text at the front of `src`, which has `length` bytes and a separator.
    fn take(
        &mut self,
        src: &mut BytesMut,
        length: usize,
        separator: usize,
    ) -> Result<Option<Bytes>, FramingError> {
        let offset = self.offset;
        let mut text = src.split_to(length + separator);
        self.pass(length + separator);
        text.truncate(length);
        if text.last() != Some(&b'\n') {
            return Err(FramingError::Truncated { offset });
        }
        text.truncate(length - 1);
        Ok(Some(text.freeze()))
    }
}

impl Decoder for JsonSequenceCodec {
    type Item = Bytes;
    type Error = FramingError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        loop {
            let found = SEPARATOR.find(src, self.searched);
            let (length, separator) = found.unwrap_or((src.len(), 0));
            match self.state {
                State::Start if length > 0 => {
                    self.state = State::Discard;
                    return Err(FramingError::Truncated { offset: self.offset });
                }
                State::Text if length > self.max_length.saturating_add(1) => {
                    self.state = State::Discard;
                    let (offset, limit) = (self.offset, self.max_length);
                    debug!(offset, limit, "frame too long");
                    return Err(FramingError::FrameTooLong { offset, limit });
                }
                State::Text if found.is_none() => {
                    self.searched = length;
                    return Ok(None);
                }
                State::Text if length > 0 => return self.take(src, length, separator),
                State::Start | State::Text | State::Discard => {
                    self.advance(src, length + separator);
                    if found.is_none() {
                        return Ok(None);
                    }
                    self.state = State::Text;
                }
            }
        }
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        let decoded = self.decode(src);
        if decoded.is_err() {
            self.end_discarded(src);
        } else if matches!(decoded, Ok(None)) {
            // Also before an error, because `FramedRead` does not call again after it. If the source resumes, the bytes
            // before the next RS are not a text.
            self.state = State::Start;
        }
        match decoded? {
            None if !src.is_empty() => self.take(src, src.len(), 0),
            text => Ok(text),
        }
    }
}

impl Encoder<Bytes> for JsonSequenceCodec {
    type Error = FramingError;

    /// Writes RS, the text and LF.
    ///
    /// # Errors
    ///
    /// Returns [`FramingError::InvalidPayload`] if the text contains RS, which JSON text never does.
    fn encode(&mut self, text: Bytes, dst: &mut BytesMut) -> Result<(), FramingError> {
        if let Some(position) = SEPARATOR.embedded(&text) {
            return Err(FramingError::InvalidPayload { position });
        }
        dst.reserve(text.len() + 2);
        dst.put_u8(SEPARATOR.last_byte());
        dst.extend_from_slice(&text);
        dst.put_u8(b'\n');
        Ok(())
    }
}
