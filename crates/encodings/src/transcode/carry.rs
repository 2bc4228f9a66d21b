//! State between two calls: the bytes of an unfinished sequence, and replacement text that did not fit.

use utf8_codec::ShortStr;

use super::source::{MAX_SEQUENCE, MAX_UNFINISHED};
use super::target::Target;

/// The unfinished sequence at the end of the input so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct CarriedBytes {
    bytes: [u8; MAX_UNFINISHED],
    len: u8,
}

/// A buffer for the carry and enough bytes after it for the longest sequence.
pub(super) type Seam = [u8; MAX_UNFINISHED + MAX_SEQUENCE];

pub(super) const NO_SEAM: Seam = [0; MAX_UNFINISHED + MAX_SEQUENCE];

impl CarriedBytes {
    pub(super) const EMPTY: Self = Self { bytes: [0; MAX_UNFINISHED], len: 0 };

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    pub(super) const fn len(&self) -> u8 {
        self.len
    }

    pub(super) const fn is_empty(&self) -> bool {
        self.len == 0
    }

    pub(super) fn set(&mut self, bytes: &[u8]) {
        debug_assert!(bytes.len() <= MAX_UNFINISHED);
        self.len = 0;
        for (kept, &byte) in self.bytes.iter_mut().zip(bytes) {
            *kept = byte;
            self.len += 1;
        }
    }

    /// Removes up to `len` bytes from the start. Returns the number of bytes removed.
    pub(super) fn drop_first(&mut self, len: usize) -> usize {
        let dropped = len.min(usize::from(self.len));
        self.bytes.copy_within(dropped.., 0);
        self.len -= dropped as u8;
        dropped
    }

    /// Returns the carry, followed by the first bytes of a chunk.
    pub(super) fn with<'s>(&self, chunk: &[u8], seam: &'s mut Seam) -> &'s [u8] {
        let kept = usize::from(self.len);
        let more = chunk.len().min(MAX_SEQUENCE);
        seam[..kept].copy_from_slice(self.as_slice());
        seam[kept..kept + more].copy_from_slice(&chunk[..more]);
        &seam[..kept + more]
    }
}

/// Replacement text that is being written. It may be longer than the output space.
#[derive(Clone, Copy, Debug)]
pub(super) struct Replacement {
    text: ShortStr,
    /// The number of bytes of `text` that were written.
    written: u8,
}

impl Replacement {
    pub(super) const NONE: Self = Self { text: ShortStr::EMPTY, written: 0 };

    pub(super) const fn new(text: ShortStr) -> Self {
        Self { text, written: 0 }
    }

    /// Writes the rest of the replacement text. Returns whether it fit.
    #[inline]
    pub(super) fn write(&mut self, target: &mut Target, room: &mut Room<'_>) -> bool {
        self.text.is_empty() || self.write_rest(target, room)
    }

    #[cold]
    fn write_rest(&mut self, target: &mut Target, room: &mut Room<'_>) -> bool {
        let text = self.text;
        for character in text[usize::from(self.written)..].chars() {
            let sequence = target.encode(character.into()).or_else(|| target.encode('?'.into()));
            let sequence = sequence.unwrap_or_default();
            if !room.push(sequence.as_slice()) {
                return false;
            }
            target.advance(sequence.as_slice());
            self.written += character.len_utf8() as u8;
        }
        *self = Self::NONE;
        true
    }
}

/// An output buffer that is filled from its start.
#[derive(Debug)]
pub(super) struct Room<'d> {
    dst: &'d mut [u8],
    written: usize,
}

impl<'d> Room<'d> {
    pub(super) const fn new(dst: &'d mut [u8]) -> Self {
        Self { dst, written: 0 }
    }

    pub(super) const fn written(&self) -> usize {
        self.written
    }

    pub(super) fn left(&mut self) -> &mut [u8] {
        &mut self.dst[self.written..]
    }

    /// Advances after `bytes` bytes were written to [`left`](Self::left).
    pub(super) const fn advance(&mut self, bytes: usize) {
        self.written += bytes;
    }

    /// Writes all bytes, or none if they do not fit.
    #[inline]
    pub(super) fn push(&mut self, bytes: &[u8]) -> bool {
        let Some(room) = self.left().get_mut(..bytes.len()) else { return false };
        room.copy_from_slice(bytes);
        self.written += bytes.len();
        true
    }
}
