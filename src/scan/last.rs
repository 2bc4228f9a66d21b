//! What a chunk leaves for the next one.

use core::fmt;
use core::hash::{Hash, Hasher};

use super::twin;

/// The last octets of a stream that was good so far: all that is ever asked about it.
///
/// They are kept as they came, so that a scan which goes well need not think about its end. Only the unfinished
/// sequence among them counts in comparisons.
///
/// The four octets, then four octets of a number: how likely the next chunk is ASCII, a guess for the sake of speed.
/// They are written as one word, because a processor waits where it reads as one what was just written as two.
#[derive(Clone, Copy, Default)]
#[repr(align(8))]
pub(crate) struct Last([u8; 8]);

/// From here on a chunk is tried for ASCII first: after so many that ended with four octets of it. The guess is
/// cheap when it is right and dear when it is wrong: a branch that nobody foresees costs more than a small chunk.
const CALM: u32 = 16;
/// What a chunk that was ASCII leads to.
pub(super) const CALMEST: u32 = 2 * CALM;
/// What a wrong guess costs.
const DISAPPOINTMENT: u32 = CALM / 2;

impl Last {
    /// Between characters.
    pub(crate) const NONE: Self = Self::new(0, 0);

    #[inline]
    pub(super) const fn new(word: u32, calm: u32) -> Self {
        Self((word as u64 | (calm as u64) << 32).to_le_bytes())
    }

    /// Between characters again.
    #[cfg(feature = "codec")]
    #[inline]
    pub(crate) const fn between(self) -> Self {
        Self::new(0, self.guess())
    }

    /// The most significant octet came last.
    #[inline]
    pub(super) const fn word(self) -> u32 {
        u64::from_le_bytes(self.0) as u32
    }

    #[inline]
    const fn guess(self) -> u32 {
        (u64::from_le_bytes(self.0) >> 32) as u32
    }

    /// Are all four ASCII?
    #[inline]
    const fn is_ascii(self) -> bool {
        self.word() & 0x8080_8080 == 0
    }

    /// Octets of the unfinished sequence at the end: none to three. One that is
    /// [never a lead](twin::is_never_a_lead) counts as unfinished.
    #[inline]
    pub(crate) const fn pending_len(self) -> u8 {
        let word = self.word();
        // The last octet is a lead; the one before it is a lead that wants two more; the one before that wants three.
        if word >= 0xC0 << 24 {
            1
        } else if word << 8 >= 0xE0 << 24 {
            2
        } else if word << 16 >= 0xF0 << 24 {
            3
        } else {
            0
        }
    }

    /// The unfinished sequence at the end.
    #[inline]
    pub(crate) fn pending(&self) -> &[u8] {
        &self.0[4 - usize::from(self.pending_len())..4]
    }

    #[inline]
    pub(crate) const fn is_boundary(self) -> bool {
        self.pending_len() == 0
    }

    /// Is the next chunk tried for ASCII? If it is ASCII, it is good: that rests on these octets, and not on the guess.
    #[inline]
    pub(super) const fn is_calm(self) -> bool {
        self.guess() >= CALM && self.is_ascii()
    }

    /// Behind a chunk that was ASCII.
    #[inline]
    pub(super) const fn calm(self) -> Self {
        Self::new(self.word(), CALMEST)
    }

    /// The chunk was tried and is not ASCII.
    #[inline]
    pub(super) const fn disappoint(&mut self) {
        *self = Self::new(self.word(), self.guess() - DISAPPOINTMENT);
    }

    /// Behind a chunk that was not tried, with the guess of those before it. Without a branch: nobody could foresee
    /// it. Past `CALM` the count may wrap, which costs one guess.
    #[inline]
    pub(super) const fn after(self, before: Self) -> Self {
        Self::new(self.word(), before.guess().wrapping_add(1) & (self.is_ascii() as u32).wrapping_neg())
    }

    #[inline]
    pub(super) const fn ends_with_no_lead(self) -> bool {
        twin::is_never_a_lead(self.0[3])
    }

    /// What they are behind a chunk.
    #[inline]
    pub(crate) fn behind(self, chunk: &[u8]) -> Self {
        match chunk.last_chunk() {
            Some(&octets) => Self::new(u32::from_le_bytes(octets), self.guess()),
            None => chunk.iter().fold(self, |last, &octet| last.behind_octet(octet)),
        }
    }

    #[inline]
    pub(super) const fn behind_octet(self, octet: u8) -> Self {
        // Not calm any more: the octet may have begun a sequence.
        Self::new(self.word() >> 8 | (octet as u32) << 24, 0)
    }
}

impl PartialEq for Last {
    fn eq(&self, other: &Self) -> bool {
        self.pending() == other.pending()
    }
}

impl Eq for Last {}

impl Hash for Last {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.pending().hash(state);
    }
}

impl fmt::Debug for Last {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pending().fmt(f)
    }
}
