//! Surrogate pairs of 6 bytes with AVX2. A table, which is indexed by a mask of 8 bits, moves 8 bytes to their places in
//! the output.

mod join;
mod split;

use core::arch::x86_64::*;

pub(in crate::kernels) use join::join;
pub(in crate::kernels) use split::split;

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// Returns a vector with bit 7 of a byte set where the byte is at least `F0`.
#[inline]
#[target_feature(enable = "avx2")]
fn at_least_f0(x: __m256i) -> __m256i {
    _mm256_subs_epu8(x, byte(0x70))
}

/// Returns a vector of one byte.
#[inline]
#[target_feature(enable = "avx2")]
fn byte(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - 32 bytes at `from` can be read.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn load(from: *const u8) -> __m256i {
    // SAFETY: the caller guarantees the memory.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - 32 bytes at `to` can be written.
#[inline]
#[target_feature(enable = "avx2")]
unsafe fn store(to: *mut u8, x: __m256i) {
    // SAFETY: the caller guarantees the memory.
    unsafe { _mm256_storeu_si256(to.cast(), x) }
}
