//! Conversions between UTF-32, UTF-8 and UTF-16.

use super::arch::utf32::{decode_portable, encode_portable, from_utf16_portable, to_utf16_portable};
use super::dispatch::Kernel;
use super::functions::Convert;
use super::state::AtBoundary;
use super::validation::prefix;
use crate::boundary::truncate;

/// The number of bytes that are validated at a time and then read again. They fit in the L1 cache.
const PAGE: usize = 4 * 1024;

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
        if let Some(convert) = kernel.utf32().and_then(|it| it.encode_ascii) {
            let (input, output) = (&input[read..], &mut output[written..]);
            // SAFETY: the CPU has the instructions of every `Kernel`.
            let (taken, made) = unsafe { (convert[usize::from(BIG_ENDIAN)])(input, output) };
            read += taken;
            written += made;
        }
        let len = (input.len() - read).min((output.len() - written) / 4).min(PAGE);
        let (text, _) = prefix(AtBoundary::START, &input[read..read + len]);
        let text = truncate(text, (output.len() - written) / 4);
        if text.is_empty() {
            return (read, written);
        }
        let room = &mut output[written..];
        let (taken, made) = match kernel.utf32() {
            // SAFETY: the CPU has the instructions of every `Kernel`; the output has 4 bytes for each byte of the text.
            Some(utf32) => unsafe { (utf32.encode[usize::from(BIG_ENDIAN)])(text, room) },
            None => (0, 0),
        };
        let rest = encode_portable::<BIG_ENDIAN>(&text[taken..], &mut room[made..]);
        written += made + rest.1;
        read += text.len();
        if text.len() + 3 < len {
            // There is an ill-formed sequence. Another iteration would stop at it again.
            return (read, written);
        }
    }
}

/// Reads UTF-32 and writes UTF-8 while there is input and output space, up to a value that is not a scalar value.
/// Returns the number of bytes read and the number of bytes written.
pub(crate) fn decode<const BIG_ENDIAN: bool>(input: &[u8], output: &mut [u8]) -> (usize, usize) {
    let vectors = Kernel::in_use().utf32().map(|it| it.decode[usize::from(BIG_ENDIAN)]);
    both(vectors, decode_portable::<BIG_ENDIAN>, input, output)
}

/// Reads UTF-16 and writes UTF-32 while there is input and output space, up to an unpaired surrogate. Returns the
/// number of bytes read and the number of bytes written.
pub(crate) fn from_utf16<const FROM_BIG_ENDIAN: bool, const BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let orders = 2 * usize::from(FROM_BIG_ENDIAN) + usize::from(BIG_ENDIAN);
    let vectors = Kernel::in_use().utf32().map(|it| it.from_utf16[orders]);
    both(vectors, from_utf16_portable::<FROM_BIG_ENDIAN, BIG_ENDIAN>, input, output)
}

/// Reads UTF-32 and writes UTF-16 while there is input and output space, up to a value that is not a scalar value.
/// Returns the number of bytes read and the number of bytes written.
pub(crate) fn to_utf16<const BIG_ENDIAN: bool, const TO_BIG_ENDIAN: bool>(
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let orders = 2 * usize::from(BIG_ENDIAN) + usize::from(TO_BIG_ENDIAN);
    let vectors = Kernel::in_use().utf32().map(|it| it.to_utf16[orders]);
    both(vectors, to_utf16_portable::<BIG_ENDIAN, TO_BIG_ENDIAN>, input, output)
}

/// Runs the vector code of a kernel, if it has any, and then the portable loop for the rest.
fn both(
    vectors: Option<Convert>,
    portable: fn(&[u8], &mut [u8]) -> (usize, usize),
    input: &[u8],
    output: &mut [u8],
) -> (usize, usize) {
    let (read, written) = match vectors {
        // SAFETY: `convert` is a function of a kernel that this CPU supports.
        Some(convert) => unsafe { convert(input, output) },
        None => (0, 0),
    };
    let rest = portable(&input[read..], &mut output[written..]);
    (read + rest.0, written + rest.1)
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

    /// Checks a conversion by a kernel and the portable loop, for the whole input and with too little output space. The
    /// input and the output start at various addresses.
    fn check(
        vectors: Option<Convert>,
        portable: fn(&[u8], &mut [u8]) -> (usize, usize),
        from: &[u8],
        to: &[u8],
    ) {
        let shift = from.len() / 2 % 33;
        let source = [&vec![0xEE; shift], from].concat();
        for room in [to.len() + 200, to.len() + 3, to.len() / 2] {
            let mut out = vec![0xEE; shift + room + 64];
            let (read, written) = both(vectors, portable, &source[shift..], &mut out[shift..shift + room]);
            assert_eq!(out[shift..shift + written], to[..written]);
            assert!(out[..shift].iter().all(|&byte| byte == 0xEE), "writes before the start");
            assert_eq!(out[shift + room..], [0xEE; 64], "writes after the end");
            assert!(room < to.len() || (read, written) == (from.len(), to.len()), "stops early");
            assert!(room - written < 8 || read == from.len(), "stops early");
        }
        if let Some(convert) = vectors {
            // SAFETY: `convert` is a function of a kernel that this CPU supports.
            let (read, _) = unsafe { convert(from, &mut vec![0; to.len() + 200]) };
            assert!(from.len() - read < 130, "the vector code stops early");
        }
    }

    fn check_text<const A: bool, const B: bool>(kernel: Kernel, text: &str) {
        let (utf_16, utf_32) = (utf_16::<A>(text), utf_32::<B>(text));
        let of = |pick: fn(&crate::kernels::functions::Utf32) -> Convert| kernel.utf32().map(pick);
        let decode = of(|it| it.decode[usize::from(B)]);
        check(decode, decode_portable::<B>, &utf_32, text.as_bytes());
        let from_utf16 = of(|it| it.from_utf16[2 * usize::from(A) + usize::from(B)]);
        check(from_utf16, from_utf16_portable::<A, B>, &utf_16, &utf_32);
        let to_utf16 = of(|it| it.to_utf16[2 * usize::from(B) + usize::from(A)]);
        check(to_utf16, to_utf16_portable::<B, A>, &utf_32, &utf_16);

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
            let utf32 = kernel.utf32();
            for (len, at_end) in slices(500) {
                let mut text = String::new();
                while text.len() < len {
                    text.push_str(parts[rng.below(1 + len % parts.len())]);
                }
                let (utf_8, utf_16, utf_32) =
                    (text.as_bytes(), utf_16::<false>(&text), utf_32::<false>(&text));
                let encode = |input: &[u8], output: &mut [u8]| encode_by::<false>(kernel, input, output);
                let decode = |input: &[u8], output: &mut [u8]| {
                    both(utf32.map(|it| it.decode[0]), decode_portable::<false>, input, output)
                };
                let widen = |input: &[u8], output: &mut [u8]| {
                    both(utf32.map(|it| it.from_utf16[0]), from_utf16_portable::<false, false>, input, output)
                };
                let narrow = |input: &[u8], output: &mut [u8]| {
                    both(utf32.map(|it| it.to_utf16[0]), to_utf16_portable::<false, false>, input, output)
                };
                type Convert<'a> = &'a dyn Fn(&[u8], &mut [u8]) -> (usize, usize);
                let conversions: [(Convert<'_>, &[u8], &[u8]); 4] = [
                    (&encode, utf_8, &utf_32),
                    (&decode, &utf_32, utf_8),
                    (&widen, &utf_16, &utf_32),
                    (&narrow, &utf_32, &utf_16),
                ];
                for (convert, source, target) in conversions {
                    for room in [target.len(), target.len() * (len % 8) / 8] {
                        let input = from.slice(source.len(), at_end);
                        input.copy_from_slice(source);
                        let output = to.slice(room, at_end);
                        let (_, written) = convert(input, output);
                        assert!(output[..written] == target[..written], "{kernel:?} {room} {text}");
                    }
                }
            }
        }
    }

    #[test]
    fn conversions_stop_at_a_value_that_is_not_a_scalar_value() {
        for kernel in Kernel::available() {
            let utf32 = kernel.utf32();
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
                        let decode = utf32.map(|it| it.decode[0]);
                        assert_eq!(both(decode, decode_portable::<false>, &input, &mut out).0, stop);
                        let to_utf16 = utf32.map(|it| it.to_utf16[0]);
                        assert_eq!(
                            both(to_utf16, to_utf16_portable::<false, false>, &input, &mut out).0,
                            stop
                        );
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
                        let from_utf16 = utf32.map(|it| it.from_utf16[0]);
                        let (read, _) =
                            both(from_utf16, from_utf16_portable::<false, false>, &input, &mut out);
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
        for kernel in Kernel::available().filter(|kernel| kernel.utf32().is_some()) {
            let utf32 = kernel.utf32();
            let decode = utf32.map(|it| it.decode[0]);
            let to_utf16 = utf32.map(|it| it.to_utf16[0]);
            for start in blocks.clone().chain(higher.clone()) {
                let mut input = [0; 64];
                for (unit, value) in input.as_chunks_mut().0.iter_mut().zip(start..=start + 15) {
                    *unit = value.to_le_bytes();
                }
                let stop = if char::from_u32(start).is_some() { input.len() } else { 0 };
                let (read, _) = both(decode, decode_portable::<false>, &input, &mut out);
                assert_eq!(read, stop, "{kernel:?} {start:X}");
                let (read, _) = both(to_utf16, to_utf16_portable::<false, false>, &input, &mut out);
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
