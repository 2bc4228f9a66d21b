//! Converts text with sequences of 4 bytes, `a b c d`. For each input byte it computes the byte of the output
//! that starts in its place, and for some a second byte after it, as AVX2 does:
//!
//! | input | first byte | second byte |
//! |---|---|---|
//! | `a` | `ED` | |
//! | `b` | `A0` plus the 5 highest bits of the character, which are in `a` and `b`, minus 1 | |
//! | `c` | `80` plus 4 bits of `b` and 2 bits of `c` | `ED` |
//! | `d` | `B0` plus 4 bits of `c` | `d` |
//! | `00` in Modified UTF-8 | `C0` | `80` |
//! | other | the byte | |

use core::arch::aarch64::*;

use super::super::compress::{compress, sums};
use super::super::convert::{WIDTH, copy_below, load};
use super::at_least_f0;
use crate::kernels::arch::shuffles::ONE_OR_TWO;

/// The number of vectors that are converted before the next test for a group that is the same.
const VECTORS: usize = 8;

/// [`Encode`](crate::kernels::functions::Encode) of the whole text as CESU-8, or as Modified UTF-8 if `MODIFIED`.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - The output has 2 bytes for each byte of the text.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn split<const MODIFIED: bool>(
    text: &str,
    output: &mut [u8],
) -> (usize, usize) {
    debug_assert!(output.len() / 2 >= text.len());
    let bytes = text.as_bytes();
    // No byte of input becomes more than 2 bytes of output, so `written <= 2 * read`.
    let (mut read, mut written) = (0, 0);
    // The vector before the next one, if the next one may start inside a sequence of 4 bytes.
    let mut before = vdupq_n_u8(0);
    while bytes.len() - read >= WIDTH {
        if !ends_inside(before) {
            let (from, to) = (&bytes[read..], &mut output[written..]);
            // SAFETY: the CPU has the features.
            let same = unsafe {
                if MODIFIED {
                    copy_below::<0xF0, false>(from, to)
                } else {
                    copy_below::<0xF0, true>(from, to)
                }
            };
            if same > 0 {
                read += same;
                written += same;
                before = vdupq_n_u8(0);
            }
        }
        for _ in 0..VECTORS.min((bytes.len() - read) / WIDTH) {
            // SAFETY: a vector follows in the text.
            let x = unsafe { load(bytes.as_ptr().add(read)) };
            // SAFETY: 16 bytes are left in the text, so the output has room for 32.
            written += unsafe { convert::<MODIFIED>(x, before, output.as_mut_ptr().add(written)) };
            read += WIDTH;
            before = x;
        }
    }
    let rest = &bytes[read..];
    // The bytes after the rest have no second byte.
    let (mut last, mut made) = ([b'a'; WIDTH], [0; 2 * WIDTH]);
    last[..rest.len()].copy_from_slice(rest);
    // SAFETY: the arrays have 16 and 32 bytes.
    let len = unsafe { convert::<MODIFIED>(load(last.as_ptr()), before, made.as_mut_ptr()) };
    let made = &made[..len - (WIDTH - rest.len())];
    output[written..written + made.len()].copy_from_slice(made);
    (read + rest.len(), written + made.len())
}

/// Whether a sequence of 4 bytes starts in the last 3 bytes of a vector.
#[target_feature(enable = "neon")]
#[inline]
fn ends_inside(x: uint8x16_t) -> bool {
    vgetq_lane_u32::<3>(vreinterpretq_u32_u8(at_least_f0(x))) >> 8 != 0
}

/// Converts the bytes of `x`. `before` are the bytes before them. Returns the number of bytes written, 16 to 32.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There is room for 32 bytes.
#[target_feature(enable = "neon")]
#[inline]
unsafe fn convert<const MODIFIED: bool>(x: uint8x16_t, before: uint8x16_t, out: *mut u8) -> usize {
    let byte = |byte| vdupq_n_u8(byte);
    let [p1, p2, p3] = [vextq_u8::<15>(before, x), vextq_u8::<14>(before, x), vextq_u8::<13>(before, x)];
    let [is_a, is_b, is_c, is_d] = [x, p1, p2, p3].map(|bytes| at_least_f0(bytes));
    // 4 bits of the byte before and 2 bits of the byte. In `b`, the fourth bit of `a` is 0.
    let bits = vandq_u8(vsliq_n_u8::<2>(vshrq_n_u8::<4>(x), p1), byte(0x3F));
    let of_b_or_c = vaddq_u8(bits, vbslq_u8(is_b, byte(0xA0 - 1), byte(0x80)));
    let low_surrogate = vsliq_n_u8::<4>(p1, byte(0x0B));
    let mut firsts = vbslq_u8(is_a, byte(0xED), x);
    firsts = vbslq_u8(vorrq_u8(is_b, is_c), of_b_or_c, firsts);
    firsts = vbslq_u8(is_d, low_surrogate, firsts);
    let mut seconds = vbslq_u8(is_d, x, byte(0xED));
    let mut has_second = vorrq_u8(is_c, is_d);
    if MODIFIED {
        let nuls = vceqzq_u8(x);
        firsts = vorrq_u8(firsts, vandq_u8(nuls, byte(0xC0)));
        seconds = vbslq_u8(nuls, byte(0x80), seconds);
        has_second = vorrq_u8(has_second, nuls);
    }
    let halves = [vzip1q_u8(firsts, seconds), vzip2q_u8(firsts, seconds)];
    // SAFETY: 8 bytes become at most 16.
    unsafe { compress::<2, 8, 1>(halves, &ONE_OR_TWO, sums(has_second), out) }
}
