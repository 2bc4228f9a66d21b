//! Finds every position of a byte, with AVX2.

use core::arch::x86_64::{_mm256_cmpeq_epi8, _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_set1_epi8};

use crate::kernels::arch::portable::positions::{find_all_with, write_positions};
use crate::kernels::functions::{BLOCK, CAPACITY, Found};

/// Implements [`FindAll`](crate::kernels::functions::FindAll).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn find_all(bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found {
    let all = _mm256_set1_epi8(byte.cast_signed());
    let equal_bits = |block: &[u8; BLOCK]| {
        let half = |start: usize| {
            debug_assert!(start + 32 <= BLOCK);
            // SAFETY: a half of a block has the size of a vector.
            let half = unsafe { _mm256_loadu_si256(block.as_ptr().add(start).cast()) };
            u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(half, all)).cast_unsigned())
        };
        half(0) | half(32) << 32
    };
    find_all_with(bytes, positions, equal_bits, write_positions)
}
