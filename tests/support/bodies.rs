//! A body that does what a test says.

use core::pin::Pin;
use core::task::{Context, Poll};
use std::collections::VecDeque;

use bytes::Bytes;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};

/// How a body tells that it ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Telling {
    /// Only when it is asked once more.
    Nothing,
    /// By `is_end_stream`, as a body of `Content-Length` that has come whole.
    EndStream,
    /// By an exact `size_hint`.
    Size,
}

impl Telling {
    pub const ALL: [Self; 3] = [Self::Nothing, Self::EndStream, Self::Size];
}

/// One frame after the other, and `Pending` before each.
#[derive(Debug)]
pub struct Script {
    pub frames: VecDeque<Result<Frame<Bytes>, &'static str>>,
    pub telling: Telling,
    pending: bool,
}

impl Script {
    pub fn of(chunks: &[&[u8]], telling: Telling) -> Self {
        let frames = chunks.iter().map(|chunk| Ok(Frame::data(Bytes::copy_from_slice(chunk)))).collect();
        Self { frames, telling, pending: false }
    }

    pub fn with_trailers(mut self, trailers: HeaderMap) -> Self {
        self.frames.push_back(Ok(Frame::trailers(trailers)));
        self
    }

    pub fn with_failure(mut self, error: &'static str) -> Self {
        self.frames.push_back(Err(error));
        self
    }
}

impl Body for Script {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, &'static str>>> {
        self.pending = !self.pending;
        if self.pending {
            cx.waker().wake_by_ref();
            return Poll::Pending;
        }
        Poll::Ready(self.frames.pop_front())
    }

    fn is_end_stream(&self) -> bool {
        self.telling == Telling::EndStream && self.frames.is_empty()
    }

    fn size_hint(&self) -> SizeHint {
        if self.telling != Telling::Size {
            return SizeHint::new();
        }
        let data = self.frames.iter().flatten().filter_map(Frame::data_ref);
        SizeHint::with_exact(data.map(|data| data.len() as u64).sum())
    }
}
