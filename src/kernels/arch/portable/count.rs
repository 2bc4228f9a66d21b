//! Counts bytes.
//!
//! The loops are written so that the compiler vectorizes them, with vectors as wide as the calling function allows. The
//! counts are in 64 lanes of 8 bits, which are summed up before one of them can overflow.

/// A safe [`Count`](crate::kernels::functions::Count).
pub(in crate::kernels) fn count(bytes: &[u8], wanted: u8) -> usize {
    count_if(bytes, |byte| byte == wanted)
}

/// The number of lanes: one vector of AVX-512, or four 128-bit vectors.
pub(in crate::kernels) const LANES: usize = 64;

/// The number of blocks that are counted before the lanes are summed up.
pub(in crate::kernels) const BLOCKS: usize = u8::MAX as usize;

/// Returns the number of bytes that satisfy `is`. `is` must not branch.
#[inline(always)]
pub(in crate::kernels) fn count_if(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let (blocks, rest) = bytes.as_chunks::<LANES>();
    let mut total = 0;
    for blocks in blocks.chunks(BLOCKS) {
        let mut lanes = [0_u8; LANES];
        for block in blocks {
            for (lane, &byte) in lanes.iter_mut().zip(block) {
                *lane = lane.wrapping_add(u8::from(is(byte)));
            }
        }
        total += sum(&lanes);
    }
    total + rest.iter().filter(|&&byte| is(byte)).count()
}

#[inline(always)]
pub(in crate::kernels) fn sum(lanes: &[u8; LANES]) -> usize {
    lanes.iter().map(|&lane| usize::from(lane)).sum()
}
