//! A bound for the work of one poll.

use core::task::{Context, Poll};

/// Bytes that a poll may take in without a result. Repairing so many takes about a millisecond.
const BYTES: usize = 64 * 1024;

/// What a chunk counts at least: asking for one costs about as much.
const LEAST: usize = 64;

/// How much input one poll may still take in without a result. An executor runs nothing else meanwhile, so a poll
/// that goes on for as long as input is ready would stop every other task of the thread.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
}

impl Budget {
    pub(crate) const fn new() -> Self {
        Self { bytes: BYTES }
    }

    /// Counts a chunk of input. [`Poll::Pending`] means that the task has been woken and the poll has to end; by then
    /// the chunk must be taken or stored.
    pub(crate) fn spend(&mut self, bytes: usize, cx: &Context<'_>) -> Poll<()> {
        self.bytes = self.bytes.saturating_sub(bytes.max(LEAST));
        if self.bytes > 0 {
            return Poll::Ready(());
        }
        cx.waker().wake_by_ref();
        Poll::Pending
    }

    /// The number of bytes left.
    #[cfg(feature = "stream")]
    pub(crate) const fn bytes_mut(&mut self) -> &mut usize {
        &mut self.bytes
    }
}
