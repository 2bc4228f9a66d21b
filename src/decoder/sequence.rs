//! What is wrong with an ill-formed sequence, and how a sequence goes on in the next chunk.

use crate::encoding::{Sequence, UTF_8};
use crate::error::ErrorKind;
use crate::kernels::ScanState;

/// The bytes of an ill-formed maximal subpart: 1 to 3, or none. The last element is their number. All of it is one word,
/// which is moved faster than its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subpart([u8; 4]);

impl Subpart {
    pub(super) const NONE: Self = Self([0; 4]);

    /// At most the first 3 bytes.
    #[inline]
    pub(super) fn of(bytes: &[u8]) -> Self {
        let push = |word: u32, &byte: &u8| (word >> 8 & 0xFFFF) | u32::from(byte) << 16;
        let len = bytes.len().min(3);
        let word = bytes[..len].iter().fold(0, push) >> (24 - 8 * len) | (len as u32) << 24;
        Self(word.to_le_bytes())
    }

    #[inline]
    pub(super) const fn len(self) -> u8 {
        self.0[3]
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.0[..usize::from(self.len())]
    }
}

/// An ill-formed maximal subpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IllFormed {
    pub(super) kind: ErrorKind,
    /// Its bytes, of which some may be before the chunk.
    pub(super) bytes: Subpart,
}

impl IllFormed {
    /// The ill-formed sequence that `bytes` start with, or the unfinished one that they are.
    #[inline]
    pub(super) fn at_start_of(bytes: &[u8]) -> Self {
        match UTF_8.sequence(bytes) {
            Sequence::IllFormed { kind, len } => Self { kind, bytes: Subpart::of(&bytes[..len]) },
            Sequence::Whole { .. } | Sequence::Unfinished => Self::truncated(bytes),
        }
    }

    /// A sequence that the stream ends in.
    pub(super) fn truncated(bytes: &[u8]) -> Self {
        Self { kind: ErrorKind::Truncated, bytes: Subpart::of(bytes) }
    }
}

/// A sequence that began before the chunk, and what the chunk adds to it: 4 bytes at most.
struct Joined {
    bytes: [u8; 4],
    len: usize,
    /// How many of them were there before the chunk.
    begun: usize,
}

impl Joined {
    /// They are joined in a register: to copy a few bytes and to read them as one word at once would be slow.
    #[inline]
    fn new(state: ScanState, chunk: &[u8]) -> Self {
        let begun = usize::from(state.pending_len());
        let added = match chunk.first_chunk() {
            Some(bytes) => u32::from_le_bytes(*bytes),
            None => chunk.iter().rev().fold(0, |word, &byte| word << 8 | u32::from(byte)),
        };
        let bytes = (state.pending_word() | added << (8 * begun)).to_le_bytes();
        Self { bytes, len: bytes.len().min(begun + chunk.len()), begun }
    }

    fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }
}

/// The ill-formed sequence that the byte at the index is in or breaks off, and the number of bytes of the chunk up to its
/// end. The chunk is well-formed before the index.
#[inline(never)]
pub(super) fn ill_formed_at(state: ScanState, chunk: &[u8], index: usize) -> (usize, IllFormed) {
    let joined = Joined::new(state.after(&chunk[..index]), &chunk[index..]);
    let ill_formed = IllFormed::at_start_of(joined.as_slice());
    ((index + usize::from(ill_formed.bytes.len())).saturating_sub(joined.begun), ill_formed)
}

/// How an unfinished sequence goes on in the next chunk.
pub(super) enum Continued {
    /// It is whole after `taken` bytes of the chunk.
    Whole { taken: usize, character: char },
    /// It ended after `taken` bytes of the chunk, and is ill-formed.
    IllFormed { taken: usize, ill_formed: IllFormed },
    /// All of the chunk belongs to it, and it is still unfinished.
    Unfinished(ScanState),
}

/// Reads the rest of an unfinished sequence, and nothing after it.
pub(super) fn continue_sequence(state: ScanState, chunk: &[u8]) -> Continued {
    let joined = Joined::new(state, chunk);
    let taken = |len: usize| len.saturating_sub(joined.begun);
    match UTF_8.sequence(joined.as_slice()) {
        Sequence::Whole { value, len } => {
            // No sequence of the grammar stands for a surrogate or for a value above 10FFFF.
            let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            Continued::Whole { taken: taken(len), character }
        }
        Sequence::IllFormed { kind, len } => {
            let ill_formed = IllFormed { kind, bytes: Subpart::of(&joined.as_slice()[..len]) };
            Continued::IllFormed { taken: taken(len), ill_formed }
        }
        Sequence::Unfinished => Continued::Unfinished(state.after(chunk)),
    }
}
