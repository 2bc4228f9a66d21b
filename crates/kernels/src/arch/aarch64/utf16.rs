//! UTF-16 to UTF-8 with NEON.

use core::arch::aarch64::*;

use super::compress::{compress, sums, sums_of_4, widths};
use super::convert::{WIDTH, any, load, store};
use crate::arch::shuffles::{IN_BMP, ONE_OR_TWO, ONE_TO_THREE};
use crate::as_chunks::{as_chunks, as_chunks_mut};

/// The output space for 16 units of 3 bytes, and for the bytes that the last store writes after them.
const ROOM: usize = 3 * WIDTH + 4;

/// Implements [`Convert`](crate::functions::Convert).
#[target_feature(enable = "neon")]
pub(crate) fn decode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    while input.len() - read >= 2 * WIDTH && output.len() - written >= ROOM {
        // SAFETY: 2 vectors can be read, and there is `ROOM`.
        let (units, out) = unsafe {
            let from = input.as_ptr().add(read);
            let units = [load(from), load(from.add(WIDTH))];
            (units.map(|it| order::<BIG_ENDIAN>(it)), output.as_mut_ptr().add(written))
        };
        let [x, next] = units;
        let bits = vmaxvq_u16(vorrq_u16(x, next));
        if bits < 0x80 {
            // SAFETY: there is room for a vector.
            unsafe { store(out, vuzp1q_u8(vreinterpretq_u8_u16(x), vreinterpretq_u8_u16(next))) };
            read += 2 * WIDTH;
            written += WIDTH;
            // More ASCII is likely.
            let more = decode_ascii::<BIG_ENDIAN>(&input[read..], &mut output[written..]);
            read += 2 * more;
            written += more;
            continue;
        }
        // The units are below U+0800 if no unit has one of the bits 11 to 15.
        if bits < 0x800 {
            // SAFETY: 16 units become at most 32 bytes.
            written += unsafe { decode_one_or_two(units, out) };
            read += 2 * WIDTH;
            continue;
        }
        // Surrogates become the lowest numbers.
        let [a, b] = units.map(|it| veorq_u16(it, vdupq_n_u16(0xD800)));
        if vminvq_u16(vminq_u16(a, b)) >= 0x800 {
            // SAFETY: there is `ROOM`.
            written += unsafe { decode_in_bmp(units, out) };
            read += 2 * WIDTH;
            continue;
        }
        // SAFETY: there is `ROOM`.
        let Some((len, made)) = (unsafe { decode_with_pairs(x, out) }) else { break };
        read += len;
        written += made;
    }
    (read, written)
}

/// Converts blocks of ASCII, up to a block that contains another character. Returns the number of code units.
#[target_feature(enable = "neon")]
fn decode_ascii<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> usize {
    const BLOCK: usize = 4 * WIDTH;
    // In the byte order of the input.
    let others = vdupq_n_u16(if BIG_ENDIAN { 0x80FF } else { 0xFF80 });
    let mut at = 0;
    for (units, room) in as_chunks::<{ 2 * BLOCK }>(input).0.iter().zip(as_chunks_mut::<BLOCK>(output).0) {
        // SAFETY: there are 8 vectors to read and room for 4.
        unsafe {
            let [a, b, c, d, e, f, g, h] =
                [0, 1, 2, 3, 4, 5, 6, 7].map(|i| load(units.as_ptr().add(i * WIDTH)));
            let bits =
                vorrq_u8(vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d)), vorrq_u8(vorrq_u8(e, f), vorrq_u8(g, h)));
            if any(vandq_u8(bits, vreinterpretq_u8_u16(others))) {
                break;
            }
            for (i, (x, next)) in [(a, b), (c, d), (e, f), (g, h)].into_iter().enumerate() {
                let bytes = if BIG_ENDIAN { vuzp2q_u8(x, next) } else { vuzp1q_u8(x, next) };
                store(room.as_mut_ptr().add(i * WIDTH), bytes);
            }
        }
        at += BLOCK;
    }
    at
}

/// Converts 16 units below U+0800. Returns the number of bytes written.
///
/// # Safety
///
/// There is room for 32 bytes.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn decode_one_or_two(units: [uint16x8_t; 2], out: *mut u8) -> usize {
    let above_7f = units.map(|it| vcgtq_u16(it, vdupq_n_u16(0x7F)));
    let bytes = [0, 1].map(|i| {
        // 110xxxxx and 10xxxxxx
        let two = vsliq_n_u16::<8>(vshrq_n_u16::<6>(units[i]), units[i]);
        let two = vorrq_u16(vandq_u16(two, vdupq_n_u16(0x3FFF)), vdupq_n_u16(0x80C0));
        vreinterpretq_u8_u16(vbslq_u16(above_7f[i], two, units[i]))
    });
    let sums = sums(vuzp1q_u8(vreinterpretq_u8_u16(above_7f[0]), vreinterpretq_u8_u16(above_7f[1])));
    // SAFETY: 8 units become at most 16 bytes.
    unsafe { compress::<2, 8, 1>(bytes, &ONE_OR_TWO, sums, out) }
}

/// Converts 16 units that are not surrogates. Returns the number of bytes written.
///
/// # Safety
///
/// There is room for 52 bytes.
#[target_feature(enable = "neon")]
#[inline]
pub(super) unsafe fn decode_in_bmp(units: [uint16x8_t; 2], out: *mut u8) -> usize {
    let [x, next] = units.map(|units| {
        // 0xxxxxxx, for ASCII, and 10xxxxxx, the last byte of other characters.
        let low = vreinterpretq_u16_u8(vtrn1q_u8(vreinterpretq_u8_u16(units), vreinterpretq_u8_u16(units)));
        let ends = vorrq_u16(vandq_u16(low, vdupq_n_u16(0x3F7F)), vdupq_n_u16(0x8000));
        // Bits 12 to 15 in the low byte, bits 6 to 11 in the high byte.
        let bits = vsriq_n_u16::<12>(vshlq_n_u16::<2>(units), units);
        let bits = vandq_u16(bits, vdupq_n_u16(0x3F0F));
        // 1110xxxx, and 110xxxxx or 10xxxxxx.
        let three = vcgtq_u16(units, vdupq_n_u16(0x7FF));
        let flip = vandq_u16(three, vdupq_n_u16(0x4000));
        let starts = veorq_u16(vorrq_u16(bits, vdupq_n_u16(0xC0E0)), flip);
        let widths = widths(vcgtq_u16(units, vdupq_n_u16(0x7F)), three);
        let halves = [vzip1q_u16(ends, starts), vzip2q_u16(ends, starts)];
        (halves.map(|it| vreinterpretq_u8_u16(it)), widths)
    });
    let [a, b] = x.0;
    let [c, d] = next.0;
    // SAFETY: 4 units become at most 12 bytes, so the last store ends at 52 or before.
    unsafe { compress::<4, 4, 1>([a, b, c, d], &IN_BMP, sums_of_4([x.1, next.1]), out) }
}

/// Converts 8 units, or 7 if the last one is the first half of a pair. Returns the number of bytes read and the number
/// of bytes written, or `None` if some surrogates are unpaired.
///
/// # Safety
///
/// There is room for 28 bytes.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn decode_with_pairs(x: uint16x8_t, out: *mut u8) -> Option<(usize, usize)> {
    let half = vandq_u16(x, vdupq_n_u16(0xFC00));
    let is_first = vceqq_u16(half, vdupq_n_u16(0xD800));
    let is_second = vceqq_u16(half, vdupq_n_u16(0xDC00));
    let after_first = vextq_u16::<7>(vdupq_n_u16(0), is_first);
    if any(vreinterpretq_u8_u16(veorq_u16(after_first, is_second))) {
        return None;
    }
    let above_7f = vcgtq_u16(x, vdupq_n_u16(0x7F));
    let above_7ff = vcgtq_u16(x, vdupq_n_u16(0x7FF));
    let free = vdupq_n_u16(0x3F00);
    let shifted = vandq_u16(vshlq_n_u16::<8>(x), free);
    // 110xxxxx and 10xxxxxx
    let two = vorrq_u16(vorrq_u16(vshrq_n_u16::<6>(x), shifted), vdupq_n_u16(0x80C0));
    // 1110xxxx, 10xxxxxx and 10xxxxxx
    let three = vandq_u16(vsriq_n_u16::<12>(vshlq_n_u16::<2>(x), x), vdupq_n_u16(0x3F0F));
    let three = vorrq_u16(three, vdupq_n_u16(0x80E0));
    let third = vorrq_u16(vandq_u16(x, vdupq_n_u16(0x3F)), vdupq_n_u16(0x80));
    // The first surrogate becomes 11110xxx and 10xxxxxx. `value` is the code point divided by 0x400. Its lowest 2 bits
    // are in the bytes of the second surrogate.
    let value = vaddq_u16(vandq_u16(x, vdupq_n_u16(0x3FF)), vdupq_n_u16(0x40));
    let first = vorrq_u16(
        vorrq_u16(vdupq_n_u16(0x80F0), vshrq_n_u16::<8>(value)),
        vandq_u16(vshlq_n_u16::<6>(value), free),
    );
    let before = vextq_u16::<7>(x, x);
    let second = vorrq_u16(
        vorrq_u16(
            vshlq_n_u16::<4>(vandq_u16(before, vdupq_n_u16(0x03))),
            vandq_u16(vshrq_n_u16::<6>(x), vdupq_n_u16(0x0F)),
        ),
        vorrq_u16(vdupq_n_u16(0x8080), shifted),
    );
    let mut bytes = vbslq_u16(above_7f, two, x);
    bytes = vbslq_u16(above_7ff, three, bytes);
    bytes = vbslq_u16(is_first, first, bytes);
    bytes = vbslq_u16(is_second, second, bytes);
    let has_three = vbicq_u16(above_7ff, vorrq_u16(is_first, is_second));
    let halves = [vzip1q_u16(bytes, third), vzip2q_u16(bytes, third)].map(|it| vreinterpretq_u8_u16(it));
    let widths = widths(above_7f, has_three);
    let [low, high, ..] = sums_of_4([widths, widths]);
    // SAFETY: 4 units become at most 12 bytes, so the last store ends at 28 or before.
    let written = unsafe { compress::<2, 4, 1>(halves, &ONE_TO_THREE, [low, high], out) };
    // If the last unit is the first half of a pair, it is read again with the next vector.
    let split = usize::from(vgetq_lane_u16::<7>(is_first) & 2);
    Some((WIDTH - split, written - split))
}

/// Returns code units in the byte order of the CPU.
#[target_feature(enable = "neon")]
#[inline]
fn order<const BIG_ENDIAN: bool>(units: uint8x16_t) -> uint16x8_t {
    vreinterpretq_u16_u8(if BIG_ENDIAN { vrev16q_u8(units) } else { units })
}
