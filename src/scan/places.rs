//! Where a byte is: all its places in a stretch at once.
//!
//! To look for the next one from each one anew, as `memchr` does, costs a call and a mispredicted branch every time,
//! which for lines of some fifty bytes is more than to look at the bytes. Here a block of 64 bytes becomes 64 bits,
//! and the bits become places with hardly a branch.

use super::arch;
use super::kernel::Kernel;

/// Bytes that are looked at in one go.
const STRETCH: usize = 4096;

/// Places found in one go: those of a block have room after twice as many.
const ROOM: usize = 3 * BLOCK;

pub(super) const BLOCK: usize = 64;

/// Most blocks hold so few.
const FEW: usize = 4;

/// The places of a byte that were found last, and how far it was looked for.
#[derive(Clone, Debug)]
pub(crate) struct Places {
    /// Counted from `base`.
    found: [u16; ROOM],
    next: usize,
    count: usize,
    base: usize,
    searched: usize,
}

impl Places {
    pub(crate) const NONE: Self = Self { found: [0; ROOM], next: 0, count: 0, base: 0, searched: 0 };

    /// The next place of `byte` in `bytes`; these are the same ones in each call.
    #[inline]
    pub(crate) fn next(&mut self, bytes: &[u8], byte: u8) -> Option<usize> {
        if self.next == self.count && !self.go_on(bytes, byte) {
            return None;
        }
        let place = self.base + usize::from(*self.found.get(self.next)?);
        self.next += 1;
        Some(place)
    }

    /// Looks for more, and says if there are any.
    #[inline(never)]
    fn go_on(&mut self, bytes: &[u8], byte: u8) -> bool {
        while self.next == self.count {
            if self.searched >= bytes.len() {
                return false;
            }
            self.search(Kernel::in_use(), bytes, byte);
        }
        true
    }

    fn search(&mut self, kernel: Kernel, bytes: &[u8], byte: u8) {
        (self.base, self.next, self.count) = (self.searched, 0, 0);
        arch::places::search(kernel, self, bytes, byte);
    }

    /// Looks at the next blocks. `bits` tells which bytes of a block it is; `note` writes the places that bits stand
    /// for, counted from a start, and gives their number.
    #[inline(always)]
    pub(super) fn search_with(
        &mut self,
        bytes: &[u8],
        bits: impl Fn(&[u8; BLOCK]) -> u64,
        mut note: impl FnMut(u64, u16, &mut [u16; BLOCK]) -> usize,
    ) {
        let mut count = 0;
        let mut rest = bytes.get(self.base..).unwrap_or(&[]);
        let mut start = 0;
        while start < STRETCH
            && let Some(room) = self.found.get_mut(count..).and_then(|room| room.first_chunk_mut())
        {
            if let Some((block, after)) = rest.split_first_chunk() {
                count += note(bits(block), start as u16, room);
                rest = after;
                start += BLOCK;
            } else {
                let mut block = [0; BLOCK];
                block[..rest.len()].copy_from_slice(rest);
                count += note(bits(&block) & ((1 << rest.len()) - 1), start as u16, room);
                start += rest.len();
                break;
            }
        }
        self.count = count;
        self.searched = self.base + start;
    }
}

/// Writes the places that bits stand for, counted from `start`, and gives their number.
#[inline(always)]
pub(super) fn note(mut bits: u64, start: u16, room: &mut [u16; BLOCK]) -> usize {
    let count = bits.count_ones() as usize;
    let mut take = |place: &mut u16| {
        *place = start + bits.trailing_zeros() as u16;
        bits &= bits.wrapping_sub(1);
    };
    // Nobody could foresee how many there are: what is written too much is written over.
    room[..FEW].iter_mut().for_each(&mut take);
    if count > FEW {
        room[FEW..count].iter_mut().for_each(take);
    }
    count
}

/// Which bytes of a block it is, without any help: eight at a time.
#[inline]
fn bits(block: &[u8; BLOCK], byte: u8) -> u64 {
    const LOW: u64 = u64::from_ne_bytes([0x7F; 8]);
    let all = u64::from_ne_bytes([byte; 8]);
    let (words, _) = block.as_chunks::<8>();
    words.iter().rev().fold(0, |bits, word| {
        let differs = u64::from_le_bytes(*word) ^ all;
        // Bit 7 of each byte that is zero now, and no carry from one byte to the next.
        let equal = !(((differs & LOW) + LOW) | differs | LOW);
        // The eight bits side by side, the first one lowest.
        bits << 8 | (equal >> 7).wrapping_mul(0x0102_0408_1020_4080) >> 56
    })
}

/// For a machine without vectors of its own.
pub(super) mod plainly {
    use super::{Kernel, Places, bits, note};

    pub(in crate::scan) fn search(_: Kernel, places: &mut Places, bytes: &[u8], byte: u8) {
        places.search_with(bytes, |block| bits(block, byte), note);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn all(bytes: &[u8], byte: u8) -> Vec<usize> {
        let mut places = Places::NONE;
        core::iter::from_fn(|| places.next(bytes, byte)).collect()
    }

    fn all_by(kernel: Kernel, bytes: &[u8], byte: u8) -> Vec<usize> {
        let (mut places, mut all) = (Places::NONE, Vec::new());
        while places.searched < bytes.len() {
            places.search(kernel, bytes, byte);
            let found = places.found[..places.count].iter();
            all.extend(found.map(|&place| places.base + usize::from(place)));
        }
        all
    }

    #[test]
    fn places_are_those_that_a_plain_search_finds() {
        let mut seed = 7_u32;
        let mut next = move || {
            seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (seed >> 16) as usize
        };
        for one_in in [1, 2, 3, 20, 60, 500] {
            for len in (0..260).chain([1023, 1024, 1025, 5000]) {
                let pick = |n: usize| [b'\n', 0, b'\n' | 0x80, b'\x0B', 0x7F, 0xFF][n % 6];
                let bytes: Vec<u8> =
                    (0..len).map(|_| if next() % one_in == 0 { pick(next()) } else { b'a' }).collect();
                for byte in [b'\n', 0, b'a'] {
                    let plain: Vec<usize> = (0..len).filter(|&at| bytes[at] == byte).collect();
                    assert_eq!(all(&bytes, byte), plain, "{byte} in {bytes:?}");
                    for kernel in Kernel::available() {
                        assert_eq!(all_by(kernel, &bytes, byte), plain, "{kernel:?}: {byte} in {bytes:?}");
                    }
                    let (blocks, _) = bytes.as_chunks();
                    for (i, block) in blocks.iter().enumerate() {
                        let places = (0..BLOCK).filter(|at| bits(block, byte) >> at & 1 == 1);
                        let plain = plain.iter().filter(|&&at| at / BLOCK == i).map(|at| at % BLOCK);
                        assert!(places.eq(plain));
                    }
                }
            }
        }
    }
}
