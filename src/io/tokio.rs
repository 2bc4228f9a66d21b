//! The traits of tokio for `Utf8Reader` and `Utf8Writer`.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

use super::pinned::impl_async_traits;
use super::reader::{InnerBuffer, OwnBuffer, Utf8Reader};
use super::reading::{ReadSource, Reading};
use super::writer::Utf8Writer;
use crate::budget::Budget;

/// Reads from `inner` into the buffer of `text`.
fn fill<R: AsyncRead>(
    text: &mut Reading,
    inner: Pin<&mut R>,
    cx: &mut Context<'_>,
    budget: &mut Budget,
) -> Poll<io::Result<()>> {
    let mut space = ReadBuf::new(text.space());
    ready!(inner.poll_read(cx, &mut space))?;
    let bytes = space.filled().len();
    text.filled(bytes)?;
    budget.spend(bytes, cx).map(Ok)
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

impl_async_traits!(poll_shutdown);
