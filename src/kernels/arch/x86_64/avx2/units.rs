//! Conversions between single bytes and code units of UTF-16 and UTF-32, with AVX2.

use core::arch::x86_64::*;
use core::array;

use super::utf16::load;
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
        at += {
            // SAFETY: `count` is at most the number of units of the input, and of the bytes of the output.
            unsafe {
                let (from, out) = (input.as_ptr().add(size * at), output.as_mut_ptr().add(at));
                narrow_pairs::<WINDOWS, WIDE, BIG_ENDIAN>(from, out, count - at)
            }
        };
        if count - at < WIDTH {
            break;
        }
        // SAFETY: `count` is at most the number of units of the input.
        let bytes = unsafe { bytes_of::<WIDE, BIG_ENDIAN, 1>(input.as_ptr().add(size * at)) };
        if let Some([bytes]) = bytes
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

/// [`narrow`] of pairs of vectors, up to one with a character that may have another byte. Returns the number of code
/// units.
///
/// # Safety
///
/// `count` code units can be read, and there is room for as many bytes.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn narrow_pairs<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    from: *const u8,
    out: *mut u8,
    count: usize,
) -> usize {
    let size = if WIDE { 4 } else { 2 };
    let mut at = 0;
    while count - at >= 2 * WIDTH {
        // SAFETY: the caller guarantees the memory.
        unsafe {
            match bytes_of::<WIDE, BIG_ENDIAN, 2>(from.add(size * at)) {
                Some([low, high]) if !(WINDOWS && (has_c1(low) || has_c1(high))) => {
                    _mm256_storeu_si256(out.add(at).cast(), low);
                    _mm256_storeu_si256(out.add(at + WIDTH).cast(), high);
                }
                _ => break,
            }
        }
        at += 2 * WIDTH;
    }
    at
}

/// Returns the bytes of 32 code units in each vector, or `None` if one is above U+00FF.
///
/// # Safety
///
/// The code units can be read.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn bytes_of<const WIDE: bool, const BIG_ENDIAN: bool, const VECTORS: usize>(
    from: *const u8,
) -> Option<[__m256i; VECTORS]> {
    // SAFETY: the caller guarantees readable memory.
    unsafe {
        if WIDE { bytes_of_32::<BIG_ENDIAN, VECTORS>(from) } else { bytes_of_16::<BIG_ENDIAN, VECTORS>(from) }
    }
}

/// [`bytes_of`] UTF-16.
///
/// # Safety
///
/// 64 bytes for each vector can be read.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn bytes_of_16<const BIG_ENDIAN: bool, const VECTORS: usize>(
    from: *const u8,
) -> Option<[__m256i; VECTORS]> {
    // SAFETY: the caller guarantees readable memory.
    let units =
        array::from_fn::<_, VECTORS, _>(|i| unsafe { [0, 1].map(|j| load(from.add((2 * i + j) * WIDTH))) });
    let any = units
        .iter()
        .fold(_mm256_setzero_si256(), |any, [a, b]| _mm256_or_si256(any, _mm256_or_si256(*a, *b)));
    let high = _mm256_set1_epi16(if BIG_ENDIAN { 0x00FF } else { 0xFF00_u16 as i16 });
    if _mm256_testz_si256(any, high) == 0 {
        return None;
    }
    Some(units.map(|[a, b]| {
        let [a, b] = if BIG_ENDIAN { [_mm256_srli_epi16::<8>(a), _mm256_srli_epi16::<8>(b)] } else { [a, b] };
        // The instruction packs each half of a vector. The permutation puts the quarters in order.
        _mm256_permute4x64_epi64::<0b11_01_10_00>(_mm256_packus_epi16(a, b))
    }))
}

/// [`bytes_of`] UTF-32.
///
/// # Safety
///
/// 128 bytes for each vector can be read.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn bytes_of_32<const BIG_ENDIAN: bool, const VECTORS: usize>(
    from: *const u8,
) -> Option<[__m256i; VECTORS]> {
    let units = array::from_fn::<_, VECTORS, _>(|i| {
        // SAFETY: the caller guarantees readable memory.
        unsafe { [0, 1, 2, 3].map(|j| load(from.add((4 * i + j) * WIDTH))) }
    });
    let any = units.iter().fold(_mm256_setzero_si256(), |any, [a, b, c, d]| {
        let any = _mm256_or_si256(any, _mm256_or_si256(*a, *b));
        _mm256_or_si256(any, _mm256_or_si256(*c, *d))
    });
    let high = _mm256_set1_epi32(if BIG_ENDIAN { 0x00FF_FFFF } else { !0xFF });
    if _mm256_testz_si256(any, high) == 0 {
        return None;
    }
    Some(units.map(|units| {
        let [a, b, c, d] = if BIG_ENDIAN { units.map(|units| _mm256_srli_epi32::<24>(units)) } else { units };
        let bytes = _mm256_packus_epi16(_mm256_packus_epi32(a, b), _mm256_packus_epi32(c, d));
        _mm256_permutevar8x32_epi32(bytes, _mm256_set_epi32(7, 3, 6, 2, 5, 1, 4, 0))
    }))
}

/// Whether a byte is one of `80..=9F`.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn has_c1(bytes: __m256i) -> bool {
    // As signed numbers these are the bytes below -0x60.
    _mm256_movemask_epi8(_mm256_cmpgt_epi8(_mm256_set1_epi8(-0x60), bytes)) != 0
}
