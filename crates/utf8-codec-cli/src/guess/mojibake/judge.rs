//! Decides whether a sequence occurs in correct text.
//!
//! In correct text, the last characters of a sequence occur after a letter only if they are in a small set: closing
//! quotation marks, dashes, no-break spaces, superscripts, and the letters Š and Ž. Every other sequence is strong
//! evidence of a second encoding. The sequences of this set are strong evidence only where correct text does not have
//! them, for example between two lower-case letters.

use core::ops::Range;

use super::sequence::{Sequence, UNDEFINED};

/// A set of the bytes 80 to BF.
const fn set(bytes: &[u8]) -> u64 {
    let (mut set, mut at) = (0, 0);
    while at < bytes.len() {
        set |= 1 << (bytes[at] & 0x3F);
        at += 1;
    }
    set
}

fn has(set: u64, byte: u8) -> bool {
    set >> (byte & 0x3F) & 1 == 1
}

/// The bytes of quotation marks: ‘ ’ “ ” ‹ › « ».
const QUOTES: u64 = set(&[0x91, 0x92, 0x93, 0x94, 0x8B, 0x9B, 0xAB, 0xBB]);

/// … – — and the no-break space.
const DASHES: u64 = set(&[0x85, 0x96, 0x97, 0xA0]);

/// † ‡ • ™ © ª ® ° ± ² ³ ¹ º.
const SIGNS: u64 = set(&[0x86, 0x87, 0x95, 0x99, 0xA9, 0xAA, 0xAE, 0xB0, 0xB1, 0xB2, 0xB3, 0xB9, 0xBA]);

/// Š š Ž ž.
const LETTERS: u64 = set(&[0x8A, 0x9A, 0x8E, 0x9E]);

/// Characters that occur after a letter in correct text. ´ is typed as an apostrophe. The last ones are the soft hyphen
/// and the middle dot.
const AFTER_LETTER: u64 = QUOTES | DASHES | SIGNS | LETTERS | set(&[0xB4, 0xAD, 0xB7]);

/// Characters of this set that a letter does not follow directly.
const BEFORE_SPACE: u64 = (QUOTES & !set(&[0x92])) | SIGNS;

/// Quotation marks except the apostrophe, signs, and the soft hyphen.
const IN_VIETNAMESE: u64 = BEFORE_SPACE | LETTERS | set(&[0xAD]);

/// Footnote marks § ¶, and ‰ ¼ ½ ¾. They follow a letter only by accident, but so do the characters of rare sequences.
const MARKS: u64 = set(&[0xA7, 0xB6, 0x89, 0xBC, 0xBD, 0xBE]);

/// Numbers and ranges with the unit Å: · as well.
const NUMERIC: u64 = DASHES | set(&[0xB0, 0xB1, 0xB2, 0xB3, 0xB9, 0xB7]);

/// Whether a character that belongs to no sequence may be next to one: punctuation around a word.
pub(super) fn is_typographic(character: char) -> bool {
    matches!(
        character,
        '‘' | '’'
            | '“'
            | '”'
            | '‚'
            | '„'
            | '‹'
            | '›'
            | '«'
            | '»'
            | '…'
            | '–'
            | '—'
            | '\u{A0}'
            | '•'
            | '·'
            | '¿'
            | '¡'
    )
}

fn is_combining(character: char) -> bool {
    matches!(character, '\u{300}'..='\u{36F}')
}

fn is_quote(character: char) -> bool {
    is_typographic(character) && character != '\u{A0}'
        || matches!(character, '"' | '\'' | '`' | '(' | '[' | '{' | '<' | '>' | '|')
}

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
    if text[sequence.range.clone()].contains(UNDEFINED) && !sequence.is_lossy {
        return true;
    }
    let context = Neighbors::of(text, &sequence.range);
    // Correct text has no `Ã` at the end of a word in lower case. The other spaces are decided by the rest of the line.
    if sequence.is_lossy {
        return sequence.original == 'à' && context.before.is_some_and(char::is_lowercase);
    }
    match sequence.bytes {
        [0xC2..=0xDF, ..] => context.is_strong_pair(sequence, is_rare),
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

/// The characters around a sequence.
#[derive(Clone, Copy, Debug)]
struct Neighbors {
    before: Option<char>,
    /// The character before `before`.
    second: Option<char>,
    after: Option<char>,
    /// The next letter, if it is near.
    letter: Option<char>,
}

impl Neighbors {
    fn of(text: &str, range: &Range<usize>) -> Self {
        let mut before = text[..range.start].chars().rev();
        let mut after = text[range.end..].chars().take(8);
        let (before, second, next) = (before.next(), before.next(), after.next());
        let letter = next.into_iter().chain(after).find(|each| each.is_alphabetic());
        Self { before, second, after: next, letter }
    }

    /// Whether a quotation mark precedes, with or without a no-break space. An apostrophe after a letter is none.
    fn is_quoted(self) -> bool {
        match self.before {
            Some('\u{A0}') => self.second.is_some_and(is_quote),
            Some('\'') if self.second.is_some_and(char::is_alphanumeric) => false,
            before => before.is_some_and(is_quote),
        }
    }

    /// Whether a capital letter and the character after it are strong evidence. `is_rare` is whether the second one is
    /// not in [`AFTER_LETTER`].
    fn is_strong_pair(self, sequence: &Sequence, is_rare: bool) -> bool {
        let [lead, trail, ..] = sequence.bytes;
        let is_before = |is: fn(char) -> bool| self.before.is_some_and(is);
        let is_after = |is: fn(char) -> bool| self.after.is_some_and(is);
        let (lower, upper, quote) =
            (is_before(char::is_lowercase), is_before(char::is_uppercase), self.is_quoted());
        // A sign or a closing quotation mark in a word: it is followed by a letter.
        let is_inside = has(BEFORE_SPACE, trail)
            && is_after(char::is_alphabetic)
            && (!quote || is_before(|before| matches!(before, '(' | '[' | '{' | '<' | '>' | '|')));
        // After the first letter of a word, which is a capital.
        let is_title = upper && !self.second.is_some_and(char::is_alphanumeric);
        let is_second = is_title && is_after(char::is_lowercase);
        let is_capitals = upper && is_after(char::is_uppercase);
        // At the start of a word.
        let is_first = !is_before(|before| before.is_alphanumeric() || is_combining(before));
        match lead {
            // U+0080 to U+009F are only in text that was encoded three times.
            0xC2 if trail < 0xA0 => is_rare && sequence.has_control,
            0xC2 if upper && has(QUOTES | set(&[0xA0, 0xB4, 0xB7]), trail) => {
                trail == 0xA0 && is_after(char::is_lowercase)
            }
            // The letter Â as a word.
            0xC2 if trail == 0xA0
                && !is_before(|before| !before.is_whitespace() && !is_quote(before))
                && is_after(|after| matches!(after, ':' | ';' | '=' | '?' | '!' | '»')) =>
            {
                false
            }
            0xC2 => !(quote && has(QUOTES, trail)),
            _ if is_rare && lead < 0xCC => true,
            // No language has these letters in a word with Ã.
            0xC3 if has(LETTERS, trail) => true,
            0xC3 if upper => {
                is_inside && (is_capitals || is_second)
                    || !has(QUOTES | DASHES, trail) && is_after(char::is_lowercase)
                    || is_title
                        && self.letter.is_some_and(char::is_lowercase)
                        && match trail {
                            0xA0 => is_after(|after| after == ' ' || after.is_lowercase()),
                            _ => !has(QUOTES | DASHES | set(&[0x99, 0xAE]), trail),
                        }
            }
            0xC3 if quote => !has(QUOTES | DASHES, trail) || is_after(char::is_lowercase) && trail != 0x92,
            0xC3 if trail == 0xA0 || trail == 0x85 => {
                lower || is_after(|after| after.is_lowercase() || matches!(after, ' ' | 'Â'..='Å'))
            }
            0xC3 => true,
            0xC4 | 0xC5 if has(LETTERS, trail) => {
                let is_small = has(set(&[0x9A, 0x9E]), trail);
                match is_after(char::is_lowercase) {
                    true => is_first && !(lead == 0xC4 && is_small),
                    false => upper && is_small,
                }
            }
            0xC5 if trail == 0xB4 => lower || is_first && is_after(char::is_lowercase),
            // The unit Å with a prefix, as in kÅ.
            0xC5 if has(NUMERIC, trail) && !is_after(char::is_lowercase) => {
                lower && self.second.is_some_and(char::is_alphabetic)
            }
            0xC4 | 0xC5 => lower || is_inside && (is_capitals || is_second || !upper),
            0xC6..=0xCB if has(LETTERS, trail) => false,
            0xC6..=0xCB if lower => {
                !has(set(&[0x92, 0xB4, 0xA0]), trail) || trail == 0x92 && is_after(char::is_lowercase)
            }
            0xC6..=0xCB => is_inside && (is_second || !upper),
            // Combining characters.
            0xCC | 0xCD => is_before(char::is_alphabetic) && (is_rare || lower || is_inside),
            0xD7 | 0xDF => false,
            0xD0 if has(LETTERS, trail) => is_first && !is_after(char::is_lowercase),
            0xCE | 0xD0 if !is_rare => {
                has(SIGNS, trail) && !is_before(|before| before.is_alphanumeric() || is_quote(before))
            }
            0xCE | 0xCF => is_rare,
            _ => {
                is_rare
                    && !is_before(|before| before.is_ascii_alphabetic())
                    && !is_after(|after| after.is_ascii_alphabetic())
            }
        }
    }
}
