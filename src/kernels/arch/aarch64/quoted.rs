//! Decodes quoted-printable with NEON, a [`Block`] at a time.

use core::arch::aarch64::*;

use super::blocks::{Block, load_block, next, store_kept};
use super::lookup::Lookup;
use crate::kernels::arch::portable::quoted::Window;
use crate::kernels::functions::{Segment, WINDOW};

/// Implements [`DecodeQuoted`](crate::kernels::functions::DecodeQuoted).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn decode_segments(
    encoded: &[u8],
    out: &mut [u8],
    segments: &mut [Segment],
) -> usize {
    let (mut at, mut written) = (0, 0);
    for (count, segment) in segments.iter_mut().enumerate() {
        if encoded.len() - at < WINDOW || out.len() - written < WINDOW {
            return count;
        }
        // SAFETY: 64 bytes follow.
        let block = unsafe { load_block(encoded.as_ptr().add(at)) };
        let Some((found, _)) = window(block).segment() else { return count };
        // SAFETY: there is room for 64 bytes.
        written += unsafe { store_kept(with_escapes(block), found.kept, out.as_mut_ptr().add(written)) };
        at += usize::from(found.len);
        *segment = found;
    }
    segments.len()
}

/// The class of a byte is the number of a bit.
const SIGN: u32 = 7;
const DIGIT: u32 = 5;
const CR: u32 = 3;
const LF: u32 = 1;
const BLANK: u32 = 6;
/// Any byte that can occur in quoted-printable.
const TEXT: u32 = 2;

/// The classes of each byte below 80. The others have none.
static CLASSES: [[u8; 16]; 8] = {
    let mut classes = [[0; 16]; 8];
    let mut byte = 0;
    while byte < 0x80 {
        let found = match byte as u8 {
            b'=' => 1 << SIGN | 1 << TEXT,
            b'0'..=b'9' | b'A'..=b'F' | b'a'..=b'f' => 1 << DIGIT | 1 << TEXT,
            b'\r' => 1 << CR | 1 << TEXT,
            b'\n' => 1 << LF | 1 << TEXT,
            b' ' | b'\t' => 1 << BLANK | 1 << TEXT,
            b'!'..=b'~' => 1 << TEXT,
            _ => 0,
        };
        classes[byte / 16][byte % 16] = found;
        byte += 1;
    }
    classes
};

#[target_feature(enable = "neon")]
#[inline]
fn window(block: Block) -> Window {
    let [a, b, c, d] = Lookup::new(&CLASSES).of(block);
    let odd = |x, y| vbslq_u8(vdupq_n_u8(0xAA), y, vshrq_n_u8::<1>(x));
    let even = |x, y| vbslq_u8(vdupq_n_u8(0x55), x, vshlq_n_u8::<1>(y));
    let upper = |x, y| vbslq_u8(vdupq_n_u8(0xCC), y, vshrq_n_u8::<2>(x));
    let lower = |x, y| vbslq_u8(vdupq_n_u8(0x33), x, vshlq_n_u8::<2>(y));
    // Each bit of `a`, `b`, `c` and `d` becomes a half of a lane, which has the bits of four bytes. The first vector has the
    // bits 7 and 3, the second one 5 and 1, the third one 6 and 2.
    let (low, high) = (odd(a, b), odd(c, d));
    let (first, second, third) = (upper(low, high), lower(low, high), upper(even(a, b), even(c, d)));
    // The halves of two lanes that follow each other become a byte.
    let halves = |x, y| {
        let (low, high) = (vuzp1q_u8(x, y), vuzp2q_u8(x, y));
        [vsriq_n_u8::<4>(high, low), vsliq_n_u8::<4>(low, high)].map(|it| {
            let it = vreinterpretq_u64_u8(it);
            [vgetq_lane_u64::<0>(it), vgetq_lane_u64::<1>(it)]
        })
    };
    let [[signs, digits], [crs, lfs]] = halves(first, second);
    let [[blanks, _], [text, _]] = halves(third, third);
    Window { signs, digits, crs, lfs, blanks, stops: !text }
}

/// Replaces each `=` by the value of the two digits after it. The value has no meaning if they are not digits of the
/// block.
#[target_feature(enable = "neon")]
#[inline]
fn with_escapes(block: Block) -> Block {
    // The value of a digit in the low half. The low half of `A` and of `a` is 1, and only letters have bit 6.
    let values = block.map(|x| vmlaq_u8(x, vshrq_n_u8::<6>(x), vdupq_n_u8(9)));
    let first = next(values, vdupq_n_u8(0));
    let second = next(first, vdupq_n_u8(0));
    let mut bytes = block;
    for ((x, first), second) in bytes.iter_mut().zip(first).zip(second) {
        *x = vbslq_u8(vceqq_u8(*x, vdupq_n_u8(b'=')), vsliq_n_u8::<4>(second, first), *x);
    }
    bytes
}
