//! Counts bytes with AVX2: the portable loops, vectorized by the compiler.

#[cfg(feature = "transcode")]
use super::Ymm;
use crate::arch::portable::count::{count_ascii_by_lanes, count_if};
#[cfg(feature = "transcode")]
use crate::arch::vector;
use crate::functions::Range;

/// Implements [`count`](crate::functions::Functions).
#[target_feature(enable = "avx2")]
pub(crate) fn count(bytes: &[u8], wanted: u8) -> usize {
    count_if(bytes, |byte| byte == wanted)
}

/// Implements [`count_range`](crate::functions::Functions).
#[target_feature(enable = "avx2")]
pub(crate) fn count_range(bytes: &[u8], range: Range) -> usize {
    // Two of the ranges need fewer instructions: those that end with the highest unsigned or the highest signed value.
    let [first, width] = range.first_and_width();
    match first.wrapping_add(width) {
        -1 => count_if(bytes, |byte| byte >= first.cast_unsigned()),
        i8::MAX => count_if(bytes, |byte| byte.cast_signed() >= first),
        _ => count_if(bytes, |byte| range.has(byte)),
    }
}

/// Implements [`count_ascii`](crate::functions::Functions).
#[target_feature(enable = "avx2")]
pub(crate) fn count_ascii(bytes: &[u8], wanted: u8) -> (usize, usize) {
    count_ascii_by_lanes(bytes, wanted)
}

/// Implements [`ascii_len`](crate::functions::Functions).
#[cfg(feature = "transcode")]
#[target_feature(enable = "avx2,bmi1")]
pub(crate) fn ascii_len(bytes: &[u8]) -> usize {
    // SAFETY: the features are enabled here.
    unsafe { vector::ascii_len::<Ymm>(bytes) }
}
