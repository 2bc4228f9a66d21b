//! AVX-512 with the byte permutations of VBMI: Ice Lake, Zen 4 and later.

use core::arch::x86_64::*;

use super::super::twin::{SECOND, SECOND_IN_BMP};
use super::super::vector::{self, Vector};
use super::super::{Last, bulk};

/// [`Implementation::take`](super::super::kernel::Implementation::take).
///
/// # Safety
///
/// The CPU has the features named here, and the chunk has four bytes or more.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2")]
pub(super) unsafe fn take(last: &mut Last, chunk: &[u8]) -> usize {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { vector::take::<Zmm>(last, chunk) }
}

/// [`Implementation::is_text`](super::super::kernel::Implementation::is_text).
///
/// # Safety
///
/// The CPU has the features named here, and there are four bytes or more.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2")]
pub(super) unsafe fn is_text(bytes: &[u8]) -> bool {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { vector::is_text::<Zmm>(bytes) }
}

/// [`bulk::take_large`].
///
/// # Safety
///
/// The CPU has the features named here, and the chunk is longer than a vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2")]
#[inline(never)]
unsafe fn take_large(last: &mut Last, chunk: &[u8]) -> usize {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { bulk::take_large::<Zmm>(last, chunk) }
}

/// [`bulk::locate`].
///
/// # Safety
///
/// The CPU has the features named here, and what [`bulk::locate`] asks for.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2")]
#[cold]
#[inline(never)]
unsafe fn locate(chunk: &[u8], at: usize, end: usize) -> usize {
    // SAFETY: the features are enabled here; the rest is the caller's promise.
    unsafe { bulk::locate::<Zmm>(chunk, at, end) }
}

/// [`lanes::check`](super::super::lanes::check).
///
/// # Safety
///
/// The CPU has the features named here.
#[cfg(test)]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2")]
pub(super) unsafe fn check_lanes(pairs: impl Iterator<Item = (u8, u8)>) {
    // SAFETY: the features are enabled here.
    unsafe { super::super::lanes::check::<Zmm>(pairs, super::super::lanes::by_due_bytes) }
}

#[derive(Clone, Copy)]
struct Zmm(__m512i);

// SAFETY of every block below: the trait asks its caller for the CPU features, and where memory is read for memory
// that can be read.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Vector for Zmm {
    const LEN: usize = 64;
    const GROUP: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self(_mm512_setzero_si512()) }
    }

    #[inline(always)]
    unsafe fn last_bytes(last: u32) -> Self {
        unsafe { Self(_mm512_set1_epi32(last.cast_signed())) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Self(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        let len = chunk.len() - at;
        // A masked load touches only the bytes whose bit is set.
        unsafe { Self(_mm512_maskz_loadu_epi8(_bzhi_u64(!0, len as u32), chunk.as_ptr().add(at).cast())) }
    }

    #[inline(always)]
    unsafe fn moved(self, before: Self) -> [Self; 3] {
        unsafe {
            // Each double word one place on; then each takes one, two, three bytes from its neighbour.
            let neighbour = _mm512_alignr_epi32::<15>(self.0, before.0);
            [
                Self(_mm512_shldi_epi32::<8>(self.0, neighbour)),
                Self(_mm512_shldi_epi32::<16>(self.0, neighbour)),
                Self(_mm512_shldi_epi32::<24>(self.0, neighbour)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        unsafe { Self(_mm512_or_si512(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn is_ascii(self) -> bool {
        unsafe { _mm512_movepi8_mask(self.0) == 0 }
    }

    #[inline(always)]
    unsafe fn or_flaws(self, Self(x): Self, [Self(p1), Self(p2), Self(p3)]: [Self; 3]) -> Self {
        unsafe {
            let s1 = _mm512_subs_epu8(p1, _mm512_set1_epi8(0x40));
            let s2 = _mm512_subs_epu8(p2, _mm512_set1_epi8(0x60));
            let s3 = _mm512_subs_epu8(p3, _mm512_set1_epi8(0x70));
            let due = _mm512_ternarylogic_epi32::<0xFE>(s1, s2, s3);
            let cont = _mm512_adds_epi8(x, _mm512_set1_epi8(0x40));
            let second = _mm512_load_si512(SECOND.0.as_ptr().cast());
            let w = _mm512_add_epi8(x, _mm512_permutexvar_epi8(p1, second));
            // self | (due ^ cont), then that | (s1 & w)
            let marks = _mm512_ternarylogic_epi32::<0xF6>(self.0, due, cont);
            Self(_mm512_ternarylogic_epi32::<0xF8>(marks, s1, w))
        }
    }

    #[inline(always)]
    unsafe fn or_flaws_in_bmp(self, Self(x): Self, [Self(p1), Self(p2)]: [Self; 2]) -> Self {
        unsafe {
            let s1 = _mm512_subs_epu8(p1, _mm512_set1_epi8(0x40));
            let s2 = _mm512_subs_epu8(p2, _mm512_set1_epi8(0x60));
            let cont = _mm512_adds_epi8(x, _mm512_set1_epi8(0x40));
            let second = _mm512_load_si512(SECOND_IN_BMP.0.as_ptr().cast());
            let w = _mm512_add_epi8(x, _mm512_permutexvar_epi8(p1, second));
            // self | (s1 & w), then that | (cont ^ (s1 | s2))
            let marks = _mm512_ternarylogic_epi32::<0xF8>(self.0, s1, w);
            Self(_mm512_or_si512(marks, _mm512_ternarylogic_epi32::<0x1E>(cont, s1, s2)))
        }
    }

    #[inline(always)]
    unsafe fn is_marked(self) -> bool {
        unsafe { _mm512_movepi8_mask(self.0) != 0 }
    }

    #[inline(always)]
    unsafe fn first_mark(self) -> usize {
        unsafe { _mm512_movepi8_mask(self.0).trailing_zeros() as usize }
    }

    #[cfg(test)]
    #[inline(always)]
    unsafe fn mark_bits(self) -> u64 {
        unsafe { _mm512_movepi8_mask(self.0) }
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
