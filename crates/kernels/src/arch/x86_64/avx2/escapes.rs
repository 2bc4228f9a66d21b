//! The escapes of JSON, by the bits of 64 bytes at a time. The lowest bit is for the first byte.

use core::arch::x86_64::*;

use crate::as_chunks::as_chunks;
use crate::functions::BLOCK;

const ODD: u64 = 0xAAAA_AAAA_AAAA_AAAA;

/// Returns a bit for each byte of a block. It is set if the byte, after these bits are set in it, is one from `first`
/// to `last`.
#[target_feature(enable = "avx2")]
#[inline]
fn in_range(block: &[u8; BLOCK], bits: u8, first: u8, last: u8) -> u64 {
    let (halves, _) = as_chunks::<32>(block);
    let mut found = 0;
    for half in halves.iter().rev() {
        // SAFETY: a half of a block has the size of a vector.
        let x = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        let number = _mm256_sub_epi8(_mm256_or_si256(x, all(bits)), all(first));
        let is_less = _mm256_cmpeq_epi8(_mm256_min_epu8(number, all(last - first)), number);
        found = found << 32 | u64::from(_mm256_movemask_epi8(is_less).cast_unsigned());
    }
    found
}

#[target_feature(enable = "avx2")]
#[inline]
fn all(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

/// Implements [`escapes_len`](crate::functions::Functions).
#[target_feature(enable = "avx2,bmi1")]
pub(crate) fn escapes_len(text: &[u8]) -> usize {
    const CASE: u8 = b'a' ^ b'A';
    let mut len = 0;
    // State of the previous block: whether its last byte starts an escape; the `u` of escapes; the first digits that
    // are `D`; the second digits of the high surrogates.
    let [mut is_begun, mut units, mut firsts, mut highs] = [0_u64; 4];
    for block in as_chunks(text).0 {
        let backslashes = in_range(block, 0, b'\\', b'\\');
        if backslashes | is_begun | units >> 60 | highs >> 58 == 0 {
            [units, firsts, highs] = [0; 3];
            len += BLOCK;
            continue;
        }
        // A backslash that is not escaped escapes the next byte. The subtraction finds every other one of those in a row.
        let starts = backslashes & !is_begun;
        let ends = (starts << 1 | ODD).wrapping_sub(starts) ^ ODD;
        let escaped = ends ^ (backslashes | is_begun);
        let u = escaped & in_range(block, 0, b'u', b'u');
        let two = u << 1 | units >> 63 | u << 2 | units >> 62;
        let four = two | u << 3 | units >> 61 | u << 4 | units >> 60;
        let digits = in_range(block, 0, b'0', b'9') | in_range(block, CASE, b'a', b'f');
        let mut wrong = four & !digits;
        let first = (u << 1 | units >> 63) & in_range(block, CASE, b'd', b'd');
        let mut high = 0;
        if first | firsts >> 63 | highs >> 58 != 0 {
            let second = first << 1 | firsts >> 63;
            high = second & (in_range(block, 0, b'8', b'9') | in_range(block, CASE, b'a', b'b'));
            let low = second & in_range(block, CASE, b'c', b'f');
            // The second digit of a low surrogate is 6 bytes after the second digit of a high one.
            wrong |= low ^ (high << 6 | highs >> 58);
        }
        if wrong != 0 {
            break;
        }
        [is_begun, units, firsts, highs] = [(ends & backslashes) >> 63, u, first, high];
        len += BLOCK;
    }
    // Moves back to the start of an escape or a pair that the last block ends in.
    let mut end = len - is_begun as usize;
    if units >> 60 != 0 {
        end = len - 2 - units.leading_zeros() as usize;
    }
    if highs >> 56 != 0 {
        end = end.min(len - 4 - highs.leading_zeros() as usize);
    }
    end
}
