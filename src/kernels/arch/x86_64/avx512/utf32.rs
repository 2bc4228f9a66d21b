//! UTF-32 from UTF-8 and UTF-16, with AVX-512 VBMI2, which compresses a vector to the lanes selected by a mask.

use core::arch::x86_64::*;

use super::utf16::one_unit_back;

/// The number of bytes in a vector.
const WIDTH: usize = 64;

/// Converts UTF-32 code units to or from the byte order of the CPU.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn order_32<const BIG_ENDIAN: bool>(units: __m512i) -> __m512i {
    if BIG_ENDIAN {
        let reversed = _mm512_set4_epi32(0x0C0D_0E0F, 0x0809_0A0B, 0x0405_0607, 0x0001_0203);
        _mm512_shuffle_epi8(units, reversed)
    } else {
        units
    }
}

/// Converts UTF-16 code units to or from the byte order of the CPU.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn order_16<const BIG_ENDIAN: bool>(units: __m512i) -> __m512i {
    if BIG_ENDIAN {
        _mm512_or_si512(_mm512_slli_epi16::<8>(units), _mm512_srli_epi16::<8>(units))
    } else {
        units
    }
}

/// [`Encode`](crate::kernels::functions::Encode): text to UTF-32, up to a character near its end.
///
/// # Safety
///
/// The output has 4 bytes for each byte of the text.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(in crate::kernels) unsafe fn encode<const BIG_ENDIAN: bool>(
    text: &str,
    output: &mut [u8],
) -> (usize, usize) {
    debug_assert!(output.len() / 4 >= text.len());
    let (start, len) = (text.as_ptr(), text.len());
    let mut out = output.as_mut_ptr();
    let mut at = 0;
    // One byte after each vector is read too.
    while len - at > WIDTH {
        // SAFETY: a vector can be read.
        let x = unsafe { _mm512_loadu_si512(start.add(at).cast()) };
        let not_ascii = _mm512_movepi8_mask(x);
        let put = |quarter: usize, units: __m512i| {
            // SAFETY: the output has 4 bytes for each byte before `at`, and each unit written is for a different byte.
            // At most four vectors are written for the 64 bytes of this one, and the output has space for them.
            unsafe { _mm512_storeu_si512(out.add(quarter * WIDTH).cast(), order_32::<BIG_ENDIAN>(units)) }
        };
        if not_ascii == 0 {
            put(0, _mm512_cvtepu8_epi32(_mm512_castsi512_si128(x)));
            put(1, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<1>(x)));
            put(2, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<2>(x)));
            put(3, _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<3>(x)));
            out = out.wrapping_add(4 * WIDTH);
            at += WIDTH;
            continue;
        }
        let begin = start.wrapping_add(at);
        let [has_1, has_2, has_3] = if at == 0 { [!1, !3, !7] } else { [!0; 3] };
        // SAFETY: the masks exclude the bytes before the text; a byte follows the vector.
        let [p1, p2, p3, next] = unsafe {
            [
                _mm512_maskz_loadu_epi8(has_1, begin.wrapping_sub(1).cast()),
                _mm512_maskz_loadu_epi8(has_2, begin.wrapping_sub(2).cast()),
                _mm512_maskz_loadu_epi8(has_3, begin.wrapping_sub(3).cast()),
                _mm512_loadu_si512(begin.add(1).cast()),
            ]
        };
        // A unit is written for the last byte of each sequence.
        let units = !_mm512_cmplt_epi8_mask(next, _mm512_set1_epi8(-0x40));
        let all = |byte: i8| _mm512_set1_epi8(byte);
        let tail = all(0x3F);
        let bits_0 = _mm512_mask_mov_epi8(x, not_ascii, _mm512_and_si512(x, tail));
        let bits_1 = _mm512_maskz_mov_epi8(not_ascii, _mm512_and_si512(p1, tail));
        let bits_0 = _mm512_maskz_compress_epi8(units, bits_0);
        let bits_1 = _mm512_maskz_compress_epi8(units, bits_1);
        let halves = |it: __m512i| {
            [
                _mm512_cvtepu8_epi16(_mm512_castsi512_si256(it)),
                _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(it)),
            ]
        };
        let ([low_0, high_0], [low_1, high_1]) = (halves(bits_0), halves(bits_1));
        let mut low = _mm512_or_si512(low_0, _mm512_slli_epi16::<6>(low_1));
        let mut high = _mm512_or_si512(high_0, _mm512_slli_epi16::<6>(high_1));
        let third_of_3 = _mm512_cmpge_epu8_mask(p2, all(0xE0_u8 as i8));
        let fourth = _mm512_cmpge_epu8_mask(p3, all(0xF0_u8 as i8));
        if third_of_3 | fourth != 0 {
            let bits_2 = _mm512_maskz_mov_epi8(third_of_3 | fourth, _mm512_and_si512(p2, tail));
            // The shift by 12 keeps 4 bits. A lead byte has no more. The other 2 bits of a second byte of a 4-byte
            // sequence are added below.
            let [low_2, high_2] = halves(_mm512_maskz_compress_epi8(units, bits_2));
            low = _mm512_or_si512(low, _mm512_slli_epi16::<12>(low_2));
            high = _mm512_or_si512(high, _mm512_slli_epi16::<12>(high_2));
        }
        let mut quarters = [
            _mm512_cvtepu16_epi32(_mm512_castsi512_si256(low)),
            _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(low)),
            _mm512_cvtepu16_epi32(_mm512_castsi512_si256(high)),
            _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(high)),
        ];
        if fourth != 0 {
            // Bits 16 to 20: two bits of the byte 2 bytes before, and those of the lead byte. A shift of 16-bit lanes
            // moves in bits of neighbors, which are masked.
            let of_p2 = _mm512_and_si512(_mm512_srli_epi16::<4>(p2), all(0x03));
            let of_p3 = _mm512_slli_epi16::<2>(_mm512_and_si512(p3, all(0x07)));
            let top = _mm512_maskz_mov_epi8(fourth, _mm512_or_si512(of_p2, of_p3));
            let top = _mm512_maskz_compress_epi8(units, top);
            let tops = [
                _mm512_cvtepu8_epi32(_mm512_castsi512_si128(top)),
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<1>(top)),
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<2>(top)),
                _mm512_cvtepu8_epi32(_mm512_extracti32x4_epi32::<3>(top)),
            ];
            for (quarter, top) in quarters.iter_mut().zip(tops) {
                *quarter = _mm512_or_si512(*quarter, _mm512_slli_epi32::<16>(top));
            }
        }
        let count = units.count_ones() as usize;
        put(0, quarters[0]);
        if count > 16 {
            put(1, quarters[1]);
        }
        if count > 32 {
            put(2, quarters[2]);
        }
        if count > 48 {
            put(3, quarters[3]);
        }
        out = out.wrapping_add(4 * count);
        at += WIDTH;
    }
    // A sequence that continues after the last vector was not written.
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    (at, out as usize - output.as_ptr() as usize)
}

/// Whether any lane is a surrogate.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn has_surrogate(units: __m512i) -> bool {
    let class = _mm512_and_si512(units, _mm512_set1_epi16(0xF800_u16 as i16));
    _mm512_cmpeq_epi16_mask(class, _mm512_set1_epi16(0xD800_u16 as i16)) != 0
}

/// [`Convert`](crate::kernels::functions::Convert): UTF-16 to UTF-32, up to a vector with an unpaired surrogate.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(in crate::kernels) fn from_utf16<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    while input.len() - read >= WIDTH && output.len() - written >= 2 * WIDTH {
        // SAFETY: a vector can be read, and there is room for two.
        let (from, out) = unsafe { (input.as_ptr().add(read), output.as_mut_ptr().add(written)) };
        // SAFETY: a vector can be read.
        let units = order_16::<FROM_BIG_ENDIAN>(unsafe { _mm512_loadu_si512(from.cast()) });
        let halves = |units: __m512i| {
            [
                _mm512_cvtepu16_epi32(_mm512_castsi512_si256(units)),
                _mm512_cvtepu16_epi32(_mm512_extracti64x4_epi64::<1>(units)),
            ]
        };
        if !has_surrogate(units) {
            let [low, high] = halves(units);
            // SAFETY: there is room for two vectors.
            unsafe {
                _mm512_storeu_si512(out.cast(), order_32::<BIG_ENDIAN>(low));
                _mm512_storeu_si512(out.add(WIDTH).cast(), order_32::<BIG_ENDIAN>(high));
            }
            read += WIDTH;
            written += 2 * WIDTH;
            continue;
        }
        let class = _mm512_and_si512(units, _mm512_set1_epi16(0xFC00_u16 as i16));
        let first = _mm512_cmpeq_epi16_mask(class, _mm512_set1_epi16(0xD800_u16 as i16));
        let second = _mm512_cmpeq_epi16_mask(class, _mm512_set1_epi16(0xDC00_u16 as i16));
        if first << 1 != second {
            break;
        }
        // SAFETY: the mask excludes the bytes after the vector.
        let next = unsafe { _mm512_maskz_loadu_epi16(!0 >> 1, from.add(2).cast()) };
        let next = order_16::<FROM_BIG_ENDIAN>(next);
        // A pair that continues after the vector is read with the next one.
        let taken = !(first & 1 << 31);
        let kept = taken & !second;
        let mut len = 0;
        for (i, (units, next)) in halves(units).into_iter().zip(halves(next)).enumerate() {
            let (first, kept) = ((first >> (16 * i)) as u16, (kept >> (16 * i)) as u16);
            // (first - 0xD800) * 0x400 + second - 0xDC00 + 0x10000
            let pair = _mm512_add_epi32(_mm512_slli_epi32::<10>(units), next);
            let pair = _mm512_sub_epi32(pair, _mm512_set1_epi32(0x35F_DC00));
            let values = _mm512_mask_mov_epi32(units, first, pair);
            let values = _mm512_maskz_compress_epi32(kept, order_32::<BIG_ENDIAN>(values));
            // SAFETY: there is room for two vectors.
            unsafe { _mm512_storeu_si512(out.add(len).cast(), values) };
            len += 4 * kept.count_ones() as usize;
        }
        read += WIDTH;
        if first >> 31 != 0 {
            read = one_unit_back(read);
        }
        written += len;
    }
    (read, written)
}
