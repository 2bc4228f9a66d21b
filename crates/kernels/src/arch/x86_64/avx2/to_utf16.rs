//! UTF-8 to UTF-16 with AVX2.

use core::arch::x86_64::*;

use super::utf16::{WIDTH, all, and, compress, load};
use crate::arch::shuffles::UNITS;
use crate::boundary::truncate;

/// [`Encode`](crate::functions::Encode), except for some characters at the end.
///
/// # Safety
///
/// The output has 2 bytes for each byte of the text.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(crate) unsafe fn encode<const BIG_ENDIAN: bool>(text: &str, output: &mut [u8]) -> (usize, usize) {
    debug_assert!(output.len() / 2 >= text.len());
    let bytes = text.as_bytes();
    // A copy of the first vector with 3 bytes before it and 1 byte after it, as all other vectors have.
    let mut first = [0; 3 + WIDTH + 1];
    if let (Some(copy), Some(start)) = (first.last_chunk_mut(), bytes.first_chunk::<{ WIDTH + 1 }>()) {
        *copy = *start;
    }
    let mut at = 0;
    let mut written = 0;
    // Whether the last byte of the previous vector is the third byte of a 4-byte sequence.
    let mut third_before = 0;
    while bytes.len() - at > WIDTH {
        // SAFETY: both pointers are inside their arrays.
        let near = unsafe { if at == 0 { first.as_ptr().add(3) } else { bytes.as_ptr().add(at) } };
        // SAFETY: a vector and 1 byte after it can be read.
        let x = unsafe { load(near) };
        let not_ascii = _mm256_movemask_epi8(x);
        if not_ascii == 0 {
            let low = _mm256_castsi256_si128(x);
            let high = _mm256_extracti128_si256::<1>(x);
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
        let units = (last | third).cast_unsigned();
        let halves = [_mm256_unpacklo_epi8(even, odd), _mm256_unpackhi_epi8(even, odd)];
        // SAFETY: each unit is for a different byte, and the output has 2 bytes for each byte. The same is true for the
        // 8 units of a store.
        written += unsafe { compress::<0, 2>(halves, &UNITS, units, output.as_mut_ptr().add(written)) };
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
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(crate) fn encode_ascii<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    const BLOCK: usize = 2 * WIDTH;
    let end = input.len().min(output.len() / 2);
    if end < BLOCK {
        return (0, 0);
    }
    // SAFETY: the input has a block, and the output has room for it.
    let mut mask = unsafe { ascii_block::<BIG_ENDIAN>(input.as_ptr(), output.as_mut_ptr()) };
    if mask != 0 {
        let at = mask.trailing_zeros() as usize;
        return (at, 2 * at);
    }
    // The next block starts earlier, so that the address of its output is aligned if possible.
    let mut at = BLOCK - output.as_ptr().addr() % WIDTH / 2;
    for _ in 0..(end - at) / BLOCK {
        // SAFETY: the input has another block, and the output has room for it.
        mask = unsafe { ascii_block::<BIG_ENDIAN>(input.as_ptr().add(at), output.as_mut_ptr().add(2 * at)) };
        if mask != 0 {
            at += mask.trailing_zeros() as usize;
            break;
        }
        at += BLOCK;
    }
    (at, 2 * at)
}

/// Widens 64 bytes. Returns a mask of the bytes that are not ASCII.
///
/// # Safety
///
/// 64 bytes can be read, and there is room for 128 bytes.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn ascii_block<const BIG_ENDIAN: bool>(from: *const u8, out: *mut u8) -> u64 {
    let place = if BIG_ENDIAN { &EVERY_ODD } else { &EVERY_EVEN };
    // SAFETY: the caller guarantees the space.
    unsafe {
        // A broadcast from memory needs no shuffle, and one shuffle per store is less than widening needs.
        let quarters =
            [0, 1, 2, 3].map(|i| _mm256_broadcastsi128_si256(_mm_loadu_si128(from.add(16 * i).cast())));
        for (i, quarter) in quarters.into_iter().enumerate() {
            let units = _mm256_shuffle_epi8(quarter, load(place.as_ptr()));
            _mm256_storeu_si256(out.add(WIDTH * i).cast(), units);
        }
        let [a, b, c, d] = quarters;
        if _mm256_movemask_epi8(_mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d))) == 0 {
            return 0;
        }
        let masks = [0, WIDTH].map(|i| _mm256_movemask_epi8(load(from.add(i))).cast_unsigned());
        u64::from(masks[0]) | u64::from(masks[1]) << 32
    }
}

/// A shuffle of 16 bytes, in both halves, to the even bytes of a vector. The other bytes are 0.
static EVERY_EVEN: [u8; WIDTH] = widening(0);
/// The same to the odd bytes.
static EVERY_ODD: [u8; WIDTH] = widening(1);

const fn widening(first: usize) -> [u8; WIDTH] {
    let mut shuffle = [0x80; WIDTH];
    let mut i = 0;
    while i < WIDTH / 2 {
        shuffle[2 * i + first] = i as u8;
        i += 1;
    }
    shuffle
}

/// Widens bytes to code units in the byte order of the output.
#[target_feature(enable = "avx2")]
fn wide<const BIG_ENDIAN: bool>(bytes: __m128i) -> __m256i {
    let units = _mm256_cvtepu8_epi16(bytes);
    if BIG_ENDIAN { _mm256_slli_epi16::<8>(units) } else { units }
}

#[target_feature(enable = "avx2")]
fn is_at_least(bytes: __m256i, least: u8) -> __m256i {
    _mm256_cmpeq_epi8(_mm256_max_epu8(bytes, all(least)), bytes)
}
