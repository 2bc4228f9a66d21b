//! Joins small pieces of output into few frames.

use core::ops::Range;
use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

/// Spans shorter than this are copied together with their neighbors, which costs less than a separate frame.
pub(super) const SHORT: usize = 256;

/// A queue of frames. Neighboring spans of a chunk become one frame, which is a slice of the chunk. Short pieces from
/// elsewhere are copied, together with the short spans around them.
#[derive(Debug, Default)]
pub(super) struct FrameQueue {
    queue: VecDeque<Bytes>,
    /// A span of the chunk that is not queued yet. Either `span` or `short` is empty.
    span: Range<usize>,
    short: BytesMut,
}

impl FrameQueue {
    /// Adds a span of the chunk.
    pub(super) fn span(&mut self, chunk: &Bytes, span: Range<usize>) {
        if span.is_empty() {
            return;
        }
        if self.span.end == span.start && !self.span.is_empty() {
            self.span.end = span.end;
        } else if !self.short.is_empty() && span.len() < SHORT {
            self.short.extend_from_slice(&chunk[span]);
        } else {
            self.end_chunk(chunk);
            self.span = span;
        }
    }

    /// Adds bytes from outside the chunk.
    pub(super) fn copy(&mut self, chunk: &Bytes, bytes: &[u8]) {
        if bytes.is_empty() {
            return;
        }
        if self.span.len() < SHORT {
            let span = core::mem::take(&mut self.span);
            self.short.extend_from_slice(&chunk[span]);
        } else {
            self.end_chunk(chunk);
        }
        self.short.extend_from_slice(bytes);
    }

    /// Queues the rest of a chunk.
    pub(super) fn end_chunk(&mut self, chunk: &Bytes) {
        if !self.span.is_empty() {
            self.queue.push_back(chunk.slice(core::mem::take(&mut self.span)));
        }
        if !self.short.is_empty() {
            self.queue.push_back(self.short.split().freeze());
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
