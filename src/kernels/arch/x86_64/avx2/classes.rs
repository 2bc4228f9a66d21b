//! Finds the positions of all bytes of a class, with AVX2. Two tables of 16 bytes, for the bytes below 80 and for the
//! others, are indexed by the low 4 bits of a byte. Each entry has a bit for each value of the high 4 bits.

use core::arch::x86_64::{
    __m256i, _mm_loadu_si128, _mm256_and_si256, _mm256_broadcastsi128_si256, _mm256_cmpeq_epi8,
    _mm256_loadu_si256, _mm256_movemask_epi8, _mm256_or_si256, _mm256_set1_epi8, _mm256_setzero_si256,
    _mm256_shuffle_epi8, _mm256_srli_epi16, _mm256_testz_si256, _mm256_xor_si256,
};

use crate::kernels::arch::portable::classes::{GROUP, find_class_with};
use crate::kernels::class::Class;
use crate::kernels::functions::{ASCII_GROUP, BLOCK, CAPACITY, Found};

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// The bit of each value of the high 4 bits in the tables.
const BITS: [u8; 16] = [1, 2, 4, 8, 16, 32, 64, 128, 1, 2, 4, 8, 16, 32, 64, 128];

/// Implements [`find_class`](crate::kernels::functions::Functions).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) fn find_class(bytes: &[u8], class: &Class, positions: &mut [u16; CAPACITY]) -> Found {
    if let Some(byte) = class.only_ascii() {
        return find_only(bytes, byte, class, positions);
    }
    let (low, high) = class.nibbles();
    let (low, high, bit) = (table(&low), table(&high), table(&BITS));
    // Nonzero for bytes of the class.
    let marks = |x: __m256i| {
        // The lookup returns 0 if the highest bit of the index is set.
        let below_80 = _mm256_shuffle_epi8(low, x);
        let others = _mm256_shuffle_epi8(high, _mm256_xor_si256(x, _mm256_set1_epi8(-0x80)));
        let nibble = _mm256_and_si256(_mm256_srli_epi16::<4>(x), _mm256_set1_epi8(0x0F));
        _mm256_and_si256(_mm256_or_si256(below_80, others), _mm256_shuffle_epi8(bit, nibble))
    };
    // SAFETY: every `at` below is the start of a vector in its block.
    let load = |block: &[u8], at: usize| unsafe { _mm256_loadu_si256(block.as_ptr().add(at).cast()) };
    let unmarked = |marks: __m256i| {
        _mm256_movemask_epi8(_mm256_cmpeq_epi8(marks, _mm256_setzero_si256())).cast_unsigned()
    };
    let is_clean = |group: &[u8; GROUP]| {
        let mut any = _mm256_setzero_si256();
        for vector in 0..GROUP / WIDTH {
            any = _mm256_or_si256(any, marks(load(group, vector * WIDTH)));
        }
        unmarked(any) == u32::MAX
    };
    let block_bits = |block: &[u8; BLOCK]| {
        let half = |at: usize| u64::from(!unmarked(marks(load(block, at))));
        half(0) | half(WIDTH) << 32
    };
    find_class_with(bytes, class, positions, is_clean, block_bits)
}

/// [`find_class`] for a class of one ASCII byte, which is compared without a table.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn find_only(bytes: &[u8], byte: u8, class: &Class, positions: &mut [u16; CAPACITY]) -> Found {
    let all = _mm256_set1_epi8(byte.cast_signed());
    // SAFETY: every `at` below is the start of a vector in its block.
    let load = |block: &[u8], at: usize| unsafe { _mm256_loadu_si256(block.as_ptr().add(at).cast()) };
    let equal = |block: &[u8], at: usize| _mm256_cmpeq_epi8(load(block, at), all);
    let is_clean = |group: &[u8; GROUP]| {
        let mut any = _mm256_setzero_si256();
        for vector in 0..GROUP / WIDTH {
            any = _mm256_or_si256(any, equal(group, vector * WIDTH));
        }
        _mm256_testz_si256(any, any) != 0
    };
    let block_bits = |block: &[u8; BLOCK]| {
        let half = |at: usize| u64::from(_mm256_movemask_epi8(equal(block, at)).cast_unsigned());
        half(0) | half(WIDTH) << 32
    };
    find_class_with(bytes, class, positions, is_clean, block_bits)
}

/// Implements [`ascii_without`](crate::kernels::functions::Functions).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) fn ascii_without(bytes: &[u8], class: &Class) -> usize {
    let (low, bit) = (table(&class.nibbles().0), table(&BITS));
    let (groups, _) = bytes.as_chunks::<ASCII_GROUP>();
    let is_clean = |group: &[u8; ASCII_GROUP]| {
        let (mut any, mut marks) = (_mm256_setzero_si256(), _mm256_setzero_si256());
        for vector in group.as_chunks::<WIDTH>().0 {
            // SAFETY: the array has the size of a vector.
            let x = unsafe { _mm256_loadu_si256(vector.as_ptr().cast()) };
            let nibble = _mm256_and_si256(_mm256_srli_epi16::<4>(x), _mm256_set1_epi8(0x0F));
            let mark = _mm256_and_si256(_mm256_shuffle_epi8(low, x), _mm256_shuffle_epi8(bit, nibble));
            any = _mm256_or_si256(any, x);
            marks = _mm256_or_si256(marks, mark);
        }
        _mm256_movemask_epi8(any) == 0 && _mm256_testz_si256(marks, marks) != 0
    };
    groups.iter().take_while(|group| is_clean(group)).count() * ASCII_GROUP
}

/// Loads a table into both halves of a vector.
#[target_feature(enable = "avx2")]
#[inline]
fn table(entries: &[u8; 16]) -> __m256i {
    // SAFETY: there are 16 bytes.
    _mm256_broadcastsi128_si256(unsafe { _mm_loadu_si128(entries.as_ptr().cast()) })
}
