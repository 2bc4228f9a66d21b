//! NEON: every 64-bit ARM.
//!
//! The formula of [`twin`](super::twin), as it stands: the look-up takes an index up to 63 and gives 0 for any other,
//! which `s1` masks as it masks every other byte that is no lead.

use core::arch::aarch64::*;

use super::twin::{SECOND, SECOND_IN_BMP};
use super::vector::{self, Vector};
use super::{Last, bulk};

/// [`Implementation::take`](super::kernel::Implementation::take).
///
/// # Safety
///
/// The CPU has the features named here, and the chunk has four bytes or more.
#[target_feature(enable = "neon")]
pub(super) unsafe fn take(last: &mut Last, chunk: &[u8]) -> usize {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { vector::take::<Neon>(last, chunk) }
}

/// [`Implementation::is_text`](super::kernel::Implementation::is_text).
///
/// # Safety
///
/// The CPU has the features named here, and there are four bytes or more.
#[target_feature(enable = "neon")]
pub(super) unsafe fn is_text(bytes: &[u8]) -> bool {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { vector::is_text::<Neon>(bytes) }
}

/// [`bulk::take_large`].
///
/// # Safety
///
/// The CPU has the features named here, and the chunk is longer than a vector.
#[target_feature(enable = "neon")]
#[inline(never)]
unsafe fn take_large(last: &mut Last, chunk: &[u8]) -> usize {
    // SAFETY: the features are enabled here; the length is the caller's promise.
    unsafe { bulk::take_large::<Neon>(last, chunk) }
}

/// [`bulk::locate`].
///
/// # Safety
///
/// The CPU has the features named here, and what [`bulk::locate`] asks for.
#[target_feature(enable = "neon")]
#[cold]
#[inline(never)]
unsafe fn locate(chunk: &[u8], at: usize, end: usize) -> usize {
    // SAFETY: the features are enabled here; the rest is the caller's promise.
    unsafe { bulk::locate::<Neon>(chunk, at, end) }
}

/// From place `16 - n`: places that no vector has, then the bytes in their order, so that a look-up moves them to
/// the front.
#[rustfmt::skip]
static TO_THE_FRONT: [u8; 32] = [
    0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15,
    0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF, 0xFF,
];

/// [`lanes::check`](super::lanes::check).
///
/// # Safety
///
/// The CPU has the features named here.
#[cfg(test)]
#[target_feature(enable = "neon")]
pub(super) unsafe fn check_lanes(pairs: impl Iterator<Item = (u8, u8)>) {
    // SAFETY: the features are enabled here.
    unsafe { super::lanes::check::<Neon>(pairs, super::lanes::by_due_bytes) }
}

#[derive(Clone, Copy)]
struct Neon(uint8x16_t);

// SAFETY of every block below: the trait asks its caller for the CPU features, and where memory is read for memory
// that can be read.
#[allow(clippy::undocumented_unsafe_blocks)]
impl Vector for Neon {
    const LEN: usize = 16;
    const GROUP: usize = 8;

    #[inline(always)]
    unsafe fn zero() -> Self {
        unsafe { Self(vdupq_n_u8(0)) }
    }

    #[inline(always)]
    unsafe fn last_bytes(last: u32) -> Self {
        unsafe { Self(vreinterpretq_u8_u32(vdupq_n_u32(last))) }
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        unsafe { Self(vld1q_u8(from)) }
    }

    #[inline(always)]
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        let (all, len) = (chunk.len(), chunk.len() - at);
        let start = chunk.as_ptr();
        unsafe {
            if all >= 16 {
                // The last 16 bytes of the chunk; those that are asked for are their end.
                let order = vld1q_u8(TO_THE_FRONT.as_ptr().add(16 - len));
                return Self(vqtbl1q_u8(vld1q_u8(start.add(all - 16)), order));
            }
            // Fewer than 16 bytes are no rest: this is the whole chunk, by two loads that overlap.
            let (front, back) = if all >= 8 {
                let front = u64::from_le_bytes(start.cast::<[u8; 8]>().read());
                let back = u64::from_le_bytes(start.add(all - 8).cast::<[u8; 8]>().read());
                (front, back.unbounded_shr(8 * (16 - all as u32)))
            } else {
                let front = u64::from(u32::from_le_bytes(start.cast::<[u8; 4]>().read()));
                let back = u64::from(u32::from_le_bytes(start.add(all - 4).cast::<[u8; 4]>().read()));
                (front | back << (8 * (all - 4)), 0)
            };
            Self(vcombine_u8(vcreate_u8(front), vcreate_u8(back)))
        }
    }

    #[inline(always)]
    unsafe fn moved(self, before: Self) -> [Self; 3] {
        unsafe {
            [
                Self(vextq_u8::<15>(before.0, self.0)),
                Self(vextq_u8::<14>(before.0, self.0)),
                Self(vextq_u8::<13>(before.0, self.0)),
            ]
        }
    }

    #[inline(always)]
    unsafe fn or(self, other: Self) -> Self {
        unsafe { Self(vorrq_u8(self.0, other.0)) }
    }

    #[inline(always)]
    unsafe fn is_ascii(self) -> bool {
        unsafe { vmaxvq_u8(self.0) < 0x80 }
    }

    #[inline(always)]
    unsafe fn or_flaws(self, Self(x): Self, [Self(p1), Self(p2), Self(p3)]: [Self; 3]) -> Self {
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
    unsafe fn or_flaws_in_bmp(self, Self(x): Self, [Self(p1), Self(p2)]: [Self; 2]) -> Self {
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
    unsafe fn is_marked(self) -> bool {
        unsafe { vmaxvq_u8(self.0) >= 0x80 }
    }

    #[inline(always)]
    unsafe fn first_mark(self) -> usize {
        unsafe {
            // Four bits for each byte.
            let marked = vreinterpretq_u16_s8(vshrq_n_s8::<7>(vreinterpretq_s8_u8(self.0)));
            let nibbles = vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(marked)));
            (nibbles.trailing_zeros() / 4) as usize
        }
    }

    #[cfg(test)]
    #[inline(always)]
    unsafe fn mark_bits(self) -> u64 {
        unsafe {
            let mut lanes = [0; 16];
            vst1q_u8(lanes.as_mut_ptr(), self.0);
            lanes.iter().rev().fold(0, |bits, lane| bits << 1 | u64::from(lane >> 7))
        }
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
    unsafe fn prefetch(_: *const u8) {}

    #[inline(always)]
    unsafe fn prefetch_far(_: *const u8) {}
}
