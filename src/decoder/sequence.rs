//! Classification of an ill-formed sequence, and completion of a sequence in the next chunk.

use kernels::ScanState;
use kernels::grammar::{Sequence, UTF_8};

use crate::error::ErrorKind;

/// The bytes of an ill-formed maximal subpart: 1 to 3, or none. The last element is their number. All 4 bytes are one
/// word, which is faster to move than its parts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Subpart([u8; 4]);

impl Subpart {
    pub(super) const NONE: Self = Self([0; 4]);

    /// Creates a subpart from the first `len` bytes, at most 3.
    #[inline]
    pub(super) fn of(bytes: &[u8], len: usize) -> Self {
        let len = bytes.len().min(len).min(3);
        let mut word = 0;
        for &byte in &bytes[..len] {
            word = (word >> 8 & 0xFFFF) | u32::from(byte) << 16;
        }
        word = word >> (24 - 8 * len) | (len as u32) << 24;
        Self(word.to_le_bytes())
    }

    #[inline]
    pub(super) const fn len(self) -> u8 {
        self.0[3]
    }

    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        // The length is 0 to 3. With the modulo the compiler needs no bounds check.
        &self.0[..usize::from(self.len() % 4)]
    }
}

/// An ill-formed maximal subpart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct IllFormed {
    pub(super) kind: ErrorKind,
    /// All of its bytes. Some of them may be from earlier chunks.
    pub(super) bytes: Subpart,
}

impl IllFormed {
    /// Classifies the ill-formed or unfinished sequence at the start of `bytes`.
    #[inline]
    pub(super) fn at_start_of(bytes: &[u8]) -> Self {
        match UTF_8.sequence(bytes) {
            Sequence::IllFormed { kind, len } => {
                Self { kind: ErrorKind::of(kind), bytes: Subpart::of(bytes, len) }
            }
            Sequence::Whole { .. } | Sequence::Unfinished => Self::truncated(bytes),
        }
    }

    /// Creates the error for an unfinished sequence at the end of the stream.
    pub(super) fn truncated(bytes: &[u8]) -> Self {
        Self { kind: ErrorKind::Truncated, bytes: Subpart::of(bytes, bytes.len()) }
    }
}

/// The bytes of a sequence that started before the chunk, followed by the first bytes of the chunk: at most 4 in total.
struct Joined {
    bytes: [u8; 4],
    len: usize,
    /// The number of bytes from before the chunk.
    begun: usize,
}

impl Joined {
    /// The bytes are joined in a register. Copying them to memory and reading them back as one word would cause a
    /// store-forwarding stall.
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
        self.bytes.get(..self.len).unwrap_or(&self.bytes)
    }
}

/// Returns the ill-formed sequence that contains the byte at `index` or ends before it, and the number of bytes of the
/// chunk up to its end. The chunk is well-formed before `index`.
#[inline(never)]
pub(super) fn ill_formed_at(state: ScanState, chunk: &[u8], index: usize) -> (usize, IllFormed) {
    let (before, rest) = chunk.split_at_checked(index).unwrap_or((chunk, &[]));
    let joined = Joined::new(state.after(before), rest);
    let ill_formed = IllFormed::at_start_of(joined.as_slice());
    ((index + usize::from(ill_formed.bytes.len())).saturating_sub(joined.begun), ill_formed)
}

/// The result of completing an unfinished sequence with the next chunk.
pub(super) enum Continued {
    /// The sequence is complete after `taken` bytes of the chunk.
    Whole { taken: usize, character: char },
    /// The sequence is ill-formed and ends after `taken` bytes of the chunk.
    IllFormed { taken: usize, ill_formed: IllFormed },
    /// The sequence contains all of the chunk and is still unfinished.
    Unfinished(ScanState),
}

/// Calls [`IllFormed::at_start_of`]. It is a separate function, so that the loop over pieces stays short.
#[inline(never)]
pub(super) fn ill_formed_at_start_of(bytes: &[u8]) -> IllFormed {
    IllFormed::at_start_of(bytes)
}

/// Completes an unfinished sequence from the start of the chunk. Nothing after the sequence is read.
#[inline(never)]
pub(super) fn continue_sequence(state: ScanState, chunk: &[u8]) -> Continued {
    let joined = Joined::new(state, chunk);
    let taken = |len: usize| len.saturating_sub(joined.begun);
    match UTF_8.sequence(joined.as_slice()) {
        Sequence::Whole { value, len } => {
            // The grammar has no sequence for a surrogate or for a value above 10FFFF.
            let character = char::from_u32(value).unwrap_or(char::REPLACEMENT_CHARACTER);
            Continued::Whole { taken: taken(len), character }
        }
        Sequence::IllFormed { kind, len } => {
            let ill_formed =
                IllFormed { kind: ErrorKind::of(kind), bytes: Subpart::of(joined.as_slice(), len) };
            Continued::IllFormed { taken: taken(len), ill_formed }
        }
        Sequence::Unfinished => Continued::Unfinished(state.after(chunk)),
    }
}
