//! What a chunk leaves for the next one.

use core::fmt;
use core::hash::{Hash, Hasher};

use super::{SMALL, twin};

/// The last bytes of a stream that was good so far: all that is ever asked about it.
///
/// They are kept as they came, so that a scan which goes well need not think about its end. Only the unfinished
/// sequence among them counts in comparisons.
///
/// The four bytes, then four bytes of a guess at the next chunk, for the sake of speed: how likely it is ASCII, and
/// whether it has sequences of four. They are written as one word, because a processor waits where it reads as one
/// what was just written as two.
#[derive(Clone, Copy, Default)]
#[repr(align(8))]
pub(crate) struct Last([u8; 8]);

/// From here on, which is one bit, a chunk is tried for ASCII first. The guess is cheap when it is right and dear when
/// it is wrong: a branch that nobody foresees costs more than a small chunk.
/// This half of the guess is its low 16 bits.
const CALM: u32 = 1 << 7;
/// For a chunk that ended with four bytes of ASCII and was not tried: 16 of them make the stream calm.
const STEP: u32 = CALM / 16;
/// What a chunk that was ASCII leads to.
pub(super) const CALMEST: u32 = 2 * CALM - 1;
/// What a wrong guess costs: three of them end the calm.
const DISAPPOINTMENT: u32 = 63;
/// Sequences of four were met: characters beyond the Basic Multilingual Plane. The other half of the guess counts the
/// chunks until that is forgotten: 64, so that to find out anew costs text which is full of them little.
pub(super) const BEYOND: u32 = 64 << 16;

impl Last {
    /// Between characters.
    pub(crate) const NONE: Self = Self::new(0, 0);
    /// Between characters, before a text of which nothing is known: tried for ASCII, and a small one is not judged
    /// twice if it has sequences of four.
    #[inline]
    pub(super) const fn before(len: usize) -> Self {
        Self::new(0, if len > SMALL { CALM } else { CALM | BEYOND })
    }

    #[inline]
    pub(super) const fn new(word: u32, guess: u32) -> Self {
        Self((word as u64 | (guess as u64) << 32).to_le_bytes())
    }

    /// Between characters again.
    #[cfg(any(feature = "codec", feature = "futures-io", feature = "io", feature = "proxy"))]
    #[inline]
    pub(crate) const fn between(self) -> Self {
        Self::new(0, self.guess())
    }

    /// The most significant byte came last.
    #[inline]
    pub(super) const fn word(self) -> u32 {
        u64::from_le_bytes(self.0) as u32
    }

    #[inline]
    pub(super) const fn guess(self) -> u32 {
        (u64::from_le_bytes(self.0) >> 32) as u32
    }

    /// Are all four ASCII?
    #[inline]
    const fn is_ascii(self) -> bool {
        self.word() & 0x8080_8080 == 0
    }

    /// Bytes of the unfinished sequence at the end: none to three. One that is
    /// [never a lead](twin::is_never_a_lead) counts as unfinished.
    #[inline]
    pub(crate) const fn pending_len(self) -> u8 {
        let word = self.word();
        // The last byte is a lead; the one before it is a lead that wants two more; the one before that wants three.
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

    /// Is the next chunk tried for ASCII? If it is ASCII, it is good: that rests on these bytes, and not on the guess.
    #[inline]
    pub(super) const fn is_calm(self) -> bool {
        // One test: the bit is set, and all four bytes are ASCII.
        u64::from_le_bytes(self.0) & (0x8080_8080 | (CALM as u64) << 32) == (CALM as u64) << 32
    }

    /// After a chunk that was ASCII.
    #[inline]
    pub(super) const fn calm(self) -> Self {
        Self::new(self.word(), CALMEST)
    }

    /// The chunk was tried and is not ASCII.
    #[inline]
    pub(super) const fn disappointed(self) -> Self {
        Self::new(self.word(), self.guess() - DISAPPOINTMENT)
    }

    /// After a chunk that was not ASCII, or not tried for it, with the guess of those before it. Without a branch:
    /// nobody could foresee it.
    #[inline]
    pub(super) const fn with_history_of(self, before: Self) -> Self {
        let kept = if self.is_ascii() { 0xFFFF_FFFF } else { 0xFFFF_0000 };
        Self::new(self.word(), (before.guess() + STEP) & kept)
    }

    #[inline]
    pub(super) const fn ends_with_no_lead(self) -> bool {
        twin::is_never_a_lead(self.0[3])
    }

    /// What they are after a chunk.
    #[inline]
    pub(crate) fn after(self, chunk: &[u8]) -> Self {
        match chunk.last_chunk() {
            Some(&bytes) => Self::new(u32::from_le_bytes(bytes), self.guess()),
            None => chunk.iter().fold(self, |last, &byte| last.after_byte(byte)),
        }
    }

    #[inline]
    pub(super) const fn after_byte(self, byte: u8) -> Self {
        // Not calm any more: the byte may have begun a sequence.
        Self::new(self.word() >> 8 | (byte as u32) << 24, 0)
    }
}

/// Proof that no sequence is unfinished: what follows can be text by itself.
///
/// The formula asks of the bytes before a chunk only whether they still want a continuation, and where
/// [`Last::pending_len`] is 0 none does. So this is proof whatever the bytes are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Boundary(Last);

impl Boundary {
    #[cfg(feature = "transcode")]
    pub(crate) const START: Self = Self(Last::NONE);

    #[inline]
    pub(crate) const fn last(self) -> Last {
        self.0
    }
}

impl Last {
    /// `None` inside a sequence.
    #[inline]
    pub(crate) fn boundary(self) -> Option<Boundary> {
        self.is_boundary().then_some(Boundary(self))
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
