//! The characters of a class, compared with a loop over the characters of the text.

use crate::class::Class;
use crate::class_search::each_by;
use crate::dispatch::Kernel;

/// The first 32 continuation bytes, as a set.
const LOW_HALF: u64 = u32::MAX as u64;

const CONTROLS: Class = Class::EMPTY
    .with_ascii(0, 8)
    .with_ascii(0xB, 0xC)
    .with_ascii(0xE, 0x1F)
    .with_ascii(0x7F, 0x7F)
    .with_sequences([lead(0xC2), LOW_HALF, u64::MAX]);

const BIDI_CONTROLS: Class = Class::EMPTY
    .with_sequences([lead(0xD8), 1 << 0x1C, u64::MAX])
    .with_sequences([lead(0xE2), 1, 3 << 0xE | 0x1F << 0x2A])
    .with_sequences([lead(0xE2), 2, 0xF << 0x26]);

const NONCHARACTERS: Class = Class::EMPTY
    .with_sequences([lead(0xEF), 1 << 0x37, u64::MAX])
    .with_sequences([lead(0xEF), 1 << 0x3F, 3 << 0x3E])
    .with_sequences([0x1F << 0x30, 0x8000_8000_8000_8000, 1 << 0x3F]);

static CLASSES: [Class; 9] = [
    Class::EMPTY,
    Class::EMPTY.with_ascii(0, 0),
    Class::EMPTY.with_ascii(0x20, 0x3F).with_ascii(0x50, 0x6F).with_sequences([lead(0xC3), 1, u64::MAX]),
    Class::EMPTY.with_sequences([u64::MAX, u64::MAX, u64::MAX]),
    Class::EMPTY.with_sequences([0x1F << 0x30, u64::MAX, u64::MAX]),
    CONTROLS,
    BIDI_CONTROLS,
    NONCHARACTERS,
    CONTROLS.or(&BIDI_CONTROLS).or(&NONCHARACTERS),
];

/// Returns the set of a lead byte.
const fn lead(byte: u8) -> u64 {
    1 << (byte & 63)
}

/// Checks that the kernels find the characters of the class, each at its position.
fn check(text: &str, class: &Class) {
    let characters = text.char_indices().map(|(at, _)| at);
    let expected: Vec<usize> = characters.filter(|&at| class.begins(&text.as_bytes()[at..])).collect();
    for kernel in Kernel::available() {
        let mut found = Vec::new();
        each_by(kernel, text.as_bytes(), class, |at| {
            found.push(at);
            true
        });
        assert!(found == expected, "{kernel:?}: {found:?}, not {expected:?}, in {text:?}");
    }
}

/// The classes have the characters that they are named after.
#[test]
fn a_class_has_the_sequences_that_were_added() {
    let has = |class: &Class, character: char| class.begins(character.encode_utf8(&mut [0; 4]).as_bytes());
    for character in '\0'..=char::MAX {
        let is_control = character.is_control() && !matches!(character, '\t' | '\n' | '\r');
        assert_eq!(has(&CONTROLS, character), is_control, "{character:?}");
        let is_bidi = matches!(character, '\u{61C}' | '\u{200E}' | '\u{200F}' | '\u{202A}'..='\u{202E}' | '\u{2066}'..='\u{2069}');
        assert_eq!(has(&BIDI_CONTROLS, character), is_bidi, "{character:?}");
        let is_noncharacter =
            matches!(character, '\u{FDD0}'..='\u{FDEF}') || u32::from(character) & 0xFFFE == 0xFFFE;
        assert!(!is_noncharacter || has(&NONCHARACTERS, character), "{character:?}");
    }
}

/// Checks these characters, between others.
fn check_characters(class: &Class, characters: impl Iterator<Item = char>) {
    let mut text = String::new();
    for (i, character) in characters.enumerate() {
        text.push(character);
        text.push_str(["", "ab", "ж", "語"][i % 4]);
        if text.len() > 10_000 {
            check(&text, class);
            text.clear();
        }
    }
    check(&text, class);
}

#[test]
fn the_characters_of_a_class_are_found() {
    // Only one character in 61 of most blocks.
    let is_checked = |value: &u32| {
        matches!(value & 0xFFFF, 0..=0x2FF | 0x600..=0x6FF | 0x800..=0x900 | 0x1FFF..=0x20FF | 0xFDC0..)
            || value % 61 == 0
    };
    for class in &CLASSES {
        check_characters(class, (0..=u32::from(char::MAX)).filter(is_checked).filter_map(char::from_u32));
    }
}

#[test]
#[ignore = "seconds in release mode, minutes without optimization"]
fn every_character_of_a_class_is_found() {
    for class in &CLASSES {
        check_characters(class, '\0'..=char::MAX);
    }
}

#[test]
fn one_character_is_found_at_every_position() {
    let fillers = ["a", "é", "жa", "語", "a語é", "😀", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaé"];
    let others = ["", "\0", "\x7F", "\u{85}", "\u{61C}", "\u{202E}", "\u{FFFE}", "\u{1FFFF}", "\u{1F600}"];
    for (i, filler) in fillers.into_iter().enumerate() {
        let text = filler.repeat(700 / filler.len());
        for (j, class) in CLASSES.iter().enumerate() {
            for (at, _) in text.char_indices().skip(i + j).step_by(29) {
                let other = others[at % others.len()];
                check(&[&text[..at], other, &text[at..]].concat(), class);
                // The other character at the end.
                check(&[&text[..at], other].concat(), class);
            }
        }
    }
}
