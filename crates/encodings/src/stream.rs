//! Streams of text in other encodings.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Buf, Bytes};
use bytestring::ByteString;
use futures_core::Stream;
use futures_core::stream::FusedStream;
use pin_project_lite::pin_project;
use utf8_codec::internal::Budget;
use utf8_codec::stream::{Chunk, Utf8StreamError};

use crate::error::TranscodeError;
use crate::{Encoding, Transcoder};

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Open,
    /// The inner stream has failed and has yielded nothing since.
    Failed,
    /// The inner stream has ended, or an error has ended the text.
    Done,
}

/// The maximum number of bytes of a chunk that are decoded into one item.
const STEP: usize = 16 * 1024;

pin_project! {
    /// A [`Stream`] of text, decoded from a stream of byte chunks in another encoding.
    ///
    /// The items are `Result<ByteString, Utf8StreamError<E, TranscodeError>>`: whole characters, never empty. The text,
    /// the errors and the offsets do not depend on where the chunks end.
    /// [`TranscodeStreamExt::transcode`](TranscodeStreamExt::transcode) creates one.
    ///
    /// ```
    /// use futures::{StreamExt, stream};
    /// use utf8_codec_encodings::stream::TranscodeStreamExt;
    /// use utf8_codec_encodings::Encoding;
    ///
    /// # futures::executor::block_on(async {
    /// let chunks = stream::iter([&b"\0n\0"[..], b"\xEF\xD8"]);
    /// let mut text = chunks.transcode(Encoding::Utf16Be);
    /// assert_eq!(text.next().await.transpose()?.as_deref(), Some("n"));
    /// assert_eq!(text.next().await.transpose()?.as_deref(), Some("ï"));
    /// let error = text.next().await.unwrap().unwrap_err();
    /// assert_eq!(error.to_string(), "ill-formed UTF-16BE at byte 4 (Truncated, 1 byte)");
    /// # Ok::<(), utf8_codec::stream::Utf8StreamError<core::convert::Infallible, utf8_codec_encodings::TranscodeError>>(())
    /// # }).unwrap();
    /// ```
    ///
    /// # Errors
    ///
    /// Same as for [`Utf8Stream`](utf8_codec::stream::Utf8Stream#errors): the text before an error is returned first, an error
    /// of the text ends the stream, and decoding may continue after an error of the inner stream.
    ///
    /// # Limits
    ///
    /// The stream holds one inner chunk until its text is returned, and at most 8 bytes between chunks. An item is decoded
    /// from at most 16 KiB of a chunk. One poll reads at most 64 KiB of input without text.
    #[derive(Debug)]
    #[must_use = "streams do nothing unless polled"]
    pub struct TranscodeStream<S> {
        #[pin]
        inner: S,
        transcoder: Transcoder,
        chunk: Bytes,
        error: Option<TranscodeError>,
        state: State,
    }
}

impl<S> TranscodeStream<S> {
    /// Creates a strict stream over `inner`, whose chunks are in `encoding`. The BOM is kept.
    pub const fn new(inner: S, encoding: Encoding) -> Self {
        Self::with_transcoder(inner, Transcoder::new(encoding, Encoding::Utf8))
    }

    /// Creates a stream over `inner` with the policies of `transcoder`, whose target must be UTF-8. With any other target
    /// the first item is the error of [`Output`](crate::Output).
    pub const fn with_transcoder(inner: S, transcoder: Transcoder) -> Self {
        Self { inner, transcoder, chunk: Bytes::new(), error: None, state: State::Open }
    }

    /// Returns the transcoder, with its offset and its counters.
    pub const fn transcoder(&self) -> &Transcoder {
        &self.transcoder
    }

    utf8_codec::inner_accessors!(
        inner: S,
        "inner stream",
        "A chunk that is taken from it directly is missing from the text.",
        "The rest of the current chunk is lost: see [`into_parts`](Self::into_parts)."
    );

    /// Returns the inner stream, the transcoder, and the bytes that were read and not returned as text, for a protocol
    /// that switches to binary data: an unfinished sequence and the rest of the current chunk. The transcoder holds
    /// none of these bytes: it continues at the first of them.
    ///
    /// ```
    /// use futures::{StreamExt, stream};
    /// use utf8_codec_encodings::stream::TranscodeStreamExt;
    /// use utf8_codec_encodings::Encoding;
    ///
    /// # futures::executor::block_on(async {
    /// let mut text = stream::iter([&b"\0n\xD8"[..]]).transcode(Encoding::Utf16Be);
    /// assert_eq!(text.next().await.unwrap().unwrap(), "n");
    /// let (_, transcoder, rest) = text.into_parts();
    /// assert_eq!((&rest[..], transcoder.offset()), (&b"\xD8"[..], 2));
    /// # });
    /// ```
    pub fn into_parts(self) -> (S, Transcoder, Bytes) {
        let Self { inner, mut transcoder, chunk, .. } = self;
        let rest = [transcoder.pending(), &chunk].concat();
        transcoder.give_back();
        (inner, transcoder, if rest.len() == chunk.len() { chunk } else { rest.into() })
    }
}

impl<S: Stream<Item: Chunk>> Stream for TranscodeStream<S> {
    type Item = Result<ByteString, Utf8StreamError<<S::Item as Chunk>::Error, TranscodeError>>;

    fn poll_next(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let mut this = self.project();
        let mut budget = Budget::new();
        loop {
            if let Some(error) = this.error.take() {
                *this.state = State::Done;
                return Poll::Ready(Some(Err(Utf8StreamError::Text(error))));
            }
            if *this.state == State::Done {
                return Poll::Ready(None);
            }
            let mut text = String::new();
            if !this.chunk.is_empty() {
                let before = this.transcoder.offset();
                let step = this.chunk.len().min(STEP);
                *this.error = this.transcoder.feed_into(&this.chunk[..step], &mut text).err();
                let read = this.transcoder.offset().wrapping_sub(before) as usize;
                this.chunk.advance(read.min(step));
                ready!(if text.is_empty() { budget.spend(read, cx) } else { Poll::Ready(()) });
            } else {
                match ready!(this.inner.as_mut().poll_next(cx)).map(Chunk::into_chunk) {
                    Some(Ok(chunk)) => {
                        *this.state = State::Open;
                        *this.chunk = chunk;
                        ready!(budget.spend(0, cx));
                    }
                    Some(Err(error)) => {
                        *this.state = State::Failed;
                        return Poll::Ready(Some(Err(Utf8StreamError::Inner(error))));
                    }
                    None => {
                        let has_failed = *this.state == State::Failed;
                        *this.state = State::Done;
                        let end = this.transcoder.finish_into(&mut text);
                        *this.error = end.err().filter(|_| !has_failed);
                    }
                }
            }
            if !text.is_empty() {
                return Poll::Ready(Some(Ok(text.into())));
            }
        }
    }
}

impl<S: Stream<Item: Chunk>> FusedStream for TranscodeStream<S> {
    fn is_terminated(&self) -> bool {
        self.state == State::Done && self.error.is_none()
    }
}

/// Adds `.transcode(encoding)` to every stream of byte chunks.
pub trait TranscodeStreamExt: Stream {
    /// Decodes the chunks strictly: [`TranscodeStream::new`].
    fn transcode(self, encoding: Encoding) -> TranscodeStream<Self>
    where
        Self: Sized + Stream<Item: Chunk>,
    {
        TranscodeStream::new(self, encoding)
    }
}

impl<S: Stream + ?Sized> TranscodeStreamExt for S {}
