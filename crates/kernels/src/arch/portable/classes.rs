//! Finds every position of a character of a class: the loop of all kernels except AVX-512, and a byte-by-byte comparison.

use super::positions::write_positions;
use crate::class::Class;
use crate::functions::{BLOCK, CAPACITY, Found};

/// A call that has searched this many bytes stops. The last group may end up to 3 blocks later.
const STRETCH: usize = 4096;

/// The number of bytes that are tested together. Most groups have no byte of the class.
pub(crate) const GROUP: usize = 4 * BLOCK;

/// A safe [`find_class`](crate::functions::Functions).
pub(crate) fn find_class(bytes: &[u8], class: &Class, positions: &mut [u16; CAPACITY]) -> Found {
    find_class_with(bytes, class, positions, |_, _| false, |block| block_bits(block, class))
}

/// Returns a bit for each byte of a block that is in the class.
fn block_bits(block: &[u8; BLOCK], class: &Class) -> u64 {
    let mut bits = 0;
    for &byte in block.iter().rev() {
        bits = bits << 1 | u64::from(class.has(byte));
    }
    bits
}

/// The number of tests of [`find_class_with`].
const TESTS: u8 = 3;

/// The loop over blocks. `is_clean` has several tests with these numbers, which may need the two bytes after a group. A test
/// returns `true` only if nothing in the group must be found, and may always return `false`. `block_bits` returns a bit for
/// each byte of a block that is in the class, as a lead byte with any bytes after it.
#[inline(always)]
pub(crate) fn find_class_with(
    bytes: &[u8],
    class: &Class,
    positions: &mut [u16; CAPACITY],
    is_clean: impl Fn(u8, &[u8; GROUP + 2]) -> bool,
    block_bits: impl Fn(&[u8; BLOCK]) -> u64,
) -> Found {
    let mut count = 0;
    let mut start = 0;
    let mut test = 0;
    let mut unclean = 0;
    while start < STRETCH {
        let Some(rest) = bytes.get(start..) else { break };
        let Some(room) = positions.get_mut(count..).and_then(|room| room.first_chunk_mut()) else { break };
        if start >= unclean && rest.len() > 2 {
            // The last group starts before `start` and ends before the last two bytes.
            let mut end = start.min(bytes.len().saturating_sub(GROUP + 2));
            // In text of one script most groups pass the same test.
            let tests = test..TESTS;
            for next in tests {
                while let Some(group) = bytes.get(end..).and_then(|rest| rest.first_chunk()) {
                    if !is_clean(next, group) {
                        break;
                    }
                    end += GROUP;
                    test = next;
                }
            }
            if bytes.len() - end >= GROUP + 2 {
                unclean = end + GROUP;
            }
            if end > start {
                start = end;
                continue;
            }
        }
        let (mut bits, len) = match rest.first_chunk() {
            Some(block) => (block_bits(block), BLOCK),
            None => {
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                (block_bits(&block) & ((1 << rest.len()) - 1), rest.len())
            }
        };
        let mut leads = bits;
        while leads != 0 {
            // Discards each lead byte with other bytes after it.
            let at = leads.trailing_zeros() as usize;
            if !class.begins(&rest[at..]) {
                bits &= !(1 << at);
            }
            leads &= leads - 1;
        }
        count += write_positions(bits, start as u16, room);
        start += len;
        if len < BLOCK {
            break;
        }
    }
    Found { count, searched: start }
}
