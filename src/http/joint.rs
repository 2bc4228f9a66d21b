//! Bytes that come out in small pieces, joined to few frames.

use core::ops::Range;
use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::filter::SHORT;

/// A queue of frames. Neighbouring spans of a chunk are one frame of it, without a copy; short pieces that are no
/// spans are copied together with the short spans around them.
#[derive(Debug, Default)]
pub(crate) struct Joint {
    queue: VecDeque<Bytes>,
    /// Of the chunk, not yet queued. Either this or `short` is empty.
    span: Range<usize>,
    short: BytesMut,
}

impl Joint {
    /// Adds a span of the chunk.
    pub(crate) fn span(&mut self, chunk: &Bytes, span: Range<usize>) {
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

    /// Adds bytes that are not of the chunk.
    pub(crate) fn copy(&mut self, chunk: &Bytes, bytes: &[u8]) {
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

    /// Queues what is left of a chunk.
    pub(crate) fn end_chunk(&mut self, chunk: &Bytes) {
        if !self.span.is_empty() {
            self.queue.push_back(chunk.slice(core::mem::take(&mut self.span)));
        }
        if !self.short.is_empty() {
            self.queue.push_back(self.short.split().freeze());
        }
    }

    pub(crate) fn pop(&mut self) -> Option<Bytes> {
        self.queue.pop_front()
    }

    pub(crate) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Bytes in the queue.
    pub(crate) fn queued(&self) -> u64 {
        self.queue.iter().map(|frame| frame.len() as u64).sum()
    }
}
