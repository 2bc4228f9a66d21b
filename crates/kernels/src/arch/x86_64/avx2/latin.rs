//! ISO 8859-1 and windows-1252 to UTF-8, with AVX2. Bytes are widened to UTF-16 code units, which are converted as in the
//! conversion of UTF-16.

use core::arch::x86_64::*;

use super::utf16::{decode_in_bmp, decode_one_or_two, load};
use crate::arch::portable::latin::WINDOWS_1252_UNITS;
use crate::as_chunks::as_chunks;

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// The number of vectors that are tested for ASCII at once. If one of them is not ASCII, all are converted, because in text
/// with accents a branch for each would often be mispredicted.
const GROUP: usize = 4;

/// The output space for a vector: 32 characters of up to 3 bytes, and 4 bytes that the last store may overwrite.
const ROOM: usize = 3 * WIDTH + 4;

/// [`Convert`](crate::functions::Convert): single bytes to UTF-8, while there is a group of input and output space
/// for the UTF-8 of any group.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(crate) fn decode<const WINDOWS: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let mut written = 0;
    let (groups, _) = as_chunks::<{ GROUP * WIDTH }>(input);
    for (i, group) in groups.iter().enumerate() {
        let Some(room) = output.get_mut(written..).filter(|room| room.len() >= GROUP * ROOM) else {
            return (i * GROUP * WIDTH, written);
        };
        let mut out = room.as_mut_ptr();
        // SAFETY: the array is a group, and there is room for its UTF-8.
        unsafe {
            let vectors = [0, 1, 2, 3].map(|i| load(group.as_ptr().add(i * WIDTH)));
            let [a, b, c, d] = vectors;
            let any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
            let is_ascii = _mm256_movemask_epi8(any) == 0;
            for x in vectors {
                // A vector with punctuation of windows-1252 takes longer than a mispredicted branch.
                let len = if is_ascii || WINDOWS && _mm256_movemask_epi8(x) == 0 {
                    _mm256_storeu_si256(out.cast(), x);
                    WIDTH
                } else {
                    decode_vector::<WINDOWS>(x, out)
                };
                out = out.add(len);
                written += len;
            }
        }
    }
    (groups.len() * GROUP * WIDTH, written)
}

/// Writes the UTF-8 of 32 bytes. Returns the number of bytes written.
///
/// # Safety
///
/// There is [`ROOM`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline]
unsafe fn decode_vector<const WINDOWS: bool>(x: __m256i, out: *mut u8) -> usize {
    let low = _mm256_cvtepu8_epi16(_mm256_castsi256_si128(x));
    let high = _mm256_cvtepu8_epi16(_mm256_extracti128_si256::<1>(x));
    // As signed numbers, `80..=9F` are the bytes below -0x60.
    let c1 = _mm256_movemask_epi8(_mm256_cmpgt_epi8(_mm256_set1_epi8(-0x60), x));
    if WINDOWS && c1 != 0 {
        // SAFETY: there is [`ROOM`].
        return unsafe { decode_windows_1252([low, high], c1.cast_unsigned(), out) };
    }
    // SAFETY: 32 units become at most 64 bytes.
    unsafe { decode_one_or_two(low, high, out) }
}

/// [`decode_vector`] of widened bytes. The mask selects the bytes from 80 to 9F.
///
/// # Safety
///
/// There is [`ROOM`].
#[target_feature(enable = "avx2,bmi1,popcnt")]
#[inline(never)]
unsafe fn decode_windows_1252([low, high]: [__m256i; 2], mut c1: u32, out: *mut u8) -> usize {
    let mut units = [0_u16; WIDTH];
    // SAFETY: the array has the size of two vectors. 16 units become at most 48 bytes, and 4 bytes may be overwritten
    // after them.
    unsafe {
        _mm256_storeu_si256(units.as_mut_ptr().cast(), low);
        _mm256_storeu_si256(units.as_mut_ptr().add(WIDTH / 2).cast(), high);
        while c1 != 0 {
            let unit = &mut units[c1.trailing_zeros() as usize % WIDTH];
            *unit = WINDOWS_1252_UNITS[usize::from(*unit as u8)];
            c1 &= c1 - 1;
        }
        let len = decode_in_bmp(load(units.as_ptr().cast()), out);
        len + decode_in_bmp(load(units.as_ptr().add(WIDTH / 2).cast()), out.add(len))
    }
}
