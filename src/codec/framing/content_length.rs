//! Codec for the base protocol of language servers.

use core::fmt::Write;
use std::io;

use bytes::{Bytes, BytesMut};
use memchr::memchr2;
use tokio_util::codec::{Decoder, Encoder};

use super::error::{FramingError, as_item};
use super::reader::{DEFAULT_MAX_LENGTH, FrameReader, MAX_DIGITS};

/// A codec for messages with a `Content-Length` header: the base protocol of the [Language Server
/// Protocol](https://microsoft.github.io/language-server-protocol/specifications/lsp/3.17/specification/#baseProtocol)
/// and of the Debug Adapter Protocol.
///
/// A header consists of fields, each in a line that ends with CRLF, and an empty line. The field `Content-Length`, in
/// any case, must occur exactly once; other fields are ignored. CR and LF between a payload and the next header are
/// skipped, because some servers print a line break after each payload. No header starts with them. The page of the
/// [module](super) has an example.
///
/// # Errors
///
/// A [`FramingError`]. A CR or LF that is not a part of a CRLF is an error as soon as it arrives: a peer that
/// ends lines with LF, or sends JSON in lines, is not kept waiting. A message that is
/// [too long](FramingError::FrameTooLong) or [cut off](FramingError::Truncated) is an item. Any other error ends the stream,
/// because the next frame cannot be found.
#[derive(Clone, Debug)]
pub struct ContentLengthCodec {
    reader: FrameReader,
    fields: Fields,
}

/// The state of reading a header: the value of `Content-Length`, if it was read, and the progress of the search.
#[derive(Clone, Copy, Debug, Default)]
struct Fields {
    length: Option<u64>,
    /// The number of bytes at the front of the buffer that contain neither CR nor LF.
    searched: usize,
}

/// The limit of a header in bytes.
const MAX_HEADER: usize = 4 * 1024;

const CRLF: &[u8] = b"\r\n";

default_is_new!(ContentLengthCodec);

impl ContentLengthCodec {
    /// The default limit of a payload: 8 MiB.
    pub const DEFAULT_MAX_LENGTH: usize = DEFAULT_MAX_LENGTH;
    /// The limit of a header in bytes: 4 KiB.
    pub const MAX_HEADER: usize = MAX_HEADER;

    /// Creates a codec with the default limit.
    #[inline]
    pub const fn new() -> Self {
        let fields = Fields { length: None, searched: 0 };
        Self { reader: FrameReader::new(DEFAULT_MAX_LENGTH).skip_after_frames(b"\r\n"), fields }
    }

    /// Sets the limit of a payload that is read, in bytes.
    #[must_use]
    #[inline]
    pub const fn with_max_length(mut self, bytes: usize) -> Self {
        self.reader.max_length = bytes;
        self
    }

    /// Returns the absolute offset, in bytes, up to which the stream was read or discarded.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.reader.offset()
    }
}

impl Fields {
    /// Reads header fields up to the empty line and returns the length of the payload. Returns `None` if the header is
    /// incomplete.
    #[inline]
    fn read(&mut self, reader: &mut FrameReader, src: &mut BytesMut) -> Result<Option<u64>, FramingError> {
        loop {
            let read = reader.offset().wrapping_sub(reader.start()) as usize;
            let found = src.get(self.searched..).and_then(|rest| memchr2(b'\r', b'\n', rest));
            let length = found.map_or(src.len(), |at| self.searched + at);
            let line_break = match &src[length..] {
                // The LF is an error, regardless of the byte after it.
                [lf @ b'\n', ..] => core::slice::from_ref(lf),
                rest => &rest[..rest.len().min(CRLF.len())],
            };
            if read + length + line_break.len() > MAX_HEADER {
                return Err(FramingError::HeaderTooLong { offset: reader.start(), limit: MAX_HEADER });
            }
            let invalid = FramingError::InvalidHeader { offset: reader.offset() };
            if !CRLF.starts_with(line_break) {
                return Err(invalid);
            }
            if line_break.len() < CRLF.len() {
                self.searched = length;
                return Ok(None);
            }
            if length == 0 {
                reader.advance(src, CRLF.len());
                return core::mem::take(self).length.map(Some).ok_or(invalid);
            }
            let Some(at) = src[..length].iter().position(|&byte| byte == b':') else { return Err(invalid) };
            if src[..at].eq_ignore_ascii_case(b"content-length") {
                let value = without_blanks(&src[at + 1..length]);
                if self.length.is_some() {
                    return Err(invalid);
                }
                self.length = Some(number(value).ok_or(invalid)?);
            }
            self.searched = 0;
            reader.advance(src, length + CRLF.len());
        }
    }
}

/// Returns a field value without the spaces and tabs around it.
#[inline]
fn without_blanks(mut value: &[u8]) -> &[u8] {
    while let [b' ' | b'\t', rest @ ..] | [rest @ .., b' ' | b'\t'] = value {
        value = rest;
    }
    value
}

/// Returns the value of 1 to [`MAX_DIGITS`] ASCII digits, or `None` for anything else.
#[inline]
fn number(digits: &[u8]) -> Option<u64> {
    let is_number = (1..=MAX_DIGITS).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit);
    is_number.then(|| digits.iter().fold(0, |number, digit| number * 10 + u64::from(digit - b'0')))
}

impl Decoder for ContentLengthCodec {
    type Item = Result<Bytes, FramingError>;
    type Error = io::Error;

    #[inline]
    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        let fields = &mut self.fields;
        as_item(self.reader.decode(src, |reader, src| fields.read(reader, src)))
    }

    #[inline]
    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        let fields = &mut self.fields;
        let decoded = self.reader.decode_eof(src, |reader, src| fields.read(reader, src));
        if !matches!(decoded, Ok(Some(_))) {
            // No header is continued: the stream has ended, or the error was returned after a header.
            self.fields = Fields::default();
        }
        as_item(decoded)
    }
}

impl Encoder<Bytes> for ContentLengthCodec {
    type Error = io::Error;

    /// Writes a frame with a `Content-Length` field. Never fails.
    #[inline]
    fn encode(&mut self, payload: Bytes, dst: &mut BytesMut) -> io::Result<()> {
        dst.reserve(payload.len() + 48);
        // Writing to a `BytesMut` never fails.
        let _ = write!(dst, "Content-Length: {}\r\n\r\n", payload.len());
        dst.extend_from_slice(&payload);
        Ok(())
    }
}
