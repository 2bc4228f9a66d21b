//! AVX-512 with the byte permutations of VBMI: Ice Lake, Zen 4 and later.
//!
//! This is the [formula](crate::formula) without changes.

#[cfg(feature = "base64")]
pub(super) mod base64;
pub(super) mod classes;
#[cfg(feature = "transcode")]
pub(super) mod copy;
pub(super) mod count;
#[cfg(feature = "transcode")]
pub(super) mod latin;
pub(super) mod positions;
#[cfg(feature = "transcode")]
pub(super) use utf16 as to_utf16;
#[cfg(feature = "transcode")]
pub(super) mod utf16;

use core::arch::x86_64::*;

use crate::arch::vector::{Vector, entries, entry_methods};
use crate::formula::{SECOND, SECOND_IN_BMP};
use crate::state::Carry;

entries!(Zmm, by_due_bytes, "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2");

#[derive(Clone, Copy)]
struct Zmm(__m512i);

impl Vector for Zmm {
    const LEN: usize = 64;
    const GROUP: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller guarantees AVX-512.
        unsafe { Self(_mm512_setzero_si512()) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees AVX-512 and readable memory.
        unsafe { Self(_mm512_loadu_si512(from.cast())) }
    }

    #[inline(always)]
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        let len = chunk.len() - at;
        // SAFETY: the caller guarantees AVX-512. A masked load reads only the bytes whose bit is set.
        unsafe { Self(_mm512_maskz_loadu_epi8(_bzhi_u64(!0, len as u32), chunk.as_ptr().add(at).cast())) }
    }

    #[inline(always)]
    fn shifted(self, before: Self) -> [Self; 3] {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe {
            // `neighbour` has in each lane the double word before it. Each lane is shifted by 1, 2 and 3 bytes, and
            // bytes of the neighbor are shifted in.
            let neighbour = _mm512_alignr_epi32::<15>(self.0, before.0);
            [
                Self(_mm512_shldi_epi32::<8>(self.0, neighbour)),
                Self(_mm512_shldi_epi32::<16>(self.0, neighbour)),
                Self(_mm512_shldi_epi32::<24>(self.0, neighbour)),
            ]
        }
    }

    #[inline(always)]
    fn shifted_after(self, carry: Carry) -> [Self; 3] {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        self.shifted(Self(unsafe { _mm512_set1_epi32(carry.word().cast_signed()) }))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe { Self(_mm512_or_si512(self.0, other.0)) }
    }

    #[inline(always)]
    fn is_ascii(self) -> bool {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe { _mm512_movepi8_mask(self.0) == 0 }
    }

    #[inline(always)]
    fn or_marks(self, Self(x): Self, [Self(p1), Self(p2), Self(p3)]: [Self; 3]) -> Self {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe {
            let s1 = _mm512_subs_epu8(p1, _mm512_set1_epi8(0x40));
            let s2 = _mm512_subs_epu8(p2, _mm512_set1_epi8(0x60));
            let s3 = _mm512_subs_epu8(p3, _mm512_set1_epi8(0x70));
            let due = _mm512_ternarylogic_epi32::<0xFE>(s1, s2, s3);
            let cont = _mm512_adds_epi8(x, _mm512_set1_epi8(0x40));
            let second = _mm512_load_si512(SECOND.0.as_ptr().cast());
            let w = _mm512_add_epi8(x, _mm512_permutexvar_epi8(p1, second));
            // self | (due ^ cont), then | (s1 & w)
            let marks = _mm512_ternarylogic_epi32::<0xF6>(self.0, due, cont);
            Self(_mm512_ternarylogic_epi32::<0xF8>(marks, s1, w))
        }
    }

    #[inline(always)]
    fn or_marks_in_bmp(self, x: Self, p: [Self; 2]) -> Self {
        let (Self(marks), Self(more)) = self.parts_in_bmp(x, p);
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe { Self(_mm512_or_si512(marks, more)) }
    }

    #[inline(always)]
    fn or_marks_of_pair(self, (x, p): (Self, [Self; 2]), (y, q): (Self, [Self; 2])) -> Self {
        let (marks, Self(first)) = self.parts_in_bmp(x, p);
        let (Self(marks), Self(second)) = marks.parts_in_bmp(y, q);
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe { Self(_mm512_ternarylogic_epi32::<0xFE>(marks, first, second)) }
    }

    #[inline(always)]
    fn is_marked(self) -> bool {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe { _mm512_movepi8_mask(self.0) != 0 }
    }

    #[inline(always)]
    fn first_mark_before(self, len: usize) -> Option<usize> {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        let index = unsafe { _mm512_movepi8_mask(self.0) }.trailing_zeros() as usize;
        (index < len).then_some(index)
    }

    #[cfg(test)]
    #[inline(always)]
    fn mark_bits(self) -> u64 {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe { _mm512_movepi8_mask(self.0) }
    }

    entry_methods!();

    prefetches!();
}

impl Zmm {
    /// Returns two vectors of marks: these and the bytes that may not follow their lead byte; and missing or surplus bytes.
    #[inline(always)]
    fn parts_in_bmp(self, Self(x): Self, [Self(p1), Self(p2)]: [Self; 2]) -> (Self, Self) {
        // SAFETY: a `Zmm` exists only if the CPU has AVX-512.
        unsafe {
            let s1 = _mm512_subs_epu8(p1, _mm512_set1_epi8(0x40));
            let s2 = _mm512_subs_epu8(p2, _mm512_set1_epi8(0x60));
            let cont = _mm512_adds_epi8(x, _mm512_set1_epi8(0x40));
            let second = _mm512_load_si512(SECOND_IN_BMP.0.as_ptr().cast());
            let w = _mm512_add_epi8(x, _mm512_permutexvar_epi8(p1, second));
            // self | (s1 & w), and cont ^ (s1 | s2)
            let marks = _mm512_ternarylogic_epi32::<0xF8>(self.0, s1, w);
            (Self(marks), Self(_mm512_ternarylogic_epi32::<0x1E>(cont, s1, s2)))
        }
    }
}
