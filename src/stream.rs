//! Streams of byte chunks as streams of text: [`Utf8Stream`], and the method `.utf8()` for every such stream.
//!
//! For readers of HTTP responses, server-sent events, tokens of a language model, channels and files that arrive in
//! chunks. If each chunk is decoded separately, characters that are split between chunks are lost. This stream decodes
//! them correctly.
//!
//! ```
//! use futures::{StreamExt, stream};
//! use utf8_codec::stream::Utf8StreamExt;
//! use utf8_codec::{ErrorPolicy, TextDecoder};
//!
//! # futures::executor::block_on(async {
//! let chunks = || stream::iter([&b"na\xC3"[..], b"\xAFve \xFF"]);
//! let mut text = chunks().utf8();
//! assert_eq!(text.next().await.transpose()?.as_deref(), Some("na"));
//! assert_eq!(text.next().await.transpose()?.as_deref(), Some("ïve "));
//!
//! let error = chunks().utf8().collect_string().await.unwrap_err();
//! assert_eq!(error.utf8_error().map(|error| error.offset), Some(7));
//!
//! let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
//! assert_eq!(chunks().utf8_with(replace).collect_string().await?, "naïve \u{FFFD}");
//! # Ok::<(), utf8_codec::stream::Utf8StreamError<core::convert::Infallible>>(())
//! # }).unwrap();
//! ```
//!
//! # Errors
//!
//! [`Utf8StreamError`], an ill-formed sequence with its absolute offset, or the error of the inner stream.
//!
//! # Limits
//!
//! The stream holds one chunk. `collect_string()` has no limit: limit the inner stream if a peer controls its length.
//!
//! # Cost
//!
//! The text of a chunk is a slice of it. It is copied if a character started in an earlier chunk, and around an error.
//!
//! # Cancel safety
//!
//! All state is in the stream.
//!
//! # Feature
//!
//! `stream`. With `codec`, [`Utf8LinesStream`] is a stream of lines, and [`SseStream`] one of server-sent events. The
//! crate `utf8-codec-encodings` has `TranscodeStream` for other encodings.

// This page links to types that exist only with the feature `codec`.
#![cfg_attr(not(feature = "codec"), allow(rustdoc::broken_intra_doc_links))]

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::Bytes;
use bytestring::ByteString;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;

#[cfg(feature = "codec")]
pub use self::codec::{CodecStream, SseStream, Utf8LinesStream};
pub use self::error::Utf8StreamError;
use self::text_chunks::TextChunks;
use crate::budget::Budget;
pub use crate::chunk::Chunk;
use crate::text::TextDecoder;

#[cfg(feature = "codec")]
mod codec;
mod error;
mod text_chunks;

pin_project! {
    /// A [`Stream`] of text, decoded from a stream of byte chunks.
    ///
    /// The inner stream yields [`Chunk`]s: `Result<B, E>` where `B` converts into [`Bytes`], such as the body of a
    /// `reqwest` response (`bytes_stream()`), the data of a `hyper` or `axum` body or a `ReaderStream`; or `Bytes` and
    /// `Vec<u8>` from a channel. The items are `Result<ByteString, Utf8StreamError<E>>`: whole characters, never empty.
    /// The text, the errors and the offsets do not depend on where the chunks end.
    ///
    /// Each chunk is one item (a longer one, an item for each 64 KiB), or none if it has only a part of a character. The item
    /// is a slice of the chunk, which keeps the memory of the chunk alive: copy items that you keep. It is a copy if a
    /// character started in an earlier chunk or an error was repaired.
    ///
    /// The methods of [`Utf8StreamExt`] create a `Utf8Stream`.
    ///
    /// ```
    /// use futures::{StreamExt, stream};
    /// use utf8_codec::stream::Utf8StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// // "naïve 🦀", split inside both of its longer characters.
    /// let chunks = [&b"na\xC3"[..], b"\xAFve \xF0\x9F", b"\xA6\x80"];
    /// let body = stream::iter(chunks).map(Ok::<_, std::io::Error>);
    ///
    /// assert_eq!(body.utf8().collect_string().await?, "naïve 🦀");
    /// # Ok::<(), utf8_codec::stream::Utf8StreamError<std::io::Error>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`Utf8StreamError::Text`] for the first error that the policy of the decoder does not repair. By default
    /// that is the first ill-formed sequence, or the end of the stream inside a character. All text before the error is
    /// returned first. After the error the stream yields `None`, and the inner stream is not polled again.
    ///
    /// Returns [`Utf8StreamError::Inner`] for an error of the inner stream. If the inner stream yields more chunks after
    /// the error, decoding continues, even inside a character. If the inner stream ends after the error, an unfinished
    /// character is not reported as a second error.
    ///
    /// # Cancel safety
    ///
    /// All state is in the stream: `next()` may be dropped at any await point and called again.
    ///
    /// # Limits
    ///
    /// The stream holds one inner chunk until its text is returned, and at most 3 bytes between chunks. One poll reads
    /// at most 128 KiB of input without text (under [`ErrorPolicy::Skip`](crate::ErrorPolicy::Skip)). It then wakes its
    /// task and returns `Pending`, so that other tasks can run.
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct Utf8Stream<S> {
        #[pin]
        inner: S,
        chunks: TextChunks,
        state: State,
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The inner stream has failed and has yielded nothing since.
    Failed,
    /// The inner stream has ended, or an error has ended the text.
    Done,
}

impl<S> Utf8Stream<S> {
    /// Creates a strict stream over `inner` that keeps the BOM.
    pub const fn new(inner: S) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Creates a stream over `inner` with the policies of `decoder`.
    pub const fn with_decoder(inner: S, decoder: TextDecoder) -> Self {
        Self { inner, chunks: TextChunks::new(decoder), state: State::Open }
    }

    /// Returns the decoder, with its offset and its counters.
    pub const fn decoder(&self) -> &TextDecoder {
        self.chunks.decoder()
    }

    inner_accessors!(
        inner: S,
        "inner stream",
        "A chunk that is taken from it directly is missing from the text.",
        "The rest of the current chunk is lost: see [`into_parts`](Self::into_parts)."
    );

    /// Returns the inner stream, the decoder, and the bytes that were read and not returned as text, for a protocol
    /// that switches to binary data: an unfinished character and the rest of the current chunk. The decoder holds none
    /// of these bytes: it continues at the first of them.
    ///
    /// ```
    /// use bytes::Bytes;
    /// use futures::{StreamExt, stream};
    /// use utf8_codec::stream::Utf8StreamExt;
    ///
    /// # futures::executor::block_on(async {
    /// let mut text = stream::iter([Bytes::from_static(b"gr\xC3"), Bytes::from_static(b"\xBCn\xFF\0")]).utf8();
    /// assert_eq!(text.next().await.unwrap().unwrap(), "gr");
    /// assert_eq!(text.next().await.unwrap().unwrap(), "\u{FC}n");
    /// let (_, decoder, rest) = text.into_parts();
    /// assert_eq!((&rest[..], decoder.offset()), (&b"\xFF\0"[..], 5));
    /// # });
    /// ```
    pub fn into_parts(self) -> (S, TextDecoder, Bytes) {
        let (decoder, rest) = self.chunks.into_parts();
        (self.inner, decoder, rest)
    }

    /// Returns the inner stream, pinned. A chunk that is taken from it directly is missing from the text.
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut S> {
        self.project().inner
    }
}

impl<S: Stream<Item: Chunk>> Utf8Stream<S> {
    /// Reads the rest of the stream into one `String`. It grows without a limit: limit the inner stream if a peer
    /// controls its length.
    ///
    /// # Errors
    ///
    /// Returns the first error. The text before it is dropped.
    ///
    /// # Cancel safety
    ///
    /// Not cancel safe: the text that was read is dropped with the future.
    pub const fn collect_string(self) -> CollectString<S> {
        CollectString { stream: self, text: String::new() }
    }
}

impl<S> Stream for Utf8Stream<S>
where
    S: Stream<Item: Chunk>,
{
    type Item = Result<ByteString, Utf8StreamError<<S::Item as Chunk>::Error>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let mut budget = Budget::new();
        while *this.state != State::Done {
            while this.chunks.rest() > 0 {
                let before = this.chunks.rest();
                if let Some(text) = this.chunks.next_text() {
                    if text.is_err() {
                        *this.state = State::Done;
                    }
                    return Poll::Ready(Some(text.map_err(Utf8StreamError::Text)));
                }
                // Under `ErrorPolicy::Skip` an unlimited amount of input may have no text.
                ready!(budget.spend(before - this.chunks.rest(), cx));
            }
            match ready!(this.inner.as_mut().poll_next(cx)).map(Chunk::into_chunk) {
                Some(Ok(chunk)) => {
                    *this.state = State::Open;
                    this.chunks.feed(chunk);
                    if this.chunks.rest() == 0 {
                        ready!(budget.spend(0, cx));
                    }
                }
                Some(Err(error)) => {
                    *this.state = State::Failed;
                    return Poll::Ready(Some(Err(Utf8StreamError::Inner(error))));
                }
                None => {
                    let failed = *this.state == State::Failed;
                    *this.state = State::Done;
                    let end = this.chunks.finish().filter(|end| end.is_ok() || !failed);
                    return Poll::Ready(end.map(|end| end.map_err(Utf8StreamError::Text)));
                }
            }
        }
        Poll::Ready(None)
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, (self.state == State::Done).then_some(0))
    }
}

impl<S> FusedStream for Utf8Stream<S>
where
    S: Stream<Item: Chunk>,
{
    fn is_terminated(&self) -> bool {
        self.state == State::Done
    }
}

pin_project! {
    /// The future of [`Utf8Stream::collect_string`].
    #[derive(Debug)]
    #[must_use = "futures do nothing unless polled"]
    pub struct CollectString<S> {
        #[pin]
        stream: Utf8Stream<S>,
        text: String,
    }
}

impl<S: Stream<Item: Chunk>> Future for CollectString<S> {
    type Output = Result<String, Utf8StreamError<<S::Item as Chunk>::Error>>;

    fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Self::Output> {
        let mut this = self.project();
        while let Some(part) = ready!(this.stream.as_mut().poll_next(cx)) {
            this.text.push_str(&part?);
        }
        Poll::Ready(Ok(core::mem::take(this.text)))
    }
}

/// Adds `.utf8()`, `.utf8_with(decoder)` and `.utf8_lines(max_length)` to every stream of byte chunks.
///
/// ```
/// # use bytes::{Bytes, BytesMut};
/// # use futures_core::Stream;
/// use futures::StreamExt;
/// use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
/// use utf8_codec::stream::Utf8StreamExt;
///
/// # async fn show(response: impl Stream<Item = Result<Bytes, std::io::Error>>) {
/// let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Strip);
/// let mut text = std::pin::pin!(response.utf8_with(replace));
/// while let Some(Ok(part)) = text.next().await {
///     print!("{part}");
/// }
/// # }
/// # let end = futures::stream::iter([Ok(Bytes::from_static(b"\xEF\xBB\xBF"))]);
/// # futures::executor::block_on(show(end));
/// ```
pub trait Utf8StreamExt: Stream {
    /// Decodes the chunks strictly: [`Utf8Stream::new`].
    fn utf8(self) -> Utf8Stream<Self>
    where
        Self: Sized + Stream<Item: Chunk>,
    {
        Utf8Stream::new(self)
    }

    /// Decodes the chunks with the policies of `decoder`: [`Utf8Stream::with_decoder`].
    fn utf8_with(self, decoder: TextDecoder) -> Utf8Stream<Self>
    where
        Self: Sized + Stream<Item: Chunk>,
    {
        Utf8Stream::with_decoder(self, decoder)
    }

    /// Reads lines of at most `max_length` bytes, without their LF or CRLF: [`Utf8LinesStream`].
    #[cfg(feature = "codec")]
    #[cfg_attr(docsrs, doc(cfg(feature = "codec")))]
    fn utf8_lines(self, max_length: usize) -> Utf8LinesStream<Self>
    where
        Self: Sized + Stream<Item: Chunk>,
    {
        Utf8LinesStream::with_codec(self, crate::codec::Utf8LinesCodec::new().with_max_length(max_length))
    }
}

impl<S: Stream + ?Sized> Utf8StreamExt for S {}
