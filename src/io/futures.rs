//! The traits of futures-io.

use core::pin::Pin;
use core::task::{Context, Poll, ready};
use std::io;

use futures_io::{AsyncBufRead, AsyncRead, AsyncWrite};

use super::pinned::impl_async_traits;
use super::reader::{ReadState, Utf8Reader};
#[cfg(feature = "transcode")]
use super::transcode::{TranscodeReader, TranscodeWriter};
use super::writer::Utf8Writer;
use crate::budget::Budget;

fn read<R: AsyncRead>(inner: Pin<&mut R>, cx: &mut Context<'_>, space: &mut [u8]) -> Poll<io::Result<usize>> {
    inner.poll_read(cx, space)
}

macro_rules! impl_read {
    ($reader:ident) => {
        impl<R: AsyncRead> AsyncRead for $reader<R> {
            fn poll_read(
                self: Pin<&mut Self>,
                cx: &mut Context<'_>,
                buf: &mut [u8],
            ) -> Poll<io::Result<usize>> {
                let (this, room, mut read) = (self.project(), buf.len(), 0);
                if room == 0 {
                    return Poll::Ready(Ok(0));
                }
                ready!(poll_text(this.text, this.inner, cx, room, |text| {
                    read = text.len();
                    buf[..read].copy_from_slice(text);
                }))?;
                Poll::Ready(Ok(read))
            }
        }
    };
}

impl_async_traits!(poll_close {});
