//! The units of a conversion: an item of the input, and the bytes of a code point in the output.

use kernels::grammar::Sequence;
use utf8_codec::ErrorKind;

use crate::encoding::dialects;

/// The first item of a slice.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Item {
    /// A code point, of `len` bytes.
    CodePoint { value: u32, len: usize },
    /// Two code points that one sequence of `len` bytes represents, in Big5.
    CodePoints { first: u32, second: u32, len: usize },
    /// An escape sequence of `len` bytes, which represents nothing.
    Escape { len: usize },
    /// An ill-formed sequence of `len` bytes.
    IllFormed { kind: ErrorKind, len: usize },
    /// The slice is the start of a sequence, of at most 8 bytes.
    Unfinished,
}

impl From<Sequence> for Item {
    #[inline]
    fn from(sequence: Sequence) -> Self {
        match sequence {
            Sequence::Whole { value, len } => Self::CodePoint { value, len },
            Sequence::IllFormed { kind, len } => Self::IllFormed { kind: ErrorKind::of(kind), len },
            Sequence::Unfinished => Self::Unfinished,
        }
    }
}

/// The encoded bytes of one code point.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EncodedSequence {
    bytes: [u8; 6],
    len: u8,
}

impl EncodedSequence {
    #[inline]
    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }

    #[inline]
    pub(super) fn of<const N: usize>(bytes: [u8; N]) -> Self {
        let mut sequence = Self { bytes: [0; 6], len: N as u8 };
        sequence.bytes[..N].copy_from_slice(&bytes);
        sequence
    }

    /// Creates a sequence of at most 6 bytes.
    pub(super) fn of_slice(slice: &[u8]) -> Self {
        let mut sequence = Self { bytes: [0; 6], len: slice.len() as u8 };
        sequence.bytes[..slice.len()].copy_from_slice(slice);
        sequence
    }

    /// Encodes `value` in the shortest form, by Annex R, Table 4.
    #[inline]
    pub(super) fn of_value(value: u32) -> Self {
        let mut sequence = Self::default();
        sequence.len = dialects::encode(value, &mut sequence.bytes) as u8;
        sequence
    }

    /// Encodes the two UTF-16 code units of a value in 3 bytes each.
    pub(super) fn of_pair(value: u32) -> Self {
        let [high, low] = pair(value);
        let high = Self::of_value(high.into());
        let low = Self::of_value(low.into());
        let mut sequence = Self { bytes: [0; 6], len: 6 };
        sequence.bytes[..3].copy_from_slice(&high.bytes[..3]);
        sequence.bytes[3..].copy_from_slice(&low.bytes[..3]);
        sequence
    }
}

/// Returns the surrogates of a supplementary code point (Unicode D91).
pub(super) const fn pair(value: u32) -> [u16; 2] {
    let rest = value - 0x1_0000;
    [0xD800 | (rest >> 10) as u16, 0xDC00 | (rest & 0x3FF) as u16]
}
