//! Conversions between single bytes and code units of UTF-16 and UTF-32, with AVX-512.

use core::arch::x86_64::*;

use super::utf16::order;
use super::utf32::order_32;
use crate::encoding::windows_1252;
use crate::kernels::functions::{Units, units};

pub(in crate::kernels) static UNITS: Units = units!(widen, narrow);

/// The number of bytes in a vector.
const WIDTH: usize = 64;

/// The code units of the bytes `80..=9F` of windows-1252.
static C1: [u16; 32] = {
    let mut units = [0; 32];
    let mut i = 0;
    while i < 32 {
        units[i] = windows_1252(0x80 + i as u8) as u16;
        i += 1;
    }
    units
};

/// A multiplier for which [`slot`] is different for each unit of [`C1`]. It was found by trying all multipliers.
const MULTIPLIER: u16 = 0x03D9;

/// The index of a code unit in [`BYTES`].
const fn slot(unit: u16) -> usize {
    (unit.wrapping_mul(MULTIPLIER) >> 10) as usize
}

/// The code units of [`C1`] by their [`slot`], and their bytes. Unused slots are 0.
static BYTES: [[u16; 64]; 2] = {
    let mut table = [[0; 64]; 2];
    let mut i = 0;
    while i < 32 {
        let slot = slot(C1[i]);
        assert!(table[0][slot] == 0, "two units have the same slot");
        table[0][slot] = C1[i];
        table[1][slot] = 0x80 + i as u16;
        i += 1;
    }
    table
};

/// [`Convert`](crate::kernels::functions::Convert): single bytes to code units.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn widen<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let size = if WIDE { 4 } else { 2 };
    let lanes = WIDTH / size;
    let count = input.len().min(output.len() / size);
    let (from, out) = (input.as_ptr(), output.as_mut_ptr());
    // The first step is as long as needed to align the output, so that no other store crosses cache lines. An output of
    // units at an odd address cannot be aligned.
    let head = out.align_offset(WIDTH);
    let mut at = if head % size == 0 { count.min(head / size) } else { 0 };
    // SAFETY: `count` is at most the number of bytes of the input, and of units of the output. The steps are at most
    // a vector long.
    unsafe {
        widen_some::<WINDOWS, WIDE, BIG_ENDIAN>(from, out, at);
        while count - at >= lanes {
            let (from, out) = (from.add(at), out.add(size * at).cast());
            if WIDE {
                let units = units_32::<WINDOWS>(_mm_loadu_si128(from.cast()));
                _mm512_storeu_si512(out, order_32::<BIG_ENDIAN>(units));
            } else {
                let units = units_16::<WINDOWS>(_mm256_loadu_si256(from.cast()));
                _mm512_storeu_si512(out, order::<BIG_ENDIAN>(units));
            }
            at += lanes;
        }
        widen_some::<WINDOWS, WIDE, BIG_ENDIAN>(from.add(at), out.add(size * at), count - at);
    }
    (count, size * count)
}

/// [`widen`] of less than a vector of code units.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - `len` bytes can be read, and there is room for `len` code units, less than a vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn widen_some<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    from: *const u8,
    out: *mut u8,
    len: usize,
) {
    let live = _bzhi_u32(!0, len as u32);
    // SAFETY: the mask excludes what is after `len` bytes and units.
    unsafe {
        if WIDE {
            let units = units_32::<WINDOWS>(_mm_maskz_loadu_epi8(live as u16, from.cast()));
            _mm512_mask_storeu_epi32(out.cast(), live as u16, order_32::<BIG_ENDIAN>(units));
        } else {
            let units = units_16::<WINDOWS>(_mm256_maskz_loadu_epi8(live, from.cast()));
            _mm512_mask_storeu_epi16(out.cast(), live, order::<BIG_ENDIAN>(units));
        }
    }
}

/// Returns the UTF-16 code units of 32 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn units_16<const WINDOWS: bool>(bytes: __m256i) -> __m512i {
    let units = _mm512_cvtepu8_epi16(bytes);
    if !WINDOWS {
        return units;
    }
    let is_c1 = _mm256_cmpeq_epi8_mask(
        _mm256_and_si256(bytes, _mm256_set1_epi8(0xE0_u8 as i8)),
        _mm256_set1_epi8(0x80_u8 as i8),
    );
    // SAFETY: the array has the size of a vector.
    let table = unsafe { _mm512_loadu_si512(C1.as_ptr().cast()) };
    // The permutation uses the low 5 bits of each unit.
    _mm512_mask_permutexvar_epi16(units, is_c1, units, table)
}

/// Returns the UTF-32 code units of 16 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn units_32<const WINDOWS: bool>(bytes: __m128i) -> __m512i {
    if WINDOWS {
        let units = units_16::<true>(_mm256_zextsi128_si256(bytes));
        _mm512_cvtepu16_epi32(_mm512_castsi512_si256(units))
    } else {
        _mm512_cvtepu8_epi32(bytes)
    }
}

/// [`Convert`](crate::kernels::functions::Convert): code units to single bytes.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn narrow<const WINDOWS: bool, const WIDE: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let size = if WIDE { 4 } else { 2 };
    let count = output.len().min(input.len() / size);
    let mut at = 0;
    while at < count {
        // SAFETY: `count` is at most the number of units of the input, and of bytes of the output.
        let (from, out) = unsafe { (input.as_ptr().add(size * at), output.as_mut_ptr().add(at)) };
        if count - at >= WIDTH {
            // SAFETY: `WIDTH` units can be read.
            let bytes = unsafe {
                if WIDE { bytes_of_32::<BIG_ENDIAN>(from) } else { bytes_of_16::<BIG_ENDIAN>(from) }
            };
            if let Some(bytes) = bytes
                && !(WINDOWS && has_c1(bytes))
            {
                // SAFETY: there is room for `WIDTH` bytes.
                unsafe { _mm512_storeu_si512(out.cast(), bytes) };
                at += WIDTH;
                continue;
            }
        }
        let len = (count - at).min(WIDTH / 2);
        let live = _bzhi_u32(!0, len as u32);
        // SAFETY: the masks exclude what is after `len` units.
        let units = unsafe {
            if WIDE {
                let low = _mm512_maskz_loadu_epi32(live as u16, from.cast());
                let high = _mm512_maskz_loadu_epi32((live >> 16) as u16, from.wrapping_add(WIDTH).cast());
                // Values above 0xFFFF become U+FFFF, which has no byte either.
                _mm512_inserti64x4::<1>(
                    _mm512_castsi256_si512(_mm512_cvtusepi32_epi16(order_32::<BIG_ENDIAN>(low))),
                    _mm512_cvtusepi32_epi16(order_32::<BIG_ENDIAN>(high)),
                )
            } else {
                order::<BIG_ENDIAN>(_mm512_maskz_loadu_epi16(live, from.cast()))
            }
        };
        let (bytes, has_byte) = bytes_of_each::<WINDOWS>(units);
        let taken = (has_byte.trailing_ones() as usize).min(len);
        // SAFETY: the mask excludes what is after `taken` bytes.
        unsafe { _mm256_mask_storeu_epi8(out.cast(), _bzhi_u32(!0, taken as u32), bytes) };
        at += taken;
        if taken < len {
            break;
        }
    }
    (size * at, at)
}

/// Returns the bytes of 64 units of UTF-16, or `None` if one is above U+00FF.
///
/// # Safety
///
/// 128 bytes can be read.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn bytes_of_16<const BIG_ENDIAN: bool>(from: *const u8) -> Option<__m512i> {
    // SAFETY: the caller guarantees readable memory.
    let [a, b] = unsafe { [0, 1].map(|i| _mm512_loadu_si512(from.add(i * WIDTH).cast())) };
    let high = _mm512_set1_epi16(if BIG_ENDIAN { 0x00FF } else { 0xFF00_u16 as i16 });
    if _mm512_test_epi16_mask(_mm512_or_si512(a, b), high) != 0 {
        return None;
    }
    let [a, b] = if BIG_ENDIAN { [_mm512_srli_epi16::<8>(a), _mm512_srli_epi16::<8>(b)] } else { [a, b] };
    let in_order = _mm512_set_epi64(7, 5, 3, 1, 6, 4, 2, 0);
    Some(_mm512_permutexvar_epi64(in_order, _mm512_packus_epi16(a, b)))
}

/// Returns the bytes of 64 units of UTF-32, or `None` if one is above U+00FF.
///
/// # Safety
///
/// 256 bytes can be read.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn bytes_of_32<const BIG_ENDIAN: bool>(from: *const u8) -> Option<__m512i> {
    // SAFETY: the caller guarantees readable memory.
    let [a, b, c, d] = unsafe { [0, 1, 2, 3].map(|i| _mm512_loadu_si512(from.add(i * WIDTH).cast())) };
    let any = _mm512_or_si512(_mm512_or_si512(a, b), _mm512_or_si512(c, d));
    let high = _mm512_set1_epi32(if BIG_ENDIAN { 0x00FF_FFFF } else { !0xFF });
    if _mm512_test_epi32_mask(any, high) != 0 {
        return None;
    }
    let low = |units| if BIG_ENDIAN { _mm512_srli_epi32::<24>(units) } else { units };
    let ab = _mm512_packus_epi32(low(a), low(b));
    let cd = _mm512_packus_epi32(low(c), low(d));
    let in_order = _mm512_set_epi32(15, 11, 7, 3, 14, 10, 6, 2, 13, 9, 5, 1, 12, 8, 4, 0);
    Some(_mm512_permutexvar_epi32(in_order, _mm512_packus_epi16(ab, cd)))
}

/// Whether a byte is one of `80..=9F`.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn has_c1(bytes: __m512i) -> bool {
    let high = _mm512_and_si512(bytes, _mm512_set1_epi8(0xE0_u8 as i8));
    _mm512_cmpeq_epi8_mask(high, _mm512_set1_epi8(0x80_u8 as i8)) != 0
}

/// Returns the bytes of 32 UTF-16 code units, and a mask of the units that have one.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn bytes_of_each<const WINDOWS: bool>(units: __m512i) -> (__m256i, u32) {
    let is_byte = _mm512_testn_epi16_mask(units, _mm512_set1_epi16(0xFF00_u16 as i16));
    if !WINDOWS {
        return (_mm512_cvtepi16_epi8(units), is_byte);
    }
    let is_c1 = _mm512_cmpeq_epi16_mask(
        _mm512_and_si512(units, _mm512_set1_epi16(0xFFE0_u16 as i16)),
        _mm512_set1_epi16(0x80),
    );
    let same = is_byte & !is_c1;
    let slots =
        _mm512_srli_epi16::<10>(_mm512_mullo_epi16(units, _mm512_set1_epi16(MULTIPLIER.cast_signed())));
    // SAFETY: each row of the table has two vectors.
    let [keys, bytes] = unsafe {
        BYTES.each_ref().map(|row| {
            let (low, high) =
                (_mm512_loadu_si512(row.as_ptr().cast()), _mm512_loadu_si512(row.as_ptr().add(32).cast()));
            _mm512_permutex2var_epi16(low, slots, high)
        })
    };
    let is_found = _mm512_cmpeq_epi16_mask(keys, units);
    (_mm512_cvtepi16_epi8(_mm512_mask_mov_epi16(bytes, same, units)), same | is_found)
}
