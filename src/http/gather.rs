//! A body that is taken whole before anybody sees it.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;

use super::body::Utf8Body;
use super::error::{BoxError, Utf8BodyError};

/// Takes a checked body up to its end, in at most `limit` bytes.
///
/// What comes in one frame is not copied. More frames are copied into one piece of memory: kept as they are, tiny
/// frames would cost many times the limit.
#[derive(Debug)]
pub(crate) struct Gather<B> {
    body: Pin<Box<Utf8Body<B>>>,
    limit: usize,
    first: Bytes,
    all: BytesMut,
    trailers: Option<Box<HeaderMap>>,
    is_too_long: bool,
}

/// A whole body.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) data: Bytes,
    pub(crate) trailers: Option<Box<HeaderMap>>,
    /// Whether its bytes are those of the inner body.
    pub(crate) is_unchanged: bool,
}

/// Why there is no whole body.
#[derive(Debug)]
pub(crate) enum Interrupted {
    TooLong,
    Body(Utf8BodyError),
}

impl<B: Body> Gather<B>
where
    B::Error: Into<BoxError>,
{
    pub(crate) fn new(body: Pin<Box<Utf8Body<B>>>, limit: usize) -> Self {
        Self { body, limit, first: Bytes::new(), all: BytesMut::new(), trailers: None, is_too_long: false }
    }

    /// Asks the body until it ends. After that it is not asked again.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Gathered, Interrupted>> {
        loop {
            if self.is_too_long {
                return self.body.as_mut().poll_drain(cx).map(|()| Err(Interrupted::TooLong));
            }
            let frame = match ready!(self.body.as_mut().poll_frame(cx)) {
                None => break,
                Some(Err(error)) => return Poll::Ready(Err(Interrupted::Body(error))),
                Some(Ok(frame)) => frame,
            };
            match frame.into_data() {
                Ok(data) => {
                    if self.first.len() + self.all.len() + data.len() > self.limit {
                        self.is_too_long = true;
                        (self.first, self.all) = (Bytes::new(), BytesMut::new());
                        continue;
                    }
                    if self.first.is_empty() && self.all.is_empty() {
                        self.first = data;
                    } else {
                        let first = core::mem::take(&mut self.first);
                        if self.all.is_empty() {
                            // What is announced may never come: no more is reserved for it than for what has arrived.
                            let arrived = first.len() + data.len();
                            let announced = self.body.size_hint().lower().min(arrived as u64);
                            self.all.reserve(arrived + announced as usize);
                        }
                        self.all.extend_from_slice(&first);
                        self.all.extend_from_slice(&data);
                    }
                }
                Err(frame) => self.trailers = frame.into_trailers().ok().map(Box::new),
            }
        }
        let data = if self.all.is_empty() {
            core::mem::take(&mut self.first)
        } else {
            core::mem::take(&mut self.all).freeze()
        };
        // UTF-16 may have as many bytes as UTF-8, and none of them the same.
        let is_unchanged = self.body.repaired() == 0
            && !self.body.is_transcoding()
            && self.body.offset() == data.len() as u64;
        Poll::Ready(Ok(Gathered { data, trailers: self.trailers.take(), is_unchanged }))
    }
}
