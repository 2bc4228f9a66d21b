//! What is left of a character whose last bytes are lost, where correct text does not have it.
//!
//! A program cut the line there, or dropped a no-break space or a byte that windows-1252 does not define.

use core::ops::Range;

use super::trails::{has, set};

/// Characters that no correct word ends with after a letter from à to ô: ¤ ¦ ¨ ¬ ¯ µ ¸ ƒ ˆ Œ œ ˜ Ÿ, and the bytes that
/// windows-1252 does not define.
const RARE: u64 = set(&[
    0xA4, 0xA6, 0xA8, 0xAC, 0xAF, 0xB5, 0xB8, 0x83, 0x88, 0x8C, 0x9C, 0x98, 0x9F, 0x81, 0x8D, 0x8F, 0x90,
    0x9D,
]);

/// English words before `’t`, of which `â` is left.
const BEFORE_T: [&str; 13] = [
    "aren", "couldn", "didn", "doesn", "don", "hadn", "hasn", "haven", "isn", "shouldn", "wasn", "won",
    "wouldn",
];

/// Whether these bytes at the range of a line are an incomplete sequence that correct text does not have.
pub(super) fn is_lost(line: &str, range: &Range<usize>, bytes: &[u8]) -> bool {
    let before = &line[..range.start];
    let after = &line[range.end..];
    let is_end = matches!(after, "" | "\n" | "\r\n");
    let is_cut = is_end || after.starts_with(char::REPLACEMENT_CHARACTER);
    match *bytes {
        // In correct text, no Â follows a number, and no Ã follows a lower-case letter.
        [0xC2] => is_cut && is_before_space(before),
        [0xC3] => (is_cut || after.starts_with(' ')) && small_letters(before) > 0,
        // A capital at the end of a lower-case word. kÅ is a unit.
        [0xC4..=0xD6 | 0xD8..=0xDE] => is_cut && small_letters(before) > 1,
        [0xE2] => is_end && BEFORE_T.contains(&last_word(before).to_ascii_lowercase().as_str()),
        // The start of quotation marks and dashes.
        [0xE2, 0x80] => true,
        [0xE0..=0xF4, ref trails @ ..] => is_cut && trails.iter().any(|&trail| has(RARE, trail)),
        _ => false,
    }
}

/// Whether an `Â` after this text is the rest of a no-break space: after a number, a placeholder or a lower-case word.
pub(super) fn is_before_space(before: &str) -> bool {
    before.ends_with(|last: char| last.is_ascii_digit() || last == '}') || small_letters(before) > 1
}

fn small_letters(before: &str) -> usize {
    before.bytes().rev().take_while(u8::is_ascii_lowercase).count()
}

fn last_word(before: &str) -> &str {
    let letters = before.bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    &before[before.len() - letters..]
}
