//! Conversions between UTF-8 and ISO 8859-1 or windows-1252.
//!
//! If the parameter `WINDOWS` is `true`, the bytes `80..=9F` are those of windows-1252. UTF-8 is converted through UTF-16, in
//! pieces: both steps have vector code.

use super::arch::latin::decode_portable;
use super::dispatch::Kernel;
use super::utf16;

/// Reads single bytes and writes UTF-8 while there is input and output space. Returns the number of bytes read and the
/// number of bytes written.
pub(crate) fn decode<const WINDOWS: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    decode_by::<WINDOWS>(Kernel::in_use(), input, output)
}

fn decode_by<const WINDOWS: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let (read, written) = kernel.decode_latin(usize::from(WINDOWS), input, output);
    let rest = decode_portable::<WINDOWS>(&input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}

/// The number of bytes of UTF-8 in a piece, and in the first piece. The first one is small, because a character that the
/// encoding does not have makes the work on the rest of the piece useless.
const PIECE: usize = 2 * 1024;
const FIRST_PIECE: usize = 64;

/// Reads UTF-8 and writes single bytes while there is input and output space. Stops at an ill-formed sequence or at a
/// character that the encoding does not have. Returns the number of bytes read and the number of bytes written.
pub(crate) fn encode<const WINDOWS: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    encode_by::<WINDOWS>(Kernel::in_use(), input, output)
}

fn encode_by<const WINDOWS: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let start = &input[..input.len().min(FIRST_PIECE)];
    let (read, written) = encode_pieces::<FIRST_PIECE, WINDOWS>(kernel, start, output);
    // An unfinished sequence may be left.
    if read + 3 < start.len() || start.len() < FIRST_PIECE {
        return (read, written);
    }
    let rest = encode_pieces::<PIECE, WINDOWS>(kernel, &input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}

/// [`encode_by`] through `UNITS` code units of UTF-16, except for ASCII.
fn encode_pieces<const UNITS: usize, const WINDOWS: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let narrow = kernel.units().narrow[usize::from(WINDOWS)][0];
    let (mut read, mut written) = (0, 0);
    let mut units = [[0; 2]; UNITS];
    let units = units.as_flattened_mut();
    loop {
        let ascii = kernel.copy_below(0, &input[read..], &mut output[written..]);
        read += ascii;
        written += ascii;
        let (rest, room) = (&input[read..], &mut output[written..]);
        let len = rest.len().min(UNITS);
        let (taken, made) = utf16::encode_by::<false>(kernel, &rest[..len], units);
        // SAFETY: this CPU supports every `Kernel`.
        let (used, out) = unsafe { narrow(&units[..made], room) };
        written += out;
        if used < made {
            return (read + len_in_utf_8(&units[..used]), written);
        }
        read += taken;
        if taken + 3 < len || taken == 0 {
            return (read, written);
        }
    }
}

/// Returns the length in UTF-8 of little-endian UTF-16 without surrogates.
fn len_in_utf_8(units: &[u8]) -> usize {
    let len = |bytes: &[u8; 2]| {
        let unit = u16::from_le_bytes(*bytes);
        1 + usize::from(unit >= 0x80) + usize::from(unit >= 0x800)
    };
    units.as_chunks().0.iter().map(len).sum()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::encoding::windows_1252;
    use crate::rng::Rng;

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
            let mut rng = Rng::new(7);
            let mut next = || rng.next() as usize;
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
            // Each other byte in the place of a continuation byte of "–", E2 80 93.
            for byte in 0..=u8::MAX {
                check_stop::<true>(kernel, &[0xE2, byte, 0x93]);
                check_stop::<true>(kernel, &[0xE2, 0x80, byte]);
            }
        }
    }

    /// Returns the bytes that [`encode`] writes and the number of bytes that it reads, computed character by character.
    fn encoded<const WINDOWS: bool>(input: &[u8], room: usize) -> (usize, Vec<u8>) {
        let end = core::str::from_utf8(input).map_or_else(|error| error.valid_up_to(), str::len);
        let text = core::str::from_utf8(&input[..end]).expect("well-formed");
        let (mut read, mut bytes) = (0, Vec::new());
        for it in text.chars() {
            let Some(byte) = (0..=u8::MAX).find(|&byte| character::<WINDOWS>(byte) == it) else { break };
            if bytes.len() == room {
                break;
            }
            read += it.len_utf8();
            bytes.push(byte);
        }
        (read, bytes)
    }

    /// Returns the bytes that [`decode`] may write, computed byte by byte.
    #[cfg(all(unix, feature = "codec"))]
    fn decoded<const WINDOWS: bool>(input: &[u8]) -> Vec<u8> {
        input.iter().map(|&byte| character::<WINDOWS>(byte)).collect::<String>().into_bytes()
    }

    /// Sequences that are converted, and sequences at which a kernel stops.
    #[cfg(all(unix, feature = "codec"))]
    const PARTS: [&[u8]; 30] = [
        b"a",
        b"bc",
        b"a plain line of text, longer than a vector",
        b"\xC3\xA9",
        b"\xC3\x80",
        b"\xC3\xBF",
        b"\xC2\xA0",
        b"\xC2\xBF",
        b"\xE2\x80\x99",
        b"\xE2\x80\x93",
        b"\xE2\x82\xAC",
        b"\xE2\x84\xA2",
        b"\xE2\x80\xA6",
        b"\xE2\x80\xBA",
        b"\xC5\x93",
        b"\xC2\x80",
        b"\xC2\x81",
        b"\xC2\x9F",
        b"\xE2\x80\x8B",
        b"\xE2\x82\xA2",
        b"\xE2\x84\xAC",
        b"\xC4\x80",
        b"\xC1\x80",
        b"\xC3",
        b"\x80",
        b"\xE2\x80",
        b"\xE2\xC3\xA9",
        b"\xF0\x9F\x92\xA9",
        b"\xE0\xA0\x80",
        b"\xFF",
    ];

    #[cfg(all(unix, feature = "codec"))]
    fn check_guarded<const WINDOWS: bool>(kernel: Kernel) {
        use crate::kernels::tests::guarded::Guarded;
        let (mut from, mut to) = (Guarded::new(4096), Guarded::new(4096));
        let mut rng = Rng::new(29);
        let mut next = |below| rng.below(below);
        for turn in 0..if cfg!(miri) { 6 } else { 6000 } {
            // Most inputs have only sequences that are converted, and most of these are ASCII.
            let (first, kinds) = (next(4), 4 + next(if turn % 3 == 0 { 26 } else { 9 }));
            let ascii = next(20);
            let mut bytes = Vec::new();
            let len = next(if cfg!(miri) { 150 } else { 700 });
            while bytes.len() < len {
                let part = if next(20) < ascii { next(3) } else { first + next(kinds - first) };
                bytes.extend_from_slice(PARTS[part]);
            }
            bytes.truncate(len);
            let at_end = turn % 2 == 0;
            let input = from.slice(bytes.len(), at_end);
            input.copy_from_slice(&bytes);
            let context = || format!("{kernel:?} {WINDOWS} {bytes:02X?}");

            let room = if next(3) == 0 { next(len + 1) } else { len + next(9) };
            let (read, expected) = encoded::<WINDOWS>(&bytes, room);
            let output = to.slice(room, at_end);
            let (taken, written) = encode_by::<WINDOWS>(kernel, input, output);
            assert_eq!((taken, &output[..written]), (read, &expected[..]), "{}", context());

            let expected = decoded::<WINDOWS>(&bytes);
            let room = if next(3) == 0 { next(2 * len + 1) } else { expected.len() + next(9) };
            let output = to.slice(room, at_end);
            let (taken, written) = decode_by::<WINDOWS>(kernel, input, output);
            assert_eq!(decoded::<WINDOWS>(&bytes[..taken]), output[..written], "{}", context());
            assert!(taken == len || written + 3 > room, "stops early: {}", context());
            if let Some(&byte) = bytes.get(taken) {
                let more = decoded::<WINDOWS>(&[byte]).len();
                assert!(written + more > room, "stops early: {}", context());
            }
        }
    }

    #[test]
    #[cfg(all(unix, feature = "codec"))]
    fn no_access_outside_the_input_and_the_output() {
        for kernel in Kernel::available() {
            check_guarded::<false>(kernel);
            check_guarded::<true>(kernel);
        }
    }

    /// Every sequence of up to 3 bytes whose bytes are not all converted in the same way, among ASCII and among accents.
    #[test]
    fn every_pair_of_bytes_and_every_third_byte_in_text() {
        for kernel in Kernel::available() {
            for filler in ["a", "aé", "’"] {
                for before in [0, 29, 30, 31, 95, 127] {
                    let start = filler.repeat(before);
                    let input = |sequence: &[u8]| {
                        [start.as_bytes(), sequence, filler.repeat(140).as_bytes()].concat()
                    };
                    let check = |sequence: &[u8]| {
                        let input = input(sequence);
                        let mut out = [0; 1024];
                        let (read, written) = encode_by::<true>(kernel, &input, &mut out);
                        let expected = encoded::<true>(&input, 1024);
                        assert_eq!(
                            (read, &out[..written]),
                            (expected.0, &expected.1[..]),
                            "{kernel:?} {input:02X?}"
                        );
                        let (read, written) = encode_by::<false>(kernel, &input, &mut out);
                        let expected = encoded::<false>(&input, 1024);
                        assert_eq!(
                            (read, &out[..written]),
                            (expected.0, &expected.1[..]),
                            "{kernel:?} {input:02X?}"
                        );
                    };
                    for first in 0..=u8::MAX {
                        for second in
                            [0x00, 0x7F, 0x80, 0x81, 0x92, 0x9F, 0xA0, 0xBF, 0xC0, 0xC2, 0xC3, 0xE2, 0xFF]
                        {
                            check(&[first, second]);
                        }
                        for second in [0x80, 0x82, 0x84, 0x81] {
                            check(&[0xE2, second, first]);
                        }
                    }
                }
            }
        }
    }
}
