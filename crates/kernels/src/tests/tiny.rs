//! The loops of the vector kernels over a vector of 4 bytes.
//!
//! The loops are generic over the vector type, which also sets the lengths of groups and segments. With a vector of 4
//! bytes and groups of 2 vectors a string of 28 bytes has every part that a long chunk has: an unaligned start, ASCII
//! groups, groups with one half of ASCII, segments of 1 and 2 groups, and a rest. So the same code can be tested with
//! all strings of tiles, at each alignment and length, against the grammar.

use crate::arch::vector::{self, Vector};
use crate::formula;
use crate::functions::Index;
use crate::state::{Carry, Prediction, ScanState};

use super::{PREDICTIONS, first_rejected};

/// The maximum length of a small chunk for the vector whose short chunks have code without loops. Longer chunks have the
/// same code as without it.
const UNROLLED_SMALL: usize = 24;

/// A vector of 4 bytes, or of marks, which are bit 7 of each byte.
#[derive(Clone, Copy)]
struct Tiny<const UNROLLED: bool>([u8; 4]);

impl<const UNROLLED: bool> Vector for Tiny<UNROLLED> {
    const LEN: usize = 4;
    const GROUP: usize = 2;
    // Without loops, ASCII of four vectors and more is tested in groups of four.
    const SMALL: usize = if UNROLLED { UNROLLED_SMALL } else { 12 };
    const UNROLLED: bool = UNROLLED;
    const FIRST_SEGMENT: usize = 1;
    const LONGEST_SEGMENT: usize = 2;

    unsafe fn zero() -> Self {
        Self([0; 4])
    }

    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees 4 readable bytes.
        Self(unsafe { from.cast::<[u8; 4]>().read() })
    }

    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        assert!(at <= chunk.len() && chunk.len() <= at + Self::LEN && (at == 0 || chunk.len() >= Self::LEN));
        let mut bytes = [0; 4];
        bytes[..chunk.len() - at].copy_from_slice(&chunk[at..]);
        Self(bytes)
    }

    fn shifted(self, before: Self) -> [Self; 3] {
        let [a, b, c, _] = self.0;
        let [_, x, y, z] = before.0;
        [Self([z, a, b, c]), Self([y, z, a, b]), Self([x, y, z, a])]
    }

    fn shifted_after(self, carry: Carry) -> [Self; 3] {
        self.shifted(Self(carry.word().to_le_bytes()))
    }

    fn or(self, other: Self) -> Self {
        Self(core::array::from_fn(|i| self.0[i] | other.0[i]))
    }

    fn is_ascii(self) -> bool {
        self.0.is_ascii()
    }

    fn or_marks(self, x: Self, [p1, p2, p3]: [Self; 3]) -> Self {
        let is_marked =
            |i: usize| formula::is_ill_formed(u32::from_le_bytes([0, p3.0[i], p2.0[i], p1.0[i]]), x.0[i]);
        Self(core::array::from_fn(|i| self.0[i] | u8::from(is_marked(i)) << 7))
    }

    fn or_marks_in_bmp(self, x: Self, [p1, p2]: [Self; 2]) -> Self {
        let is_marked =
            |i: usize| formula::is_ill_formed_in_bmp(u32::from_le_bytes([0, 0, p2.0[i], p1.0[i]]), x.0[i]);
        Self(core::array::from_fn(|i| self.0[i] | u8::from(is_marked(i)) << 7))
    }

    fn is_marked(self) -> bool {
        self.mark_bits() != 0
    }

    fn first_mark_before(self, len: usize) -> Option<usize> {
        self.0.iter().take(len).position(|lane| lane & 0x80 != 0)
    }

    fn mark_bits(self) -> u64 {
        (0..4).map(|i| u64::from(self.0[i] >> 7) << i).sum()
    }

    unsafe fn validate_large(chunk: &[u8], state: &mut ScanState) -> Result<(), Index> {
        // SAFETY: the caller guarantees the requirements.
        unsafe { vector::validate_large::<Self>(chunk, state) }
    }

    unsafe fn find(chunk: &[u8], at: usize, end: usize) -> Option<usize> {
        assert!(4 <= at && at <= end && end <= chunk.len());
        // SAFETY: the caller guarantees the requirements.
        unsafe { vector::find::<Self>(chunk, at, end) }
    }
}

/// Parts of strings. Every character of 2 to 4 bytes can begin in one tile, after ASCII or after another character, and
/// end in the next ones. Tiles that do not fit each other make every kind of error at every edge.
const TILES: [[u8; 4]; 16] = [
    *b"aaaa",
    [b'a', b'a', b'a', 0xC3],
    [0xA9, b'a', b'a', 0xE2],
    [b'a', b'a', 0xF0, 0x9F],
    [0x92, 0xA9, 0xC3, 0xA9],
    [0x82, 0xAC, b'a', 0xF0],
    [0x9F, 0x92, 0xA9, b'a'],
    [b'a', 0xE2, 0x82, 0xAC],
    [0x80, 0x80, 0x80, 0x80],
    [0xF0, 0x9F, 0x92, 0xA9],
    [b'a', b'a', b'a', 0xFF],
    [0xC0, b'a', b'a', b'a'],
    [b'a', b'a', 0xE2, 0x82],
    [0xA0, 0x80, b'a', 0xED],
    [0x90, 0x80, 0x80, 0xF4],
    [b'a', 0xF0, 0x9F, 0x92],
];

/// Ends of the stream before the string.
const ENDS: [&[u8]; 7] = [b"", b"\xC3", b"\xE2", b"\xE2\x82", b"\xF0", b"\xF0\x9F", b"\xF0\x9F\x92"];

/// Memory in which a string can have every alignment.
#[repr(align(4))]
struct Memory([u8; 48]);

fn assert_found<V: Vector>(before: &[u8], prediction: Prediction, chunk: &[u8], expected: Option<usize>) {
    let start = ScanState::new(Carry::START.after(before), prediction);
    let mut state = start;
    // SAFETY: the vector needs no instructions; the chunk has at least 4 bytes.
    let found = unsafe { vector::validate::<V>(chunk, &mut state) };
    let is_right = match (found, expected) {
        (Ok(()), None) => state.carry().word() == start.after(chunk).carry().word(),
        (Err(index), Some(expected)) => {
            let is_late = index.get() == expected + 1 && formula::is_never_a_lead(chunk[expected]);
            (index.get() == expected || is_late) && state.carry().word() == start.carry().word()
        }
        _ => false,
    };
    assert!(is_right, "{found:?}, not {expected:?}, after {before:02X?} in {chunk:02X?}");
}

fn assert_all<V: Vector>(before: &[u8], chunk: &[u8], expected: Option<usize>) {
    for prediction in PREDICTIONS {
        assert_found::<V>(before, prediction, chunk, expected);
    }
    if before.is_empty() {
        // SAFETY: the vector needs no instructions; the chunk has at least 4 bytes.
        let is_text = unsafe { vector::is_text::<V>(chunk) };
        assert_eq!(is_text, core::str::from_utf8(chunk).is_ok(), "{chunk:02X?}");
    }
}

/// Checks all strings of `tiles` tiles, taken from the first `kinds` of [`TILES`] and shortened by 0 to 3 bytes, at
/// every alignment and after each of `ends`. Returns the number of checks.
fn check(tiles: u32, kinds: usize, ends: &[&[u8]]) -> usize {
    let mut checked = 0;
    let mut memory = Memory([0xFF; 48]);
    for number in 0..kinds.pow(tiles) {
        let mut string = [0; 28];
        let mut left = number;
        for tile in string.chunks_exact_mut(4).take(tiles as usize) {
            tile.copy_from_slice(&TILES[left % kinds]);
            left /= kinds;
        }
        let string = &string[..4 * tiles as usize];
        for end in ends {
            let rejected = first_rejected(end, string);
            for alignment in 0..4 {
                let range = 4 + alignment..4 + alignment + string.len();
                memory.0[range.clone()].copy_from_slice(string);
                for less in 0..4.min(string.len() - 3) {
                    let chunk = &memory.0[range.start..range.end - less];
                    let expected = rejected.filter(|&index| index < chunk.len());
                    assert_all::<Tiny<false>>(end, chunk, expected);
                    if chunk.len() <= UNROLLED_SMALL {
                        assert_all::<Tiny<true>>(end, chunk, expected);
                    }
                    checked += 1;
                }
            }
        }
    }
    checked
}

#[test]
fn the_loops_over_a_vector_of_4_bytes_reject_what_the_grammar_rejects() {
    let tiles = if cfg!(miri) { 1 } else { 2 };
    (1..=tiles).for_each(|tiles| assert!(check(tiles, TILES.len(), &ENDS) > 0));
    // Two groups and more, with a few tiles.
    if !cfg!(miri) {
        assert_eq!(check(3, TILES.len(), &ENDS[..1]), 16_usize.pow(3) * 16);
        assert_eq!(check(7, 4, &ENDS[..1]), 4_usize.pow(7) * 16);
    }
}

#[test]
#[ignore = "a minute in release mode"]
fn the_loops_over_a_vector_of_4_bytes_reject_what_the_grammar_rejects_in_long_strings() {
    assert_eq!(check(4, TILES.len(), &ENDS), 16_usize.pow(4) * 16 * ENDS.len());
    assert_eq!(check(5, TILES.len(), &ENDS[..1]), 16_usize.pow(5) * 16);
    assert_eq!(check(6, 12, &ENDS[..1]), 12_usize.pow(6) * 16);
    assert_eq!(check(7, 9, &ENDS[..1]), 9_usize.pow(7) * 16);
}
