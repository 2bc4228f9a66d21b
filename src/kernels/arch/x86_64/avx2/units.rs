//! Conversions between single bytes and code units of UTF-16 and UTF-32, with AVX2.

use core::arch::x86_64::*;

use crate::kernels::arch::portable::units as portable;
use crate::kernels::functions::{Units, units};

pub(in crate::kernels) static UNITS: Units = units!(widen, narrow);

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// [`Convert`](crate::kernels::functions::Convert): single bytes to code units. The portable loop, compiled with AVX2.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn widen<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    portable::widen::<WINDOWS, WIDE, BIG_ENDIAN>(input, output)
}

/// [`Convert`](crate::kernels::functions::Convert): code units to single bytes.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn narrow<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let size = if WIDE { 4 } else { 2 };
    let count = output.len().min(input.len() / size);
    let mut at = 0;
    while count - at >= WIDTH {
        // SAFETY: `count` is at most the number of units of the input.
        let bytes = unsafe {
            let from = input.as_ptr().add(size * at);
            if WIDE { bytes_of_32::<BIG_ENDIAN>(from) } else { bytes_of_16::<BIG_ENDIAN>(from) }
        };
        if let Some(bytes) = bytes
            && !(WINDOWS && has_c1(bytes))
        {
            // SAFETY: `count` is at most the number of bytes of the output.
            unsafe { _mm256_storeu_si256(output.as_mut_ptr().add(at).cast(), bytes) };
            at += WIDTH;
            continue;
        }
        let (units, room) = (&input[size * at..][..size * WIDTH], &mut output[at..][..WIDTH]);
        let (_, written) = portable::narrow::<WINDOWS, WIDE, BIG_ENDIAN>(units, room);
        at += written;
        if written < WIDTH {
            return (size * at, at);
        }
    }
    let (read, written) =
        portable::narrow::<WINDOWS, WIDE, BIG_ENDIAN>(&input[size * at..], &mut output[at..]);
    (size * at + read, at + written)
}

/// Returns the bytes of 32 units of UTF-16, or `None` if one is above U+00FF.
///
/// # Safety
///
/// 64 bytes can be read.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn bytes_of_16<const BIG_ENDIAN: bool>(from: *const u8) -> Option<__m256i> {
    // SAFETY: the caller guarantees readable memory.
    let [a, b] = unsafe { [0, 1].map(|i| _mm256_loadu_si256(from.add(i * WIDTH).cast())) };
    let high = _mm256_set1_epi16(if BIG_ENDIAN { 0x00FF } else { 0xFF00_u16 as i16 });
    if _mm256_testz_si256(_mm256_or_si256(a, b), high) == 0 {
        return None;
    }
    let [a, b] = if BIG_ENDIAN { [_mm256_srli_epi16::<8>(a), _mm256_srli_epi16::<8>(b)] } else { [a, b] };
    // The instruction packs each half of a vector. The permutation puts the quarters in order.
    Some(_mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(a, b)))
}

/// Returns the bytes of 32 units of UTF-32, or `None` if one is above U+00FF.
///
/// # Safety
///
/// 128 bytes can be read.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn bytes_of_32<const BIG_ENDIAN: bool>(from: *const u8) -> Option<__m256i> {
    // SAFETY: the caller guarantees readable memory.
    let [a, b, c, d] = unsafe { [0, 1, 2, 3].map(|i| _mm256_loadu_si256(from.add(i * WIDTH).cast())) };
    let any = _mm256_or_si256(_mm256_or_si256(a, b), _mm256_or_si256(c, d));
    let high = _mm256_set1_epi32(if BIG_ENDIAN { 0x00FF_FFFF } else { !0xFF });
    if _mm256_testz_si256(any, high) == 0 {
        return None;
    }
    let low = |units| if BIG_ENDIAN { _mm256_srli_epi32::<24>(units) } else { units };
    let ab = _mm256_packus_epi32(low(a), low(b));
    let cd = _mm256_packus_epi32(low(c), low(d));
    let in_order = _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0);
    Some(_mm256_permutevar8x32_epi32(_mm256_packus_epi16(ab, cd), in_order))
}

/// Whether a byte is one of `80..=9F`.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn has_c1(bytes: __m256i) -> bool {
    // As signed numbers these are the bytes below -0x60.
    _mm256_movemask_epi8(_mm256_cmpgt_epi8(_mm256_set1_epi8(-0x60), bytes)) != 0
}
