//! UTF-32 from and to UTF-8, with AVX2.

use core::arch::x86_64::*;

use super::super::utf16::{all, and, decode_in_bmp, is_surrogate, load, pair};
use super::{WIDTH, are_scalars, order_32, ordered};
use crate::boundary::truncate;
use crate::kernels::arch::shuffles::{LENGTHS, ONE_OR_TWO, ONE_TO_FOUR, UNITS};

/// [`Encode`](crate::kernels::functions::Encode): text to UTF-32, up to a character near its end.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - The output has 4 bytes for each byte of the text.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn encode<const BIG_ENDIAN: bool>(
    text: &str,
    output: &mut [u8],
) -> (usize, usize) {
    debug_assert!(output.len() / 4 >= text.len());
    let bytes = text.as_bytes();
    // A copy of the first vector with 3 bytes before it and 1 byte after it, as all other vectors have.
    let mut first = [0; 3 + WIDTH + 1];
    if let (Some(copy), Some(start)) = (first.last_chunk_mut(), bytes.first_chunk::<{ WIDTH + 1 }>()) {
        *copy = *start;
    }
    let (mut at, mut written) = (0, 0);
    while bytes.len() - at > WIDTH {
        // SAFETY: both pointers are inside their arrays.
        let near = unsafe { if at == 0 { first.as_ptr().add(3) } else { bytes.as_ptr().add(at) } };
        // SAFETY: a vector and 1 byte after it can be read.
        let x = unsafe { load(near) };
        if _mm256_movemask_epi8(x) == 0 {
            // SAFETY: a vector of ASCII can be read at `at`. The output has 4 bytes for each byte, and at most 4 bytes
            // are written for each byte before `at`.
            let len = unsafe { encode_ascii::<BIG_ENDIAN>(bytes, at, output.as_mut_ptr().add(written)) };
            at += len;
            written += 4 * len;
            continue;
        }
        // SAFETY: 3 bytes before the vector and 1 byte after it can be read.
        let [p1, p2, p3, next] =
            unsafe { [load(near.sub(1)), load(near.sub(2)), load(near.sub(3)), load(near.add(1))] };
        // A unit is written for the last byte of each sequence.
        let last = _mm256_movemask_epi8(_mm256_cmpgt_epi8(next, all(0xBF))).cast_unsigned();
        let zero = _mm256_setzero_si256();
        // The bits of the last byte, and 0x40 times those of the byte before it.
        let (bits_0, bits_1) = (and(x, 0x7F), _mm256_blendv_epi8(zero, and(p1, 0x3F), x));
        let weights = _mm256_set1_epi16(0x4001);
        let mut low = _mm256_maddubs_epi16(_mm256_unpacklo_epi8(bits_0, bits_1), weights);
        let mut high = _mm256_maddubs_epi16(_mm256_unpackhi_epi8(bits_0, bits_1), weights);
        // Bit 7 is set for the last byte of a sequence of at least 3 bytes and of 4 bytes. It is also set for the third
        // byte of 4, for which no unit is written.
        let fourth = _mm256_subs_epu8(p3, all(0x70));
        let third = _mm256_or_si256(_mm256_subs_epu8(p2, all(0x60)), fourth);
        let has_third = _mm256_movemask_epi8(third) != 0;
        if has_third {
            // Bits 12 to 15.
            let bits_2 = _mm256_blendv_epi8(zero, and(_mm256_slli_epi16::<4>(p2), 0xF0), third);
            low = _mm256_or_si256(low, _mm256_unpacklo_epi8(zero, bits_2));
            high = _mm256_or_si256(high, _mm256_unpackhi_epi8(zero, bits_2));
        }
        let masks = last.to_le_bytes();
        let shuffles = [pair(&UNITS, masks[0], masks[2]), pair(&UNITS, masks[1], masks[3])];
        let a = _mm256_shuffle_epi8(low, shuffles[0]);
        let b = _mm256_shuffle_epi8(high, shuffles[1]);
        let mut parts = [
            _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)),
            _mm256_cvtepu16_epi32(_mm256_castsi256_si128(b)),
            _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(a)),
            _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(b)),
        ];
        if has_third && _mm256_movemask_epi8(fourth) != 0 {
            // Bits 16 to 20: two bits of the second byte, and those of the lead byte.
            let of_p2 = and(_mm256_srli_epi16::<4>(p2), 0x03);
            let of_p3 = and(_mm256_slli_epi16::<2>(p3), 0x1C);
            let top = _mm256_blendv_epi8(zero, _mm256_or_si256(of_p2, of_p3), fourth);
            let a = _mm256_shuffle_epi8(_mm256_unpacklo_epi8(top, zero), shuffles[0]);
            let b = _mm256_shuffle_epi8(_mm256_unpackhi_epi8(top, zero), shuffles[1]);
            let tops = [
                _mm256_cvtepu16_epi32(_mm256_castsi256_si128(a)),
                _mm256_cvtepu16_epi32(_mm256_castsi256_si128(b)),
                _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(a)),
                _mm256_cvtepu16_epi32(_mm256_extracti128_si256::<1>(b)),
            ];
            for (part, top) in parts.iter_mut().zip(tops) {
                *part = _mm256_or_si256(*part, _mm256_slli_epi32::<16>(top));
            }
        }
        let count = |bits: u32| 4 * bits.count_ones() as usize;
        // Counts of the bits of the parts before do not depend on each other.
        let starts = [0, count(last & 0xFF), count(last & 0xFFFF), count(last & 0xFF_FFFF)];
        for (part, start) in parts.into_iter().zip(starts) {
            // SAFETY: each unit is for a different byte, and the output has 4 bytes for each byte. The same is true for
            // the 8 units of a store.
            unsafe {
                let out = output.as_mut_ptr().add(written + start);
                _mm256_storeu_si256(out.cast(), order_32::<BIG_ENDIAN>(part));
            }
        }
        written += count(last);
        at += WIDTH;
    }
    // A character that continues after the last vector was not written.
    (truncate(text, at).len(), written)
}

/// [`Convert`](crate::kernels::functions::Convert): ASCII to UTF-32, up to two vectors with another byte.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn widen_ascii<const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let len = input.len().min(output.len() / 4);
    let mut read = 0;
    // The first vectors are read in part, so that all others are written to aligned addresses.
    let mut step = 2 * WIDTH - output.as_ptr() as usize % WIDTH / 4;
    // The last load reads 8 bytes after the two vectors.
    while len - read >= 2 * WIDTH + 8 {
        // SAFETY: two vectors can be read, and there is room for four times as many bytes.
        let (from, out) = unsafe { (input.as_ptr().add(read), output.as_mut_ptr().add(4 * read)) };
        // SAFETY: two vectors can be read.
        if _mm256_movemask_epi8(unsafe { _mm256_or_si256(load(from), load(from.add(WIDTH))) }) != 0 {
            break;
        }
        for i in 0..8 {
            // SAFETY: two vectors and 8 bytes can be read, and there is room for eight vectors.
            unsafe {
                // Loads that overlap are not replaced by shuffles of a vector, which are slower.
                let units = _mm_loadu_si128(from.add(8 * i).cast());
                _mm256_storeu_si256(out.add(i * WIDTH).cast(), widened_ascii::<BIG_ENDIAN>(units));
            }
        }
        read += step;
        step = 2 * WIDTH;
    }
    (read, 4 * read)
}

/// Returns the first 8 bytes as UTF-32.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn widened_ascii<const BIG_ENDIAN: bool>(bytes: __m128i) -> __m256i {
    let units = _mm256_cvtepu8_epi32(bytes);
    if BIG_ENDIAN { _mm256_slli_epi32::<24>(units) } else { units }
}

/// Writes the vector of ASCII at `at` as UTF-32, and more vectors of ASCII after it. Returns the number of bytes read.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There is a vector at `at`, and it is ASCII.
/// - There are 4 bytes of room for each byte from `at`.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn encode_ascii<const BIG_ENDIAN: bool>(bytes: &[u8], at: usize, out: *mut u8) -> usize {
    let mut read = 0;
    // The first vector is read in part, so that all others are written to aligned addresses.
    let mut len = WIDTH - out as usize % WIDTH / 4;
    loop {
        for i in 0..4 {
            // SAFETY: there is a vector of input. The caller guarantees 4 bytes of output for each of its bytes.
            unsafe {
                let units = _mm_loadl_epi64(bytes.as_ptr().add(at + read + 8 * i).cast());
                let out = out.add(4 * read + i * WIDTH);
                _mm256_storeu_si256(out.cast(), widened_ascii::<BIG_ENDIAN>(units));
            }
        }
        read += len;
        len = WIDTH;
        if bytes.len() - at - read <= WIDTH {
            return read;
        }
        // SAFETY: a vector can be read.
        if _mm256_movemask_epi8(unsafe { load(bytes.as_ptr().add(at + read)) }) != 0 {
            return read;
        }
    }
}

/// [`Convert`](crate::kernels::functions::Convert): UTF-32 to UTF-8, up to two vectors with a value that is not a
/// scalar value.
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
    // 16 characters become at most 64 bytes.
    while input.len() - read >= 2 * WIDTH && output.len() - written >= 2 * WIDTH {
        // SAFETY: two vectors can be read, and there is room for two.
        let (from, out) = unsafe { (input.as_ptr().add(read), output.as_mut_ptr().add(written)) };
        // SAFETY: two vectors can be read.
        let (a, b) = unsafe { (load(from), load(from.add(WIDTH))) };
        let any = _mm256_or_si256(a, b);
        if _mm256_testz_si256(any, ordered::<BIG_ENDIAN>(!0x7F)) != 0 {
            let bytes = low_bytes::<BIG_ENDIAN>([a, b, a, b]);
            // SAFETY: there is room for two vectors.
            unsafe { _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(bytes)) };
            read += 2 * WIDTH;
            written += WIDTH / 2;
            let len = decode_ascii::<BIG_ENDIAN>(&input[read..], &mut output[written..]);
            read += 4 * len;
            written += len;
            continue;
        }
        let (a, b) = (order_32::<BIG_ENDIAN>(a), order_32::<BIG_ENDIAN>(b));
        if _mm256_testz_si256(any, ordered::<BIG_ENDIAN>(!0x7FF)) != 0 {
            let units = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(a, b));
            // 110xxxxx and 10xxxxxx
            let two = _mm256_and_si256(_mm256_slli_epi16::<8>(units), _mm256_set1_epi16(0x3F00));
            let two = _mm256_or_si256(two, _mm256_srli_epi16::<6>(units));
            let two = _mm256_or_si256(two, _mm256_set1_epi16(0x80C0_u16.cast_signed()));
            let above_7f = _mm256_cmpgt_epi16(units, _mm256_set1_epi16(0x7F));
            let bytes = _mm256_blendv_epi8(units, two, above_7f);
            let masks = _mm256_movemask_epi8(_mm256_packs_epi16(above_7f, above_7f)).to_le_bytes();
            let (low, high) = (masks[0], masks[2]);
            let bytes = _mm256_shuffle_epi8(bytes, pair(&ONE_OR_TWO, low, high));
            let end = 8 + low.count_ones() as usize;
            // SAFETY: there is room for two vectors, and 8 characters become at most 16 bytes.
            unsafe {
                _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(bytes));
                _mm_storeu_si128(out.add(end).cast(), _mm256_extracti128_si256::<1>(bytes));
            }
            read += 2 * WIDTH;
            written += end + 8 + high.count_ones() as usize;
            continue;
        }
        if _mm256_testz_si256(any, ordered::<BIG_ENDIAN>(0xFFFF_0000)) != 0 {
            let units = _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi32(a, b));
            let surrogates = is_surrogate(units);
            if _mm256_testz_si256(surrogates, surrogates) == 0 {
                break;
            }
            // SAFETY: there is room for two vectors.
            written += unsafe { decode_in_bmp(units, out) };
            read += 2 * WIDTH;
            continue;
        }
        if !are_scalars(a, b) {
            break;
        }
        let ((a, a_low, a_high), (b, b_low, b_high)) = (sequences(a), sequences(b));
        let masks = _mm256_packs_epi16(_mm256_packs_epi32(a_low, a_high), _mm256_packs_epi32(b_low, b_high));
        // Of the low halves of both vectors, and then of the high halves.
        let masks = _mm256_movemask_epi8(masks).to_le_bytes();
        let lens = masks.map(|mask| usize::from(LENGTHS[usize::from(mask)]));
        let a = _mm256_shuffle_epi8(a, pair(&ONE_TO_FOUR, masks[0], masks[2]));
        let b = _mm256_shuffle_epi8(b, pair(&ONE_TO_FOUR, masks[1], masks[3]));
        let ends = [lens[0], lens[0] + lens[2], lens[0] + lens[2] + lens[1]];
        // SAFETY: there is room for two vectors, and 4 characters become at most 16 bytes.
        unsafe {
            _mm_storeu_si128(out.cast(), _mm256_castsi256_si128(a));
            _mm_storeu_si128(out.add(ends[0]).cast(), _mm256_extracti128_si256::<1>(a));
            _mm_storeu_si128(out.add(ends[1]).cast(), _mm256_castsi256_si128(b));
            _mm_storeu_si128(out.add(ends[2]).cast(), _mm256_extracti128_si256::<1>(b));
        }
        read += 2 * WIDTH;
        written += ends[2] + lens[3];
    }
    (read, written)
}

/// Writes blocks of 4 vectors of ASCII. Returns the number of characters.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn decode_ascii<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> usize {
    let count = output.len().min(input.len() / 4);
    let mut done = 0;
    // The first block is read in part, so that all others are written to aligned addresses.
    let mut len = WIDTH - output.as_ptr() as usize % WIDTH;
    while count - done >= WIDTH {
        // SAFETY: `count` is at most the number of characters of the input.
        let units = unsafe {
            let from = input.as_ptr().add(4 * done);
            [load(from), load(from.add(WIDTH)), load(from.add(2 * WIDTH)), load(from.add(3 * WIDTH))]
        };
        let any = _mm256_or_si256(_mm256_or_si256(units[0], units[1]), _mm256_or_si256(units[2], units[3]));
        if _mm256_testz_si256(any, ordered::<BIG_ENDIAN>(!0x7F)) == 0 {
            break;
        }
        // SAFETY: `count` is at most the number of bytes of the output.
        unsafe { _mm256_storeu_si256(output.as_mut_ptr().add(done).cast(), low_bytes::<BIG_ENDIAN>(units)) };
        done += len;
        len = WIDTH;
    }
    done
}

/// Returns the low bytes of 32 code units below 0x100.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn low_bytes<const BIG_ENDIAN: bool>(units: [__m256i; 4]) -> __m256i {
    let [a, b, c, d] = units.map(|it| if BIG_ENDIAN { _mm256_srli_epi32::<24>(it) } else { it });
    let words = [_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d)];
    // The instructions pack each half of a vector. The permutation puts the parts in order.
    let in_order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    _mm256_permutevar8x32_epi32(_mm256_packus_epi16(words[0], words[1]), in_order)
}

/// Returns the sequences of 8 scalar values, each in a lane of 4 bytes with its last byte first. The other vectors have
/// all bits of a lane set if bit 0 or bit 1 of the length minus 1 is set.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn sequences(units: __m256i) -> (__m256i, __m256i, __m256i) {
    // Bits 0 to 11 at the start of the first half of the lane, and bits 12 to 20 at the start of the second half.
    let halves = _mm256_blend_epi16::<0b1010_1010>(units, _mm256_slli_epi32::<4>(units));
    // Six bits in each byte.
    let odd = _mm256_set1_epi16(0xFF00_u16.cast_signed());
    let bits = and(_mm256_blendv_epi8(halves, _mm256_slli_epi16::<2>(halves), odd), 0x3F);
    let [two, three, four] =
        [0x7F, 0x7FF, 0xFFFF].map(|most| _mm256_cmpgt_epi32(units, _mm256_set1_epi32(most)));
    // 0xC080, 0xE0_8080 or 0xF080_8080
    let marks = _mm256_xor_si256(
        _mm256_xor_si256(
            _mm256_and_si256(two, _mm256_set1_epi32(0xC080)),
            _mm256_and_si256(three, _mm256_set1_epi32(0xE0_8080 ^ 0xC080)),
        ),
        _mm256_and_si256(four, _mm256_set1_epi32((0xF080_8080_u32 ^ 0xE0_8080).cast_signed())),
    );
    let bytes = _mm256_blendv_epi8(units, _mm256_or_si256(bits, marks), two);
    (bytes, _mm256_xor_si256(_mm256_xor_si256(two, three), four), three)
}
