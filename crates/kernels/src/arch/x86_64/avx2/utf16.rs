//! UTF-16 to UTF-8 with AVX2. AVX2 has no instruction that compresses a vector, so tables of shuffles compress half a
//! vector at a time.

use core::arch::x86_64::*;

use crate::arch::shuffles::{IN_BMP, ONE_OR_TWO, ONE_TO_THREE, Shuffles};
use crate::as_chunks::{as_chunks, as_chunks_mut};

/// The number of bytes in a vector.
pub(super) const WIDTH: usize = 32;

/// Implements [`Convert`](crate::functions::Convert).
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(crate) fn decode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    while input.len() - read >= 2 * WIDTH && output.len() - written >= ROOM {
        // SAFETY: 2 vectors can be read, and there is `ROOM`.
        let (x, next, out) = unsafe {
            let from = input.as_ptr().add(read);
            (load(from), load(from.add(WIDTH)), output.as_mut_ptr().add(written))
        };
        if is_ascii::<BIG_ENDIAN>(_mm256_or_si256(x, next)) {
            // SAFETY: there is room for a vector.
            unsafe { _mm256_storeu_si256(out.cast(), narrow::<BIG_ENDIAN>(x, next)) };
            // More ASCII is likely.
            let more = decode_ascii::<BIG_ENDIAN>(&input[read + 2 * WIDTH..], &mut output[written + WIDTH..]);
            read += 2 * (WIDTH + more);
            written += WIDTH + more;
            continue;
        }
        let x = order::<BIG_ENDIAN>(x);
        let next = order::<BIG_ENDIAN>(next);
        // Bits 11 to 15 of the units: no unit has them if all units are below U+0800.
        let high = _mm256_or_si256(x, next);
        if _mm256_testz_si256(high, words(0xF800)) != 0 {
            // SAFETY: 32 units become at most 2 bytes each, and there is room for 2 vectors.
            written += unsafe { decode_one_or_two(x, next, out) };
            read += 2 * WIDTH;
            continue;
        }
        let surrogates = _mm256_or_si256(is_surrogate(x), is_surrogate(next));
        if _mm256_testz_si256(surrogates, surrogates) != 0 {
            // SAFETY: 16 units become at most 48 bytes, and 4 bytes may be overwritten after them. `ROOM` is enough for
            // two such calls.
            unsafe {
                let len = decode_in_bmp(x, out);
                written += len + decode_in_bmp(next, out.add(len));
            }
            read += 2 * WIDTH;
            continue;
        }
        // SAFETY: there is `ROOM`.
        let Some((units, len)) = (unsafe { decode_with_pairs(x, out) }) else { break };
        read += 2 * units;
        written += len;
    }
    (read, written)
}

/// The output space for 32 units of 3 bytes, and for the bytes that the last store writes after them.
const ROOM: usize = 3 * WIDTH + 4;

/// Converts blocks of ASCII, up to a block that contains another character. Returns the number of code units.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn decode_ascii<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> usize {
    let mut at = 0;
    for (units, room) in
        as_chunks::<{ 4 * WIDTH }>(input).0.iter().zip(as_chunks_mut::<{ 2 * WIDTH }>(output).0)
    {
        // SAFETY: there are 4 vectors to read and room for 2.
        unsafe {
            let [a, b, c, d] = [0, 1, 2, 3].map(|i| load(units.as_ptr().add(i * WIDTH)));
            let any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
            if !is_ascii::<BIG_ENDIAN>(any) {
                break;
            }
            _mm256_storeu_si256(room.as_mut_ptr().cast(), narrow::<BIG_ENDIAN>(a, b));
            _mm256_storeu_si256(room.as_mut_ptr().add(WIDTH).cast(), narrow::<BIG_ENDIAN>(c, d));
        }
        at += 2 * WIDTH;
    }
    at
}

/// Whether all units are ASCII. The units are in the byte order of the input.
#[target_feature(enable = "avx2")]
fn is_ascii<const BIG_ENDIAN: bool>(units: __m256i) -> bool {
    _mm256_testz_si256(units, words(if BIG_ENDIAN { 0x80FF } else { 0xFF80 })) != 0
}

/// Returns the bytes of ASCII. The units are in the byte order of the input.
#[target_feature(enable = "avx2")]
fn narrow<const BIG_ENDIAN: bool>(x: __m256i, next: __m256i) -> __m256i {
    let [x, next] =
        if BIG_ENDIAN { [_mm256_srli_epi16::<8>(x), _mm256_srli_epi16::<8>(next)] } else { [x, next] };
    // The instruction packs each half of a vector. The permutation puts the quarters in order.
    _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(x, next))
}

/// Returns -1 for each unit that is a surrogate.
#[target_feature(enable = "avx2")]
pub(super) fn is_surrogate(units: __m256i) -> __m256i {
    _mm256_cmpeq_epi16(_mm256_and_si256(units, words(0xF800)), words(0xD800))
}

/// Converts 32 units below U+0800. Returns the number of bytes written.
///
/// # Safety
///
/// There is room for 64 bytes.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) unsafe fn decode_one_or_two(x: __m256i, next: __m256i, out: *mut u8) -> usize {
    let above_7f = [x, next].map(|units| _mm256_cmpgt_epi16(units, words(0x7F)));
    let halves = [(x, above_7f[0]), (next, above_7f[1])].map(|(units, above_7f)| {
        // 110xxxxx and 10xxxxxx
        let second = _mm256_and_si256(_mm256_slli_epi16::<8>(units), words(0x3F00));
        let two = _mm256_or_si256(_mm256_srli_epi16::<6>(units), _mm256_or_si256(second, words(0x80C0)));
        _mm256_blendv_epi8(units, two, above_7f)
    });
    // The instruction packs each half of a vector: the masks are those of the halves 0, 2, 1 and 3.
    let mask = _mm256_movemask_epi8(_mm256_packs_epi16(above_7f[0], above_7f[1])).cast_unsigned();
    let [a, c, b, d] = mask.to_le_bytes();
    let a_end = 8 + count(mask & 0xFF);
    let b_end = 16 + count(mask & 0x00FF_00FF);
    let c_end = 24 + count(mask & 0x00FF_FFFF);
    let first = _mm256_shuffle_epi8(halves[0], pair(&ONE_OR_TWO, a, b));
    let second = _mm256_shuffle_epi8(halves[1], pair(&ONE_OR_TWO, c, d));
    // SAFETY: the caller guarantees the space: 8 units become at most 16 bytes, so each store ends at 64 or before.
    unsafe {
        _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(first));
        _mm_storeu_si128(out.add(a_end).cast(), _mm256_extracti128_si256::<1>(first));
        _mm_storeu_si128(out.add(b_end).cast(), _mm256_castsi256_si128(second));
        _mm_storeu_si128(out.add(c_end).cast(), _mm256_extracti128_si256::<1>(second));
    }
    32 + count(mask)
}

/// Converts 16 units that are not surrogates. Returns the number of bytes written.
///
/// # Safety
///
/// There is room for 52 bytes.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) unsafe fn decode_in_bmp(units: __m256i, out: *mut u8) -> usize {
    // Bit 15 is set if the unit has at least 2 bytes, and if it has 3 bytes.
    let two = _mm256_adds_epu16(units, words(0x8000 - 0x80));
    let three = _mm256_adds_epu16(units, words(0x8000 - 0x800));
    let low = _mm256_shuffle_epi8(units, repeat_16([0, 0, 2, 2, 4, 4, 6, 6, 8, 8, 10, 10, 12, 12, 14, 14]));
    // 0xxxxxxx, for ASCII, and 10xxxxxx, the last byte of other characters.
    let ends = _mm256_or_si256(_mm256_and_si256(low, words(0x3F7F)), words(0x8000));
    // Bits 12 to 15 in the low byte, bits 6 to 11 in the high byte.
    let bits = _mm256_and_si256(_mm256_srli_epi16::<4>(units), words(0x0FFC));
    let bits = _mm256_maddubs_epi16(bits, words(0x0140));
    // 1110xxxx, and 110xxxxx or 10xxxxxx.
    let flip = _mm256_and_si256(_mm256_srli_epi16::<1>(three), words(0x4000));
    let starts = _mm256_xor_si256(_mm256_or_si256(bits, words(0xC0E0)), flip);
    // For every 4 units, a mask of the units with at least 2 bytes, and a mask of the units with 3 bytes.
    let masks = _mm256_shuffle_epi32::<0b11_01_10_00>(_mm256_packs_epi16(two, three));
    let masks = _mm256_movemask_epi8(masks).cast_unsigned();
    let halves = [_mm256_unpacklo_epi16(ends, starts), _mm256_unpackhi_epi16(ends, starts)];
    // SAFETY: 4 units become at most 12 bytes, so the last store ends at 52 or before.
    unsafe { compress::<4, 1>(halves, &IN_BMP, masks, out) }
}

/// Converts 16 units, or 15 if the last one is the first half of a pair. Returns the number of units and the number of
/// bytes written, or `None` if some surrogates are unpaired.
///
/// # Safety
///
/// There is room for 52 bytes.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn decode_with_pairs(x: __m256i, out: *mut u8) -> Option<(usize, usize)> {
    let half = _mm256_and_si256(x, words(0xFC00));
    let is_first = _mm256_cmpeq_epi16(half, words(0xD800));
    let is_second = _mm256_cmpeq_epi16(half, words(0xDC00));
    let firsts = _mm256_movemask_epi8(is_first);
    let seconds = _mm256_movemask_epi8(is_second);
    if firsts << 2 != seconds {
        return None;
    }
    let above_7f = _mm256_cmpeq_epi16(_mm256_max_epu16(x, words(0x80)), x);
    let above_7ff = _mm256_cmpeq_epi16(_mm256_max_epu16(x, words(0x800)), x);
    let free = words(0x3F00);
    let shifted = _mm256_slli_epi16::<8>(x);
    // 110xxxxx and 10xxxxxx
    let two = _mm256_or_si256(_mm256_srli_epi16::<6>(x), _mm256_and_si256(shifted, free));
    let two = _mm256_or_si256(two, words(0x80C0));
    // 1110xxxx, 10xxxxxx and 10xxxxxx
    let three = _mm256_or_si256(
        _mm256_or_si256(words(0x80E0), _mm256_srli_epi16::<12>(x)),
        _mm256_and_si256(_mm256_slli_epi16::<2>(x), free),
    );
    let third = _mm256_or_si256(words(0x80), _mm256_and_si256(x, words(0x3F)));
    // The first surrogate becomes 11110xxx and 10xxxxxx. `value` is the code point divided by 0x400. Its lowest 2 bits
    // are in the bytes of the second surrogate.
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
    let mut bytes = _mm256_blendv_epi8(x, two, above_7f);
    bytes = _mm256_blendv_epi8(bytes, three, above_7ff);
    bytes = _mm256_blendv_epi8(bytes, first, is_first);
    bytes = _mm256_blendv_epi8(bytes, second, is_second);
    let has_three = _mm256_andnot_si256(_mm256_or_si256(is_first, is_second), above_7ff);
    // For every 4 units, a mask of the units with at least 2 bytes, and a mask of the units with 3 bytes.
    let masks = _mm256_shuffle_epi32::<0b11_01_10_00>(_mm256_packs_epi16(above_7f, has_three));
    let masks = _mm256_movemask_epi8(masks).cast_unsigned();
    let halves = [_mm256_unpacklo_epi16(bytes, third), _mm256_unpackhi_epi16(bytes, third)];
    // SAFETY: 4 units become at most 12 bytes, so the last store ends at 52 or before.
    let written = unsafe { compress::<4, 1>(halves, &ONE_TO_THREE, masks, out) };
    // If the last unit is the first half of a pair, it is read again with the next vector.
    let is_split = usize::from(firsts < 0);
    Some((16 - is_split, written - 2 * is_split))
}

/// Writes 4 halves of vectors, each compressed by the shuffle for its 8 bits of `masks`. The first vector has the halves
/// 0 and 2, the second vector 1 and 3. Each half is compressed to `LEAST` bytes, and `MORE` bytes for each of its bits.
/// Returns the sum.
///
/// # Safety
///
/// The output has space for each whole half after the compressed halves before it.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(super) unsafe fn compress<const LEAST: usize, const MORE: usize>(
    halves: [__m256i; 2],
    shuffles: &'static Shuffles,
    masks: u32,
    out: *mut u8,
) -> usize {
    let [m0, m1, m2, m3] = masks.to_le_bytes();
    let a = _mm256_shuffle_epi8(halves[0], pair(shuffles, m0, m2));
    let b = _mm256_shuffle_epi8(halves[1], pair(shuffles, m1, m3));
    // Counts of the bits of the halves before do not depend on each other.
    let end = |i: usize, bits: u32| i * LEAST + MORE * count(bits);
    // SAFETY: the caller guarantees the space.
    unsafe {
        _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(a));
        _mm_storeu_si128(out.add(end(1, masks & 0xFF)).cast(), _mm256_castsi256_si128(b));
        _mm_storeu_si128(out.add(end(2, masks & 0xFFFF)).cast(), _mm256_extracti128_si256::<1>(a));
        _mm_storeu_si128(out.add(end(3, masks & 0xFF_FFFF)).cast(), _mm256_extracti128_si256::<1>(b));
    }
    end(4, masks)
}

#[target_feature(enable = "popcnt")]
fn count(bits: u32) -> usize {
    bits.count_ones() as usize
}

/// Returns a vector with both halves equal.
#[target_feature(enable = "avx2")]
fn repeat_16(bytes: [i8; 16]) -> __m256i {
    let [a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p] = bytes;
    _mm256_broadcastsi128_si256(_mm_setr_epi8(a, b, c, d, e, f, g, h, i, j, k, l, m, n, o, p))
}

/// Loads the shuffles for the masks of both halves of a vector.
#[target_feature(enable = "avx2")]
pub(super) fn pair(shuffles: &'static Shuffles, low: u8, high: u8) -> __m256i {
    let [low, high] = [low, high].map(|mask| shuffles[usize::from(mask)].as_ptr().cast());
    // SAFETY: each has 16 bytes.
    unsafe { _mm256_set_m128i(_mm_loadu_si128(high), _mm_loadu_si128(low)) }
}

/// # Safety
///
/// 32 bytes can be read.
#[target_feature(enable = "avx2")]
pub(super) unsafe fn load(from: *const u8) -> __m256i {
    // SAFETY: the caller guarantees that 32 bytes can be read.
    unsafe { _mm256_loadu_si256(from.cast()) }
}

/// Returns code units in the byte order of the CPU.
#[target_feature(enable = "avx2")]
fn order<const BIG_ENDIAN: bool>(units: __m256i) -> __m256i {
    if BIG_ENDIAN {
        _mm256_shuffle_epi8(units, repeat_16([1, 0, 3, 2, 5, 4, 7, 6, 9, 8, 11, 10, 13, 12, 15, 14]))
    } else {
        units
    }
}

#[target_feature(enable = "avx2")]
pub(super) fn all(byte: u8) -> __m256i {
    _mm256_set1_epi8(byte.cast_signed())
}

#[target_feature(enable = "avx2")]
pub(super) fn words(word: u16) -> __m256i {
    _mm256_set1_epi16(word.cast_signed())
}

#[target_feature(enable = "avx2")]
pub(super) fn and(bytes: __m256i, mask: u8) -> __m256i {
    _mm256_and_si256(bytes, all(mask))
}
