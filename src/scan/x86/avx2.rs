//! AVX2: every x86-64 server of the last ten years.
//!
//! There is no look-up in 64 places here, so that two neighbours are judged as Keiser and Lemire do ("Validating
//! UTF-8 In Less Than One Instruction Per Byte", 2020): a bit for each thing that can be wrong with them, and three
//! tables of 16 places that say which of these the high half of the first byte, its low half, and the high half of
//! the second leave possible. What all three leave possible is wrong, except that two continuations in a row are
//! right where a longer sequence is unfinished.

use core::arch::x86_64::*;

use super::super::vector::{self, Vector};
use super::super::{Last, bulk};

/// [`Implementation::take`](super::super::kernel::Implementation::take).
///
/// # Safety
///
/// The CPU has the features named here, and the chunk has four bytes or more.
#[target_feature(enable = "avx2,bmi1")]
pub(super) unsafe fn take(last: &mut Last, chunk: &[u8]) -> usize {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { vector::take::<Ymm>(last, chunk) }
}

/// [`Implementation::is_text`](super::super::kernel::Implementation::is_text).
///
/// # Safety
///
/// The CPU has the features named here, and there are four bytes or more.
#[target_feature(enable = "avx2,bmi1")]
pub(super) unsafe fn is_text(bytes: &[u8]) -> bool {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { vector::is_text::<Ymm>(bytes) }
}

/// [`bulk::take_large`].
///
/// # Safety
///
/// The CPU has the features named here, and the chunk is longer than a vector.
#[target_feature(enable = "avx2,bmi1")]
#[inline(never)]
unsafe fn take_large(last: &mut Last, chunk: &[u8]) -> usize {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { bulk::take_large::<Ymm>(last, chunk) }
}

/// [`bulk::locate`].
///
/// # Safety
///
/// The CPU has the features named here, and what [`bulk::locate`] asks for.
#[target_feature(enable = "avx2,bmi1")]
#[cold]
#[inline(never)]
unsafe fn locate(chunk: &[u8], at: usize, end: usize) -> usize {
    // SAFETY: the features are enabled here; the rest is the caller's promise.
    unsafe { bulk::locate::<Ymm>(chunk, at, end) }
}

/// A lead, then no continuation.
const TOO_SHORT: u8 = 1 << 0;
/// ASCII, then a continuation.
const TOO_LONG: u8 = 1 << 1;
/// `E0 80..=9F`
const OVERLONG_3: u8 = 1 << 2;
/// `F4 90..=BF`, and `F5..=FF` before `90..=BF`
const TOO_LARGE: u8 = 1 << 3;
/// `ED A0..=BF`
const SURROGATE: u8 = 1 << 4;
/// `C0` and `C1`
const OVERLONG_2: u8 = 1 << 5;
/// `F5..=FF` before `80..=8F`, and `F0 80..=8F`: no lead can be both.
const TOO_LARGE_1000: u8 = 1 << 6;
const OVERLONG_4: u8 = 1 << 6;
/// A continuation, then another one: bit 7, which is compared with whether they are due.
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
    // What the low half has no say in.
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

// The same tables where a lead of four is a flaw, whatever is after it. `TOO_LARGE` says so there, which no other lead
// has a use for.

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

/// From place `8 - n`: all bits set in the first `n` double words, none in the others.
static DOUBLE_WORDS: [i32; 16] = [-1, -1, -1, -1, -1, -1, -1, -1, 0, 0, 0, 0, 0, 0, 0, 0];

/// [`lanes::check`](super::super::lanes::check).
///
/// # Safety
///
/// The CPU has the features named here.
#[cfg(test)]
#[target_feature(enable = "avx2,bmi1")]
pub(super) unsafe fn check_lanes(pairs: impl Iterator<Item = (u8, u8)>) {
    // SAFETY: the features are enabled here.
    unsafe { super::super::lanes::check::<Ymm>(pairs, super::super::lanes::by_pairs) }
}

#[derive(Clone, Copy)]
struct Ymm(__m256i);

/// A table of 16 places in both halves of a vector.
#[inline(always)]
unsafe fn table(places: &'static [u8; 16]) -> __m256i {
    // SAFETY: the caller has AVX2; a reference to 16 bytes can be read.
    unsafe { _mm256_broadcastsi128_si256(_mm_loadu_si128(places.as_ptr().cast())) }
}

/// What the three tables leave possible of `p1` and the byte after it.
#[inline(always)]
unsafe fn wrong_pairs(
    p1: __m256i,
    x: __m256i,
    first_high: &'static [u8; 16],
    first_low: &'static [u8; 16],
    second_high: &'static [u8; 16],
) -> __m256i {
    // SAFETY: the caller has AVX2.
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

// SAFETY of every block below: the trait asks its caller for the CPU features, and where memory is read for memory
// that can be read.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Vector for Ymm {
    const LEN: usize = 32;
    const GROUP: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self(_mm256_setzero_si256()) }
    }

    #[inline(always)]
    unsafe fn last_bytes(last: u32) -> Self {
        unsafe { Self(_mm256_set1_epi32(last.cast_signed())) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Self(_mm256_loadu_si256(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        let len = chunk.len() - at;
        unsafe {
            // Whole double words by a load that touches only them; of the last four bytes of the chunk, which has
            // as many, those that are left.
            let words = _mm256_loadu_si256(DOUBLE_WORDS.as_ptr().add(8 - len / 4).cast());
            let whole = _mm256_maskload_epi32(chunk.as_ptr().add(at).cast(), words);
            let last = u32::from_le_bytes(chunk.as_ptr().add(chunk.len() - 4).cast::<[u8; 4]>().read());
            let last = (u64::from(last) >> (32 - 8 * (len % 4))) as u32;
            let places = _mm256_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7);
            let place = _mm256_cmpeq_epi32(places, _mm256_set1_epi32((len / 4) as i32));
            let part = _mm256_and_si256(place, _mm256_set1_epi32(last.cast_signed()));
            Self(_mm256_or_si256(whole, part))
        }
    }

    #[inline(always)]
    unsafe fn moved(self, before: Self) -> [Self; 3] {
        unsafe {
            // The high half of `before` and the low half of `self`: what stands before each half.
            let neighbour = _mm256_permute2x128_si256::<0x21>(before.0, self.0);
            [
                Self(_mm256_alignr_epi8::<15>(self.0, neighbour)),
                Self(_mm256_alignr_epi8::<14>(self.0, neighbour)),
                Self(_mm256_alignr_epi8::<13>(self.0, neighbour)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        unsafe { Self(_mm256_or_si256(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn is_ascii(self) -> bool {
        unsafe { _mm256_movemask_epi8(self.0) == 0 }
    }

    #[inline(always)]
    unsafe fn or_flaws(self, Self(x): Self, [Self(p1), Self(p2), Self(p3)]: [Self; 3]) -> Self {
        unsafe {
            let wrong = wrong_pairs(p1, x, &FIRST_HIGH, &FIRST_LOW, &SECOND_HIGH);
            let s2 = _mm256_subs_epu8(p2, _mm256_set1_epi8(0x60));
            let s3 = _mm256_subs_epu8(p3, _mm256_set1_epi8(0x70));
            let due = _mm256_and_si256(_mm256_or_si256(s2, s3), _mm256_set1_epi8(0x80_u8.cast_signed()));
            Self(_mm256_or_si256(self.0, _mm256_xor_si256(wrong, due)))
        }
    }

    #[inline(always)]
    unsafe fn or_flaws_in_bmp(self, Self(x): Self, [Self(p1), Self(p2)]: [Self; 2]) -> Self {
        unsafe {
            let wrong = wrong_pairs(p1, x, &FIRST_HIGH_IN_BMP, &FIRST_LOW_IN_BMP, &SECOND_HIGH_IN_BMP);
            let s2 = _mm256_subs_epu8(p2, _mm256_set1_epi8(0x60));
            let due = _mm256_and_si256(s2, _mm256_set1_epi8(0x80_u8.cast_signed()));
            Self(_mm256_or_si256(self.0, _mm256_xor_si256(wrong, due)))
        }
    }

    #[inline(always)]
    unsafe fn is_marked(self) -> bool {
        unsafe { _mm256_testz_si256(self.0, self.0) == 0 }
    }

    #[inline(always)]
    unsafe fn first_mark(self) -> usize {
        unsafe {
            let unmarked = _mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, _mm256_setzero_si256()));
            (!unmarked).trailing_zeros() as usize
        }
    }

    #[cfg(test)]
    #[inline(always)]
    unsafe fn mark_bits(self) -> u64 {
        unsafe {
            !u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(self.0, _mm256_setzero_si256())) as u32)
                & 0xFFFF_FFFF
        }
    }

    #[inline(always)]
    unsafe fn take_large(last: &mut Last, chunk: &[u8]) -> usize {
        unsafe { take_large(last, chunk) }
    }

    #[inline(always)]
    unsafe fn locate(chunk: &[u8], at: usize, end: usize) -> usize {
        unsafe { locate(chunk, at, end) }
    }

    #[inline(always)]
    unsafe fn prefetch(from: *const u8) {
        unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
    }

    #[inline(always)]
    unsafe fn prefetch_far(from: *const u8) {
        unsafe { _mm_prefetch::<_MM_HINT_T1>(from.cast()) }
    }
}
