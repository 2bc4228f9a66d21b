//! The traits of futures-io.

use super::reader::{ReadState, Utf8Reader};
use super::writer::Utf8Writer;

/// Implements the traits of futures-io for a reader and a writer.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_futures_traits {
    ($io:ident, $reader:ident, $writer:ident) => {
        impl<R: $io::AsyncRead> $io::AsyncRead for $reader<R> {
            fn poll_read(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
                buf: &mut [u8],
            ) -> core::task::Poll<std::io::Result<usize>> {
                if buf.is_empty() {
                    return core::task::Poll::Ready(Ok(0));
                }
                let mut this = self.project();
                let ready = $crate::internal::io::poll_ready(this.text, cx, |cx, space| {
                    this.inner.as_mut().poll_read(cx, space)
                });
                core::task::ready!(ready)?;
                let mut read = 0;
                this.text.read(buf.len(), |text| {
                    read = text.len();
                    buf[..read].copy_from_slice(text);
                })?;
                core::task::Poll::Ready(Ok(read))
            }
        }

        $crate::impl_async_traits!($io, $io::AsyncRead::poll_read, $reader, $writer, poll_close {});
    };
}

impl_futures_traits!(futures_io, Utf8Reader, Utf8Writer);
