//! Filter for text in UTF-8.

use bytes::{Bytes, BytesMut};

use super::frames::SHORT;
use crate::chunks::TextChunks;
use crate::http::error::Utf8BodyError;
use crate::policy::ErrorPolicy;
use crate::text::TextDecoder;

/// Returns the number of sequences that a decoder repaired so far.
pub(in crate::http) fn repaired(decoder: &TextDecoder) -> u64 {
    match decoder.error_policy() {
        ErrorPolicy::Strict => 0,
        _ => decoder.counters().repairable(),
    }
}

/// Filters text with a [`TextDecoder`].
#[derive(Debug)]
pub(super) struct TextFilter {
    chunks: TextChunks,
    /// Decoded output that was not returned yet.
    next: Option<Result<Bytes, Utf8BodyError>>,
}

impl TextFilter {
    pub(super) const fn new(decoder: TextDecoder) -> Self {
        Self { chunks: TextChunks::new(decoder), next: None }
    }

    /// Accepts the next chunk. The previous chunk must have been read to its end.
    #[inline]
    pub(super) fn feed(&mut self, chunk: Bytes) {
        self.chunks.feed(chunk);
    }

    pub(super) fn finish(&mut self) {
        self.next = self.chunks.finish().map(|end| Ok(end?.into_bytes()));
    }

    pub(super) const fn is_idle(&self) -> bool {
        self.next.is_none()
    }

    pub(super) fn is_clean(&self) -> bool {
        let mut probe = *self.decoder();
        self.is_idle() && probe.finish().is_none()
    }

    pub(super) const fn decoder(&self) -> &TextDecoder {
        self.chunks.decoder()
    }

    /// Returns the number of pending bytes, which were fed but are neither queued nor part of an error.
    pub(super) fn held(&self) -> u64 {
        self.decoder().pending().len() as u64
    }

    /// Returns the number of bytes in the queue, and whether an error follows them.
    pub(super) fn queued(&self) -> (u64, bool) {
        match &self.next {
            Some(Ok(text)) => (text.len() as u64, false),
            next => (0, next.is_some()),
        }
    }

    fn take(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        self.next.take().or_else(|| self.chunks.next().map(|text| Ok(text?.into_bytes())))
    }

    #[inline]
    pub(super) fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        // After the last text of a chunk, the most frequent case, nothing is left. This test is inlined.
        if self.next.is_none() && self.chunks.is_empty() { None } else { self.next_of_chunk() }
    }

    fn next_of_chunk(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        let first = match self.take()? {
            Ok(text) if text.len() < SHORT => text,
            other => return Some(other),
        };
        // A single short text is not copied: the most frequent case is a short chunk without errors.
        let mut joined = match self.take() {
            Some(Ok(text)) if text.len() < SHORT => {
                let mut joined = BytesMut::with_capacity(2 * SHORT);
                joined.extend_from_slice(&first);
                joined.extend_from_slice(&text);
                joined
            }
            other => {
                self.next = other;
                return Some(Ok(first));
            }
        };
        loop {
            match self.take() {
                Some(Ok(text)) if text.len() < SHORT => joined.extend_from_slice(&text),
                other => {
                    self.next = other;
                    return Some(Ok(joined.freeze()));
                }
            }
        }
    }
}
