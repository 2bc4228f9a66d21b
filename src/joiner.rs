//! The output of a filter: spans of a chunk, and copies where the filter changes it.

use core::ops::Range;

use bytes::{Buf, Bytes, BytesMut};

/// Joins spans of a chunk and bytes from elsewhere into frames.
///
/// Spans that are adjacent in the chunk become one frame, which is a span. Bytes from elsewhere are copied. Spans shorter
/// than `limit` are copied into the same frame if they come next to such bytes or to another short span. Without a limit a
/// chunk is one frame, so that only [`end`](Self::end) returns one.
#[derive(Clone, Debug)]
pub struct Joiner {
    limit: usize,
    /// A span of the chunk that is in no frame yet. `span`, `copy` or both are empty.
    span: Range<usize>,
    /// `None` before the first copy. The memory is used again if all frames in it were dropped.
    copy: Option<BytesMut>,
}

/// Consecutive bytes of the output.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Frame {
    Span(Range<usize>),
    Copy(BytesMut),
}

/// A chunk that the joiner can copy spans of.
pub trait Chunk {
    fn size(&self) -> usize;

    fn append_to(&self, copy: &mut BytesMut, span: Range<usize>);
}

/// The space of a copy that starts with bytes from elsewhere. Such bytes are short: a character that was split has at most
/// 4, a replacement 32.
const ROOM: usize = 64;

impl Joiner {
    #[inline]
    pub const fn new(limit: usize) -> Self {
        Self { limit, span: 0..0, copy: None }
    }

    #[inline]
    pub const fn without_limit() -> Self {
        Self::new(usize::MAX)
    }

    /// Adds a span of the chunk. If the bytes before it are a frame of their own, returns that frame.
    #[inline]
    pub fn span(&mut self, chunk: &(impl Chunk + ?Sized), span: Range<usize>) -> Option<Frame> {
        if span.is_empty() {
            return None;
        }
        if self.span.end == span.start && !self.span.is_empty() {
            self.span.end = span.end;
            return None;
        }
        let is_after_short = !self.copied().is_empty() || (1..self.limit).contains(&self.span.len());
        if is_after_short && span.len() < self.limit {
            chunk.append_to(self.copy_span(chunk, span.len()), span);
            return None;
        }
        let before = self.end();
        self.span = span;
        before
    }

    /// Adds bytes from elsewhere. If the bytes before them are a frame of their own, returns that frame.
    #[inline]
    pub fn copy(&mut self, chunk: &(impl Chunk + ?Sized), bytes: &[u8]) -> Option<Frame> {
        if bytes.is_empty() {
            return None;
        }
        let before = if self.span.len() < self.limit { None } else { self.end() };
        self.copy_span(chunk, bytes.len()).extend_from_slice(bytes);
        before
    }

    /// Copies the span, and returns the copy with space for `more` bytes.
    #[inline]
    fn copy_span(&mut self, chunk: &(impl Chunk + ?Sized), more: usize) -> &mut BytesMut {
        let copy = self.copy.get_or_insert_default();
        if self.span.is_empty() {
            copy.reserve(more.max(ROOM));
        } else {
            copy.reserve(chunk.size().min(self.limit) + more);
            chunk.append_to(copy, core::mem::take(&mut self.span));
        }
        copy
    }

    #[inline]
    fn copied(&self) -> &[u8] {
        self.copy.as_deref().unwrap_or_default()
    }

    /// Returns the last frame of the chunk.
    #[inline]
    pub fn end(&mut self) -> Option<Frame> {
        if !self.span.is_empty() {
            return Some(Frame::Span(core::mem::take(&mut self.span)));
        }
        self.copy.as_mut().filter(|copy| !copy.is_empty()).map(|copy| Frame::Copy(copy.split()))
    }

    /// Returns the bytes that are in no frame yet. `chunk` is the whole chunk.
    #[inline]
    pub fn bytes<'b>(&'b self, chunk: &'b [u8]) -> &'b [u8] {
        if self.copied().is_empty() { &chunk[self.span.clone()] } else { self.copied() }
    }

    /// Returns the number of bytes that are in no frame yet.
    #[inline]
    pub fn held(&self) -> usize {
        self.span.len().max(self.copied().len())
    }

    /// Returns the size of the memory of the copy.
    #[inline]
    pub fn capacity(&self) -> usize {
        self.copy.as_ref().map_or(0, BytesMut::capacity)
    }

    /// Discards the bytes that are in no frame yet, but keeps the memory of the copy.
    #[inline]
    pub fn clear(&mut self) {
        self.span = 0..0;
        self.copy.as_mut().map(BytesMut::clear);
    }
}

impl Frame {
    #[inline]
    pub fn of(self, chunk: &Bytes) -> Bytes {
        match self {
            Self::Span(span) => chunk.slice(span),
            Self::Copy(copy) => copy.freeze(),
        }
    }

    /// Returns the last frame of a chunk, without changing the reference count.
    #[inline]
    pub fn of_last(self, mut chunk: Bytes) -> Bytes {
        match self {
            Self::Span(span) => {
                chunk.truncate(span.end);
                chunk.advance(span.start);
                chunk
            }
            Self::Copy(copy) => copy.freeze(),
        }
    }
}

impl Chunk for [u8] {
    #[inline]
    fn size(&self) -> usize {
        self.len()
    }

    #[inline]
    fn append_to(&self, copy: &mut BytesMut, span: Range<usize>) {
        copy.extend_from_slice(&self[span]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const CHUNK: &[u8] = b"0123456789";

    fn bytes(frame: Option<Frame>) -> Bytes {
        frame.unwrap().of_last(Bytes::from_static(CHUNK))
    }

    #[test]
    fn frames_are_spans_unless_bytes_are_inserted_near_them() {
        let mut joiner = Joiner::new(3);
        assert_eq!(joiner.span(CHUNK, 0..4), None);
        assert_eq!(joiner.span(CHUNK, 4..5), None, "neighbors are one frame");
        assert_eq!(joiner.copy(CHUNK, b"a"), Some(Frame::Span(0..5)));
        assert_eq!(joiner.span(CHUNK, 5..7), None, "a short span is copied");
        assert_eq!(bytes(joiner.span(CHUNK, 7..10)), "a56");
        assert_eq!(joiner.end(), Some(Frame::Span(7..10)));
        assert_eq!(joiner.end(), None);
        assert_eq!(joiner.span(CHUNK, 0..1), None);
        assert_eq!(joiner.span(CHUNK, 2..4), None);
        assert_eq!(bytes(joiner.end()), "023");
        assert_eq!(joiner.span(CHUNK, 0..3), None);
        assert_eq!(joiner.copy(CHUNK, b"a"), Some(Frame::Span(0..3)), "as long as the limit");
        assert_eq!(bytes(joiner.end()), "a");
    }

    #[test]
    fn without_a_limit_a_chunk_is_one_frame() {
        let chunk = Bytes::from_static(CHUNK);
        let mut joiner = Joiner::without_limit();
        assert_eq!(joiner.span(CHUNK, 1..9), None);
        let frame = joiner.end().unwrap().of_last(chunk.clone());
        assert_eq!((&*frame, frame.as_ptr()), (&chunk[1..9], chunk[1..].as_ptr()));
        assert_eq!(joiner.span(CHUNK, 0..4), None);
        assert_eq!(joiner.span(CHUNK, 6..9), None);
        assert_eq!(joiner.copy(CHUNK, b"!"), None);
        assert_eq!(joiner.end().unwrap().of_last(chunk), "0123678!");
    }
}
