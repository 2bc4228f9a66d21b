//! UTF-16 conversions with AVX2. AVX2 has no instruction that compresses a vector, so tables of shuffles compress half
//! a vector at a time.

use core::arch::x86_64::*;

use crate::boundary::truncate;

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// A shuffle of 16 bytes for each mask of eight bits.
type Shuffles = [[u8; 16]; 256];

/// Keeps those of 8 code units whose bit is set.
static UNITS: Shuffles = shuffles(2, 0, 2);
/// Keeps the first byte of 8 pairs, and the second byte if the bit is set.
static ONE_OR_TWO: Shuffles = shuffles(2, 1, 1);
/// Keeps the first byte of 4 groups of 4 bytes, the second byte if the bit is set, and the third byte if the bit 4
/// higher is also set.
static ONE_TO_THREE: Shuffles = shuffles(4, 1, 1);

/// Returns shuffles of lanes of `lane` bytes. They keep the first `least` bytes of each lane, and `more` bytes for each
/// of its bits that is set.
const fn shuffles(lane: usize, least: usize, more: usize) -> Shuffles {
    let lanes = 16 / lane;
    let mut shuffles = [[0x80; 16]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut at, mut i) = (0, 0);
        while i < lanes {
            let bits = (mask >> i & 1) + (mask >> (i + lanes) & 1);
            let mut byte = 0;
            while byte < least + more * bits {
                shuffles[mask][at] = (i * lane + byte) as u8;
                byte += 1;
                at += 1;
            }
            i += 1;
        }
        mask += 1;
    }
    shuffles
}

/// [`Encode`](crate::kernels::functions::Encode), except for some characters at the end.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - The output has 2 bytes for each byte of the text.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn encode<const BIG_ENDIAN: bool>(
    text: &str,
    output: &mut [u8],
) -> (usize, usize) {
    debug_assert!(output.len() / 2 >= text.len());
    let bytes = text.as_bytes();
    // A copy of the first vector with 3 bytes before it and 1 byte after it, as all other vectors have.
    let mut first = [0; 3 + WIDTH + 1];
    if let (Some(copy), Some(start)) = (first.last_chunk_mut(), bytes.first_chunk::<{ WIDTH + 1 }>()) {
        *copy = *start;
    }
    let (mut at, mut written) = (0, 0);
    // Whether the last byte of the previous vector is the third byte of a 4-byte sequence.
    let mut third_before = 0;
    while bytes.len() - at > WIDTH {
        // SAFETY: both pointers are inside their arrays.
        let near = unsafe { if at == 0 { first.as_ptr().add(3) } else { bytes.as_ptr().add(at) } };
        // SAFETY: a vector and 1 byte after it can be read.
        let x = unsafe { load(near) };
        let not_ascii = _mm256_movemask_epi8(x);
        if not_ascii == 0 {
            let (low, high) = (_mm256_castsi256_si128(x), _mm256_extracti128_si256::<1>(x));
            // SAFETY: each unit is for a different byte, and the output has 2 bytes for each byte.
            unsafe {
                let out = output.as_mut_ptr().add(written);
                _mm256_storeu_si256(out.cast(), wide::<BIG_ENDIAN>(low));
                _mm256_storeu_si256(out.add(WIDTH).cast(), wide::<BIG_ENDIAN>(high));
            }
            at += WIDTH;
            written += 2 * WIDTH;
            continue;
        }
        // SAFETY: 3 bytes before the vector and 1 byte after it can be read.
        let (p1, p2, next) = unsafe { (load(near.sub(1)), load(near.sub(2)), load(near.add(1))) };
        // A unit is written for the last byte of each sequence, and for the third byte of a 4-byte sequence.
        let last = _mm256_movemask_epi8(_mm256_cmpgt_epi8(next, all(0xBF)));
        let is_third = is_at_least(p2, 0xF0);
        let third = _mm256_movemask_epi8(is_third);
        // The low 6 bits of the byte and of the byte before it, and 4 bits of the lead byte 2 bytes before it.
        let bits_0 = and(x, 0x3F);
        let bits_1 = _mm256_cmpgt_epi8(_mm256_setzero_si256(), x);
        let bits_1 = _mm256_and_si256(_mm256_srli_epi16::<2>(p1), _mm256_and_si256(bits_1, all(0x0F)));
        let bits_2 = _mm256_and_si256(and(_mm256_slli_epi16::<4>(p2), 0xF0), is_at_least(p2, 0xE0));
        let mut low = _mm256_or_si256(bits_0, and(_mm256_slli_epi16::<6>(p1), 0xC0));
        low = _mm256_blendv_epi8(x, low, x);
        let mut high = _mm256_or_si256(bits_1, bits_2);
        if third | third_before != 0 {
            // SAFETY: 3 bytes before the vector can be read.
            let is_fourth = is_at_least(unsafe { load(near.sub(3)) }, 0xF0);
            // Bits 16 to 20 of the code point, minus 1. The lead byte contains 3 of these bits, and the second byte 2.
            let plane =
                _mm256_or_si256(and(_mm256_slli_epi16::<2>(p2), 0x1C), and(_mm256_srli_epi16::<4>(p1), 0x03));
            let plane = _mm256_sub_epi8(plane, all(1));
            let first_low = _mm256_or_si256(
                and(_mm256_slli_epi16::<6>(plane), 0xC0),
                _mm256_or_si256(and(_mm256_slli_epi16::<2>(p1), 0x3C), and(_mm256_srli_epi16::<4>(x), 0x03)),
            );
            let first_high = _mm256_or_si256(all(0xD8), and(_mm256_srli_epi16::<2>(plane), 0x03));
            let second_high = _mm256_or_si256(all(0xDC), and(high, 0x03));
            low = _mm256_blendv_epi8(low, first_low, is_third);
            high = _mm256_blendv_epi8(high, first_high, is_third);
            high = _mm256_blendv_epi8(high, second_high, is_fourth);
        }
        third_before = third >> (WIDTH - 1) & 1;
        let (even, odd) = if BIG_ENDIAN { (high, low) } else { (low, high) };
        let units = (last | third).to_le_bytes();
        let counts = units.map(|mask| 2 * mask.count_ones() as usize);
        let halves = [_mm256_unpacklo_epi8(even, odd), _mm256_unpackhi_epi8(even, odd)];
        // SAFETY: each unit is for a different byte, and the output has 2 bytes for each byte. The same is true for the
        // 8 units of a store.
        written += unsafe { compress(halves, &UNITS, units, counts, output.as_mut_ptr().add(written)) };
        at += WIDTH;
    }
    // A character that continues after the last vector was not written, except the first half of its surrogate pair.
    let whole = truncate(text, at).len();
    if at - whole == 3 {
        written -= 2;
    }
    (whole, written)
}

/// Implements [`Decode`](crate::kernels::functions::Decode).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn decode<const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    // Two vectors of output are enough for 16 units of 3 bytes, and for the bytes that the last store writes after
    // them.
    while input.len() - read >= 2 * WIDTH && output.len() - written >= 2 * WIDTH {
        // SAFETY: 2 vectors can be read, and there is room for 2.
        let (x, next, out) = unsafe {
            let from = input.as_ptr().add(read);
            (load(from), load(from.add(WIDTH)), output.as_mut_ptr().add(written))
        };
        let (x, next) = (order::<BIG_ENDIAN>(x), order::<BIG_ENDIAN>(next));
        let not_ascii = _mm256_set1_epi16(!0x7F);
        if _mm256_testz_si256(_mm256_or_si256(x, next), not_ascii) != 0 {
            let bytes = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(x, next));
            // SAFETY: there is room for 2 vectors.
            unsafe { _mm256_storeu_si256(out.cast(), bytes) };
            read += 2 * WIDTH;
            written += WIDTH;
            continue;
        }
        let above_7f = _mm256_cmpeq_epi16(_mm256_max_epu16(x, _mm256_set1_epi16(0x80)), x);
        // 110xxxxx and 10xxxxxx
        let free = _mm256_set1_epi16(0x3F00);
        let shifted = _mm256_slli_epi16::<8>(x);
        let two = _mm256_or_si256(_mm256_srli_epi16::<6>(x), _mm256_and_si256(shifted, free));
        let two = _mm256_or_si256(two, words(0x80C0));
        if _mm256_testz_si256(x, words(0xF800)) != 0 {
            let bytes = _mm256_blendv_epi8(x, two, above_7f);
            let masks = _mm256_movemask_epi8(_mm256_packs_epi16(above_7f, above_7f)).to_le_bytes();
            let (low, high) = (masks[0], masks[2]);
            let end = 8 + low.count_ones() as usize;
            let bytes = _mm256_shuffle_epi8(bytes, pair(&ONE_OR_TWO, low, high));
            // SAFETY: there is room for 2 vectors, and 16 units become at most 2 bytes each.
            unsafe {
                _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(bytes));
                _mm_storeu_si128(out.add(end).cast(), _mm256_extracti128_si256::<1>(bytes));
            }
            read += WIDTH;
            written += end + 8 + high.count_ones() as usize;
            continue;
        }
        // 1110xxxx, 10xxxxxx and 10xxxxxx
        let three = _mm256_or_si256(
            _mm256_or_si256(words(0x80E0), _mm256_srli_epi16::<12>(x)),
            _mm256_and_si256(_mm256_slli_epi16::<2>(x), free),
        );
        let third = _mm256_or_si256(words(0x80), _mm256_and_si256(x, words(0x3F)));
        let mut above_7ff = _mm256_cmpeq_epi16(_mm256_max_epu16(x, words(0x800)), x);
        let mut bytes = _mm256_blendv_epi8(x, two, above_7f);
        bytes = _mm256_blendv_epi8(bytes, three, above_7ff);
        let half = _mm256_and_si256(x, words(0xFC00));
        let (is_first, is_second) =
            (_mm256_cmpeq_epi16(half, words(0xD800)), _mm256_cmpeq_epi16(half, words(0xDC00)));
        let (firsts, seconds) = (_mm256_movemask_epi8(is_first), _mm256_movemask_epi8(is_second));
        if firsts | seconds != 0 {
            if firsts << 2 != seconds {
                // Some surrogates are unpaired.
                break;
            }
            // The first surrogate becomes 11110xxx and 10xxxxxx. `value` is the code point divided by 0x400. Its lowest
            // 2 bits are in the bytes of the second surrogate.
            let value = _mm256_add_epi16(_mm256_and_si256(x, words(0x3FF)), words(0x40));
            let first = _mm256_or_si256(
                _mm256_or_si256(words(0x80F0), _mm256_srli_epi16::<8>(value)),
                _mm256_and_si256(_mm256_slli_epi16::<6>(value), free),
            );
            let before = _mm256_alignr_epi8::<14>(x, _mm256_permute2x128_si256::<0x08>(x, x));
            let second = _mm256_or_si256(
                _mm256_or_si256(
                    _mm256_slli_epi16::<4>(_mm256_and_si256(before, words(0x03))),
                    _mm256_and_si256(_mm256_srli_epi16::<6>(x), words(0x0F)),
                ),
                _mm256_or_si256(words(0x8080), _mm256_and_si256(shifted, free)),
            );
            bytes = _mm256_blendv_epi8(bytes, first, is_first);
            bytes = _mm256_blendv_epi8(bytes, second, is_second);
            above_7ff = _mm256_andnot_si256(_mm256_or_si256(is_first, is_second), above_7ff);
        }
        // For every 4 units, a mask of the units with at least 2 bytes, and a mask of the units with 3 bytes.
        let masks = _mm256_shuffle_epi32::<0b11_01_10_00>(_mm256_packs_epi16(above_7f, above_7ff));
        let masks = _mm256_movemask_epi8(masks).to_le_bytes();
        let counts = masks.map(|mask| 4 + mask.count_ones() as usize);
        let halves = [_mm256_unpacklo_epi16(bytes, third), _mm256_unpackhi_epi16(bytes, third)];
        // SAFETY: there is room for 2 vectors. 16 units need at most 48 bytes, and the last store starts at 36 or
        // before.
        written += unsafe { compress(halves, &ONE_TO_THREE, masks, counts, out) };
        read += WIDTH;
        if firsts < 0 {
            // The last unit is the first half of a pair. It is read again with the next vector.
            read -= 2;
            written -= 2;
        }
    }
    (read, written)
}

/// Writes 4 halves of vectors, each compressed to `counts` bytes by the shuffle for its mask. The first vector has the
/// halves 0 and 2, the second vector 1 and 3. Returns the sum of the counts.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - The output has space for each whole half after the compressed halves before it.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn compress(
    halves: [__m256i; 2],
    shuffles: &'static Shuffles,
    masks: [u8; 4],
    counts: [usize; 4],
    out: *mut u8,
) -> usize {
    let a = _mm256_shuffle_epi8(halves[0], pair(shuffles, masks[0], masks[2]));
    let b = _mm256_shuffle_epi8(halves[1], pair(shuffles, masks[1], masks[3]));
    let ends = [counts[0], counts[0] + counts[1], counts[0] + counts[1] + counts[2]];
    // SAFETY: the caller guarantees the space.
    unsafe {
        _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(a));
        _mm_storeu_si128(out.add(ends[0]).cast(), _mm256_castsi256_si128(b));
        _mm_storeu_si128(out.add(ends[1]).cast(), _mm256_extracti128_si256::<1>(a));
        _mm_storeu_si128(out.add(ends[2]).cast(), _mm256_extracti128_si256::<1>(b));
    }
    ends[2] + counts[3]
}

/// Loads the shuffles for the masks of both halves of a vector.
#[target_feature(enable = "avx2")]
fn pair(shuffles: &'static Shuffles, low: u8, high: u8) -> __m256i {
    let [low, high] = [low, high].map(|mask| shuffles[usize::from(mask)].as_ptr().cast());
    // SAFETY: each has 16 bytes.
    unsafe { _mm256_set_m128i(_mm_loadu_si128(high), _mm_loadu_si128(low)) }
}

/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - 32 bytes can be read.
#[target_feature(enable = "avx2")]
unsafe fn load(from: *const u8) -> __m256i {
    // SAFETY: the caller guarantees that 32 bytes can be read.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// Widens bytes to code units in the byte order of the output.
#[target_feature(enable = "avx2")]
fn wide<const BIG_ENDIAN: bool>(bytes: __m128i) -> __m256i {
    let units = _mm256_cvtepu8_epi16(bytes);
    if BIG_ENDIAN { _mm256_slli_epi16::<8>(units) } else { units }
}

/// Returns code units in the byte order of the CPU.
#[target_feature(enable = "avx2")]
fn order<const BIG_ENDIAN: bool>(units: __m256i) -> __m256i {
    if BIG_ENDIAN {
        _mm256_or_si256(_mm256_slli_epi16::<8>(units), _mm256_srli_epi16::<8>(units))
    } else {
        units
    }
}

#[target_feature(enable = "avx2")]
fn all(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

#[target_feature(enable = "avx2")]
fn words(word: u16) -> __m256i {
    _mm256_set1_epi16(word.cast_signed())
}

#[target_feature(enable = "avx2")]
fn and(bytes: __m256i, mask: u8) -> __m256i {
    _mm256_and_si256(bytes, all(mask))
}

#[target_feature(enable = "avx2")]
fn is_at_least(bytes: __m256i, least: u8) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, all(least)), bytes)
}
