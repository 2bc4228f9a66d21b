//! Compares subsets and conversions of long texts, which use the vector kernels, with one code point at a time.

#[path = "../../src/rng.rs"]
mod rng;

use rng::Rng;
use utf8_codec::transcode::{Encoding, Transcoder};
use utf8_codec::{ErrorPolicy, Subset, TextDecoder, TextPiece};

/// Characters of every length, some of them rare: controls, bidi controls, noncharacters, edges of the encodings.
const RARE: [u32; 34] = [
    0x00, 0x07, 0x09, 0x0A, 0x0D, 0x1B, 0x7F, 0x80, 0x85, 0x9F, 0xA0, 0xFF, 0x100, 0x152, 0x7FF, 0x800,
    0x200E, 0x202E, 0x2066, 0x20AC, 0x2122, 0xD7FF, 0xE000, 0xFDD0, 0xFEFF, 0xFFFD, 0xFFFE, 0xFFFF, 0x1_0000,
    0x1_FFFE, 0x1_F600, 0xE_0001, 0x10_FFFD, 0x10_FFFF,
];
const SCRIPTS: [(u32, u32); 8] = [
    (0x20, 0x7E),
    (0xC0, 0xFF),
    (0x100, 0x17F),
    (0x410, 0x44F),
    (0x5D0, 0x5EA),
    (0x4E00, 0x9FA5),
    (0xAC00, 0xD7A3),
    (0x1_F300, 0x1_F64F),
];

/// Returns a text of runs of one or two scripts, with a few rare characters or none.
fn text(rng: &mut Rng, len: usize) -> String {
    let mut text = String::new();
    let one_in = [0, 5, 40, 600, 3000][rng.below(5)];
    while text.len() < len {
        let scripts = [SCRIPTS[rng.below(SCRIPTS.len())], SCRIPTS[rng.below(SCRIPTS.len())]];
        let mixed = rng.below(3);
        for _ in 0..rng.below(700) {
            let code_point = if one_in > 0 && rng.below(one_in) == 0 {
                RARE[rng.below(RARE.len())]
            } else {
                let (first, last) = scripts[if mixed == 0 { rng.below(2) } else { 0 }];
                first + rng.below((last - first + 1) as usize) as u32
            };
            text.extend(char::from_u32(code_point));
        }
    }
    text
}

fn cut<'i>(rng: &mut Rng, mut bytes: &'i [u8]) -> Vec<&'i [u8]> {
    let longest = [bytes.len() + 1, 5000, 700, 70, 7][rng.below(5)].min(bytes.len() + 1);
    let mut chunks = Vec::new();
    while !bytes.is_empty() {
        let (chunk, rest) = bytes.split_at((1 + rng.below(longest)).min(bytes.len()));
        chunks.push(chunk);
        bytes = rest;
    }
    chunks
}

static SUBSETS: [Subset; 19] = [
    Subset::ASCII,
    Subset::BMP,
    Subset::NO_NUL,
    Subset::NO_CONTROLS,
    Subset::NO_BIDI_CONTROLS,
    Subset::NO_NONCHARACTERS,
    Subset::LATIN_1,
    Subset::XML_CHARACTERS,
    Subset::UNICODE_ASSIGNABLES,
    Subset::MQTT_5_RECOMMENDED,
    Subset::I_JSON,
    Subset::YAML_PRINTABLE,
    Subset::new(&[0x20..=0x7E, 0x410..=0x44F]),
    Subset::new(&[0..=0xFF]),
    Subset::new(&[0..=0x7FF]),
    Subset::new(&[0x20..=0x10_FFFE]),
    Subset::new(&[0..=0x1_F5FF, 0x1_F601..=0x10_FFFF]),
    Subset::new(&[0..=0x4FFF, 0x5001..=0xFFFF, 0x1_0000..=0x1_F3FF]),
    Subset::all_of(&[Subset::NO_CONTROLS, Subset::NO_BIDI_CONTROLS, Subset::BMP]),
];

#[test]
fn a_subset_of_long_texts_equals_that_of_their_characters() {
    let mut rng = Rng::new(0x1234_5678_9ABC_DEF1);
    for round in 0..6_000 {
        let len = [300, 900, 3000, 9000, 30_000][rng.below(5)];
        let text = text(&mut rng, len);
        let subset = &SUBSETS[round % SUBSETS.len()];
        let mut expected = Vec::new();
        for (at, character) in text.char_indices() {
            if !subset.contains(character) {
                expected.push((at as u64, character.len_utf8()));
            }
        }
        let kept: String = text.chars().map(|c| if subset.contains(c) { c } else { '\u{FFFD}' }).collect();
        let chunks = cut(&mut rng, text.as_bytes());

        let mut strict = TextDecoder::new().with_subset(subset);
        let mut found = Vec::new();
        for chunk in &chunks {
            for piece in strict.feed(chunk) {
                if let TextPiece::IllFormed(error) = piece {
                    found.push((error.offset, usize::from(error.len)));
                }
            }
        }
        assert_eq!(found, expected, "round {round}, {subset:?}");

        let mut replacing = TextDecoder::new().with_subset(subset).with_error_policy(ErrorPolicy::Replace);
        let mut output = String::new();
        for chunk in &chunks {
            replacing.feed_into(chunk, &mut output).expect("repaired");
        }
        // A subset may exclude U+FFFD.
        if subset.contains('\u{FFFD}') {
            assert_eq!(output, kept, "round {round}, {subset:?}");
        }
    }
}

fn encode(text: &str, encoding: Encoding) -> Vec<u8> {
    let mut bytes = Vec::new();
    for character in text.chars() {
        let (mut units, mut sequence) = ([0; 2], [0; 4]);
        let units = character.encode_utf16(&mut units);
        match encoding {
            Encoding::Utf8 | Encoding::Wtf8 | Encoding::Utf8b | Encoding::Utf8Ucs4 => {
                bytes.extend_from_slice(character.encode_utf8(&mut sequence).as_bytes());
            }
            Encoding::Utf16Le => units.iter().for_each(|unit| bytes.extend(unit.to_le_bytes())),
            Encoding::Utf16Be => units.iter().for_each(|unit| bytes.extend(unit.to_be_bytes())),
            Encoding::Utf32Le => bytes.extend(u32::from(character).to_le_bytes()),
            Encoding::Utf32Be => bytes.extend(u32::from(character).to_be_bytes()),
            Encoding::Cesu8 | Encoding::ModifiedUtf8 => match (character, &*units) {
                ('\0', _) if encoding == Encoding::ModifiedUtf8 => bytes.extend([0xC0, 0x80]),
                (_, [_]) => bytes.extend_from_slice(character.encode_utf8(&mut sequence).as_bytes()),
                (_, units) => {
                    for unit in units {
                        let bits = *unit;
                        bytes.extend([
                            0xE0 | (bits >> 12) as u8,
                            0x80 | (bits >> 6 & 0x3F) as u8,
                            0x80 | (bits & 0x3F) as u8,
                        ]);
                    }
                }
            },
            Encoding::Latin1 => bytes.push(u8::try_from(u32::from(character)).expect("in Latin-1")),
            other => panic!("{other:?}"),
        }
    }
    bytes
}

#[test]
fn long_texts_are_converted_like_their_characters() {
    let encodings = [
        Encoding::Utf8,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf32Le,
        Encoding::Utf32Be,
        Encoding::Cesu8,
        Encoding::ModifiedUtf8,
        Encoding::Wtf8,
        Encoding::Utf8b,
        Encoding::Utf8Ucs4,
        Encoding::Latin1,
    ];
    let mut rng = Rng::new(0x0FED_CBA9_8765_4321);
    for round in 0..6_000 {
        let from = encodings[rng.below(encodings.len())];
        let to = encodings[rng.below(encodings.len())];
        let len = [300, 900, 3000, 9000, 20_000][rng.below(5)];
        let mut text = text(&mut rng, len);
        if from == Encoding::Latin1 || to == Encoding::Latin1 {
            text.retain(|character| u32::from(character) <= 0xFF);
        }
        let (input, expected) = (encode(&text, from), encode(&text, to));
        let mut transcoder = Transcoder::new(from, to);
        let mut output = Vec::new();
        for chunk in cut(&mut rng, &input) {
            transcoder
                .feed_into(chunk, &mut output)
                .unwrap_or_else(|error| panic!("round {round}: {from:?} to {to:?}: {error}"));
        }
        transcoder.finish_into(&mut output).expect("whole");
        assert!(output == expected, "round {round}: {from:?} to {to:?}");
    }
}

/// Inserts one error at any position of a long text. Checks its offset, and that the text before and after it is not
/// lost.
#[test]
fn an_error_in_a_long_text_is_found_at_its_offset() {
    let mut rng = Rng::new(0x0123_4567_89AB_CDEF);
    let encodings = [
        (Encoding::Utf8, vec![0xFF]),
        (Encoding::Utf16Le, vec![0x00, 0xDC]),
        (Encoding::Utf16Be, vec![0xDC, 0x00]),
        (Encoding::Utf32Le, vec![0x00, 0xD8, 0x00, 0x00]),
        (Encoding::Utf32Be, vec![0x80, 0x00, 0x00, 0x00]),
        (Encoding::Cesu8, vec![0xFF]),
        (Encoding::ModifiedUtf8, vec![0xFF]),
        (Encoding::Wtf8, vec![0xFF]),
        (Encoding::Utf8Ucs4, vec![0xFF]),
    ];
    let targets = [Encoding::Utf8, Encoding::Utf16Le, Encoding::Utf32Be, Encoding::Cesu8];
    for round in 0..6_000 {
        let (from, bad) = &encodings[round % encodings.len()];
        let to = targets[rng.below(targets.len())];
        let len = [300, 900, 3000, 9000][rng.below(4)];
        let (before, after) = (text(&mut rng, len), text(&mut rng, 200));
        let (start, end) = (encode(&before, *from), encode(&after, *from));
        let input = [&start[..], bad, &end].concat();
        let expected = [encode(&before, to), encode("\u{FFFD}", to), encode(&after, to)].concat();
        let chunks = cut(&mut rng, &input);

        let mut strict = Transcoder::new(*from, to);
        let mut output = Vec::new();
        let error = chunks.iter().find_map(|chunk| strict.feed_into(chunk, &mut output).err());
        let error = error.unwrap_or_else(|| panic!("round {round}: {from:?} to {to:?}: no error"));
        assert_eq!(error.offset as usize, start.len(), "round {round}: {from:?} to {to:?}");
        assert!(output == encode(&before, to), "round {round}: {from:?} to {to:?}");

        let mut replacing = Transcoder::new(*from, to).with_error_policy(ErrorPolicy::Replace);
        let mut output = Vec::new();
        for chunk in &chunks {
            replacing.feed_into(chunk, &mut output).expect("repaired");
        }
        replacing.finish_into(&mut output).expect("whole");
        assert!(output == expected, "round {round}: {from:?} to {to:?}");
        assert_eq!(replacing.counters().total(), 1);
    }
}
