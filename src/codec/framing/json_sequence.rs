//! Codec for JSON text sequences.

use std::io;

use bytes::{Buf, BufMut, Bytes, BytesMut};
use memchr::memchr;
use tokio_util::codec::{Decoder, Encoder};

use super::error::{FramingError, as_item};
use super::json_value::{JsonValue, SEPARATOR, is_white_space};
use super::reader::DEFAULT_MAX_LENGTH;

/// A codec for JSON text sequences (RFC 7464, `application/json-seq`): RS (U+001E) before each JSON text, LF after it.
///
/// A text ends with the first LF after its value is complete, and is returned when this LF arrives. A text without this
/// LF ends before the next RS, or with the stream. The LF is removed. Several consecutive RS, and white space between
/// two texts, are skipped.
///
/// An object, an array or a string is complete when it is closed. White space must follow a number, `true`, `false`,
/// `null` and anything else that is not JSON (RFC 7464 section 2.4). The codec does not parse the text: it tracks
/// brackets and strings in constant memory. A parser may reject the text that the codec returns: an LF also ends a text of
/// nothing but white space.
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
/// assert_eq!(codec.decode(&mut buffer)?.unwrap()?, "[1]");
/// assert_eq!(codec.decode(&mut buffer)?.unwrap()?, "\"grün\"");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// - [`FramingError::Truncated`] for a text that is not complete before the next RS or the end of the stream: `12` may
///   be the start of `123`. The same error is returned for bytes other than white space before the first RS and after a
///   text that has ended, because the start of their text is missing. All of these are discarded.
/// - [`FramingError::FrameTooLong`] for a text that is longer than the limit. It is returned even if the end of the
///   text has not arrived.
///
/// After either error the codec continues after the next RS.
#[derive(Clone, Debug)]
pub struct JsonSequenceCodec {
    max_length: usize,
    /// The absolute offset of the front of the buffer.
    offset: u64,
    /// The number of bytes at the front of the buffer that `value` has read. The text does not end in them.
    searched: usize,
    value: JsonValue,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first RS, or after the LF of a text.
    Between,
    Text,
    /// After an error, up to the next RS. These bytes are discarded.
    Discard,
}

default_is_new!(JsonSequenceCodec);

impl JsonSequenceCodec {
    /// The default limit of a text: 8 MiB.
    pub const DEFAULT_MAX_LENGTH: usize = DEFAULT_MAX_LENGTH;

    /// Creates a codec with the default limit.
    #[inline]
    pub const fn new() -> Self {
        Self {
            max_length: DEFAULT_MAX_LENGTH,
            offset: 0,
            searched: 0,
            value: JsonValue::Blank,
            state: State::Between,
        }
    }

    /// Sets the limit of a text that is read, in bytes, without its LF.
    #[must_use]
    #[inline]
    pub const fn with_max_length(mut self, bytes: usize) -> Self {
        self.max_length = bytes;
        self
    }

    /// Returns the absolute offset, in bytes, up to which the stream was read or discarded.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    #[inline]
    fn advance(&mut self, src: &mut BytesMut, bytes: usize) {
        src.advance(bytes);
        self.pass(bytes);
    }

    /// Updates the state after bytes were removed from the front of the buffer.
    #[inline]
    fn pass(&mut self, bytes: usize) {
        self.offset = self.offset.wrapping_add(bytes as u64);
        self.searched = 0;
        self.value = JsonValue::Blank;
    }

    /// Discards bytes up to the next RS, and that RS. Returns `false` if it has not arrived.
    #[inline]
    fn skip_to_text(&mut self, src: &mut BytesMut) -> bool {
        let found = memchr(SEPARATOR, src);
        self.advance(src, found.map_or(src.len(), |at| at + 1));
        if found.is_some() {
            self.state = State::Text;
        }
        found.is_some()
    }

    #[inline]
    fn next(&mut self, src: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        loop {
            match self.state {
                State::Between => {
                    let blanks = src.iter().take_while(|byte| is_white_space(**byte)).count();
                    self.advance(src, blanks);
                    match src.first() {
                        None => return Ok(None),
                        Some(&SEPARATOR) => _ = self.skip_to_text(src),
                        Some(_) => {
                            self.state = State::Discard;
                            return Err(FramingError::Truncated { offset: self.offset });
                        }
                    }
                }
                State::Discard => {
                    if !self.skip_to_text(src) {
                        return Ok(None);
                    }
                }
                State::Text => {
                    let end = self.value.find_end(src.get(self.searched..).unwrap_or_default());
                    let length = end.map_or(src.len(), |at| self.searched + at);
                    let terminator = src.get(length).copied();
                    // The last byte may be an LF that is not a part of the text.
                    let room = usize::from(terminator != Some(b'\n'));
                    if length > self.max_length.saturating_add(room) {
                        self.state = State::Discard;
                        return Err(self.too_long(self.offset));
                    }
                    match terminator {
                        None => {
                            self.searched = length;
                            return Ok(None);
                        }
                        Some(SEPARATOR) if length == 0 => self.advance(src, 1),
                        Some(SEPARATOR) => return self.take(src, length, 1).map(Some),
                        Some(_) => {
                            self.state = State::Between;
                            return self.take(src, length, 1).map(Some);
                        }
                    }
                }
            }
        }
    }

    /// Removes and returns the text at the front of `src`, which has `length` bytes and a terminator.
    #[inline]
    fn take(&mut self, src: &mut BytesMut, length: usize, terminator: usize) -> Result<Bytes, FramingError> {
        let offset = self.offset;
        let value = self.value;
        let mut text = src.split_to(length + terminator);
        self.pass(length + terminator);
        text.truncate(length);
        // The LF after nothing but white space does not end a text, because a value may follow.
        let is_blank = value == JsonValue::Blank && text.ends_with(b"\n");
        if !is_blank && value != JsonValue::Complete {
            return Err(FramingError::Truncated { offset });
        }
        text.truncate(length - usize::from(is_blank));
        if text.len() > self.max_length {
            return Err(self.too_long(offset));
        }
        Ok(text.freeze())
    }

    #[inline]
    fn too_long(&self, offset: u64) -> FramingError {
        let limit = self.max_length;
        debug!(offset, limit, "frame too long");
        FramingError::FrameTooLong { offset, limit }
    }
}

impl Decoder for JsonSequenceCodec {
    type Item = Result<Bytes, FramingError>;
    type Error = io::Error;

    #[inline]
    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        as_item(self.next(src))
    }

    #[inline]
    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if let Some(text) = as_item(self.next(src))? {
            return Ok(Some(text));
        }
        // If the source resumes, the bytes before the next RS are not a text.
        self.state = State::Between;
        Ok((!src.is_empty()).then(|| self.take(src, src.len(), 0)))
    }
}

impl Encoder<Bytes> for JsonSequenceCodec {
    type Error = io::Error;

    /// Writes RS, the text and LF.
    ///
    /// # Errors
    ///
    /// Returns [`FramingError::InvalidPayload`] if the text contains RS, which JSON text never does.
    #[inline]
    fn encode(&mut self, text: Bytes, dst: &mut BytesMut) -> io::Result<()> {
        if let Some(position) = memchr(SEPARATOR, &text) {
            return Err(FramingError::InvalidPayload { position }.into());
        }
        dst.reserve(text.len() + 2);
        dst.put_u8(SEPARATOR);
        dst.extend_from_slice(&text);
        dst.put_u8(b'\n');
        Ok(())
    }
}
