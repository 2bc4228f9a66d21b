//! Surrogate pairs of 6 bytes with AVX-512 VBMI2, which can spread the bytes of a vector, or compress them, by a mask.
//!
//! `split` converts text with sequences of 4 bytes, `a b c d`, in windows of 32 bytes. The bytes are spread so that two
//! bytes are free before each `d`. All other bytes of the pair are computed from their neighbors:
//!
//! | byte | value |
//! |---|---|
//! | 0, in the place of `a` | `ED` |
//! | 1, in the place of `b` | `A0` plus the 5 highest bits of the character, which are in `a` and `b`, minus 1 |
//! | 2, in the place of `c` | `80` plus 4 bits of `b` and 2 bits of `c` |
//! | 3 and 4, free | `ED`, `B0` plus 4 bits of `c` |
//! | 5 | `d` |
//!
//! `join` does the reverse: it computes the first three bytes of a sequence in the places of the first three bytes of
//! the pair, and removes the next two.

use core::arch::x86_64::{
    __m512i, _mm512_add_epi8, _mm512_and_si512, _mm512_cmpeq_epi8_mask, _mm512_cmpge_epu8_mask,
    _mm512_cmplt_epi8_mask, _mm512_loadu_si512, _mm512_mask_add_epi8, _mm512_mask_cmpeq_epi8_mask,
    _mm512_mask_mov_epi8, _mm512_mask_storeu_epi8, _mm512_maskz_compress_epi8, _mm512_maskz_expand_epi8,
    _mm512_maskz_loadu_epi8, _mm512_max_epu8, _mm512_min_epu8, _mm512_permutexvar_epi8, _mm512_set1_epi8,
    _mm512_setzero_si512, _mm512_slli_epi16, _mm512_srli_epi16, _mm512_storeu_si512, _mm512_sub_epi8,
    _mm512_ternarylogic_epi32, _pdep_u64, _pext_u64,
};

use super::classes::NUMBERS;

/// The number of bytes in a vector.
const WIDTH: usize = 64;
/// The number of bytes that are tested together. Most groups have no character that changes.
const GROUP: usize = 4 * WIDTH;
/// The number of bytes that [`split`] converts together. Their output fits in a vector.
const WINDOW: usize = 32;

/// [`Encode`](crate::kernels::functions::Encode) of the whole text as CESU-8, or as Modified UTF-8 if `MODIFIED`.
///
/// # Safety
///
/// - The CPU has the features of the `target_feature` attribute.
/// - The output has 2 bytes for each byte of the text.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(in crate::kernels) unsafe fn split<const MODIFIED: bool>(
    text: &str,
    output: &mut [u8],
) -> (usize, usize) {
    debug_assert!(output.len() / 2 >= text.len());
    let (start, len, out) = (text.as_ptr(), text.len(), output.as_mut_ptr());
    // No byte of input becomes more than 2 bytes of output, so `written <= 2 * read`.
    let (mut read, mut written) = (0, 0);
    while read < len {
        if len - read >= GROUP {
            // SAFETY: a group follows in the text, and the output has twice as much room.
            let group = unsafe { load_group(start.add(read)) };
            let changes = _mm512_cmpge_epu8_mask(highest(group), _mm512_set1_epi8(-0x10))
                | if MODIFIED { _mm512_cmpeq_epi8_mask(lowest(group), _mm512_setzero_si512()) } else { 0 };
            if changes == 0 {
                // SAFETY: the output has room for the group.
                unsafe { store_group(out.add(written), group) };
                read += GROUP;
                written += GROUP;
                continue;
            }
        }
        let group_end = len.min(read + GROUP);
        while read < group_end {
            let rest = len - read;
            let live = first(rest.min(WIDTH));
            // SAFETY: `live` excludes the bytes after the text.
            let x = unsafe { _mm512_maskz_loadu_epi8(live, start.add(read).cast()) };
            let fours = _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8(-0x10));
            let nuls = if MODIFIED { _mm512_cmpeq_epi8_mask(x, _mm512_setzero_si512()) & live } else { 0 };
            if fours | nuls == 0 {
                // SAFETY: the output has 2 bytes for each byte that is left.
                unsafe { _mm512_mask_storeu_epi8(out.add(written).cast(), live, x) };
                read += rest.min(WIDTH);
                written += rest.min(WIDTH);
                continue;
            }
            // A sequence of 4 bytes that does not end in the window is left to the next one.
            let cut = fours & (0b111 << (WINDOW - 3));
            let taken = WINDOW.min(rest).min(cut.trailing_zeros() as usize);
            let lasts = fours << 3 & first(taken);
            let nuls = nuls & first(taken);
            let (converted, made) = spread::<MODIFIED>(x, lasts, nuls, taken);
            if rest >= WINDOW {
                // SAFETY: 32 bytes are left, so the output has room for a vector.
                unsafe { _mm512_storeu_si512(out.add(written).cast(), converted) };
            } else {
                // SAFETY: `made` is at most 2 bytes for each byte that is left.
                unsafe { _mm512_mask_storeu_epi8(out.add(written).cast(), first(made), converted) };
            }
            read += taken;
            written += made;
        }
    }
    (read, written)
}

/// Converts the first `taken` bytes of a vector, at most 32. `lasts` are the last bytes of the sequences of 4 bytes,
/// which start in the vector. Returns the output and its length.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn spread<const MODIFIED: bool>(x: __m512i, lasts: u64, nuls: u64, taken: usize) -> (__m512i, usize) {
    // In each octal digit the highest bit stands for a byte of the input, the lower ones for free bytes before it.
    const BYTES: u64 = 0o4444_4444_4444_4444;
    let places = |half: u32| {
        let of_lasts = _pdep_u64(lasts >> (16 * half) & 0xFFFF, BYTES);
        let of_nuls = if MODIFIED { _pdep_u64(nuls >> (16 * half) & 0xFFFF, BYTES) } else { 0 };
        // 1 bit for each byte of the output of these 16 bytes of input, set if the byte is not free.
        (_pext_u64(BYTES, BYTES | of_lasts >> 1 | of_lasts >> 2 | of_nuls >> 1), of_lasts, of_nuls)
    };
    let (low, lasts_of_low, nuls_of_low) = places(0);
    let (high, ..) = places(1);
    let len_of_low = 16 + 2 * lasts_of_low.count_ones() + nuls_of_low.count_ones();
    let places = low | high << len_of_low;

    let x = _mm512_maskz_expand_epi8(places, x);
    // SAFETY: the array has the size of a vector.
    let numbers = unsafe { _mm512_loadu_si512(NUMBERS.as_ptr().cast()) };
    let before = |bytes: i8| _mm512_permutexvar_epi8(_mm512_sub_epi8(numbers, _mm512_set1_epi8(bytes)), x);
    let (p1, p2) = (before(1), before(2));
    let fives = _pdep_u64(lasts, places);
    let (fours, threes, twos, ones, zeros) = (fives >> 1, fives >> 2, fives >> 3, fives >> 4, fives >> 5);

    // Bytes 1 and 2: 4 bits of the byte before and 2 bits of the byte. In byte 1, the fourth bit of `a` is 0.
    let bits = select(0x3C, _mm512_slli_epi16::<2>(p1), _mm512_srli_epi16::<4>(x));
    let bits = _mm512_and_si512(bits, _mm512_set1_epi8(0x3F));
    let base =
        _mm512_mask_mov_epi8(_mm512_set1_epi8(-0x80), ones, _mm512_set1_epi8((0xA0_u8 - 1).cast_signed()));
    let made = _mm512_mask_add_epi8(x, ones | twos, bits, base);
    let made = _mm512_mask_mov_epi8(made, zeros | threes, _mm512_set1_epi8(0xED_u8.cast_signed()));
    // Byte 4: (p2 & 0F) | B0
    let low_surrogate = and_or(p2, 0x0F, 0xB0);
    let mut made = _mm512_mask_mov_epi8(made, fours, low_surrogate);
    if MODIFIED {
        let nuls = _pdep_u64(nuls, places);
        made = _mm512_mask_mov_epi8(made, nuls, _mm512_set1_epi8(-0x80));
        made = _mm512_mask_mov_epi8(made, nuls >> 1, _mm512_set1_epi8(-0x40));
    }
    (made, taken + 2 * lasts.count_ones() as usize + nuls.count_ones() as usize)
}

/// [`Convert`](crate::kernels::functions::Convert) of CESU-8, or of Modified UTF-8 if `MODIFIED`, to UTF-8. Other
/// bytes are copied without validation. Stops at the first byte that is ill-formed and could be well-formed in the
/// output, and at an unfinished pair. A `LENIENT` input may have `00` and sequences of 4 bytes.
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(in crate::kernels) unsafe fn join<const MODIFIED: bool, const LENIENT: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (start, len, out) = (input.as_ptr(), input.len(), output.as_mut_ptr());
    let ed = _mm512_set1_epi8(0xED_u8.cast_signed());
    let c0 = _mm512_set1_epi8(-0x40);
    let (mut read, mut written) = (0, 0);
    while read < len {
        if len - read >= GROUP && output.len() - written >= GROUP {
            // SAFETY: a group follows in the input.
            let group = unsafe { load_group(start.add(read)) };
            if !may_change::<MODIFIED>(group) {
                // SAFETY: the output has room for the group.
                unsafe { store_group(out.add(written), group) };
                read += GROUP;
                written += GROUP;
                continue;
            }
        }
        let group_end = len.min(read + GROUP);
        while read < group_end {
            let (rest, room) = (len - read, output.len() - written);
            let live = first(rest.min(WIDTH));
            // SAFETY: `live` excludes the bytes after the input.
            let x = unsafe { _mm512_maskz_loadu_epi8(live, start.add(read).cast()) };
            let leads = _mm512_cmpeq_epi8_mask(x, ed);
            let zeros = if MODIFIED { _mm512_cmpeq_epi8_mask(x, c0) } else { 0 };
            let mut stops = 0;
            if !LENIENT {
                stops |= _mm512_cmpge_epu8_mask(x, _mm512_set1_epi8(-0x10));
            }
            if MODIFIED && !LENIENT {
                stops |= _mm512_cmpeq_epi8_mask(x, _mm512_setzero_si512()) & live;
            }
            if leads | zeros | stops == 0 {
                if room < rest.min(WIDTH) {
                    return (read, written);
                }
                // SAFETY: the output has room for the live bytes.
                unsafe { _mm512_mask_storeu_epi8(out.add(written).cast(), live, x) };
                read += rest.min(WIDTH);
                written += rest.min(WIDTH);
                continue;
            }
            // The vectors 1 and 2 bytes later, up to the end of the input.
            // SAFETY: the masks exclude the bytes after the input.
            let [x1, x2] = [1, 2].map(|later: usize| unsafe {
                let live = first(rest.saturating_sub(later).min(WIDTH));
                _mm512_maskz_loadu_epi8(live, start.wrapping_add(read + later).cast())
            });
            let high_half = _mm512_and_si512(x1, _mm512_set1_epi8(-0x10));
            let high = _mm512_mask_cmpeq_epi8_mask(leads, high_half, _mm512_set1_epi8(0xA0_u8.cast_signed()));
            let low = _mm512_mask_cmpeq_epi8_mask(leads, high_half, _mm512_set1_epi8(0xB0_u8.cast_signed()));
            let conts = _mm512_cmplt_epi8_mask(x, c0);
            let pairs = high & low >> 3 & conts >> 2 & conts >> 5;
            let has_80 =
                if MODIFIED { _mm512_mask_cmpeq_epi8_mask(zeros, x1, _mm512_set1_epi8(-0x80)) } else { 0 };
            // Pairs and zeros that do not end in the vector are left to the next one.
            let cut = high & (u64::MAX << (WIDTH - 5)) | zeros & (1 << (WIDTH - 1));
            let end = rest.min(WIDTH).min(cut.trailing_zeros() as usize);
            let stops = (stops | high & !pairs | low & !(pairs << 3) | zeros & !has_80) & first(end);
            let taken = end.min(stops.trailing_zeros() as usize);
            let kept = first(taken) & !(pairs << 3 | pairs << 4 | has_80 << 1);
            let made = kept.count_ones() as usize;

            // The bytes 0, 1 and 2 of a sequence. Byte 0 has the 3 highest bits of the plane, byte 1 the 2 lowest ones.
            let one = _mm512_set1_epi8(1);
            let plane = _mm512_add_epi8(_mm512_and_si512(x1, _mm512_set1_epi8(0x0F)), one);
            let byte_0 = and_or(_mm512_srli_epi16::<2>(plane), 0x07, 0xF0);
            let upper = _mm512_mask_add_epi8(x, pairs << 1, x, one);
            let lower = _mm512_mask_mov_epi8(x2, pairs << 1, _mm512_srli_epi16::<2>(x1));
            let bytes_1_2 = and_or(select(0x30, _mm512_slli_epi16::<4>(upper), lower), 0x3F, 0x80);
            let mut converted = _mm512_mask_mov_epi8(x, pairs, byte_0);
            converted = _mm512_mask_mov_epi8(converted, pairs << 1 | pairs << 2, bytes_1_2);
            if MODIFIED {
                converted = _mm512_mask_mov_epi8(converted, has_80, _mm512_setzero_si512());
            }
            let converted = _mm512_maskz_compress_epi8(kept, converted);
            if room >= WIDTH {
                // SAFETY: the output has room for a vector.
                unsafe { _mm512_storeu_si512(out.add(written).cast(), converted) };
            } else if made <= room {
                // SAFETY: the output has room for `made` bytes.
                unsafe { _mm512_mask_storeu_epi8(out.add(written).cast(), first(made), converted) };
            } else {
                return (read, written);
            }
            read += taken;
            written += made;
            if stops != 0 {
                return (read, written);
            }
        }
    }
    (read, written)
}

/// Whether [`join`] may convert a byte of the group or stop at it. Returns `true` also for some other leads.
#[inline]
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
fn may_change<const MODIFIED: bool>(group: [__m512i; 4]) -> bool {
    // From `ED` on: also the leads `EE` and `EF`. Then the next test is made for each vector.
    let mut found = _mm512_cmpge_epu8_mask(highest(group), _mm512_set1_epi8(0xED_u8.cast_signed()));
    if MODIFIED {
        // Each bit of `x ^ 2 * x` is 0 if the bit of `x` equals the one below it. If all except bit 6 are 0, `x` is `00`
        // or `C0`. Both are in the output of this formula for a lenient input too, but `00` is not frequent there.
        let same_bits = group.map(|x| {
            // (x ^ 2 * x) & BF
            _mm512_ternarylogic_epi32::<0x28>(x, _mm512_add_epi8(x, x), _mm512_set1_epi8(-0x41))
        });
        found |= _mm512_cmpeq_epi8_mask(lowest(same_bits), _mm512_setzero_si512());
    }
    found != 0
}

/// Returns a mask of the first `len` bytes, at most 64.
#[inline(always)]
const fn first(len: usize) -> u64 {
    if len == 0 { 0 } else { u64::MAX >> (WIDTH - len) }
}

/// Returns the bits of `yes` that are in the mask, and the bits of `no` that are not.
#[inline]
#[target_feature(enable = "avx512f")]
fn select(mask: u8, yes: __m512i, no: __m512i) -> __m512i {
    _mm512_ternarylogic_epi32::<0xCA>(_mm512_set1_epi8(mask.cast_signed()), yes, no)
}

/// Returns `x & mask | ones`.
#[inline]
#[target_feature(enable = "avx512f")]
fn and_or(x: __m512i, mask: u8, ones: u8) -> __m512i {
    let [mask, ones] = [mask, ones].map(|byte| _mm512_set1_epi8(byte.cast_signed()));
    _mm512_ternarylogic_epi32::<0xEA>(x, mask, ones)
}

/// Returns the maximum of each of the 64 positions of a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn highest([a, b, c, d]: [__m512i; 4]) -> __m512i {
    _mm512_max_epu8(_mm512_max_epu8(a, b), _mm512_max_epu8(c, d))
}

/// Returns the minimum of each of the 64 positions of a vector.
#[inline]
#[target_feature(enable = "avx512f,avx512bw")]
fn lowest([a, b, c, d]: [__m512i; 4]) -> __m512i {
    _mm512_min_epu8(_mm512_min_epu8(a, b), _mm512_min_epu8(c, d))
}

/// Loads a group.
///
/// # Safety
///
/// The bytes of a group can be read.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn load_group(from: *const u8) -> [__m512i; 4] {
    // SAFETY: the caller guarantees the bytes.
    unsafe {
        [
            _mm512_loadu_si512(from.cast()),
            _mm512_loadu_si512(from.add(WIDTH).cast()),
            _mm512_loadu_si512(from.add(2 * WIDTH).cast()),
            _mm512_loadu_si512(from.add(3 * WIDTH).cast()),
        ]
    }
}

/// Stores a group.
///
/// # Safety
///
/// The bytes of a group can be written.
#[inline]
#[target_feature(enable = "avx512f")]
unsafe fn store_group(to: *mut u8, [a, b, c, d]: [__m512i; 4]) {
    // SAFETY: the caller guarantees the bytes.
    unsafe {
        _mm512_storeu_si512(to.cast(), a);
        _mm512_storeu_si512(to.add(WIDTH).cast(), b);
        _mm512_storeu_si512(to.add(2 * WIDTH).cast(), c);
        _mm512_storeu_si512(to.add(3 * WIDTH).cast(), d);
    }
}
