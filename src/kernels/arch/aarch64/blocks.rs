//! Blocks of 64 bytes, of which each vector has every fourth byte: the first vector has the bytes 0, 4, 8 and so on. Bytes
//! that follow each other are then in the same lane of different vectors, and four comparisons become a mask of 64 bits
//! in five instructions. NEON has no instruction that moves a bit of each lane to a general register.

use core::arch::aarch64::*;

use crate::kernels::arch::kept::KEPT;

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

/// Returns a bit for each byte of a mask, whose bytes are 0 or FF. The lowest bit is that of the first byte.
#[cfg(feature = "transcode")]
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn bits([a, b, c, d]: Block) -> u64 {
    let (odd, upper) = (vdupq_n_u8(0xAA), vdupq_n_u8(0xCC));
    // Both halves of each lane have the bits of four bytes.
    let fours = vbslq_u8(upper, vbslq_u8(odd, d, c), vbslq_u8(odd, b, a));
    vget_lane_u64::<0>(vreinterpret_u64_u8(vshrn_n_u16::<4>(vreinterpretq_u16_u8(fours))))
}

/// Returns the byte after each byte. `last` is in each lane of the vector after the block.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn next([a, b, c, d]: Block, last: uint8x16_t) -> Block {
    [b, c, d, vextq_u8::<1>(a, last)]
}

/// Returns the byte before each byte, and 0 for the first one.
#[cfg(feature = "transcode")]
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn previous([a, b, c, d]: Block) -> Block {
    [vextq_u8::<15>(vdupq_n_u8(0), d), a, b, c]
}

/// Writes the bytes whose bit is set in `kept`. Up to 64 bytes are overwritten. Returns the number of bytes.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - 64 bytes can be written.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn store_kept([a, b, c, d]: Block, kept: u64, out: *mut u8) -> usize {
    if kept & kept.wrapping_add(1) == 0 {
        // SAFETY: the caller guarantees room for 64 bytes.
        unsafe { vst4q_u8(out, uint8x16x4_t(a, b, c, d)) };
        return kept.trailing_ones() as usize;
    }
    // Each byte of `ends` is the number of bits in this byte of the mask and those before it.
    let counts = vget_lane_u64::<0>(vreinterpret_u64_u8(vcnt_u8(vcreate_u8(kept))));
    let ends = counts.wrapping_mul(0x0101_0101_0101_0101);
    let starts = (ends << 8).to_le_bytes();
    let masks = kept.to_le_bytes();
    let zipped = |x, y| [vzip1q_u8(x, y), vzip2q_u8(x, y)].map(|it| vreinterpretq_u16_u8(it));
    let quarters =
        zipped(a, b).into_iter().zip(zipped(c, d)).map(|(x, y)| [vzip1q_u16(x, y), vzip2q_u16(x, y)]);
    for (i, quarter) in quarters.flatten().enumerate() {
        let quarter = vreinterpretq_u8_u16(quarter);
        for (i, first) in [(2 * i, 0), (2 * i + 1, 8)] {
            // SAFETY: 8 bytes are read from the table. At most 8 bytes are kept of each eight before, so there is room for
            // 8 bytes.
            unsafe {
                let indexes = vadd_u8(vld1_u8(KEPT[usize::from(masks[i])].as_ptr()), vdup_n_u8(first));
                vst1_u8(out.add(usize::from(starts[i])), vqtbl1_u8(quarter, indexes));
            }
        }
    }
    (ends >> 56) as usize
}
