//! What the async traits of tokio and of futures-io share.

use core::pin::Pin;

use super::reader::Utf8Reader;
#[cfg(feature = "transcode")]
use super::transcode::{TranscodeReader, TranscodeWriter};
use super::writer::Utf8Writer;

macro_rules! pinned_accessor {
    ($adapter:ident, $doc:literal) => {
        impl<I> $adapter<I> {
            #[doc = $doc]
            pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut I> {
                self.project().inner
            }
        }
    };
}

pinned_accessor!(
    Utf8Reader,
    "Returns the inner reader, pinned. Bytes that are read from it directly are missing in the text."
);
#[cfg(feature = "transcode")]
pinned_accessor!(
    TranscodeReader,
    "Returns the inner reader, pinned. Bytes that are read from it directly are missing in the text."
);
#[cfg(feature = "transcode")]
pinned_accessor!(
    TranscodeWriter,
    "Returns the inner writer, pinned. Bytes that are written to it directly may be inserted before text that was written earlier."
);
pinned_accessor!(
    Utf8Writer,
    "Returns the inner writer, pinned. Bytes that are written to it directly may be inserted inside a character."
);

/// Implements the traits whose methods are the same in tokio and in futures-io, except for the name of the method that
/// ends a writer and for `is_write_vectored`, which only tokio has. `read` reads into a slice. `impl_read` implements
/// `AsyncRead` with `poll_text`.
macro_rules! impl_async_traits {
    ($poll_end:ident { $($is_write_vectored:tt)* }) => {
        /// Reads from `inner` into the buffer of `text`.
        fn fill<R: AsyncRead>(
            text: &mut impl ReadState,
            inner: Pin<&mut R>,
            cx: &mut Context<'_>,
            budget: &mut Budget,
        ) -> Poll<io::Result<()>> {
            let bytes = ready!(read(inner, cx, text.space()))?;
            text.filled(bytes)?;
            budget.spend(bytes, cx).map(Ok)
        }

        /// Calls `put` with at most `room` bytes of text. `room` is not 0.
        fn poll_text<R: AsyncRead>(
            text: &mut impl ReadState,
            mut inner: Pin<&mut R>,
            cx: &mut Context<'_>,
            room: usize,
            mut put: impl FnMut(&[u8]),
        ) -> Poll<io::Result<()>> {
            let mut budget = Budget::new();
            while !text.read(room, &mut put)? {
                ready!(fill(text, inner.as_mut(), cx, &mut budget))?;
            }
            Poll::Ready(Ok(()))
        }

        impl_async_traits!(reader: Utf8Reader, $poll_end { $($is_write_vectored)* });
        #[cfg(feature = "transcode")]
        impl_async_traits!(reader: TranscodeReader, $poll_end { $($is_write_vectored)* });

        impl_async_traits!(Utf8Writer, $poll_end);
        #[cfg(feature = "transcode")]
        impl_async_traits!(TranscodeWriter, $poll_end);
    };
    ($writer:ident, $poll_end:ident) => {
        impl<W: AsyncWrite> AsyncWrite for $writer<W> {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                let mut this = self.project();
                this.text.write(buf, |bytes| this.inner.as_mut().poll_write(cx, bytes))
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let mut this = self.project();
                ready!(this.text.drain(|bytes| this.inner.as_mut().poll_write(cx, bytes)))?;
                this.inner.poll_flush(cx)
            }

            fn $poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                let mut this = self.project();
                ready!(this.text.drain(|bytes| this.inner.as_mut().poll_write(cx, bytes)))?;
                if this.text.end() {
                    ready!(this.text.drain(|bytes| this.inner.as_mut().poll_write(cx, bytes)))?;
                    ready!(this.inner.$poll_end(cx))?;
                }
                Poll::Ready(this.text.closed())
            }
        }
    };
    (reader: $reader:ident, $poll_end:ident { $($is_write_vectored:tt)* }) => {
        impl_read!($reader);

        impl<R: AsyncRead> AsyncBufRead for $reader<R> {
            fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
                let mut this = self.project();
                let mut budget = Budget::new();
                while !this.text.is_ready()? {
                    ready!(fill(this.text, this.inner.as_mut(), cx, &mut budget))?;
                }
                Poll::Ready(Ok(this.text.text()))
            }

            fn consume(self: Pin<&mut Self>, bytes: usize) {
                self.project().text.consume(bytes);
            }
        }

        /// Writes to the inner stream, unchanged.
        impl<W: AsyncWrite> AsyncWrite for $reader<W> {
            fn poll_write(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &[u8]) -> Poll<io::Result<usize>> {
                self.project().inner.poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                bufs: &[io::IoSlice<'_>],
            ) -> Poll<io::Result<usize>> {
                self.project().inner.poll_write_vectored(cx, bufs)
            }

            fn poll_flush(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.project().inner.poll_flush(cx)
            }

            fn $poll_end(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
                self.project().inner.$poll_end(cx)
            }

            $($is_write_vectored)*
        }
    };
}

pub(super) use impl_async_traits;
