//! ISO 8859-1 and windows-1252 to UTF-8, with AVX-512 VBMI2. Each character is expanded
//! to the number of bytes of the longest one, and the vector is compressed to the bytes that are used. UTF-8 to ISO 8859-1:
//! the lead bytes are compressed away.

use core::arch::x86_64::*;

use crate::arch::portable::latin::WINDOWS_1252_C1;

/// The number of bytes in a vector.
const WIDTH: usize = 64;
/// The number of vectors that are tested at once.
const GROUP: usize = 4;

/// The indices of a permutation that interleaves the bytes of both halves of a vector.
static INTERLEAVED: [u8; WIDTH] = {
    let mut order = [0; WIDTH];
    let mut i = 0;
    while i < WIDTH {
        order[i] = (i / 2 + i % 2 * (WIDTH / 2)) as u8;
        i += 1;
    }
    order
};

/// [`Convert`](crate::functions::Convert): single bytes to UTF-8, while there is a vector of input and output
/// space for four vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) fn decode<const WINDOWS: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    // Not for windows-1252: a vector with punctuation costs more than the mispredicted branch that this loop avoids.
    while !WINDOWS && input.len() - read >= GROUP * WIDTH && output.len() - written >= GROUP * 4 * WIDTH {
        // SAFETY: a group can be read.
        let group =
            unsafe { [0, 1, 2, 3].map(|i| _mm512_loadu_si512(input.as_ptr().add(read + i * WIDTH).cast())) };
        let any = _mm512_or_si512(_mm512_or_si512(group[0], group[1]), _mm512_or_si512(group[2], group[3]));
        let is_ascii = _mm512_movepi8_mask(any) == 0;
        for x in group {
            // SAFETY: there is room for four vectors for each of the group.
            unsafe {
                let out = output.as_mut_ptr().add(written);
                if is_ascii {
                    _mm512_storeu_si512(out.cast(), x);
                    written += WIDTH;
                } else {
                    // The vectors are not tested for ASCII one by one, because in text with accents the branch would
                    // often be mispredicted.
                    written += decode_vector::<WINDOWS>(x, out);
                }
            }
        }
        read += GROUP * WIDTH;
    }
    while input.len() - read >= WIDTH && output.len() - written >= 4 * WIDTH {
        // SAFETY: a vector can be read, and there is room for four.
        unsafe {
            let x = _mm512_loadu_si512(input.as_ptr().add(read).cast());
            let out = output.as_mut_ptr().add(written);
            if _mm512_movepi8_mask(x) == 0 {
                _mm512_storeu_si512(out.cast(), x);
                written += WIDTH;
            } else {
                written += decode_vector::<WINDOWS>(x, out);
            }
        }
        read += WIDTH;
    }
    (read, written)
}

/// Writes the UTF-8 of 64 bytes. Returns the number of bytes written.
///
/// # Safety
///
/// There is room for four vectors.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
#[inline]
unsafe fn decode_vector<const WINDOWS: bool>(x: __m512i, out: *mut u8) -> usize {
    let c1 = _mm512_cmplt_epu8_mask(_mm512_add_epi8(x, _mm512_set1_epi8(-0x80)), _mm512_set1_epi8(0x20));
    let mut len = 0;
    let mut put = |bytes, kept: u64| {
        // SAFETY: there is room for four vectors. Each vector stored before has at most 48 used bytes, or there is
        // only one.
        unsafe { _mm512_storeu_si512(out.add(len).cast(), _mm512_maskz_compress_epi8(kept, bytes)) };
        len += kept.count_ones() as usize;
    };
    if WINDOWS && c1 != 0 {
        let quarters = [
            _mm512_extracti32x4_epi32::<0>(x),
            _mm512_extracti32x4_epi32::<1>(x),
            _mm512_extracti32x4_epi32::<2>(x),
            _mm512_extracti32x4_epi32::<3>(x),
        ];
        for quarter in quarters {
            let (bytes, kept) = of_windows_1252(_mm512_cvtepu8_epi32(quarter));
            put(bytes, kept);
        }
    } else {
        // SAFETY: the array has the size of a vector.
        let order = unsafe { _mm512_loadu_si512(INTERLEAVED.as_ptr().cast()) };
        let both = _mm512_permutexvar_epi8(order, x);
        // Each 16-bit lane has C2 and the byte. For bytes from C0 on, C2 becomes C3, and bit 6 of the byte is
        // cleared.
        let halves = [
            _mm512_shldi_epi16::<8>(both, _mm512_set1_epi16(0xC200_u16 as i16)),
            _mm512_or_si512(
                _mm512_and_si512(both, _mm512_set1_epi16(0xFF00_u16 as i16)),
                _mm512_set1_epi16(0x00C2),
            ),
        ];
        let not_ascii = _mm512_movepi8_mask(x);
        let from_c0 = _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8(0xC0_u8 as i8));
        for (i, lanes) in halves.into_iter().enumerate() {
            let to_c3 = _mm512_set1_epi16(0xC001_u16 as i16);
            let bytes = _mm512_mask_add_epi16(lanes, (from_c0 >> (32 * i)) as u32, lanes, to_c3);
            // The byte is always used. The lead byte before it is used only if the byte is not ASCII.
            let leads = _pdep_u64(not_ascii >> (32 * i), 0x5555_5555_5555_5555);
            put(bytes, leads | 0xAAAA_AAAA_AAAA_AAAA);
        }
    }
    len
}

/// Implements [`encode_latin`](crate::functions::Functions).
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) fn encode(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    // The lead bytes in the last byte of the vector before, in bit 0: all, and those that are C3.
    let mut lead = 0;
    let mut lead_c3 = 0;
    while input.len() - read >= WIDTH && output.len() - written >= WIDTH {
        // SAFETY: a vector can be read.
        let x = unsafe { _mm512_loadu_si512(input.as_ptr().add(read).cast()) };
        let leads = _mm512_cmpeq_epi8_mask(_mm512_or_si512(x, all_bytes(1)), all_bytes(0xC3));
        let c3 = _mm512_cmpeq_epi8_mask(x, all_bytes(0xC3));
        let conts = leads << 1 | lead;
        // Each byte after a lead byte is a continuation byte, and other bytes are ASCII.
        if conts != _mm512_cmplt_epi8_mask(x, all_bytes(0xC0)) || leads | conts != _mm512_movepi8_mask(x) {
            break;
        }
        // The low 6 bits of a continuation byte are those of the character, and bit 7. C3 adds bit 6.
        let bytes = _mm512_mask_add_epi8(x, c3 << 1 | lead_c3, x, all_bytes(0x40));
        // SAFETY: there is room for a vector.
        unsafe {
            let out = output.as_mut_ptr().add(written);
            _mm512_storeu_si512(out.cast(), _mm512_maskz_compress_epi8(!leads, bytes));
        }
        written += leads.count_zeros() as usize;
        read += WIDTH;
        lead = leads >> (WIDTH - 1);
        lead_c3 = c3 >> (WIDTH - 1);
    }
    (read - lead as usize, written)
}

/// Returns the UTF-8 of 32 characters below U+0800, one in each lane, and a mask of the bytes that are used.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
#[inline]
pub(super) fn below_800(units: __m512i) -> (__m512i, u64) {
    let not_ascii = _mm512_cmpge_epu16_mask(units, _mm512_set1_epi16(0x80));
    let moved = _mm512_slli_epi16::<8>(units);
    let sequences = _mm512_or_si512(
        _mm512_or_si512(_mm512_srli_epi16::<6>(units), _mm512_set1_epi16(0x80C0_u16 as i16)),
        _mm512_and_si512(moved, _mm512_set1_epi16(0x3F00)),
    );
    let bytes = _mm512_mask_blend_epi16(not_ascii, moved, sequences);
    // The second byte of each lane is used, and the first byte if it is a lead byte.
    let all = _mm512_set1_epi16(0x8000_u16 as i16);
    let kept = _mm512_mask_blend_epi16(not_ascii, all, _mm512_set1_epi16(0x8080_u16 as i16));
    (bytes, _mm512_movepi8_mask(kept))
}

/// Returns the UTF-8 of 16 bytes of windows-1252, one in each lane, and a mask of the bytes that are used.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn of_windows_1252(bytes: __m512i) -> (__m512i, u64) {
    // SAFETY: the table has two vectors.
    let table = unsafe {
        let table = WINDOWS_1252_C1.as_ptr();
        [_mm512_loadu_si512(table.cast()), _mm512_loadu_si512(table.add(16).cast())]
    };
    let two = _mm512_or_si512(
        _mm512_or_si512(_mm512_srli_epi32::<6>(bytes), all(0x80C0)),
        _mm512_and_si512(_mm512_slli_epi32::<8>(bytes), all(0x3F00)),
    );
    let sequences = _mm512_mask_mov_epi32(bytes, _mm512_cmpge_epu32_mask(bytes, all(0xA0)), two);
    let is_c1 = _mm512_cmpge_epu32_mask(bytes, all(0x80)) & _mm512_cmplt_epu32_mask(bytes, all(0xA0));
    let c1 = _mm512_permutex2var_epi32(table[0], bytes, table[1]);
    let sequences = _mm512_mask_mov_epi32(sequences, is_c1, c1);
    // The first byte is used even if it is 0.
    (sequences, _mm512_test_epi8_mask(sequences, sequences) | 0x1111_1111_1111_1111)
}

#[target_feature(enable = "avx512f,avx512bw")]
#[inline]
fn all_bytes(byte: u8) -> __m512i {
    _mm512_set1_epi8(byte.cast_signed())
}

#[target_feature(enable = "avx512f")]
#[inline]
pub(super) fn all(value: i32) -> __m512i {
    _mm512_set1_epi32(value)
}
