//! What the async traits of tokio and of futures-io share.

use core::pin::Pin;

use super::reader::Utf8Reader;
#[cfg(feature = "transcode")]
use super::transcode::TranscodeReader;
use super::writer::Utf8Writer;

impl<R, B> Utf8Reader<R, B> {
    /// Returns the inner reader, pinned. Bytes that are read from it directly are missing in the text.
    #[cfg_attr(docsrs, doc(cfg(any(feature = "futures-io", feature = "io"))))]
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }
}

#[cfg(feature = "transcode")]
impl<R> TranscodeReader<R> {
    /// Returns the inner reader, pinned. Bytes that are read from it directly are missing in the text.
    #[cfg_attr(docsrs, doc(cfg(any(feature = "futures-io", feature = "io"))))]
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut R> {
        self.project().inner
    }
}

impl<W> Utf8Writer<W> {
    /// Returns the inner writer, pinned. Bytes that are written to it directly may be inserted inside a character.
    #[cfg_attr(docsrs, doc(cfg(any(feature = "futures-io", feature = "io"))))]
    pub fn get_pin_mut(self: Pin<&mut Self>) -> Pin<&mut W> {
        self.project().inner
    }
}

/// Implements the traits whose methods are the same in tokio and in futures-io, except for the name of the method that
/// ends a writer. `fill` reads into the buffer of a [`Reading`](super::reading::Reading).
macro_rules! impl_async_traits {
    ($poll_end:ident) => {
        impl<R: AsyncRead> AsyncBufRead for Utf8Reader<R, OwnBuffer> {
            fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
                let mut this = self.project();
                let mut budget = Budget::new();
                while !matches!(this.text.source()?, ReadSource::Own) {
                    ready!(fill(this.text, this.inner.as_mut(), cx, &mut budget))?;
                }
                Poll::Ready(Ok(this.text.own()))
            }

            fn consume(self: Pin<&mut Self>, bytes: usize) {
                self.project().text.consume(bytes);
            }
        }

        impl<R: AsyncBufRead> AsyncBufRead for Utf8Reader<R, InnerBuffer> {
            fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
                let mut this = self.project();
                let mut budget = Budget::new();
                loop {
                    match this.text.source()? {
                        ReadSource::Own => return Poll::Ready(Ok(this.text.own())),
                        ReadSource::Inner(validated) => {
                            let available = ready!(this.inner.poll_fill_buf(cx))?;
                            return Poll::Ready(Ok(&available[..validated.min(available.len())]));
                        }
                        ReadSource::Unknown => {
                            let available = ready!(this.inner.as_mut().poll_fill_buf(cx))?;
                            let taken = this.text.decode_inner(available);
                            this.inner.as_mut().consume(taken);
                            ready!(budget.spend(taken, cx));
                        }
                    }
                }
            }

            fn consume(self: Pin<&mut Self>, bytes: usize) {
                let this = self.project();
                this.inner.consume(this.text.consume(bytes));
            }
        }

        #[cfg(feature = "transcode")]
        impl<R: AsyncRead> AsyncBufRead for TranscodeReader<R> {
            fn poll_fill_buf(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<&[u8]>> {
                let mut this = self.project();
                let mut budget = Budget::new();
                while !this.text.is_ready()? {
                    let bytes = ready!(read(this.inner.as_mut(), cx, this.text.space()))?;
                    this.text.filled(bytes)?;
                    ready!(budget.spend(bytes, cx));
                }
                Poll::Ready(Ok(this.text.output()))
            }

            fn consume(self: Pin<&mut Self>, bytes: usize) {
                self.project().text.consume(bytes);
            }
        }

        impl<W: AsyncWrite> AsyncWrite for Utf8Writer<W> {
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
}

pub(super) use impl_async_traits;
