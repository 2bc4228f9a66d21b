//! Code that the conversions share: loads, stores, and ASCII.

use core::arch::aarch64::*;

use crate::as_chunks::{as_chunks, as_chunks_mut};

/// The number of bytes in a vector.
pub(super) const WIDTH: usize = 16;

/// # Safety
///
/// 16 bytes can be read.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn load(from: *const u8) -> uint8x16_t {
    // SAFETY: the caller guarantees readable memory.
    unsafe { vld1q_u8(from) }
}

/// # Safety
///
/// There is room for 16 bytes.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn store(out: *mut u8, bytes: uint8x16_t) {
    // SAFETY: the caller guarantees the room.
    unsafe { vst1q_u8(out, bytes) };
}

/// Whether a bit is set.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn any(bits: uint8x16_t) -> bool {
    let bits = vreinterpretq_u32_u8(bits);
    vgetq_lane_u64::<0>(vreinterpretq_u64_u32(vpmaxq_u32(bits, bits))) != 0
}

#[target_feature(enable = "neon")]
#[inline]
pub(super) fn is_ascii(bytes: uint8x16_t) -> bool {
    vmaxvq_u8(bytes) < 0x80
}

/// [`copy_below`](crate::functions::Functions): copies bytes below `LIMIT`, and `00` only if `NUL`.
#[target_feature(enable = "neon")]
#[inline]
pub(crate) fn copy_below<const LIMIT: u8, const NUL: bool>(input: &[u8], output: &mut [u8]) -> usize {
    const GROUP: usize = 4 * WIDTH;
    let mut at = 0;
    for (group, room) in as_chunks::<GROUP>(input).0.iter().zip(as_chunks_mut::<GROUP>(output).0) {
        // SAFETY: a group can be read, and there is room for one.
        unsafe {
            let vectors = [0, 1, 2, 3].map(|i| load(group.as_ptr().add(i * WIDTH)));
            let [a, b, c, d] = vectors;
            let mut highest = vmaxq_u8(vmaxq_u8(a, b), vmaxq_u8(c, d));
            if !NUL {
                highest = vorrq_u8(highest, vceqzq_u8(vminq_u8(vminq_u8(a, b), vminq_u8(c, d))));
            }
            if vmaxvq_u8(highest) >= LIMIT {
                break;
            }
            for (i, x) in vectors.into_iter().enumerate() {
                store(room.as_mut_ptr().add(i * WIDTH), x);
            }
        }
        at += GROUP;
    }
    at
}
