//! Counts bytes with AVX-512. A comparison returns a mask with one bit for each byte.

use core::arch::x86_64::*;

use super::Zmm;
use crate::arch::vector::Vector;
use crate::as_chunks::as_chunks;
use crate::functions::{ASCII_GROUP, Range};

/// The number of bytes in a vector.
const WIDTH: usize = 64;

/// The distance in bytes at which memory is prefetched into the L1 cache.
const AHEAD: usize = 1024;

/// Implements [`count`](crate::functions::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(crate) fn count(bytes: &[u8], wanted: u8) -> usize {
    let all = _mm512_set1_epi8(wanted.cast_signed());
    count_by(bytes, |x| _mm512_cmpeq_epi8_mask(x, all))
}

/// Implements [`count_range`](crate::functions::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(crate) fn count_range(bytes: &[u8], range: Range) -> usize {
    let [first, width] = range.first_and_width().map(|byte| _mm512_set1_epi8(byte));
    count_by(bytes, |x| _mm512_cmple_epu8_mask(_mm512_sub_epi8(x, first), width))
}

/// Counts the bits that `bits` returns for each vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
fn count_by(bytes: &[u8], bits: impl Fn(__m512i) -> u64) -> usize {
    let (vectors, rest) = as_chunks::<WIDTH>(bytes);
    let mut total = 0;
    for vector in vectors {
        // SAFETY: an array of 64 bytes is read.
        let x = unsafe { _mm512_loadu_si512(vector.as_ptr().cast()) };
        total += bits(x).count_ones() as usize;
    }
    let live = (1 << rest.len()) - 1;
    // SAFETY: masked bytes are not read.
    let x = unsafe { _mm512_maskz_loadu_epi8(live, rest.as_ptr().cast()) };
    total + (bits(x) & live).count_ones() as usize
}

/// Implements [`count_ascii`](crate::functions::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,popcnt")]
pub(crate) fn count_ascii(bytes: &[u8], wanted: u8) -> (usize, usize) {
    let all = _mm512_set1_epi8(wanted.cast_signed());
    let (groups, _) = as_chunks::<ASCII_GROUP>(bytes);
    let mut len = 0;
    let mut total = 0;
    for group in groups {
        let start = group.as_ptr();
        for vector in 0..ASCII_GROUP / WIDTH {
            Zmm::prefetch(start.wrapping_add(AHEAD + vector * WIDTH));
        }
        // SAFETY: a group is four vectors.
        let (a, b, c, d) = unsafe {
            (
                _mm512_loadu_si512(start.cast()),
                _mm512_loadu_si512(start.add(WIDTH).cast()),
                _mm512_loadu_si512(start.add(2 * WIDTH).cast()),
                _mm512_loadu_si512(start.add(3 * WIDTH).cast()),
            )
        };
        // a | b | c | d
        let any = _mm512_ternarylogic_epi32::<0xFE>(_mm512_or_si512(a, b), c, d);
        if _mm512_movepi8_mask(any) != 0 {
            break;
        }
        // Written without a closure, which the compiler would not inline.
        let low = _mm512_cmpeq_epi8_mask(a, all).count_ones() + _mm512_cmpeq_epi8_mask(b, all).count_ones();
        let high = _mm512_cmpeq_epi8_mask(c, all).count_ones() + _mm512_cmpeq_epi8_mask(d, all).count_ones();
        total += (low + high) as usize;
        len += ASCII_GROUP;
    }
    (len, total)
}

const _: () = assert!(ASCII_GROUP == 4 * WIDTH);

/// Implements [`ascii_len`](crate::functions::Functions).
#[cfg(feature = "transcode")]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2")]
pub(crate) fn ascii_len(bytes: &[u8]) -> usize {
    // SAFETY: the features are enabled here.
    unsafe { crate::arch::vector::ascii_len::<Zmm>(bytes) }
}
