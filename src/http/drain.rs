//! The rest of a rejected body.

use core::fmt;
use core::pin::Pin;
use core::task::{Context, Poll};
use std::sync::Arc;

use bytes::Buf;
use http_body::Body;

/// A future that ends when a time is over.
pub(crate) type Sleep = Pin<Box<dyn Future<Output = ()> + Send + Sync>>;

/// Starts a [`Sleep`].
pub(crate) type Timer = Arc<dyn Fn() -> Sleep + Send + Sync>;

/// Reads and drops the rest of a body, so that its sender comes to read the response: a server that closes a connection
/// with unread bytes resets it, and the client may lose what it has not read.
///
/// Bounded in bytes and in time. What has arrived is read at once. What has not is awaited while the timer runs; without
/// a timer, not at all. Nothing is read of a body that is known to be longer than the bound.
pub(crate) struct Drain {
    bytes: u64,
    timer: Option<Timer>,
    sleep: Option<Sleep>,
}

impl Drain {
    /// Reads nothing.
    pub(crate) const NONE: Self = Self { bytes: 0, timer: None, sleep: None };

    pub(crate) const fn new(bytes: u64, timer: Option<Timer>) -> Self {
        Self { bytes, timer, sleep: None }
    }

    /// Returns whether the body has ended.
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
                    // An empty frame counts as well: there may be endlessly many.
                    self.bytes = self.bytes.saturating_sub(bytes.max(1));
                }
                Poll::Ready(Some(Err(_))) => return Poll::Ready(false),
                Poll::Ready(None) => return Poll::Ready(true),
                Poll::Pending => {
                    let Some(timer) = &self.timer else { return Poll::Ready(false) };
                    let sleep = self.sleep.get_or_insert_with(|| timer());
                    return sleep.as_mut().poll(cx).map(|()| false);
                }
            }
        }
    }
}

impl fmt::Debug for Drain {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Drain").field("bytes", &self.bytes).finish_non_exhaustive()
    }
}
