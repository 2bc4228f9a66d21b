//! Finds every position of a byte: the loop over blocks that all kernels share, and a comparison of 8 bytes at a time.

use crate::as_chunks::as_chunks;
use crate::functions::{BLOCK, CAPACITY, Found};

/// The maximum number of bytes that one call searches.
pub(crate) const STRETCH: usize = 4096;

/// The number of positions that are written without a test of the count. Most blocks have no more.
const FEW: usize = 4;

/// A safe [`find_all`](crate::functions::Functions).
pub(crate) fn find_all(bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found {
    find_all_with(bytes, positions, |block| equal_bits(block, byte), write_positions)
}

/// The loop over blocks. `equal_bits` returns a bit for each byte of a block, set if the byte is the one that is
/// searched for. `write` takes these bits, the index of the block, and the space for the positions. It writes the
/// positions and returns their number.
#[inline(always)]
pub(crate) fn find_all_with(
    bytes: &[u8],
    positions: &mut [u16; CAPACITY],
    equal_bits: impl Fn(&[u8; BLOCK]) -> u64,
    write: impl FnMut(u64, u16, &mut [u16; BLOCK]) -> usize,
) -> Found {
    find_more_with(Found { count: 0, searched: 0 }, bytes, positions, equal_bits, write)
}

/// Same as [`find_all_with`], for a search that has already `found` some positions. `rest` starts after the bytes that
/// were searched, which are a number of blocks.
#[inline(always)]
pub(crate) fn find_more_with(
    found: Found,
    mut rest: &[u8],
    positions: &mut [u16; CAPACITY],
    equal_bits: impl Fn(&[u8; BLOCK]) -> u64,
    mut write: impl FnMut(u64, u16, &mut [u16; BLOCK]) -> usize,
) -> Found {
    let Found { mut count, searched: mut start } = found;
    while start < STRETCH {
        let Some(room) = positions.get_mut(count..).and_then(|room| room.first_chunk_mut()) else { break };
        if let Some((block, after)) = rest.split_first_chunk() {
            count += write(equal_bits(block), start as u16, room);
            rest = after;
            start += BLOCK;
        } else {
            let mut block = [0; BLOCK];
            block[..rest.len()].copy_from_slice(rest);
            count += write(equal_bits(&block) & ((1 << rest.len()) - 1), start as u16, room);
            start += rest.len();
            break;
        }
    }
    Found { count, searched: start }
}

/// Writes `start` plus the index of each set bit. Returns the number of set bits.
#[inline(always)]
pub(crate) fn write_positions(mut bits: u64, start: u16, room: &mut [u16; BLOCK]) -> usize {
    let count = bits.count_ones() as usize;
    // The first `FEW` positions are always written, because a branch on their number would be mispredicted. Excess
    // positions are overwritten later or not used.
    for position in &mut room[..FEW] {
        *position = start + take_lowest(&mut bits);
    }
    if count > FEW {
        for position in &mut room[FEW..count] {
            *position = start + take_lowest(&mut bits);
        }
    }
    count
}

/// Returns the index of the lowest set bit and clears it.
#[inline(always)]
pub(crate) fn take_lowest(bits: &mut u64) -> u16 {
    let index = bits.trailing_zeros();
    *bits &= bits.wrapping_sub(1);
    index as u16
}

/// Returns a bit for each byte of a block, set if the byte is equal to `byte`.
#[inline]
pub(super) fn equal_bits(block: &[u8; BLOCK], byte: u8) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x7F; 8]);
    let all = u64::from_ne_bytes([byte; 8]);
    let (words, _) = as_chunks::<8>(block);
    let mut bits = 0;
    for word in words.iter().rev() {
        let differs = u64::from_le_bytes(*word) ^ all;
        // Bit 7 of each byte that is zero in `differs`. No carry crosses a byte.
        let equal = !(((differs & LOW) + LOW) | differs | LOW);
        // Gathers the 8 bits, the first byte in the lowest bit.
        bits = bits << 8 | (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56;
    }
    bits
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bit_is_set_for_each_equal_byte_and_for_no_other() {
        let near = [0x00, 0x01, 0x0A, 0x0B, 0x7F, 0x80, 0x8A, 0xFE, 0xFF];
        for byte in near {
            for other in near {
                for at in 0..BLOCK {
                    let mut block = [other; BLOCK];
                    block[at] = byte;
                    let expected = if byte == other { u64::MAX } else { 1 << at };
                    assert_eq!(equal_bits(&block, byte), expected, "{byte:02X} at {at} among {other:02X}");
                }
            }
        }
    }
}
