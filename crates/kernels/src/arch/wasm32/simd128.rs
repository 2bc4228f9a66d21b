//! `simd128`: vectors of 16 bytes, with a lookup in 16 entries.
//!
//! This is the [formula](crate::formula). A lookup has only 16 entries, so the table is replaced by two
//! lookups and two comparisons:
//!
//! - `E0` and `ED` allow only some continuation bytes. In `x - 20`, bit 6 is set and bit 7 is not for `80..=9F`, and
//!   bit 7 is set and bit 6 is not for `A0..=BF`. A lookup by `p1 - E0` returns the bit that must not be set after the
//!   lead byte, and 0 for all other lead bytes.
//! - For `F0` and `F4..=FF` the bits 6 and 7 of `x - 10` distinguish `80..=8F` and `90..=BF`, and the lookup is by
//!   `p1 - F0`.
//! - `C0` and `C1` allow no continuation byte. As a signed number, their `s1` is lower than that of any other byte.
//!   They are therefore found by the minimum of `s1` over many vectors.
//! - In text without sequences of 4 bytes, `F0..=FF` allow no continuation byte. They are found by the unsigned maximum
//!   of `s1`.
//!
//! On x86-64 an engine compiles a lookup to two instructions and each other operation to one. With four loads these are
//! 25 instructions for 16 bytes, or 18 for text without sequences of 4 bytes. The tables of the AVX2 kernel would need
//! the same number and two shifts of bytes, each of which engines compile to several instructions.

use core::arch::wasm32::*;

use crate::arch::vector::{LAST_TO_FRONT, Vector, entries, entry_methods, words_of_short};
use crate::as_chunks::as_chunks;
use crate::state::Carry;
use crate::{
    arch::portable::positions::{find_all_with, write_positions},
    functions::{BLOCK, CAPACITY, Found},
};

/// A safe [`find_all`](crate::functions::Functions).
pub(super) fn find_all(bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found {
    let all = u8x16_splat(byte);
    find_all_with(bytes, positions, |block| equal_bits(block, all), write_positions)
}

/// Returns a bit for each byte of a block, set if the byte is equal to the one in each lane of `all`.
fn equal_bits(block: &[u8; BLOCK], all: v128) -> u64 {
    let (vectors, _) = as_chunks::<16>(block);
    let mut bits = 0;
    for vector in vectors.iter().rev() {
        // SAFETY: 16 bytes are read.
        let x = unsafe { v128_load(vector.as_ptr().cast()) };
        bits = bits << 16 | u64::from(u8x16_bitmask(u8x16_eq(x, all)));
    }
    bits
}

/// A safe [`ascii_len`](crate::functions::Functions).
#[cfg(feature = "transcode")]
pub(super) fn ascii_len(bytes: &[u8]) -> usize {
    // SAFETY: the target has `simd128`.
    unsafe { crate::arch::vector::ascii_len::<Lanes>(bytes) }
}

/// The bit of `x - 20` that must not be set after the lead byte of a 3-byte sequence, by the low 4 bits of the lead
/// byte.
const WRONG_AFTER_3: v128 = {
    let below_a0 = 1 << 6;
    let from_a0 = 1 << 7;
    u8x16(below_a0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, from_a0, 0, 0)
};

/// The bits of `x - 10` that must not be set after a byte from `F0` on, by the low 4 bits of that byte. After a byte
/// that is not a lead byte, neither may be set.
const WRONG_AFTER_4: v128 = {
    let below_90 = 1 << 6;
    let from_90 = 1 << 7;
    let any = 3 << 6;
    u8x16(below_90, 0, 0, 0, from_90, any, any, any, any, any, any, any, any, any, any, any)
};

entries!(Lanes, by_due_bytes);

/// A vector of bytes, or marks. In a vector of bytes the fields for marks are constant, and the compiler removes them.
#[derive(Clone, Copy)]
struct Lanes {
    /// The bytes. In marks, bit 7 of a byte is a mark.
    bytes: v128,
    /// A byte that is not 0 is a mark.
    wrong: v128,
    /// The signed minimum of `s1`. A value up to [`LOWEST_MARK`](Self::LOWEST_MARK) is a mark.
    lowest: v128,
    /// The unsigned maximum of `s1`. A value from [`HIGHEST_MARK`](Self::HIGHEST_MARK) on is a mark.
    highest: v128,
}

impl Lanes {
    /// `s1` of `C1`. Only that of `C0` is lower.
    const LOWEST_MARK: i8 = 0x81_u8.cast_signed();
    /// `s1` of `F0`.
    const HIGHEST_MARK: u8 = 0xB0;

    #[inline(always)]
    fn new(bytes: v128) -> Self {
        let zero = u8x16_splat(0);
        Self { bytes, wrong: zero, lowest: zero, highest: zero }
    }

    /// Returns bytes that are not 0 at the position of each mark.
    #[inline(always)]
    fn marks(self) -> v128 {
        let due = v128_and(self.bytes, u8x16_splat(0x80));
        let low = i8x16_le(self.lowest, i8x16_splat(Self::LOWEST_MARK));
        let high = u8x16_ge(self.highest, u8x16_splat(Self::HIGHEST_MARK));
        v128_or(v128_or(self.wrong, due), v128_or(low, high))
    }
}

impl Vector for Lanes {
    const LEN: usize = 16;
    const GROUP: usize = 16;
    const STEP: usize = 4;

    #[inline(always)]
    unsafe fn zero() -> Self {
        Self::new(u8x16_splat(0))
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees the memory.
        Self::new(unsafe { v128_load(from.cast()) })
    }

    #[inline(always)]
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        let all = chunk.len();
        let len = chunk.len() - at;
        if all >= Self::LEN {
            // SAFETY: the last 16 bytes of the chunk are read, and 16 bytes of the table from `16 - len` on, which is 0
            // to 16.
            return unsafe {
                let order = v128_load(LAST_TO_FRONT.as_ptr().add(Self::LEN - len).cast());
                let last = v128_load(chunk.as_ptr().add(all - Self::LEN).cast());
                Self::new(u8x16_swizzle(last, order))
            };
        }
        // SAFETY: the chunk has at least 4 bytes and is shorter than a vector, so the rest is the whole chunk.
        let [front, back] = unsafe { words_of_short(chunk) };
        Self::new(u64x2(front, back))
    }

    #[rustfmt::skip]
    #[inline(always)]
    fn shifted(self, Self { bytes: before, .. }: Self) -> [Self; 3] {
        [
            u8x16_shuffle::<15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29, 30>(before, self.bytes),
            u8x16_shuffle::<14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28, 29>(before, self.bytes),
            u8x16_shuffle::<13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23, 24, 25, 26, 27, 28>(before, self.bytes),
        ]
        .map(Self::new)
    }

    #[inline(always)]
    fn shifted_after(self, carry: Carry) -> [Self; 3] {
        self.shifted(Self::new(u32x4_splat(carry.word())))
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        Self::new(v128_or(self.bytes, other.bytes))
    }

    #[inline(always)]
    fn is_ascii(self) -> bool {
        u8x16_bitmask(self.bytes) == 0
    }

    #[inline(always)]
    fn or_marks(self, Self { bytes: x, .. }: Self, [p1, p2, p3]: [Self; 3]) -> Self {
        let s1 = u8x16_sub_sat(p1.bytes, u8x16_splat(0x40));
        let s2 = u8x16_sub_sat(p2.bytes, u8x16_splat(0x60));
        let s3 = u8x16_sub_sat(p3.bytes, u8x16_splat(0x70));
        let cont = i8x16_add_sat(x, u8x16_splat(0x40));
        let after_3 = u8x16_swizzle(WRONG_AFTER_3, u8x16_sub(p1.bytes, u8x16_splat(0xE0)));
        let after_4 = u8x16_swizzle(WRONG_AFTER_4, u8x16_sub(p1.bytes, u8x16_splat(0xF0)));
        let second = v128_or(
            v128_and(u8x16_sub(x, u8x16_splat(0x20)), after_3),
            v128_and(u8x16_sub(x, u8x16_splat(0x10)), after_4),
        );
        Self {
            bytes: v128_or(self.bytes, v128_xor(v128_or(v128_or(s1, s2), s3), cont)),
            wrong: v128_or(self.wrong, second),
            lowest: i8x16_min(self.lowest, s1),
            ..self
        }
    }

    #[inline(always)]
    fn or_marks_in_bmp(self, Self { bytes: x, .. }: Self, [p1, p2]: [Self; 2]) -> Self {
        let s1 = u8x16_sub_sat(p1.bytes, u8x16_splat(0x40));
        let s2 = u8x16_sub_sat(p2.bytes, u8x16_splat(0x60));
        let cont = i8x16_add_sat(x, u8x16_splat(0x40));
        let after_3 = u8x16_swizzle(WRONG_AFTER_3, u8x16_sub(p1.bytes, u8x16_splat(0xE0)));
        let second = v128_and(u8x16_sub(x, u8x16_splat(0x20)), after_3);
        Self {
            bytes: v128_or(self.bytes, v128_xor(v128_or(s1, s2), cont)),
            wrong: v128_or(self.wrong, second),
            lowest: i8x16_min(self.lowest, s1),
            highest: u8x16_max(self.highest, s1),
        }
    }

    #[inline(always)]
    fn is_marked(self) -> bool {
        v128_any_true(self.marks())
    }

    #[inline(always)]
    fn first_mark_before(self, len: usize) -> Option<usize> {
        let unmarked = u8x16_bitmask(u8x16_eq(self.marks(), u8x16_splat(0)));
        let index = (!unmarked).trailing_zeros() as usize;
        (index < len).then_some(index)
    }

    #[cfg(test)]
    #[inline(always)]
    fn mark_bits(self) -> u64 {
        u64::from(!u8x16_bitmask(u8x16_eq(self.marks(), u8x16_splat(0))))
    }

    entry_methods!();
}
