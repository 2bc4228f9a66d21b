//! Operations on a few bytes, for loops that would spend more time in the call of a kernel than in the kernel. The code is
//! inlined into the caller. It uses general registers, and on x86-64 the vectors that every such CPU has.

use super::as_chunks::as_chunks;
#[cfg(feature = "base64")]
use super::as_chunks::as_chunks_mut;

/// The length of the window of [`ascii_len`], [`pairs_len`] and [`triples_len`].
pub const STEP: usize = 16;
/// The length of the window of [`long_ascii_len`].
pub const STRETCH: usize = if HAS_SSE2 { 64 } else { 32 };

const HAS_SSE2: bool = cfg!(all(target_arch = "x86_64", target_feature = "sse2"));

/// Bit 7 of each byte.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
const HIGH: u128 = u128::from_ne_bytes([0x80; STEP]);

/// Returns bit 7 of each byte.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
fn high_bits(window: &[u8; STEP]) -> u32 {
    use core::arch::x86_64::{_mm_loadu_si128, _mm_movemask_epi8};

    // SAFETY: the window has the length of the vector. Its address need not be aligned.
    let vector = unsafe { _mm_loadu_si128(window.as_ptr().cast()) };
    // SAFETY: the target has SSE2.
    (unsafe { _mm_movemask_epi8(vector) }) as u32
}

/// Returns the number of ASCII bytes at the start.
#[inline(always)]
pub fn ascii_len(window: &[u8; STEP]) -> usize {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    return (high_bits(window) | 1 << STEP).trailing_zeros() as usize;
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    return (u128::from_le_bytes(*window) & HIGH).trailing_zeros() as usize / 8;
}

/// Returns the number of ASCII bytes at the start. There is no branch on it, because it would be mispredicted.
#[inline(always)]
pub fn long_ascii_len(stretch: &[u8; STRETCH]) -> usize {
    #[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
    {
        let (windows, _) = as_chunks::<STEP>(stretch);
        let bits = windows.iter().rev().fold(0, |bits, window| bits << STEP | u64::from(high_bits(window)));
        bits.trailing_zeros() as usize
    }
    #[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
    {
        let (words, _) = as_chunks::<8>(stretch);
        let mut len = STRETCH;
        for (i, &word) in words.iter().enumerate().rev() {
            let bits = u64::from_le_bytes(word) & HIGH as u64;
            let of_word = 8 * i + bits.trailing_zeros() as usize / 8;
            len = if bits != 0 { of_word } else { len };
        }
        len
    }
}

/// Returns the number of bytes of the well-formed 2-byte sequences at the start.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
pub fn pairs_len(window: &[u8; STEP]) -> usize {
    use core::arch::x86_64::{
        _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi16, _mm_loadu_si128, _mm_movemask_epi8, _mm_set1_epi16,
        _mm_setzero_si128,
    };

    const fn pair(bytes: [u8; 2]) -> i16 {
        i16::from_le_bytes(bytes)
    }
    // SAFETY: the window has the length of the vector. Its address need not be aligned.
    let window = unsafe { _mm_loadu_si128(window.as_ptr().cast()) };
    // SAFETY: the target has SSE2.
    let pairs = unsafe {
        let common = _mm_and_si128(window, _mm_set1_epi16(pair([0xE0, 0xC0])));
        // One of these bits is set in every lead byte except `C0` and `C1`.
        let value = _mm_and_si128(window, _mm_set1_epi16(pair([0x1E, 0])));
        let is_overlong = _mm_cmpeq_epi16(value, _mm_setzero_si128());
        let is_pair = _mm_cmpeq_epi16(common, _mm_set1_epi16(pair([0xC0, 0x80])));
        _mm_movemask_epi8(_mm_andnot_si128(is_overlong, is_pair)) as u32
    };
    (!pairs).trailing_zeros() as usize
}

/// Returns the number of bytes of the well-formed 2-byte sequences at the start.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline(always)]
pub const fn pairs_len(window: &[u8; STEP]) -> usize {
    const fn every_pair(pair: [u8; 2]) -> u128 {
        u128::MAX / 0xFFFF * u16::from_le_bytes(pair) as u128
    }
    /// The bits that all of these sequences have in common.
    const MASK: u128 = every_pair([0xE0, 0xC0]);
    const PAIR: u128 = every_pair([0xC0, 0x80]);
    /// The bits of which one is set in every lead byte except `C0` and `C1`. Adding them sets bit 5 if one of them is set.
    const NOT_OVERLONG: u128 = every_pair([0x1E, 0]);
    const BIT_5: u128 = every_pair([0x20, 0]);
    let window = u128::from_le_bytes(*window);
    let others = window & MASK ^ PAIR;
    let overlong = !((window & NOT_OVERLONG) + NOT_OVERLONG) & BIT_5;
    (others | overlong).trailing_zeros() as usize / 16 * 2
}

/// Returns the number of bytes of the well-formed 3-byte sequences at the start, up to one that starts with `E0` or
/// `ED`. Not every second byte can follow these two.
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
#[inline(always)]
pub fn triples_len(window: &[u8; STEP]) -> usize {
    use core::arch::x86_64::{
        _mm_and_si128, _mm_andnot_si128, _mm_cmpeq_epi8, _mm_loadu_si128, _mm_movemask_epi8, _mm_or_si128,
        _mm_set1_epi8,
    };

    /// The bits that all of these sequences have in common, and those that are set.
    const MASK: [u8; STEP] = *b"\xF0\xC0\xC0\xF0\xC0\xC0\xF0\xC0\xC0\xF0\xC0\xC0\xF0\xC0\xC0\xF0";
    const TRIPLES: [u8; STEP] = *b"\xE0\x80\x80\xE0\x80\x80\xE0\x80\x80\xE0\x80\x80\xE0\x80\x80\xE0";
    // SAFETY: each array has the length of the vector. Its address need not be aligned.
    let (window, mask, triples) = unsafe {
        (
            _mm_loadu_si128(window.as_ptr().cast()),
            _mm_loadu_si128(MASK.as_ptr().cast()),
            _mm_loadu_si128(TRIPLES.as_ptr().cast()),
        )
    };
    // SAFETY: the target has SSE2.
    let matches = unsafe {
        let is_triple = _mm_cmpeq_epi8(_mm_and_si128(window, mask), triples);
        let is_e0 = _mm_cmpeq_epi8(window, _mm_set1_epi8(0xE0_u8 as i8));
        let is_ed = _mm_cmpeq_epi8(window, _mm_set1_epi8(0xED_u8 as i8));
        _mm_movemask_epi8(_mm_andnot_si128(_mm_or_si128(is_e0, is_ed), is_triple)) as u32
    };
    // The last byte of the window has no whole sequence.
    (!matches | 1 << 15).trailing_zeros() as usize / 3 * 3
}

/// Returns the number of bytes of the well-formed 3-byte sequences at the start, up to one that starts with `E0` or
/// `ED`. Not every second byte can follow these two.
#[cfg(not(all(target_arch = "x86_64", target_feature = "sse2")))]
#[inline(always)]
pub fn triples_len(window: &[u8; STEP]) -> usize {
    let mut len = 0;
    while let Some([0xE1..=0xEC | 0xEE | 0xEF, 0x80..=0xBF, 0x80..=0xBF]) = window.get(len..len + 3) {
        len += 3;
    }
    len
}

/// Copies text of a quoted-printable body (RFC 2045 §6.7) up to the first byte that is not encoded as itself (rules 2 and
/// 3), or up to `=`. Returns the length of this text. Bytes of `out` after the copied ones may be overwritten.
///
/// # Panics
///
/// Panics if `out` is shorter than `text`.
#[cfg(feature = "base64")]
#[inline]
pub fn copy_quoted_text(text: &[u8], out: &mut [u8]) -> usize {
    let out = &mut out[..text.len()];
    let (words, rest) = as_chunks::<8>(text);
    let (copies, rest_of_copy) = as_chunks_mut::<8>(out);
    for (i, (word, copy)) in words.iter().zip(copies).enumerate() {
        *copy = *word;
        let stops = stops(u64::from_le_bytes(*word));
        if stops != 0 {
            return i * 8 + stops.trailing_zeros() as usize / 8;
        }
    }
    rest_of_copy.copy_from_slice(rest);
    let last = rest.iter().rev().fold(0, |word, &byte| word << 8 | u64::from(byte));
    // The bytes of `last` after the rest are zero. A zero is not text, so the result is at most the length of the rest.
    words.len() * 8 + stops(last).trailing_zeros() as usize / 8
}

/// Bit 7 of each byte that is `=`, and of each byte other than tab and `20..=7E`.
#[cfg(feature = "base64")]
#[inline]
const fn stops(word: u64) -> u64 {
    const ONES: u64 = 0x0101_0101_0101_0101;
    const HIGH: u64 = 0x80 * ONES;
    // Bit 7 is set before each subtraction, so that none borrows from the next byte. The bit is cleared where the low 7
    // bits are less than what is subtracted.
    let low = word & !HIGH;
    let is_control = !((low | HIGH) - 0x20 * ONES);
    let differs_from_tab = ((low ^ (0x09 * ONES)) | HIGH) - ONES;
    let is_delete = !(((low ^ (0x7F * ONES)) | HIGH) - ONES);
    let is_equals_sign = !(((low ^ (0x3D * ONES)) | HIGH) - ONES);
    (word | is_control & differs_from_tab | is_delete | is_equals_sign) & HIGH
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::grammar::UTF_8;

    #[test]
    fn pairs_are_as_long_as_the_well_formed_sequences_of_two_bytes() {
        for at in (0..STEP).step_by(2) {
            for pair in 0..=u16::MAX {
                let mut window = [*b"\xC2\x80", *b"\xDF\xBF"].as_flattened().repeat(STEP / 4);
                window[at..at + 2].copy_from_slice(&pair.to_le_bytes());
                let (sequence, kind) = UTF_8.walk(&window[at..at + 2]);
                let is_pair = kind.is_none() && sequence == 2;
                let window = window.first_chunk().expect("a window");
                assert_eq!(pairs_len(window), if is_pair { STEP } else { at }, "{pair:04X} at {at}");
            }
        }
    }

    #[test]
    fn triples_are_as_long_as_the_well_formed_sequences_of_three_bytes() {
        for at in (0..STEP - 1).step_by(3) {
            for start in 0..=u16::MAX {
                let [lead, second] = start.to_be_bytes();
                for third in [0x00, 0x7F, 0x80, 0xBF, 0xC0, 0xE2, 0xFF] {
                    let mut window = *b"\xE1\x80\x80\xEF\xBF\xBF\xE1\x80\xBF\xEE\xBF\x80\xEC\xBF\xBF\xE1";
                    window[at..at + 3].copy_from_slice(&[lead, second, third]);
                    let (sequence, kind) = UTF_8.walk(&window[at..at + 3]);
                    let is_triple = kind.is_none() && sequence == 3 && lead != 0xE0 && lead != 0xED;
                    let expected = if is_triple { STEP - 1 } else { at };
                    assert_eq!(triples_len(&window), expected, "{lead:02X} {second:02X} {third:02X} at {at}");
                }
            }
        }
    }

    #[test]
    fn ascii_ends_before_the_first_other_byte() {
        for at in 0..=STRETCH {
            for byte in [0x80, 0xC2, 0xFF] {
                let mut stretch = [0x7F; STRETCH];
                stretch[at..].iter_mut().step_by(3).for_each(|other| *other = byte);
                assert_eq!(long_ascii_len(&stretch), at);
                assert_eq!(ascii_len(stretch.first_chunk().expect("a window")), at.min(STEP));
            }
        }
    }

    #[cfg(feature = "base64")]
    fn is_text(byte: u8) -> bool {
        byte != b'=' && matches!(byte, b'\t' | b' '..=b'~')
    }

    #[cfg(feature = "base64")]
    #[test]
    fn quoted_text_ends_at_every_other_byte_at_every_position_of_every_length() {
        for len in 0..=20 {
            for at in 0..len {
                for byte in 0..=u8::MAX {
                    let mut text = [b'a'; 20];
                    text[at] = byte;
                    let mut out = [0; 24];
                    let expected = if is_text(byte) { len } else { at };
                    assert_eq!(
                        copy_quoted_text(&text[..len], &mut out),
                        expected,
                        "{byte:02X} at {at} of {len}"
                    );
                    assert_eq!(out[..expected], text[..expected]);
                    assert!(out[len..].iter().all(|&byte| byte == 0));
                }
            }
        }
    }

    #[cfg(feature = "base64")]
    #[test]
    fn every_pair_of_bytes_in_a_word_of_quoted_text() {
        for first in 0..=u8::MAX {
            for second in 0..=u8::MAX {
                let word = [b'a', first, second, b'a', second, b'a', b'a', first];
                let expected = word.map(|byte| if is_text(byte) { 0 } else { 0x80 });
                assert_eq!(stops(u64::from_le_bytes(word)), u64::from_le_bytes(expected), "{word:02X?}");
            }
        }
    }
}
