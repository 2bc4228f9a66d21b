//! Streams of byte chunks as streams of the items of a codec.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;

use super::error::Utf8StreamError;
use crate::budget::Budget;
use crate::chunk::Chunk;
use crate::codec::items::Items;
use crate::codec::{CodecError, SseCodec, Utf8LinesCodec};

/// A [`Stream`] of lines, read from a stream of byte chunks such as the body of a `reqwest` response (`bytes_stream()`).
/// [`Utf8StreamExt::utf8_lines`](super::Utf8StreamExt::utf8_lines) creates one.
///
/// ```
/// use futures::{StreamExt, stream};
/// use utf8_codec::stream::{Utf8StreamError, Utf8StreamExt};
///
/// # futures::executor::block_on(async {
/// let body = stream::iter([&b"na\xC3"[..], b"\xAFve\r", b"\n\xFF\nmuch too long\nend"]);
/// let mut lines = body.utf8_lines(8);
/// assert_eq!(lines.next().await.transpose()?.as_deref(), Some("naïve"));
/// // The stream continues after a line that is ill-formed or too long.
/// let error = lines.next().await.unwrap().unwrap_err();
/// assert_eq!(error.to_string(), "line 2, column 1: ill-formed UTF-8 at byte 8 (InvalidLead, 1 byte)");
/// assert!(matches!(lines.next().await, Some(Err(Utf8StreamError::Text(_)))));
/// assert_eq!(lines.next().await.transpose()?.as_deref(), Some("end"));
/// # Ok::<(), Utf8StreamError<core::convert::Infallible, utf8_codec::codec::CodecError>>(())
/// # }).unwrap();
/// ```
pub type Utf8LinesStream<S> = CodecStream<S, Utf8LinesCodec>;

/// A [`Stream`] of server-sent events, read from a stream of byte chunks. The page of [`codec::sse`](crate::codec::sse)
/// describes the format.
///
/// ```
/// use futures::{StreamExt, stream};
/// use utf8_codec::stream::{SseStream, Utf8StreamError};
///
/// # futures::executor::block_on(async {
/// // With reqwest: `SseStream::new(response.bytes_stream())`.
/// let body = stream::iter([&b"id: 7\r\ndata: na\xC3"[..], b"\xAFve\r", b"\n\r", b"\ndata: cut off"]);
/// let mut events = SseStream::new(body.map(Ok::<_, std::io::Error>));
/// while let Some(event) = events.next().await {
///     match event {
///         Ok(event) => assert_eq!(event.data, "naïve"),
///         Err(Utf8StreamError::Inner(error)) => return Err(error),
///         Err(error) => eprintln!("one event was discarded: {error}"),
///     }
/// }
/// // For the request that reconnects:
/// assert_eq!(events.codec().last_event_id(), Some("7"));
/// # Ok(())
/// # }).unwrap();
/// ```
pub type SseStream<S> = CodecStream<S, SseCodec>;

pin_project! {
    /// A [`Stream`] of the items of a codec, read from a stream of byte chunks: [`Utf8LinesStream`], [`SseStream`], or
    /// another codec of this crate in [`with_codec`](Self::with_codec).
    ///
    /// The items, the errors and the offsets come from the codec, and do not depend on where the chunks end.
    ///
    /// # Errors
    ///
    /// Returns [`Utf8StreamError::Text`] with the [`CodecError`] of a line or event that is ill-formed or too long, and
    /// continues after it. Returns [`Utf8StreamError::Inner`] for an error of the inner stream. If the inner stream
    /// yields more chunks after the error, reading continues. If the inner stream ends instead, an unfinished line or
    /// event is discarded, even with [`SseCodec::with_dispatch_at_end`].
    ///
    /// # Cancel safety
    ///
    /// All state is in the stream: `next()` may be dropped at any await point and called again.
    ///
    /// # Limits
    ///
    /// The codec sets the limits. The stream holds what the codec holds and one chunk. An item keeps the memory of
    /// its buffer alive: copy items that you keep. One poll reads at most 64 KiB of small chunks that complete no item, or
    /// one larger chunk. It then wakes its task and returns `Pending`, so that other tasks can run.
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct CodecStream<S, C> {
        #[pin]
        inner: S,
        codec: C,
        buffer: BytesMut,
        state: State,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// The buffer may hold an item.
    Decode,
    Read,
    /// Same as `Read`, but the inner stream has failed and has yielded nothing since.
    Failed,
    /// The inner stream has ended, and the buffer may hold more items.
    End,
    Done,
}

impl<S> SseStream<S> {
    /// Creates a stream of the events of `inner` with the default limits. Ill-formed sequences are replaced by U+FFFD.
    pub fn new(inner: S) -> Self {
        Self::with_codec(inner, SseCodec::new())
    }
}

impl<S, C: Items> CodecStream<S, C> {
    /// Creates a stream of the items of `inner` with the settings of `codec`. To reconnect a stream of events, pass the codec
    /// of the previous stream, from [`into_parts`](Self::into_parts). Its last event ID and its reconnection time are kept
    /// ([`SseCodec::restart`]).
    pub fn with_codec(inner: S, mut codec: C) -> Self {
        codec.start();
        Self { inner, codec, buffer: BytesMut::new(), state: State::Read }
    }
}

impl<S, C> CodecStream<S, C> {
    /// Returns the codec, with its offset and its counters.
    pub const fn codec(&self) -> &C {
        &self.codec
    }

    inner_accessors!(
        inner: S,
        "inner stream",
        "A chunk that is taken from it directly is missing from the items.",
        "Bytes that were read from it but not returned are lost: see [`into_parts`](Self::into_parts)."
    );

    /// Returns the inner stream, pinned. A chunk that is taken from it directly is missing from the items.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut S> {
        self.project().inner
    }

    /// Returns the inner stream, the codec, and the bytes that were read and not decoded: those after the last complete line,
    /// or after the item that was returned last. An event that is not complete is lost, so do not read events from these
    /// bytes with another codec.
    pub fn into_parts(self) -> (S, C, Bytes) {
        (self.inner, self.codec, self.buffer.freeze())
    }
}

/// The length above which the capacity of a buffer is at most twice the length.
const LONG_BUFFER: usize = 64 * 1024;

/// Appends a chunk. If the buffer is empty, a chunk without other references becomes the buffer.
fn append(buffer: &mut BytesMut, chunk: Bytes) {
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

impl<S: Stream<Item: Chunk>, C: Items> Stream for CodecStream<S, C> {
    type Item = Result<C::Item, Utf8StreamError<<S::Item as Chunk>::Error, CodecError>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let mut budget = Budget::new();
        let mut read = 0;
        loop {
            match this.state {
                State::Decode => match this.codec.next_item(this.buffer) {
                    Some(item) => return Poll::Ready(Some(item.map_err(Utf8StreamError::Text))),
                    None => {
                        *this.state = State::Read;
                        ready!(budget.spend(read, cx));
                    }
                },
                State::Read | State::Failed => {
                    match ready!(this.inner.as_mut().poll_next(cx)).map(Chunk::into_chunk) {
                        None if *this.state == State::Failed => *this.state = State::Done,
                        None => *this.state = State::End,
                        Some(Err(error)) => {
                            *this.state = State::Failed;
                            return Poll::Ready(Some(Err(Utf8StreamError::Inner(error))));
                        }
                        Some(Ok(chunk)) => {
                            read = chunk.len();
                            append(this.buffer, chunk);
                            *this.state = State::Decode;
                        }
                    }
                }
                State::End => {
                    let item = this.codec.next_at_end(this.buffer);
                    if item.is_none() {
                        *this.state = State::Done;
                    }
                    return Poll::Ready(item.map(|item| item.map_err(Utf8StreamError::Text)));
                }
                State::Done => return Poll::Ready(None),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, (self.state == State::Done).then_some(0))
    }
}

impl<S: Stream<Item: Chunk>, C: Items> FusedStream for CodecStream<S, C> {
    fn is_terminated(&self) -> bool {
        self.state == State::Done
    }
}
