//! UTF-32 from and to UTF-8 and UTF-16. AVX2 has no instruction that compresses a vector, so tables of
//! shuffles compress a part of a vector at a time.

mod utf16;
mod utf8;

use core::arch::x86_64::*;

pub(in crate::kernels) use utf8::{decode, encode, widen_ascii};
pub(in crate::kernels) use utf16::{from_utf16, to_utf16};

/// The number of bytes in a vector.
const WIDTH: usize = 32;

/// Whether no lane of two vectors is a surrogate or above 0x10FFFF.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn are_scalars(a: __m256i, b: __m256i) -> bool {
    // Surrogates become the highest numbers.
    let distance = |units| {
        let units = _mm256_xor_si256(units, _mm256_set1_epi32(0xD800));
        _mm256_sub_epi32(units, _mm256_set1_epi32(0x800))
    };
    let highest = _mm256_max_epu32(distance(a), distance(b));
    let most = _mm256_set1_epi32(0x10_FFFF - 0x800);
    _mm256_movemask_epi8(_mm256_cmpeq_epi32(_mm256_max_epu32(highest, most), most)) == -1
}

/// Converts UTF-32 code units to or from the byte order of the CPU.
#[target_feature(enable = "avx2")]
fn order_32<const BIG_ENDIAN: bool>(units: __m256i) -> __m256i {
    if BIG_ENDIAN {
        let order = _mm256_set_epi64x(
            0x0C0D_0E0F_0809_0A0B,
            0x0405_0607_0001_0203,
            0x0C0D_0E0F_0809_0A0B,
            0x0405_0607_0001_0203,
        );
        _mm256_shuffle_epi8(units, order)
    } else {
        units
    }
}

/// Converts UTF-16 code units to or from the byte order of the CPU.
#[target_feature(enable = "avx2")]
fn order_16<const BIG_ENDIAN: bool>(units: __m256i) -> __m256i {
    if BIG_ENDIAN {
        let order = _mm256_set_epi64x(
            0x0E0F_0C0D_0A0B_0809,
            0x0607_0405_0203_0001,
            0x0E0F_0C0D_0A0B_0809,
            0x0607_0405_0203_0001,
        );
        _mm256_shuffle_epi8(units, order)
    } else {
        units
    }
}

/// Returns a code unit of UTF-32 in every lane, in this byte order.
#[target_feature(enable = "avx2")]
fn ordered<const BIG_ENDIAN: bool>(unit: u32) -> __m256i {
    _mm256_set1_epi32(if BIG_ENDIAN { unit.swap_bytes() } else { unit }.cast_signed())
}
