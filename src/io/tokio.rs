//! The traits of tokio.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use super::pinned::impl_async_traits;
use super::reader::{ReadState, Utf8Reader};
#[cfg(feature = "transcode")]
use super::transcode::{TranscodeReader, TranscodeWriter};
use super::writer::Utf8Writer;
use crate::budget::Budget;

/// Reads into `space`. Returns the number of bytes.
fn read<R: AsyncRead>(inner: Pin<&mut R>, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
    let mut space = ReadBuf::new(space);
    ready!(inner.poll_read(cx, &mut space))?;
    Poll::Ready(Ok(space.filled().len()))
}

macro_rules! impl_read {
    ($reader:ident) => {
        impl<R: AsyncRead> AsyncRead for $reader<R> {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut ReadBuf<'_>,
            ) -> Poll<io::Result<()>> {
                let (this, room) = (self.project(), buf.remaining());
                if room == 0 {
                    return Poll::Ready(Ok(()));
                }
                poll_text(this.text, this.inner, cx, room, |text| buf.put_slice(text))
            }
        }
    };
}

impl_async_traits!(poll_shutdown {
    fn is_write_vectored(&self) -> bool {
        self.inner.is_write_vectored()
    }
});
