//! Where an octet is, with the vectors of the kernel in use.

use core::arch::x86_64::{
    _mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8, _mm512_cmpeq_epi8_mask,
    _mm512_loadu_si512, _mm512_set1_epi8,
};

use super::super::kernel::Kernel;
use super::super::places::{BLOCK, Places, plainly};
use super::{AVX2, AVX512};

pub(in crate::scan) fn search(places: &mut Places, octets: &[u8], octet: u8) {
    let kernel = Kernel::in_use().name();
    if kernel == AVX512.name {
        // SAFETY: only a supported kernel is in use.
        unsafe { avx512(places, octets, octet) }
    } else if kernel == AVX2.name {
        // SAFETY: as before.
        unsafe { avx2(places, octets, octet) }
    } else {
        plainly::search(places, octets, octet);
    }
}

/// # Safety
///
/// The CPU has what the kernel `avx512` needs.
#[target_feature(enable = "avx512f,avx512bw,bmi1,bmi2,popcnt")]
unsafe fn avx512(places: &mut Places, octets: &[u8], octet: u8) {
    let all = _mm512_set1_epi8(octet as i8);
    places.search_with(octets, |block| {
        // SAFETY: a block has as many octets as the vector.
        _mm512_cmpeq_epi8_mask(unsafe { _mm512_loadu_si512(block.as_ptr().cast()) }, all)
    });
}

/// # Safety
///
/// The CPU has what the kernel `avx2` needs.
#[target_feature(enable = "avx2,bmi1")]
unsafe fn avx2(places: &mut Places, octets: &[u8], octet: u8) {
    let all = _mm256_set1_epi8(octet as i8);
    places.search_with(octets, |block| {
        let half = |start: usize| {
            debug_assert!(start + 32 <= BLOCK);
            // SAFETY: each half of a block has as many octets as the vector.
            let half = unsafe { _mm256_loadu_si256(block.as_ptr().add(start).cast()) };
            u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, all)) as u32)
        };
        half(0) | half(32) << 32
    });
}
