//! The traits of tokio for `Utf8Reader` and `Utf8Writer`.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use tokio::io::{AsyncBufRead, AsyncRead, AsyncWrite, ReadBuf};

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

    fn poll_shutdown(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<io::Result<()>> {
        let mut this = self.project();
        ready!(this.text.drain(|bytes| this.inner.as_mut().poll_write(cx, bytes)))?;
        if this.text.end() {
            ready!(this.text.drain(|bytes| this.inner.as_mut().poll_write(cx, bytes)))?;
            ready!(this.inner.poll_shutdown(cx))?;
        }
        Poll::Ready(this.text.closed())
    }
}
