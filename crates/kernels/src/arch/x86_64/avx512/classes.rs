//! Finds every position of a character of a class, with AVX-512 VBMI.
//!
//! A table of 64 entries is indexed by the low 6 bits of a byte. An entry has one bit for `00..=3F`, one for `40..=7F`
//! and one for each product of lead bytes. A second table, indexed by the high 2 bits, selects the bits that apply to the
//! byte. Two more tables have the bits that apply before the byte after it, and before the one after that.

use core::arch::x86_64::*;

use super::Zmm;
use crate::arch::vector::Vector;
use crate::as_chunks::as_chunks;
use crate::class::Class;
use crate::functions::{ASCII_GROUP, BLOCK, CAPACITY, Found};

/// The maximum number of bytes that one call searches.
const STRETCH: usize = 4096;
/// The distance in bytes at which memory is prefetched into the L1 cache.
const AHEAD: usize = 1024;
/// The number of bytes that are tested together. Most groups have no byte of a class.
const GROUP: usize = 4 * BLOCK;

/// Implements [`find_class`](crate::functions::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) fn find_class(bytes: &[u8], class: &Class, positions: &mut [u16; CAPACITY]) -> Found {
    let [below_40, below_80, ..] = class.words();
    // SAFETY: a table has 64 entries.
    let [leads, seconds, thirds] =
        class.tables().each_ref().map(|table| unsafe { load(table.entries.as_ptr()) });
    let ascii =
        _mm512_or_si512(_mm512_maskz_set1_epi8(below_40, 0x40), _mm512_maskz_set1_epi8(below_80, -0x80));
    let table = _mm512_or_si512(leads, ascii);
    // The bits of ASCII are set for every byte after it.
    let any_after_ascii = _mm512_set1_epi8(-0x40);
    let seconds = _mm512_or_si512(seconds, any_after_ascii);
    let thirds = _mm512_or_si512(thirds, any_after_ascii);
    // The bits that apply for each value of the high 2 bits of a byte, repeated in every double word. Only the low 2
    // bits of an index have an effect.
    let selector = _mm512_set1_epi32(0x3F00_8040);
    let marks = |x: __m512i| {
        (_mm512_permutexvar_epi8(x, table), _mm512_permutexvar_epi8(_mm512_srli_epi16::<6>(x), selector))
    };
    let mut count = 0;
    let mut start = 0;
    let mut has_leads = false;
    let end = bytes.len().min(STRETCH);
    while start < end {
        if bytes.len() - start >= GROUP + 2 {
            // This pass ignores the bytes after lead bytes. In text of one script every group may contain lead bytes of
            // the class. After the first group in which only the first bytes matched, this pass is left out.
            let mut any = _mm512_setzero_si512();
            if !has_leads {
                for block in 0..GROUP / BLOCK {
                    let from = bytes.as_ptr().wrapping_add(start + block * BLOCK);
                    Zmm::prefetch(from.wrapping_add(AHEAD));
                    // SAFETY: a group follows.
                    let (flags, group) = marks(unsafe { load(from) });
                    // any | (flags & group)
                    any = _mm512_ternarylogic_epi32::<0xF8>(any, flags, group);
                }
                if _mm512_test_epi8_mask(any, any) == 0 {
                    start += GROUP;
                    continue;
                }
                any = _mm512_setzero_si512();
            }
            for block in 0..GROUP / BLOCK {
                let from = bytes.as_ptr().wrapping_add(start + block * BLOCK);
                Zmm::prefetch(from.wrapping_add(AHEAD));
                // SAFETY: a group and two bytes follow.
                let (x, second, third) =
                    unsafe { (load(from), load(from.wrapping_add(1)), load(from.wrapping_add(2))) };
                let (flags, group) = marks(x);
                // flags & group & seconds, then any | (both & thirds)
                let both =
                    _mm512_ternarylogic_epi32::<0x80>(flags, group, _mm512_permutexvar_epi8(second, seconds));
                any = _mm512_ternarylogic_epi32::<0xF8>(any, both, _mm512_permutexvar_epi8(third, thirds));
            }
            if _mm512_test_epi8_mask(any, any) == 0 {
                has_leads = true;
                start += GROUP;
                continue;
            }
        }
        let group_end = (start + GROUP).min(bytes.len());
        while start < group_end {
            let Some(room) = positions.get_mut(count..).and_then(|room| room.first_chunk_mut()) else {
                return Found { count, searched: start };
            };
            let rest = bytes.len() - start;
            let from = bytes.as_ptr().wrapping_add(start);
            // The lanes whose byte `after` bytes later is not after the end.
            let live = |after: usize| u64::MAX.unbounded_shr((BLOCK + after).saturating_sub(rest) as u32);
            // SAFETY: masked bytes are not read.
            let load = |after: usize| unsafe {
                _mm512_maskz_loadu_epi8(live(after), from.wrapping_add(after).cast())
            };
            // A byte after the end is in every set.
            let lookup = |after: usize, bytes: __m512i, table: __m512i| {
                _mm512_mask_permutexvar_epi8(_mm512_set1_epi8(-1), live(after), bytes, table)
            };
            let [x, second, third] = [load(0), load(1), load(2)];
            let (flags, group) = marks(x);
            let both = _mm512_ternarylogic_epi32::<0x80>(flags, group, lookup(1, second, seconds));
            let is_sequence = _mm512_cmplt_epi8_mask(second, _mm512_set1_epi8(-0x40)) | !live(1);
            let bits = _mm512_test_epi8_mask(both, lookup(2, third, thirds))
                & live(0)
                & (is_sequence | !_mm512_movepi8_mask(x));
            count += write(bits, start as u16, room);
            start += BLOCK.min(rest);
        }
    }
    Found { count, searched: start }
}

/// # Safety
///
/// The length of a vector can be read.
#[target_feature(enable = "avx512f")]
#[inline]
unsafe fn load(from: *const u8) -> __m512i {
    // SAFETY: the caller guarantees readable memory.
    unsafe { _mm512_loadu_si512(from.cast()) }
}

/// [`ascii_without`](crate::functions::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) fn ascii_without(bytes: &[u8], class: &Class) -> usize {
    let [below_40, below_80, ..] = class.words();
    // SAFETY: the array has the size of a vector.
    let numbers = unsafe { load(NUMBERS.as_ptr()) };
    // The entry of the low 6 bits of an ASCII byte. The sum of the byte and its entry is 80 or more if the byte is in
    // the class: always if both bytes with these bits are, and otherwise only for the higher or only for the lower one.
    let [both, higher, lower] = [below_40 & below_80, below_80 & !below_40, below_40 & !below_80];
    let table = _mm512_or_si512(
        _mm512_maskz_set1_epi8(both, -0x80),
        _mm512_or_si512(
            _mm512_maskz_sub_epi8(higher, _mm512_set1_epi8(0x40), numbers),
            _mm512_maskz_sub_epi8(lower, _mm512_set1_epi8(-1), numbers),
        ),
    );
    let (groups, _) = as_chunks::<ASCII_GROUP>(bytes);
    let mut len = 0;
    for group in groups {
        let mut any = _mm512_setzero_si512();
        for vector in 0..ASCII_GROUP / BLOCK {
            let from = group.as_ptr().wrapping_add(vector * BLOCK);
            Zmm::prefetch(from.wrapping_add(AHEAD));
            // SAFETY: the vector is inside the group.
            let x = unsafe { _mm512_loadu_si512(from.cast()) };
            let sum = _mm512_add_epi8(x, _mm512_permutexvar_epi8(x, table));
            // any | x | sum
            any = _mm512_ternarylogic_epi32::<0xFE>(any, x, sum);
        }
        if _mm512_movepi8_mask(any) != 0 {
            break;
        }
        len += ASCII_GROUP;
    }
    len
}

/// Writes `start` plus the index of each set bit. Returns the number of set bits. There is no loop over the bits,
/// because its end would be mispredicted.
#[target_feature(enable = "avx512f,avx512bw,avx512vbmi2,popcnt")]
fn write(bits: u64, start: u16, room: &mut [u16; BLOCK]) -> usize {
    // SAFETY: the array has the size of a vector.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let found = _mm512_maskz_compress_epi8(bits, numbers);
    let start = _mm512_set1_epi16(start.cast_signed());
    let low = _mm512_add_epi16(_mm512_cvtepu8_epi16(_mm512_castsi512_si256(found)), start);
    // SAFETY: there is room for 64 positions, and the vector has the first 32.
    unsafe { _mm512_storeu_si512(room.as_mut_ptr().cast(), low) };
    let count = bits.count_ones() as usize;
    if count > BLOCK / 2 {
        let high = _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(found));
        // SAFETY: there is room for 64 positions, and the vector has the last 32.
        unsafe {
            let room = room[BLOCK / 2..].as_mut_ptr();
            _mm512_storeu_si512(room.cast(), _mm512_add_epi16(high, start));
        }
    }
    count
}

pub(super) const NUMBERS: [u8; BLOCK] = {
    let mut numbers = [0; BLOCK];
    let mut number = 0;
    while number < BLOCK {
        numbers[number] = number as u8;
        number += 1;
    }
    numbers
};
