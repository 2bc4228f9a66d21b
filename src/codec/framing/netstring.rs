//! Codec for netstrings.

use core::fmt::Write;

use bytes::{BufMut, Bytes, BytesMut};
use tokio_util::codec::{Decoder, Encoder};

use super::error::FramingError;
use super::reader::{DEFAULT_MAX_LENGTH, FrameReader};

/// A codec for [netstrings](https://cr.yp.to/proto/netstrings.txt): the length in decimal digits, a colon, the payload,
/// a comma. A length has no leading zeros.
///
/// ```
/// use bytes::BytesMut;
/// use tokio_util::codec::{Decoder, Encoder};
/// use utf8_codec::codec::framing::NetstringCodec;
/// use utf8_codec::codec::Utf8FramesCodec;
///
/// let mut codec = Utf8FramesCodec::new(NetstringCodec::new());
/// let mut buffer = BytesMut::new();
/// codec.encode("na\u{EF}ve", &mut buffer)?;
/// assert_eq!(&buffer[..], "6:na\u{EF}ve,".as_bytes());
/// assert_eq!(codec.decode(&mut buffer)?.as_deref(), Some("naïve"));
/// # Ok::<(), Box<dyn core::error::Error>>(())
/// ```
///
/// # Errors
///
/// Returns a [`FramingError`]. After any error except [`FrameTooLong`](FramingError::FrameTooLong) the rest of the
/// stream is discarded, because the next frame cannot be found.
#[derive(Clone, Copy, Debug)]
pub struct NetstringCodec {
    reader: FrameReader,
}

impl Default for NetstringCodec {
    fn default() -> Self {
        Self::new()
    }
}

impl NetstringCodec {
    /// The default limit of a payload: 8 MiB.
    pub const DEFAULT_MAX_LENGTH: usize = DEFAULT_MAX_LENGTH;

    /// Creates a codec with the default limit.
    pub const fn new() -> Self {
        Self { reader: FrameReader::new(DEFAULT_MAX_LENGTH, Some(b',')) }
    }

    /// Sets the limit of a payload that is read, in bytes.
    #[must_use]
    pub const fn with_max_length(mut self, bytes: usize) -> Self {
        self.reader.max_length = bytes;
        self
    }

    /// Returns the absolute offset, in bytes, up to which the stream was read or discarded.
    pub const fn offset(&self) -> u64 {
        self.reader.offset()
    }
}

fn header(reader: &mut FrameReader, src: &mut BytesMut) -> Result<Option<u64>, FramingError> {
    reader.digits(src, b':', true)
}

impl Decoder for NetstringCodec {
    type Item = Bytes;
    type Error = FramingError;

    #[inline]
    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        self.reader.decode(src, header)
    }

    #[inline]
    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Bytes>, FramingError> {
        self.reader.decode_eof(src, header)
    }
}

impl Encoder<Bytes> for NetstringCodec {
    type Error = FramingError;

    /// Writes a frame. Never fails.
    fn encode(&mut self, payload: Bytes, dst: &mut BytesMut) -> Result<(), FramingError> {
        dst.reserve(payload.len() + 24);
        // Writing to a `BytesMut` never fails.
        let _ = write!(dst, "{}:", payload.len());
        dst.extend_from_slice(&payload);
        dst.put_u8(b',');
        Ok(())
    }
}
