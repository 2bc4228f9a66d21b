//! The characters around a sequence.

use core::ops::Range;

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

pub(super) fn is_quote(character: char) -> bool {
    is_typographic(character) && character != '\u{A0}'
        || matches!(character, '"' | '\'' | '`' | '(' | '[' | '{' | '<' | '>' | '|')
}

/// The characters around a sequence.
#[derive(Clone, Copy, Debug)]
pub(super) struct Neighbors {
    pub(super) before: Option<char>,
    /// The character before `before`.
    pub(super) second: Option<char>,
    pub(super) after: Option<char>,
    /// The next letter, if it is near.
    pub(super) letter: Option<char>,
}

impl Neighbors {
    pub(super) fn of(text: &str, range: &Range<usize>) -> Self {
        let mut before = text[..range.start].chars().rev();
        let mut after = text[range.end..].chars().take(8);
        let (before, second, next) = (before.next(), before.next(), after.next());
        let letter = next.into_iter().chain(after).find(|each| each.is_alphabetic());
        Self { before, second, after: next, letter }
    }

    /// Whether a quotation mark precedes, with or without a no-break space. An apostrophe after a letter does not count.
    pub(super) fn is_quoted(self) -> bool {
        match self.before {
            Some('\u{A0}') => self.second.is_some_and(is_quote),
            Some('\'') if self.second.is_some_and(char::is_alphanumeric) => false,
            before => before.is_some_and(is_quote),
        }
    }
}
