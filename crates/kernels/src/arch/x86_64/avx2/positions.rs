//! Finds every position of a byte, with AVX2.

use core::arch::x86_64::*;

use crate::arch::portable::positions::{STRETCH, find_more_with, take_lowest};
use crate::as_chunks::as_chunks;
use crate::functions::{BLOCK, CAPACITY, Found};

/// Implements [`find_all`](crate::functions::Functions).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(crate) fn find_all(bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found {
    let all = _mm256_set1_epi8(byte.cast_signed());
    // Two blocks at a time, so that the room is tested half as often.
    let mut count = 0;
    let mut start = 0;
    let mut rest = bytes;
    while start < STRETCH {
        let room = positions.get_mut(count..).and_then(|room| room.first_chunk_mut::<{ 2 * BLOCK }>());
        let Some(room) = room else { break };
        let Some((first, after)) = rest.split_first_chunk() else { break };
        let Some((second, after)) = after.split_first_chunk() else { break };
        let len = write_positions(equal_bits(first, all), start as u16, room);
        let room = &mut room[len..];
        count += len + write_positions(equal_bits(second, all), (start + BLOCK) as u16, room);
        rest = after;
        start += 2 * BLOCK;
    }
    let found = Found { count, searched: start };
    find_more_with(
        found,
        rest,
        positions,
        |block| equal_bits(block, all),
        |bits, start, room| write_positions(bits, start, room),
    )
}

/// Returns a bit for each byte of a block, set if the byte is equal to the one in each lane of `all`.
#[inline]
#[target_feature(enable = "avx2")]
fn equal_bits(block: &[u8; BLOCK], all: __m256i) -> u64 {
    let (halves, _) = as_chunks::<32>(block);
    let mut bits = 0;
    for half in halves.iter().rev() {
        // SAFETY: a half of a block has the size of a vector.
        let x = unsafe { _mm256_loadu_si256(half.as_ptr().cast()) };
        bits = bits << 32 | u64::from(_mm256_movemask_epi8(_mm256_cmpeq_epi8(x, all)).cast_unsigned());
    }
    bits
}

/// The number of positions that are written without a test of the count. Each position costs six operations, and most
/// blocks of lines of 60 bytes and more have no second one.
const FEW: usize = 1;
/// The number of positions that are written after the first test.
const MORE: usize = 3;

/// Writes `start` plus the index of each set bit. Returns the number of set bits. There is room for 64 positions.
#[inline(always)]
fn write_positions(mut bits: u64, start: u16, room: &mut [u16]) -> usize {
    let count = bits.count_ones() as usize;
    // Excess positions are overwritten later or not used.
    for position in &mut room[..FEW] {
        *position = start + take_lowest(&mut bits);
    }
    if count > FEW {
        for position in &mut room[FEW..MORE] {
            *position = start + take_lowest(&mut bits);
        }
        if count > MORE {
            for position in &mut room[MORE..count] {
                *position = start + take_lowest(&mut bits);
            }
        }
    }
    count
}
