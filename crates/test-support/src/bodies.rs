//! A test body with scripted frames.

use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use std::collections::VecDeque;

use bytes::Bytes;
use futures::executor::block_on;
use futures::future::poll_fn;
use http::HeaderMap;
use http_body::{Body, Frame, SizeHint};
use utf8_codec_http::{BoxError, RejectReason};

/// How a body indicates its end.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EndHint {
    /// There is no hint, only `None`.
    Nothing,
    /// With `is_end_stream`, as for a complete body with a `Content-Length`.
    EndStream,
    /// With an exact `size_hint`.
    Size,
}

impl EndHint {
    pub const ALL: [Self; 3] = [Self::Nothing, Self::EndStream, Self::Size];
}

/// A body that returns its frames in order, and `Pending` before each.
#[derive(Debug)]
pub struct Script {
    pub frames: VecDeque<Result<Frame<Bytes>, &'static str>>,
    pub end_hint: EndHint,
    /// The number of bytes that the size hint includes but that never arrive.
    pub missing: u64,
    pending: bool,
}

impl Script {
    pub fn of(chunks: &[&[u8]], end_hint: EndHint) -> Self {
        let frames = chunks.iter().map(|chunk| Ok(Frame::data(Bytes::copy_from_slice(chunk)))).collect();
        Self { frames, end_hint, missing: 0, pending: false }
    }

    pub fn with_trailers(mut self, trailers: HeaderMap) -> Self {
        self.frames.push_back(Ok(Frame::trailers(trailers)));
        self
    }

    /// Adds `missing` bytes to the size hint that never arrive.
    pub fn that_stalls(mut self, missing: u64) -> Self {
        self.missing = missing;
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
        match self.frames.pop_front() {
            None if self.missing > 0 => Poll::Pending,
            frame => Poll::Ready(frame),
        }
    }

    fn is_end_stream(&self) -> bool {
        self.end_hint == EndHint::EndStream && self.frames.is_empty() && self.missing == 0
    }

    fn size_hint(&self) -> SizeHint {
        if self.end_hint != EndHint::Size {
            return SizeHint::new();
        }
        let data = self.frames.iter().flatten().filter_map(Frame::data_ref);
        SizeHint::with_exact(data.map(|data| data.len() as u64).sum::<u64>() + self.missing)
    }
}

/// Returns the data, the trailers and the error in the content of a body. Asserts that its size hints and `is_end_stream` are
/// correct after each frame.
pub fn drain<B>(body: B) -> (Vec<u8>, Option<HeaderMap>, Option<RejectReason>)
where
    B: Body<Data = Bytes, Error = BoxError>,
{
    let mut body = pin!(body);
    let (mut data, mut trailers, mut error) = (Vec::new(), None, None);
    let mut hints = vec![(0, body.size_hint())];
    loop {
        let ended = body.is_end_stream();
        match block_on(poll_fn(|cx| body.as_mut().poll_frame(cx))) {
            None => break,
            Some(Err(e)) => {
                assert!(!ended, "an error after the end");
                error = Some(*e.downcast::<RejectReason>().expect("an error in the content"));
                break;
            }
            Some(Ok(frame)) => {
                assert!(!ended, "a frame after the end");
                match frame.into_data() {
                    Ok(frame) => {
                        assert!(!frame.is_empty(), "a frame is empty");
                        data.extend_from_slice(&frame);
                        hints.push((data.len(), body.size_hint()));
                    }
                    Err(frame) => trailers = frame.into_trailers().ok(),
                }
            }
        }
    }
    assert!(body.is_end_stream());
    for _ in 0..2 {
        let frame = block_on(poll_fn(|cx| body.as_mut().poll_frame(cx)));
        assert!(frame.is_none(), "the body is fused");
    }
    for (before, hint) in hints {
        let rest = (data.len() - before) as u64;
        if error.is_none() {
            assert!(hint.lower() <= rest, "{hint:?} for {rest}");
            assert!(hint.upper().is_none_or(|upper| rest <= upper), "{hint:?} for {rest}");
        } else {
            assert_ne!(hint.exact(), Some(rest), "a reader that counts bytes would miss the error");
        }
    }
    (data, trailers, error)
}
