//! Joins small pieces of output into few frames.

use core::ops::Range;
use std::collections::VecDeque;

use bytes::Bytes;
use utf8_codec::boundary::floor_boundary;
use utf8_codec::internal::Joiner;

/// Spans shorter than this number of bytes are copied together with their neighbors, because a copy costs less than a
/// separate frame.
pub(super) const SHORT: usize = 256;

/// The output of a filter: a queue of frames.
#[derive(Debug)]
pub(super) struct FrameQueue {
    queue: VecDeque<Bytes>,
    joiner: Joiner,
}

impl FrameQueue {
    pub(super) fn new() -> Self {
        Self { queue: VecDeque::new(), joiner: Joiner::new(SHORT) }
    }

    /// Adds a span of the chunk.
    pub(super) fn span(&mut self, chunk: &Bytes, span: Range<usize>) {
        self.queue.extend(self.joiner.span(&chunk[..], span).map(|frame| frame.of(chunk)));
    }

    /// Adds bytes from outside the chunk.
    pub(super) fn copy(&mut self, chunk: &Bytes, bytes: &[u8]) {
        self.queue.extend(self.joiner.copy(&chunk[..], bytes).map(|frame| frame.of(chunk)));
    }

    /// Queues the bytes of the chunk that were added but not queued yet.
    pub(super) fn end_chunk(&mut self, chunk: &Bytes) {
        self.queue.extend(self.joiner.end().map(|frame| frame.of(chunk)));
    }

    /// Moves the last bytes of the queue to `last`: a character if `is_text`, else one byte. They are copied, because a
    /// slice would keep the whole chunk in memory.
    pub(super) fn take_last(&mut self, is_text: bool, last: &mut Vec<u8>) {
        let Some(mut frame) = self.queue.pop_back() else { return };
        let last_byte = frame.len() - 1;
        let start = if is_text { floor_boundary(&frame, last_byte) } else { last_byte };
        last.extend_from_slice(&frame[start..]);
        frame.truncate(start);
        if !frame.is_empty() {
            self.queue.push_back(frame);
        }
    }

    pub(super) fn pop(&mut self) -> Option<Bytes> {
        self.queue.pop_front()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Returns the number of bytes in the queue.
    pub(super) fn queued(&self) -> u64 {
        self.queue.iter().map(|frame| frame.len() as u64).sum()
    }
}
