//! Computes the first three bytes of a sequence in the places of the first three bytes of the pair, and removes the next
//! two. Two vectors are converted together, because the start of the next ones depends on the pairs in them.

use core::arch::x86_64::*;

use super::super::copy::GROUP;
use super::{WIDTH, at_least_f0, byte, load, store};
use crate::kernels::arch::kept::KEPT;

/// The number of bytes that are converted together.
const BLOCK: usize = 2 * WIDTH;
/// The number of bytes that are converted without another test of a group, after a group with a byte that changes.
const STRETCH: usize = 3 * GROUP;
/// The number of bytes that are read for a block: also the vectors 1 and 2 bytes later.
const WINDOW: usize = BLOCK + 2;

/// [`Convert`](crate::kernels::functions::Convert) of CESU-8, or of Modified UTF-8 if `MODIFIED`, to UTF-8. Other
/// bytes are copied without validation. Stops at the first byte that is ill-formed and could be well-formed in the
/// output, and at an unfinished pair. A `LENIENT` input may have `00` and sequences of 4 bytes.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn join<const MODIFIED: bool, const LENIENT: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (start, len) = (input.as_ptr(), input.len());
    let (mut read, mut written) = (0, 0);
    while read < len {
        if len - read >= GROUP && output.len() - written >= GROUP {
            // SAFETY: a group follows in the input.
            let group = [0, 1, 2, 3].map(|vector| unsafe { load(start.add(read + vector * WIDTH)) });
            if !may_change::<MODIFIED, LENIENT>(group) {
                for (vector, x) in group.into_iter().enumerate() {
                    // SAFETY: the output has room for the group.
                    unsafe { store(output.as_mut_ptr().add(written + vector * WIDTH), x) };
                }
                read += GROUP;
                written += GROUP;
                continue;
            }
        }
        let stretch_end = len.min(read + STRETCH);
        while read < stretch_end {
            let (rest, room) = (len - read, output.len() - written);
            let (joined, is_end) = if rest >= WINDOW {
                // SAFETY: a window follows in the input.
                unsafe { Joined::new::<MODIFIED, LENIENT>(start.add(read), BLOCK) }
            } else {
                let mut last = [0; WINDOW];
                last[..rest].copy_from_slice(&input[read..]);
                // SAFETY: the array has the size of a window.
                unsafe { Joined::new::<MODIFIED, LENIENT>(last.as_ptr(), rest.min(BLOCK)) }
            };
            let made = joined.kept.count_ones() as usize;
            if room >= BLOCK {
                // SAFETY: the output has room for a block.
                unsafe { joined.store(output.as_mut_ptr().add(written)) };
            } else if made <= room {
                let mut last = [0; BLOCK];
                // SAFETY: the array has the size of a block.
                unsafe { joined.store(last.as_mut_ptr()) };
                output[written..written + made].copy_from_slice(&last[..made]);
            } else {
                return (read, written);
            }
            read += joined.taken;
            written += made;
            if is_end {
                return (read, written);
            }
        }
    }
    (read, written)
}

/// Whether [`join`] converts a byte of the group or stops at it. Returns `true` also for `ED` before `80..=9F`.
#[inline]
#[target_feature(enable = "avx2")]
fn may_change<const MODIFIED: bool, const LENIENT: bool>(group: [__m256i; 4]) -> bool {
    let [a, b, c, d] = group;
    let any_of = |[a, b, c, d]: [__m256i; 4]| _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    let mut found = any_of(group.map(|x| _mm256_cmpeq_epi8(x, byte(0xED))));
    if !LENIENT {
        let highest = _mm256_max_epu8(_mm256_max_epu8(a, b), _mm256_max_epu8(c, d));
        found = _mm256_or_si256(found, at_least_f0(highest));
    }
    if MODIFIED {
        found = _mm256_or_si256(found, any_of(group.map(|x| _mm256_cmpeq_epi8(x, byte(0xC0)))));
    }
    if MODIFIED && !LENIENT {
        let lowest = _mm256_min_epu8(_mm256_min_epu8(a, b), _mm256_min_epu8(c, d));
        found = _mm256_or_si256(found, _mm256_cmpeq_epi8(lowest, _mm256_setzero_si256()));
    }
    _mm256_movemask_epi8(found) != 0
}

/// The output of up to 64 bytes of an encoding with pairs.
#[derive(Clone, Copy)]
struct Joined {
    /// The converted bytes in the places of the input.
    bytes: [__m256i; 2],
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
    #[inline]
    #[target_feature(enable = "avx2,bmi1,popcnt")]
    unsafe fn new<const MODIFIED: bool, const LENIENT: bool>(from: *const u8, live: usize) -> (Self, bool) {
        let zero = _mm256_setzero_si256();
        // SAFETY: the caller guarantees the window.
        let loaded = |later: usize| [0, WIDTH].map(|half| unsafe { load(from.add(half + later)) });
        let (x, n1, n2) = (loaded(0), loaded(1), loaded(2));
        let upper_half = n1.map(|n1| _mm256_and_si256(n1, byte(0xF0)));
        let of_leads = |upper: u8| {
            [0, 1].map(|half: usize| {
                let leads = _mm256_cmpeq_epi8(x[half], byte(0xED));
                _mm256_and_si256(leads, _mm256_cmpeq_epi8(upper_half[half], byte(upper)))
            })
        };
        let highs = of_leads(0xA0);
        let (high, low) = (bits(highs), bits(of_leads(0xB0)));
        let conts = bits(x.map(|x| _mm256_cmpgt_epi8(byte(0xC0), x)));
        let pairs = high & low >> 3 & conts >> 2 & conts >> 5;
        // Pairs and zeros that do not end in the block are left to the next one.
        let mut cut = high & u64::MAX << (BLOCK - 5);
        if live < BLOCK {
            cut |= 1 << live;
        }
        let mut stops = high & !pairs | low & !(pairs << 3);
        let mut has_80 = 0;
        let mut zeros = [zero; 2];
        if MODIFIED {
            zeros = x.map(|x| _mm256_cmpeq_epi8(x, byte(0xC0)));
            let are_80 = n1.map(|n1| _mm256_cmpeq_epi8(n1, byte(0x80)));
            has_80 = bits([0, 1].map(|half: usize| _mm256_and_si256(zeros[half], are_80[half])));
            cut |= has_80 & 1 << (BLOCK - 1);
            stops |= bits([0, 1].map(|half: usize| {
                let mut stops = _mm256_andnot_si256(are_80[half], zeros[half]);
                if !LENIENT {
                    stops = _mm256_or_si256(stops, _mm256_cmpeq_epi8(x[half], zero));
                    stops = _mm256_or_si256(stops, at_least_f0(x[half]));
                }
                stops
            }));
        } else if !LENIENT {
            stops |= bits(x.map(|x| at_least_f0(x)));
        }
        let (mut taken, mut taken_bits) = (cut.trailing_zeros() as usize, below_lowest(cut));
        stops &= taken_bits;
        // The branch is predicted, so the next block does not wait for `stops`.
        if stops != 0 {
            (taken, taken_bits) = (stops.trailing_zeros() as usize, below_lowest(stops));
        }
        let kept = taken_bits & !(pairs << 3 | pairs << 4 | has_80 << 1);
        let before = [zero, highs[0]];
        let bytes = [0, 1].map(|half: usize| {
            let converted = convert([x[half], n1[half], n2[half]], highs[half], before[half]);
            if MODIFIED { _mm256_andnot_si256(zeros[half], converted) } else { converted }
        });
        (Self { bytes, kept, taken }, stops != 0)
    }

    /// Writes the bytes that are kept. Up to 64 bytes are overwritten.
    ///
    /// # Safety
    ///
    /// - The CPU has the features of the `target_feature` attribute.
    /// - 64 bytes at `out` can be written.
    #[inline]
    #[target_feature(enable = "avx2,popcnt")]
    unsafe fn store(self, out: *mut u8) {
        let mut made = 0;
        for (bytes, kept) in self.bytes.into_iter().zip([self.kept as u32, (self.kept >> 32) as u32]) {
            let masks = kept.to_le_bytes();
            let [a, b, c, d] = masks.map(|mask| i64::from_le_bytes(KEPT[usize::from(mask)]));
            // The indexes are those of a quarter. Two quarters are in a lane.
            let indexes =
                _mm256_add_epi8(_mm256_set_epi64x(d, c, b, a), _mm256_set_epi64x(EIGHTS, 0, EIGHTS, 0));
            let bytes = _mm256_shuffle_epi8(bytes, indexes);
            let (lower, upper) = (_mm256_castsi256_si128(bytes), _mm256_extracti128_si256::<1>(bytes));
            let quarters = [lower, _mm_unpackhi_epi64(lower, lower), upper, _mm_unpackhi_epi64(upper, upper)];
            for (quarter, mask) in quarters.into_iter().zip(masks) {
                // SAFETY: each quarter before made at most 8 bytes, so 8 bytes of the 64 are left.
                unsafe { _mm_storel_epi64(out.add(made).cast(), quarter) };
                made += mask.count_ones() as usize;
            }
        }
    }
}

/// Converts the first three bytes of each pair in their places. `highs` are the first bytes, and `before` those of the
/// vector before. `n1` and `n2` are the bytes that are 1 and 2 bytes after those of `x`.
///
/// Byte 0 of a sequence has the 3 highest bits of the plane, byte 1 the 2 lowest ones.
#[inline]
#[target_feature(enable = "avx2")]
fn convert([x, n1, n2]: [__m256i; 3], highs: __m256i, before: __m256i) -> __m256i {
    let neighbor = _mm256_permute2x128_si256::<0x21>(before, highs);
    let ones = _mm256_alignr_epi8::<15>(highs, neighbor);
    let twos = _mm256_alignr_epi8::<14>(highs, neighbor);
    let nibble = byte(0x0F);
    let plane = _mm256_add_epi8(_mm256_and_si256(n1, nibble), byte(1));
    let byte_0 = _mm256_or_si256(_mm256_and_si256(_mm256_srli_epi16::<2>(plane), byte(0x07)), byte(0xF0));
    // In byte 1, the mask is -1, so that 1 is added.
    let upper = _mm256_and_si256(_mm256_slli_epi16::<4>(_mm256_sub_epi8(x, ones)), byte(0x30));
    let lower = _mm256_and_si256(_mm256_blendv_epi8(n2, _mm256_srli_epi16::<2>(n1), ones), nibble);
    let bytes_1_2 = _mm256_or_si256(_mm256_or_si256(upper, lower), byte(0x80));
    let converted = _mm256_blendv_epi8(x, byte_0, highs);
    _mm256_blendv_epi8(converted, bytes_1_2, _mm256_or_si256(ones, twos))
}

/// Returns bit 7 of each byte.
#[inline]
#[target_feature(enable = "avx2")]
fn bits([lower, upper]: [__m256i; 2]) -> u64 {
    let [lower, upper] = [lower, upper].map(|half| u64::from(_mm256_movemask_epi8(half).cast_unsigned()));
    lower | upper << 32
}

/// Returns a mask of the bits below the lowest one of `bits`, or of all bits if it is 0.
#[inline(always)]
const fn below_lowest(bits: u64) -> u64 {
    bits.wrapping_sub(1) & !bits
}

/// 8 in each byte.
const EIGHTS: i64 = 0x0808_0808_0808_0808;
