//! Decodes quoted-printable with AVX2. The bytes of a segment are moved together 8 at a time, by a table of shuffles.

use core::arch::x86_64::*;

use crate::kernels::arch::portable::quoted::Window;
use crate::kernels::functions::{Segment, WINDOW};

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// For each mask of 8 bits, the indexes of the bits that are set, in order. The other entries are 0.
static KEPT: [[u8; 8]; 256] = {
    let mut kept = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut count, mut i) = (0, 0);
        while i < 8 {
            if mask >> i & 1 != 0 {
                kept[mask][count] = i as u8;
                count += 1;
            }
            i += 1;
        }
        mask += 1;
    }
    kept
};

/// Implements [`DecodeQuoted`](crate::kernels::functions::DecodeQuoted).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) fn decode_segments(encoded: &[u8], out: &mut [u8], segments: &mut [Segment]) -> usize {
    let (mut at, mut written) = (0, 0);
    for (count, segment) in segments.iter_mut().enumerate() {
        if encoded.len() - at < WINDOW || out.len() - written < WINDOW {
            return count;
        }
        // SAFETY: 64 bytes follow.
        let halves = unsafe {
            let from = encoded.as_ptr().add(at);
            [_mm256_loadu_si256(from.cast()), _mm256_loadu_si256(from.add(WIDTH).cast())]
        };
        let Some(found) = window(halves).segment() else { return count };
        let bytes = with_escapes(halves);
        // SAFETY: there is room for 64 bytes. Before the last 8 bytes of the window at most 56 were written.
        unsafe { store(bytes, found.0.kept, out.as_mut_ptr().add(written)) };
        at += usize::from(found.0.len);
        written += found.0.kept.count_ones() as usize;
        *segment = found.0;
    }
    segments.len()
}

#[target_feature(enable = "avx2")]
#[inline]
fn all(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

#[target_feature(enable = "avx2")]
#[inline]
fn is(x: __m256i, byte: u8) -> __m256i {
    _mm256_cmpeq_epi8(x, all(byte))
}

/// Returns the bytes that are at most `last`, unsigned.
#[target_feature(enable = "avx2")]
#[inline]
fn is_up_to(x: __m256i, last: u8) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_min_epu8(x, all(last)), x)
}

/// The distance of each byte from `0`, and the distance of each letter from `a`.
#[target_feature(enable = "avx2")]
#[inline]
fn distances(x: __m256i) -> (__m256i, __m256i) {
    let lower_case = _mm256_or_si256(x, all(0x20));
    (_mm256_sub_epi8(x, all(b'0')), _mm256_sub_epi8(lower_case, all(b'a')))
}

#[target_feature(enable = "avx2")]
#[inline]
fn window([low, high]: [__m256i; 2]) -> Window {
    let [low, high] = [classes(low), classes(high)];
    let mask = |i: usize| u64::from(low[i]) | u64::from(high[i]) << WIDTH;
    Window { signs: mask(0), digits: mask(1), crs: mask(2), lfs: mask(3), blanks: mask(4), stops: mask(5) }
}

/// The masks of a [`Window`], in the order of its fields.
#[target_feature(enable = "avx2")]
#[inline]
fn classes(x: __m256i) -> [u32; 6] {
    let (from_zero, from_a) = distances(x);
    let digits = _mm256_or_si256(is_up_to(from_zero, 9), is_up_to(from_a, 5));
    let (crs, lfs, tabs) = (is(x, b'\r'), is(x, b'\n'), is(x, b'\t'));
    // Less than a space, signed: control characters, and bytes that are not ASCII.
    let outside = _mm256_cmpgt_epi8(all(b' '), x);
    let controls = _mm256_andnot_si256(_mm256_or_si256(_mm256_or_si256(crs, lfs), tabs), outside);
    let stops = _mm256_or_si256(controls, is(x, 0x7F));
    let blanks = _mm256_or_si256(tabs, is(x, b' '));
    let mask = |marks: __m256i| _mm256_movemask_epi8(marks).cast_unsigned();
    [mask(is(x, b'=')), mask(digits), mask(crs), mask(lfs), mask(blanks), mask(stops)]
}

/// Replaces each `=` by the value of the two digits after it.
#[target_feature(enable = "avx2")]
#[inline]
fn with_escapes([low, high]: [__m256i; 2]) -> [__m256i; 2] {
    // The value of each digit. Other bytes have a value below 16 too, so that no bits move to a neighbor.
    let values = |x: __m256i| {
        let (from_zero, from_a) = distances(x);
        let letters = _mm256_add_epi8(from_a, all(10));
        _mm256_and_si256(_mm256_blendv_epi8(from_zero, letters, is_up_to(from_a, 5)), all(0x0F))
    };
    // Moves each byte to the position before it.
    let earlier = |low: __m256i, high: __m256i| {
        let middle = _mm256_permute2x128_si256::<0x21>(low, high);
        let end = _mm256_permute2x128_si256::<0x81>(high, high);
        [_mm256_alignr_epi8::<1>(middle, low), _mm256_alignr_epi8::<1>(end, high)]
    };
    let (first_low, first_high) = (values(low), values(high));
    let [second_low, second_high] = earlier(first_low, first_high);
    let pair = |first: __m256i, second: __m256i| _mm256_or_si256(_mm256_slli_epi16::<4>(first), second);
    let [value_low, value_high] = earlier(pair(first_low, second_low), pair(first_high, second_high));
    [_mm256_blendv_epi8(low, value_low, is(low, b'=')), _mm256_blendv_epi8(high, value_high, is(high, b'='))]
}

/// Writes the bytes whose bit is set in `kept`.
///
/// # Safety
///
/// 64 bytes can be written to `to`.
#[target_feature(enable = "avx2,popcnt")]
#[inline]
unsafe fn store([low, high]: [__m256i; 2], kept: u64, to: *mut u8) {
    if kept & kept.wrapping_add(1) == 0 {
        // SAFETY: the caller guarantees room for 64 bytes.
        unsafe {
            _mm256_storeu_si256(to.cast(), low);
            _mm256_storeu_si256(to.add(WIDTH).cast(), high);
        }
        return;
    }
    let quarters = [
        _mm256_castsi256_si128(low),
        _mm256_extracti128_si256::<1>(low),
        _mm256_castsi256_si128(high),
        _mm256_extracti128_si256::<1>(high),
    ];
    let mut written = 0;
    for (quarter, kept) in quarters.into_iter().zip(kept.to_le_bytes().as_chunks::<2>().0) {
        for (eight, &kept) in [quarter, _mm_srli_si128::<8>(quarter)].into_iter().zip(kept) {
            // SAFETY: 8 bytes are read from the table. At most 8 bytes were written for each of the eights before, so
            // there is room for 8 bytes.
            unsafe {
                let shuffle = _mm_loadl_epi64(KEPT[usize::from(kept)].as_ptr().cast());
                _mm_storel_epi64(to.add(written).cast(), _mm_shuffle_epi8(eight, shuffle));
            }
            written += kept.count_ones() as usize;
        }
    }
}
