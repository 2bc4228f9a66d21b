//! UTF-32 from and to UTF-8 and UTF-16, with NEON.

use core::arch::aarch64::*;

use super::compress::sums;
use super::convert::{WIDTH, any, is_ascii, load, store};
use super::utf16::{decode_in_bmp, decode_one_or_two};
use crate::boundary::truncate;
use crate::kernels::arch::shuffles::{LENGTHS, ONE_OR_TWO_UNITS, ONE_TO_FOUR, UNITS};

/// [`Encode`](crate::kernels::functions::Encode): text to UTF-32, up to a character near its end.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - The output has 4 bytes for each byte of the text.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn encode<const BIG_ENDIAN: bool>(
    text: &str,
    output: &mut [u8],
) -> (usize, usize) {
    debug_assert!(output.len() / 4 >= text.len());
    let bytes = text.as_bytes();
    let (mut at, mut written) = (0, 0);
    let mut before = vdupq_n_u8(0);
    while bytes.len() - at > WIDTH {
        // SAFETY: a vector and 1 byte after it can be read.
        let from = unsafe { bytes.as_ptr().add(at) };
        // SAFETY: same as above.
        let x = unsafe { load(from) };
        // SAFETY: at most 4 bytes were written for each byte before `at`.
        let out = unsafe { output.as_mut_ptr().add(written) };
        if is_ascii(x) {
            // SAFETY: the output has 4 bytes for each byte.
            unsafe { store_wide::<BIG_ENDIAN>(x, out) };
            before = x;
            at += WIDTH;
            written += 4 * WIDTH;
            continue;
        }
        // SAFETY: a vector and 1 byte after it can be read.
        let next = unsafe { load(from.add(1)) };
        let [p1, p2, p3] = [vextq_u8::<15>(before, x), vextq_u8::<14>(before, x), vextq_u8::<13>(before, x)];
        before = x;
        // A unit is written for the last byte of each sequence.
        let last = sums(vcgtq_s8(vreinterpretq_s8_u8(next), vdupq_n_s8(-0x41)));
        // The low 6 bits of the byte and of the byte before it, and 4 bits of the byte 2 bytes before it if the sequence
        // has at least 3 bytes. The bits of the third byte of 4 are not used.
        let not_ascii = vcltzq_s8(vreinterpretq_s8_u8(x));
        let low = vbslq_u8(not_ascii, vsliq_n_u8::<6>(x, p1), x);
        let fourth = vcgeq_u8(p3, vdupq_n_u8(0xF0));
        let third = vorrq_u8(vcgeq_u8(p2, vdupq_n_u8(0xE0)), fourth);
        let high = vsliq_n_u8::<4>(vshrq_n_u8::<2>(p1), vandq_u8(p2, third));
        let high = vandq_u8(high, not_ascii);
        let halves = [vzip1q_u8(low, high), vzip2q_u8(low, high)];
        // Bits 16 to 20: two bits of the second byte, and those of the lead byte.
        let top = vandq_u8(vsliq_n_u8::<2>(vshrq_n_u8::<4>(p2), p3), vdupq_n_u8(0x1F));
        let top = vandq_u8(top, fourth);
        let has_top = any(fourth);
        for ((half, sum), top) in halves.into_iter().zip(last).zip([vget_low_u8(top), vget_high_u8(top)]) {
            let [mask, units] = sum.to_le_bytes();
            // SAFETY: a shuffle has 16 bytes. Each unit is for a different byte, and the output has 4 bytes for each
            // byte. The same is true for the 8 units of the stores.
            unsafe {
                let shuffle = load(UNITS[usize::from(mask)].as_ptr());
                let units_16 = vreinterpretq_u16_u8(vqtbl1q_u8(half, shuffle));
                let tops = if has_top {
                    let tops = vreinterpretq_u8_u16(vmovl_u8(top));
                    vreinterpretq_u16_u8(vqtbl1q_u8(tops, shuffle))
                } else {
                    vdupq_n_u16(0)
                };
                let out = output.as_mut_ptr().add(written);
                let parts = [vzip1q_u16(units_16, tops), vzip2q_u16(units_16, tops)];
                let [a, b] = parts.map(|it| order_32::<BIG_ENDIAN>(vreinterpretq_u8_u16(it)));
                store(out, a);
                store(out.add(WIDTH), b);
            }
            written += 4 * usize::from(units);
        }
        at += WIDTH;
    }
    // A character that continues after the last vector was not written.
    (truncate(text, at).len(), written)
}

/// [`Convert`](crate::kernels::functions::Convert): ASCII to UTF-32, up to a block with another byte.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn widen_ascii<const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    const BLOCK: usize = 2 * WIDTH;
    let mut at = 0;
    for (block, room) in input.as_chunks::<BLOCK>().0.iter().zip(output.as_chunks_mut::<{ 4 * BLOCK }>().0) {
        // SAFETY: there are 2 vectors to read and room for 8.
        unsafe {
            let [x, next] = [0, WIDTH].map(|i| load(block.as_ptr().add(i)));
            if !is_ascii(vorrq_u8(x, next)) {
                break;
            }
            store_wide::<BIG_ENDIAN>(x, room.as_mut_ptr());
            store_wide::<BIG_ENDIAN>(next, room.as_mut_ptr().add(4 * WIDTH));
        }
        at += BLOCK;
    }
    (at, 4 * at)
}

/// Widens bytes to UTF-32.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There is room for 4 vectors.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn store_wide<const BIG_ENDIAN: bool>(bytes: uint8x16_t, out: *mut u8) {
    let zero = vdupq_n_u8(0);
    let halves = if BIG_ENDIAN {
        [vzip1q_u8(zero, bytes), vzip2q_u8(zero, bytes)]
    } else {
        [vzip1q_u8(bytes, zero), vzip2q_u8(bytes, zero)]
    };
    let zero = vdupq_n_u16(0);
    for (i, half) in halves.map(|it| vreinterpretq_u16_u8(it)).into_iter().enumerate() {
        let (even, odd) = if BIG_ENDIAN { (zero, half) } else { (half, zero) };
        // SAFETY: the caller guarantees the room.
        unsafe {
            let out = out.add(2 * i * WIDTH);
            store(out, vreinterpretq_u8_u16(vzip1q_u16(even, odd)));
            store(out.add(WIDTH), vreinterpretq_u8_u16(vzip2q_u16(even, odd)));
        }
    }
}

/// [`Convert`](crate::kernels::functions::Convert): UTF-32 to UTF-8, up to 16 units with a value that is not a scalar
/// value.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn decode<const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    // 16 characters become at most 64 bytes.
    while input.len() - read >= 4 * WIDTH && output.len() - written >= 4 * WIDTH {
        // SAFETY: 4 vectors can be read, and there is room for 4.
        let (units, out) =
            unsafe { (load_units::<BIG_ENDIAN>(input.as_ptr().add(read)), output.as_mut_ptr().add(written)) };
        let [a, b, c, d] = units;
        let greatest = vmaxvq_u32(vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d)));
        let narrow = [narrow_units(a, b), narrow_units(c, d)];
        if greatest < 0x80 {
            let [x, next] = narrow.map(|it| vreinterpretq_u8_u16(it));
            // SAFETY: there is room for a vector.
            unsafe { store(out, vuzp1q_u8(x, next)) };
            written += WIDTH;
        } else if greatest < 0x800 {
            // SAFETY: 16 characters become at most 32 bytes.
            written += unsafe { decode_one_or_two(narrow, out) };
        } else if !are_scalars(units) {
            break;
        } else if greatest < 0x1_0000 {
            // SAFETY: there is room for 64 bytes.
            written += unsafe { decode_in_bmp(narrow, out) };
        } else {
            for units in units {
                // SAFETY: 4 characters become at most 16 bytes.
                written += unsafe { decode_four(units, output.as_mut_ptr().add(written)) };
            }
        }
        read += 4 * WIDTH;
    }
    (read, written)
}

/// Writes the UTF-8 of 4 scalar values. Returns the number of bytes written.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There is room for 16 bytes.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn decode_four(units: uint32x4_t, out: *mut u8) -> usize {
    // Six bits in each byte, the lowest first.
    let bytes = vandq_u32(units, vdupq_n_u32(0x3F));
    let bytes = vorrq_u32(bytes, vandq_u32(vshlq_n_u32::<2>(units), vdupq_n_u32(0x3F00)));
    let bytes = vorrq_u32(bytes, vandq_u32(vshlq_n_u32::<4>(units), vdupq_n_u32(0x3F_0000)));
    let bytes = vorrq_u32(bytes, vandq_u32(vshlq_n_u32::<6>(units), vdupq_n_u32(0x700_0000)));
    let [two, three, four] = [0x7F, 0x7FF, 0xFFFF].map(|most| vcgtq_u32(units, vdupq_n_u32(most)));
    let marks = vbslq_u32(three, vdupq_n_u32(0xE0_8080), vdupq_n_u32(0xC080));
    let marks = vbslq_u32(four, vdupq_n_u32(0xF080_8080), marks);
    let bytes = vbslq_u32(two, vorrq_u32(bytes, marks), units);
    // The bits of the lengths minus 1.
    let odd = veorq_u32(veorq_u32(two, three), four);
    let low = vandq_u32(odd, lanes([0x01, 0x02, 0x04, 0x08]));
    let high = vandq_u32(three, lanes([0x10, 0x20, 0x40, 0x80]));
    let index = vaddvq_u32(vorrq_u32(low, high)) as u8;
    // SAFETY: a shuffle has 16 bytes; the caller guarantees the room.
    unsafe {
        let shuffle = load(ONE_TO_FOUR[usize::from(index)].as_ptr());
        store(out, vqtbl1q_u8(vreinterpretq_u8_u32(bytes), shuffle));
    }
    LENGTHS[usize::from(index)].into()
}

/// [`Convert`](crate::kernels::functions::Convert): UTF-16 to UTF-32, up to a vector with an unpaired surrogate.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn from_utf16<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    // The vector before, and whether its last unit is the first half of a pair. The pair is written with the next vector.
    let mut before = vdupq_n_u16(0);
    let mut firsts_before = vdupq_n_u16(0);
    while input.len() - read >= WIDTH && output.len() - written >= 2 * WIDTH {
        // SAFETY: a vector can be read, and there is room for 2.
        let (units, out) = unsafe { (load(input.as_ptr().add(read)), output.as_mut_ptr().add(written)) };
        let units = vreinterpretq_u16_u8(if FROM_BIG_ENDIAN { vrev16q_u8(units) } else { units });
        let class = vandq_u16(units, vdupq_n_u16(0xFC00));
        let firsts = vceqq_u16(class, vdupq_n_u16(0xD800));
        let seconds = vceqq_u16(class, vdupq_n_u16(0xDC00));
        let after_first = vextq_u16::<7>(firsts_before, firsts);
        if any(vreinterpretq_u8_u16(veorq_u16(after_first, seconds))) {
            break;
        }
        let earlier = vextq_u16::<7>(before, units);
        (before, firsts_before) = (units, firsts);
        read += WIDTH;
        if !any(vreinterpretq_u8_u16(vorrq_u16(firsts, seconds))) {
            let zero = vdupq_n_u16(0);
            let parts = [vzip1q_u16(units, zero), vzip2q_u16(units, zero)];
            let [a, b] = parts.map(|it| order_32::<BIG_ENDIAN>(vreinterpretq_u8_u16(it)));
            // SAFETY: there is room for 2 vectors.
            unsafe {
                store(out, a);
                store(out.add(WIDTH), b);
            }
            written += 2 * WIDTH;
            continue;
        }
        // A unit is written for every unit that is not the first half of a pair: its low 16 bits and its high ones.
        // For a pair these are those of (first - 0xD800) * 0x400 + second - 0xDC00 + 0x10000.
        let pair_low = vsliq_n_u16::<10>(units, earlier);
        let value = vaddq_u16(earlier, vdupq_n_u16(0x40_u16.wrapping_sub(0xD800)));
        let pair_high = vshrq_n_u16::<6>(value);
        let low = vbslq_u16(seconds, pair_low, units);
        let high = vandq_u16(seconds, pair_high);
        let kept = vmvnq_u8(vuzp1q_u8(vreinterpretq_u8_u16(firsts), vreinterpretq_u8_u16(firsts)));
        let [mask, count] = sums(kept)[0].to_le_bytes();
        // SAFETY: a shuffle has 16 bytes. There is room for 2 vectors.
        unsafe {
            let shuffle = load(UNITS[usize::from(mask)].as_ptr());
            let [low, high] =
                [low, high].map(|it| vreinterpretq_u16_u8(vqtbl1q_u8(vreinterpretq_u8_u16(it), shuffle)));
            let parts = [vzip1q_u16(low, high), vzip2q_u16(low, high)];
            let [a, b] = parts.map(|it| order_32::<BIG_ENDIAN>(vreinterpretq_u8_u16(it)));
            store(out, a);
            store(out.add(WIDTH), b);
        }
        written += 4 * usize::from(count);
    }
    (read - usize::from(vgetq_lane_u16::<7>(firsts_before) & 2), written)
}

/// [`Convert`](crate::kernels::functions::Convert): UTF-32 to UTF-16, up to 16 units with a value that is not a scalar
/// value.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn to_utf16<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    while input.len() - read >= 4 * WIDTH && output.len() - written >= 4 * WIDTH {
        // SAFETY: 4 vectors can be read, and there is room for 4.
        let (units, out) =
            unsafe { (load_units::<BIG_ENDIAN>(input.as_ptr().add(read)), output.as_mut_ptr().add(written)) };
        if !are_scalars(units) {
            break;
        }
        let [a, b, c, d] = units;
        read += 4 * WIDTH;
        if vmaxvq_u32(vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d))) < 0x1_0000 {
            for (i, narrow) in [narrow_units(a, b), narrow_units(c, d)].into_iter().enumerate() {
                let narrow = vreinterpretq_u8_u16(narrow);
                let narrow = if TO_BIG_ENDIAN { vrev16q_u8(narrow) } else { narrow };
                // SAFETY: there is room for 4 vectors.
                unsafe { store(out.add(i * WIDTH), narrow) };
            }
            written += 2 * WIDTH;
            continue;
        }
        for units in units {
            let first = vaddq_u32(vshrq_n_u32::<10>(units), vdupq_n_u32(0xD7C0));
            let second = vorrq_u32(vandq_u32(units, vdupq_n_u32(0x3FF)), vdupq_n_u32(0xDC00));
            let pair = vsliq_n_u32::<16>(first, second);
            let supplementary = vcgtq_u32(units, vdupq_n_u32(0xFFFF));
            let bytes = vreinterpretq_u8_u32(vbslq_u32(supplementary, pair, units));
            // A mask, and in the next byte the number of its bits.
            let sum = vaddvq_u32(vandq_u32(supplementary, lanes([0x101, 0x102, 0x104, 0x108])));
            let shuffle = &ONE_OR_TWO_UNITS[usize::from(TO_BIG_ENDIAN)][sum as usize & 15];
            // SAFETY: a shuffle has 16 bytes. 4 characters become at most 16 bytes.
            unsafe {
                store(output.as_mut_ptr().add(written), vqtbl1q_u8(bytes, load(shuffle.as_ptr())));
            }
            written += 8 + 2 * (sum as usize >> 8);
        }
    }
    (read, written)
}

/// Loads 16 units.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - 64 bytes can be read.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn load_units<const BIG_ENDIAN: bool>(from: *const u8) -> [uint32x4_t; 4] {
    [0, 1, 2, 3].map(|i| {
        // SAFETY: the caller guarantees readable memory.
        let bytes = unsafe { load(from.add(i * WIDTH)) };
        vreinterpretq_u32_u8(order_32::<BIG_ENDIAN>(bytes))
    })
}

#[target_feature(enable = "neon")]
#[inline]
fn lanes(lanes: [u32; 4]) -> uint32x4_t {
    // SAFETY: there are 4 lanes.
    unsafe { vld1q_u32(lanes.as_ptr()) }
}

/// Returns the low halves of the lanes.
#[target_feature(enable = "neon")]
#[inline]
fn narrow_units(a: uint32x4_t, b: uint32x4_t) -> uint16x8_t {
    vuzp1q_u16(vreinterpretq_u16_u32(a), vreinterpretq_u16_u32(b))
}

/// Whether no lane is a surrogate or above 0x10FFFF.
#[target_feature(enable = "neon")]
#[inline]
fn are_scalars(units: [uint32x4_t; 4]) -> bool {
    // Surrogates become the highest numbers.
    let [a, b, c, d] = units.map(|it| vsubq_u32(veorq_u32(it, vdupq_n_u32(0xD800)), vdupq_n_u32(0x800)));
    vmaxvq_u32(vmaxq_u32(vmaxq_u32(a, b), vmaxq_u32(c, d))) <= 0x10_FFFF - 0x800
}

/// Converts UTF-32 code units to or from the byte order of the CPU.
#[target_feature(enable = "neon")]
#[inline]
fn order_32<const BIG_ENDIAN: bool>(units: uint8x16_t) -> uint8x16_t {
    if BIG_ENDIAN { vrev32q_u8(units) } else { units }
}
