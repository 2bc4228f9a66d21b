//! The traits of tokio for `Utf8Reader` and `Utf8Writer`.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use super::pinned::impl_async_traits;
use super::reader::{InnerBuffer, OwnBuffer, Utf8Reader};
use super::reading::{ReadSource, Reading};
#[cfg(feature = "transcode")]
use super::transcode::TranscodeReader;
use super::writer::Utf8Writer;
use crate::budget::Budget;

/// Reads from `inner` into the buffer of `text`.
fn fill<R: AsyncRead>(
    text: &mut Reading,
    inner: Pin<&mut R>,
    cx: &mut Context<'_>,
    budget: &mut Budget,
) -> Poll<io::Result<()>> {
    let bytes = ready!(read(inner, cx, text.space()))?;
    text.filled(bytes)?;
    budget.spend(bytes, cx).map(Ok)
}

/// Reads into `space`. Returns the number of bytes.
fn read<R: AsyncRead>(inner: Pin<&mut R>, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
    let mut space = ReadBuf::new(space);
    ready!(inner.poll_read(cx, &mut space))?;
    Poll::Ready(Ok(space.filled().len()))
}

impl<R: AsyncRead, B> AsyncRead for Utf8Reader<R, B> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut ReadBuf<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        if buf.remaining() == 0 {
            return Poll::Ready(Ok(()));
        }
        let mut budget = Budget::new();
        while !this.text.read(buf.remaining(), |text| buf.put_slice(text))? {
            ready!(fill(this.text, this.inner.as_mut(), cx, &mut budget))?;
        }
        Poll::Ready(Ok(()))
    }
}

#[cfg(feature = "transcode")]
impl<R: AsyncRead> AsyncRead for TranscodeReader<R> {
    fn poll_read(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
        buf: &mut ReadBuf<'_>,
    ) -> Poll<io::Result<()>> {
        if buf.remaining() > 0 {
            ready!(self.as_mut().poll_fill_buf(cx))?;
            let taken = self.project().text.take(buf.initialize_unfilled());
            buf.advance(taken);
        }
        Poll::Ready(Ok(()))
    }
}

impl_async_traits!(poll_shutdown);
