//! Code that the async traits of tokio and of futures-io share.

use core::task::{Context, Poll, ready};
use std::io;

use super::reader::ReadState;
use crate::budget::Budget;

/// Reads with `read` until there is text, or until the text has ended.
pub fn poll_ready(
    text: &mut impl ReadState,
    cx: &mut Context<'_>,
    mut read: impl FnMut(&mut Context<'_>, &mut [u8]) -> Poll<io::Result<usize>>,
) -> Poll<io::Result<()>> {
    let mut budget = Budget::new();
    while !text.is_ready()? {
        let bytes = ready!(read(cx, text.space()))?;
        text.filled(bytes)?;
        ready!(budget.spend(bytes, cx));
    }
    Poll::Ready(Ok(()))
}

/// Implements the traits whose methods are the same in tokio and in futures-io, except for the name of the method that
/// ends a writer and for `is_write_vectored`, which only tokio has. `$read` reads into a slice.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_async_traits {
    ($io:ident, $read:path, $reader:ident, $writer:ident, $poll_end:ident { $($is_write_vectored:tt)* }) => {
        impl<R: $io::AsyncRead> $io::AsyncBufRead for $reader<R> {
            fn poll_fill_buf(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
            ) -> core::task::Poll<std::io::Result<&[u8]>> {
                let mut this = self.project();
                let ready = $crate::internal::io::poll_ready(this.text, cx, |cx, space| {
                    $read(this.inner.as_mut(), cx, space)
                });
                core::task::ready!(ready)?;
                core::task::Poll::Ready(Ok(this.text.text()))
            }

            fn consume(self: core::pin::Pin<&mut Self>, bytes: usize) {
                self.project().text.consume(bytes);
            }
        }

        /// Writes to the inner stream, unchanged.
        impl<W: $io::AsyncWrite> $io::AsyncWrite for $reader<W> {
            fn poll_write(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
                buf: &[u8],
            ) -> core::task::Poll<std::io::Result<usize>> {
                self.project().inner.poll_write(cx, buf)
            }

            fn poll_write_vectored(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
                bufs: &[std::io::IoSlice<'_>],
            ) -> core::task::Poll<std::io::Result<usize>> {
                self.project().inner.poll_write_vectored(cx, bufs)
            }

            fn poll_flush(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
            ) -> core::task::Poll<std::io::Result<()>> {
                self.project().inner.poll_flush(cx)
            }

            fn $poll_end(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
            ) -> core::task::Poll<std::io::Result<()>> {
                self.project().inner.$poll_end(cx)
            }

            $($is_write_vectored)*
        }

        impl<W: $io::AsyncWrite> $io::AsyncWrite for $writer<W> {
            fn poll_write(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
                buf: &[u8],
            ) -> core::task::Poll<std::io::Result<usize>> {
                let mut this = self.project();
                this.text.write(buf, |bytes| this.inner.as_mut().poll_write(cx, bytes))
            }

            fn poll_flush(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
            ) -> core::task::Poll<std::io::Result<()>> {
                let mut this = self.project();
                core::task::ready!(this.text.drain(|bytes| this.inner.as_mut().poll_write(cx, bytes)))?;
                this.inner.poll_flush(cx)
            }

            fn $poll_end(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
            ) -> core::task::Poll<std::io::Result<()>> {
                let mut this = self.project();
                core::task::ready!(this.text.drain(|bytes| this.inner.as_mut().poll_write(cx, bytes)))?;
                if this.text.end() {
                    core::task::ready!(this.text.drain(|bytes| this.inner.as_mut().poll_write(cx, bytes)))?;
                    core::task::ready!(this.inner.$poll_end(cx))?;
                }
                core::task::Poll::Ready(this.text.closed())
            }
        }
    };
}
