//! Codec for syslog over TCP.

use core::fmt::Write;
use std::io;

use bytes::{Bytes, BytesMut};
use memchr::memchr2;
use tokio_util::codec::{Decoder, Encoder};

use super::error::{FramingError, as_item};
use super::reader::FrameReader;

/// A codec for "octet counting", the framing of syslog over TCP and TLS (RFC 6587 section 3.4.1, RFC 5425): the length
/// in decimal digits without leading zeros, a space, the message. A message has at least 1 byte.
///
/// Many senders append the trailer of the older framing to a counted message: LF, CRLF or NUL. CR, LF and NUL between two
/// messages are skipped. This is unambiguous, because a length starts with a digit.
///
/// [`with_line_frames`](Self::with_line_frames) also reads the older framing, "non-transparent framing" (RFC 6587
/// section 3.4.2), in which a trailer ends a message.
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::Decoder;
/// use utf8_codec::codec::framing::OctetCountingCodec;
/// use utf8_codec::codec::Utf8FramesCodec;
///
/// let mut codec = Utf8FramesCodec::new(OctetCountingCodec::new().with_line_frames(true));
/// let mut buffer = BytesMut::from("13 <13>two\nlines9 <13>gr\u{FC}n");
/// assert_eq!(codec.decode(&mut buffer)?.unwrap()?, "<13>two\nlines");
/// assert_eq!(codec.decode(&mut buffer)?.unwrap()?, "<13>grün");
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// A [`FramingError`]. A message that is [too long](FramingError::FrameTooLong) or [cut off](FramingError::Truncated) is an
/// item. Any other error ends the stream, because the next frame cannot be found.
#[derive(Clone, Debug)]
pub struct OctetCountingCodec {
    reader: FrameReader,
    framing: Framing,
    /// The number of bytes at the front of the buffer in which no trailer starts.
    searched: usize,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Framing {
    Counted,
    /// The first byte of the stream determines the framing.
    Undecided,
    Lines,
    /// In the rest of a line that was reported as too long.
    Discard,
}

default_is_new!(OctetCountingCodec);

impl OctetCountingCodec {
    /// The default limit of a message: 64 KiB.
    pub const DEFAULT_MAX_LENGTH: usize = 64 * 1024;

    /// Creates a codec with the default limit.
    #[inline]
    pub const fn new() -> Self {
        let reader = FrameReader::new(Self::DEFAULT_MAX_LENGTH).skip_after_frames(b"\r\n\0");
        Self { reader, framing: Framing::Counted, searched: 0 }
    }

    /// Sets the limit of a message that is read, in bytes.
    #[must_use]
    #[inline]
    pub const fn with_max_length(mut self, bytes: usize) -> Self {
        self.reader.max_length = bytes;
        self
    }

    /// Sets whether messages without a length are also accepted. Each of these ends with LF, CRLF or NUL (RFC 6587 section
    /// 3.4.2). By default they are not accepted. The trailer is removed. Empty messages are skipped. The first byte of
    /// the stream determines the framing: octet counting after a digit, lines after any other byte. A syslog message
    /// starts with `<`.
    ///
    /// The framing does not change within a stream. If it could change, text after an LF inside a message might be read
    /// as a length, and the messages after it would be hidden. Any client can write such text to a log.
    #[must_use]
    #[inline]
    pub const fn with_line_frames(mut self, accept: bool) -> Self {
        self.framing = if accept { Framing::Undecided } else { Framing::Counted };
        self
    }

    /// Returns the absolute offset, in bytes, up to which the stream was read or discarded.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.reader.offset()
    }

    #[inline]
    fn take_line(&mut self, src: &mut BytesMut, length: usize, trailer: usize) -> Bytes {
        self.searched = 0;
        self.reader.take(src, length, trailer)
    }

    /// Determines the framing. Returns `false` if the first byte has not arrived.
    #[inline]
    fn decide(&mut self, src: &[u8]) -> bool {
        if self.framing == Framing::Undecided {
            let Some(first) = src.first() else { return false };
            self.framing = if first.is_ascii_digit() { Framing::Counted } else { Framing::Lines };
        }
        true
    }

    /// Discards a line or empty lines.
    #[inline]
    fn advance(&mut self, src: &mut BytesMut, bytes: usize) {
        self.reader.advance(src, bytes);
        self.reader.end_frame();
        self.searched = 0;
        self.framing = Framing::Lines;
    }

    #[inline]
    fn decode_line(&mut self, src: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        loop {
            let found = find_trailer(src, self.searched);
            let (length, trailer) = found.unwrap_or_else(|| {
                let cr = usize::from(src.ends_with(b"\r"));
                (src.len() - cr, cr)
            });
            if self.framing == Framing::Discard || (found.is_some() && length == 0) {
                let framing = self.framing;
                self.advance(src, length + trailer);
                if found.is_none() {
                    self.framing = framing;
                    return Ok(None);
                }
                continue;
            }
            if length > self.reader.max_length {
                self.framing = Framing::Discard;
                let offset = self.reader.start();
                let limit = self.reader.max_length;
                debug!(offset, limit, "frame too long");
                return Err(FramingError::FrameTooLong { offset, limit });
            }
            if found.is_none() {
                self.searched = length;
                return Ok(None);
            }
            return Ok(Some(self.take_line(src, length, trailer)));
        }
    }
}

/// Returns the lengths of the message at the front of `src` and of its trailer: LF, CRLF, NUL, or CR NUL. No trailer
/// starts in the first `searched` bytes.
#[inline]
fn find_trailer(src: &[u8], searched: usize) -> Option<(usize, usize)> {
    let at = searched + memchr2(b'\n', 0, src.get(searched..)?)?;
    Some(if src[..at].ends_with(b"\r") { (at - 1, 2) } else { (at, 1) })
}

#[inline]
fn header(reader: &mut FrameReader, src: &mut BytesMut) -> Result<Option<u64>, FramingError> {
    reader.digits(src, b' ')
}

impl Decoder for OctetCountingCodec {
    type Item = Result<Bytes, FramingError>;
    type Error = io::Error;

    #[inline]
    fn decode(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if !self.decide(src) {
            return Ok(None);
        }
        if self.framing == Framing::Counted {
            return as_item(self.reader.decode(src, header));
        }
        as_item(self.decode_line(src))
    }

    /// Same as [`decode`](Decoder::decode), but the last line needs no trailer.
    #[inline]
    fn decode_eof(&mut self, src: &mut BytesMut) -> io::Result<Option<Self::Item>> {
        if !self.decide(src) {
            return Ok(None);
        }
        if self.framing == Framing::Counted {
            return as_item(self.reader.decode_eof(src, header));
        }
        if let Some(line) = as_item(self.decode_line(src))? {
            return Ok(Some(line));
        }
        if src.is_empty() {
            self.framing = Framing::Lines;
            return Ok(None);
        }
        let cr = usize::from(src.ends_with(b"\r"));
        let line = self.take_line(src, src.len() - cr, cr);
        Ok((!line.is_empty()).then_some(Ok(line)))
    }
}

impl Encoder<Bytes> for OctetCountingCodec {
    type Error = io::Error;

    /// Writes a frame with its length.
    ///
    /// # Errors
    ///
    /// Returns [`FramingError::InvalidPayload`] if the message is empty.
    #[inline]
    fn encode(&mut self, message: Bytes, dst: &mut BytesMut) -> io::Result<()> {
        if message.is_empty() {
            return Err(FramingError::InvalidPayload { position: 0 }.into());
        }
        dst.reserve(message.len() + 24);
        // Writing to a `BytesMut` never fails.
        let _ = write!(dst, "{} ", message.len());
        dst.extend_from_slice(&message);
        Ok(())
    }
}
