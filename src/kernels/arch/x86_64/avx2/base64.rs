//! Decodes groups of base64 symbols with AVX2.
//!
//! Four values of 6 bits are packed by two multiplications that add neighbors: 6 + 6 bits to 12, 12 + 12 to 24. The
//! method is from Muła and Lemire ("Faster Base64 Encoding and Decoding using AVX2 Instructions", 2018).

use core::arch::x86_64::*;

use crate::kernels::arch::portable::base64 as portable;
use crate::kernels::functions::LineForm;

/// Implements [`DecodeBase64`](crate::kernels::functions::DecodeBase64).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2")]
pub(in crate::kernels) unsafe fn decode_groups(symbols: &[u8], out: &mut [u8]) -> usize {
    // Tables indexed by the low and by the high half of a byte. If both entries have a bit in common, the byte is not a
    // symbol.
    let low_classes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B, 0x1A,
    ));
    let high_classes = _mm256_broadcastsi128_si256(_mm_setr_epi8(
        0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
    ));
    // The number to add to a symbol for its value, indexed by its high half. `/` and `+` have the same high half; the
    // index of `/` is one lower.
    let deltas =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0));
    let packed =
        _mm256_broadcastsi128_si256(_mm_setr_epi8(2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1));
    let halves = _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7);
    let slash = _mm256_set1_epi8(0x2F);
    let mut done = 0;
    // Eight groups are 24 bytes, and a store writes 32.
    while symbols.len() - done * 4 >= 32 && out.len() - done * 3 >= 32 {
        // SAFETY: 32 bytes follow.
        let read = unsafe { _mm256_loadu_si256(symbols.as_ptr().add(done * 4).cast()) };
        // Bit 5 may remain set. The lookup ignores it.
        let high = _mm256_and_si256(_mm256_srli_epi32::<4>(read), slash);
        let low = _mm256_and_si256(read, slash);
        let classes = (_mm256_shuffle_epi8(high_classes, high), _mm256_shuffle_epi8(low_classes, low));
        if _mm256_testz_si256(classes.0, classes.1) == 0 {
            break;
        }
        let delta = _mm256_shuffle_epi8(deltas, _mm256_add_epi8(_mm256_cmpeq_epi8(read, slash), high));
        let values = _mm256_add_epi8(read, delta);
        let pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x0140_0140));
        let lanes = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_1000));
        let bytes = _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(lanes, packed), halves);
        // SAFETY: there is room for 32 bytes.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(done * 3).cast(), bytes) };
        done += 8;
    }
    done
}

/// Implements [`DecodeBase64Lines`](crate::kernels::functions::DecodeBase64Lines).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2")]
pub(in crate::kernels) unsafe fn decode_lines(encoded: &[u8], out: &mut [u8], form: LineForm) -> usize {
    portable::decode_lines(encoded, out, form, |symbols, out| {
        // SAFETY: AVX2 is enabled here.
        let done = unsafe { decode_groups(symbols, out) };
        done + portable::decode_groups(&symbols[done * 4..], &mut out[done * 3..])
    })
}
