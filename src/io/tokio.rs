//! The traits of tokio.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io as tokio_io;
use tokio::io::{AsyncRead, ReadBuf};

use super::reader::{ReadState, Utf8Reader};
use super::writer::Utf8Writer;

/// Reads into `space`. Returns the number of bytes.
pub fn poll_read_tokio<R: AsyncRead>(
    inner: Pin<&mut R>,
    cx: &mut Context<'_>,
    space: &mut [u8],
) -> Poll<io::Result<usize>> {
    let mut space = ReadBuf::new(space);
    ready!(inner.poll_read(cx, &mut space))?;
    Poll::Ready(Ok(space.filled().len()))
}

/// Implements the traits of tokio for a reader and a writer.
#[doc(hidden)]
#[macro_export]
macro_rules! impl_tokio_traits {
    ($io:ident, $reader:ident, $writer:ident) => {
        impl<R: $io::AsyncRead> $io::AsyncRead for $reader<R> {
            fn poll_read(
                self: core::pin::Pin<&mut Self>,
                cx: &mut core::task::Context<'_>,
                buf: &mut $io::ReadBuf<'_>,
            ) -> core::task::Poll<std::io::Result<()>> {
                let room = buf.remaining();
                if room == 0 {
                    return core::task::Poll::Ready(Ok(()));
                }
                let mut this = self.project();
                let ready = $crate::internal::io::poll_ready(this.text, cx, |cx, space| {
                    $crate::internal::io::poll_read_tokio(this.inner.as_mut(), cx, space)
                });
                core::task::ready!(ready)?;
                this.text.read(room, |text| buf.put_slice(text))?;
                core::task::Poll::Ready(Ok(()))
            }
        }

        $crate::impl_async_traits!($io, $crate::internal::io::poll_read_tokio, $reader, $writer, poll_shutdown {
            fn is_write_vectored(&self) -> bool {
                self.inner.is_write_vectored()
            }
        });
    };
}

impl_tokio_traits!(tokio_io, Utf8Reader, Utf8Writer);
