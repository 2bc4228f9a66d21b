//! Conversions between UTF-8 and ISO 8859-1 or windows-1252, with NEON. Groups of four vectors of ASCII are copied.
//! Otherwise all four are converted, because in text with accents a branch for each would often be mispredicted.

use core::arch::aarch64::*;

use super::compress::{compress, sums, sums_of_4_bytes};
use super::convert::{WIDTH, any, copy_below, is_ascii, load};
use crate::kernels::arch::shuffles::{C1, KEPT, ONE_OR_TWO, ONE_TO_THREE, PUNCTUATION, SECOND_OF_TWO};

/// The number of vectors that are converted before the next test for a group of ASCII.
const VECTORS: usize = 4;

/// [`Convert`](crate::kernels::functions::Convert): single bytes to UTF-8, while there is a vector of input and output
/// space for the UTF-8 of any vector.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn decode<const WINDOWS: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    // If characters have up to 3 bytes, the last store writes 4 bytes more than it may use.
    let most = if WINDOWS { 3 * WIDTH + 4 } else { 2 * WIDTH };
    let (mut read, mut written) = (0, 0);
    loop {
        // SAFETY: the CPU has the features.
        let ascii = unsafe { copy_below::<0x80, true>(&input[read..], &mut output[written..]) };
        read += ascii;
        written += ascii;
        for _ in 0..VECTORS {
            if input.len() - read < WIDTH || output.len() - written < most {
                return (read, written);
            }
            // SAFETY: a vector can be read, and there is room for its UTF-8.
            written += unsafe {
                let (x, out) = (load(input.as_ptr().add(read)), output.as_mut_ptr().add(written));
                if WINDOWS && any(is_c1(x)) { decode_three(x, out) } else { decode_two(x, out) }
            };
            read += WIDTH;
        }
    }
}

/// Writes the UTF-8 of 16 bytes of ISO 8859-1. Returns the number of bytes written.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There is room for two vectors.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn decode_two(x: uint8x16_t, out: *mut u8) -> usize {
    let [first, second] = sequences_of_two(x);
    let halves = [vzip1q_u8(first, second), vzip2q_u8(first, second)];
    // SAFETY: 8 characters become at most 16 bytes.
    unsafe { compress::<2, 8, 1>(halves, &ONE_OR_TWO, sums(is_at_least(x, 0x80)), out) }
}

/// Returns the first bytes of the UTF-8 of bytes of ISO 8859-1, and the second bytes of those that are not ASCII.
#[target_feature(enable = "neon")]
#[inline]
fn sequences_of_two(x: uint8x16_t) -> [uint8x16_t; 2] {
    // C2 or C3
    let lead = vorrq_u8(vshrq_n_u8::<6>(x), all(0xC0));
    [vbslq_u8(is_at_least(x, 0x80), lead, x), vandq_u8(x, all(0xBF))]
}

/// Writes the UTF-8 of 16 bytes of windows-1252. Returns the number of bytes written.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There is room for 52 bytes.
#[target_feature(enable = "neon")]
unsafe fn decode_three(x: uint8x16_t, out: *mut u8) -> usize {
    let (c1, index) = (is_c1(x), vandq_u8(x, all(0x1F)));
    let byte = |tables: &'static [[u8; 16]; 2]| {
        // SAFETY: each table has 16 bytes.
        let tables = unsafe { uint8x16x2_t(load(tables[0].as_ptr()), load(tables[1].as_ptr())) };
        vqtbl2q_u8(tables, index)
    };
    let [first, second] = sequences_of_two(x);
    let first = vbslq_u8(c1, byte(&C1[0]), first);
    let second = vbslq_u8(c1, byte(&C1[1]), second);
    let third = vandq_u8(byte(&C1[2]), c1);
    let zero = all(0);
    let [low, high] = [
        [vzip1q_u8(first, second), vzip1q_u8(third, zero)],
        [vzip2q_u8(first, second), vzip2q_u8(third, zero)],
    ]
    .map(|half| half.map(|it| vreinterpretq_u16_u8(it)));
    let quarters = [
        vzip1q_u16(low[0], low[1]),
        vzip2q_u16(low[0], low[1]),
        vzip1q_u16(high[0], high[1]),
        vzip2q_u16(high[0], high[1]),
    ]
    .map(|it| vreinterpretq_u8_u16(it));
    let sums = sums_of_4_bytes(is_at_least(x, 0x80), is_at_least(third, 1));
    // SAFETY: 4 characters become at most 12 bytes, so the last store ends at 52 or before.
    unsafe { compress::<4, 4, 1>(quarters, &ONE_TO_THREE, sums, out) }
}

/// [`Convert`](crate::kernels::functions::Convert): UTF-8 to ISO 8859-1, or to windows-1252 except for the C1 characters
/// and some letters. Stops before an ill-formed sequence and before a character that it does not convert.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn encode<const WINDOWS: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    // The vector before. The first one has no bytes before it.
    let mut before = all(0);
    'groups: while input.len() - read >= WIDTH && output.len() - written >= WIDTH {
        if unfinished(&input[..read]) == 0 {
            // SAFETY: the CPU has the features.
            let ascii = unsafe { copy_below::<0x80, true>(&input[read..], &mut output[written..]) };
            if ascii > 0 {
                before = all(0);
                read += ascii;
                written += ascii;
            }
        }
        for _ in 0..VECTORS {
            if input.len() - read < WIDTH || output.len() - written < WIDTH {
                break 'groups;
            }
            // SAFETY: a vector can be read.
            let x = unsafe { load(input.as_ptr().add(read)) };
            let [p1, p2] = [vextq_u8::<15>(before, x), vextq_u8::<14>(before, x)];
            let step = if WINDOWS && vmaxvq_u8(vmaxq_u8(x, p2)) >= 0xE0 {
                of_three(x, [p1, p2])
            } else {
                of_two::<WINDOWS>(x, p1)
            };
            before = x;
            // SAFETY: there is room for a vector.
            let out = unsafe { output.as_mut_ptr().add(written) };
            if !is_ascii(step.marks) {
                // Only the bytes before the first mark.
                let taken = first_mark(step.marks);
                let after = vcgeq_u8(indexes(), vdupq_n_u8(taken as u8));
                // SAFETY: same as above.
                written += unsafe { drop_bytes(step.bytes, vorrq_u8(step.dropped, after), out) };
                read += taken;
                break 'groups;
            }
            // SAFETY: same as above.
            written += unsafe { drop_bytes(step.bytes, step.dropped, out) };
            read += WIDTH;
        }
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

/// A vector of UTF-8 that is converted.
struct Step {
    /// The output, with a byte for each byte of the input.
    bytes: uint8x16_t,
    /// FF: the byte is not written.
    dropped: uint8x16_t,
    /// Bit 7: the byte, or a sequence before it that it does not belong to, is not converted.
    marks: uint8x16_t,
}

/// Converts characters up to U+00FF. `p1` has the byte before each byte.
#[target_feature(enable = "neon")]
#[inline]
fn of_two<const WINDOWS: bool>(x: uint8x16_t, p1: uint8x16_t) -> Step {
    let index = vminq_u8(vqsubq_u8(p1, all(0xBF)), all(5));
    // SAFETY: the table has 16 bytes.
    let added = vqtbl1q_u8(unsafe { load(SECOND_OF_TWO.as_ptr()) }, index);
    let is_unexpected = veorq_u8(is_at_least(p1, 0xC0), is_continuation(x));
    let bytes = vaddq_u8(x, added);
    let mut marks = vorrq_u8(is_unexpected, added);
    if WINDOWS {
        marks = vorrq_u8(marks, is_c1(bytes));
    }
    Step { bytes, dropped: is_at_least(x, 0xC0), marks }
}

/// Converts characters up to U+00FF except C1 characters, and from U+2000 on. `p1` and `p2` have the bytes one and two
/// before each byte.
#[target_feature(enable = "neon")]
#[inline]
fn of_three(x: uint8x16_t, [p1, p2]: [uint8x16_t; 2]) -> Step {
    let is = |bytes, byte| vceqq_u8(bytes, all(byte));
    let (after_c2, after_c3, after_e2) = (is(p1, 0xC2), is(p1, 0xC3), is(p1, 0xE2));
    let third = is(p2, 0xE2);
    let after_lead = vorrq_u8(vorrq_u8(after_c2, after_c3), after_e2);
    let is_unexpected = veorq_u8(vorrq_u8(after_lead, third), is_continuation(x));
    let after_other = vbicq_u8(is_at_least(p1, 0xC0), after_lead);
    let mut marks = vorrq_u8(is_unexpected, after_other);
    marks = vorrq_u8(marks, vandq_u8(after_c2, is_c1(x)));
    // U+2010 to U+203F. For other bytes the lookup returns 0.
    // SAFETY: each table has 16 bytes.
    let [a, b, c] = unsafe { [0, 1, 2].map(|i| load(PUNCTUATION[i].as_ptr())) };
    let punctuation = vqtbl3q_u8(uint8x16x3_t(a, b, c), vsubq_u8(x, all(0x90)));
    let mut mapped = vandq_u8(punctuation, is(p1, 0x80));
    // U+20AC and U+2122
    let euro = vandq_u8(is(p1, 0x82), is(x, 0xAC));
    let trade_mark = vandq_u8(is(p1, 0x84), is(x, 0xA2));
    mapped = vorrq_u8(mapped, vandq_u8(euro, all(0x80)));
    mapped = vorrq_u8(mapped, vandq_u8(trade_mark, all(0x99)));
    // Bit 7 is set in every byte that is mapped.
    marks = vorrq_u8(marks, vbicq_u8(third, mapped));
    let two = vaddq_u8(x, vandq_u8(after_c3, all(0x40)));
    Step { bytes: vbslq_u8(third, mapped, two), dropped: vorrq_u8(is_at_least(x, 0xC0), after_e2), marks }
}

/// Writes the bytes that are not dropped. Returns the number of bytes written.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There is room for a vector.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn drop_bytes(bytes: uint8x16_t, dropped: uint8x16_t, out: *mut u8) -> usize {
    let [low, high] = sums(dropped).map(u16::to_le_bytes);
    // SAFETY: a shuffle has 8 bytes. The first store ends at 8, and the second one at 16 or before.
    unsafe {
        let [first, second] = [low, high].map(|[mask, _]| vld1_u8(KEPT[usize::from(mask)].as_ptr()));
        vst1_u8(out, vqtbl1_u8(bytes, first));
        // The second 8 bytes have the indexes 8 to 15.
        let second = vqtbl1_u8(bytes, vadd_u8(second, vdup_n_u8(8)));
        vst1_u8(out.add(8 - usize::from(low[1])), second);
    }
    WIDTH - usize::from(low[1]) - usize::from(high[1])
}

/// Returns the index of the first byte with bit 7, or 16.
#[target_feature(enable = "neon")]
#[inline]
fn first_mark(marks: uint8x16_t) -> usize {
    vminvq_u8(vbslq_u8(is_at_least(marks, 0x80), indexes(), all(16))).into()
}

/// Returns the index of each lane.
#[target_feature(enable = "neon")]
#[inline]
fn indexes() -> uint8x16_t {
    vcombine_u8(vcreate_u8(0x0706_0504_0302_0100), vcreate_u8(0x0F0E_0D0C_0B0A_0908))
}

#[target_feature(enable = "neon")]
#[inline]
fn all(byte: u8) -> uint8x16_t {
    vdupq_n_u8(byte)
}

#[target_feature(enable = "neon")]
#[inline]
fn is_at_least(bytes: uint8x16_t, least: u8) -> uint8x16_t {
    vcgeq_u8(bytes, all(least))
}

/// Returns FF for each byte from 80 to BF.
#[target_feature(enable = "neon")]
#[inline]
fn is_continuation(bytes: uint8x16_t) -> uint8x16_t {
    vcltq_s8(vreinterpretq_s8_u8(bytes), vdupq_n_s8(-0x40))
}

/// Returns FF for each byte from 80 to 9F.
#[target_feature(enable = "neon")]
#[inline]
pub(super) fn is_c1(bytes: uint8x16_t) -> uint8x16_t {
    // As signed numbers these are the bytes below -0x60.
    vcltq_s8(vreinterpretq_s8_u8(bytes), vdupq_n_s8(-0x60))
}
