//! The rule `invisible`: characters that are not seen, and change what text is.
//!
//! Allowed are those that the text around them needs:
//!
//! | character | where |
//! |---|---|
//! | U+200C, U+200D | beside a letter of a script with letters that join or with a virama; U+200D also between emoji |
//! | U+200B | beside a letter of a script without spaces between words |
//! | U+061C, U+200E, U+200F | in a line with text from right to left |
//! | U+115F, U+1160 | in a syllable of old Hangul: before a vowel, after a consonant |
//! | U+180B to U+180F | after a letter of Mongolian |
//! | variation selectors | after an emoji, an ideograph, or a character that has variants |
//! | tags | in a flag: after U+1F3F4, at most 6 letters and digits, and the end |
//!
//! U+FEFF at the start of a file is a BOM, with which the rule `bom` deals. At the start of another line it is left from a
//! file that was appended to another one; `--fix` removes it there, because as a BOM it is not part of the text (Unicode
//! 23.8).

mod tables;

use tables::{EMOJI, IDEOGRAPHS, JOINING, RIGHT_TO_LEFT, VARIED, WITHOUT_SPACES};

/// U+FEFF, a BOM at the start of a file.
pub(super) const MARK: char = '\u{FEFF}';

/// Calls `found` with the position of each run of such characters in a line, and the run. `line` does not contain the start
/// of a file.
pub(super) fn find_in_line(line: &str, mut found: impl FnMut(usize, &str)) {
    let mut is_right_to_left = None;
    // The run of such characters that ends at the current position.
    let mut run: Option<usize> = None;
    for (at, character) in line.char_indices().chain([(line.len(), '\n')]) {
        let before = &line[..at];
        let after = line[at..].get(character.len_utf8()..).unwrap_or_default();
        let is_found = is_invisible(character)
            && match character {
                '\u{61C}' | '\u{200E}' | '\u{200F}' => {
                    !*is_right_to_left.get_or_insert_with(|| has_right_to_left(line))
                }
                _ => !is_needed(character, before, after),
            };
        match (is_found, run) {
            (true, None) => run = Some(at),
            (false, Some(start)) => {
                found(start, &line[start..at]);
                run = None;
            }
            _ => {}
        }
    }
}

/// Whether a line has text that is written from right to left.
fn has_right_to_left(line: &str) -> bool {
    line.chars().any(|each| is_in(RIGHT_TO_LEFT, each) && !is_invisible(each))
}

/// Returns the message for a run.
pub(super) fn message(run: &str) -> String {
    let first = run.chars().next().unwrap_or_default();
    let number = format!("U+{:04X}", u32::from(first));
    match run.chars().count() {
        1 => format!("{number} {} is invisible", name(first)),
        count => format!("{count} invisible characters, the first is {number} {}", name(first)),
    }
}

/// The set of the rule, without the controls of the rule `bidi`.
pub(super) fn is_invisible(character: char) -> bool {
    matches!(
        character,
        '\u{AD}' | '\u{34F}' | '\u{61C}' | '\u{115F}' | '\u{1160}' | '\u{17B4}' | '\u{17B5}' | '\u{180B}'..='\u{180F}'
            | '\u{200B}'..='\u{200F}' | '\u{2060}'..='\u{2064}' | '\u{3164}' | '\u{FE00}'..='\u{FE0F}' | MARK | '\u{FFA0}'
            | '\u{E0000}'..='\u{E007F}' | '\u{E0100}'..='\u{E01EF}'
    )
}

/// Whether the text around a character needs it.
fn is_needed(character: char, before: &str, after: &str) -> bool {
    let mut back = before.chars().rev();
    let next = after.chars().next().unwrap_or('\n');
    let previous = back.next().unwrap_or('\n');
    let is_beside = |table| is_in(table, previous) || is_in(table, next);
    match character {
        '\u{200B}' => is_beside(WITHOUT_SPACES),
        '\u{200C}' => is_beside(JOINING),
        '\u{200D}' => {
            let base = if previous == '\u{FE0F}' { back.next().unwrap_or('\n') } else { previous };
            is_beside(JOINING) || (is_in(EMOJI, base) && is_in(EMOJI, next))
        }
        '\u{115F}' => matches!(next, '\u{1160}'..='\u{11A7}' | '\u{D7B0}'..='\u{D7C6}'),
        '\u{1160}' => matches!(previous, '\u{1100}'..='\u{115F}' | '\u{A960}'..='\u{A97C}'),
        '\u{180B}'..='\u{180F}' => matches!(previous, '\u{1820}'..='\u{18AA}'),
        '\u{FE0E}' | '\u{FE0F}' => {
            is_in(EMOJI, previous) || matches!(previous, '#' | '*' | '0'..='9') || is_in(IDEOGRAPHS, previous)
        }
        '\u{FE00}'..='\u{FE0D}' => previous == '0' || is_in(VARIED, previous) || is_in(IDEOGRAPHS, previous),
        '\u{E0100}'..='\u{E01EF}' => is_in(IDEOGRAPHS, previous),
        '\u{E0020}'..='\u{E007F}' => is_in_flag(character, before, after),
        _ => false,
    }
}

/// Whether a tag is in the flag of a region (UTS #51, `emoji_tag_sequence`).
fn is_in_flag(tag: char, before: &str, after: &str) -> bool {
    const END: char = '\u{E007F}';
    const MAX: usize = 6;

    let earlier = before.chars().rev().take(MAX + 1).take_while(|tag| is_name_tag(*tag)).count();
    let is_after_flag = before.chars().rev().nth(earlier) == Some('\u{1F3F4}');
    let later =
        if tag == END { 0 } else { after.chars().take(MAX + 1).take_while(|tag| is_name_tag(*tag)).count() };
    let is_ended = tag == END || after.chars().nth(later) == Some(END);
    let len = earlier + later + usize::from(is_name_tag(tag));
    is_after_flag && is_ended && (is_name_tag(tag) || tag == END) && (1..=MAX).contains(&len)
}

/// Whether a tag is a letter or a digit of the name of a region.
fn is_name_tag(tag: char) -> bool {
    matches!(tag, '\u{E0030}'..='\u{E0039}' | '\u{E0061}'..='\u{E007A}')
}

fn is_in(table: &[(u32, u32)], character: char) -> bool {
    let point = u32::from(character);
    let at = table.partition_point(|&(_, last)| last < point);
    table.get(at).is_some_and(|&(first, _)| first <= point)
}

fn name(character: char) -> &'static str {
    match character {
        '\u{AD}' => "SOFT HYPHEN",
        '\u{34F}' => "COMBINING GRAPHEME JOINER",
        '\u{61C}' => "ARABIC LETTER MARK",
        '\u{115F}' | '\u{1160}' | '\u{3164}' | '\u{FFA0}' => "HANGUL FILLER",
        '\u{17B4}' | '\u{17B5}' => "KHMER INHERENT VOWEL",
        '\u{180E}' => "MONGOLIAN VOWEL SEPARATOR",
        '\u{200B}' => "ZERO WIDTH SPACE",
        '\u{200C}' => "ZERO WIDTH NON-JOINER",
        '\u{200D}' => "ZERO WIDTH JOINER",
        '\u{200E}' => "LEFT-TO-RIGHT MARK",
        '\u{200F}' => "RIGHT-TO-LEFT MARK",
        '\u{2060}' => "WORD JOINER",
        '\u{2061}'..='\u{2064}' => "INVISIBLE OPERATOR",
        MARK => "ZERO WIDTH NO-BREAK SPACE",
        '\u{E0000}'..='\u{E007F}' => "TAG",
        _ => "VARIATION SELECTOR",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(text: &str) -> Vec<(usize, usize)> {
        let mut found = Vec::new();
        let mut start = 0;
        for line in text.split_inclusive('\n') {
            find_in_line(line, |at, run| found.push((start + at, run.len())));
            start += line.len();
        }
        found
    }

    #[test]
    fn text_in_every_script_keeps_what_it_needs() {
        for text in [
            // Persian, Arabic, Hindi, Bengali, Malayalam, Sinhala.
            "می\u{200C}خواهم",
            "ه\u{200D} هـ\u{200D}",
            "क्\u{200D}ष क्\u{200C}ष",
            "র\u{200D}্য",
            "അവന്\u{200D}",
            "ශ්\u{200D}රී",
            // Khmer and Thai, with the borders of words.
            "ខ្ញុំ\u{200B}ស្រលាញ់\u{200B}កម្ពុជា",
            "ภาษา\u{200B}ไทย",
            // Hebrew and Arabic with marks for the order.
            "שלום (C++)\u{200E}!",
            "\u{61C}١٢ العربية",
            // Old Hangul, Mongolian.
            "\u{115F}\u{1161} \u{1112}\u{1160}",
            "ᠬᠠᠭ\u{180E}ᠠ ᠠ\u{180B}",
            // Emoji: a family, a heart, a keycap, a skin tone, flags.
            "👨\u{200D}👩\u{200D}👧 ❤\u{FE0F} 1\u{FE0F}\u{20E3} 🤷🏽\u{200D}♂\u{FE0F} 👁\u{FE0F}\u{200D}🗨\u{FE0F} ☎\u{FE0E}",
            "🏴\u{E0067}\u{E0062}\u{E0065}\u{E006E}\u{E0067}\u{E007F} 🏴\u{200D}☠\u{FE0F}",
            // Variants of ideographs, of a digit and of an operator.
            "葛\u{E0100} 﨑\u{FE00} ㊙\u{FE0F} 0\u{FE00} ∩\u{FE00}",
        ] {
            assert_eq!(found(text), [], "{text}");
        }
    }

    #[test]
    fn every_other_invisible_character_is_found() {
        for point in (0..0x11_0000).filter_map(char::from_u32).filter(|&each| is_invisible(each)) {
            for (before, after) in [("", ""), ("a", "b"), ("\n", "\n"), ("é ", " é"), ("\u{E9}", "\u{1F600}")]
            {
                let text = format!("{before}{point}{after}");
                assert_eq!(found(&text), [(before.len(), point.len_utf8())], "{:04X}", u32::from(point));
            }
        }
        // Text in a flag, a flag without an end, and a long one.
        let tag = |c| char::from_u32(0xE_0000 + u32::from(c)).expect("a tag");
        for (hidden, end) in [("run", "."), ("gbeng", ""), ("ignorethis", "\u{7F}"), ("", "\u{7F}")] {
            let text: String = "🏴".chars().chain(hidden.chars().chain(end.chars()).map(tag)).collect();
            assert_eq!(found(&text), [(4, text.len() - 4)].repeat(usize::from(text.len() > 4)), "{hidden}");
        }
    }

    #[test]
    fn a_run_is_one_error() {
        let mut messages = Vec::new();
        find_in_line("a\u{200B}\u{2060}b\u{FEFF}c\u{AD}", |at, run| {
            messages.push((at, run.len(), message(run)))
        });
        let expected = [
            (1, 6, "2 invisible characters, the first is U+200B ZERO WIDTH SPACE"),
            (8, 3, "U+FEFF ZERO WIDTH NO-BREAK SPACE is invisible"),
            (12, 2, "U+00AD SOFT HYPHEN is invisible"),
        ];
        assert_eq!(messages, expected.map(|(at, len, message)| (at, len, message.to_owned())));
    }
}
