//! Decodes groups of base64 symbols with AVX2.
//!
//! Four values of 6 bits are packed by two multiplications that add neighbors: 6 + 6 bits to 12, 12 + 12 to 24. The
//! method is from Muła and Lemire ("Faster Base64 Encoding and Decoding using AVX2 Instructions", 2018).

use core::arch::x86_64::*;

use crate::arch::portable::base64 as portable;
use crate::functions::LineForm;

/// The number of symbols in a vector.
const SYMBOLS: usize = 32;
/// The number of bytes that they encode.
const DECODED: usize = 24;

/// The vectors that every step uses.
#[derive(Clone, Copy)]
struct Tables {
    low_classes: __m256i,
    high_classes: __m256i,
    deltas: __m256i,
    packed: __m256i,
    halves: __m256i,
}

impl Tables {
    #[target_feature(enable = "avx2")]
    #[inline]
    fn new() -> Self {
        Self {
            // Indexed by the low and by the high half of a byte. If both entries have a bit in common, the byte is not
            // a symbol.
            low_classes: _mm256_broadcastsi128_si256(_mm_setr_epi8(
                0x15, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x11, 0x13, 0x1A, 0x1B, 0x1B, 0x1B,
                0x1A,
            )),
            high_classes: _mm256_broadcastsi128_si256(_mm_setr_epi8(
                0x10, 0x10, 0x01, 0x02, 0x04, 0x08, 0x04, 0x08, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10, 0x10,
                0x10,
            )),
            // The number to add to a symbol for its value, indexed by its high half. `/` and `+` have the same high
            // half; the index of `/` is one lower.
            deltas: _mm256_broadcastsi128_si256(_mm_setr_epi8(
                0, 16, 19, 4, -65, -65, -71, -71, 0, 0, 0, 0, 0, 0, 0, 0,
            )),
            packed: _mm256_broadcastsi128_si256(_mm_setr_epi8(
                2, 1, 0, 6, 5, 4, 10, 9, 8, 14, 13, 12, -1, -1, -1, -1,
            )),
            halves: _mm256_setr_epi32(0, 1, 2, 4, 5, 6, 7, 7),
        }
    }

    /// Returns a vector that is zero only if all bytes are symbols, and their 24 bytes, followed by 8 others.
    #[target_feature(enable = "avx2")]
    #[inline]
    fn decode(self, read: __m256i) -> (__m256i, __m256i) {
        let slash = _mm256_set1_epi8(0x2F);
        // Bit 5 may remain set. The lookup ignores it.
        let high = _mm256_and_si256(_mm256_srli_epi32::<4>(read), slash);
        let low = _mm256_and_si256(read, slash);
        let bad = _mm256_and_si256(
            _mm256_shuffle_epi8(self.high_classes, high),
            _mm256_shuffle_epi8(self.low_classes, low),
        );
        let delta = _mm256_shuffle_epi8(self.deltas, _mm256_add_epi8(_mm256_cmpeq_epi8(read, slash), high));
        let values = _mm256_add_epi8(read, delta);
        let pairs = _mm256_maddubs_epi16(values, _mm256_set1_epi32(0x0140_0140));
        let lanes = _mm256_madd_epi16(pairs, _mm256_set1_epi32(0x0001_1000));
        (bad, _mm256_permutevar8x32_epi32(_mm256_shuffle_epi8(lanes, self.packed), self.halves))
    }
}

/// Implements [`decode_base64`](crate::functions::Functions).
#[target_feature(enable = "avx2")]
pub(crate) fn decode_groups(symbols: &[u8], out: &mut [u8]) -> usize {
    let tables = Tables::new();
    let mut done = 0;
    // Eight groups are 24 bytes, and a store writes 32.
    while symbols.len() - done * 4 >= SYMBOLS && out.len() - done * 3 >= 32 {
        // SAFETY: 32 bytes follow.
        let read = unsafe { _mm256_loadu_si256(symbols.as_ptr().add(done * 4).cast()) };
        let (bad, bytes) = tables.decode(read);
        if _mm256_testz_si256(bad, bad) == 0 {
            break;
        }
        // SAFETY: there is room for 32 bytes.
        unsafe { _mm256_storeu_si256(out.as_mut_ptr().add(done * 3).cast(), bytes) };
        done += 8;
    }
    done
}

/// Implements [`decode_base64_lines`](crate::functions::Functions). A line of at least 32 symbols is read
/// as three vectors, which may overlap.
#[target_feature(enable = "avx2")]
pub(crate) fn decode_lines(encoded: &[u8], out: &mut [u8], form: LineForm) -> usize {
    let Some(last) = form.symbols().checked_sub(SYMBOLS) else {
        return portable::decode_lines(encoded, out, form, portable::decode_groups);
    };
    let tables = Tables::new();
    // A line has at most 76 symbols, so no symbol is between the vectors.
    let starts = [0, last.min(SYMBOLS), last];
    let lines = (encoded.len() / form.encoded()).min(out.len() / form.decoded());
    for line in 0..lines {
        let start = line * form.encoded();
        // SAFETY: `lines` whole lines follow each other, and each vector is inside the symbols of this line.
        let read = starts.map(|at| unsafe { _mm256_loadu_si256(encoded.as_ptr().add(start + at).cast()) });
        let [(bad_in_x, x), (bad_in_y, y), (bad_in_z, z)] = read.map(|read| tables.decode(read));
        let bad = _mm256_or_si256(bad_in_x, _mm256_or_si256(bad_in_y, bad_in_z));
        if _mm256_testz_si256(bad, bad) == 0 || !form.ends(&encoded[start..start + form.encoded()]) {
            return line;
        }
        for (at, bytes) in starts.into_iter().zip([x, y, z]) {
            // SAFETY: there is room for the bytes of `lines` lines, and the 24 bytes are inside those of this line.
            unsafe {
                let to = out.as_mut_ptr().add(line * form.decoded() + at / 4 * 3);
                _mm_storeu_si128(to.cast(), _mm256_castsi256_si128(bytes));
                _mm_storel_epi64(to.add(DECODED - 8).cast(), _mm256_extracti128_si256::<1>(bytes));
            }
        }
    }
    lines
}
