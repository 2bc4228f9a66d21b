//! Blocks of 64 bytes, of which each vector has every fourth byte: the first vector has the bytes 0, 4, 8 and so on. Bytes
//! that follow each other are then in the same lane of different vectors, and four comparisons become a mask of 64 bits
//! in five instructions. NEON has no instruction that moves a bit of each lane to a general register.

use core::arch::aarch64::*;

pub(super) type Block = [uint8x16_t; 4];

/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - 64 bytes can be read.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn load_block(from: *const u8) -> Block {
    // SAFETY: the caller guarantees readable memory.
    let uint8x16x4_t(a, b, c, d) = unsafe { vld4q_u8(from) };
    [a, b, c, d]
}
