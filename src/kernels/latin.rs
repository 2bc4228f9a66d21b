//! Conversions between UTF-8 and ISO 8859-1 or windows-1252.
//!
//! If the parameter `WINDOWS` is `true`, the bytes `80..=9F` are those of windows-1252.

use super::arch::latin::{decode_portable, encode_portable};
use super::dispatch::Kernel;

/// Reads single bytes and writes UTF-8 while there is input and output space. Returns the number of bytes read and the
/// number of bytes written.
pub(crate) fn decode<const WINDOWS: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    decode_by::<WINDOWS>(Kernel::in_use(), input, output)
}

fn decode_by<const WINDOWS: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let (read, written) = match kernel.latin() {
        // SAFETY: this CPU supports every `Kernel`.
        Some(latin) => unsafe { (latin.decode[usize::from(WINDOWS)])(input, output) },
        None => (0, 0),
    };
    let rest = decode_portable::<WINDOWS>(&input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}

/// The minimum length of the rest of the input for which the vector code is used again after a character that it does
/// not convert.
const WORTH_VECTORS: usize = 128;

/// Reads UTF-8 and writes single bytes while there is input and output space. Stops at an ill-formed sequence or at a
/// character that the encoding does not have. Returns the number of bytes read and the number of bytes written.
pub(crate) fn encode<const WINDOWS: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    encode_by::<WINDOWS>(Kernel::in_use(), input, output)
}

fn encode_by<const WINDOWS: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let Some(latin) = kernel.latin() else {
        return encode_portable::<WINDOWS>(input, output, usize::MAX);
    };
    let (mut read, mut written) = (0, 0);
    loop {
        // SAFETY: this CPU supports every `Kernel`.
        let (by_vectors, bytes) =
            unsafe { (latin.encode[usize::from(WINDOWS)])(&input[read..], &mut output[written..]) };
        read += by_vectors;
        written += bytes;
        // Converts the character at which the vector code stopped, or the rest of the input.
        let most = if input.len() - read >= WORTH_VECTORS { 1 } else { usize::MAX };
        let (rest, bytes) = encode_portable::<WINDOWS>(&input[read..], &mut output[written..], most);
        read += rest;
        written += bytes;
        if rest == 0 {
            return (read, written);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::windows_1252;

    fn character<const WINDOWS: bool>(byte: u8) -> char {
        if WINDOWS { windows_1252(byte) } else { byte.into() }
    }

    /// Checks both directions. Each of `rooms` is an output length in quarters of the length of the text. For 5, there
    /// are 300 bytes more, so that the vector code is used to the end.
    fn check<const WINDOWS: bool>(kernel: Kernel, bytes: &[u8], rooms: &[usize]) {
        let text: String = bytes.iter().map(|&byte| character::<WINDOWS>(byte)).collect();
        for room in rooms.iter().map(|part| text.len() * part / 4 + if *part == 5 { 300 } else { 0 }) {
            let mut out = vec![0xEE; room + 64];
            let (read, written) = decode_by::<WINDOWS>(kernel, bytes, &mut out[..room]);
            let expected: String = bytes[..read].iter().map(|&byte| character::<WINDOWS>(byte)).collect();
            assert_eq!(out[..written], *expected.as_bytes(), "{kernel:?} {bytes:02X?}");
            assert!(read == bytes.len() || room - written < 4, "{kernel:?} stops early");
            assert!(room < text.len() || read == bytes.len(), "{kernel:?} stops early");
            assert_eq!(out[room..], [0xEE; 64], "{kernel:?} writes after the end");

            let mut out = vec![0xEE; room + 64];
            let (read, written) = encode_by::<WINDOWS>(kernel, text.as_bytes(), &mut out[..room]);
            assert_eq!(out[..written], bytes[..written], "{kernel:?} {text}");
            assert_eq!(text[..read].chars().count(), written, "{kernel:?} {text}");
            assert_eq!(written, room.min(bytes.len()), "{kernel:?} stops early");
            assert_eq!(out[room..], [0xEE; 64], "{kernel:?} writes after the end");
        }
    }

    fn check_bytes<const WINDOWS: bool>() {
        for kernel in Kernel::available() {
            // Every byte at every position of a vector, alone and among other bytes.
            for filler in [b'a', 0x85] {
                for position in 0..67 {
                    for byte in 0..=u8::MAX {
                        let mut bytes = [filler; 67];
                        bytes[position] = byte;
                        check::<WINDOWS>(kernel, &bytes, &[5]);
                    }
                }
            }
            let mut seed = 7_u32;
            let mut next = || {
                seed = seed.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
                (seed >> 16) as usize
            };
            for len in (0..400).chain(1000..1040) {
                let some = [b'a', b'b', 0, 0x7F, 0x80, 0x93, 0x9F, 0xA0, 0xC3, 0xE9, 0xFF];
                let kinds = 1 + next() % some.len();
                let bytes: Vec<u8> = (0..len)
                    .map(|_| if next() % 8 < len % 9 { some[next() % kinds] } else { b'x' })
                    .collect();
                check::<WINDOWS>(kernel, &bytes, &[0, 1, 2, 3, 4, 5]);
            }
        }
    }

    #[test]
    fn every_byte_of_iso_8859_1_at_every_position() {
        check_bytes::<false>();
    }

    #[test]
    fn every_byte_of_windows_1252_at_every_position() {
        check_bytes::<true>();
    }

    fn check_stop<const WINDOWS: bool>(kernel: Kernel, sequence: &[u8]) {
        let mapped = core::str::from_utf8(sequence)
            .ok()
            .and_then(|text| text.chars().next())
            .and_then(|it| (0..=u8::MAX).find(|&byte| character::<WINDOWS>(byte) == it));
        for before in [0, 1, 31, 61, 62, 63, 64, 130, 254, 255, 256, 257] {
            let input = [&b"a".repeat(before), sequence, &b"b".repeat(260)].concat();
            let mut out = [0; 1024];
            let (read, written) = encode_by::<WINDOWS>(kernel, &input, &mut out);
            match mapped {
                Some(byte) => assert_eq!((read, out[before]), (input.len(), byte), "{sequence:02X?}"),
                None => assert_eq!((read, written), (before, before), "{kernel:?} {sequence:02X?}"),
            }
        }
    }

    #[test]
    fn encode_stops_at_an_unmappable_character_and_at_an_ill_formed_sequence() {
        for kernel in Kernel::available() {
            for character in ('\u{80}'..'\u{3000}').chain(['\u{D7FF}', '\u{FFFF}', '💩']) {
                let sequence = &mut [0; 4];
                let sequence = character.encode_utf8(sequence).as_bytes();
                check_stop::<false>(kernel, sequence);
                check_stop::<true>(kernel, sequence);
            }
            for lead in 0x80..=u8::MAX {
                for second in [b'a', 0x7F, 0xC0, 0xC3, 0xFF] {
                    check_stop::<false>(kernel, &[lead, second]);
                    check_stop::<true>(kernel, &[lead, second]);
                }
            }
            check_stop::<true>(kernel, b"\xC0\x80");
            check_stop::<true>(kernel, b"\x80\x80");
            check_stop::<true>(kernel, b"\xE2\x82z");
        }
    }
}
