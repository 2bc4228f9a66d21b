//! Draining of the rest of a rejected body, and the report of a body to its layer.

use core::error::Error;
use core::fmt;
use core::pin::Pin;
use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use core::task::{Context, Poll, ready};
use std::sync::{Arc, OnceLock};

use bytes::{Buf, Bytes};
use http::HeaderValue;
use http_body::{Body, Frame, SizeHint};
use pin_project_lite::pin_project;

use crate::body::Utf8Body;
use crate::error::BoxError;
use crate::filter::BodyFilter;
use crate::reason::RejectReason;
use crate::rejection::{MessageKind, Rejection};

/// A future that completes after some time.
pub(crate) type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

pub(crate) type Timer = Arc<dyn Fn() -> Sleep + Send + Sync>;

/// Reads and drops the rest of a body, so that its sender can read the response. A server that closes a connection with
/// unread bytes resets it, and the client may lose the response.
///
/// The number of bytes and the time are limited. Bytes that have already arrived are read at once. More bytes are
/// awaited while the timer runs, and not at all without a timer. A body that is known to be longer than the limit is
/// not read.
pub(crate) struct Drain {
    bytes: u64,
    timer: Option<Timer>,
    sleep: Option<Sleep>,
}

impl Drain {
    /// A drain that reads nothing.
    pub(crate) const NONE: Self = Self { bytes: 0, timer: None, sleep: None };

    pub(crate) const fn new(bytes: u64, timer: Option<Timer>) -> Self {
        Self { bytes, timer, sleep: None }
    }

    /// Reads until the body ends or a limit is reached. Returns whether the body has ended.
    pub(crate) fn poll<B: Body>(&mut self, mut body: Pin<&mut B>, cx: &mut Context<'_>) -> Poll<bool> {
        loop {
            if body.is_end_stream() {
                return Poll::Ready(true);
            }
            if self.bytes == 0 || body.size_hint().lower() > self.bytes {
                return Poll::Ready(false);
            }
            match body.as_mut().poll_frame(cx) {
                Poll::Ready(Some(Ok(frame))) => {
                    let bytes = frame.data_ref().map_or(0, |data| data.remaining() as u64);
                    // An empty frame also counts, because the number of empty frames is not bounded.
                    self.bytes = self.bytes.saturating_sub(bytes.max(1));
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(false),
                Poll::Ready(None) => return Poll::Ready(true),
                Poll::Pending if self.timer.is_none() => return Poll::Ready(false),
                Poll::Pending => return self.poll_timer(cx).map(|()| false),
            }
        }
    }

    /// Waits for the timer, and forever without one.
    fn poll_timer(&mut self, cx: &mut Context<'_>) -> Poll<()> {
        let Some(timer) = &self.timer else { return Poll::Pending };
        self.sleep.get_or_insert_with(|| timer()).as_mut().poll(cx)
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}

pin_project! {
    /// A checked body whose error is returned once the rest of the inner body is drained.
    #[derive(Debug)]
    pub(crate) struct DrainingBody<B> {
        #[pin]
        body: Utf8Body<B>,
        drain: Drain,
        report: Report,
        error: Option<BoxError>,
    }
}

impl<B> DrainingBody<B> {
    pub(crate) const fn new(body: Utf8Body<B>, drain: Drain, report: Report) -> Self {
        Self { body, drain, report, error: None }
    }

    pub(crate) const fn filter(&self) -> &BodyFilter {
        self.body.filter()
    }

    /// Drains the inner body.
    pub(crate) fn poll_drain(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()>
    where
        B: Body,
    {
        let this = self.project();
        this.drain.poll(this.body.get_pin_mut(), cx).map(|has_ended| this.report.drained(has_ended))
    }

    /// Waits for the timer of the drain, and forever without one.
    pub(crate) fn poll_timer(self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<()> {
        self.project().drain.poll_timer(cx)
    }
}

impl<B> Body for DrainingBody<B>
where
    B: Body,
    B::Error: Into<BoxError>,
{
    type Data = Bytes;
    type Error = BoxError;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        cx: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, BoxError>>> {
        if self.error.is_none() {
            let this = self.as_mut().project();
            match ready!(this.body.poll_frame(cx)) {
                Some(Err(error)) if this.report.failed(&*error) => {
                    if let Some(RejectReason::Trailer(..)) = RejectReason::find(&*error) {
                        // Trailers are the last frame.
                        this.report.drained(true);
                        return Poll::Ready(Some(Err(error)));
                    }
                    *this.error = Some(error);
                }
                frame => return Poll::Ready(frame),
            }
        }
        ready!(self.as_mut().poll_drain(cx));
        Poll::Ready(self.project().error.take().map(Err))
    }

    fn is_end_stream(&self) -> bool {
        self.error.is_none() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        if self.error.is_none() { self.body.size_hint() } else { SizeHint::new() }
    }
}

/// State that a body shares with the layer that responds to its error.
#[derive(Clone, Debug)]
pub(crate) struct Report(Option<Arc<Shared>>);

#[derive(Debug)]
struct Shared {
    message: MessageKind,
    content_type: Option<HeaderValue>,
    rejection: OnceLock<Rejection>,
    is_drained: AtomicBool,
}

impl Report {
    /// The report of a body that is not checked while it streams.
    pub(crate) const NONE: Self = Self(None);

    pub(crate) fn new(message: MessageKind, content_type: Option<HeaderValue>) -> Self {
        Self(Some(Arc::new(Shared {
            message,
            content_type,
            rejection: OnceLock::new(),
            is_drained: AtomicBool::new(false),
        })))
    }

    /// Records that the body failed. Returns whether the message is rejected because of it. An error of the inner body
    /// does not reject the message.
    pub(crate) fn failed(&self, error: &(dyn Error + 'static)) -> bool {
        let Some(reason) = RejectReason::find(error) else { return false };
        if let Some(shared) = &self.0 {
            let content_type = shared.content_type.clone();
            let rejection = Rejection { content_type, ..Rejection::new(shared.message, reason.clone()) };
            // A body fails only once.
            let _ = shared.rejection.set(rejection);
        }
        true
    }

    /// Records that the rest of a rejected body was drained. `has_ended` is whether its end was reached.
    pub(crate) fn drained(&self, has_ended: bool) {
        if let Some(shared) = &self.0 {
            shared.is_drained.store(has_ended, Relaxed);
        }
    }

    /// Whether a rejected body was read to its end.
    pub(crate) fn is_drained(&self) -> bool {
        self.0.as_ref().is_some_and(|shared| shared.is_drained.load(Relaxed))
    }

    /// Returns the reason to reject the message if its body has failed.
    pub(crate) fn rejection(&self) -> Option<&Rejection> {
        self.0.as_deref()?.rejection.get()
    }
}
