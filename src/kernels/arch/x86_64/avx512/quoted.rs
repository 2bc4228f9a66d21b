//! Decodes quoted-printable with the byte compression of AVX-512 VBMI2.

use core::arch::x86_64::*;

use crate::kernels::arch::portable::quoted::Window;
use crate::kernels::functions::{Segment, WINDOW};

/// The class of a byte that is text but not a digit. The class of a digit is its value.
const TEXT: u8 = 0x40;
/// The class of space and tab.
const BLANK: u8 = 0x60;
/// The class of a byte that cannot occur. Bytes that are not ASCII have a class with this bit.
const STOP: u8 = 0x80;

/// The class of each ASCII byte.
static CLASSES: [u8; 128] = {
    let mut classes = [TEXT; 128];
    let mut byte = 0;
    while byte < 128_u8 {
        let class = &mut classes[byte as usize];
        match byte {
            b'0'..=b'9' => *class = byte - b'0',
            b'A'..=b'F' => *class = byte - b'A' + 10,
            b'a'..=b'f' => *class = byte - b'a' + 10,
            b' ' | b'\t' => *class = BLANK,
            b'\r' | b'\n' => {}
            0..b' ' | 0x7F => *class = STOP,
            _ => {}
        }
        byte += 1;
    }
    classes
};

/// The index of each byte of a vector plus `distance`. The last ones start again from 0.
const fn indexes(distance: u8) -> [u8; WINDOW] {
    let mut indexes = [0; WINDOW];
    let mut i = 0;
    while i < WINDOW {
        indexes[i] = (i as u8 + distance) % WINDOW as u8;
        i += 1;
    }
    indexes
}

static FIRST_DIGITS: [u8; WINDOW] = indexes(1);
static SECOND_DIGITS: [u8; WINDOW] = indexes(2);

/// [`DecodeQuoted`](crate::kernels::functions::DecodeQuoted).
///
/// # Safety
///
/// The CPU has the features of the `target_feature` attribute.
#[target_feature(enable = "avx512f,avx512bw,avx512vl,avx512vbmi,avx512vbmi2,bmi1,bmi2,popcnt")]
pub(in crate::kernels) unsafe fn decode_segments(
    encoded: &[u8],
    out: &mut [u8],
    segments: &mut [Segment],
) -> usize {
    // SAFETY: the statics have 64 and 128 bytes.
    let (low, high, first, second) = unsafe {
        (
            _mm512_loadu_si512(CLASSES.as_ptr().cast()),
            _mm512_loadu_si512(CLASSES.as_ptr().add(64).cast()),
            _mm512_loadu_si512(FIRST_DIGITS.as_ptr().cast()),
            _mm512_loadu_si512(SECOND_DIGITS.as_ptr().cast()),
        )
    };
    let all = |byte: u8| _mm512_set1_epi8(byte.cast_signed());
    let (mut at, mut written) = (0, 0);
    for (count, segment) in segments.iter_mut().enumerate() {
        if encoded.len() - at < WINDOW || out.len() - written < WINDOW {
            return count;
        }
        // SAFETY: 64 bytes follow.
        let read = unsafe { _mm512_loadu_si512(encoded.as_ptr().add(at).cast()) };
        // The lookup ignores the highest bit of a byte. It is added: class | (read & STOP).
        let classes = _mm512_permutex2var_epi8(low, read, high);
        let classes = _mm512_ternarylogic_epi32::<0xF8>(classes, read, all(STOP));
        let window = Window {
            signs: _mm512_cmpeq_epi8_mask(read, all(b'=')),
            digits: _mm512_cmplt_epu8_mask(classes, all(16)),
            crs: _mm512_cmpeq_epi8_mask(read, all(b'\r')),
            lfs: _mm512_cmpeq_epi8_mask(read, all(b'\n')),
            blanks: _mm512_cmpeq_epi8_mask(classes, all(BLANK)),
            stops: _mm512_movepi8_mask(classes),
        };
        let Some((found, escapes)) = window.segment() else { return count };
        // The value of each escape, in the position of its `=`: (first & F0) | second. The shift moves bits between
        // neighbors, which the mask removes.
        let first = _mm512_permutexvar_epi8(first, _mm512_slli_epi16::<4>(classes));
        let second = _mm512_permutexvar_epi8(second, classes);
        let values = _mm512_ternarylogic_epi32::<0xEA>(first, all(0xF0), second);
        let bytes = _mm512_mask_mov_epi8(read, escapes, values);
        let bytes = _mm512_maskz_compress_epi8(found.kept, bytes);
        // SAFETY: there is room for 64 bytes.
        unsafe { _mm512_storeu_si512(out.as_mut_ptr().add(written).cast(), bytes) };
        at += usize::from(found.len);
        written += found.kept.count_ones() as usize;
        *segment = found;
    }
    segments.len()
}
