//! Streams of byte chunks as streams of server-sent events.

use core::error::Error;
use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;
use tokio_util::codec::Decoder;

use super::chunk::Chunk;
use crate::budget::Budget;
use crate::codec::SseCodec;
use crate::codec::sse::Event;
use crate::codec::{CodecError, Recoverable};
use crate::error::Utf8Error;

pin_project! {
    /// A [`Stream`] of server-sent events, read from a stream of byte chunks such as the body of a `reqwest` response
    /// (`bytes_stream()`).
    ///
    /// It reads the same format as [`SseCodec`], which the page of [`codec::sse`](crate::codec::sse) describes. The
    /// events, the errors and the offsets do not depend on where the chunks end.
    ///
    /// ```
    /// use futures::{StreamExt, stream};
    /// use utf8_codec::stream::{SseStream, SseStreamError};
    ///
    /// # futures::executor::block_on(async {
    /// // With reqwest: `SseStream::new(response.bytes_stream())`.
    /// let body = stream::iter([&b"id: 7\r\ndata: na\xC3"[..], b"\xAFve\r", b"\n\r", b"\ndata: cut off"]);
    /// let mut events = SseStream::new(body.map(Ok::<_, std::io::Error>));
    /// while let Some(event) = events.next().await {
    ///     match event {
    ///         Ok(event) => assert_eq!(event.data, "naïve"),
    ///         Err(SseStreamError::Event(error)) => eprintln!("one event was discarded: {error}"),
    ///         Err(SseStreamError::Inner(error)) => return Err(error),
    ///     }
    /// }
    /// // For the request that reconnects:
    /// assert_eq!(events.codec().last_event_id(), Some("7"));
    /// # Ok(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`SseStreamError::Event`] for an error of the codec. The stream continues with the next event. Returns
    /// [`SseStreamError::Inner`] for an error of the inner stream. If the inner stream yields more chunks after the
    /// error, reading continues. If it ends after the error, the event that was cut off is discarded with its ID, also with
    /// [`SseCodec::with_dispatch_at_end`].
    ///
    /// # Cancel safety
    ///
    /// All state is in the stream: `next()` may be dropped at any await point and called again.
    ///
    /// # Limits
    ///
    /// The limits are those of the codec, which [`with_codec`](Self::with_codec) can change. One poll reads at most 64
    /// KiB of small chunks that complete no event, or one larger chunk. It then wakes its task and returns `Pending`,
    /// so that other tasks can run.
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct SseStream<S> {
        #[pin]
        inner: S,
        codec: SseCodec,
        buffer: BytesMut,
        state: State,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum State {
    /// The buffer may hold an event or an error.
    Decode,
    Read,
    /// Same as `Read`, but the inner stream has failed and has yielded nothing since.
    Failed,
    /// The inner stream has ended, and the buffer may hold more events or errors.
    End,
    Done,
}

impl<S> SseStream<S> {
    /// Creates a stream of the events of `inner` with the default limits. Ill-formed sequences are replaced by U+FFFD.
    pub fn new(inner: S) -> Self {
        Self::with_codec(inner, SseCodec::new())
    }

    /// Creates a stream of the events of `inner` with the settings of `codec`. To reconnect, pass the codec of the
    /// previous stream, from [`into_parts`](Self::into_parts). Its last event ID and its reconnection time are kept
    /// ([`SseCodec::restart`]).
    pub fn with_codec(inner: S, mut codec: SseCodec) -> Self {
        codec.restart();
        Self { inner, codec, buffer: BytesMut::new(), state: State::Read }
    }

    /// Returns the codec, with its last event ID, its reconnection time, its offset and its counters.
    pub const fn codec(&self) -> &SseCodec {
        &self.codec
    }

    inner_accessors!(
        inner: S,
        "inner stream",
        "A chunk that is taken from it directly is missing in the events.",
        "Bytes that were read from it but not returned are lost: see [`into_parts`](Self::into_parts)."
    );

    /// Returns the inner stream, pinned. A chunk that is taken from it directly is missing in the events.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut S> {
        self.project().inner
    }

    /// Returns the inner stream, the codec, and the bytes that were read and not decoded: those after the last complete line,
    /// or after the event that was returned last. An event that is not complete is lost, so do not read events from these
    /// bytes with another codec.
    pub fn into_parts(self) -> (S, SseCodec, Bytes) {
        (self.inner, self.codec, self.buffer.freeze())
    }
}

/// The length above which the capacity of a buffer is at most twice the length.
const LONG_BUFFER: usize = 64 * 1024;

/// Appends a chunk. If the buffer is empty, a chunk without other references becomes the buffer.
pub(super) fn append(buffer: &mut BytesMut, chunk: Bytes) {
    if !buffer.is_empty() {
        let length = buffer.len() + chunk.len();
        let is_long = length > LONG_BUFFER && buffer.capacity() < length;
        if is_long && !buffer.try_reclaim(chunk.len()) {
            // `reserve` would double the capacity of the whole allocation, which includes bytes that were read.
            let mut longer = BytesMut::with_capacity(length.max(2 * buffer.len()));
            longer.extend_from_slice(buffer);
            *buffer = longer;
        }
        return buffer.extend_from_slice(&chunk);
    }
    match chunk.try_into_mut() {
        Ok(chunk) => *buffer = chunk,
        Err(chunk) => buffer.extend_from_slice(&chunk),
    }
}

impl<S> Stream for SseStream<S>
where
    S: Stream<Item: Chunk>,
{
    type Item = Result<Event, SseStreamError<<S::Item as Chunk>::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let (mut budget, mut read) = (Budget::new(), 0);
        loop {
            match this.state {
                State::Decode => match this.codec.decode(this.buffer) {
                    Ok(None) => {
                        *this.state = State::Read;
                        ready!(budget.spend(read, cx));
                    }
                    Ok(Some(event)) => return Poll::Ready(Some(Ok(event))),
                    Err(error) => return Poll::Ready(Some(Err(SseStreamError::Event(error)))),
                },
                State::Read | State::Failed => {
                    match ready!(this.inner.as_mut().poll_next(cx)).map(Chunk::into_chunk) {
                        None if *this.state == State::Failed => *this.state = State::Done,
                        None => *this.state = State::End,
                        Some(Err(error)) => {
                            *this.state = State::Failed;
                            return Poll::Ready(Some(Err(SseStreamError::Inner(error))));
                        }
                        Some(Ok(chunk)) => {
                            read = chunk.len();
                            append(this.buffer, chunk);
                            *this.state = State::Decode;
                        }
                    }
                }
                State::End => {
                    let event = this.codec.decode_eof(this.buffer).transpose();
                    if event.is_none() {
                        *this.state = State::Done;
                    }
                    return Poll::Ready(event.map(|event| event.map_err(SseStreamError::Event)));
                }
                State::Done => return Poll::Ready(None),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, (self.state == State::Done).then_some(0))
    }
}

impl<S> FusedStream for SseStream<S>
where
    S: Stream<Item: Chunk>,
{
    fn is_terminated(&self) -> bool {
        self.state == State::Done
    }
}

/// An error of an [`SseStream`].
#[derive(Debug)]
pub enum SseStreamError<E> {
    /// An event that is too long or ill-formed was discarded. The stream continues after it.
    Event(CodecError),
    /// The inner stream failed.
    Inner(E),
}

impl<E> SseStreamError<E> {
    /// Returns the error in the text, if the event was ill-formed.
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::Event(error) => error.utf8_error(),
            Self::Inner(_) => None,
        }
    }
}

impl<E: fmt::Display> fmt::Display for SseStreamError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Event(error) => error.fmt(f),
            Self::Inner(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static> Error for SseStreamError<E> {
    /// Returns the source of the inner error. The inner error itself is displayed by this error.
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Event(error) => error.source(),
            Self::Inner(error) => error.source(),
        }
    }
}

impl<E> Recoverable for SseStreamError<E> {
    fn is_recoverable(&self) -> bool {
        matches!(self, Self::Event(error) if error.is_recoverable())
    }
}

/// Converts an error of an event into an error of kind [`InvalidData`](io::ErrorKind::InvalidData) that wraps the
/// [`CodecError`]. An `io::Error` of the inner stream is returned unchanged. Any other error is wrapped by
/// [`io::Error::other`].
impl<E: Into<Box<dyn Error + Send + Sync>>> From<SseStreamError<E>> for io::Error {
    fn from(error: SseStreamError<E>) -> Self {
        match error {
            SseStreamError::Event(error) => error.into(),
            SseStreamError::Inner(error) => match error.into().downcast::<Self>() {
                Ok(error) => *error,
                Err(error) => Self::other(error),
            },
        }
    }
}
