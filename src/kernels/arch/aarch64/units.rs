//! Conversions between single bytes and code units of UTF-16 and UTF-32, with NEON. Single bytes are widened by the portable
//! loop, whose vectors are as good.

use core::arch::aarch64::*;

use super::convert::{WIDTH, any, load, store};
use super::latin::is_c1;
use crate::kernels::arch::portable::units::{self as portable, widen};
use crate::kernels::functions::{Units, units};

pub(in crate::kernels) static UNITS: Units = units!(widen, narrow);

/// The number of code units that are converted together.
const BLOCK: usize = 2 * WIDTH;

/// [`Convert`](crate::kernels::functions::Convert): code units to single bytes.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
unsafe fn narrow<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let size = if WIDE { 4 } else { 2 };
    let count = output.len().min(input.len() / size);
    let mut at = 0;
    while count - at >= BLOCK {
        // SAFETY: `count` is at most the number of units of the input.
        let [(low, low_others), (high, high_others)] =
            [at, at + WIDTH].map(|at| unsafe { bytes_of::<WIDE, BIG_ENDIAN>(input.as_ptr().add(size * at)) });
        let mut others = vorrq_u8(low_others, high_others);
        if WINDOWS {
            others = vorrq_u8(others, vorrq_u8(is_c1(low), is_c1(high)));
        }
        if any(others) {
            let (units, room) = (&input[size * at..][..size * BLOCK], &mut output[at..][..BLOCK]);
            let (_, written) = portable::narrow::<WINDOWS, WIDE, BIG_ENDIAN>(units, room);
            at += written;
            if written < BLOCK {
                return (size * at, at);
            }
            continue;
        }
        // SAFETY: `count` is at most the number of bytes of the output.
        unsafe {
            store(output.as_mut_ptr().add(at), low);
            store(output.as_mut_ptr().add(at + WIDTH), high);
        }
        at += BLOCK;
    }
    let (read, written) =
        portable::narrow::<WINDOWS, WIDE, BIG_ENDIAN>(&input[size * at..], &mut output[at..]);
    (size * at + read, at + written)
}

/// Returns the lowest bytes of 16 code units, and a vector that is 0 only if all other bytes are.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - The code units can be read.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn bytes_of<const WIDE: bool, const BIG_ENDIAN: bool>(from: *const u8) -> (uint8x16_t, uint8x16_t) {
    if !WIDE {
        // SAFETY: the caller guarantees readable memory.
        let uint8x16x2_t(a, b) = unsafe { vld2q_u8(from) };
        return if BIG_ENDIAN { (b, a) } else { (a, b) };
    }
    // SAFETY: same as above.
    let [a, b, c, d] = [0, 1, 2, 3].map(|i| vreinterpretq_u16_u8(unsafe { load(from.add(i * WIDTH)) }));
    let all = vreinterpretq_u8_u16(vorrq_u16(vorrq_u16(a, b), vorrq_u16(c, d)));
    let (bytes, others) = if BIG_ENDIAN {
        let [low, high] = [vuzp2q_u16(a, b), vuzp2q_u16(c, d)].map(|half| vreinterpretq_u8_u16(half));
        (vuzp2q_u8(low, high), vdupq_n_u32(0x00FF_FFFF))
    } else {
        let [low, high] = [vuzp1q_u16(a, b), vuzp1q_u16(c, d)].map(|half| vreinterpretq_u8_u16(half));
        (vuzp1q_u8(low, high), vdupq_n_u32(0xFFFF_FF00))
    };
    (bytes, vandq_u8(all, vreinterpretq_u8_u32(others)))
}
