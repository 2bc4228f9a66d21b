//! Compares every conversion of every kernel with one that converts character by character.

use super::guarded::Guarded;
use super::{CRITICAL, characters_among_zeros};
use crate::arch::utf16::encode_portable;
use crate::conversions::Form::{self, Latin1, Utf8, Utf16Be, Utf16Le, Windows1252};
use crate::conversions::convert_by;
use crate::dispatch::Kernel;
use crate::rng::Rng;
use crate::windows_1252::windows_1252;

/// The encodings that are converted to and from UTF-8.
const OTHERS: [Form; 4] = [Latin1, Windows1252, Utf16Le, Utf16Be];

fn convert(kernel: Kernel, [from, to]: [Form; 2], input: &[u8], output: &mut [u8]) -> (usize, usize) {
    convert_by(kernel, from, to, input, output).expect("one of them is UTF-8")
}

/// Returns the length of a code unit, and 0 for UTF-8.
fn width(encoding: Form) -> usize {
    match encoding {
        Utf8 => 0,
        Latin1 | Windows1252 => 1,
        _ => 2,
    }
}

/// Returns the pairs of encodings for which [`is_tested`] returns true. There are 8 conversions.
fn pairs(is_tested: impl Fn(Form, Form) -> bool) -> Vec<[Form; 2]> {
    let all = OTHERS.into_iter().flat_map(|other| [[Utf8, other], [other, Utf8]]);
    all.filter(|&[from, to]| is_tested(from, to)).collect()
}

/// Returns the bytes in the order of the encoding. `bytes` is big-endian.
fn order<const N: usize>(encoding: Form, mut bytes: [u8; N]) -> [u8; N] {
    if encoding == Utf16Le {
        bytes.reverse();
    }
    bytes
}

/// Returns the character at the start of the input and its length. Returns `None` if it is ill-formed or unfinished.
fn first(encoding: Form, input: &[u8]) -> Option<(char, usize)> {
    let unit = |at| Some(u16::from_be_bytes(order(encoding, *input.get(at..)?.first_chunk()?)));
    match encoding {
        Utf8 => (1..=4).find_map(|len| {
            let text = core::str::from_utf8(input.get(..len)?).ok()?;
            Some((text.chars().next()?, len))
        }),
        Latin1 => Some((char::from(*input.first()?), 1)),
        Windows1252 => Some((windows_1252(*input.first()?), 1)),
        _ => {
            let one = unit(0)?;
            let units = if matches!(one, 0xD800..0xDC00) { vec![one, unit(2)?] } else { vec![one] };
            let character = char::decode_utf16(units.iter().copied()).next()?.ok()?;
            Some((character, 2 * units.len()))
        }
    }
}

/// Appends a character. Returns `None` if the encoding does not have it.
fn put(encoding: Form, character: char, out: &mut Vec<u8>) -> Option<()> {
    let same = u8::try_from(character);
    match encoding {
        Utf8 => out.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes()),
        Latin1 => out.push(same.ok()?),
        Windows1252 => {
            let is_same = same.is_ok_and(|byte| windows_1252(byte) == character);
            let other = || (0x80..=0x9F).find(|&byte| windows_1252(byte) == character);
            out.push(if is_same { same.ok()? } else { other()? });
        }
        _ => {
            let mut units = [0; 2];
            for unit in character.encode_utf16(&mut units) {
                out.extend(order(encoding, unit.to_be_bytes()));
            }
        }
    }
    Some(())
}

/// Returns a text in an encoding, without the characters that it does not have.
fn encoded(encoding: Form, text: &str) -> Vec<u8> {
    let mut out = Vec::new();
    text.chars().for_each(|character| _ = put(encoding, character, &mut out));
    out
}

/// Compares conversions with the model, between pages that cannot be accessed.
struct Checker {
    from: Guarded,
    to: Guarded,
    rng: Rng,
}

impl Checker {
    fn new() -> Self {
        Self { from: Guarded::new(1 << 16), to: Guarded::new(1 << 17), rng: Rng::new(16) }
    }

    /// Checks a conversion by each kernel: with more output space than is needed, and with exactly enough or less.
    fn check(&mut self, pair: [Form; 2], input: &[u8]) {
        let (mut out, mut read, mut ends) = (Vec::new(), 0, vec![(0, 0)]);
        while let Some((character, len)) = first(pair[0], &input[read..]) {
            if put(pair[1], character, &mut out).is_none() {
                break;
            }
            read += len;
            ends.push((read, out.len()));
        }
        let less = self.rng.below(2) * self.rng.below(out.len() + 1);
        for kernel in Kernel::available() {
            for room in [4 * input.len() + 70, out.len() - less] {
                self.check_room(kernel, pair, input, room, &out, &ends);
            }
        }
    }

    /// `ends` has the positions in the input and in the output after each character that can be converted.
    fn check_room(
        &mut self,
        kernel: Kernel,
        pair: [Form; 2],
        input: &[u8],
        room: usize,
        out: &[u8],
        ends: &[(usize, usize)],
    ) {
        let sides = self.rng.below(4);
        let source = self.from.slice(input.len(), sides & 1 > 0);
        source.copy_from_slice(input);
        let output = self.to.slice(room, sides & 2 > 0);
        let (read, written) = convert(kernel, pair, source, output);
        let context = || format!("{kernel:?} {pair:?}, {room} bytes, {read} and {written}: {input:02X?}");
        let Ok(at) = ends.binary_search(&(read, written)) else {
            panic!("inside a character: {}", context())
        };
        assert!(output[..written] == out[..written], "{}", context());
        let Some(next) = ends.get(at + 1) else { return };
        // The output space without which a conversion may stop.
        let is_early = match pair.map(width) {
            // 2 bytes for each byte of the input; the kernels without vectors stop at the first half of the output.
            [0, 2] => read + 4 <= room / 2,
            [2, 0] => written + 4 <= room,
            _ => next.1 <= room,
        };
        assert!(!is_early, "stops early: {}", context());
    }
}

/// Characters of each length in each encoding, as fillers.
const FILLERS: [&str; 4] = ["a", "é", "漢", "💩"];

/// Checks texts of the characters, each between others.
fn check_characters(is_tested: impl Fn(char) -> bool) {
    let mut checker = Checker::new();
    for pair in pairs(|_, _| true) {
        let (mut text, mut fillers) = (String::new(), FILLERS.into_iter().chain(["", ""]).cycle());
        // All other characters of an encoding of single bytes are tested as those at which a conversion stops.
        let last = if pair.iter().any(|&it| width(it) == 1) { '\u{2122}' } else { char::MAX };
        let mut bytes = Vec::new();
        // Both byte orders have the same code.
        let step = if pair.contains(&Utf16Be) { 7 } else { 1 };
        for character in ('\0'..=last).filter(|&character| is_tested(character)).step_by(step).chain([last]) {
            if pair.iter().all(|&encoding| put(encoding, character, &mut bytes).is_some()) {
                text.push(character);
                text.extend(fillers.next());
            }
            bytes.clear();
            if text.len() > 900 || character == last {
                text.retain(|character| put(pair[1], character, &mut bytes).is_some());
                checker.check(pair, &encoded(pair[0], &text));
                text.clear();
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn characters_are_converted_among_others() {
    // Only a part of the planes without assigned characters.
    check_characters(|it| matches!(it, '\0'..'\u{2_0000}' | '\u{10_FF00}'..) || u32::from(it) % 61 == 0);
}

#[test]
#[ignore = "seconds in release mode, minutes without optimization"]
fn every_character_is_converted_among_others() {
    check_characters(|_| true);
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn every_bit_is_converted_among_zeros() {
    let mut checker = Checker::new();
    for text in characters_among_zeros() {
        for pair in pairs(|from, _| width(from) != 1) {
            checker.check(pair, &encoded(pair[0], &text));
        }
    }
}

/// Returns sequences that may not be converted: well-formed and ill-formed sequences of each kind.
fn critical(encoding: Form) -> Vec<Vec<u8>> {
    let characters = "\0\u{7F}\u{80}\u{81}\u{93}\u{9F}\u{A0}éÿ\u{100}€™\u{200B}漢\u{FFFF}💩\u{10_FFFF}";
    let mut all: Vec<Vec<u8>> = characters.chars().map(|it| encoded(encoding, &it.to_string())).collect();
    let units = |units: &[u16]| units.iter().flat_map(|it| order(encoding, it.to_be_bytes())).collect();
    match encoding {
        Utf8 => all.extend(CRITICAL.map(Vec::from)),
        Utf16Le | Utf16Be => {
            all.extend((0xD800..=0xDFFF).step_by(341).map(|half| units(&[half])));
            all.extend([[0xDC00, 0xD800], [0xD800, 0xD800], [0xDBFF, 0xE000]].map(|pair| units(&pair)));
            all.push(vec![0xD8]);
        }
        _ => {}
    }
    all
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn a_conversion_stops_at_every_position() {
    let mut checker = Checker::new();
    for pair in pairs(|_, _| true) {
        for (i, critical) in critical(pair[0]).iter().enumerate() {
            for (j, filler) in FILLERS.iter().enumerate() {
                let filler = encoded(pair[0], filler);
                // Different positions in two vectors for each sequence, and one in long text.
                for before in (0..131).skip((i + 3 * j) % 17).step_by(17).chain([255 + i % 4]) {
                    let input = [&filler.repeat(before)[..], critical, &filler.repeat(70)].concat();
                    checker.check(pair, &input);
                }
                checker.check(pair, &[&filler.repeat(131 - i % 70)[..], critical].concat());
            }
        }
    }
}

#[test]
#[cfg_attr(miri, ignore = "hours")]
fn single_bytes_have_every_value_in_every_part_of_a_vector() {
    let mut checker = Checker::new();
    for pair in pairs(|from, _| width(from) == 1) {
        for filler in [b'a', 0x85] {
            for byte in 0..=u8::MAX {
                for position in (0..131).skip(usize::from(byte) % 23).step_by(23) {
                    let mut bytes = [filler; 131];
                    bytes[position] = byte;
                    checker.check(pair, &bytes);
                }
            }
        }
    }
}

/// Characters that an encoding of single bytes does not have, at changing positions, and surrogates.
#[test]
#[cfg_attr(miri, ignore = "hours")]
fn every_code_unit_is_converted_or_stops_a_conversion() {
    let mut checker = Checker::new();
    for pair in pairs(|from, to| width(to) == 1 && from != Utf16Be) {
        let filler = encoded(pair[0], "a");
        // Only a part of the values above the characters of both encodings.
        for value in (0..0x2200).chain((0x2200..=0xFFFF).step_by(31)) {
            let mut unit = encoded(pair[0], &char::from_u32(value).unwrap_or('\u{FFFF}').to_string());
            if width(pair[0]) == 2 {
                unit = order(pair[0], (value as u16).to_be_bytes()).to_vec();
            }
            let before = value as usize % 97;
            checker.check(pair, &[&filler.repeat(before)[..], &unit, &filler.repeat(99 - before)].concat());
        }
    }
    for pair in pairs(|from, to| width(from) == 2 && width(to) != 1) {
        for half in 0xD800..=0xDFFF_u16 {
            let (unit, before) = (order(pair[0], half.to_be_bytes()), usize::from(half) % 70);
            let filler = encoded(pair[0], FILLERS[before % 4]);
            checker.check(pair, &[&filler.repeat(before)[..], &unit, &filler.repeat(70)].concat());
        }
    }
}

/// Random sequences: most of them are converted, and many are ASCII.
#[test]
fn no_access_outside_the_input_and_the_output() {
    let mut checker = Checker::new();
    let mut rng = Rng::new(29);
    let parts = [
        "a",
        "bc",
        "a plain line of text, longer than a vector",
        "é",
        "ÿÀ",
        "\u{A0}",
        "€",
        "™–…",
        "漢字",
        "💩",
    ];
    let (rounds, most) = if cfg!(miri) { (2, 150) } else { (150, 700) };
    for pair in pairs(|_, _| true) {
        let critical = critical(pair[0]);
        for round in 0..rounds {
            // A text of more than a page in some rounds.
            let len = rng.below(if round % 10 == 0 { 20 * most } else { most });
            let (ascii, kinds) = (rng.below(20), 3 + rng.below(parts.len() - 2));
            let mut input = Vec::new();
            while input.len() < len {
                let part = if rng.below(20) < ascii { rng.below(3) } else { rng.below(kinds) };
                input.extend(encoded(pair[0], parts[part]));
                if round % 3 == 0 && rng.below(64) == 0 {
                    input.extend_from_slice(&critical[rng.below(critical.len())]);
                }
            }
            input.truncate(len);
            checker.check(pair, &input);
        }
    }
}

/// The portable loop validates during the conversion. It stops where `std` reports the first error, or at an unfinished
/// sequence.
#[test]
#[cfg_attr(miri, ignore = "hours")]
fn portable_encode_stops_at_the_first_ill_formed_sequence() {
    const BYTES: [u8; 24] = [
        0x00, 0x41, 0x7F, 0x80, 0x8F, 0x90, 0x9F, 0xA0, 0xBF, 0xC0, 0xC1, 0xC2, 0xDF, 0xE0, 0xE1, 0xED, 0xEF,
        0xF0, 0xF1, 0xF3, 0xF4, 0xF5, 0xF8, 0xFF,
    ];
    let mut out = [0xEE; 32];
    for i in 0..BYTES.len().pow(4) {
        let four = [0, 1, 2, 3].map(|place| BYTES[i / BYTES.len().pow(place) % BYTES.len()]);
        for bytes in [&four[..], &four[1..]] {
            let good = bytes.utf8_chunks().next().map_or("", |chunk| chunk.valid());
            // SAFETY: the output has 2 bytes for each byte of the input.
            let (read, written) = unsafe { encode_portable::<false>(bytes, &mut out[..2 * bytes.len()]) };
            assert_eq!(read, good.len(), "{bytes:02X?}");
            assert!(
                good.encode_utf16().flat_map(u16::to_le_bytes).eq(out[..written].iter().copied()),
                "{bytes:02X?}"
            );
        }
    }
    assert_eq!(out[8..], [0xEE; 24]);
}
