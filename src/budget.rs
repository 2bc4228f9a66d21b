//! A limit on the work of one poll.

use core::task::{Context, Poll};

/// Bytes that one poll may read without a result. To repair this many takes about a millisecond.
const BYTES: usize = 64 * 1024;

/// Bytes that an empty or short chunk counts as: polling for a chunk costs about as much as decoding these.
const LEAST: usize = 64;

/// The number of bytes that one poll may still read without a result. An executor runs no other task on the thread
/// during a poll, so a poll must not continue for as long as input is ready.
#[derive(Debug)]
pub(crate) struct Budget {
    bytes: usize,
}

impl Budget {
    pub(crate) const fn new() -> Self {
        Self { bytes: BYTES }
    }

    /// Counts a chunk of input. [`Poll::Pending`] means that the task has been woken and the poll must end. The chunk
    /// must have been decoded or stored before the call.
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
