//! UTF-16 conversions with AVX-512 VBMI2, which can compress a vector to the bytes that a mask selects.

use core::arch::x86_64::{
    __m256i, __m512i, _mm256_loadu_si256, _mm256_storeu_si256, _mm512_add_epi16, _mm512_and_si512,
    _mm512_castsi512_si256, _mm512_cmpeq_epi16_mask, _mm512_cmpge_epu8_mask, _mm512_cmpge_epu16_mask,
    _mm512_cmplt_epi8_mask, _mm512_cmplt_epu32_mask, _mm512_cvtepi16_epi8, _mm512_cvtepu8_epi16,
    _mm512_cvtepu16_epi32, _mm512_extracti64x4_epi64, _mm512_loadu_si512, _mm512_mask_blend_epi16,
    _mm512_mask_blend_epi32, _mm512_mask_mov_epi8, _mm512_mask_storeu_epi16, _mm512_maskz_compress_epi8,
    _mm512_maskz_loadu_epi8, _mm512_maskz_loadu_epi16, _mm512_maskz_mov_epi8, _mm512_maskz_mov_epi32,
    _mm512_movepi8_mask, _mm512_or_si512, _mm512_set1_epi8, _mm512_set1_epi16, _mm512_setzero_si512,
    _mm512_slli_epi16, _mm512_slli_epi32, _mm512_srli_epi16, _mm512_srli_epi32, _mm512_storeu_si512,
    _pext_u64,
};

use super::latin::{all, below_800};

/// The number of bytes in a vector.
const WIDTH: usize = 64;

/// [`Encode`](crate::functions::Encode) of the whole text.
///
/// # Safety
///
/// The output has 2 bytes for each byte of the text.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) unsafe fn encode<const BIG_ENDIAN: bool>(text: &str, output: &mut [u8]) -> (usize, usize) {
    debug_assert!(output.len() / 2 >= text.len());
    let start = text.as_ptr();
    let len = text.len();
    let mut out = output.as_mut_ptr();
    // Whether the last byte of the previous vector is the third byte of a 4-byte sequence.
    let mut third_before = 0;
    let mut at = 0;
    while at < len {
        let rest = len - at;
        let live = u64::MAX >> WIDTH.saturating_sub(rest);
        // SAFETY: `live` excludes the bytes after the text.
        let x = unsafe { _mm512_maskz_loadu_epi8(live, start.add(at).cast()) };
        let not_ascii = _mm512_movepi8_mask(x);
        if not_ascii == 0 && rest >= WIDTH {
            // SAFETY: each unit is for a different byte, and the output has 2 bytes for each byte.
            unsafe {
                store::<BIG_ENDIAN>(out, _mm512_cvtepu8_epi16(_mm512_castsi512_si256(x)));
                store::<BIG_ENDIAN>(out.add(WIDTH), _mm512_cvtepu8_epi16(_mm512_extracti64x4_epi64::<1>(x)));
                out = out.add(2 * WIDTH);
            }
            at += WIDTH;
            continue;
        }
        // The bytes 1 and 2 before each byte, and the byte after it.
        let (has_1, has_2) = if at == 0 { (live & !1, live & !3) } else { (live, live) };
        let has_next = (live >> 1) | if rest > WIDTH { 1 << 63 } else { 0 };
        // SAFETY: the masks exclude the bytes before and after the text.
        let (p1, p2, next) = unsafe {
            (
                _mm512_maskz_loadu_epi8(has_1, start.wrapping_add(at).wrapping_sub(1).cast()),
                _mm512_maskz_loadu_epi8(has_2, start.wrapping_add(at).wrapping_sub(2).cast()),
                _mm512_maskz_loadu_epi8(has_next, start.wrapping_add(at).wrapping_add(1).cast()),
            )
        };
        // A unit is written for the last byte of each sequence, and for the third byte of a 4-byte sequence.
        let last = live & !_mm512_cmplt_epi8_mask(next, _mm512_set1_epi8(-0x40));
        let third = live & _mm512_cmpge_epu8_mask(p2, _mm512_set1_epi8(0xF0_u8 as i8));
        let fourth = third << 1 | third_before;
        third_before = third >> 63;
        let units = last | third;
        // The value bits of the byte, of the byte before it, and of a lead byte 2 bytes before it.
        let tail = _mm512_set1_epi8(0x3F);
        let bits_0 = _mm512_mask_mov_epi8(x, not_ascii, _mm512_and_si512(x, tail));
        let bits_1 = _mm512_maskz_mov_epi8(not_ascii, _mm512_and_si512(p1, tail));
        let is_lead = _mm512_cmpge_epu8_mask(p2, _mm512_set1_epi8(0xE0_u8 as i8));
        let bits_2 = if is_lead == 0 {
            _mm512_setzero_si512()
        } else {
            let bits = _mm512_and_si512(p2, _mm512_set1_epi8(0x0F));
            _mm512_maskz_compress_epi8(units, _mm512_maskz_mov_epi8(is_lead, bits))
        };
        let bits =
            [_mm512_maskz_compress_epi8(units, bits_0), _mm512_maskz_compress_epi8(units, bits_1), bits_2];
        let mut low = combine(bits.map(|it| _mm512_castsi512_si256(it)));
        let mut high = combine(bits.map(|it| _mm512_extracti64x4_epi64::<1>(it)));
        if third | fourth != 0 {
            let third = _pext_u64(third, units);
            let fourth = _pext_u64(fourth, units);
            low = surrogates(low, bits.map(|it| _mm512_castsi512_si256(it)), third as u32, fourth as u32);
            high = surrogates(
                high,
                bits.map(|it| _mm512_extracti64x4_epi64::<1>(it)),
                (third >> 32) as u32,
                (fourth >> 32) as u32,
            );
        }
        let count = units.count_ones() as usize;
        // SAFETY: each unit is for a different byte, so the units written before need at most 2 bytes for each byte
        // before `at`. If a whole vector of text is left, there is room for two more vectors. If not, the masks limit
        // the units to the number of bytes left.
        unsafe {
            if rest >= WIDTH {
                store::<BIG_ENDIAN>(out, low);
                store::<BIG_ENDIAN>(out.add(WIDTH), high);
            } else {
                let kept = (1_u64 << count) - 1;
                let low = order::<BIG_ENDIAN>(low);
                let high = order::<BIG_ENDIAN>(high);
                _mm512_mask_storeu_epi16(out.cast(), kept as u32, low);
                _mm512_mask_storeu_epi16(out.wrapping_add(WIDTH).cast(), (kept >> 32) as u32, high);
            }
            out = out.add(2 * count);
        }
        at += WIDTH;
    }
    (len, out as usize - output.as_ptr() as usize)
}

/// Converts vectors of ASCII, up to a character that is not ASCII or to the last whole vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) fn encode_ascii<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let end = input.len().min(output.len() / 2);
    let from = input.as_ptr();
    let out = output.as_mut_ptr();
    // Converts the vector at an index. Returns a mask of the bytes that are not ASCII.
    //
    // SAFETY: every `at` below is the start of a vector in the first `end` bytes, and the output has 2 bytes for each.
    let convert = |at: usize| unsafe {
        let x = _mm512_loadu_si512(from.add(at).cast());
        for half in 0..2 {
            let bytes = _mm256_loadu_si256(from.add(at + half * WIDTH / 2).cast());
            store::<BIG_ENDIAN>(out.add(2 * at + half * WIDTH), _mm512_cvtepu8_epi16(bytes));
        }
        _mm512_movepi8_mask(x)
    };
    if end < WIDTH {
        return (0, 0);
    }
    let mut others = convert(0);
    let mut at = 0;
    if others == 0 {
        // The next vector starts earlier, so that the address of its output is aligned if possible.
        at = WIDTH - out.addr() % WIDTH / 2;
        while end - at >= WIDTH {
            others = convert(at);
            if others != 0 {
                break;
            }
            at += WIDTH;
        }
    }
    if others != 0 {
        at += others.trailing_zeros() as usize;
    }
    (at, 2 * at)
}

/// Returns the units of sequences of 1 to 3 bytes.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn combine([bits_0, bits_1, bits_2]: [__m256i; 3]) -> __m512i {
    let bits_0 = _mm512_cvtepu8_epi16(bits_0);
    let bits_1 = _mm512_cvtepu8_epi16(bits_1);
    let bits_2 = _mm512_cvtepu8_epi16(bits_2);
    _mm512_or_si512(bits_0, _mm512_or_si512(_mm512_slli_epi16::<6>(bits_1), _mm512_slli_epi16::<12>(bits_2)))
}

/// Replaces the units of 4-byte sequences by surrogates: the first half where `third` is set, the second half where
/// `fourth` is set.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn surrogates(units: __m512i, [bits_0, bits_1, bits_2]: [__m256i; 3], third: u32, fourth: u32) -> __m512i {
    let bits_0 = _mm512_cvtepu8_epi16(bits_0);
    let bits_1 = _mm512_cvtepu8_epi16(bits_1);
    let bits_2 = _mm512_cvtepu8_epi16(bits_2);
    let bits = _mm512_or_si512(
        _mm512_or_si512(_mm512_slli_epi16::<8>(bits_2), _mm512_slli_epi16::<2>(bits_1)),
        _mm512_srli_epi16::<4>(bits_0),
    );
    // 0xD800 + (code point - 0x10000) / 0x400
    let first = _mm512_add_epi16(bits, _mm512_set1_epi16(0xD7C0_u16 as i16));
    let second = _mm512_or_si512(
        _mm512_and_si512(units, _mm512_set1_epi16(0x3FF)),
        _mm512_set1_epi16(0xDC00_u16 as i16),
    );
    _mm512_mask_blend_epi16(fourth, _mm512_mask_blend_epi16(third, units, first), second)
}

#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(super) fn order<const BIG_ENDIAN: bool>(units: __m512i) -> __m512i {
    if BIG_ENDIAN {
        _mm512_or_si512(_mm512_slli_epi16::<8>(units), _mm512_srli_epi16::<8>(units))
    } else {
        units
    }
}

/// # Safety
///
/// There is room for a vector.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
unsafe fn store<const BIG_ENDIAN: bool>(out: *mut u8, units: __m512i) {
    // SAFETY: the caller guarantees the space.
    unsafe { _mm512_storeu_si512(out.cast(), order::<BIG_ENDIAN>(units)) }
}

/// The number of code units of a vector.
const UNITS: usize = WIDTH / 2;

/// [`Convert`](crate::functions::Convert) of whole vectors while there is room for two, up to a vector with an
/// unpaired surrogate.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(crate) fn decode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let mut read = 0;
    let mut written = 0;
    while input.len() - read >= WIDTH && output.len() - written >= 2 * WIDTH {
        // SAFETY: a vector can be read, and there is room for two.
        let (from, out) = unsafe { (input.as_ptr().add(read), output.as_mut_ptr().add(written)) };
        // SAFETY: a vector can be read.
        let units = order::<BIG_ENDIAN>(unsafe { _mm512_loadu_si512(from.cast()) });
        if _mm512_cmpge_epu16_mask(units, _mm512_set1_epi16(0x80)) == 0 {
            // SAFETY: there is room for two vectors.
            unsafe { _mm256_storeu_si256(out.cast(), _mm512_cvtepi16_epi8(units)) };
            read += WIDTH;
            written += UNITS;
            continue;
        }
        if _mm512_cmpge_epu16_mask(units, _mm512_set1_epi16(0x800)) == 0 {
            let (bytes, kept) = below_800(units);
            // SAFETY: there is room for two vectors.
            unsafe { _mm512_storeu_si512(out.cast(), _mm512_maskz_compress_epi8(kept, bytes)) };
            read += WIDTH;
            written += kept.count_ones() as usize;
            continue;
        }
        let class = _mm512_and_si512(units, _mm512_set1_epi16(0xFC00_u16 as i16));
        let first = _mm512_cmpeq_epi16_mask(class, _mm512_set1_epi16(0xD800_u16 as i16));
        let second = _mm512_cmpeq_epi16_mask(class, _mm512_set1_epi16(0xDC00_u16 as i16));
        if first << 1 != second {
            break;
        }
        // The bytes of a low surrogate depend on the high surrogate before it. The first unit is not a low surrogate.
        // SAFETY: the mask excludes the bytes before the vector.
        let before = unsafe { _mm512_maskz_loadu_epi16(!1, from.wrapping_sub(2).cast()) };
        let before = order::<BIG_ENDIAN>(before);
        // A pair that continues after the vector is read with the next one.
        let taken = !(first & 1 << 31);
        let halves = [
            (_mm512_castsi512_si256(units), _mm512_castsi512_si256(before), 0),
            (_mm512_extracti64x4_epi64::<1>(units), _mm512_extracti64x4_epi64::<1>(before), 16),
        ];
        let mut len = 0;
        for (units, before, shift) in halves {
            let [first, second, taken] = [first, second, taken].map(|mask| (mask >> shift) as u16);
            let (bytes, kept) = sequences(units, before, first, second);
            let kept = _mm512_movepi8_mask(_mm512_maskz_mov_epi32(taken, kept));
            // SAFETY: there is room for two vectors. The first half needs at most 48 bytes, and the second half is
            // stored after it.
            unsafe { _mm512_storeu_si512(out.add(len).cast(), _mm512_maskz_compress_epi8(kept, bytes)) };
            len += kept.count_ones() as usize;
        }
        read += WIDTH;
        if first >> 31 != 0 {
            read = one_unit_back(read);
        }
        written += len;
    }
    (read, written)
}

/// Returns the bytes of 16 units, up to 3 in each lane, and a vector with bit 7 set for each byte that is used. The
/// last byte of a unit is the third byte of its lane.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn sequences(units: __m256i, before: __m256i, first: u16, second: u16) -> (__m512i, __m512i) {
    let units = _mm512_cvtepu16_epi32(units);
    let bits = _mm512_or_si512(
        _mm512_srli_epi32::<12>(units),
        _mm512_or_si512(
            _mm512_and_si512(_mm512_slli_epi32::<2>(units), all(0x3F00)),
            _mm512_and_si512(_mm512_slli_epi32::<16>(units), all(0x3F_0000)),
        ),
    );
    let two = _mm512_cmplt_epu32_mask(units, all(0x800));
    let one = _mm512_cmplt_epu32_mask(units, all(0x80));
    let marks = _mm512_mask_blend_epi32(two, all(0x80_80E0), all(0x80_C000));
    let mut bytes = _mm512_or_si512(bits, marks);
    let mut kept = _mm512_mask_blend_epi32(two, all(0x80_8080), all(0x80_8000));
    bytes = _mm512_mask_blend_epi32(one, bytes, _mm512_slli_epi32::<16>(units));
    kept = _mm512_mask_blend_epi32(one, kept, all(0x80_0000));
    if first | second != 0 {
        let before = _mm512_cvtepu16_epi32(before);
        // The first surrogate becomes 11110xxx and 10xxxxxx. `value` is the code point divided by 0x400. Its lowest 2
        // bits are in the bytes of the second surrogate.
        let value = _mm512_add_epi16(_mm512_and_si512(units, all(0x3FF)), all(0x40));
        let first_bytes = _mm512_or_si512(
            all(0x80_F000),
            _mm512_or_si512(
                _mm512_and_si512(value, all(0x700)),
                _mm512_and_si512(_mm512_slli_epi32::<14>(value), all(0x3F_0000)),
            ),
        );
        let second_bytes = _mm512_or_si512(
            all(0x80_8000),
            _mm512_or_si512(
                _mm512_and_si512(bits, all(0x3F_0F00)),
                _mm512_slli_epi32::<12>(_mm512_and_si512(before, all(3))),
            ),
        );
        bytes = _mm512_mask_blend_epi32(first, bytes, first_bytes);
        bytes = _mm512_mask_blend_epi32(second, bytes, second_bytes);
        kept = _mm512_mask_blend_epi32(first | second, kept, all(0x80_8000));
    }
    (bytes, kept)
}

/// Returns the index one code unit before `read`. It is not inlined, so that the compiler emits a branch. The branch is
/// predicted, so the address of the next load does not depend on the data.
#[cold]
#[inline(never)]
pub(super) fn one_unit_back(read: usize) -> usize {
    read - 2
}
