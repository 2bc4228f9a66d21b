//! What a scan keeps between chunks: the carry, on which every result depends, and a prediction, on which none does.

use core::fmt;
use core::hash::{Hash, Hasher};

use super::formula;

/// Chunks of up to this many bytes are small: they are tested for ASCII as a whole if that is likely, and have no aligned
/// main loop.
pub(super) const SMALL: usize = 384;

/// The last 4 bytes of a stream that was well-formed so far, the last one most significant. The formula depends on
/// nothing else of what came before.
#[derive(Clone, Copy)]
pub(super) struct Carry(u32);

impl Carry {
    /// Between characters.
    pub(super) const START: Self = Self(0);

    /// The last byte is the most significant.
    #[inline]
    pub(super) const fn word(self) -> u32 {
        self.0
    }

    /// The number of bytes of the unfinished sequence at the end, 0 to 3. A last byte that is
    /// [never a lead](formula::is_never_a_lead) counts as one.
    #[inline]
    pub(super) const fn pending_len(self) -> u8 {
        // The last byte is a lead; the one before it is a lead of 3 or 4; the one before that is a lead of 4.
        if self.0 >= 0xC0 << 24 {
            1
        } else if self.0 << 8 >= 0xE0 << 24 {
            2
        } else if self.0 << 16 >= 0xF0 << 24 {
            3
        } else {
            0
        }
    }

    /// Whether all 4 bytes are ASCII.
    #[inline]
    pub(super) const fn is_ascii(self) -> bool {
        self.0 & 0x8080_8080 == 0
    }

    #[inline]
    pub(super) const fn ends_with_never_a_lead(self) -> bool {
        formula::is_never_a_lead((self.0 >> 24) as u8)
    }

    #[inline]
    pub(super) const fn after_byte(self, byte: u8) -> Self {
        Self(self.0 >> 8 | (byte as u32) << 24)
    }

    #[inline]
    pub(super) fn after(self, chunk: &[u8]) -> Self {
        match chunk.last_chunk() {
            Some(&bytes) => Self(u32::from_le_bytes(bytes)),
            None => chunk.iter().fold(self, |carry, &byte| carry.after_byte(byte)),
        }
    }
}

/// What the next chunk probably holds: state for speed only. A wrong prediction costs a mispredicted branch, which for a
/// small chunk is more than the validation.
///
/// - The low 16 bits are a score for ASCII, 0 to 255.
/// - The high 16 bits count down the chunks until it is forgotten that there were sequences of 4 bytes.
#[derive(Clone, Copy)]
pub(super) struct Prediction(u32);

impl Prediction {
    pub(super) const NONE: Self = Self(0);
    /// After a chunk that was ASCII: the highest score.
    pub(super) const ASCII: Self = Self(2 * Self::ASCII_LIKELY - 1);
    /// From this score on, which is one bit, a small chunk is tested for ASCII first.
    const ASCII_LIKELY: u32 = 1 << 7;
    /// What a chunk that ends with 4 bytes of ASCII adds to the score if it was not tested: 16 of them make ASCII likely.
    const ASCII_AT_END: u32 = Self::ASCII_LIKELY / 16;
    /// What a misprediction of ASCII subtracts from the score: after three of them ASCII is not likely.
    const MISPREDICTION: u32 = 63;
    /// After a chunk with a sequence of 4 bytes. It is remembered for 64 chunks: in text that is full of such sequences one
    /// chunk in 64 is validated twice.
    pub(super) const FOUR_BYTES: Self = Self(64 * Self::ONE_CHUNK);
    const ONE_CHUNK: u32 = 1 << 16;

    /// Both of two predictions.
    #[cfg(test)]
    pub(super) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// For a text of which nothing is known. It is tested for ASCII, and a small one is not validated twice if it has
    /// sequences of 4 bytes.
    #[inline]
    const fn for_text(len: usize) -> Self {
        Self(if len > SMALL { Self::ASCII_LIKELY } else { Self::ASCII_LIKELY | Self::FOUR_BYTES.0 })
    }

    /// A chunk was expected to be ASCII and is not.
    #[inline]
    pub(super) const fn mispredicted(self) -> Self {
        Self(self.0 - Self::MISPREDICTION)
    }

    /// After a chunk that was not ASCII or not tested for it. There is no branch, since it would be mispredicted.
    #[inline]
    pub(super) const fn after_chunk(self, end: Carry) -> Self {
        let kept = if end.is_ascii() { 0xFFFF_FFFF } else { 0xFFFF_0000 };
        Self((self.0 + Self::ASCII_AT_END) & kept)
    }
}

/// The part that only vector kernels use: they have a faster formula for text without sequences of 4 bytes.
#[cfg(any(
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    all(target_arch = "x86_64", target_feature = "sse2")
))]
impl Prediction {
    #[inline]
    pub(super) const fn expects_four_bytes(self) -> bool {
        self.0 > 0xFFFF
    }

    /// After a chunk with a sequence of 4 bytes.
    #[inline]
    pub(super) const fn with_four_bytes(self) -> Self {
        Self(self.0 & 0xFFFF | Self::FOUR_BYTES.0)
    }

    /// After a chunk that was expected to have sequences of 4 bytes.
    #[inline]
    pub(super) const fn one_chunk_later(self) -> Self {
        Self(if self.0 >= Self::ONE_CHUNK { self.0 - Self::ONE_CHUNK } else { self.0 })
    }
}

/// The same of the carry.
#[cfg(any(
    all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
    all(target_arch = "x86_64", target_feature = "sse2")
))]
impl Carry {
    /// The last byte is the most significant.
    #[inline]
    pub(super) const fn from_word(word: u32) -> Self {
        Self(word)
    }

    /// Whether one of the last 3 bytes is a lead of 4, or a byte that is never a lead.
    #[inline]
    pub(super) const fn has_lead_of_four(self) -> bool {
        // Bit 7 of each byte: whether its two highest bits are set; then whether its four highest bits are.
        let two = self.0 & self.0 << 1;
        two & two << 2 & 0x8080_8000 != 0
    }
}

/// The carry and the prediction.
///
/// They are read and written as one word of 8 bytes: a processor waits if it reads as one word what it has just written
/// as two. Two states are equal if their unfinished sequences are.
#[derive(Clone, Copy, Default)]
#[repr(align(8))]
pub(crate) struct ScanState([u8; 8]);

impl ScanState {
    /// Between characters.
    pub(crate) const START: Self = Self::new(Carry::START, Prediction::NONE);

    #[inline]
    pub(super) const fn new(carry: Carry, prediction: Prediction) -> Self {
        Self((carry.0 as u64 | (prediction.0 as u64) << 32).to_le_bytes())
    }

    /// Before a text of this length, of which nothing is known.
    #[inline]
    pub(super) const fn before_text(len: usize) -> Self {
        Self::new(Carry::START, Prediction::for_text(len))
    }

    #[inline]
    pub(super) const fn carry(self) -> Carry {
        Carry(u64::from_le_bytes(self.0) as u32)
    }

    #[inline]
    pub(super) const fn prediction(self) -> Prediction {
        Prediction((u64::from_le_bytes(self.0) >> 32) as u32)
    }

    /// Whether a small chunk is tested for ASCII. If it is ASCII it is well-formed, because the carry is ASCII, too.
    #[inline]
    pub(super) const fn expects_ascii(self) -> bool {
        const ASCII_LIKELY: u64 = (Prediction::ASCII_LIKELY as u64) << 32;
        u64::from_le_bytes(self.0) & (0x8080_8080 | ASCII_LIKELY) == ASCII_LIKELY
    }

    /// The number of bytes of the unfinished sequence, 0 to 3.
    #[inline]
    pub(crate) const fn pending_len(self) -> u8 {
        self.carry().pending_len()
    }

    /// The bytes of the unfinished sequence.
    #[inline]
    pub(crate) fn pending(&self) -> &[u8] {
        &self.0[4 - usize::from(self.pending_len())..4]
    }

    /// The same as a word, the first one least significant.
    #[inline]
    pub(crate) const fn pending_word(self) -> u32 {
        let carry = self.carry();
        // Two shifts, because one by 32 is not defined.
        carry.0 >> 8 >> (24 - 8 * carry.pending_len() as u32)
    }

    /// The state after a chunk, with the prediction as it was.
    #[inline]
    pub(crate) fn after(self, chunk: &[u8]) -> Self {
        Self::new(self.carry().after(chunk), self.prediction())
    }

    /// Between characters, with the prediction as it was.
    #[cfg(any(feature = "proxy", feature = "std"))]
    #[inline]
    pub(crate) const fn without_carry(self) -> Self {
        Self((u64::from_le_bytes(self.0) >> 32 << 32).to_le_bytes())
    }

    /// `None` inside a sequence.
    #[inline]
    pub(crate) fn boundary(self) -> Option<Boundary> {
        (self.pending_len() == 0).then_some(Boundary(self))
    }
}

/// Proof that no sequence is unfinished, so that what follows can be text by itself.
///
/// The formula depends on the bytes before a chunk only in whether a continuation is due after them. Where
/// [`ScanState::pending_len`] is 0 none is, whatever the bytes are.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Boundary(ScanState);

impl Boundary {
    pub(crate) const START: Self = Self(ScanState::START);

    #[inline]
    pub(super) const fn state(self) -> ScanState {
        self.0
    }
}

impl PartialEq for ScanState {
    fn eq(&self, other: &Self) -> bool {
        self.pending() == other.pending()
    }
}

impl Eq for ScanState {}

impl Hash for ScanState {
    fn hash<H: Hasher>(&self, hasher: &mut H) {
        self.pending().hash(hasher);
    }
}

impl fmt::Debug for ScanState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.pending().fmt(f)
    }
}
