//! What a body tells those who wait after it: counters, events, the layer that answers for it.

use core::sync::atomic::{AtomicBool, Ordering::Relaxed};
use std::sync::{Arc, OnceLock};

use http::HeaderValue;

use super::counters::HttpCounters;
use super::error::Utf8BodyError;
use super::refusal::{Message, Reason, Refusal};

/// Where the news of a body go; nowhere but to the log if it stands alone.
#[derive(Clone, Debug)]
pub(crate) struct Watch(Option<Arc<Watched>>);

#[derive(Debug)]
struct Watched {
    message: Message,
    content_type: Option<HeaderValue>,
    counters: HttpCounters,
    refusal: OnceLock<Refusal>,
    /// Whether the body was read to its end after it was rejected.
    is_drained: AtomicBool,
}

impl Watch {
    pub(crate) const fn none() -> Self {
        Self(None)
    }

    pub(crate) fn new(message: Message, content_type: Option<HeaderValue>, counters: HttpCounters) -> Self {
        Self(Some(Arc::new(Watched {
            message,
            content_type,
            counters,
            refusal: OnceLock::new(),
            is_drained: AtomicBool::new(false),
        })))
    }

    /// A checked body starts.
    pub(crate) fn body(&self) {
        if let Some(watched) = &self.0 {
            watched.counters.body();
        }
    }

    pub(crate) fn took(&self, bytes: u64) {
        if let Some(watched) = &self.0 {
            watched.counters.bytes(bytes);
        }
    }

    /// Sequences repaired when it was last told, and now.
    pub(crate) fn repaired(&self, told: &mut u64, now: u64) {
        let more = now - *told;
        if more > 0 {
            *told = now;
            debug!(sequences = more, "repaired ill-formed text");
            if let Some(watched) = &self.0 {
                watched.counters.repaired(more);
            }
        }
    }

    pub(crate) fn refuse(&self, error: &Utf8BodyError) {
        let Some(reason) = Refusal::reason_of(error) else { return };
        match &self.0 {
            None => event(&reason, None),
            Some(watched) => {
                let refusal =
                    Refusal { message: watched.message, reason, content_type: watched.content_type.clone() };
                note(&refusal, &watched.counters);
                // The first refusal of a body is its last.
                let _ = watched.refusal.set(refusal);
            }
        }
    }

    /// The body was rejected and drained, to its end or not.
    pub(crate) fn drained(&self, has_ended: bool) {
        if let Some(watched) = &self.0 {
            watched.is_drained.store(has_ended, Relaxed);
        }
    }

    /// Whether the body was rejected and then read to its end.
    pub(crate) fn is_drained(&self) -> bool {
        self.0.as_ref().is_some_and(|watched| watched.is_drained.load(Relaxed))
    }

    /// Why the body was refused, if it was.
    pub(crate) fn refusal(&self) -> Option<&Refusal> {
        self.0.as_deref()?.refusal.get()
    }
}

/// Counts and logs a refusal.
pub(crate) fn note(refusal: &Refusal, counters: &HttpCounters) {
    counters.refuse(&refusal.reason);
    event(&refusal.reason, refusal.content_type.as_ref());
}

#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "there is no event"))]
fn event(reason: &Reason, content_type: Option<&HeaderValue>) {
    debug!(
        offset = reason.place().map(|(offset, _)| offset),
        kind = reason.kind(),
        len = reason.place().map(|(_, len)| len),
        content_type = content_type.and_then(|value| value.to_str().ok()),
        "refused a message"
    );
}
