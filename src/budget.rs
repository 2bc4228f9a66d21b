//! A limit on the work of one poll.

use core::task::{Context, Poll};

/// The maximum number of bytes that one poll reads without a result. Repairing this many bytes takes about a
/// millisecond.
const BYTES: usize = 64 * 1024;

/// The minimum cost of a chunk in bytes. Polling for a chunk costs about as much as decoding this many bytes.
const MIN_COST: usize = 64;

/// The number of bytes that one poll may still read without a result. During a poll the executor runs no other task on
/// the thread, so a poll must not continue as long as input is ready.
#[derive(Debug)]
pub struct Budget {
    bytes: usize,
}

default_is_new!(Budget);

impl Budget {
    pub const fn new() -> Self {
        Self { bytes: BYTES }
    }

    /// Counts a chunk of `bytes` bytes. Returns [`Poll::Pending`] if the budget is spent: the waker was called, and the
    /// caller must return `Pending`. Decode or store the chunk before this call, otherwise it is lost.
    pub fn spend(&mut self, bytes: usize, cx: &Context<'_>) -> Poll<()> {
        self.bytes = self.bytes.saturating_sub(bytes.max(MIN_COST));
        if self.bytes > 0 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }
}
