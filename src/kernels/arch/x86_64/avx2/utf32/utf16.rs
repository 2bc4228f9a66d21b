//! UTF-32 from and to UTF-16, with AVX2.

use core::arch::x86_64::*;

use super::super::utf16::{load, words};
use super::{WIDTH, are_scalars, order_16, order_32, ordered};
use crate::kernels::arch::shuffles::ONE_OR_TWO_UNITS;

/// The indexes of the set bits of each mask.
static SET_BITS: [[u8; 8]; 256] = {
    let mut indexes = [[0; 8]; 256];
    let mut mask = 0;
    while mask < 256 {
        let (mut at, mut bit) = (0, 0);
        while bit < 8 {
            if mask >> bit & 1 == 1 {
                indexes[mask][at] = bit as u8;
                at += 1;
            }
            bit += 1;
        }
        mask += 1;
    }
    indexes
};

/// [`Convert`](crate::kernels::functions::Convert): UTF-16 to UTF-32, up to a vector with an unpaired surrogate.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn from_utf16<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    // The last vector with surrogates, and whether its last unit is the first half of a pair. The pair is written with
    // the next vector.
    let (mut before, mut is_open) = (_mm256_setzero_si256(), 0);
    while input.len() - read >= WIDTH && output.len() - written >= 2 * WIDTH {
        if is_open == 0 {
            let len = widen_units::<FROM_BIG_ENDIAN, BIG_ENDIAN>(&input[read..], &mut output[written..]);
            read += len;
            written += 2 * len;
            if input.len() - read < WIDTH || output.len() - written < 2 * WIDTH {
                break;
            }
        }
        // SAFETY: a vector can be read.
        let units = order_16::<FROM_BIG_ENDIAN>(unsafe { load(input.as_ptr().add(read)) });
        let class = _mm256_and_si256(units, words(0xFC00));
        let (first, second) =
            (_mm256_cmpeq_epi16(class, words(0xD800)), _mm256_cmpeq_epi16(class, words(0xDC00)));
        // Two bits for each unit.
        let [firsts, seconds] = [first, second].map(|it| _mm256_movemask_epi8(it).cast_unsigned());
        if firsts << 2 | is_open != seconds {
            break;
        }
        is_open = firsts >> 30;
        // The units before those of this vector.
        let earlier = _mm256_permute2x128_si256::<0x21>(before, units);
        let earlier = _mm256_alignr_epi8::<14>(units, earlier);
        before = units;
        let masks = (!_mm256_movemask_epi8(_mm256_packs_epi16(first, first))).to_le_bytes();
        let halves = |it: __m256i| [_mm256_castsi256_si128(it), _mm256_extracti128_si256::<1>(it)];
        let parts = halves(units).into_iter().zip(halves(earlier)).zip(halves(second));
        for (((units, earlier), second), mask) in parts.zip([masks[0], masks[2]]) {
            let (units, earlier) = (_mm256_cvtepu16_epi32(units), _mm256_cvtepu16_epi32(earlier));
            // (first - 0xD800) * 0x400 + second - 0xDC00 + 0x10000
            let pair = _mm256_add_epi32(_mm256_slli_epi32::<10>(earlier), units);
            let pair = _mm256_sub_epi32(pair, _mm256_set1_epi32(0x35F_DC00));
            let values = _mm256_blendv_epi8(units, pair, _mm256_cvtepi16_epi32(second));
            let indexes = SET_BITS[usize::from(mask)].as_ptr();
            // SAFETY: there are 8 indexes. There is room for two vectors.
            unsafe {
                let indexes = _mm256_cvtepu8_epi32(_mm_loadl_epi64(indexes.cast()));
                let values = order_32::<BIG_ENDIAN>(_mm256_permutevar8x32_epi32(values, indexes));
                _mm256_storeu_si256(output.as_mut_ptr().add(written).cast(), values);
            }
            written += 4 * mask.count_ones() as usize;
        }
        read += WIDTH;
    }
    (read - if is_open != 0 { 2 } else { 0 }, written)
}

/// Writes pairs of vectors of UTF-16 as UTF-32, up to a pair with a surrogate. Returns the number of bytes read.
#[target_feature(enable = "avx2,bmi1,popcnt")]
fn widen_units<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> usize {
    let [mask, class] =
        [0xF800, 0xD800_u16].map(|it| if FROM_BIG_ENDIAN { it.swap_bytes() } else { it }).map(|it| words(it));
    let len = input.len().min(output.len() / 2);
    let mut read = 0;
    // The first vectors are read in part, so that all others are written to aligned addresses.
    let mut step = 2 * WIDTH - output.as_ptr() as usize % WIDTH / 4 * 2;
    while len - read >= 2 * WIDTH {
        // SAFETY: two vectors can be read, and there is room for twice as many bytes.
        let (from, mut out) = unsafe { (input.as_ptr().add(read), output.as_mut_ptr().add(2 * read)) };
        // SAFETY: two vectors can be read.
        let pair = unsafe { [load(from), load(from.add(WIDTH))] };
        let [a, b] = pair.map(|units| _mm256_cmpeq_epi16(_mm256_and_si256(units, mask), class));
        if _mm256_movemask_epi8(_mm256_or_si256(a, b)) != 0 {
            break;
        }
        for units in pair {
            // In the order of the output, so that widening adds zeros after the unit, or before it.
            let units = if FROM_BIG_ENDIAN == BIG_ENDIAN { units } else { order_16::<true>(units) };
            for half in [_mm256_castsi256_si128(units), _mm256_extracti128_si256::<1>(units)] {
                let units = _mm256_cvtepu16_epi32(half);
                let units = if BIG_ENDIAN { _mm256_slli_epi32::<16>(units) } else { units };
                // SAFETY: there is room for four vectors.
                unsafe {
                    _mm256_storeu_si256(out.cast(), units);
                    out = out.add(WIDTH);
                }
            }
        }
        read += step;
        step = 2 * WIDTH;
    }
    read
}

/// [`Convert`](crate::kernels::functions::Convert): UTF-32 to UTF-16, up to two vectors with a value that is not a
/// scalar value.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx2,bmi1,popcnt")]
pub(in crate::kernels) unsafe fn to_utf16<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    while input.len() - read >= 2 * WIDTH && output.len() - written >= 2 * WIDTH {
        // SAFETY: there are two vectors of input and room for two.
        let len =
            unsafe { narrow_units::<BIG_ENDIAN, TO_BIG_ENDIAN>(&input[read..], &mut output[written..]) };
        read += 2 * len;
        written += len;
        if input.len() - read < 2 * WIDTH || output.len() - written < 2 * WIDTH {
            break;
        }
        // SAFETY: two vectors can be read, and there is room for two.
        let (from, out) = unsafe { (input.as_ptr().add(read), output.as_mut_ptr().add(written)) };
        // SAFETY: two vectors can be read.
        let [a, b] = unsafe { [load(from), load(from.add(WIDTH))] }.map(|it| order_32::<BIG_ENDIAN>(it));
        if !are_scalars(a, b) {
            break;
        }
        let mut len = 0;
        for units in [a, b] {
            let first = _mm256_add_epi32(_mm256_srli_epi32::<10>(units), _mm256_set1_epi32(0xD7C0));
            let second = _mm256_and_si256(units, _mm256_set1_epi32(0x3FF));
            let second = _mm256_or_si256(second, _mm256_set1_epi32(0xDC00));
            let pair = _mm256_or_si256(first, _mm256_slli_epi32::<16>(second));
            let supplementary = _mm256_cmpgt_epi32(units, _mm256_set1_epi32(0xFFFF));
            let units = _mm256_blendv_epi8(units, pair, supplementary);
            let mask = _mm256_movemask_ps(_mm256_castsi256_ps(supplementary)) as usize;
            let [low, high] = [mask & 15, mask >> 4];
            let shuffles = &ONE_OR_TWO_UNITS[usize::from(TO_BIG_ENDIAN)];
            // SAFETY: each shuffle has 16 bytes. There is room for two vectors, and 4 characters become at most 16
            // bytes.
            unsafe {
                let [low, high] = [low, high].map(|mask| _mm_loadu_si128(shuffles[mask].as_ptr().cast()));
                let units = _mm256_shuffle_epi8(units, _mm256_set_m128i(high, low));
                _mm_storeu_si128(out.add(len).cast(), _mm256_castsi256_si128(units));
                len += 8 + 2 * (mask & 15).count_ones() as usize;
                _mm_storeu_si128(out.add(len).cast(), _mm256_extracti128_si256::<1>(units));
            }
            len += 8 + 2 * high.count_ones() as usize;
        }
        read += 2 * WIDTH;
        written += len;
    }
    (read, written)
}

/// Writes pairs of vectors of UTF-32 as UTF-16, up to a pair with a surrogate or a value above 0xFFFF. Returns the
/// number of bytes written.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - There are two vectors of input and room for a vector.
#[target_feature(enable = "avx2,bmi1,popcnt")]
unsafe fn narrow_units<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> usize {
    let [mask, class] =
        [0xF800, 0xD800_u16].map(|it| if TO_BIG_ENDIAN { it.swap_bytes() } else { it }).map(|it| words(it));
    let last = ((input.len() - 2 * WIDTH) / 2).min(output.len() - WIDTH);
    let mut written = 0;
    // The first vectors are read in part, so that all others are written to aligned addresses.
    let mut len = WIDTH - output.as_ptr() as usize % WIDTH / 2 * 2;
    while written <= last {
        // SAFETY: there is room for a vector at `last`, and two vectors of input from twice that.
        let (from, out) = unsafe { (input.as_ptr().add(2 * written), output.as_mut_ptr().add(written)) };
        // SAFETY: two vectors can be read.
        let (a, b) = unsafe { (load(from), load(from.add(WIDTH))) };
        let high = _mm256_and_si256(_mm256_or_si256(a, b), ordered::<BIG_ENDIAN>(0xFFFF_0000));
        let units = if BIG_ENDIAN {
            // The last two bytes of each lane, swapped unless the output is big-endian.
            let order = if TO_BIG_ENDIAN { 0x0F0E_0B0A_0706_0302 } else { 0x0E0F_0A0B_0607_0203 };
            let order = _mm256_set1_epi64x(order);
            _mm256_unpacklo_epi64(_mm256_shuffle_epi8(a, order), _mm256_shuffle_epi8(b, order))
        } else {
            order_16::<TO_BIG_ENDIAN>(_mm256_packus_epi32(a, b))
        };
        let surrogates = _mm256_cmpeq_epi16(_mm256_and_si256(units, mask), class);
        let other = _mm256_or_si256(high, surrogates);
        if _mm256_testz_si256(other, other) == 0 {
            break;
        }
        let units = _mm256_permute4x64_epi64::<0b11_01_10_00>(units);
        // SAFETY: there is room for a vector.
        unsafe { _mm256_storeu_si256(out.cast(), units) };
        written += len;
        len = WIDTH;
    }
    written
}
