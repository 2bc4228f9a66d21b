//! The traits of futures-io.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use futures_io::{AsyncBufRead, AsyncRead, AsyncWrite};

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

fn read<R: AsyncRead>(inner: Pin<&mut R>, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
    inner.poll_read(cx, space)
}

impl<R: AsyncRead, B> AsyncRead for Utf8Reader<R, B> {
    fn poll_read(self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        let mut this = self.project();
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        let (mut read, mut budget) = (0, Budget::new());
        while !this.text.read(buf.len(), |text| {
            read = text.len();
            buf[..read].copy_from_slice(text);
        })? {
            ready!(fill(this.text, this.inner.as_mut(), cx, &mut budget))?;
        }
        Poll::Ready(Ok(read))
    }
}

#[cfg(feature = "transcode")]
impl<R: AsyncRead> AsyncRead for TranscodeReader<R> {
    fn poll_read(mut self: Pin<&mut Self>, cx: &mut Context<'_>, buf: &mut [u8]) -> Poll<io::Result<usize>> {
        if buf.is_empty() {
            return Poll::Ready(Ok(0));
        }
        ready!(self.as_mut().poll_fill_buf(cx))?;
        Poll::Ready(Ok(self.project().text.take(buf)))
    }
}

impl_async_traits!(poll_close);
