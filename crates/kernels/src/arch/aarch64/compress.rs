//! Compresses vectors by the tables of shuffles. NEON has no instruction that moves a bit of each lane to a general
//! register, so a different bit of each lane is kept, and the lanes are added. The low byte of a sum is the mask of 8
//! lanes, or two masks of 4 lanes, which is the index of the shuffle. The high byte is the number of bits of the mask.

use core::arch::aarch64::*;

use super::convert::store;
use crate::arch::shuffles::Shuffles;

/// Returns the sums of each 8 lanes of a mask.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn sums(mask: uint8x16_t) -> [u16; 2] {
    let bits = vandq_u8(mask, vreinterpretq_u8_u64(vdupq_n_u64(0x8040_2010_0804_0201)));
    // LLVM replaces a pairwise addition of bits that cannot carry by three instructions, but not one that widens.
    let bits = vpaddlq_u32(vpaddlq_u16(vpaddlq_u8(bits)));
    let counts = vreinterpretq_u64_u8(vcntq_u8(vreinterpretq_u8_u64(bits)));
    let sums = vmovn_u64(vsliq_n_u64::<8>(bits, counts));
    let sums = vget_lane_u64::<0>(vreinterpret_u64_u32(sums));
    [0, 32].map(|shift| (sums >> shift) as u16)
}

/// Returns the numbers that [`sums_of_4`] adds. Each lane of two masks sets a bit in the index of a shuffle: a lane of
/// `low` in its lower half, a lane of `high` in its upper half.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn widths(low: uint16x8_t, high: uint16x8_t) -> uint16x8_t {
    // The number of bits is added in the high byte.
    let low = vandq_u16(low, vreinterpretq_u16_u64(vdupq_n_u64(0x0108_0104_0102_0101)));
    let high = vandq_u16(high, vreinterpretq_u16_u64(vdupq_n_u64(0x0180_0140_0120_0110)));
    vaddq_u16(low, high)
}

/// Returns the sums of each 4 lanes of two vectors of [`widths`].
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn sums_of_4([x, next]: [uint16x8_t; 2]) -> [u16; 4] {
    let pairs = vpaddq_u16(x, next);
    let sums = vgetq_lane_u64::<0>(vreinterpretq_u64_u16(vpaddq_u16(pairs, pairs)));
    [0, 16, 32, 48].map(|shift| (sums >> shift) as u16)
}

/// Writes vectors, each compressed by the shuffle for its mask in `sums`: to `LEAST` bytes, and `MORE` bytes for each bit
/// of the mask. Returns the number of bytes.
///
/// # Safety
///
/// The output has space for each whole vector after the compressed vectors before it.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn compress<const N: usize, const LEAST: usize, const MORE: usize>(
    vectors: [uint8x16_t; N],
    shuffles: &'static Shuffles,
    sums: [u16; N],
    out: *mut u8,
) -> usize {
    let mut len = 0;
    for (bytes, sum) in vectors.into_iter().zip(sums) {
        let [mask, bits] = sum.to_le_bytes();
        // SAFETY: a shuffle has 16 bytes; the caller guarantees the space.
        unsafe {
            let shuffle = vld1q_u8(shuffles[usize::from(mask)].as_ptr());
            store(out.add(len), vqtbl1q_u8(bytes, shuffle));
        }
        len += LEAST + MORE * usize::from(bits);
    }
    len
}
