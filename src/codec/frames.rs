//! Text in the frames of any byte codec.

use core::convert::Infallible;
use core::fmt;
use std::io;

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use tokio_util::codec::{Decoder, Encoder};

use super::whole_text::decode_policed;
use crate::chunk::Chunk;
use crate::error::{ByteCount, Utf8Error};
use crate::text::{Counters, TextDecoder};

/// A codec that reads the frames of a byte codec as text: `LengthDelimitedCodec`, `AnyDelimiterCodec` or your own.
///
/// Every frame is one whole text. An item is the text of one frame, a slice of it without a copy (as
/// with [`Utf8LinesCodec`](crate::codec::Utf8LinesCodec)). A frame that ends inside a character is an error
/// ([`Truncated`](crate::ErrorKind::Truncated)). A [`BomPolicy`](crate::BomPolicy) applies to each frame.
///
/// If one text spans several frames, as the fragments of a WebSocket message do, use a
/// [`Utf8Validator`](crate::validator::Utf8Validator) or a [`TextDecoder`] for each message.
///
/// For the frames of syslog, of language servers and of JSON text sequences see
/// [`framing`](crate::codec::framing). For frames between ASCII delimiters (NUL, RS) see also
/// [`LineEnding::Ascii`](crate::LineEnding::Ascii), whose encoder rejects text that contains the delimiter.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::{FramedRead, LengthDelimitedCodec};
/// use utf8_codec::codec::Utf8FramesCodec;
///
/// # tokio_test::block_on(async {
/// let socket = &b"\0\0\0\x05na\xC3\xAFv\0\0\0\x02v\xC3\0\0\0\x03end"[..];
/// let mut frames = FramedRead::new(socket, Utf8FramesCodec::new(LengthDelimitedCodec::new()));
///
/// assert_eq!(frames.next().await.unwrap()?.unwrap(), "naïv");
/// let error = frames.next().await.unwrap()?.unwrap_err();
/// assert_eq!(error.to_string(), "frame 1: ill-formed UTF-8 at byte 1 (Truncated, 1 byte)");
/// assert_eq!(frames.next().await.unwrap()?.unwrap(), "end");
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
///
/// # Errors
///
/// An item is [`Utf8FramesError::IllFormed`] for an ill-formed frame, which is consumed. Offsets count from the start of the
/// frame. The items of the byte codec may be frames or, as in [`framing`](crate::codec::framing), `Result`s; the error of such
/// a `Result` is an item, too ([`Utf8FramesError::Inner`]). An `Err` of the byte codec itself ends the stream.
///
/// # Limits
///
/// This codec has no limit of its own. Set a limit on the byte codec.
#[derive(Clone, Debug, Default)]
pub struct Utf8FramesCodec<C> {
    codec: C,
    text: TextDecoder,
    frame: u64,
    counters: Counters,
}

impl<C> Utf8FramesCodec<C> {
    /// Creates a strict codec for the frames of `codec` that keeps the BOM.
    pub fn new(codec: C) -> Self {
        Self::with_decoder(codec, TextDecoder::new())
    }

    /// Creates a codec for the frames of `codec` with the policies of `text`, whose offset and counters are not used.
    pub fn with_decoder(codec: C, text: TextDecoder) -> Self {
        Self { codec, text: text.restarted_at(0), frame: 0, counters: Counters::default() }
    }

    inner_accessors!(codec: C, "byte codec");

    /// Returns the number of ill-formed sequences so far. In a rejected frame only the first one is counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
}

impl<C> Utf8FramesCodec<C> {
    fn read<F: Chunk>(&mut self, frame: F) -> Result<ByteString, Utf8FramesError<F::Error>> {
        let frame = frame.into_chunk().map_err(Utf8FramesError::Inner)?;
        let mut text = self.text.clone();
        let decoded = decode_policed(&mut text, frame, 0);
        self.counters += text.counters();
        let frame = self.frame;
        self.frame += 1;
        decoded.map_err(|(error, rejected)| Utf8FramesError::IllFormed { frame, error, rejected })
    }
}

impl<C: Decoder<Item: Chunk>> Decoder for Utf8FramesCodec<C> {
    type Item = Result<ByteString, Utf8FramesError<<C::Item as Chunk>::Error>>;
    type Error = C::Error;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, C::Error> {
        let frame = self.codec.decode(src)?;
        Ok(frame.map(|frame| self.read(frame)))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, C::Error> {
        let frame = self.codec.decode_eof(src)?;
        Ok(frame.map(|frame| self.read(frame)))
    }
}

impl<C: Encoder<Bytes>, T: Into<ByteString>> Encoder<T> for Utf8FramesCodec<C> {
    type Error = C::Error;

    fn encode(&mut self, text: T, dst: &mut BytesMut) -> Result<(), C::Error> {
        self.codec.encode(text.into().into_bytes(), dst)
    }
}

/// An error of a codec for text in frames. `E` is the error that an item of the byte codec may be.
///
/// Neither `Display` nor `Debug` shows payload bytes; they are in `rejected`. An inner error is displayed as `E`.
#[non_exhaustive]
pub enum Utf8FramesError<E = Infallible> {
    /// The frame is ill-formed.
    IllFormed {
        /// The number of the frame, counted from 0.
        frame: u64,
        /// The first error of the frame.
        error: Utf8Error,
        /// The payload of the frame.
        rejected: Bytes,
    },
    /// The byte codec rejected a frame.
    Inner(E),
}

impl<E> Utf8FramesError<E> {
    /// Returns the error in the text, for [`IllFormed`](Self::IllFormed).
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::IllFormed { error, .. } => Some(*error),
            Self::Inner(_) => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for Utf8FramesError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed { frame, error, .. } => write!(f, "frame {frame}: {error}"),
            Self::Inner(error) => error.fmt(f),
        }
    }
}

impl<E: fmt::Debug> fmt::Debug for Utf8FramesError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed { frame, error, rejected } => f
                .debug_struct("IllFormed")
                .field("frame", frame)
                .field("error", error)
                .field("rejected", &format_args!("{}", ByteCount(rejected.len())))
                .finish(),
            Self::Inner(error) => f.debug_tuple("Inner").field(error).finish(),
        }
    }
}

impl<E: core::error::Error + 'static> core::error::Error for Utf8FramesError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::IllFormed { error, .. } => error.source(),
            Self::Inner(error) => error.source(),
        }
    }
}

/// Creates an error of kind [`InvalidData`](io::ErrorKind::InvalidData) that wraps the [`Utf8FramesError`].
impl<E: core::error::Error + Send + Sync + 'static> From<Utf8FramesError<E>> for io::Error {
    fn from(error: Utf8FramesError<E>) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}
