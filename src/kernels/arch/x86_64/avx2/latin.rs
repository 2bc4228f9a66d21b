//! Conversions between UTF-8 and ISO 8859-1 or windows-1252, with AVX2. AVX2 has no instruction that compresses a
//! vector, so tables of shuffles compress a part at a time.
//!
//! Groups of four vectors of ASCII are copied. If only one vector of a group is not ASCII, it is converted alone. Otherwise
//! all four are converted, because in text with accents a branch for each would often be mispredicted.

use core::arch::x86_64::*;

use super::table;
use super::utf16::{all, and, load, pair};
use crate::kernels::arch::shuffles::{C1, KEPT, ONE_OR_TWO, ONE_TO_THREE, PUNCTUATION, SECOND_OF_TWO};

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// The number of vectors that are tested for ASCII at once.
const GROUP: usize = 4;

/// [`Convert`](crate::kernels::functions::Convert): single bytes to UTF-8, while there is a vector of input and output
/// space for the UTF-8 of any vector.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn decode<const WINDOWS: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    // If characters have up to 3 bytes, the last store writes 4 bytes more than it may use.
    let most = if WINDOWS { 3 * WIDTH + 4 } else { 2 * WIDTH };
    let (mut read, mut written) = (0, 0);
    loop {
        let ascii = copy_ascii(&input[read..], &mut output[written..]);
        read += ascii;
        written += ascii;
        if input.len() - read < WIDTH || output.len() - written < most {
            return (read, written);
        }
        if input.len() - read >= GROUP * WIDTH && output.len() - written >= GROUP * most {
            // SAFETY: a group can be read, and there is room for its UTF-8, which is not shorter.
            unsafe {
                let group = load_group(input.as_ptr().add(read));
                let mut out = output.as_mut_ptr().add(written);
                let masks = group.map(|x| signs(x));
                if let Some(other) = only(masks) {
                    store_group(group, out);
                    read += other * WIDTH;
                    written += other * WIDTH;
                } else {
                    let has_three = WINDOWS && !is_ascii(group.map(|x| is_c1(x)));
                    for (x, mask) in group.into_iter().zip(masks) {
                        let len =
                            if has_three { decode_three(x, mask, out) } else { decode_two(x, mask, out) };
                        out = out.add(len);
                        written += len;
                    }
                    read += GROUP * WIDTH;
                    continue;
                }
            }
        }
        // SAFETY: a vector can be read, and there is room for its UTF-8.
        written += unsafe {
            let (x, out) = (load(input.as_ptr().add(read)), output.as_mut_ptr().add(written));
            if WINDOWS && signs(is_c1(x)) != 0 {
                decode_three(x, signs(x), out)
            } else {
                decode_two(x, signs(x), out)
            }
        };
        read += WIDTH;
    }
}

/// Copies groups of ASCII. Returns the number of bytes copied.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn copy_ascii(input: &[u8], output: &mut [u8]) -> usize {
    let count = input.len().min(output.len());
    let mut at = 0;
    while count - at >= GROUP * WIDTH {
        // SAFETY: a group can be read, and there is room for one.
        unsafe {
            let group = load_group(input.as_ptr().add(at));
            if !is_ascii(group) {
                break;
            }
            store_group(group, output.as_mut_ptr().add(at));
        }
        at += GROUP * WIDTH;
    }
    at
}

/// Writes the UTF-8 of 32 bytes of ISO 8859-1. `mask` has the bits of those that are not ASCII. Returns the number of
/// bytes written.
///
/// # Safety
///
/// There is room for two vectors.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
unsafe fn decode_two(x: __m256i, mask: u32, out: *mut u8) -> usize {
    let [first, second] = sequences_of_two(x);
    let [a, b, c, d] = mask.to_le_bytes();
    let low = _mm256_shuffle_epi8(_mm256_unpacklo_epi8(first, second), pair(&ONE_OR_TWO, a, c));
    let high = _mm256_shuffle_epi8(_mm256_unpackhi_epi8(first, second), pair(&ONE_OR_TWO, b, d));
    let count = |bits: u32| (mask & bits).count_ones() as usize;
    // SAFETY: the last store starts at 48 or before.
    unsafe {
        _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(low));
        _mm_storeu_si128(out.add(8 + count(0xFF)).cast(), _mm256_castsi256_si128(high));
        _mm_storeu_si128(out.add(16 + count(0xFFFF)).cast(), _mm256_extracti128_si256::<1>(low));
        _mm_storeu_si128(out.add(24 + count(0xFF_FFFF)).cast(), _mm256_extracti128_si256::<1>(high));
    }
    WIDTH + count(!0)
}

/// Returns the first bytes of the UTF-8 of bytes of ISO 8859-1, and the second bytes of those that are not ASCII.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn sequences_of_two(x: __m256i) -> [__m256i; 2] {
    // C2 or C3
    let lead = _mm256_or_si256(and(_mm256_srli_epi16::<6>(x), 0x03), all(0xC0));
    [_mm256_blendv_epi8(x, lead, x), and(x, 0xBF)]
}

/// Writes the UTF-8 of 32 bytes of windows-1252. `mask` has the bits of those that are not ASCII. Returns the number of
/// bytes written.
///
/// # Safety
///
/// There is room for 100 bytes.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn decode_three(x: __m256i, mask: u32, out: *mut u8) -> usize {
    let (c1, index) = (is_c1(x), and(x, 0x0F));
    // Moves the bit that selects the table to bit 7.
    let is_9x = _mm256_slli_epi16::<3>(x);
    let byte = |tables: &'static [[u8; 16]; 2]| {
        // SAFETY: the CPU has AVX2.
        let [of_8x, of_9x] = unsafe { [0, 1].map(|i| _mm256_shuffle_epi8(table(&tables[i]), index)) };
        _mm256_blendv_epi8(of_8x, of_9x, is_9x)
    };
    let [first, second] = sequences_of_two(x);
    let first = _mm256_blendv_epi8(first, byte(&C1[0]), c1);
    let second = _mm256_blendv_epi8(second, byte(&C1[1]), c1);
    let third = _mm256_and_si256(byte(&C1[2]), c1);
    let threes = signs(third);
    let zero = _mm256_setzero_si256();
    let [ab, c] = [
        [_mm256_unpacklo_epi8(first, second), _mm256_unpackhi_epi8(first, second)],
        [_mm256_unpacklo_epi8(third, zero), _mm256_unpackhi_epi8(third, zero)],
    ];
    // Each half of a vector has 4 characters. The second halves follow all of the first halves.
    let quarters = [
        _mm256_unpacklo_epi16(ab[0], c[0]),
        _mm256_unpackhi_epi16(ab[0], c[0]),
        _mm256_unpacklo_epi16(ab[1], c[1]),
        _mm256_unpackhi_epi16(ab[1], c[1]),
    ];
    let mask_of = |i: usize| (mask >> (4 * i) & 0xF | (threes >> (4 * i) & 0xF) << 4) as u8;
    let count = |bits: u32| ((mask & bits).count_ones() + (threes & bits).count_ones()) as usize;
    let mut packed = quarters;
    for (i, quarter) in packed.iter_mut().enumerate() {
        *quarter = _mm256_shuffle_epi8(*quarter, pair(&ONE_TO_THREE, mask_of(i), mask_of(i + 4)));
    }
    for i in 0..8 {
        let bytes = packed[i % 4];
        let bytes = if i < 4 { _mm256_castsi256_si128(bytes) } else { _mm256_extracti128_si256::<1>(bytes) };
        // SAFETY: the last store starts at 84 or before. Each store may write bytes that the next one overwrites.
        unsafe { _mm_storeu_si128(out.add(4 * i + count((1 << (4 * i)) - 1)).cast(), bytes) };
    }
    WIDTH + count(!0)
}

/// [`Convert`](crate::kernels::functions::Convert): UTF-8 to ISO 8859-1, or to windows-1252 except for the C1 characters
/// and some letters. Stops before an ill-formed sequence and before a character that it does not convert.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn encode<const WINDOWS: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    if input.len() < WIDTH || output.len() < WIDTH {
        return (0, 0);
    }
    // The first vector has no bytes before it. If it has a byte that is not converted, no more work is done, because
    // such bytes may be frequent.
    // SAFETY: a vector can be read, and there is room for one.
    let (mut read, mut written) = unsafe {
        let x = load(input.as_ptr());
        let half = _mm256_permute2x128_si256::<0x08>(x, x);
        let before = [_mm256_alignr_epi8::<15>(x, half), _mm256_alignr_epi8::<14>(x, half)];
        encode_vector::<WINDOWS>(x, before, output.as_mut_ptr())
    };
    let mut is_converted = read == WIDTH;
    let mut is_inside = unfinished(&input[..read]) > 0;
    while is_converted {
        if !is_inside {
            let ascii = copy_ascii(&input[read..], &mut output[written..]);
            read += ascii;
            written += ascii;
        }
        if input.len() - read < WIDTH || output.len() - written < WIDTH {
            break;
        }
        // SAFETY: these bytes can be read, and there is room for as many. There is a vector before them.
        unsafe {
            let mut from = input.as_ptr().add(read);
            let mut out = output.as_mut_ptr().add(written);
            if input.len() - read >= GROUP * WIDTH && output.len() - written >= GROUP * WIDTH {
                let group = load_group(from);
                let mut masks = group.map(|x| signs(x));
                masks[0] |= u32::from(is_inside);
                if let Some(other) = only(masks) {
                    store_group(group, out);
                    read += other * WIDTH;
                    written += other * WIDTH;
                    from = from.add(other * WIDTH);
                    out = out.add(other * WIDTH);
                } else {
                    let [a, b, c, d] = group;
                    let greatest = _mm256_max_epu8(_mm256_max_epu8(a, b), _mm256_max_epu8(c, d));
                    // Bit 7 is set for a byte from E0 on.
                    let has_three =
                        WINDOWS && (is_inside || signs(_mm256_subs_epu8(greatest, all(0x60))) != 0);
                    let len = if has_three {
                        encode_group::<WINDOWS, true>(from, out)
                    } else {
                        encode_group::<WINDOWS, false>(from, out)
                    };
                    if let Some(len) = len {
                        read += GROUP * WIDTH;
                        written += len;
                        is_inside = unfinished(&input[..read]) > 0;
                        continue;
                    }
                }
            }
            let (x, before) = (load(from), [load(from.sub(1)), load(from.sub(2))]);
            let (taken, len) = encode_vector::<WINDOWS>(x, before, out);
            read += taken;
            written += len;
            is_converted = taken == WIDTH;
        }
        is_inside = unfinished(&input[..read]) > 0;
    }
    (read - unfinished(&input[..read]), written)
}

/// Returns the number of bytes of the unfinished sequence at the end of the bytes that were read. They have no output.
#[inline]
fn unfinished(read: &[u8]) -> usize {
    match *read {
        [.., 0xC0..=0xFF] => 1,
        [.., 0xE0..=0xFF, _] => 2,
        _ => 0,
    }
}

/// Converts a vector up to a byte that is not converted. `before` has the bytes one and two before each byte. Returns
/// the number of bytes read and the number of bytes written.
///
/// # Safety
///
/// There is room for a vector.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
unsafe fn encode_vector<const WINDOWS: bool>(
    x: __m256i,
    before: [__m256i; 2],
    out: *mut u8,
) -> (usize, usize) {
    let step = if WINDOWS { of_three(x, before) } else { of_two::<WINDOWS>(x, before[0]) };
    let taken = signs(step.marks).trailing_zeros();
    let after = (!0_u64 << taken) as u32;
    // SAFETY: the caller guarantees the room.
    (taken as usize, unsafe { compress(step.bytes, signs(step.dropped) | after, out) })
}

/// Converts a group. Returns the number of bytes written, or `None` if a byte is not converted.
///
/// # Safety
///
/// A group and the 2 bytes before it can be read, and there is room for a group.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
unsafe fn encode_group<const WINDOWS: bool, const THREE: bool>(
    from: *const u8,
    out: *mut u8,
) -> Option<usize> {
    let mut marks = _mm256_setzero_si256();
    let mut len = 0;
    for i in 0..GROUP {
        // SAFETY: the caller guarantees the memory. A compressed vector is not longer than the vector.
        unsafe {
            let from = from.add(i * WIDTH);
            let (x, p1) = (load(from), load(from.sub(1)));
            let step = if THREE { of_three(x, [p1, load(from.sub(2))]) } else { of_two::<WINDOWS>(x, p1) };
            marks = _mm256_or_si256(marks, step.marks);
            len += compress(step.bytes, signs(step.dropped), out.add(len));
        }
    }
    (signs(marks) == 0).then_some(len)
}

/// A vector of UTF-8 that is converted.
struct Step {
    /// The output, with a byte for each byte of the input.
    bytes: __m256i,
    /// Bit 7: the byte is not written.
    dropped: __m256i,
    /// Bit 7: the byte, or a sequence before it that it does not belong to, is not converted.
    marks: __m256i,
}

/// Converts characters up to U+00FF. `p1` has the byte before each byte.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn of_two<const WINDOWS: bool>(x: __m256i, p1: __m256i) -> Step {
    let index = _mm256_min_epu8(_mm256_subs_epu8(p1, all(0xBF)), all(5));
    // SAFETY: the CPU has AVX2.
    let added = _mm256_shuffle_epi8(unsafe { table(&SECOND_OF_TWO) }, index);
    let bytes = _mm256_add_epi8(x, added);
    // Bit 7: the byte before is C0 or above; this byte is `80..=BF`.
    let after_lead = _mm256_subs_epu8(p1, all(0x40));
    let cont = _mm256_adds_epi8(x, all(0x40));
    let mut marks = _mm256_or_si256(_mm256_xor_si256(after_lead, cont), added);
    if WINDOWS {
        marks = _mm256_or_si256(marks, is_c1(bytes));
    }
    Step { bytes, dropped: _mm256_subs_epu8(x, all(0x40)), marks }
}

/// Converts characters up to U+00FF except C1 characters, and from U+2000 on. `p1` and `p2` have the bytes one and two
/// before each byte.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn of_three(x: __m256i, [p1, p2]: [__m256i; 2]) -> Step {
    let is = |bytes, byte| _mm256_cmpeq_epi8(bytes, all(byte));
    let (after_c2, after_c3, after_e2) = (is(p1, 0xC2), is(p1, 0xC3), is(p1, 0xE2));
    let third = is(p2, 0xE2);
    let after_lead = _mm256_or_si256(_mm256_or_si256(after_c2, after_c3), after_e2);
    // Bit 7: the byte before is C0 or above; this byte is `80..=BF`.
    let is_lead = _mm256_subs_epu8(p1, all(0x40));
    let cont = _mm256_adds_epi8(x, all(0x40));
    let mut marks = _mm256_xor_si256(_mm256_or_si256(after_lead, third), cont);
    marks = _mm256_or_si256(marks, _mm256_andnot_si256(after_lead, is_lead));
    marks = _mm256_or_si256(marks, _mm256_and_si256(after_c2, is_c1(x)));
    // U+2010 to U+203F. The sum is below 0x80 for 16 bytes, and for others the shuffle returns 0.
    let mut punctuation = _mm256_setzero_si256();
    for (tables, high) in PUNCTUATION.iter().zip([0x90, 0xA0, 0xB0]) {
        let index = _mm256_adds_epu8(_mm256_sub_epi8(x, all(high)), all(0x70));
        // SAFETY: the CPU has AVX2.
        let bytes = _mm256_shuffle_epi8(unsafe { table(tables) }, index);
        punctuation = _mm256_or_si256(punctuation, bytes);
    }
    let mut mapped = _mm256_and_si256(punctuation, is(p1, 0x80));
    // U+20AC and U+2122
    let euro = _mm256_and_si256(is(p1, 0x82), is(x, 0xAC));
    let trade_mark = _mm256_and_si256(is(p1, 0x84), is(x, 0xA2));
    mapped = _mm256_or_si256(mapped, _mm256_or_si256(and(euro, 0x80), and(trade_mark, 0x99)));
    marks = _mm256_or_si256(marks, _mm256_andnot_si256(mapped, third));
    let two = _mm256_add_epi8(x, and(after_c3, 0x40));
    Step {
        bytes: _mm256_blendv_epi8(two, mapped, third),
        dropped: _mm256_or_si256(_mm256_subs_epu8(x, all(0x40)), after_e2),
        marks,
    }
}

/// Writes the bytes whose bit in `dropped` is not set. Returns the number of bytes written.
///
/// # Safety
///
/// There is room for a vector.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
unsafe fn compress(bytes: __m256i, dropped: u32, out: *mut u8) -> usize {
    let [a, b, c, d] = dropped.to_le_bytes().map(|mask| i64::from_le_bytes(KEPT[usize::from(mask)]));
    // The second 8 bytes of each half have the indices 8 to 15.
    let second = 0x0808_0808_0808_0808;
    let shuffles = _mm256_or_si256(_mm256_set_epi64x(d, c, b, a), _mm256_set_epi64x(second, 0, second, 0));
    let kept = _mm256_shuffle_epi8(bytes, shuffles);
    let (low, high) = (_mm256_castsi256_si128(kept), _mm256_extracti128_si256::<1>(kept));
    let count = |bits: u32| (dropped & bits).count_ones() as usize;
    // SAFETY: the stores of 8 bytes start at 0, 8, 16 and 24 or before.
    unsafe {
        _mm_storel_epi64(out.cast(), low);
        out.add(8 - count(0xFF)).cast::<i64>().write_unaligned(_mm_extract_epi64::<1>(low));
        _mm_storel_epi64(out.add(16 - count(0xFFFF)).cast(), high);
        out.add(24 - count(0xFF_FFFF)).cast::<i64>().write_unaligned(_mm_extract_epi64::<1>(high));
    }
    WIDTH - count(!0)
}

/// Returns the index of the only mask that is not 0.
#[inline]
fn only(masks: [u32; GROUP]) -> Option<usize> {
    let [a, b, c, d] = masks.map(|mask| u32::from(mask != 0));
    let others = a | b << 1 | c << 2 | d << 3;
    others.is_power_of_two().then_some(others.trailing_zeros() as usize)
}

/// # Safety
///
/// A group can be read.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
unsafe fn load_group(from: *const u8) -> [__m256i; GROUP] {
    // SAFETY: the caller guarantees readable memory.
    unsafe { [0, 1, 2, 3].map(|i| load(from.add(i * WIDTH))) }
}

/// # Safety
///
/// There is room for a group.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
unsafe fn store_group(group: [__m256i; GROUP], out: *mut u8) {
    for (i, x) in group.into_iter().enumerate() {
        // SAFETY: the caller guarantees the room.
        unsafe { _mm256_storeu_si256(out.add(i * WIDTH).cast(), x) };
    }
}

/// Whether no byte of the group has bit 7.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn is_ascii([a, b, c, d]: [__m256i; GROUP]) -> bool {
    signs(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d))) == 0
}

/// Returns bit 7 of each byte.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn signs(bytes: __m256i) -> u32 {
    _mm256_movemask_epi8(bytes).cast_unsigned()
}

/// Returns FF for each byte from 80 to 9F.
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
fn is_c1(bytes: __m256i) -> __m256i {
    // As signed numbers these are the bytes below -0x60.
    _mm256_cmpgt_epi8(_mm256_set1_epi8(-0x60), bytes)
}
