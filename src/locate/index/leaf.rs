//! A part of a document, without its text.

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::mem;
use core::ops::{Add, AddAssign, Range};

use crate::kernels::masks;
use crate::line_ending::LineEnding;

/// The number of bytes of text of a leaf, except that the LF of a CR LF is in the leaf of its CR.
const FILL: usize = 1023;

const WORDS: usize = 16;

/// A bit for each byte of a leaf. Without memory if no bit is set.
#[derive(Clone, Debug, Default)]
struct Bits(Option<Box<[u64; WORDS]>>);

impl Bits {
    fn word(&self, index: usize) -> u64 {
        match &self.0 {
            Some(words) if index < WORDS => words[index],
            _ => 0,
        }
    }

    fn get(&self, position: usize) -> bool {
        self.word(position / 64) >> (position % 64) & 1 == 1
    }

    /// Returns the 64 bits from a position.
    fn from(&self, position: usize) -> u64 {
        let (index, shift) = (position / 64, position % 64);
        let low = self.word(index) >> shift;
        if shift == 0 { low } else { low | self.word(index + 1) << (64 - shift) }
    }

    /// Sets bits from a position. The last one that is set is inside the leaf.
    fn set(&mut self, position: usize, bits: u64) {
        if bits == 0 {
            return;
        }
        let words = self.0.get_or_insert_with(|| Box::new([0; WORDS]));
        let (index, shift) = (position / 64, position % 64);
        if let Some(word) = words.get_mut(index) {
            *word |= bits << shift;
        }
        if shift > 0
            && let Some(word) = words.get_mut(index + 1)
        {
            *word |= bits >> (64 - shift);
        }
    }

    fn push(&mut self, at: usize, other: &Self, range: Range<usize>) {
        if other.0.is_none() {
            return;
        }
        for position in range.clone().step_by(64) {
            self.set(at + (position - range.start), other.from(position) & low_bits(range.end - position));
        }
    }
}

/// Returns a mask of the lowest bits.
const fn low_bits(count: usize) -> u64 {
    if count < 64 { (1 << count) - 1 } else { u64::MAX }
}

/// Returns a bit for each of at most 64 bytes, which is set if it is equal to `byte`.
fn mask_of(byte: u8, bytes: &[u8]) -> u64 {
    bytes.iter().enumerate().fold(0, |mask, (i, &other)| mask | u64::from(other == byte) << i)
}

/// Numbers of bytes, line terminators and parts of characters. They are added up over the leaves of a document.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Sums {
    pub(super) bytes: u64,
    /// Terminators. A terminator counts where its last byte is.
    pub(super) ends: u64,
    pub(super) continuations: u64,
    /// Characters that are two UTF-16 units, counted at their first byte.
    pub(super) supplementary: u64,
}

impl AddAssign for Sums {
    fn add_assign(&mut self, other: Self) {
        self.bytes += other.bytes;
        self.ends += other.ends;
        self.continuations += other.continuations;
        self.supplementary += other.supplementary;
    }
}

impl Add for Sums {
    type Output = Self;

    fn add(mut self, other: Self) -> Self {
        self += other;
        self
    }
}

/// About 1 KiB of a document. A CR LF is never in two leaves.
#[derive(Clone, Debug, Default)]
pub(super) struct Leaf {
    len: usize,
    /// LF, or the byte of [`LineEnding::Ascii`].
    lf: Bits,
    cr: Bits,
    continuations: Bits,
    supplementary: Bits,
}

impl Leaf {
    pub(super) const fn len(&self) -> usize {
        self.len
    }

    /// Whether the byte at a position is a continuation byte.
    pub(super) fn is_continuation(&self, position: usize) -> bool {
        self.continuations.get(position)
    }

    /// Returns the sums of the bytes before a position.
    pub(super) fn sums(&self, ending: LineEnding, before: usize) -> Sums {
        let mut sums = Sums { bytes: before as u64, ..Sums::default() };
        for (index, position) in (0..before).step_by(64).enumerate() {
            let mask = low_bits(before - position);
            let count = |bits: u64| u64::from((bits & mask).count_ones());
            sums.ends += count(self.ends(ending, index));
            sums.continuations += count(self.continuations.word(index));
            sums.supplementary += count(self.supplementary.word(index));
        }
        sums
    }

    /// Returns the position of the last byte of the `n`-th terminator, counted from 0, and the length of the terminator.
    pub(super) fn nth_end(&self, ending: LineEnding, mut n: u64) -> Option<(usize, usize)> {
        for index in 0..WORDS {
            let mut ends = self.ends(ending, index);
            let count = u64::from(ends.count_ones());
            if n >= count {
                n -= count;
                continue;
            }
            for _ in 0..n {
                ends &= ends - 1;
            }
            let position = index * 64 + ends.trailing_zeros() as usize;
            let is_pair = matches!(ending, LineEnding::CrLf | LineEnding::LfOrCrLf | LineEnding::Any)
                && self.lf.get(position)
                && position > 0
                && self.cr.get(position - 1);
            return Some((position, 1 + usize::from(is_pair)));
        }
        None
    }

    /// Returns the bytes at which a terminator ends, of 64 bytes.
    fn ends(&self, ending: LineEnding, index: usize) -> u64 {
        let (lf, cr) = (self.lf.word(index), self.cr.word(index));
        match ending {
            LineEnding::LfOrCrLf | LineEnding::Lf | LineEnding::Ascii(_) => lf,
            LineEnding::CrLf => {
                let carry = if index > 0 { self.cr.word(index - 1) >> 63 } else { 0 };
                lf & (cr << 1 | carry)
            }
            LineEnding::Any => lf | cr & !(lf >> 1 | self.lf.word(index + 1) << 63),
        }
    }

    fn push_text(&mut self, bytes: &[u8], ending: LineEnding) {
        for chunk in bytes.chunks(8) {
            // The bytes after a short chunk are in no class.
            let mut word = [0; 8];
            word[..chunk.len()].copy_from_slice(chunk);
            let masks = masks::of_word(word);
            let lf = match ending {
                LineEnding::Ascii(byte) => mask_of(byte.get(), chunk),
                _ => masks.lf,
            };
            self.lf.set(self.len, lf);
            self.cr.set(self.len, masks.cr);
            self.continuations.set(self.len, masks.continuations);
            self.supplementary.set(self.len, masks.leads_of_four);
            self.len += chunk.len();
        }
    }

    fn push_part(&mut self, other: &Self, range: Range<usize>) {
        self.lf.push(self.len, &other.lf, range.clone());
        self.cr.push(self.len, &other.cr, range.clone());
        self.continuations.push(self.len, &other.continuations, range.clone());
        self.supplementary.push(self.len, &other.supplementary, range.clone());
        self.len += range.len();
    }

    fn ends_with_cr(&self) -> bool {
        self.len > 0 && self.cr.get(self.len - 1)
    }
}

/// A source of the bytes of new leaves.
pub(super) enum Bytes<'a> {
    Text(&'a [u8]),
    Part(&'a Leaf, Range<usize>),
    /// An ill-formed sequence of this many bytes: one character.
    IllFormed(u64),
    /// The bytes of an ill-formed sequence after its first one.
    Continuations(u64),
}

impl Bytes<'_> {
    /// Returns the number of bytes, at most `most`.
    fn len(&self, most: usize) -> usize {
        match self {
            Self::Text(bytes) => bytes.len().min(most),
            Self::Part(_, range) => range.len().min(most),
            Self::IllFormed(len) | Self::Continuations(len) => {
                usize::try_from(*len).unwrap_or(usize::MAX).min(most)
            }
        }
    }

    fn is_cr(&self, position: usize) -> bool {
        match self {
            Self::Text(bytes) => bytes[position] == b'\r',
            Self::Part(leaf, range) => leaf.cr.get(range.start + position),
            Self::IllFormed(_) | Self::Continuations(_) => false,
        }
    }

    fn is_lf(&self, position: usize) -> bool {
        match self {
            Self::Text(bytes) => bytes[position] == b'\n',
            Self::Part(leaf, range) => leaf.lf.get(range.start + position),
            Self::IllFormed(_) | Self::Continuations(_) => false,
        }
    }

    /// Moves the first `len` bytes to a leaf.
    fn move_to(&mut self, leaf: &mut Leaf, len: usize, ending: LineEnding) {
        match self {
            Self::Text(bytes) => {
                leaf.push_text(&bytes[..len], ending);
                *bytes = &bytes[len..];
            }
            Self::Part(other, range) => {
                leaf.push_part(other, range.start..range.start + len);
                range.start += len;
            }
            Self::IllFormed(all) | Self::Continuations(all) => {
                let rest = *all - len as u64;
                let lead = usize::from(len > 0 && matches!(self, Self::IllFormed(_)));
                for position in (lead..len).step_by(64) {
                    leaf.continuations.set(leaf.len + position, low_bits(len - position));
                }
                leaf.len += len;
                *self = Self::Continuations(rest);
            }
        }
    }
}

/// Divides bytes into leaves.
#[derive(Debug, Default)]
pub(super) struct Leaves {
    full: Vec<Leaf>,
    open: Leaf,
    ending: LineEnding,
}

impl Leaves {
    /// Continues after the bytes of a leaf.
    pub(super) fn after(open: Leaf, ending: LineEnding) -> Self {
        Self { full: Vec::new(), open, ending }
    }

    pub(super) fn push(&mut self, mut bytes: Bytes<'_>) {
        loop {
            let left = bytes.len(FILL + 1);
            if left == 0 {
                return;
            }
            let mut len = left.min(FILL.saturating_sub(self.open.len));
            let is_after_cr = if len > 0 { bytes.is_cr(len - 1) } else { self.open.ends_with_cr() };
            len += usize::from(is_after_cr && len < left && bytes.is_lf(len));
            if len == 0 {
                self.full.push(mem::take(&mut self.open));
            }
            bytes.move_to(&mut self.open, len, self.ending);
        }
    }

    /// Returns the leaves. None of them is empty.
    pub(super) fn into_leaves(self) -> impl Iterator<Item = Leaf> {
        self.full.into_iter().chain(Some(self.open).filter(|leaf| leaf.len > 0))
    }
}
