//! Conversions between UTF-32, UTF-8 and UTF-16.
//!
//! UTF-32 and UTF-8 are converted through UTF-16, in pieces: both steps have vector code. Only AVX-512 has code for UTF-8
//! to UTF-32 in one step.

use super::arch::units as portable;
use super::dispatch::Kernel;
use super::state::AtBoundary;
use super::utf16;
use super::validation::prefix;
use crate::boundary::truncate;

/// The number of bytes that are validated at a time and then read again. They fit in the L1 cache.
const PAGE: usize = 4 * 1024;

/// The number of UTF-16 code units in a piece, and in a piece of short input.
const PIECE: usize = 2 * 1024;
const SHORT_PIECE: usize = 128;

/// Reads UTF-8 and writes UTF-32 while there is input and output space, up to an ill-formed sequence. Returns the
/// number of bytes read and the number of bytes written.
///
/// An input byte is only read if there are 4 bytes of output for it, which is always enough.
pub(crate) fn encode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    encode_by::<BIG_ENDIAN>(Kernel::in_use(), input, output)
}

fn encode_by<const BIG_ENDIAN: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    loop {
        let ascii = kernel.units().ascii_to_utf32[usize::from(BIG_ENDIAN)];
        // SAFETY: the CPU has the instructions of every `Kernel`.
        let (taken, made) = unsafe { ascii(&input[read..], &mut output[written..]) };
        read += taken;
        written += made;
        let Some(convert) = kernel.encode_utf32() else { break };
        let (rest, room) = (&input[read..], &mut output[written..]);
        let (text, _) = prefix(AtBoundary::START, &rest[..rest.len().min(PAGE)]);
        let text = truncate(text, room.len() / 4);
        // SAFETY: the CPU has the instructions of every `Kernel`; the output has 4 bytes for each byte of the text.
        let (taken, made) = unsafe { (convert[usize::from(BIG_ENDIAN)])(text, room) };
        read += taken;
        written += made;
        if taken == 0 {
            break;
        }
    }
    let (rest, room) = (&input[read..], &mut output[written..]);
    let (taken, made) = if rest.len() <= SHORT_PIECE {
        encode_pieces::<SHORT_PIECE, BIG_ENDIAN>(kernel, rest, room)
    } else {
        encode_pieces::<PIECE, BIG_ENDIAN>(kernel, rest, room)
    };
    (read + taken, written + made)
}

/// [`encode_by`] through `UNITS` code units of UTF-16.
fn encode_pieces<const UNITS: usize, const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    let mut units = [[0; 2]; UNITS];
    let units = units.as_flattened_mut();
    loop {
        let (rest, room) = (&input[read..], &mut output[written..]);
        let len = rest.len().min(room.len() / 4).min(UNITS);
        let (taken, made) = utf16::encode_by::<false>(kernel, &rest[..len], units);
        let (_, made) = from_utf16_by::<false, BIG_ENDIAN>(kernel, &units[..made], room);
        read += taken;
        written += made;
        if taken + 3 < len || taken == 0 {
            return (read, written);
        }
    }
}

/// Reads UTF-32 and writes UTF-8 while there is input and output space, up to a value that is not a scalar value.
/// Returns the number of bytes read and the number of bytes written.
pub(crate) fn decode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    decode_by::<BIG_ENDIAN>(Kernel::in_use(), input, output)
}

fn decode_by<const BIG_ENDIAN: bool>(kernel: Kernel, input: &[u8], output: &mut [u8]) -> (usize, usize) {
    if input.len() <= 4 * SHORT_PIECE {
        decode_pieces::<SHORT_PIECE, BIG_ENDIAN>(kernel, input, output)
    } else {
        decode_pieces::<PIECE, BIG_ENDIAN>(kernel, input, output)
    }
}

/// [`decode_by`] through `UNITS` code units of UTF-16.
fn decode_pieces<const UNITS: usize, const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (mut read, mut written) = (0, 0);
    let mut units = [[0; 2]; UNITS];
    let units = units.as_flattened_mut();
    loop {
        let (taken, made) = to_utf16_by::<BIG_ENDIAN, false>(kernel, &input[read..], units);
        let (used, out) = utf16::decode_by::<false>(kernel, &units[..made], &mut output[written..]);
        written += out;
        if used < made {
            return (read + 4 * characters(&units[..used]), written);
        }
        read += taken;
        if made + 2 < units.len() {
            return (read, written);
        }
    }
}

/// Returns the number of characters of well-formed little-endian UTF-16.
fn characters(units: &[u8]) -> usize {
    units.as_chunks::<2>().0.iter().filter(|[_, high]| high & 0xFC != 0xDC).count()
}

/// Reads UTF-16 and writes UTF-32 while there is input and output space, up to an unpaired surrogate. Returns the
/// number of bytes read and the number of bytes written.
pub(crate) fn from_utf16<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    from_utf16_by::<FROM_BIG_ENDIAN, BIG_ENDIAN>(Kernel::in_use(), input, output)
}

fn from_utf16_by<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let orders = 2 * usize::from(FROM_BIG_ENDIAN) + usize::from(BIG_ENDIAN);
    // SAFETY: this CPU supports every `Kernel`.
    let (read, written) = unsafe { (kernel.units().from_utf16[orders])(input, output) };
    // Vector code leaves less than a vector.
    let rest = portable::from_utf16::<FROM_BIG_ENDIAN, BIG_ENDIAN>(&input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
}

/// Reads UTF-32 and writes UTF-16 while there is input and output space, up to a value that is not a scalar value.
/// Returns the number of bytes read and the number of bytes written.
pub(crate) fn to_utf16<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    to_utf16_by::<BIG_ENDIAN, TO_BIG_ENDIAN>(Kernel::in_use(), input, output)
}

fn to_utf16_by<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
    kernel: Kernel,
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let orders = 2 * usize::from(BIG_ENDIAN) + usize::from(TO_BIG_ENDIAN);
    // SAFETY: this CPU supports every `Kernel`.
    unsafe { (kernel.units().to_utf16[orders])(input, output) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::arch::utf16::order;
    use crate::kernels::tests::characters_among_zeros;
    use crate::rng::Rng;

    fn order_32<const BIG_ENDIAN: bool>(value: u32) -> [u8; 4] {
        if BIG_ENDIAN { value.to_be_bytes() } else { value.to_le_bytes() }
    }

    fn utf_32<const BIG_ENDIAN: bool>(text: &str) -> Vec<u8> {
        text.chars().flat_map(|character| order_32::<BIG_ENDIAN>(character.into())).collect()
    }

    fn utf_16<const BIG_ENDIAN: bool>(text: &str) -> Vec<u8> {
        text.encode_utf16().flat_map(order::<BIG_ENDIAN>).collect()
    }

    type Convert = fn(Kernel, &[u8], &mut [u8]) -> (usize, usize);

    /// Checks a conversion for the whole input and with too little output space. The input and the output start at various
    /// addresses.
    fn check(kernel: Kernel, convert: Convert, from: &[u8], to: &[u8]) {
        let shift = from.len() / 2 % 33;
        let source = [&vec![0xEE; shift], from].concat();
        for room in [to.len() + 200, to.len() + 3, to.len() / 2] {
            let mut out = vec![0xEE; shift + room + 64];
            let (read, written) = convert(kernel, &source[shift..], &mut out[shift..shift + room]);
            assert_eq!(out[shift..shift + written], to[..written]);
            assert!(out[..shift].iter().all(|&byte| byte == 0xEE), "writes before the start");
            assert_eq!(out[shift + room..], [0xEE; 64], "writes after the end");
            assert!(room < to.len() || (read, written) == (from.len(), to.len()), "stops early");
            assert!(room - written < 8 || read == from.len(), "stops early");
        }
    }

    fn check_text<const A: bool, const B: bool>(kernel: Kernel, text: &str) {
        let (utf_16, utf_32) = (utf_16::<A>(text), utf_32::<B>(text));
        check(kernel, decode_by::<B>, &utf_32, text.as_bytes());
        check(kernel, from_utf16_by::<A, B>, &utf_16, &utf_32);
        check(kernel, to_utf16_by::<B, A>, &utf_32, &utf_16);

        let mut out = vec![0xEE; 4 * text.len() + 64];
        let (read, written) = encode_by::<B>(kernel, text.as_bytes(), &mut out[..4 * text.len()]);
        assert_eq!((read, &out[..written]), (text.len(), &utf_32[..]), "{kernel:?} {text}");
        assert_eq!(out[4 * text.len()..], [0xEE; 64], "{kernel:?} writes after the end");
        let (read, written) = encode_by::<B>(kernel, text.as_bytes(), &mut out[..2 * text.len()]);
        assert_eq!(utf_32[..written], out[..written], "{kernel:?} {text}");
        assert_eq!(text[..read].chars().count() * 4, written, "{kernel:?} {text}");
    }

    /// Every scalar value in a vector, among characters of every length.
    #[test]
    fn every_scalar_value_is_converted() {
        for kernel in Kernel::available() {
            type Check = fn(Kernel, &str);
            let checks: [(&str, [Check; 2]); 2] = [
                ("a", [check_text::<false, false>, check_text::<true, true>]),
                ("aé漢💩", [check_text::<true, false>, check_text::<false, true>]),
            ];
            for (fillers, checks) in checks {
                let mut fillers = fillers.chars().cycle();
                let mut text = String::new();
                for (i, character) in ('\0'..=char::MAX).enumerate() {
                    text.push(character);
                    text.extend(fillers.by_ref().take(i % 3));
                    if text.len() > 900 || character == char::MAX {
                        checks.iter().for_each(|check| check(kernel, &text));
                        text.clear();
                    }
                }
            }
        }
    }

    #[test]
    fn every_bit_is_converted_among_zeros() {
        for kernel in Kernel::available() {
            for text in characters_among_zeros() {
                check_text::<false, false>(kernel, &text);
                check_text::<true, false>(kernel, &text);
                check_text::<false, true>(kernel, &text);
                check_text::<true, true>(kernel, &text);
            }
        }
    }

    #[test]
    fn every_length_and_every_position_of_a_vector() {
        let parts = ["a", "é", "€", "💩", "plain ASCII, longer than a block", "ёж", "漢字", "💩💩"];
        let mut rng = Rng::new(16);
        for kernel in Kernel::available() {
            for len in 0..700 {
                let mut text = "x".repeat(len % 67);
                while text.len() < len {
                    text.push_str(parts[rng.below(1 + len % parts.len())]);
                }
                check_text::<false, false>(kernel, &text);
                check_text::<true, false>(kernel, &text);
                check_text::<false, true>(kernel, &text);
                check_text::<true, true>(kernel, &text);
            }
        }
    }

    #[test]
    #[cfg(all(unix, feature = "codec"))]
    fn no_access_outside_the_input_and_the_output() {
        use crate::kernels::tests::guarded::{Guarded, slices};
        let (mut from, mut to) = (Guarded::new(4096), Guarded::new(4096));
        let parts = ["a", "é", "€", "💩", "plain ASCII, longer than a block", "ёж", "漢字", "💩💩"];
        let mut rng = Rng::new(32);
        for kernel in Kernel::available() {
            for (len, at_end) in slices(500) {
                let mut text = String::new();
                while text.len() < len {
                    text.push_str(parts[rng.below(1 + len % parts.len())]);
                }
                let (utf_8, utf_16, utf_32) =
                    (text.as_bytes(), utf_16::<false>(&text), utf_32::<false>(&text));
                let conversions: [(Convert, &[u8], &[u8]); 4] = [
                    (encode_by::<false>, utf_8, &utf_32),
                    (decode_by::<false>, &utf_32, utf_8),
                    (from_utf16_by::<false, false>, &utf_16, &utf_32),
                    (to_utf16_by::<false, false>, &utf_32, &utf_16),
                ];
                for (convert, source, target) in conversions {
                    for room in [target.len(), target.len() * (len % 8) / 8] {
                        let input = from.slice(source.len(), at_end);
                        input.copy_from_slice(source);
                        let output = to.slice(room, at_end);
                        let (_, written) = convert(kernel, input, output);
                        assert!(output[..written] == target[..written], "{kernel:?} {room} {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn conversions_stop_at_a_value_that_is_not_a_scalar_value() {
        for kernel in Kernel::available() {
            for value in [0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0x11_0000, 0x1_D800, 0x7FFF_FFFF, 0xFFFF_FFFF_u32] {
                let is_scalar = char::from_u32(value).is_some();
                for before in 0..70 {
                    for filler in ['a', 'é', '漢', '💩'] {
                        let text: String = core::iter::repeat_n(filler, before).collect();
                        let after: String = core::iter::repeat_n(filler, 70).collect();
                        let input =
                            [utf_32::<false>(&text), value.to_le_bytes().to_vec(), utf_32::<false>(&after)]
                                .concat();
                        let stop = if is_scalar { input.len() } else { 4 * before };
                        let mut out = [0; 1_000];
                        assert_eq!(decode_by::<false>(kernel, &input, &mut out).0, stop);
                        assert_eq!(to_utf16_by::<false, false>(kernel, &input, &mut out).0, stop);
                    }
                }
            }
            for half in 0xD800..=0xDFFF_u16 {
                let edges = [0xD800, 0xDBFF, 0xDC00, 0xDFFF];
                let all = if edges.contains(&half) { 0..70 } else { 0..0 };
                for before in all.chain([usize::from(half) % 70]) {
                    for filler in ['a', '💩'] {
                        let text: String = core::iter::repeat_n(filler, before).collect();
                        let utf_16 = utf_16::<false>(&text);
                        let input = [&utf_16[..], &half.to_le_bytes(), &[b'a', 0].repeat(70)].concat();
                        let mut out = [0; 1_000];
                        let (read, _) = from_utf16_by::<false, false>(kernel, &input, &mut out);
                        assert_eq!(read, utf_16.len(), "{kernel:?} {before} {half:X}");
                    }
                }
            }
        }
    }

    /// All values up to 0x20_0000, and values with each of the high halves above. Either all values of a block are scalar
    /// values, or none is.
    #[test]
    fn every_value_that_is_not_a_scalar_value_stops_the_conversion() {
        let mut out = [0; 128];
        let blocks = (0..0x20_0000).step_by(16);
        let higher = (0x20_u32..=0xFFFF).flat_map(|high| [0, 0xD800, 0xFFF0].map(|low| high << 16 | low));
        for kernel in Kernel::available() {
            for start in blocks.clone().chain(higher.clone()) {
                let mut input = [0; 64];
                for (unit, value) in input.as_chunks_mut().0.iter_mut().zip(start..=start + 15) {
                    *unit = value.to_le_bytes();
                }
                let stop = if char::from_u32(start).is_some() { input.len() } else { 0 };
                let (read, _) = decode_by::<false>(kernel, &input, &mut out);
                assert_eq!(read, stop, "{kernel:?} {start:X}");
                let (read, _) = to_utf16_by::<false, false>(kernel, &input, &mut out);
                assert_eq!(read, stop, "{kernel:?} {start:X}");
            }
        }
    }

    /// A byte that is not ASCII at every position of a long ASCII text, with various amounts of output space.
    #[test]
    fn ascii_stops_at_every_position() {
        for kernel in Kernel::available() {
            for end in ["", "é", "€", "💩"] {
                for before in 0..200 {
                    let text = ["x".repeat(before), end.to_owned(), "y".repeat(70)].concat();
                    check_text::<false, false>(kernel, &text);
                    let bad = [text.as_bytes(), b"\xFF", &b"z".repeat(70)].concat();
                    for room in [4 * bad.len(), 4 * text.len(), 2 * text.len(), before] {
                        let mut out = vec![0xEE; room + 64];
                        let (read, written) = encode_by::<true>(kernel, &bad, &mut out[..room]);
                        let expected = utf_32::<true>(&text);
                        assert_eq!(out[..written], expected[..written], "{kernel:?} {text}");
                        assert_eq!(text[..read].chars().count() * 4, written, "{kernel:?} {text}");
                        assert_eq!(out[room..], [0xEE; 64], "{kernel:?} writes after the end");
                        assert!(room < 4 * text.len() || read == text.len(), "{kernel:?} stops early");
                    }
                }
            }
        }
    }
}
