//! Finds every position of a byte, in bulk.
//!
//! A repeated search for the next position, as with `memchr`, costs a call and a mispredicted branch for each position.
//! For lines of fifty bytes this costs more than the comparison of the bytes. Here a block of 64 bytes is compared at
//! once, and its 64 result bits are converted to positions almost without branches.

#[cfg(feature = "memchr")]
use super::arch;
use super::dispatch::Kernel;
#[cfg(feature = "transcode")]
use super::functions::BLOCK;
use super::functions::CAPACITY;

/// Returns the first position of a byte. It is found by the crate `memchr`. If this crate and `memchr` are compiled
/// without optimizations, it is found by a library that is always compiled with them.
#[cfg(feature = "memchr")]
#[inline]
pub fn find_byte(byte: u8, bytes: &[u8]) -> Option<usize> {
    if cfg!(utf8_codec_unoptimized) {
        return arch::find_byte_by_std(byte, bytes);
    }
    memchr::memchr(byte, bytes)
}

/// The number of bytes that [`first_position`] and [`last_position`] search at once.
#[cfg(feature = "transcode")]
const GROUP: usize = 1024;

/// Returns the first position of a byte.
#[cfg(feature = "transcode")]
pub fn first_position(bytes: &[u8], byte: u8) -> Option<usize> {
    let kernel = Kernel::in_use();
    let mut at = bytes.chunks_exact(GROUP).take_while(|group| kernel.count(group, byte) == 0).count() * GROUP;
    at += bytes[at..].chunks_exact(BLOCK).take_while(|block| !has(block, byte)).count() * BLOCK;
    bytes[at..].iter().position(|&other| other == byte).map(|index| at + index)
}

/// Returns the last position of a byte.
#[cfg(feature = "transcode")]
pub fn last_position(bytes: &[u8], byte: u8) -> Option<usize> {
    let kernel = Kernel::in_use();
    let groups = bytes.rchunks_exact(GROUP).take_while(|group| kernel.count(group, byte) == 0);
    let bytes = &bytes[..bytes.len() - groups.count() * GROUP];
    let blocks = bytes.rchunks_exact(BLOCK).take_while(|block| !has(block, byte));
    bytes[..bytes.len() - blocks.count() * BLOCK].iter().rposition(|&other| other == byte)
}

/// Whether a block contains a byte. The compiler vectorizes the loop, because it has no early exit.
#[cfg(feature = "transcode")]
fn has(block: &[u8], byte: u8) -> bool {
    block.iter().fold(false, |any, &other| any | (other == byte))
}

/// An iterator over the positions of a byte. It borrows neither the slice nor the byte: pass the same ones to each call
/// of [`next`](Self::next).
#[derive(Clone, Debug)]
pub struct Positions {
    /// Positions relative to `base`.
    found: [u16; CAPACITY],
    next: usize,
    count: usize,
    base: usize,
    searched: usize,
}

impl Positions {
    /// Starts at the first byte.
    pub const START: Self = Self { found: [0; CAPACITY], next: 0, count: 0, base: 0, searched: 0 };

    /// Starts after the first `searched` bytes.
    pub const fn after(searched: usize) -> Self {
        Self { searched, ..Self::START }
    }

    /// Returns the next position of `byte` in `bytes`.
    #[inline]
    pub fn next(&mut self, bytes: &[u8], byte: u8) -> Option<usize> {
        if self.next == self.count && !self.find_more(bytes, byte) {
            return None;
        }
        let position = self.base + usize::from(*self.found.get(self.next)?);
        self.next += 1;
        Some(position)
    }

    /// Returns all positions of `byte` in `bytes` that are found and not returned yet, relative to the first value. There is
    /// at least one.
    #[cfg(feature = "memchr")]
    #[inline]
    pub fn next_found(&mut self, bytes: &[u8], byte: u8) -> Option<(usize, &[u16])> {
        if self.next == self.count && !self.find_more(bytes, byte) {
            return None;
        }
        let found = self.found.get(self.next..self.count)?;
        self.next = self.count;
        Some((self.base, found))
    }

    /// Searches the next bytes. Returns whether there are more positions.
    #[inline(never)]
    fn find_more(&mut self, bytes: &[u8], byte: u8) -> bool {
        while self.next == self.count {
            if self.searched >= bytes.len() {
                return false;
            }
            self.search(Kernel::in_use(), bytes, byte);
        }
        true
    }

    fn search(&mut self, kernel: Kernel, bytes: &[u8], byte: u8) {
        self.base = self.searched;
        self.next = 0;
        let found = kernel.find_all(bytes.get(self.base..).unwrap_or(&[]), byte, &mut self.found);
        self.count = found.count;
        self.searched += found.searched;
    }
}

#[cfg(all(test, feature = "memchr"))]
mod tests {
    use super::*;
    use crate::rng::Rng;

    fn all(bytes: &[u8], byte: u8) -> Vec<usize> {
        let mut positions = Positions::START;
        core::iter::from_fn(|| positions.next(bytes, byte)).collect()
    }

    /// All positions: the first `single` ones by [`Positions::next`], the others by [`Positions::next_found`].
    fn all_found(bytes: &[u8], byte: u8, single: usize) -> Vec<usize> {
        let mut positions = Positions::START;
        let mut all: Vec<_> = core::iter::from_fn(|| positions.next(bytes, byte)).take(single).collect();
        while let Some((base, found)) = positions.next_found(bytes, byte) {
            assert!(!found.is_empty());
            all.extend(found.iter().map(|&position| base + usize::from(position)));
        }
        all
    }

    #[cfg(feature = "transcode")]
    #[test]
    fn the_first_and_the_last_position_are_found_at_every_index() {
        for len in (0..=2 * BLOCK + 3).chain([2 * GROUP + 5]) {
            let mut bytes = vec![b'a'; len];
            assert_eq!((first_position(&bytes, b'\n'), last_position(&bytes, b'\n')), (None, None));
            for at in 0..len {
                bytes[at] = b'\n';
                assert_eq!(last_position(&bytes, b'\n'), Some(at), "{len}");
                assert_eq!(first_position(&bytes, b'\n'), Some(at), "{len}");
                bytes[at] = b'a';
            }
        }
    }

    fn all_by(kernel: Kernel, bytes: &[u8], byte: u8) -> Vec<usize> {
        let mut positions = Positions::START;
        let mut all = Vec::new();
        while positions.searched < bytes.len() {
            positions.search(kernel, bytes, byte);
            let found = positions.found[..positions.count].iter();
            all.extend(found.map(|&position| positions.base + usize::from(position)));
        }
        all
    }

    #[test]
    fn positions_are_those_of_a_byte_by_byte_search() {
        let mut rng = Rng::new(7);
        let some = [b'\n', 0, b'\n' | 0x80, b'\x0B', 0x7F, 0xFF];
        for one_in in [1, 2, 3, 20, 60, 500] {
            for len in (0..260).chain([1023, 1024, 1025, 5000]) {
                let bytes: Vec<u8> =
                    (0..len).map(|_| if rng.below(one_in) == 0 { rng.pick(&some) } else { b'a' }).collect();
                for byte in [b'\n', 0, b'a'] {
                    let expected: Vec<usize> = (0..len).filter(|&at| bytes[at] == byte).collect();
                    assert_eq!(all(&bytes, byte), expected, "{byte} in {bytes:?}");
                    for single in [0, 1, 70] {
                        assert_eq!(all_found(&bytes, byte, single), expected, "{byte} in {bytes:?}");
                    }
                    for kernel in Kernel::available() {
                        assert_eq!(all_by(kernel, &bytes, byte), expected, "{kernel:?}: {byte} in {bytes:?}");
                    }
                }
            }
        }
    }
}
