//! Computes the first three bytes of a sequence in the places of the first three bytes of the pair, and removes the next
//! two, as AVX2 does.

use core::arch::aarch64::*;

use super::super::blocks::{Block, bits, load_block, next, previous, store_kept};
use super::super::convert::any;
use super::at_least_f0;

/// The number of bytes that are converted together.
const BLOCK: usize = 64;
/// The number of bytes that are converted without another test of a group, after a group with a byte that changes.
const STRETCH: usize = 6 * BLOCK;
/// The number of bytes that are read for a block: also two bytes after it.
const WINDOW: usize = BLOCK + 2;

/// [`Convert`](crate::kernels::functions::Convert) of CESU-8, or of Modified UTF-8 if `MODIFIED`, to UTF-8. Other
/// bytes are copied without validation. Stops at the first byte that is ill-formed and could be well-formed in the
/// output, and at an unfinished pair. A `LENIENT` input may have `00` and sequences of 4 bytes.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "neon")]
pub(in crate::kernels) unsafe fn join<const MODIFIED: bool, const LENIENT: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (start, len) = (input.as_ptr(), input.len());
    let (mut read, mut written) = (0, 0);
    while read < len {
        if len - read >= BLOCK && output.len() - written >= BLOCK {
            // SAFETY: a block follows in the input.
            let group = unsafe { vld1q_u8_x4(start.add(read)) };
            if !may_change::<MODIFIED, LENIENT>(group) {
                // SAFETY: the output has room for the block.
                unsafe { vst1q_u8_x4(output.as_mut_ptr().add(written), group) };
                read += BLOCK;
                written += BLOCK;
                continue;
            }
        }
        let stretch_end = len.min(read + STRETCH);
        while read < stretch_end {
            let (rest, room) = (len - read, output.len() - written);
            let mut last;
            let (from, live) = if rest >= WINDOW {
                // SAFETY: a window follows in the input.
                (unsafe { start.add(read) }, BLOCK)
            } else {
                last = [0; WINDOW];
                last[..rest].copy_from_slice(&input[read..]);
                (last.as_ptr(), rest.min(BLOCK))
            };
            // SAFETY: the pointer is to a window, and the array has zeros after the input.
            let (joined, is_end) = unsafe { Joined::new::<MODIFIED, LENIENT>(from, live) };
            let made = if room >= BLOCK {
                // SAFETY: the output has room for a block.
                unsafe { store_kept(joined.bytes, joined.kept, output.as_mut_ptr().add(written)) }
            } else {
                let mut end = [0; BLOCK];
                // SAFETY: the array has the size of a block.
                let made = unsafe { store_kept(joined.bytes, joined.kept, end.as_mut_ptr()) };
                let Some(room) = output[written..].get_mut(..made) else { return (read, written) };
                room.copy_from_slice(&end[..made]);
                made
            };
            read += joined.taken;
            written += made;
            if is_end {
                return (read, written);
            }
        }
    }
    (read, written)
}

#[target_feature(enable = "neon")]
#[inline]
fn is(x: uint8x16_t, byte: u8) -> uint8x16_t {
    vceqq_u8(x, vdupq_n_u8(byte))
}

/// Whether [`join`] converts a byte of the group or stops at it. Returns `true` also for `ED` before `80..=9F`.
#[target_feature(enable = "neon")]
#[inline]
fn may_change<const MODIFIED: bool, const LENIENT: bool>(uint8x16x4_t(a, b, c, d): uint8x16x4_t) -> bool {
    let any_of = |[a, b, c, d]: Block| vorrq_u8(vorrq_u8(a, b), vorrq_u8(c, d));
    let mut found = any_of([a, b, c, d].map(|x| is(x, 0xED)));
    if !LENIENT {
        found = vorrq_u8(found, at_least_f0(vmaxq_u8(vmaxq_u8(a, b), vmaxq_u8(c, d))));
    }
    if MODIFIED {
        found = vorrq_u8(found, any_of([a, b, c, d].map(|x| is(x, 0xC0))));
    }
    if MODIFIED && !LENIENT {
        found = vorrq_u8(found, vceqzq_u8(vminq_u8(vminq_u8(a, b), vminq_u8(c, d))));
    }
    any(found)
}

/// The output of up to 64 bytes of an encoding with pairs.
#[derive(Clone, Copy)]
struct Joined {
    /// The converted bytes in the places of the input.
    bytes: Block,
    /// The bytes that are kept.
    kept: u64,
    /// The number of bytes read.
    taken: usize,
}

impl Joined {
    /// Converts the first `live` bytes of a block, up to a pair that does not end in it. Also returns whether a byte
    /// after them stops the conversion.
    ///
    /// # Safety
    ///
    /// - The CPU has the features of the `target_feature` attribute.
    /// - [`WINDOW`] bytes at `from` can be read. If `live` is less than a block, those after it are 0.
    #[target_feature(enable = "neon")]
    #[inline]
    unsafe fn new<const MODIFIED: bool, const LENIENT: bool>(from: *const u8, live: usize) -> (Self, bool) {
        // SAFETY: the caller guarantees the window.
        let (x, [after, second]) =
            unsafe { (load_block(from), [BLOCK, BLOCK + 1].map(|at| vld1q_dup_u8(from.add(at)))) };
        let n1 = next(x, after);
        let n2 = next(n1, second);
        let of_leads = |upper| {
            [0, 1, 2, 3]
                .map(|i: usize| vandq_u8(is(x[i], 0xED), is(vandq_u8(n1[i], vdupq_n_u8(0xF0)), upper)))
        };
        let highs = of_leads(0xA0);
        let (high, low) = (bits(highs), bits(of_leads(0xB0)));
        let conts = bits(x.map(|x| vcltq_s8(vreinterpretq_s8_u8(x), vdupq_n_s8(-0x40))));
        let pairs = high & low >> 3 & conts >> 2 & conts >> 5;
        // Pairs and zeros that do not end in the block are left to the next one.
        let mut cut = high & u64::MAX << (BLOCK - 5);
        if live < BLOCK {
            cut |= 1 << live;
        }
        let mut stops = high & !pairs | low & !(pairs << 3);
        let mut has_80 = 0;
        let mut bytes = convert([x, n1, n2], highs);
        if MODIFIED {
            let zeros = x.map(|x| is(x, 0xC0));
            has_80 = bits([0, 1, 2, 3].map(|i: usize| vandq_u8(zeros[i], is(n1[i], 0x80))));
            cut |= has_80 & 1 << (BLOCK - 1);
            stops |= bits(zeros) & !has_80;
            bytes = [0, 1, 2, 3].map(|i: usize| vbicq_u8(bytes[i], zeros[i]));
        }
        if !LENIENT {
            stops |= bits(
                x.map(|x| if MODIFIED { vorrq_u8(at_least_f0(x), vceqzq_u8(x)) } else { at_least_f0(x) }),
            );
        }
        let (mut taken, mut taken_bits) = (cut.trailing_zeros() as usize, below_lowest(cut));
        stops &= taken_bits;
        // The branch is predicted, so the next block does not wait for `stops`.
        if stops != 0 {
            (taken, taken_bits) = (stops.trailing_zeros() as usize, below_lowest(stops));
        }
        let kept = taken_bits & !(pairs << 3 | pairs << 4 | has_80 << 1);
        (Self { bytes, kept, taken }, stops != 0)
    }
}

/// Converts the first three bytes of each pair in their places. `highs` are the first bytes. `n1` and `n2` are the bytes
/// that are 1 and 2 bytes after those of `x`.
///
/// Byte 0 of a sequence has the 3 highest bits of the plane, byte 1 the 2 lowest ones.
#[target_feature(enable = "neon")]
#[inline]
fn convert([x, n1, n2]: [Block; 3], highs: Block) -> Block {
    let ones = previous(highs);
    let twos = previous(ones);
    let mut converted = x;
    for (i, byte) in converted.iter_mut().enumerate() {
        let plane = vaddq_u8(vandq_u8(n1[i], vdupq_n_u8(0x0F)), vdupq_n_u8(1));
        let byte_0 = vorrq_u8(vshrq_n_u8::<2>(plane), vdupq_n_u8(0xF0));
        // In byte 1, the mask is -1, so that 1 is added.
        let upper = vsubq_u8(x[i], ones[i]);
        let lower = vbslq_u8(ones[i], vshrq_n_u8::<2>(n1[i]), n2[i]);
        let bits = vandq_u8(vsliq_n_u8::<4>(lower, upper), vdupq_n_u8(0x3F));
        let bytes_1_2 = vorrq_u8(bits, vdupq_n_u8(0x80));
        *byte = vbslq_u8(highs[i], byte_0, *byte);
        *byte = vbslq_u8(vorrq_u8(ones[i], twos[i]), bytes_1_2, *byte);
    }
    converted
}

/// Returns a mask of the bits below the lowest one of `bits`, or of all bits if it is 0.
#[inline(always)]
const fn below_lowest(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}
