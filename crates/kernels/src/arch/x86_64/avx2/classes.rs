//! Finds the positions of all characters of a class, with AVX2. Two tables of 16 bytes, for the bytes below 80 and for the
//! others, are indexed by the low 4 bits of a byte. Each entry has a bit for each value of the high 4 bits. Two more tables
//! for each of the three bytes of a sequence are indexed by the low and by the high 4 bits. Each entry has a bit for each
//! product of the class that has a byte with these bits.

use core::arch::x86_64::*;

use crate::arch::portable::classes::{GROUP, find_class_with};
use crate::as_chunks::as_chunks;
use crate::class::{Class, Table};
use crate::functions::{ASCII_GROUP, CAPACITY, Found};

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// The bit of each value of the high 4 bits in the tables.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Selects the values of the high 4 bits of a lead byte.
const OF_LEADS: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xFF, 0xFF, 0xFF, 0xFF];
/// The byte of 16 bits that has the bit of each value of 4 bits.
const HALVES: [u8; 16] = [0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1];

/// Implements [`find_class`](crate::functions::Functions).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(crate) fn find_class(bytes: &[u8], class: &Class, positions: &mut [u16; CAPACITY]) -> Found {
    let [below_40, below_80, leads, seconds_of_two] = class.words();
    let low = _mm256_or_si256(entries(below_40), _mm256_slli_epi16::<4>(entries(below_80)));
    let bit = table(&BITS);
    let leads = _mm256_slli_epi16::<4>(entries(leads));
    let long_or_second =
        _mm256_or_si256(entries(seconds_of_two), _mm256_and_si256(leads, _mm256_set1_epi8(-0x40)));
    // Nonzero for ASCII bytes of the class, and for the bytes of the table `others`. The lookup in it returns 0 for ASCII,
    // because the highest bit of the index is set.
    let marks = |x: __m256i, others: __m256i| {
        let other = _mm256_shuffle_epi8(others, _mm256_xor_si256(x, _mm256_set1_epi8(-0x80)));
        let bit = _mm256_shuffle_epi8(bit, high_nibbles(x));
        _mm256_and_si256(_mm256_or_si256(_mm256_shuffle_epi8(low, x), other), bit)
    };
    let [mut leads_of, seconds_of, thirds_of] = class.tables().each_ref().map(|table| halves(table));
    leads_of[1] = _mm256_and_si256(leads_of[1], table(&OF_LEADS));
    // The tests are: no first byte; no second byte of 2 bytes and no other first byte; no sequence. The second test
    // costs the same as the first, and is enough for scripts of 2 bytes.
    let is_clean = |test: u8, group: &[u8; GROUP + 2]| {
        let mut any = _mm256_setzero_si256();
        for vector in 0..GROUP / WIDTH {
            let at = vector * WIDTH;
            // SAFETY: the vector is inside the group.
            let x = unsafe { load(group, at) };
            let found = match test {
                0 => marks(x, leads),
                1 => marks(x, long_or_second),
                _ => {
                    // SAFETY: two bytes follow the last vector of the group.
                    let (second, third) = unsafe { (load(group, at + 1), load(group, at + 2)) };
                    let both = _mm256_and_si256(products(x, leads_of), products(second, seconds_of));
                    let sequences = _mm256_and_si256(both, products(third, thirds_of));
                    _mm256_or_si256(sequences, marks(x, _mm256_setzero_si256()))
                }
            };
            any = _mm256_or_si256(any, found);
        }
        // Compares only the low 6 bits of the next byte.
        let may_be_second = seconds_of_two >> (group[GROUP] & 63) & 1 != 0;
        _mm256_testz_si256(any, any) != 0 && (test != 1 || !may_be_second)
    };
    find_class_with(bytes, class, positions, is_clean, |block| {
        let (halves, _) = as_chunks::<WIDTH>(block);
        let mut bits = 0;
        for half in halves.iter().rev() {
            // SAFETY: a half of a block has the size of a vector.
            let x = unsafe { load(half, 0) };
            let unmarked = _mm256_cmpeq_epi8(marks(x, leads), _mm256_setzero_si256());
            bits = bits << WIDTH | u64::from(!_mm256_movemask_epi8(unmarked).cast_unsigned());
        }
        bits
    })
}

/// Loads the two tables for one of the three bytes of a sequence.
#[target_feature(enable = "avx2")]
#[inline]
fn halves(of: &Table) -> [__m256i; 2] {
    [table(&of.halves[0]), table(&of.halves[1])]
}

/// Returns the products that have the byte of each lane.
#[target_feature(enable = "avx2")]
#[inline]
fn products(x: __m256i, of: [__m256i; 2]) -> __m256i {
    let low = _mm256_shuffle_epi8(of[0], _mm256_and_si256(x, _mm256_set1_epi8(0x0F)));
    _mm256_and_si256(low, _mm256_shuffle_epi8(of[1], high_nibbles(x)))
}

/// Loads the vector that starts at an index.
///
/// # Safety
///
/// The vector is inside the bytes.
#[target_feature(enable = "avx2")]
#[inline]
unsafe fn load(bytes: &[u8], at: usize) -> __m256i {
    debug_assert!(at + WIDTH <= bytes.len());
    // SAFETY: the caller guarantees that the vector is inside the bytes.
    unsafe { _mm256_loadu_si256(bytes.as_ptr().add(at).cast()) }
}

/// Implements [`ascii_without`](crate::functions::Functions).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(crate) fn ascii_without(bytes: &[u8], class: &Class) -> usize {
    let [below_40, below_80, ..] = class.words();
    let low = _mm256_or_si256(entries(below_40), _mm256_slli_epi16::<4>(entries(below_80)));
    let bit = table(&BITS);
    let (groups, _) = as_chunks::<ASCII_GROUP>(bytes);
    let mut len = 0;
    for group in groups {
        let mut any = _mm256_setzero_si256();
        let mut marks = _mm256_setzero_si256();
        for vector in 0..ASCII_GROUP / WIDTH {
            // SAFETY: the vector is inside the group.
            let x = unsafe { load(group, vector * WIDTH) };
            let mark =
                _mm256_and_si256(_mm256_shuffle_epi8(low, x), _mm256_shuffle_epi8(bit, high_nibbles(x)));
            any = _mm256_or_si256(any, x);
            marks = _mm256_or_si256(marks, mark);
        }
        if _mm256_movemask_epi8(any) != 0 || _mm256_testz_si256(marks, marks) == 0 {
            break;
        }
        len += ASCII_GROUP;
    }
    len
}

/// Loads a table into both halves of a vector.
#[target_feature(enable = "avx2")]
#[inline]
fn table(entries: &[u8; 16]) -> __m256i {
    // SAFETY: there are 16 bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(entries.as_ptr().cast()) })
}

/// Returns a table indexed by the low 4 bits of a number below 40. Each entry has a bit for each value of the high 2 bits,
/// which is set if the bit of the number is set in `word`.
#[target_feature(enable = "avx2")]
#[inline]
fn entries(word: u64) -> __m256i {
    let word = _mm256_set1_epi64x(word.cast_signed());
    let bits = table(&BITS);
    let mut entries = _mm256_setzero_si256();
    for high in 0..4 {
        let bytes = _mm256_add_epi8(table(&HALVES), _mm256_set1_epi8(2 * high));
        let is_set = _mm256_cmpeq_epi8(_mm256_and_si256(_mm256_shuffle_epi8(word, bytes), bits), bits);
        entries = _mm256_or_si256(entries, _mm256_and_si256(is_set, _mm256_set1_epi8(1 << high)));
    }
    entries
}

#[target_feature(enable = "avx2")]
#[inline]
fn high_nibbles(x: __m256i) -> __m256i {
    _mm256_and_si256(_mm256_srli_epi16::<4>(x), _mm256_set1_epi8(0x0F))
}
