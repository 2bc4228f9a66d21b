//! NEON, which every 64-bit ARM CPU has.
//!
//! This is the [formula](crate::formula). The index of the table lookup is `p1 - C0` instead of `p1 & 3F`. If
//! `p1` is not a lead byte, the index is above 63 and the lookup returns 0, which `s1` masks in any case.

use core::arch::aarch64::*;

use crate::arch::vector::{LAST_TO_FRONT, Vector, entries, entry_methods, words_of_short};
use crate::formula::{SECOND, SECOND_IN_BMP};
use crate::state::Carry;

/// Implements [`ascii_len`](crate::functions::Functions).
#[cfg(feature = "transcode")]
#[target_feature(enable = "neon")]
pub(super) fn ascii_len(bytes: &[u8]) -> usize {
    // SAFETY: the features are enabled here.
    unsafe { crate::arch::vector::ascii_len::<Neon>(bytes) }
}

entries!(Neon, by_due_bytes, "neon");

#[derive(Clone, Copy)]
pub(super) struct Neon(pub(super) uint8x16_t);

impl Vector for Neon {
    const LEN: usize = 16;
    const GROUP: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller guarantees NEON.
        unsafe { Self(vdupq_n_u8(0)) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees NEON and readable memory.
        unsafe { Self(vld1q_u8(from)) }
    }

    #[inline(always)]
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        let all = chunk.len();
        let len = chunk.len() - at;
        if all >= Self::LEN {
            // SAFETY: the caller guarantees NEON. The code reads the last 16 bytes of the chunk, and 16 bytes of the
            // table from index `16 - len`, which is 0 to 16.
            return unsafe {
                let order = vld1q_u8(LAST_TO_FRONT.as_ptr().add(Self::LEN - len));
                Self(vqtbl1q_u8(vld1q_u8(chunk.as_ptr().add(all - Self::LEN)), order))
            };
        }
        // SAFETY: the chunk has at least 4 bytes and is shorter than a vector, so the rest is the whole chunk.
        let [front, back] = unsafe { words_of_short(chunk) };
        // SAFETY: the caller guarantees NEON.
        unsafe { Self(vcombine_u8(vcreate_u8(front), vcreate_u8(back))) }
    }

    #[inline(always)]
    fn shifted(self, before: Self) -> [Self; 3] {
        // SAFETY: a `Neon` exists only if the CPU has NEON.
        unsafe {
            [
                Self(vextq_u8::<15>(before.0, self.0)),
                Self(vextq_u8::<14>(before.0, self.0)),
                Self(vextq_u8::<13>(before.0, self.0)),
            ]
        }
    }

    #[inline(always)]
    fn shifted_after(self, carry: Carry) -> [Self; 3] {
        // SAFETY: a `Neon` exists only if the CPU has NEON.
        self.shifted(Self(unsafe { vreinterpretq_u8_u32(vdupq_n_u32(carry.word())) }))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        // SAFETY: a `Neon` exists only if the CPU has NEON.
        unsafe { Self(vorrq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    fn is_ascii(self) -> bool {
        // SAFETY: a `Neon` exists only if the CPU has NEON.
        unsafe { vmaxvq_u8(self.0) < 0x80 }
    }

    #[inline(always)]
    fn or_marks(self, Self(x): Self, [Self(p1), Self(p2), Self(p3)]: [Self; 3]) -> Self {
        // SAFETY: a `Neon` exists only if the CPU has NEON.
        unsafe {
            let s1 = vqsubq_u8(p1, vdupq_n_u8(0x40));
            let s2 = vqsubq_u8(p2, vdupq_n_u8(0x60));
            let s3 = vqsubq_u8(p3, vdupq_n_u8(0x70));
            let due = vorrq_u8(vorrq_u8(s1, s2), s3);
            let cont = vreinterpretq_u8_s8(vqaddq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(0x40)));
            let second = vld1q_u8_x4(SECOND.0.as_ptr());
            let w = vaddq_u8(x, vqtbl4q_u8(second, vsubq_u8(p1, vdupq_n_u8(0xC0))));
            let marks = vorrq_u8(self.0, veorq_u8(due, cont));
            Self(vorrq_u8(marks, vandq_u8(s1, w)))
        }
    }

    #[inline(always)]
    fn or_marks_in_bmp(self, Self(x): Self, [Self(p1), Self(p2)]: [Self; 2]) -> Self {
        // SAFETY: a `Neon` exists only if the CPU has NEON.
        unsafe {
            let s1 = vqsubq_u8(p1, vdupq_n_u8(0x40));
            let s2 = vqsubq_u8(p2, vdupq_n_u8(0x60));
            let cont = vreinterpretq_u8_s8(vqaddq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(0x40)));
            let second = vld1q_u8_x4(SECOND_IN_BMP.0.as_ptr());
            let w = vaddq_u8(x, vqtbl4q_u8(second, vsubq_u8(p1, vdupq_n_u8(0xC0))));
            let marks = vorrq_u8(self.0, veorq_u8(vorrq_u8(s1, s2), cont));
            Self(vorrq_u8(marks, vandq_u8(s1, w)))
        }
    }

    #[inline(always)]
    fn is_marked(self) -> bool {
        // SAFETY: a `Neon` exists only if the CPU has NEON.
        unsafe { vmaxvq_u8(self.0) >= 0x80 }
    }

    #[inline(always)]
    fn first_mark_before(self, len: usize) -> Option<usize> {
        // SAFETY: a `Neon` exists only if the CPU has NEON.
        let nibbles = unsafe {
            // Narrows the comparison to 4 bits for each byte.
            let marked = vreinterpretq_u16_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(self.0)));
            vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(marked)))
        };
        let index = (nibbles.trailing_zeros() / 4) as usize;
        (index < len).then_some(index)
    }

    #[cfg(test)]
    #[inline(always)]
    fn mark_bits(self) -> u64 {
        let mut lanes = [0; 16];
        // SAFETY: a `Neon` exists only if the CPU has NEON; the array has 16 bytes.
        unsafe { vst1q_u8(lanes.as_mut_ptr(), self.0) };
        lanes.iter().rev().fold(0, |bits, lane| bits << 1 | u64::from(lane >> 7))
    }

    entry_methods!();
}
