//! Decides whether a line was decoded as another encoding than windows-1252, by what it is if it is read back.
//!
//! Correct text is rarely well-formed if it is read back, and then its letters do not fit together: `m’és` in Mac Roman would
//! be an Armenian letter in a Latin word. Where they fit, the broken text has places that correct text does not have, or
//! is read back as punctuation of three bytes.

use core::ops::Range;

/// The letters of one script, which a word does not mix with those of another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Script {
    Latin,
    Greek,
    Cyrillic,
    /// Another one, by the number of its code points.
    Other(u32),
}

/// What a character is in the text that was read back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    Letter(Script),
    /// A combining mark that is in words.
    Mark,
    /// A sign, or punctuation.
    Sign,
    /// A character of rare text, which is more often correct text that was read back.
    Rare,
}

fn class(character: char) -> Class {
    match character {
        _ if character.is_ascii_alphabetic() => Class::Letter(Script::Latin),
        '\0'..='\u{7F}' => Class::Sign,
        'ª' | 'º' | '×' | '÷' | '\u{80}'..='\u{BF}' => Class::Sign,
        '\u{C0}'..='\u{24F}' | '\u{1E00}'..='\u{1EFF}' => Class::Letter(Script::Latin),
        // Letters of African languages, and apostrophes that are letters.
        'ɓ' | 'ɔ' | 'ɖ' | 'ɗ' | 'ə' | 'ɛ' | 'ɠ' | 'ɣ' | 'ɨ' | 'ɩ' | 'ɲ' | 'ɵ' | 'ʃ' | 'ʉ' | 'ʊ' | 'ʋ'
        | 'ʒ' => Class::Letter(Script::Latin),
        '\u{2B9}' | '\u{2BB}' | '\u{2BC}' | '\u{2C8}' | '\u{2D0}' => Class::Letter(Script::Latin),
        '\u{300}'..='\u{304}' | '\u{306}'..='\u{30C}' | '\u{31B}' | '\u{323}'..='\u{328}' | '\u{331}' => {
            Class::Mark
        }
        '\u{250}'..='\u{36F}' => Class::Rare,
        '\u{370}'..='\u{3FF}' | '\u{1F00}'..='\u{1FFF}' => Class::Letter(Script::Greek),
        '\u{400}'..='\u{52F}' => Class::Letter(Script::Cyrillic),
        '\u{2000}'..='\u{206F}' | '\u{20A0}'..='\u{20CF}' | '\u{2100}'..='\u{2BFF}' => Class::Sign,
        '\u{FE0F}' | '\u{FEFF}' | '\u{1F000}'..='\u{1FAFF}' | '\u{E0020}'..='\u{E007F}' => Class::Sign,
        // Ideographs, kana, Hangul and full-width forms are in one text.
        '\u{3000}'..='\u{9FFF}' | '\u{AC00}'..='\u{D7A3}' | '\u{FF01}'..='\u{FFEF}' => {
            Class::Letter(Script::Other(0))
        }
        // A block has 128 characters or more. A word has letters of one.
        _ => Class::Letter(Script::Other(u32::from(character) >> 8)),
    }
}

/// Whether correct text is not like this line, in which the runs of characters that are not ASCII were read back.
pub(super) fn is_broken(line: &str, runs: &[(Range<usize>, String)]) -> bool {
    let around = |range: &Range<usize>| Around::of(line, range);
    runs.iter().all(|(range, original)| fits(original, around(range)))
        && (runs.iter().any(|(range, original)| is_evidence(&line[range.clone()], original, around(range)))
            || runs
                .iter()
                .filter(|(range, original)| is_hint(&line[range.clone()], original, around(range)))
                .count()
                > 1)
}

/// The characters before and after a run. Both are ASCII.
#[derive(Clone, Copy, Debug)]
struct Around {
    before: Option<char>,
    after: Option<char>,
}

impl Around {
    fn of(line: &str, range: &Range<usize>) -> Self {
        Self { before: line[..range.start].chars().next_back(), after: line[range.end..].chars().next() }
    }

    /// The characters of a run with those around it.
    fn with(self, run: &str) -> impl Iterator<Item = char> {
        self.before.into_iter().chain(run.chars()).chain(self.after)
    }
}

/// Whether text that was read back has letters that words have beside each other.
fn fits(original: &str, around: Around) -> bool {
    let mut previous = Class::Sign;
    around.with(original).all(|character| {
        let own = class(character);
        let fits = match (previous, own) {
            (_, Class::Rare) => false,
            (Class::Letter(a), Class::Letter(b)) => a == b,
            (before, Class::Mark) => matches!(before, Class::Letter(_) | Class::Mark),
            _ => true,
        };
        previous = own;
        fits
    })
}

/// Whether correct text does not have this run.
fn is_evidence(run: &str, original: &str, around: Around) -> bool {
    // Dashes, quotation marks, arrows, emoji.
    if original.chars().any(|each| each.len_utf8() > 2 && class(each) == Class::Sign) {
        return true;
    }
    let is_formula = is_formula(run);
    if run.starts_with('√') && !is_formula {
        return true;
    }
    // Correct text has no run of several sequences that fit, but boxes of DOS repeat one.
    let first = original.chars().next();
    if original.chars().any(|each| Some(each) != first) && original.chars().all(is_other_letter) {
        return true;
    }
    if is_own(run, around) {
        return true;
    }
    let is_before = around.before.is_some_and(char::is_alphabetic);
    let is_after = around.after.is_some_and(char::is_alphabetic);
    if original.chars().nth(1).is_none() && !is_before && !is_after || is_formula && !(is_before && is_after)
    {
        return false;
    }
    // A Latin letter in a word with others, also with a sign between them.
    if !run.contains('\u{A0}') && run.chars().any(is_other_letter) {
        return true;
    }
    let mut pairs = around.with(run).zip(around.with(run).skip(1));
    let mut triples = around.with(run).zip(around.with(run).skip(1)).zip(around.with(run).skip(2));
    pairs.any(|(first, second)| is_odd(first, second))
        || triples.any(|((first, sign), second)| {
            first.is_alphabetic() && is_superscript(sign) && second.is_alphabetic()
        })
}

/// Whether a character is a letter that is not Latin.
fn is_other_letter(character: char) -> bool {
    matches!(class(character), Class::Letter(script) if script != Script::Latin)
}

/// Whether the run is a character of Mac Roman or windows-1251 where correct text does not have it.
fn is_own(run: &str, around: Around) -> bool {
    let is_before = |is: fn(char) -> bool| around.before.is_some_and(is);
    let is_after = |is: fn(char) -> bool| around.after.is_some_and(is);
    let mut characters = run.chars();
    let (Some(first), Some(second)) = (characters.next(), characters.next()) else { return false };
    match (first, second) {
        // A sign of Latin-1. In logic a variable is after ¬, and no operand is before it.
        ('¬', '§' | '£' | '•' | '©' | '®') => true,
        ('¬', _) => is_before(|before| before.is_alphanumeric() || before == '}'),
        // µ as a Greek letter.
        ('Œ', 'º') => true,
        // š.
        ('≈', '°') => is_after(|after| after.is_ascii_lowercase()),
        // ƒ is a letter of Ewe, before vowels, and after no other consonant than a nasal.
        ('ƒ', 'å' | 'ä' | 'ö' | 'ü' | 'ë' | 'ç' | 'ñ' | '´') => true,
        ('ƒ', _) => is_before(|before| before.is_ascii_lowercase() && !"aeioumn".contains(before)),
        // An apostrophe that is a letter.
        ('\u{A0}', 'º' | 'ª') => is_before(char::is_alphabetic) && is_after(char::is_lowercase),
        ('В', '©') => true,
        ('В', '°') => is_before(|before| before.is_ascii_digit()),
        _ => false,
    }
}

/// Whether the run is a letter of African languages in Mac Roman, after a letter. Correct text may have one such run, which
/// is an ellipsis before a word: `dar…în`.
fn is_hint(run: &str, original: &str, around: Around) -> bool {
    run.starts_with('…')
        && original.chars().all(|each| ('\u{250}'..='\u{2AF}').contains(&each))
        && around.before.is_some_and(char::is_alphabetic)
        && !(run.ends_with('î') && around.after.is_some_and(|after| matches!(after, 'n' | 'm')))
}

/// A square root, as in `a√π`.
fn is_formula(run: &str) -> bool {
    let mut characters = run.chars();
    characters.next() == Some('√') && characters.as_str().chars().all(|each| "πΩµ∞∑∂∫∏".contains(each))
}

/// Whether the second character does not follow the first one in correct text: a sign after a letter, a letter after a sign,
/// or a capital after a lower-case letter.
fn is_odd(first: char, second: char) -> bool {
    !(first.is_ascii() && second.is_ascii())
        && (first.is_lowercase() && second.is_uppercase()
            || is_sign(first) && second.is_alphabetic()
            || first.is_alphabetic() && is_sign(second))
}

/// Whether this is neither a letter nor one of the signs that are next to letters in correct text.
fn is_sign(character: char) -> bool {
    !character.is_alphabetic()
        && !character.is_ascii()
        && !super::neighbors::is_typographic(character)
        && !is_superscript(character)
        && !matches!(character, '´' | '\u{AD}')
}

/// Whether this is a sign that is after a word in correct text.
fn is_superscript(character: char) -> bool {
    matches!(character, '®' | '™' | '©' | '°' | '²' | '³' | '¹' | '†' | '‡')
}
