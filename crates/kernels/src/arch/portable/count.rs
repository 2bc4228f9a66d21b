//! Counts bytes.
//!
//! The loops are written so that the compiler vectorizes them, with vectors as wide as the calling function allows. The
//! counts are in 64 lanes of 8 bits, which are summed up before one of them can overflow.

use crate::as_chunks::as_chunks;
use crate::functions::{ASCII_GROUP, Range};

/// A safe [`count`](crate::functions::Functions).
pub(crate) fn count(bytes: &[u8], wanted: u8) -> usize {
    count_if(bytes, |byte| byte == wanted)
}

/// A safe [`count_range`](crate::functions::Functions).
pub(crate) fn count_range(bytes: &[u8], range: Range) -> usize {
    count_if(bytes, |byte| range.has(byte))
}

/// A safe [`count_ascii`](crate::functions::Functions).
pub(crate) fn count_ascii(bytes: &[u8], wanted: u8) -> (usize, usize) {
    count_ascii_by_lanes(bytes, wanted)
}

/// A safe [`ascii_len`](crate::functions::Functions).
#[cfg(feature = "transcode")]
pub(crate) fn ascii_len(bytes: &[u8]) -> usize {
    let (groups, _) = as_chunks::<ASCII_GROUP>(bytes);
    groups.iter().take_while(|group| is_ascii(group)).count() * ASCII_GROUP
}

/// Whether a group is ASCII. Written without a branch, so that it is vectorized.
#[inline(always)]
fn is_ascii(group: &[u8; ASCII_GROUP]) -> bool {
    let mut any = 0;
    for byte in group {
        any |= byte;
    }
    any < 0x80
}

/// The number of lanes: one vector of AVX-512, or four 128-bit vectors.
pub(crate) const LANES: usize = 64;

/// The number of blocks that are counted before the lanes are summed up.
pub(crate) const BLOCKS: usize = u8::MAX as usize;

/// Returns the number of bytes that satisfy `is`. `is` must not branch.
#[inline(always)]
pub(crate) fn count_if(bytes: &[u8], is: impl Fn(u8) -> bool) -> usize {
    let (blocks, rest) = as_chunks::<LANES>(bytes);
    let mut total = 0;
    for blocks in blocks.chunks(BLOCKS) {
        let mut lanes = [0_u8; LANES];
        for block in blocks {
            add(&mut lanes, block, &is);
        }
        total += sum(&lanes);
    }
    for &byte in rest {
        total += usize::from(is(byte));
    }
    total
}

/// [`count_ascii`], inlined into the function of a kernel and vectorized for its instructions.
#[inline(always)]
pub(crate) fn count_ascii_by_lanes(bytes: &[u8], wanted: u8) -> (usize, usize) {
    let (groups, _) = as_chunks::<ASCII_GROUP>(bytes);
    let mut len = 0;
    let mut total = 0;
    for groups in groups.chunks(BLOCKS * LANES / ASCII_GROUP) {
        let mut lanes = [0_u8; LANES];
        let before = len;
        for group in groups {
            if !is_ascii(group) {
                break;
            }
            let (blocks, _) = as_chunks::<LANES>(group);
            for block in blocks {
                add(&mut lanes, block, &|byte| byte == wanted);
            }
            len += ASCII_GROUP;
        }
        total += sum(&lanes);
        if len - before < groups.len() * ASCII_GROUP {
            break;
        }
    }
    (len, total)
}

/// Adds 1 to the lane of each byte that satisfies `is`.
#[inline(always)]
fn add(lanes: &mut [u8; LANES], block: &[u8; LANES], is: &impl Fn(u8) -> bool) {
    for i in 0..LANES {
        lanes[i] = lanes[i].wrapping_add(u8::from(is(block[i])));
    }
}

#[inline(always)]
pub(crate) fn sum(lanes: &[u8; LANES]) -> usize {
    let mut sum = 0;
    for &lane in lanes {
        sum += usize::from(lane);
    }
    sum
}
