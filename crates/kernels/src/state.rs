//! The state of a scan between chunks: the carry, which determines every result, and a prediction, which affects only
//! the speed.

use core::fmt;
use core::hash::{Hash, Hasher};

/// The maximum length of a small chunk. Small chunks are tested for ASCII as a whole if ASCII is likely, and have no
/// aligned main loop.
pub(crate) const SMALL: usize = 384;

/// The last 4 bytes of a stream that was well-formed so far. The last byte is the most significant. The formula uses no
/// other bytes from before the chunk.
#[derive(Clone, Copy)]
pub(crate) struct Carry(u32);

impl Carry {
    /// The carry between characters.
    pub(crate) const START: Self = Self(0);

    /// Returns the bytes as a word. The last byte is the most significant.
    #[inline]
    pub(crate) const fn word(self) -> u32 {
        self.0
    }

    /// Returns the number of bytes of the unfinished sequence at the end, 0 to 3. A last byte that is [never a
    /// lead](super::formula::is_never_a_lead) counts as 1.
    #[inline]
    pub(crate) const fn pending_len(self) -> u8 {
        // The bytes below the compared one cannot change the result. In order: the last byte is a lead byte; the byte
        // before it starts a sequence of 3 or 4 bytes; the byte before that starts a sequence of 4 bytes.
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
    pub(crate) const fn is_ascii(self) -> bool {
        self.0 & 0x8080_8080 == 0
    }

    #[inline]
    pub(crate) const fn after_byte(self, byte: u8) -> Self {
        Self(self.0 >> 8 | (byte as u32) << 24)
    }

    /// Returns the carry after 1 to 3 bytes. The first one is the least significant.
    #[inline]
    pub(crate) const fn after_few(self, bytes: u32, len: usize) -> Self {
        let bits = 8 * len as u32;
        Self(self.0 >> bits | bytes << (32 - bits))
    }

    #[inline]
    pub(crate) fn after(self, chunk: &[u8]) -> Self {
        match chunk.last_chunk() {
            Some(&bytes) => Self(u32::from_le_bytes(bytes)),
            None => chunk.iter().fold(self, |carry, &byte| carry.after_byte(byte)),
        }
    }
}

/// The probable contents of the next chunk. Only the speed depends on it. A wrong prediction costs a mispredicted
/// branch, which for a small chunk costs more than the validation.
///
/// - The low 16 bits are a score for ASCII, 0 to 255.
/// - The high 16 bits are the number of chunks for which sequences of 4 bytes are still expected.
#[derive(Clone, Copy)]
pub(crate) struct Prediction(u32);

impl Prediction {
    pub(crate) const NONE: Self = Self(0);
    /// After an ASCII chunk: the highest score.
    pub(crate) const ASCII: Self = Self(2 * Self::ASCII_LIKELY - 1);
    /// The lowest score at which a small chunk is tested for ASCII before it is validated. It is a single bit.
    const ASCII_LIKELY: u32 = 1 << 7;
    /// The score added by a chunk that was not tested and ends with 4 ASCII bytes. After 16 such chunks ASCII is
    /// likely.
    const ASCII_AT_END: u32 = Self::ASCII_LIKELY / 16;
    /// The score subtracted by a misprediction of ASCII. After three of them ASCII is not likely.
    const MISPREDICTION: u32 = 63;
    /// After a chunk with a sequence of 4 bytes. Such sequences are then expected for 64 chunks, so in text that is
    /// full of them one chunk in 64 is validated twice.
    #[cfg(any(test, utf8_codec_vectors))]
    pub(crate) const FOUR_BYTES: Self = Self(64 * Self::ONE_CHUNK);
    #[cfg(any(test, utf8_codec_vectors))]
    const ONE_CHUNK: u32 = 1 << 16;

    /// Combines two predictions.
    #[cfg(test)]
    pub(crate) const fn with(self, other: Self) -> Self {
        Self(self.0 | other.0)
    }

    /// Returns the prediction after a chunk that was expected to be ASCII and is not.
    #[inline]
    pub(crate) const fn mispredicted(self) -> Self {
        Self(self.0 - Self::MISPREDICTION)
    }

    /// Returns the prediction after a chunk that was not ASCII or was not tested for it. There is no branch, because it
    /// would be mispredicted.
    #[inline]
    pub(crate) const fn after_chunk(self, end: Carry) -> Self {
        let next = self.0 + Self::ASCII_AT_END;
        Self(if end.is_ascii() { next } else { next & 0xFFFF_0000 })
    }
}

/// Methods for the vector kernels, which have a faster formula for text without sequences of 4 bytes.
#[cfg(utf8_codec_vectors)]
impl Prediction {
    #[inline]
    pub(crate) const fn expects_four_bytes(self) -> bool {
        self.0 > 0xFFFF
    }

    /// After a chunk with a sequence of 4 bytes.
    #[inline]
    pub(crate) const fn with_four_bytes(self) -> Self {
        Self(self.0 & 0xFFFF | Self::FOUR_BYTES.0)
    }

    /// Returns the prediction after a chunk that was expected to have sequences of 4 bytes.
    #[inline]
    pub(crate) const fn one_chunk_later(self) -> Self {
        Self(if self.0 >= Self::ONE_CHUNK { self.0 - Self::ONE_CHUNK } else { self.0 })
    }
}

/// Methods of the carry for the vector kernels.
#[cfg(utf8_codec_vectors)]
impl Carry {
    /// Creates a carry from a word. The last byte is the most significant.
    #[inline]
    pub(crate) const fn from_word(word: u32) -> Self {
        Self(word)
    }

    /// Whether one of the last 3 bytes is the lead byte of a 4-byte sequence, or a byte that is never a lead.
    #[inline]
    pub(crate) const fn has_lead_of_four(self) -> bool {
        // `two` has bit 7 of each byte set if its two highest bits are set. The result has bit 7 of each byte set if
        // its four highest bits are set.
        let two = self.0 & self.0 << 1;
        two & two << 2 & 0x8080_8000 != 0
    }
}

/// The carry and the prediction.
///
/// They are read and written as one word of 8 bytes. Reading one word after writing two halves would cause a
/// store-forwarding stall. Two states are equal if their unfinished sequences are equal.
#[derive(Clone, Copy, Default)]
#[repr(align(8))]
pub struct ScanState([u8; 8]);

impl ScanState {
    /// The state between characters, without a prediction.
    pub const START: Self = Self::new(Carry::START, Prediction::NONE);

    /// The state after an ASCII chunk. The carry does not contain the last bytes of the chunk, because ASCII in it has
    /// no effect.
    pub(crate) const AFTER_ASCII: Self = Self::new(Carry::START, Prediction::ASCII);

    #[inline]
    pub(crate) const fn new(carry: Carry, prediction: Prediction) -> Self {
        Self::from_bits(carry.0 as u64 | (prediction.0 as u64) << 32)
    }

    /// Returns the state as a word. Functions return a word in a register, and an array in memory.
    #[inline]
    pub(crate) const fn bits(self) -> u64 {
        u64::from_le_bytes(self.0)
    }

    #[inline]
    pub(crate) const fn from_bits(bits: u64) -> Self {
        Self(bits.to_le_bytes())
    }

    #[inline]
    pub(crate) const fn carry(self) -> Carry {
        Carry(self.bits() as u32)
    }

    #[inline]
    pub(crate) const fn prediction(self) -> Prediction {
        Prediction((self.bits() >> 32) as u32)
    }

    /// Whether a small chunk is tested for ASCII before it is validated. If `true`, the carry is ASCII too, so an ASCII
    /// chunk is well-formed.
    #[inline]
    pub(crate) const fn expects_ascii(self) -> bool {
        const ASCII_LIKELY: u64 = (Prediction::ASCII_LIKELY as u64) << 32;
        self.bits() & (0x8080_8080 | ASCII_LIKELY) == ASCII_LIKELY
    }

    /// Returns the number of bytes of the unfinished sequence, 0 to 3.
    #[inline]
    pub const fn pending_len(self) -> u8 {
        self.carry().pending_len()
    }

    /// Returns the bytes of the unfinished sequence.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        &self.0[4 - usize::from(self.pending_len())..4]
    }

    /// Returns the pending bytes as a word. The first one is the least significant.
    #[inline]
    pub const fn pending_word(self) -> u32 {
        let carry = self.carry();
        // Two shifts, because a shift by 32 is not defined.
        carry.0 >> 8 >> (24 - 8 * carry.pending_len() as u32)
    }

    /// Returns the state after a byte, without a prediction.
    #[inline]
    pub(crate) const fn after_byte(self, byte: u8) -> Self {
        // The byte replaces the oldest one, which is then rotated to the end. For two shifts the compiler would use a
        // double shift, which is slow on some CPUs.
        let carry = (self.carry().0 & !0xFF | byte as u32).rotate_right(8);
        Self::new(Carry(carry), Prediction::NONE)
    }

    /// Returns the state after a chunk, with the same prediction. The chunk may be ill-formed: then the state is between
    /// characters unless one of the last 3 bytes is a lead byte that asks for more bytes than follow it.
    #[inline]
    pub fn after(self, chunk: &[u8]) -> Self {
        Self::new(self.carry().after(chunk), self.prediction())
    }

    /// Returns the state between characters, with the same prediction.
    #[inline]
    pub const fn without_carry(self) -> Self {
        Self::from_bits(self.bits() >> 32 << 32)
    }

    /// Returns `None` if a sequence is unfinished.
    #[inline]
    pub fn boundary(self) -> Option<AtBoundary> {
        (self.pending_len() == 0).then_some(AtBoundary(self))
    }
}

/// Proof that no sequence is unfinished, so the bytes that follow can be text by themselves.
///
/// The formula uses the bytes before a chunk only to find whether a continuation byte must follow them. If
/// [`ScanState::pending_len`] is 0, none must follow.
#[derive(Clone, Copy, Debug)]
pub struct AtBoundary(ScanState);

impl AtBoundary {
    /// The start of a stream.
    pub const START: Self = Self(ScanState::START);

    #[inline]
    pub(crate) const fn state(self) -> ScanState {
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
