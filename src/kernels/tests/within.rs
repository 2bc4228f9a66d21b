//! The characters that may be outside a subset, compared with a loop over the characters of the text.

use super::super::classes::each_by;
use super::super::dispatch::Kernel;
use crate::Subset;

static SUBSETS: [Subset; 11] = [
    Subset::ASCII,
    Subset::YAML_PRINTABLE,
    Subset::new(&[9..=13, 0x20..=0x3F, 0x50..=0x6F, 0x80..=0x10_FFFF]),
    Subset::NO_CONTROLS,
    Subset::NO_NUL,
    Subset::BMP,
    Subset::NO_BIDI_CONTROLS,
    Subset::NO_NONCHARACTERS,
    Subset::all_of(&[Subset::NO_CONTROLS, Subset::NO_BIDI_CONTROLS, Subset::NO_NONCHARACTERS]),
    Subset::new(&[0x20..=0x7E, 0x400..=0x4FF]),
    Subset::new(&[0..=0x8FF, 0xA00..=0xFFFF, 0x1_F600..=0x1_F64F]),
];

/// Checks that the kernels find the characters of the class, each at its position, and that no other character is outside the
/// subset.
fn check(text: &str, subset: &Subset) {
    let class = subset.doubtful();
    let is_in_class = |&(at, character): &(usize, char)| {
        let is_in_class = class.begins(&text.as_bytes()[at..]);
        assert!(is_in_class || subset.contains(character), "{character:?}");
        is_in_class
    };
    let expected: Vec<usize> = text.char_indices().filter(is_in_class).map(|(at, _)| at).collect();
    for kernel in Kernel::available() {
        let mut found = Vec::new();
        each_by(kernel, text.as_bytes(), class, |at| {
            found.push(at);
            true
        });
        assert!(found == expected, "{kernel:?}: {found:?}, not {expected:?}, in {text:?}");
    }
}

/// Checks these characters, between others that are in no set.
fn check_characters(subset: &Subset, characters: impl Iterator<Item = char>) {
    let mut text = String::new();
    for (i, character) in characters.enumerate() {
        text.push(character);
        text.push_str(["", "ab", "ж", "語"][i % 4]);
        if text.len() > 10_000 {
            check(&text, subset);
            text.clear();
        }
    }
    check(&text, subset);
}

#[test]
fn the_characters_of_a_set_are_found() {
    // Of most blocks only one character in 61.
    let is_checked = |value: &u32| {
        matches!(value & 0xFFFF, 0..=0x2FF | 0x600..=0x6FF | 0x800..=0x900 | 0x1FFF..=0x20FF | 0xFDC0..)
            || value.is_multiple_of(61)
    };
    for subset in &SUBSETS {
        check_characters(subset, (0..=u32::from(char::MAX)).filter(is_checked).filter_map(char::from_u32));
    }
}

#[test]
#[ignore = "seconds in release mode, minutes without optimization"]
fn every_character_of_a_set_is_found() {
    for subset in &SUBSETS {
        check_characters(subset, '\0'..=char::MAX);
    }
}

#[test]
fn one_character_is_found_at_every_position() {
    let fillers = ["a", "é", "жa", "語", "a語é", "😀", "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaé"];
    let others = ["", "\0", "\x7F", "\u{85}", "\u{61C}", "\u{202E}", "\u{FFFE}", "\u{1FFFF}", "\u{1F600}"];
    for (i, filler) in fillers.into_iter().enumerate() {
        let text = filler.repeat(700 / filler.len());
        for (j, subset) in SUBSETS.iter().enumerate() {
            for (at, _) in text.char_indices().skip(i + j).step_by(29) {
                let other = others[at % others.len()];
                check(&[&text[..at], other, &text[at..]].concat(), subset);
                // The other character at the end.
                check(&[&text[..at], other].concat(), subset);
            }
        }
    }
}
