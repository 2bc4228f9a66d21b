//! Text in the frames of any byte codec.

use core::fmt;
use std::io;

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use tokio_util::codec::{AnyDelimiterCodecError, Decoder, Encoder};

use super::error::Recoverable;
use super::frame::decode_frame;
use crate::chunks::TextChunks;
use crate::error::{ByteCount, Utf8Error};
use crate::text::{Counters, TextDecoder};

/// A codec that reads the frames of a byte codec as text: `LengthDelimitedCodec`, `AnyDelimiterCodec` or your own.
///
/// By default **every frame is one whole text**. An item is the text of one frame, a slice of it without a copy (as
/// with [`Utf8LinesCodec`](crate::codec::Utf8LinesCodec)). A frame that ends inside a character is an error
/// ([`Truncated`](crate::ErrorKind::Truncated)). A [`BomPolicy`](crate::BomPolicy) applies to each frame.
///
/// After [`into_fragments`](Self::into_fragments) **one text spans many frames**, like the fragments of a WebSocket
/// message: [`Utf8FragmentsCodec`].
///
/// For the frames of syslog, of language servers, of netstrings and of JSON text sequences see
/// [`framing`](crate::codec::framing). For frames between ASCII delimiters (NUL, RS) see also
/// [`LineEnding::Ascii`](crate::LineEnding::Ascii), whose encoder rejects text that contains the delimiter.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::{FramedRead, LengthDelimitedCodec};
/// use utf8_codec::codec::{ErrorsAsItems, Utf8FramesCodec};
///
/// # tokio_test::block_on(async {
/// let socket = &b"\0\0\0\x05na\xC3\xAFv\0\0\0\x02v\xC3\0\0\0\x03end"[..];
/// let codec = ErrorsAsItems::new(Utf8FramesCodec::new(LengthDelimitedCodec::new()));
/// let mut frames = FramedRead::new(socket, codec);
///
/// assert_eq!(frames.next().await.unwrap()?.unwrap(), "naïv");
/// let error = frames.next().await.unwrap()?.unwrap_err();
/// assert_eq!(error.to_string(), "frame 1: ill-formed UTF-8 at byte 1 (Truncated, 1 byte)");
/// assert_eq!(frames.next().await.unwrap()?.unwrap(), "end");
/// # Ok::<(), utf8_codec::codec::Utf8FramesError<std::io::Error>>(())
/// # }).unwrap();
/// ```
///
/// # Errors
///
/// Returns [`Utf8FramesError::IllFormed`] for an ill-formed frame, which is consumed, and [`Utf8FramesError::Inner`]
/// for an error of the byte codec. Offsets count from the start of the frame.
///
/// # Limits
///
/// The limits are those of the byte codec. Set a limit there.
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

    /// Converts this codec into a [`Utf8FragmentsCodec`], which decodes one text that spans several frames.
    pub fn into_fragments(self) -> Utf8FragmentsCodec<C> {
        let Self { codec, text, frame, counters } = self;
        Utf8FragmentsCodec {
            codec,
            policies: text,
            text: TextChunks::new(text),
            failed: false,
            ended: false,
            frame,
            counters,
        }
    }

    inner_accessors!(codec: C, "byte codec");

    /// Returns the number of ill-formed sequences so far. In a rejected frame only the first one is counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }
}

impl<C: Decoder<Item: Into<Bytes>>> Utf8FramesCodec<C> {
    fn read(&mut self, frame: C::Item) -> Result<ByteString, Utf8FramesError<C::Error>> {
        let mut text = self.text;
        let decoded = decode_frame(&mut text, frame.into(), 0);
        self.counters += text.counters();
        let frame = self.frame;
        self.frame += 1;
        decoded.map_err(|(error, rejected)| Utf8FramesError::IllFormed { frame, error, rejected })
    }
}

impl<C: Decoder<Item: Into<Bytes>>> Decoder for Utf8FramesCodec<C> {
    type Item = ByteString;
    type Error = Utf8FramesError<C::Error>;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, Self::Error> {
        let frame = self.codec.decode(src).map_err(Utf8FramesError::Inner)?;
        frame.map(|frame| self.read(frame)).transpose()
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<ByteString>, Self::Error> {
        let frame = self.codec.decode_eof(src).map_err(Utf8FramesError::Inner)?;
        frame.map(|frame| self.read(frame)).transpose()
    }
}

impl<C: Encoder<Bytes>, T: Into<ByteString>> Encoder<T> for Utf8FramesCodec<C> {
    type Error = C::Error;

    fn encode(&mut self, text: T, dst: &mut BytesMut) -> Result<(), C::Error> {
        self.codec.encode(text.into().into_bytes(), dst)
    }
}

/// A codec for one text over many frames of a byte codec. [`Utf8FramesCodec::into_fragments`] creates it.
///
/// A frame may end inside a character, which is then returned with the next frame. The last frame of a message must end
/// between characters. The byte codec must therefore mark the last frame of each message: its item is a [`Fragment`] of
/// `Bytes` or `BytesMut`. The item of this codec is a [`Fragment`] of `ByteString`, one for each frame.
///
/// The text of a frame is a slice of the frame, unless a character started in an earlier frame or something was
/// repaired. It may be empty.
///
/// ```
/// # use bytes::{Bytes, BytesMut};
/// # use tokio_util::codec::Decoder;
/// use utf8_codec::codec::{Fragment, Utf8FramesCodec};
///
/// /// Frames of one byte; an upper-case letter is the last one of its message.
/// struct Letters;
///
/// impl Decoder for Letters {
///     type Item = Fragment<Bytes>;
///     type Error = std::io::Error;
///
///     fn decode(&mut self, src: &mut BytesMut) -> std::io::Result<Option<Fragment<Bytes>>> {
///         let Some(&byte) = src.first() else { return Ok(None) };
///         let payload = src.split_to(1).freeze();
///         Ok(Some(if byte.is_ascii_uppercase() { Fragment::Last(payload) } else { Fragment::More(payload) }))
///     }
/// }
///
/// let mut codec = Utf8FramesCodec::new(Letters).into_fragments();
/// let mut buffer = BytesMut::from("\u{E9}T");
/// assert_eq!(codec.decode(&mut buffer)?, Some(Fragment::More("".into())));
/// assert_eq!(codec.decode(&mut buffer)?, Some(Fragment::More("é".into())));
/// assert_eq!(codec.decode(&mut buffer)?, Some(Fragment::Last("T".into())));
/// # Ok::<(), utf8_codec::codec::Utf8FramesError<std::io::Error>>(())
/// ```
///
/// # Errors
///
/// Same as for [`Utf8FramesCodec`], but offsets count from the start of the message, and only the first error of a
/// message is reported, with its frame. The rest of that message is discarded, and the next message is decoded
/// normally. If the stream ends inside a character, [`Truncated`](crate::ErrorKind::Truncated) is reported once.
#[derive(Clone, Debug, Default)]
pub struct Utf8FragmentsCodec<C> {
    codec: C,
    policies: TextDecoder,
    text: TextChunks,
    /// Whether the message was rejected and its last frame has not arrived yet.
    failed: bool,
    /// Whether `decode_eof` returned an error for the last bytes of the stream. If the stream resumes, a message starts.
    /// `FramedRead` does not call `decode_eof` again after an error.
    ended: bool,
    frame: u64,
    counters: Counters,
}

/// A frame of a message, and whether it is the last one.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Fragment<T> {
    /// More frames of the message follow.
    More(T),
    /// The last frame of the message.
    Last(T),
}

impl<T> Fragment<T> {
    /// Returns the payload or text, and whether the message ends with it.
    pub fn into_parts(self) -> (T, bool) {
        match self {
            Self::More(payload) => (payload, false),
            Self::Last(payload) => (payload, true),
        }
    }

    fn new(payload: T, last: bool) -> Self {
        if last { Self::Last(payload) } else { Self::More(payload) }
    }
}

impl<C> Utf8FragmentsCodec<C> {
    inner_accessors!(codec: C, "byte codec");

    /// Returns the number of ill-formed sequences in messages that have ended. In a rejected message only the first one
    /// is counted.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Decodes a frame. Returns `None` for the rest of a rejected message.
    fn read<E>(
        &mut self,
        fragment: Fragment<impl Into<Bytes>>,
    ) -> Result<Option<Fragment<ByteString>>, Utf8FramesError<E>> {
        let frame = self.frame;
        self.frame += 1;
        let (payload, last) = fragment.into_parts();
        let payload = payload.into();
        if self.failed {
            self.failed = !last;
            return Ok(None);
        }
        let text = self.text.feed(payload.clone()).take_all(last);
        if last || text.is_err() {
            self.end_message();
        }
        self.failed = text.is_err() && !last;
        match text {
            Ok(text) => Ok(Some(Fragment::new(text, last))),
            Err(error) => Err(Utf8FramesError::IllFormed { frame, error, rejected: payload }),
        }
    }

    fn end_message(&mut self) {
        self.counters += self.text.decoder().counters();
        self.text = TextChunks::new(self.policies);
    }

    fn end_stream(&mut self) {
        self.end_message();
        self.failed = false;
        self.ended = false;
    }
}

impl<C, B> Utf8FragmentsCodec<C>
where
    C: Decoder<Item = Fragment<B>>,
    B: Into<Bytes>,
{
    fn last(
        &mut self,
        src: &mut BytesMut,
    ) -> Result<Option<Fragment<ByteString>>, Utf8FramesError<C::Error>> {
        while let Some(fragment) = self.codec.decode_eof(src).map_err(Utf8FramesError::Inner)? {
            if let Some(text) = self.read(fragment)? {
                return Ok(Some(text));
            }
        }
        // The stream ended before the last frame of the message. An unfinished character is reported or replaced here.
        let rejected = Bytes::copy_from_slice(self.text.decoder().pending());
        let end = if rejected.is_empty() { None } else { self.text.finish() };
        self.end_stream();
        end.map(|end| match end {
            Ok(text) => Ok(Fragment::More(text)),
            Err(error) => {
                Err(Utf8FramesError::IllFormed { frame: self.frame.saturating_sub(1), error, rejected })
            }
        })
        .transpose()
    }
}

impl<C, B> Decoder for Utf8FragmentsCodec<C>
where
    C: Decoder<Item = Fragment<B>>,
    B: Into<Bytes>,
{
    type Item = Fragment<ByteString>;
    type Error = Utf8FramesError<C::Error>;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, Self::Error> {
        if self.ended {
            self.end_stream();
        }
        while let Some(fragment) = self.codec.decode(src).map_err(Utf8FramesError::Inner)? {
            if let Some(text) = self.read(fragment)? {
                return Ok(Some(text));
            }
        }
        Ok(None)
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Self::Item>, Self::Error> {
        let last = self.last(src);
        self.ended = last.is_err() && src.is_empty();
        last
    }
}

impl<C: Encoder<Fragment<Bytes>>, T: Into<ByteString>> Encoder<Fragment<T>> for Utf8FragmentsCodec<C> {
    type Error = C::Error;

    fn encode(&mut self, text: Fragment<T>, dst: &mut BytesMut) -> Result<(), C::Error> {
        let (text, last) = text.into_parts();
        self.codec.encode(Fragment::new(text.into().into_bytes(), last), dst)
    }
}

/// An error of a codec for text in frames, over a byte codec that fails with `E`.
///
/// Neither `Display` nor `Debug` shows payload bytes; they are in `rejected`. An inner error is displayed as `E`.
#[non_exhaustive]
pub enum Utf8FramesError<E> {
    /// The frame is ill-formed.
    IllFormed {
        /// The number of the frame, counted from 0.
        frame: u64,
        /// The first error of the frame or, from [`Utf8FragmentsCodec`], of the message.
        error: Utf8Error,
        /// The payload of the frame, or at the end of the stream the bytes of the truncated sequence.
        rejected: Bytes,
    },
    /// The byte codec failed.
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
            Self::IllFormed { error, .. } => Some(error),
            Self::Inner(error) => Some(error),
        }
    }
}

impl<E: From<io::Error>> From<io::Error> for Utf8FramesError<E> {
    fn from(error: io::Error) -> Self {
        Self::Inner(error.into())
    }
}

/// Creates an error of kind [`InvalidData`](io::ErrorKind::InvalidData) that wraps the [`Utf8FramesError`], or converts the
/// error of the byte codec.
impl<E> From<Utf8FramesError<E>> for io::Error
where
    E: Into<Self> + fmt::Display + 'static,
{
    fn from(error: Utf8FramesError<E>) -> Self {
        match error {
            Utf8FramesError::Inner(error) => error.into(),
            Utf8FramesError::IllFormed { frame, error, rejected } => {
                let error: Utf8FramesError<core::convert::Infallible> =
                    Utf8FramesError::IllFormed { frame, error, rejected };
                Self::new(io::ErrorKind::InvalidData, error)
            }
        }
    }
}

impl<E: Recoverable> Recoverable for Utf8FramesError<E> {
    fn is_recoverable(&self) -> bool {
        match self {
            Self::IllFormed { .. } => true,
            Self::Inner(error) => error.is_recoverable(),
        }
    }
}

impl Recoverable for AnyDelimiterCodecError {
    /// A frame that is too long is reported once and discarded.
    fn is_recoverable(&self) -> bool {
        matches!(self, Self::MaxChunkLengthExceeded)
    }
}

impl Recoverable for io::Error {
    /// Returns `false`, because `LengthDelimitedCodec` also returns an `io::Error` if it cannot find the next frame.
    fn is_recoverable(&self) -> bool {
        false
    }
}
