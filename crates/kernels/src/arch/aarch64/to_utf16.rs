//! UTF-8 to UTF-16 with NEON.

use core::arch::aarch64::*;

use super::compress::{compress, sums};
use super::convert::{WIDTH, is_ascii, load, store};
use super::neon::Neon;
use crate::arch::shuffles::UNITS;
use crate::arch::vector::Vector;
use crate::as_chunks::{as_chunks, as_chunks_mut};
use crate::boundary::truncate;

/// [`Encode`](crate::functions::Encode), except for some characters at the end.
///
/// # Safety
///
/// The output has 2 bytes for each byte of the text.
#[target_feature(enable = "neon")]
pub(crate) unsafe fn encode<const BIG_ENDIAN: bool>(text: &str, output: &mut [u8]) -> (usize, usize) {
    debug_assert!(output.len() / 2 >= text.len());
    let bytes = text.as_bytes();
    let mut at = 0;
    let mut written = 0;
    let mut before = vdupq_n_u8(0);
    while bytes.len() - at > WIDTH {
        // SAFETY: a vector and 1 byte after it can be read.
        let from = unsafe { bytes.as_ptr().add(at) };
        // SAFETY: same as above.
        let x = unsafe { load(from) };
        // SAFETY: at most 2 bytes were written for each byte before `at`.
        let out = unsafe { output.as_mut_ptr().add(written) };
        if is_ascii(x) {
            // SAFETY: the output has 2 bytes for each byte.
            unsafe { store_wide::<BIG_ENDIAN>(x, out) };
            before = x;
            at += WIDTH;
            written += 2 * WIDTH;
            continue;
        }
        // SAFETY: a vector and 1 byte after it can be read.
        let mut next = unsafe { load(from.add(1)) };
        let [p1, p2, p3] = [vextq_u8::<15>(before, x), vextq_u8::<14>(before, x), vextq_u8::<13>(before, x)];
        before = x;
        // The low 6 bits of the byte and of the byte before it, and 4 bits of the lead byte 2 bytes before it.
        let not_ascii = vcltzq_s8(vreinterpretq_s8_u8(x));
        let mut low = vbslq_u8(not_ascii, vsliq_n_u8::<6>(x, p1), x);
        let bits_2 = vandq_u8(p2, vcgeq_u8(p2, vdupq_n_u8(0xE0)));
        let mut high = vandq_u8(vsliq_n_u8::<4>(vshrq_n_u8::<2>(p1), bits_2), not_ascii);
        if vmaxvq_u8(vmaxq_u8(p2, p3)) >= 0xF0 {
            let is_third = vcgeq_u8(p2, vdupq_n_u8(0xF0));
            let is_fourth = vcgeq_u8(p3, vdupq_n_u8(0xF0));
            // Bits 16 to 20 of the code point, minus 1. The lead byte contains 3 of these bits, and the second byte 2.
            let plane = vandq_u8(vsliq_n_u8::<2>(vshrq_n_u8::<4>(p1), p2), vdupq_n_u8(0x1F));
            let plane = vsubq_u8(plane, vdupq_n_u8(1));
            let first_low = vsliq_n_u8::<6>(vsliq_n_u8::<2>(vshrq_n_u8::<4>(x), p1), plane);
            let first_high = vorrq_u8(vshrq_n_u8::<2>(plane), vdupq_n_u8(0xD8));
            let second_high = vorrq_u8(vandq_u8(high, vdupq_n_u8(0x03)), vdupq_n_u8(0xDC));
            low = vbslq_u8(is_third, first_low, low);
            high = vbslq_u8(is_third, first_high, high);
            high = vbslq_u8(is_fourth, second_high, high);
            next = vbicq_u8(next, is_third);
        }
        // A unit is written for the last byte of each sequence, and for the third byte of a 4-byte sequence.
        let units = vcgtq_s8(vreinterpretq_s8_u8(next), vdupq_n_s8(-0x41));
        let (even, odd) = if BIG_ENDIAN { (high, low) } else { (low, high) };
        let halves = [vzip1q_u8(even, odd), vzip2q_u8(even, odd)];
        // SAFETY: each unit is for a different byte, and the output has 2 bytes for each byte. The same is true for the
        // 8 units of a store.
        written += unsafe { compress::<2, 0, 2>(halves, &UNITS, sums(units), out) };
        at += WIDTH;
    }
    // A character that continues after the last vector was not written, except the first half of its surrogate pair.
    let whole = truncate(text, at).len();
    if at - whole == 3 {
        written -= 2;
    }
    (whole, written)
}

/// Converts blocks of ASCII, up to a character that is not ASCII or to the last whole block.
#[target_feature(enable = "neon")]
pub(crate) fn encode_ascii<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    const BLOCK: usize = 4 * WIDTH;
    let mut at = 0;
    for (block, room) in as_chunks::<BLOCK>(input).0.iter().zip(as_chunks_mut::<{ 2 * BLOCK }>(output).0) {
        // SAFETY: there are 4 vectors to read and room for 8.
        unsafe {
            let vectors = [0, 1, 2, 3].map(|i| load(block.as_ptr().add(i * WIDTH)));
            for (i, x) in vectors.into_iter().enumerate() {
                store_wide::<BIG_ENDIAN>(x, room.as_mut_ptr().add(2 * i * WIDTH));
            }
            let [a, b, c, d] = vectors;
            if !is_ascii(vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d))) {
                for x in vectors {
                    let Some(other) = Neon(x).first_mark_before(WIDTH) else {
                        at += WIDTH;
                        continue;
                    };
                    at += other;
                    break;
                }
                break;
            }
        }
        at += BLOCK;
    }
    (at, 2 * at)
}

/// Widens bytes to code units in the byte order of the output.
///
/// # Safety
///
/// There is room for 2 vectors.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn store_wide<const BIG_ENDIAN: bool>(bytes: uint8x16_t, out: *mut u8) {
    let zero = vdupq_n_u8(0);
    let (even, odd) = if BIG_ENDIAN { (zero, bytes) } else { (bytes, zero) };
    // SAFETY: the caller guarantees the room.
    unsafe {
        store(out, vzip1q_u8(even, odd));
        store(out.add(WIDTH), vzip2q_u8(even, odd));
    }
}
