//! Streams of byte chunks as streams of lines.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use bytestring::ByteString;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;
use tokio_util::codec::Decoder;

use super::chunk::Chunk;
use super::error::Utf8StreamError;
use super::sse::{State, append};
use crate::budget::Budget;
use crate::codec::{CodecError, Utf8LinesCodec};

pin_project! {
    /// A [`Stream`] of lines, read from a stream of byte chunks such as the body of a `reqwest` response
    /// (`bytes_stream()`). [`Utf8StreamExt::utf8_lines`](super::Utf8StreamExt::utf8_lines) creates one.
    ///
    /// The lines, the errors and the offsets are those of a [`Utf8LinesCodec`], and do not depend on where the chunks end.
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
    /// assert!(matches!(lines.next().await, Some(Err(Utf8StreamError::IllFormed(_)))));
    /// assert_eq!(lines.next().await.transpose()?.as_deref(), Some("end"));
    /// # Ok::<(), Utf8StreamError<core::convert::Infallible, utf8_codec::codec::CodecError>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Utf8StreamError::IllFormed`] with the [`CodecError`] of a line that is ill-formed or too long, and continues
    /// with the next line. Returns [`Utf8StreamError::Inner`] for an error of the inner stream. If the inner stream yields more
    /// chunks after it, reading continues. If it ends after it, an unfinished line is discarded.
    ///
    /// # Cancel safety
    ///
    /// All state is in the stream: `next()` may be dropped at any await point and called again.
    ///
    /// # Limits
    ///
    /// The stream holds one line and one chunk. A line keeps the memory of its buffer alive: copy lines that you keep. One
    /// poll reads at most 64 KiB of small chunks that complete no line, or one larger chunk.
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Utf8LinesStream<S> {
        #[pin]
        inner: S,
        codec: Utf8LinesCodec,
        buffer: BytesMut,
        state: State,
    }
}

impl<S> Utf8LinesStream<S> {
    /// Creates a stream of the lines of `inner` with the settings of `codec`.
    pub fn with_codec(inner: S, codec: Utf8LinesCodec) -> Self {
        Self { inner, codec, buffer: BytesMut::new(), state: State::Read }
    }

    /// Returns the codec, with its offset and its counters.
    pub const fn codec(&self) -> &Utf8LinesCodec {
        &self.codec
    }

    inner_accessors!(
        inner: S,
        "inner stream",
        "A chunk that is taken from it directly is missing in the lines.",
        "Bytes that were read from it but not returned are lost: see [`into_parts`](Self::into_parts)."
    );

    /// Returns the inner stream, pinned. A chunk that is taken from it directly is missing in the lines.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut S> {
        self.project().inner
    }

    /// Returns the inner stream, the codec, and the bytes that were read and not returned as lines.
    pub fn into_parts(self) -> (S, Utf8LinesCodec, Bytes) {
        (self.inner, self.codec, self.buffer.freeze())
    }
}

impl<S: Stream<Item: Chunk>> Stream for Utf8LinesStream<S> {
    type Item = Result<ByteString, Utf8StreamError<<S::Item as Chunk>::Error, CodecError>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let mut budget = Budget::new();
        let mut read = 0;
        loop {
            match this.state {
                State::Decode => match this.codec.decode(this.buffer).transpose() {
                    Some(line) => return Poll::Ready(Some(line.map_err(Utf8StreamError::IllFormed))),
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
                    let line = this.codec.decode_eof(this.buffer).transpose();
                    if line.is_none() {
                        *this.state = State::Done;
                    }
                    return Poll::Ready(line.map(|line| line.map_err(Utf8StreamError::IllFormed)));
                }
                State::Done => return Poll::Ready(None),
            }
        }
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, (self.state == State::Done).then_some(0))
    }
}

impl<S: Stream<Item: Chunk>> FusedStream for Utf8LinesStream<S> {
    fn is_terminated(&self) -> bool {
        self.state == State::Done
    }
}
