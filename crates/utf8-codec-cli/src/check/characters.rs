//! The search for the characters of rules: one for all rules.

use utf8_codec::Subset;

use super::diagnostic::Message;
use super::escapes::Violation;
use super::invisible;
use super::rules::Rule;

/// The characters that no rule is about, whichever rules are checked. Text is searched for the others once, in bulk. Some of
/// them violate no rule, or only where they are.
static PLAIN: Subset = Subset::all_of(&[
    Subset::UNICODE_ASSIGNABLES,
    // Without U+FFFD, bidirectional controls, and what `invisible` is about.
    Subset::new(&[
        0..=0xAC,
        0xAE..=0x34E,
        0x350..=0x61B,
        0x61D..=0x115E,
        0x1161..=0x17B3,
        0x17B6..=0x180A,
        0x1810..=0x200A,
        0x2010..=0x2029,
        0x202F..=0x205F,
        0x2065..=0x2065,
        0x206A..=0x3163,
        0x3165..=0xFDFF,
        0xFE10..=0xFEFE,
        0xFF00..=0xFF9F,
        0xFFA1..=0xFFFC,
        0xFFFE..=0xD_FFFF,
        0xE_0080..=0xE_00FF,
        0xE_01F0..=0x10_FFFF,
    ]),
]);

/// Calls `found` for each violation of the rules about characters in a text, which ends with a line or with the text. The
/// first `start` bytes are not searched by `Invisible`.
pub(super) fn find(rules: &[Rule], text: &str, start: usize, mut found: impl FnMut(Rule, Violation)) {
    let has_invisible = rules.contains(&Rule::Invisible);
    // The end of the last line that was searched for invisible characters.
    let mut searched = start;
    PLAIN.for_each_outside(text, |at, character| {
        for &rule in rules.iter().filter(|rule| rule.forbids(character)) {
            let message = Message::Character(rule, character);
            found(rule, Violation { at, before: 0, len: character.len_utf8(), message });
        }
        if has_invisible && at >= searched && invisible::is_invisible(character) {
            let line = memchr::memrchr(b'\n', &text.as_bytes()[searched..at])
                .map_or(searched, |end| searched + end + 1);
            searched = memchr::memchr(b'\n', &text.as_bytes()[at..]).map_or(text.len(), |end| at + end + 1);
            invisible::find_in_line(&text[line..searched], |at, run| {
                let message = Message::Text(invisible::message(run));
                found(Rule::Invisible, Violation { at: line + at, before: 0, len: run.len(), message });
            });
        }
    });
}

#[cfg(test)]
mod tests {
    use clap::ValueEnum;

    use super::*;

    /// What is plain is searched no further, so every character of a rule must be outside.
    #[test]
    fn no_rule_forbids_a_plain_character() {
        for character in '\0'..=char::MAX {
            let is_forbidden = Rule::value_variants().iter().any(|rule| rule.forbids(character))
                || invisible::is_invisible(character);
            assert_eq!(PLAIN.contains(character), !is_forbidden, "{:04X}", u32::from(character));
        }
    }

    #[test]
    fn each_rule_finds_its_characters() {
        let text = "a\u{1B}\u{202E}\0\u{FFFE}\u{FFFD}\u{85}\u{7F}\t\r\n\u{10FFFF}";
        for (rule, count) in [
            (Rule::Control, 4),
            (Rule::Bidi, 1),
            (Rule::Nul, 1),
            (Rule::Noncharacter, 2),
            (Rule::ReplacementCharacter, 1),
            (Rule::Xml, 3),
            (Rule::Assignable, 6),
        ] {
            let mut found = 0;
            find(&[rule], text, 0, |_, Violation { at, len, .. }| {
                assert!(text.is_char_boundary(at) && text.is_char_boundary(at + len));
                found += 1;
            });
            assert_eq!(found, count, "{rule:?}");
        }
    }
}
