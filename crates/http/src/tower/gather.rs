//! Collects a body that is held until it is complete.

use core::pin::Pin;
use core::task::{Context, Poll, ready};

use bytes::{Bytes, BytesMut};
use http::HeaderMap;
use http_body::Body;

use super::drain::DrainingBody;
use crate::error::BoxError;
use crate::reason::RejectReason;

/// Collects a checked body up to its end, at most `limit` bytes. `reason` is why a longer body is rejected: its length,
/// or, with a limit of 0, header fields that are acceptable only on an empty message.
///
/// A single frame is not copied. Several frames are copied into one buffer, because a list of tiny frames would need
/// many times the memory of the limit.
#[derive(Debug)]
pub(crate) struct Gather<B> {
    body: Pin<Box<DrainingBody<B>>>,
    limit: usize,
    reason: RejectReason,
    first: Bytes,
    all: BytesMut,
    trailers: Option<Box<HeaderMap>>,
    is_too_long: bool,
}

/// A complete body.
#[derive(Debug)]
pub(crate) struct Gathered {
    pub(crate) data: Bytes,
    pub(crate) trailers: Option<Box<HeaderMap>>,
    /// Whether the data differs from the data of the inner body.
    pub(crate) has_changed: bool,
}

/// Why a body is not complete.
#[derive(Debug)]
pub(crate) enum Interrupted {
    /// The body is longer than the limit, and the rest of it has been drained; or it has failed, and only an empty one
    /// is accepted.
    Rejected(RejectReason),
    Body(BoxError),
}

impl<B: Body> Gather<B>
where
    B::Error: Into<BoxError>,
{
    pub(crate) fn new(body: Pin<Box<DrainingBody<B>>>, limit: usize, reason: RejectReason) -> Self {
        Self {
            body,
            limit,
            reason,
            first: Bytes::new(),
            all: BytesMut::new(),
            trailers: None,
            is_too_long: false,
        }
    }

    /// Whether the message is rejected unless it has no content.
    const fn is_refused(&self) -> bool {
        !matches!(self.reason, RejectReason::TooLong { .. })
    }

    fn rejected(&self) -> Interrupted {
        Interrupted::Rejected(self.reason.clone())
    }

    /// Polls the body until it ends. It must not be called again after that.
    pub(crate) fn poll(&mut self, cx: &mut Context<'_>) -> Poll<Result<Gathered, Interrupted>> {
        loop {
            if self.is_too_long {
                return self.body.as_mut().poll_drain(cx).map(|()| Err(self.rejected()));
            }
            let polled = self.body.as_mut().poll_frame(cx);
            if polled.is_pending() && self.is_refused() {
                // The sender may wait for the response before it sends anything.
                return self.body.as_mut().poll_timer(cx).map(|()| Err(self.rejected()));
            }
            let frame = match ready!(polled) {
                None => break,
                // The message may have had content.
                Some(Err(error)) if self.is_refused() && RejectReason::find(&*error).is_none() => {
                    return Poll::Ready(Err(self.rejected()));
                }
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
                            // The announced bytes may never arrive, so at most twice the bytes that have arrived are
                            // reserved.
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
        let filter = self.body.filter();
        let data = filter.repair_held(data).filter(|data| data.len() <= self.limit);
        let has_changed = filter.has_changed();
        let trailers = self.trailers.take();
        Poll::Ready(match data {
            Some(data) => Ok(Gathered { data, trailers, has_changed }),
            None => Err(self.rejected()),
        })
    }
}
