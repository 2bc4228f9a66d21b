//! A body that is taken whole before anybody sees it.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;
use pin_project_lite::pin_project;

use super::body::Utf8Body;
use super::error::{BoxError, Utf8BodyError};

pin_project! {
    /// Takes a checked body up to its end, in at most `limit` octets.
    ///
    /// What comes in one frame is not copied. More frames are copied into one piece of memory: kept as they are, tiny
    /// frames would cost many times the limit.
    #[derive(Debug)]
    pub(crate) struct Gather<B> {
        #[pin]
        body: Utf8Body<B>,
        limit: usize,
        first: Bytes,
        all: BytesMut,
        trailers: Option<Box<HeaderMap>>,
    }
}

/// A whole body.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) data: Bytes,
    pub(crate) trailers: Option<Box<HeaderMap>>,
    /// Whether its octets are those of the inner body.
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
    pub(crate) fn new(body: Utf8Body<B>, limit: usize) -> Self {
        Self { body, limit, first: Bytes::new(), all: BytesMut::new(), trailers: None }
    }

    /// Asks the body until it ends. After that it is not asked again.
    pub(crate) fn poll(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Result<Gathered, Interrupted>> {
        let mut this = self.project();
        loop {
            let frame = match ready!(this.body.as_mut().poll_frame(cx)) {
                None => break,
                Some(Err(error)) => return Poll::Ready(Err(Interrupted::Body(error))),
                Some(Ok(frame)) => frame,
            };
            match frame.into_data() {
                Ok(data) => {
                    if this.first.len() + this.all.len() + data.len() > *this.limit {
                        return Poll::Ready(Err(Interrupted::TooLong));
                    }
                    if this.first.is_empty() && this.all.is_empty() {
                        *this.first = data;
                    } else {
                        let first = core::mem::take(this.first);
                        if this.all.is_empty() {
                            let announced =
                                usize::try_from(this.body.size_hint().lower()).unwrap_or(usize::MAX);
                            let needed = (first.len() + data.len()).saturating_add(announced);
                            this.all.reserve(needed.min(*this.limit));
                        }
                        this.all.extend_from_slice(&first);
                        this.all.extend_from_slice(&data);
                    }
                }
                Err(frame) => *this.trailers = frame.into_trailers().ok().map(Box::new),
            }
        }
        let data = if this.all.is_empty() { core::mem::take(this.first) } else { core::mem::take(this.all).freeze() };
        // UTF-16 may have as many octets as UTF-8, and none of them the same.
        let is_unchanged = this.body.repaired() == 0
            && !this.body.is_transcoding()
            && this.body.offset() == data.len() as u64;
        Poll::Ready(Ok(Gathered { data, trailers: this.trailers.take(), is_unchanged }))
    }
}
