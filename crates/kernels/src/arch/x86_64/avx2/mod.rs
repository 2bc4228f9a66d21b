//! AVX2, for x86-64 CPUs that do not support the AVX-512 kernel.
//!
//! AVX2 has no lookup in a table of 64 entries, so pairs of neighboring bytes are tested with the algorithm of Keiser
//! and Lemire ("Validating UTF-8 In Less Than One Instruction Per Byte", 2020). Each type of error in a pair has a bit.
//! Three tables of 16 entries contain the errors that are possible for the high half of the first byte, for its low
//! half, and for the high half of the second byte. An error that is in all three is present, except that two
//! continuation bytes are correct inside a longer sequence.

#[cfg(feature = "base64")]
pub(super) mod base64;
pub(super) mod classes;
#[cfg(feature = "transcode")]
pub(super) mod copy;
pub(super) mod count;
pub(super) mod escapes;
#[cfg(feature = "transcode")]
pub(super) mod latin;
pub(super) mod positions;
#[cfg(feature = "transcode")]
pub(super) mod to_utf16;
#[cfg(feature = "transcode")]
pub(super) mod utf16;

use core::arch::x86_64::*;

use crate::arch::vector::{LAST_TO_FRONT, Vector, entries, entry_methods};
use crate::state::Carry;

/// A lead byte without a continuation byte after it.
const TOO_SHORT: u8 = 1 << 0;
/// A continuation byte after ASCII.
const TOO_LONG: u8 = 1 << 1;
/// `E0 80..=9F`
const OVERLONG_3: u8 = 1 << 2;
/// `F4 90..=BF`, and `F5..=FF` before `90..=BF`
const TOO_LARGE: u8 = 1 << 3;
/// `ED A0..=BF`
const SURROGATE: u8 = 1 << 4;
/// `C0` and `C1`
const OVERLONG_2: u8 = 1 << 5;
/// `F5..=FF` before `80..=8F`, and `F0 80..=8F`. No lead byte has both errors, so they share a bit.
const TOO_LARGE_1000: u8 = 1 << 6;
const OVERLONG_4: u8 = 1 << 6;
/// Two continuation bytes in a row. It is bit 7, because `or_marks` has a mask with bit 7 set where they are required.
const TWO_CONTS: u8 = 1 << 7;

#[rustfmt::skip]
const FIRST_HIGH: [u8; 16] = [
    TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG, TOO_LONG,
    TWO_CONTS, TWO_CONTS, TWO_CONTS, TWO_CONTS,
    TOO_SHORT | OVERLONG_2,
    TOO_SHORT,
    TOO_SHORT | OVERLONG_3 | SURROGATE,
    TOO_SHORT | TOO_LARGE | TOO_LARGE_1000 | OVERLONG_4,
];

const FIRST_LOW: [u8; 16] = {
    // The bits that do not depend on the low half.
    const ANY: u8 = TOO_SHORT | TOO_LONG | TWO_CONTS;
    const ABOVE_4: u8 = ANY | TOO_LARGE | TOO_LARGE_1000;
    let mut table = [ABOVE_4; 16];
    table[0x0] = ANY | OVERLONG_2 | OVERLONG_3 | OVERLONG_4;
    table[0x1] = ANY | OVERLONG_2;
    table[0x2] = ANY;
    table[0x3] = ANY;
    table[0x4] = ANY | TOO_LARGE;
    table[0xD] = ABOVE_4 | SURROGATE;
    table
};

const SECOND_HIGH: [u8; 16] = {
    const ANY: u8 = TOO_LONG | TWO_CONTS | OVERLONG_2;
    let mut table = [TOO_SHORT; 16];
    table[0x8] = ANY | OVERLONG_3 | TOO_LARGE_1000 | OVERLONG_4;
    table[0x9] = ANY | OVERLONG_3 | TOO_LARGE;
    table[0xA] = ANY | SURROGATE | TOO_LARGE;
    table[0xB] = ANY | SURROGATE | TOO_LARGE;
    table
};

// The tables for text without sequences of 4 bytes. With these tables the lead byte of a 4-byte sequence is an error,
// whatever byte follows. The bit of this error is `TOO_LARGE`, which no other lead byte needs.

const FIRST_HIGH_IN_BMP: [u8; 16] = {
    let mut table = FIRST_HIGH;
    table[0xF] = TOO_SHORT | TOO_LARGE;
    table
};

const FIRST_LOW_IN_BMP: [u8; 16] = or_too_large(FIRST_LOW);

const SECOND_HIGH_IN_BMP: [u8; 16] = or_too_large(SECOND_HIGH);

const fn or_too_large(mut table: [u8; 16]) -> [u8; 16] {
    let mut i = 0;
    while i < 16 {
        table[i] |= TOO_LARGE;
        i += 1;
    }
    table
}

/// Masks for a load. The 8 words from index `8 - n` on select the first `n` double words of a vector.
static FIRST_WORDS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

entries!(Ymm, by_pairs, "avx2,bmi1");

#[derive(Clone, Copy)]
struct Ymm(__m256i);

/// Loads a table into both halves of a vector.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn table(entries: &'static [u8; 16]) -> __m256i {
    // SAFETY: the caller guarantees AVX2; there are 16 bytes to read.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(entries.as_ptr().cast())) }
}

/// Returns the errors that all three tables contain for each pair of a byte of `p1` and the byte of `x` after it.
///
/// # Safety
///
/// The CPU has AVX2.
#[inline(always)]
unsafe fn wrong_pairs(
    p1: __m256i,
    x: __m256i,
    first_high: &'static [u8; 16],
    first_low: &'static [u8; 16],
    second_high: &'static [u8; 16],
) -> __m256i {
    // SAFETY: the caller guarantees AVX2.
    unsafe {
        let half = _mm256_set1_epi8(0x0F);
        let p1_high = _mm256_and_si256(_mm256_srli_epi16::<4>(p1), half);
        let p1_low = _mm256_and_si256(p1, half);
        let x_high = _mm256_and_si256(_mm256_srli_epi16::<4>(x), half);
        _mm256_and_si256(
            _mm256_and_si256(
                _mm256_shuffle_epi8(table(first_high), p1_high),
                _mm256_shuffle_epi8(table(first_low), p1_low),
            ),
            _mm256_shuffle_epi8(table(second_high), x_high),
        )
    }
}

impl Vector for Ymm {
    const LEN: usize = 32;
    const GROUP: usize = 4;
    const UNROLLED: bool = true;
    const LONGEST_SEGMENT: usize = 16;

    /// Segments that double up to 8 groups would be slower: by 2 % in long text, and by 7 % until an error in 4 KiB.
    #[inline(always)]
    fn next_segment(groups: usize) -> usize {
        (groups + 1).min(Self::LONGEST_SEGMENT)
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller guarantees AVX2.
        unsafe { Self(_mm256_setzero_si256()) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees AVX2 and readable memory.
        unsafe { Self(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        let len = chunk.len() - at;
        // SAFETY: the caller guarantees AVX2. The masked load reads only whole double words, `len / 4` of them, which
        // is 0 to 8. Another load reads the last 4 bytes of the chunk, which has at least 4. Of these the bytes after
        // the whole double words are kept.
        unsafe {
            let words = _mm256_loadu_si256(FIRST_WORDS.as_ptr().add(8 - len / 4).cast());
            let whole = _mm256_maskload_epi32(chunk.as_ptr().add(at).cast(), words);
            let last = u32::from_le_bytes(chunk.as_ptr().add(chunk.len() - 4).cast::<[u8; 4]>().read());
            let last = (u64::from(last) >> (32 - 8 * (len % 4))) as u32;
            let numbers = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let next = _mm256_cmpeq_epi32(numbers, _mm256_set1_epi32((len / 4) as i32));
            let part = _mm256_and_si256(next, _mm256_set1_epi32(last.cast_signed()));
            Self(_mm256_or_si256(whole, part))
        }
    }

    #[inline(always)]
    unsafe fn load_whole(chunk: &[u8]) -> Self {
        let len = chunk.len();
        if len < 16 {
            // SAFETY: same as for this function.
            return unsafe { Self::load_rest(chunk, 0) };
        }
        // SAFETY: the caller guarantees AVX2. There are 16 to 32 bytes. Two loads read the first 16 and the last 16 of
        // them, and a lookup moves those after the first 16 to the front. The table is read from index 0 to 16 on.
        unsafe {
            let first = _mm_loadu_si128(chunk.as_ptr().cast());
            let last = _mm_loadu_si128(chunk.as_ptr().add(len - 16).cast());
            let order = _mm_loadu_si128(LAST_TO_FRONT.as_ptr().add(32 - len).cast());
            Self(_mm256_set_m128i(_mm_shuffle_epi8(last, order), first))
        }
    }

    #[inline(always)]
    fn shifted(self, before: Self) -> [Self; 3] {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        unsafe {
            // The high half of `before` and the low half of `self`: the bytes before each half of `self`.
            let neighbour = _mm256_permute2x128_si256::<0x21>(before.0, self.0);
            [
                Self(_mm256_alignr_epi8::<15>(self.0, neighbour)),
                Self(_mm256_alignr_epi8::<14>(self.0, neighbour)),
                Self(_mm256_alignr_epi8::<13>(self.0, neighbour)),
            ]
        }
    }

    #[inline(always)]
    fn shifted_after(self, carry: Carry) -> [Self; 3] {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        self.shifted(Self(unsafe { _mm256_set1_epi32(carry.word().cast_signed()) }))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        unsafe { Self(_mm256_or_si256(self.0, other.0)) }
    }

    #[inline(always)]
    fn is_ascii(self) -> bool {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        unsafe { _mm256_movemask_epi8(self.0) == 0 }
    }

    #[inline(always)]
    fn or_marks(self, Self(x): Self, [Self(p1), Self(p2), Self(p3)]: [Self; 3]) -> Self {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        unsafe {
            let wrong = wrong_pairs(p1, x, &FIRST_HIGH, &FIRST_LOW, &SECOND_HIGH);
            // Bit 7 of `(p + k + 1) / 2` is set exactly if `p >= FF - k`. Unlike a difference, the average needs no load of its
            // own. With `or` instead of the maximum, the compiler would use 16-bit additions, which take more instructions.
            let s2 = _mm256_avg_epu8(p2, _mm256_set1_epi8(0x1F));
            let s3 = _mm256_avg_epu8(p3, _mm256_set1_epi8(0x0F));
            let due = _mm256_and_si256(_mm256_max_epu8(s2, s3), _mm256_set1_epi8(0x80_u8.cast_signed()));
            Self(_mm256_or_si256(self.0, _mm256_xor_si256(wrong, due)))
        }
    }

    #[inline(always)]
    fn or_marks_in_bmp(self, Self(x): Self, [Self(p1), Self(p2)]: [Self; 2]) -> Self {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        unsafe {
            let wrong = wrong_pairs(p1, x, &FIRST_HIGH_IN_BMP, &FIRST_LOW_IN_BMP, &SECOND_HIGH_IN_BMP);
            let s2 = _mm256_avg_epu8(p2, _mm256_set1_epi8(0x1F));
            let due = _mm256_and_si256(s2, _mm256_set1_epi8(0x80_u8.cast_signed()));
            Self(_mm256_or_si256(self.0, _mm256_xor_si256(wrong, due)))
        }
    }

    #[inline(always)]
    fn is_marked(self) -> bool {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        unsafe { _mm256_testz_si256(self.0, self.0) == 0 }
    }

    #[inline(always)]
    fn first_mark_before(self, len: usize) -> Option<usize> {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        let unmarked = unsafe { _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, _mm256_setzero_si256())) };
        let index = (!unmarked).trailing_zeros() as usize;
        (index < len).then_some(index)
    }

    #[cfg(test)]
    #[inline(always)]
    fn mark_bits(self) -> u64 {
        // SAFETY: a `Ymm` exists only if the CPU has AVX2.
        unsafe {
            !u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, _mm256_setzero_si256())) as u32)
                & 0xFFFF_FFFF
        }
    }

    entry_methods!();

    prefetches!();
}
