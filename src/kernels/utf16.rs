//! Conversions between UTF-8 and UTF-16.

use super::arch::utf16::{decode_portable, encode_portable};
use super::dispatch::Kernel;
use super::functions::Utf16;
use super::state::AtBoundary;
use super::validation::prefix;
use crate::boundary::truncate;

/// The number of bytes that are validated at a time and then read again. They fit in the L1 cache.
const PAGE: usize = 4 * 1024;

/// The first number of bytes that are validated at a time after ASCII. The next numbers are four times the one before, up to [`PAGE`].
const FIRST_PAGE: usize = 256;

/// A length of ASCII after which more ASCII is likely after a few characters.
const MUCH_ASCII: usize = 64;

/// The number of bytes after so much ASCII that are converted without vectors.
const FEW: usize = 8;

/// Reads UTF-8 and writes UTF-16 while there is input and output space, up to an ill-formed sequence. Returns the
/// number of bytes read and the number of bytes written.
///
/// An input byte is only read if there are 2 bytes of output for it, which is always enough.
pub(crate) fn encode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    encode_by::<BIG_ENDIAN>(Kernel::in_use(), input, output)
}

pub(super) fn encode_by<const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let Some(utf16) = kernel.utf16() else {
        return encode_some::<BIG_ENDIAN>(input, output, input.len());
    };
    let (mut read, mut written) = (0, 0);
    let mut page = FIRST_PAGE;
    loop {
        let (rest, room) = (&input[read..], &mut output[written..]);
        // SAFETY: the CPU has the instructions of every `Kernel`.
        let (mut taken, mut made) = unsafe { utf16.encode_ascii[usize::from(BIG_ENDIAN)](rest, room) };
        if taken >= MUCH_ASCII {
            page = FIRST_PAGE;
            let (few, few_made) = encode_some::<BIG_ENDIAN>(&rest[taken..], &mut room[made..], FEW);
            taken += few;
            made += few_made;
        }
        if taken > 0 {
            read += taken;
            written += made;
            continue;
        }
        let len = rest.len().min(room.len() / 2).min(page);
        let (text, _) = prefix(AtBoundary::START, &rest[..len]);
        // Whether this is the end of the input, or an ill-formed sequence follows.
        let is_last = len == rest.len() || text.len() + 3 < len;
        let (taken, made) = encode_text::<BIG_ENDIAN>(utf16, text, is_last, room);
        read += taken;
        written += made;
        if is_last || taken == 0 {
            return (read, written);
        }
        page = PAGE.min(4 * page);
    }
}

/// Writes at most `limit` bytes of the input as UTF-16, without vectors and without a separate validation, which would
/// take as long as the conversion.
fn encode_some<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8], limit: usize) -> (usize, usize) {
    let input = &input[..input.len().min(output.len() / 2).min(limit)];
    // SAFETY: the output has 2 bytes for each byte of the input.
    unsafe { encode_portable::<BIG_ENDIAN>(input, output) }
}

/// Writes as much of a text as fits as UTF-16. May stop at a character near the end, unless `is_last` is set. Returns
/// the number of bytes read and the number of bytes written.
fn encode_text<const BIG_ENDIAN: bool>(
    utf16: &Utf16,
    text: &str,
    is_last: bool,
    output: &mut [u8],
) -> (usize, usize) {
    let text = truncate(text, output.len() / 2);
    // SAFETY: the CPU has the instructions of every `Kernel`; the output has 2 bytes for each byte of the text.
    let (read, written) = unsafe { (utf16.encode[usize::from(BIG_ENDIAN)])(text, output) };
    if read > 0 && !is_last {
        return (read, written);
    }
    // SAFETY: a sequence of n bytes needs at most 2 * n bytes of output. The bytes written so far leave 2 bytes for
    // each byte of the rest.
    let (rest, more) =
        unsafe { encode_portable::<BIG_ENDIAN>(&text.as_bytes()[read..], &mut output[written..]) };
    (read + rest, written + more)
}

/// Reads UTF-16 and writes UTF-8 while there is input and output space, up to an unpaired surrogate. Returns the number
/// of bytes read and the number of bytes written.
pub(crate) fn decode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    decode_by::<BIG_ENDIAN>(Kernel::in_use(), input, output)
}

pub(super) fn decode_by<const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
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
    use crate::kernels::tests::characters_among_zeros;
    use crate::rng::Rng;

    /// Texts with characters of each length at every position of a vector, and across its end.
    fn texts() -> impl Iterator<Item = String> {
        let parts = ["a", "é", "€", "💩", "plain ASCII, longer than a block", "ёж", "漢字", "💩💩"];
        let mut rng = Rng::new(16);
        (0..2_000).step_by(if cfg!(miri) { 173 } else { 1 }).map(move |len| {
            let mut text = "x".repeat(len % 67);
            while text.len() < len % 301 {
                text.push_str(parts[rng.below(parts.len())]);
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
            let len = encode_by::<BIG_ENDIAN>(
                kernel,
                &source.as_bytes()[shift..],
                &mut out[shift..shift + 2 * text.len()],
            )
            .1;
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

    /// Long texts, so that there are pages of every length. The conversion stops before an ill-formed sequence, and if
    /// there is not enough output space for the rest.
    fn check_long<const BIG_ENDIAN: bool>(kernel: Kernel) {
        let texts: Vec<String> = texts().collect();
        let mut rng = Rng::new(8);
        let mut below = move |bound: usize| rng.below(bound);
        for round in 0..400 {
            let mut text = String::new();
            while text.len() < 12_000 {
                match below(2 + round % 3) {
                    0 => text.push_str(&"ASCII".repeat(below(200))),
                    1 => text.push_str(&texts[below(texts.len())]),
                    _ => text.push_str(&"漢字とé".repeat(below(100))),
                }
            }
            let end = truncate(&text, below(text.len())).len();
            let ill_formed: &[u8] =
                [&b"\xFF"[..], b"\xC3a", b"\xED\xA0\x80", b"\x80", b"\xF0\x9F\x92", b"\xC1\xBF"][below(6)];
            let input = [&text.as_bytes()[..end], ill_formed, &text.as_bytes()[end..]].concat();
            let utf_16: Vec<u8> = text[..end].encode_utf16().flat_map(order::<BIG_ENDIAN>).collect();
            let mut out = vec![0xEE; 2 * input.len() + 64];
            let (read, written) = encode_by::<BIG_ENDIAN>(kernel, &input, &mut out[..2 * input.len()]);
            assert!((read, &out[..written]) == (end, &utf_16), "{kernel:?}, round {round}");
            assert_eq!(out[2 * input.len()..], [0xEE; 64], "{kernel:?}, round {round}");

            let room = below(2 * end + 1);
            let mut out = vec![0xEE; room + 64];
            let (read, written) = encode_by::<BIG_ENDIAN>(kernel, &input, &mut out[..room]);
            let units = input[..read].iter().filter(|byte| !(0x80..0xC0).contains(*byte)).count();
            let pairs = input[..read].iter().filter(|&&byte| byte >= 0xF0).count();
            assert!(
                text.is_char_boundary(read) && written == 2 * (units + pairs),
                "{kernel:?}, round {round}"
            );
            assert!(out[..written] == utf_16[..written], "{kernel:?}, round {round}");
            assert_eq!(out[room..], [0xEE; 64], "{kernel:?}, round {round}");
            // There are 2 bytes for each byte read, except that a character may be left.
            assert!(read == end || read + 4 > room / 2, "{kernel:?}, round {round}");
        }
    }

    fn check_output_lengths<const BIG_ENDIAN: bool>(kernel: Kernel) {
        for part in ["a", "é", "漢", "💩", "漢字 é", "a💩"] {
            let text = part.repeat(120);
            let utf_16: Vec<u8> = text.encode_utf16().flat_map(order::<BIG_ENDIAN>).collect();
            for room in 0..2 * text.len() + 8 {
                let mut out = vec![0xEE; room + 64];
                let (_, written) = encode_by::<BIG_ENDIAN>(kernel, text.as_bytes(), &mut out[..room]);
                assert!(out[..written] == utf_16[..written], "{kernel:?}, {part}, {room}");
                assert_eq!(out[room..], [0xEE; 64], "{kernel:?}, {part}, {room}");

                let mut out = vec![0xEE; room + 64];
                let (_, written) = decode_by::<BIG_ENDIAN>(kernel, &utf_16, &mut out[..room]);
                assert!(out[..written] == text.as_bytes()[..written], "{kernel:?}, {part}, {room}");
                assert_eq!(out[room..], [0xEE; 64], "{kernel:?}, {part}, {room}");
                // The last 4 bytes of the output may remain.
                assert!(written == text.len() || room - written < 4, "{kernel:?}, {part}, {room}");
            }
        }
    }

    #[test]
    fn every_output_length() {
        for kernel in Kernel::available() {
            check_output_lengths::<false>(kernel);
            check_output_lengths::<true>(kernel);
        }
    }

    #[test]
    fn long_texts_and_ill_formed_sequences() {
        for kernel in Kernel::available() {
            check_long::<false>(kernel);
            check_long::<true>(kernel);
        }
    }

    #[cfg(all(unix, feature = "codec"))]
    fn check_guarded<const BIG_ENDIAN: bool>(kernel: Kernel) {
        use crate::kernels::tests::guarded::Guarded;
        let (mut from, mut to) = (Guarded::new(4096), Guarded::new(4096));
        for (i, text) in texts().enumerate() {
            let utf_16: Vec<u8> = text.encode_utf16().flat_map(order::<BIG_ENDIAN>).collect();
            let at_end = i % 2 == 0;
            for room in [2 * text.len(), i % (2 * text.len() + 1)] {
                for (is_encoding, source, target) in
                    [(true, text.as_bytes(), &utf_16[..]), (false, &utf_16[..], text.as_bytes())]
                {
                    let input = from.slice(source.len(), at_end);
                    input.copy_from_slice(source);
                    let output = to.slice(room, at_end);
                    let convert = if is_encoding { encode_by::<BIG_ENDIAN> } else { decode_by::<BIG_ENDIAN> };
                    let (_, written) = convert(kernel, input, output);
                    assert!(output[..written] == target[..written], "{kernel:?} {room} {text}");
                }
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

    fn check_every_character<const BIG_ENDIAN: bool>(kernel: Kernel) {
        let fillers = ["", "a", "é", "漢", "éa", "a漢"];
        let mut rng = Rng::new(61);
        for kinds in [1, 4, 6] {
            // Every character, between characters of other lengths, at many positions of a vector.
            let mut text = "x".repeat(kinds);
            for character in '\0'..=char::MAX {
                text.push(character);
                text.push_str(fillers[rng.below(kinds)]);
            }
            let utf_16: Vec<u8> = text.encode_utf16().flat_map(order::<BIG_ENDIAN>).collect();
            let mut out = vec![0; 2 * text.len()];
            let len = encode_by::<BIG_ENDIAN>(kernel, text.as_bytes(), &mut out).1;
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

    fn check_among_zeros<const BIG_ENDIAN: bool>(kernel: Kernel) {
        for text in characters_among_zeros() {
            let utf_16: Vec<u8> = text.encode_utf16().flat_map(order::<BIG_ENDIAN>).collect();
            let mut out = vec![0xEE; 2 * text.len()];
            let len = encode_by::<BIG_ENDIAN>(kernel, text.as_bytes(), &mut out).1;
            assert_eq!(out[..len], utf_16, "{kernel:?}");
            let (read, written) = decode_by::<BIG_ENDIAN>(kernel, &utf_16, &mut out);
            assert_eq!((read, &out[..written]), (utf_16.len(), text.as_bytes()), "{kernel:?}");
        }
    }

    #[test]
    fn every_bit_is_converted_among_zeros() {
        Kernel::available().for_each(check_among_zeros::<false>);
        Kernel::available().for_each(check_among_zeros::<true>);
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
