//! Counters and events of messages and bodies.

use http::HeaderValue;

use super::counters::HttpCounters;
use super::error::Utf8BodyError;
use super::rejection::Reason;

/// Counts and logs the events of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyObserver {
    counters: Option<HttpCounters>,
    content_type: Option<HeaderValue>,
    /// The number of repaired sequences that were already counted.
    repaired: u64,
}

impl BodyObserver {
    /// An observer that only logs.
    pub(crate) const NONE: Self = Self { counters: None, content_type: None, repaired: 0 };

    pub(crate) const fn new(counters: HttpCounters, content_type: Option<HeaderValue>) -> Self {
        Self { counters: Some(counters), content_type, repaired: 0 }
    }

    /// Records the start of the check of a body.
    pub(crate) fn started(&self) {
        if let Some(counters) = &self.counters {
            counters.body();
        }
    }

    pub(crate) fn received(&self, bytes: u64) {
        if let Some(counters) = &self.counters {
            counters.bytes(bytes);
        }
    }

    /// Records the number of sequences repaired so far.
    pub(crate) fn repaired(&mut self, now: u64) {
        let more = now - self.repaired;
        if more > 0 {
            self.repaired = now;
            debug!(sequences = more, "repaired ill-formed text");
            if let Some(counters) = &self.counters {
                counters.repaired(more);
            }
        }
    }

    /// Records that the body ended with an error. An error of the inner body is not counted.
    pub(crate) fn failed(&self, error: &Utf8BodyError) {
        if let Some(reason) = Reason::of_body(error) {
            record_rejection(&reason, self.content_type.as_ref(), self.counters.as_ref());
        }
    }
}

/// Counts and logs a rejected message.
#[cfg_attr(not(feature = "tracing"), expect(unused_variables, reason = "there is no event"))]
pub(crate) fn record_rejection(
    reason: &Reason,
    content_type: Option<&HeaderValue>,
    counters: Option<&HttpCounters>,
) {
    if let Some(counters) = counters {
        counters.reject(reason);
    }
    debug!(
        offset = reason.offset_and_len().map(|(offset, _)| offset),
        kind = reason.kind(),
        len = reason.offset_and_len().map(|(_, len)| len),
        content_type = content_type.and_then(|value| value.to_str().ok()),
        "rejected a message"
    );
}
