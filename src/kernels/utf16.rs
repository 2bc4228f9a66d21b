//! Conversions between UTF-8 and UTF-16.

use super::arch::utf16::{decode_portable, encode_portable};
use super::dispatch::Kernel;
use super::state::AtBoundary;
use super::validation::prefix;
use crate::boundary::truncate;

/// The number of bytes that are validated at a time and then read again. They fit in the L1 cache.
const PAGE: usize = 4 * 1024;

/// Reads UTF-8 and writes UTF-16 while there is input and output space, up to an ill-formed sequence. Returns the
/// number of bytes read and the number of bytes written.
///
/// An input byte is only read if there are 2 bytes of output for it, which is always enough.
pub(crate) fn encode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let kernel = Kernel::in_use();
    if kernel.utf16().is_none() {
        // The portable loop validates during the conversion. A separate validation would take as long as the loop.
        let input = &input[..input.len().min(output.len() / 2)];
        // SAFETY: the output has 2 bytes for each byte of the input.
        return unsafe { encode_portable::<BIG_ENDIAN>(input, output) };
    }
    let (mut read, mut written) = (0, 0);
    loop {
        let len = (input.len() - read).min((output.len() - written) / 2).min(PAGE);
        let (text, _) = prefix(AtBoundary::START, &input[read..read + len]);
        if text.is_empty() {
            return (read, written);
        }
        written += encode_text::<BIG_ENDIAN>(kernel, text, &mut output[written..]);
        read += text.len();
        if text.len() + 3 < len {
            // There is an ill-formed sequence. Another iteration would stop at it again.
            return (read, written);
        }
    }
}

/// Writes as much of a text as fits. Returns the number of bytes written.
fn encode_text<const BIG_ENDIAN: bool>(kernel: Kernel, text: &str, output: &mut [u8]) -> usize {
    let text = truncate(text, output.len() / 2);
    let (read, written) = match kernel.utf16() {
        // SAFETY: the CPU has the instructions of every `Kernel`; the output has 2 bytes for each byte of the text.
        Some(utf16) => unsafe { (utf16.encode[usize::from(BIG_ENDIAN)])(text, output) },
        None => (0, 0),
    };
    // SAFETY: a sequence of n bytes needs at most 2 * n bytes of output. The bytes written so far leave 2 bytes for
    // each byte of the rest.
    let (_, rest) =
        unsafe { encode_portable::<BIG_ENDIAN>(&text.as_bytes()[read..], &mut output[written..]) };
    written + rest
}

/// Reads UTF-16 and writes UTF-8 while there is input and output space, up to an unpaired surrogate. Returns the number
/// of bytes read and the number of bytes written.
pub(crate) fn decode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    decode_by::<BIG_ENDIAN>(Kernel::in_use(), input, output)
}

fn decode_by<const BIG_ENDIAN: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let (read, written) = match kernel.utf16() {
        // SAFETY: the CPU has the instructions of every `Kernel`.
        Some(utf16) => unsafe { (utf16.decode[usize::from(BIG_ENDIAN)])(input, output) },
        None => (0, 0),
    };
    let rest = decode_portable::<BIG_ENDIAN>(&input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::arch::utf16::order;

    /// Texts with characters of each length at every position of a vector, and across its end.
    fn texts() -> impl Iterator<Item = String> {
        let parts = ["a", "é", "€", "💩", "plain ASCII, longer than a block", "ёж", "漢字", "💩💩"];
        let mut state = 16_u32;
        (0..2_000).map(move |len| {
            let mut text = "x".repeat(len % 67);
            while text.len() < len % 301 {
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(parts[(state >> 16) as usize % parts.len()]);
            }
            text
        })
    }

    fn check<const BIG_ENDIAN: bool>(kernel: Kernel) {
        let bytes =
            |units: &[u16]| units.iter().flat_map(|&unit| order::<BIG_ENDIAN>(unit)).collect::<Vec<_>>();
        for (i, text) in texts().enumerate() {
            let units: Vec<u16> = text.encode_utf16().collect();
            let utf_16 = bytes(&units);
            // The text starts at every alignment. The output has exactly the required length and is followed by a
            // pattern that must not change.
            let shift = i % 32;
            let source = ["?".repeat(shift), text.clone()].concat();
            let mut out = vec![0xEE; shift + 2 * text.len() + 64];
            let len =
                encode_text::<BIG_ENDIAN>(kernel, &source[shift..], &mut out[shift..shift + 2 * text.len()]);
            assert_eq!(out[shift..shift + len], utf_16, "{text}");
            assert_eq!(out[shift + 2 * text.len()..], [0xEE; 64], "{text}");

            // Output space for the text and the longest sequence, and for whole vectors.
            let source = [vec![0xEE; shift], utf_16.clone()].concat();
            for extra in [3, 200] {
                let mut out = vec![0xEE; text.len() + extra + 64];
                let (read, written) =
                    decode_by::<BIG_ENDIAN>(kernel, &source[shift..], &mut out[..text.len() + extra]);
                assert_eq!((read, &out[..written]), (utf_16.len(), text.as_bytes()), "{text}");
                assert_eq!(out[text.len() + extra..], [0xEE; 64], "{text}");
            }
            // Not enough output space: the output is a prefix of the text that ends between characters.
            let mut out = vec![0xEE; text.len() / 2 + 64];
            let (read, written) = decode_by::<BIG_ENDIAN>(kernel, &utf_16, &mut out[..text.len() / 2]);
            assert_eq!(out[..written], text.as_bytes()[..written], "{text}");
            assert_eq!(bytes(&text[..written].encode_utf16().collect::<Vec<_>>()), utf_16[..read], "{text}");
            assert_eq!(out[text.len() / 2..], [0xEE; 64], "{text}");

            // The conversion stops before a surrogate that is inserted between characters.
            let at = units.len() * (i % 7) / 6;
            let at = if matches!(units.get(at), Some(0xDC00..0xE000)) { at - 1 } else { at };
            for half in [0xDC00, 0xD800] {
                let unpaired = bytes(&[&units[..at], &[half], &units[at..]].concat());
                let mut out = vec![0; text.len() + 200];
                let (read, written) = decode_by::<BIG_ENDIAN>(kernel, &unpaired, &mut out);
                let good = String::from_utf16(&units[..at]).expect("whole pairs");
                assert_eq!((read, &out[..written]), (2 * at, good.as_bytes()), "{text}");
            }
        }
    }

    fn check_every_character<const BIG_ENDIAN: bool>(kernel: Kernel) {
        let fillers = ["", "a", "é", "漢", "éa", "a漢"];
        let mut state = 61_u32;
        for kinds in [1, 4, 6] {
            // Every character, between characters of other lengths, at many positions of a vector.
            let mut text = "x".repeat(kinds);
            for character in '\0'..=char::MAX {
                text.push(character);
                state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                text.push_str(fillers[(state >> 16) as usize % kinds]);
            }
            let utf_16: Vec<u8> = text.encode_utf16().flat_map(order::<BIG_ENDIAN>).collect();
            let mut out = vec![0; 2 * text.len()];
            let len = encode_text::<BIG_ENDIAN>(kernel, &text, &mut out);
            assert!(out[..len] == utf_16, "{kernel:?}, {kinds}");
            let (read, written) = decode_by::<BIG_ENDIAN>(kernel, &utf_16, &mut out);
            assert!((read, &out[..written]) == (utf_16.len(), text.as_bytes()), "{kernel:?}, {kinds}");
        }
    }

    #[test]
    fn every_character() {
        for kernel in Kernel::available() {
            check_every_character::<false>(kernel);
            check_every_character::<true>(kernel);
        }
    }

    /// The portable loop validates during the conversion. It stops where `std` reports the first error, or at an
    /// unfinished sequence.
    #[test]
    fn portable_encode_stops_at_the_first_ill_formed_sequence() {
        const BYTES: [u8; 24] = [
            0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED,
            0xEF, 0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF,
        ];
        let mut out = [0xEE; 32];
        for i in 0..BYTES.len().pow(4) {
            let four = [0, 1, 2, 3].map(|place| BYTES[i / BYTES.len().pow(place) % BYTES.len()]);
            for (bytes, len) in [(&four[..], 4), (&four[1..], 3)] {
                let good = match core::str::from_utf8(bytes) {
                    Ok(text) => text,
                    Err(error) => core::str::from_utf8(&bytes[..error.valid_up_to()]).expect("good"),
                };
                // SAFETY: the output has 2 bytes for each byte of the input.
                let (read, written) = unsafe { encode_portable::<false>(bytes, &mut out[..2 * len]) };
                assert_eq!(read, good.len(), "{bytes:02X?}");
                let units = good.encode_utf16().flat_map(order::<false>);
                assert!(units.eq(out[..written].iter().copied()), "{bytes:02X?}");
            }
        }
        assert_eq!(out[8..], [0xEE; 24]);
    }

    #[test]
    fn little_endian_equals_std() {
        Kernel::available().for_each(check::<false>);
    }

    #[test]
    fn big_endian_equals_std() {
        Kernel::available().for_each(check::<true>);
    }
}
