//! Where a byte is, with the vectors of the kernel in use.

use core::arch::x86_64::{
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8, _mm512_add_epi16,
    _mm512_castsi512_si256, _mm512_cmpeq_epi8_mask, _mm512_cvtepu8_epi16, _mm512_extracti64x4_epi64,
    _mm512_loadu_si512, _mm512_maskz_compress_epi8, _mm512_set1_epi8, _mm512_set1_epi16,
    _mm512_setzero_si512, _mm512_storeu_si512,
};

use super::super::kernel::Kernel;
use super::super::places::{BLOCK, Places, note, plainly};
use super::{AVX2, AVX512};

pub(in crate::scan) fn search(kernel: Kernel, places: &mut Places, bytes: &[u8], byte: u8) {
    let name = kernel.name();
    if name == AVX512.name {
        // SAFETY: only a supported kernel becomes a `Kernel`.
        unsafe { avx512(places, bytes, byte) }
    } else if name == AVX2.name {
        // SAFETY: as before.
        unsafe { avx2(places, bytes, byte) }
    } else {
        plainly::search(kernel, places, bytes, byte);
    }
}

/// # Safety
///
/// The CPU has what the kernel `avx512` needs.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn avx512(places: &mut Places, bytes: &[u8], byte: u8) {
    let all = _mm512_set1_epi8(byte as i8);
    // SAFETY: the array has as many bytes as the vector.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let bits = |block: &[u8; BLOCK]| {
        // SAFETY: a block has as many bytes as the vector.
        _mm512_cmpeq_epi8_mask(unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }, all)
    };
    // The start of the block in each place; that it is the sum of what went before spares a broadcast, which waits for
    // the same unit as the compression does.
    let mut start = _mm512_setzero_si512();
    places.search_with(bytes, bits, |bits, _, room| {
        let found = _mm512_maskz_compress_epi8(bits, numbers);
        let low = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(found)), start);
        // SAFETY: there is room for 64 places, and the vector holds the first 32.
        unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), low) };
        let count = bits.count_ones() as usize;
        if count > BLOCK / 2 {
            let high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(found));
            // SAFETY: there is room for 64 places, and the vector holds the last 32.
            unsafe {
                _mm512_storeu_si512(room[BLOCK / 2..].as_mut_ptr().cast(), _mm512_add_epi16(high, start));
            }
        }
        start = _mm512_add_epi16(start, _mm512_set1_epi16(BLOCK as i16));
        count
    });
}

const NUMBERS: [u8; BLOCK] = {
    let mut numbers = [0; BLOCK];
    let mut number = 0;
    while number < BLOCK {
        numbers[number] = number as u8;
        number += 1;
    }
    numbers
};

/// # Safety
///
/// The CPU has what the kernel `avx2` needs.
#[target_feature(enable = "avx2,bmi1")]
unsafe fn avx2(places: &mut Places, bytes: &[u8], byte: u8) {
    let all = _mm256_set1_epi8(byte as i8);
    let bits = |block: &[u8; BLOCK]| {
        let half = |start: usize| {
            debug_assert!(start + 32 <= BLOCK);
            // SAFETY: each half of a block has as many bytes as the vector.
            let half = unsafe { _mm256_loadu_si256(block.as_ptr().add(start).cast()) };
            u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, all)) as u32)
        };
        half(0) | half(32) << 32
    };
    places.search_with(bytes, bits, note);
}
