//! Counters of bodies, bytes and errors, and the code that updates and logs them.

use core::fmt;
use core::sync::atomic::{AtomicU64, Ordering::Relaxed};
use std::sync::Arc;

use utf8_codec::{Counters, ErrorKind};

use super::reason::RejectReason;

/// Counters that layers and bodies share. A clone is a handle on the same counters.
///
/// ```
/// use bytes::Bytes;
/// use http_body_util::{BodyExt, Full};
/// use utf8_codec::ErrorKind;
/// use utf8_codec_http::{HttpCounters, Utf8Body};
///
/// # #[tokio::main(flavor = "current_thread")]
/// # async fn main() {
/// let counters = HttpCounters::new();
/// let body = Utf8Body::new(Full::<Bytes>::from(&b"caf\xC3"[..])).with_counters(&counters);
/// assert!(body.collect().await.is_err());
/// // In the code that exports metrics:
/// let now = counters.snapshot();
/// assert_eq!((now.bodies, now.bytes, now.repaired), (1, 4, 0));
/// assert_eq!(now.rejected(ErrorKind::Truncated), 1);
/// # }
/// ```
#[derive(Clone, Default)]
pub struct HttpCounters(Arc<Cells>);

#[derive(Default)]
struct Cells {
    bodies: AtomicU64,
    bytes: AtomicU64,
    repaired: AtomicU64,
    rejected: [AtomicU64; ErrorKind::ALL.len()],
    rejected_otherwise: AtomicU64,
}

/// The values of [`HttpCounters`], returned by [`HttpCounters::snapshot`]. The counters never decrease.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct HttpCounts {
    /// The number of bodies whose check has started.
    pub bodies: u64,
    /// The number of bytes that were received in these bodies.
    pub bytes: u64,
    /// The number of ill-formed sequences that were repaired.
    pub repaired: u64,
    /// The number of messages that were rejected for a reason other than ill-formed UTF-8, for example the charset or
    /// the length.
    pub rejected_otherwise: u64,
    rejected: Counters,
}

impl HttpCounts {
    /// Returns the number of messages that were rejected because of an error of this kind.
    pub const fn rejected(&self, kind: ErrorKind) -> u64 {
        self.rejected.of(kind)
    }

    /// Returns the number of messages that were rejected for any reason.
    pub fn rejected_total(&self) -> u64 {
        self.rejected.total() + self.rejected_otherwise
    }
}

impl HttpCounters {
    /// Creates counters that are 0.
    pub fn new() -> Self {
        Self::default()
    }

    /// Reads the counters one after the other. A message that arrives at the same time may be included in only some of
    /// them.
    pub fn snapshot(&self) -> HttpCounts {
        let Cells { bodies, bytes, repaired, rejected, rejected_otherwise } = &*self.0;
        HttpCounts {
            bodies: bodies.load(Relaxed),
            bytes: bytes.load(Relaxed),
            repaired: repaired.load(Relaxed),
            rejected_otherwise: rejected_otherwise.load(Relaxed),
            rejected: Counters::of_kinds(rejected.each_ref().map(|count| count.load(Relaxed))),
        }
    }

    fn body(&self) {
        self.0.bodies.fetch_add(1, Relaxed);
    }

    fn bytes(&self, bytes: u64) {
        self.0.bytes.fetch_add(bytes, Relaxed);
    }

    fn repaired(&self, sequences: u64) {
        self.0.repaired.fetch_add(sequences, Relaxed);
    }

    fn reject(&self, reason: &RejectReason) {
        let cell = match reason.utf8_error() {
            Some(error) => &self.0.rejected[error.kind as usize],
            None => &self.0.rejected_otherwise,
        };
        cell.fetch_add(1, Relaxed);
    }
}

impl fmt::Debug for HttpCounters {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.snapshot().fmt(f)
    }
}

/// Counts and logs the events of a body.
#[derive(Clone, Debug, Default)]
pub(crate) struct BodyObserver {
    counters: Option<HttpCounters>,
    /// The number of repaired sequences that were already counted.
    repaired: u64,
}

impl BodyObserver {
    /// An observer that only logs.
    pub(crate) const NONE: Self = Self { counters: None, repaired: 0 };

    pub(crate) const fn new(counters: HttpCounters) -> Self {
        Self { counters: Some(counters), repaired: 0 }
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
            #[cfg(feature = "tracing")]
            tracing::debug!(sequences = more, "repaired ill-formed text");
            if let Some(counters) = &self.counters {
                counters.repaired(more);
            }
        }
    }

    /// Records that the content of the body has an error.
    pub(crate) fn failed(&self, error: &RejectReason) {
        record_rejection(error, self.counters.as_ref());
    }
}

/// Counts and logs a rejected message.
pub(crate) fn record_rejection(reason: &RejectReason, counters: Option<&HttpCounters>) {
    if let Some(counters) = counters {
        counters.reject(reason);
    }
    // `Content-Type` is not logged: the peer controls it.
    #[cfg(feature = "tracing")]
    tracing::debug!(
        offset = reason.offset_and_len().map(|(offset, _)| offset),
        kind = reason.kind(),
        len = reason.offset_and_len().map(|(_, len)| len),
        "rejected a message"
    );
}
