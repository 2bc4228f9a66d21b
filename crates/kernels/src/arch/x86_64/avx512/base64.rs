//! Decodes groups of base64 symbols with AVX-512 VBMI.
//!
//! Four values of 6 bits are packed by two multiplications that add neighbors: 6 + 6 bits to 12, 12 + 12 to 24. The
//! method is from Muła and Lemire ("Base64 encoding and decoding at almost the speed of a memory copy", 2020).

use core::arch::x86_64::*;

use crate::functions::LineForm;

/// The 6 bits of each ASCII byte, or `80` for a byte that is not a symbol.
static VALUES: [u8; 128] = {
    let alphabet = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    let mut values = [0x80; 128];
    let mut value = 0;
    while value < 64 {
        values[alphabet[value] as usize] = value as u8;
        value += 1;
    }
    values
};

/// The positions of the bytes of 16 groups in a vector of 32-bit lanes. The low 24 bits of each lane are a group.
static PACKED: [u8; 64] = {
    let mut packed = [0; 64];
    let mut i = 0;
    while i < 48 {
        packed[i] = (i / 3 * 4 + 2 - i % 3) as u8;
        i += 1;
    }
    packed
};

/// The vectors that every step uses.
#[derive(Clone, Copy)]
struct Tables {
    low: __m512i,
    high: __m512i,
    packed: __m512i,
}

impl Tables {
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
    #[inline]
    fn new() -> Self {
        // SAFETY: the statics have 64 and 128 bytes.
        unsafe {
            Self {
                low: _mm512_loadu_si512(VALUES.as_ptr().cast()),
                high: _mm512_loadu_si512(VALUES.as_ptr().add(64).cast()),
                packed: _mm512_loadu_si512(PACKED.as_ptr().cast()),
            }
        }
    }

    /// Returns a mask of the bytes that are not symbols, and the packed bytes.
    #[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
    #[inline]
    fn decode(self, read: __m512i) -> (u64, __m512i) {
        let values = _mm512_permutex2var_epi8(self.low, read, self.high);
        // The lookup ignores the highest bit of a byte, so this bit is tested in `read`.
        let bad = _mm512_movepi8_mask(_mm512_or_si512(values, read));
        let pairs = _mm512_maddubs_epi16(values, _mm512_set1_epi32(0x0140_0140));
        let lanes = _mm512_madd_epi16(pairs, _mm512_set1_epi32(0x0001_1000));
        (bad, _mm512_permutexvar_epi8(self.packed, lanes))
    }
}

/// Implements [`decode_base64`](crate::functions::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
pub(crate) fn decode_groups(symbols: &[u8], out: &mut [u8]) -> usize {
    let tables = Tables::new();
    let groups = (symbols.len() / 4).min(out.len() / 3);
    let mut done = 0;
    // A step of this loop does not depend on the result of the previous step. The last step below does.
    while groups - done >= 16 {
        // SAFETY: 16 groups follow.
        let read = unsafe { _mm512_loadu_si512(symbols.as_ptr().add(done * 4).cast()) };
        let (bad, bytes) = tables.decode(read);
        if bad != 0 {
            break;
        }
        // SAFETY: there is room for 48 bytes; masked bytes are not written.
        unsafe { _mm512_mask_storeu_epi8(out.as_mut_ptr().add(done * 3).cast(), u64::MAX >> 16, bytes) };
        done += 16;
    }
    let count = (groups - done).min(16);
    if count > 0 {
        let mask = first_bytes(4 * count);
        // SAFETY: `count` groups follow, and masked bytes are not read.
        let read = unsafe {
            let filler = _mm512_set1_epi8(b'A' as i8);
            _mm512_mask_loadu_epi8(filler, mask, symbols.as_ptr().add(done * 4).cast())
        };
        let (bad, bytes) = tables.decode(read);
        let good = count.min(bad.trailing_zeros() as usize / 4);
        let mask = first_bytes(3 * good);
        // SAFETY: `good` is at most `count`, and the output has space for `count` groups; masked bytes are not written.
        unsafe { _mm512_mask_storeu_epi8(out.as_mut_ptr().add(done * 3).cast(), mask, bytes) };
        done += good;
    }
    done
}

/// [`decode_base64_lines`](crate::functions::Functions). A line is read as two vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,bmi2")]
pub(crate) fn decode_lines(encoded: &[u8], out: &mut [u8], form: LineForm) -> usize {
    let tables = Tables::new();
    let filler = _mm512_set1_epi8(b'A' as i8);
    // At most 64 symbols are in the first vector, and at most 12 in the second one.
    let first = form.symbols().min(64);
    let second = form.symbols() - first;
    let read_first = first_bytes(first);
    let read_second = first_bytes(second);
    let write_first = first_bytes(first / 4 * 3);
    let write_second = first_bytes(second / 4 * 3);
    let lines = (encoded.len() / form.encoded()).min(out.len() / form.decoded());
    for line in 0..lines {
        let start = line * form.encoded();
        // SAFETY: `lines` whole lines follow each other, so all symbols of this line can be read; masked bytes are not
        // read.
        let [x, y] = unsafe {
            let from = encoded.as_ptr().add(start);
            [
                _mm512_mask_loadu_epi8(filler, read_first, from.cast()),
                _mm512_mask_loadu_epi8(filler, read_second, from.add(first).cast()),
            ]
        };
        let (bad_in_x, x) = tables.decode(x);
        let (bad_in_y, y) = tables.decode(y);
        if bad_in_x | bad_in_y != 0 || !form.ends(&encoded[start..start + form.encoded()]) {
            return line;
        }
        // SAFETY: there is room for the bytes of `lines` lines; masked bytes are not written.
        unsafe {
            let to = out.as_mut_ptr().add(line * form.decoded());
            _mm512_mask_storeu_epi8(to.cast(), write_first, x);
            _mm512_mask_storeu_epi8(to.add(first / 4 * 3).cast(), write_second, y);
        }
    }
    lines
}

/// Returns a mask of the first bytes of a vector.
#[target_feature(enable = "bmi2")]
#[inline]
fn first_bytes(bytes: usize) -> u64 {
    _bzhi_u64(u64::MAX, bytes as u32)
}
