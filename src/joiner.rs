//! The output of a filter: slices of a chunk, and copies where the filter changes it.

use core::ops::Range;

use bytes::{Bytes, BytesMut};

/// Joins spans of a chunk and bytes from elsewhere into frames.
///
/// Spans that are adjacent in the chunk become one frame, which is a slice of the chunk. Bytes from elsewhere are
/// copied. Spans shorter than `limit` are copied into the same frame if they come next to such bytes or to another
/// short span. With `usize::MAX` as the limit, a chunk is one frame.
#[derive(Debug)]
pub(crate) struct Joiner {
    limit: usize,
    /// A span of the chunk that is in no frame yet. `span`, `copy` or both are empty.
    span: Range<usize>,
    copy: BytesMut,
}

impl Joiner {
    pub(crate) fn new(limit: usize) -> Self {
        Self { limit, span: 0..0, copy: BytesMut::new() }
    }

    /// Adds a span of the chunk. If the bytes before it are a frame of their own, returns that frame.
    pub(crate) fn span(&mut self, chunk: &Bytes, span: Range<usize>) -> Option<Bytes> {
        if span.is_empty() {
            return None;
        }
        if self.span.end == span.start && !self.span.is_empty() {
            self.span.end = span.end;
            return None;
        }
        let is_after_short = !self.copy.is_empty() || (1..self.limit).contains(&self.span.len());
        if is_after_short && span.len() < self.limit {
            return self.copy(chunk, &chunk[span]);
        }
        let before = self.end(chunk);
        self.span = span;
        before
    }

    /// Adds bytes from elsewhere. If the bytes before them are a frame of their own, returns that frame.
    pub(crate) fn copy(&mut self, chunk: &Bytes, bytes: &[u8]) -> Option<Bytes> {
        if bytes.is_empty() {
            return None;
        }
        let before = if self.span.len() < self.limit { None } else { self.end(chunk) };
        if self.copy.is_empty() {
            self.copy.reserve(chunk.len().min(self.limit) + bytes.len());
        }
        self.copy.extend_from_slice(&chunk[core::mem::take(&mut self.span)]);
        self.copy.extend_from_slice(bytes);
        before
    }

    /// Returns the last frame of the chunk.
    pub(crate) fn end(&mut self, chunk: &Bytes) -> Option<Bytes> {
        if !self.span.is_empty() {
            return Some(chunk.slice(core::mem::take(&mut self.span)));
        }
        (!self.copy.is_empty()).then(|| self.copy.split().freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_slices_unless_bytes_are_inserted_near_them() {
        let chunk = Bytes::from_static(b"0123456789");
        let mut joiner = Joiner::new(3);
        assert_eq!(joiner.span(&chunk, 0..4), None);
        assert_eq!(joiner.span(&chunk, 4..5), None, "neighbors are one frame");
        let first = joiner.copy(&chunk, b"a").unwrap();
        assert_eq!((&first[..], first.as_ptr()), (&b"01234"[..], chunk.as_ptr()));
        assert_eq!(joiner.span(&chunk, 5..7), None, "a short span is copied");
        assert_eq!(joiner.span(&chunk, 7..10).unwrap(), "a56");
        assert_eq!(joiner.end(&chunk).unwrap(), "789");
        assert_eq!(joiner.end(&chunk), None);
        assert_eq!(joiner.span(&chunk, 0..1), None);
        assert_eq!(joiner.span(&chunk, 2..4), None);
        assert_eq!(joiner.end(&chunk).unwrap(), "023");
        assert_eq!(joiner.span(&chunk, 0..3), None);
        assert_eq!(joiner.copy(&chunk, b"a").unwrap().as_ptr(), chunk.as_ptr(), "as long as the limit");
        assert_eq!(joiner.end(&chunk).unwrap(), "a");
    }

    #[test]
    fn without_a_limit_a_chunk_is_one_frame() {
        let chunk = Bytes::from_static(b"0123456789");
        let mut joiner = Joiner::new(usize::MAX);
        assert_eq!(joiner.span(&chunk, 1..9), None);
        assert_eq!(joiner.end(&chunk).unwrap().as_ptr(), chunk[1..].as_ptr());
        assert_eq!(joiner.span(&chunk, 0..4), None);
        assert_eq!(joiner.span(&chunk, 6..9), None);
        assert_eq!(joiner.copy(&chunk, b"!"), None);
        assert_eq!(joiner.end(&chunk).unwrap(), "0123678!");
    }
}
