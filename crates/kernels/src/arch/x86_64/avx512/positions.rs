//! Finds every position of a byte, with AVX-512 VBMI2: the positions of the equal bytes are compressed to the start of
//! a vector.

use core::arch::x86_64::*;

use super::classes::NUMBERS;
use crate::arch::portable::positions::find_all_with;
use crate::functions::{BLOCK, CAPACITY, Found};

/// Implements [`find_all`](crate::functions::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) fn find_all(bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found {
    let all = _mm512_set1_epi8(byte.cast_signed());
    // SAFETY: the array has the size of a vector.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    // The start of the block in each lane. It is incremented by an addition, because a broadcast would compete with the
    // compression for an execution unit.
    let mut start = _mm512_setzero_si512();
    find_all_with(
        bytes,
        positions,
        |block| equal_bits(block, all),
        |bits, _, room| {
            let found = _mm512_maskz_compress_epi8(bits, numbers);
            let low = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(found)), start);
            // SAFETY: there is room for 64 positions, and the vector has the first 32.
            unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), low) };
            let count = bits.count_ones() as usize;
            if count > BLOCK / 2 {
                let high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(found));
                let high = _mm512_add_epi16(high, start);
                // SAFETY: there is room for 64 positions, and the vector has the last 32.
                unsafe { _mm512_storeu_si512(room[BLOCK / 2..].as_mut_ptr().cast(), high) };
            }
            start = _mm512_add_epi16(start, _mm512_set1_epi16(BLOCK as i16));
            count
        },
    )
}

/// Returns a bit for each byte of a block, set if the byte is equal to the one in each lane of `all`.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn equal_bits(block: &[u8; BLOCK], all: __m512i) -> u64 {
    // SAFETY: a block has the size of a vector.
    _mm512_cmpeq_epi8_mask(unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }, all)
}
