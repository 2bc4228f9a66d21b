//! Decides whether a sequence occurs in correct text.
//!
//! In correct text, the last characters of a sequence occur after a letter only if they are in a small set: closing
//! quotation marks, dashes, no-break spaces, superscripts, and the letters Š and Ž. Every other sequence is strong
//! evidence of a second encoding. The sequences of this set are strong evidence only where correct text does not have
//! them, for example between two lower-case letters.

use super::neighbors::Neighbors;
use super::pairs;
use super::sequence::{Sequence, UNDEFINED};
use super::trails::{BEFORE_SPACE, DASHES, LETTERS, QUOTES, SIGNS, has, set};

/// Characters that occur after a letter in correct text. ´ is typed as an apostrophe. The last ones are the soft hyphen
/// and the middle dot.
const AFTER_LETTER: u64 = QUOTES | DASHES | SIGNS | LETTERS | set(&[0xB4, 0xAD, 0xB7]);

/// Quotation marks except the apostrophe, signs, and the soft hyphen.
const IN_VIETNAMESE: u64 = BEFORE_SPACE | LETTERS | set(&[0xAD]);

/// Footnote marks § ¶, and ‰ ¼ ½ ¾. They follow a letter only by accident, but so do the characters of rare sequences.
const MARKS: u64 = set(&[0xA7, 0xB6, 0x89, 0xBC, 0xBD, 0xBE]);

/// Sets `is_strong` of the sequences of a run.
pub(super) fn run(text: &str, sequences: &mut [Sequence]) {
    let is_single = sequences.iter().filter(|sequence| sequence.bytes[0] >= 0xE0).count() == 1;
    for sequence in &mut *sequences {
        sequence.is_strong = is_strong(sequence, text) && !(is_single && has_no_break_space(sequence));
    }
    if sequences.iter().any(|sequence| sequence.is_strong) || is_word(sequences) {
        for sequence in sequences {
            sequence.is_strong = true;
        }
    }
}

/// Whether several sequences without a strong one are plausible as a word: 2 of 3 bytes, or 3 of 2 bytes. Correct words
/// with as many letters Š and Ž in a row, or signs alternately with capitals, do not exist, but boxes of DOS do: they
/// repeat one sequence.
fn is_word(sequences: &[Sequence]) -> bool {
    let is_long = sequences.iter().all(|sequence| sequence.bytes[0] >= 0xE0);
    // Short words are frequent in Greek, Cyrillic, Armenian, Hebrew and Arabic.
    let is_short =
        sequences.iter().all(|sequence| matches!(sequence.bytes[0], 0xCE..=0xD1 | 0xD5 | 0xD7..=0xD9));
    let least = if is_long || is_short || sequences.iter().any(is_rare) { 2 } else { 3 };
    sequences.iter().filter(|sequence| sequence.original.is_alphabetic()).count() >= least
        && sequences.iter().any(|sequence| sequence.original != sequences[0].original)
        && sequences.iter().any(|sequence| sequence.trails().iter().all(|&trail| !has(LETTERS, trail)))
}

/// Whether the sequence is U+00E0 to U+00F4, a no-break space and signs. In several languages the letter is a word: à, è,
/// é, â.
fn has_no_break_space(sequence: &Sequence) -> bool {
    sequence.bytes[0] >= 0xE0 && sequence.bytes[1] == 0xA0 && !sequence.has_control
}

fn is_strong(sequence: &Sequence, text: &str) -> bool {
    let is_rare = is_rare(sequence);
    // Decoders return them only for bytes that windows-1252 does not define.
    if sequence.has_control && !sequence.is_lossy && text[sequence.range.clone()].contains(UNDEFINED) {
        return true;
    }
    let context = Neighbors::of(text, &sequence.range);
    // Correct text has no `Ã` at the end of a word in lower case. The other spaces are decided by the rest of the line.
    if sequence.is_lossy {
        return sequence.original == 'à' && context.before.is_some_and(char::is_lowercase);
    }
    match sequence.bytes {
        [0xC2..=0xDF, ..] => pairs::is_strong(sequence, is_rare, context),
        [0xE2, first, ..] => {
            let is_own_word = !context.before.is_some_and(char::is_alphanumeric) && !context.is_quoted();
            let is_in_word = context.after.is_some_and(char::is_alphabetic);
            is_rare
                || match first {
                    // U+2190 to U+21FF: a dagger before another sign.
                    0x86 => !context.is_quoted(),
                    // A capital after a lower-case letter.
                    0x8A | 0x8E => true,
                    0x9A | 0x9E => false,
                    // An opening quotation mark in a word.
                    0x8B if is_in_word => true,
                    _ => is_own_word,
                }
        }
        // º is not after á. ¹ and » are, but no letter follows the sign after them, and no quotation opens there.
        [0xE1, 0xBA, ..] | [0xE1, 0xBB, 0x8B | 0xAB | 0xAD, _] => true,
        [0xE1, 0xB9 | 0xBB, last, ..]
            if has(IN_VIETNAMESE, last) && context.after.is_some_and(char::is_alphabetic) =>
        {
            true
        }
        [0xE1, 0xB9, 0x85, _] => context.after.is_some_and(char::is_lowercase),
        [0xE1, 0xB8..=0xBB, ..] | [0xEF, ..] | [0xF0..=0xF4, ..] => is_rare,
        // No language has œ or ž after ê.
        [0xEA, 0x9C | 0x9E, ..] => true,
        // A letter of another script is not in a Latin word.
        _ => is_rare && !context.before.is_some_and(|before| before.is_ascii_alphabetic()),
    }
}

/// Whether one of the last characters does not occur after a letter.
fn is_rare(sequence: &Sequence) -> bool {
    sequence.trails().iter().any(|&trail| !may_follow(sequence, trail))
}

/// Whether correct text has this character of the sequence after a letter.
fn may_follow(sequence: &Sequence, trail: u8) -> bool {
    let lead = sequence.bytes[0];
    let set = match sequence.has_control {
        // Punctuation of windows-1252 that was decoded as ISO 8859-1.
        true => AFTER_LETTER & !set(&[0x86, 0x87, 0x8A, 0x8B, 0x8E, 0x95, 0x9A, 0x9B, 0x9E]),
        false => AFTER_LETTER,
    };
    // U+0080 to U+017F, Greek and Cyrillic are more frequent.
    has(set, trail) || matches!(lead, 0xC6..=0xCD | 0xD2..=0xDF) && has(MARKS, trail)
}
