//! Sequences of two characters: a capital letter `Â` to `ß` and a sign, a mark or a letter. They are the most frequent ones,
//! and those of which correct text has the most.

use core::ops::RangeInclusive;
use std::sync::LazyLock;

use super::neighbors::{Neighbors, is_quote};
use super::sequence::Sequence;
use super::trails::{BEFORE_SPACE, DASHES, LETTERS, QUOTES, SIGNS, has, set};

/// A sequence of two characters, and what is around it.
#[derive(Clone, Copy, Debug)]
struct Pair {
    trail: u8,
    has_control: bool,
    /// Whether the second character does not occur after a letter.
    is_rare: bool,
    around: Neighbors,
}

/// Whether a pair is strong evidence. `is_rare` is whether its second character does not occur after a letter.
pub(super) fn is_strong(sequence: &Sequence, is_rare: bool, around: Neighbors) -> bool {
    let [lead, trail, ..] = sequence.bytes;
    let pair = Pair { trail, has_control: sequence.has_control, is_rare, around };
    let mut rows = ABOUT[usize::from(lead - FIRST)][usize::from(trail & 0x3F)];
    while rows != 0 {
        let row = &ROWS[rows.trailing_zeros() as usize];
        if (row.applies)(&pair) {
            return (row.is_strong)(&pair);
        }
        rows &= rows - 1;
    }
    false
}

/// A case of pairs. The first row that is about a pair decides.
struct Row {
    leads: RangeInclusive<u8>,
    trails: u64,
    applies: fn(&Pair) -> bool,
    is_strong: fn(&Pair) -> bool,
}

const fn row(
    leads: RangeInclusive<u8>,
    trails: u64,
    applies: fn(&Pair) -> bool,
    is_strong: fn(&Pair) -> bool,
) -> Row {
    Row { leads, trails, applies, is_strong }
}

/// The first bytes of pairs.
const FIRST: u8 = 0xC2;
const LAST: u8 = 0xDF;

/// For each pair of bytes, the rows that may be about it, as a set.
static ABOUT: LazyLock<Vec<[u64; 64]>> = LazyLock::new(|| {
    (FIRST..=LAST).map(|lead| core::array::from_fn(|trail| rows_about(lead, trail as u8))).collect()
});

fn rows_about(lead: u8, trail: u8) -> u64 {
    ROWS.iter()
        .enumerate()
        .fold(0, |set, (at, row)| set | u64::from(row.leads.contains(&lead) && has(row.trails, trail)) << at)
}

const ANY: u64 = u64::MAX;

/// 80 to 9F.
const CONTROLS: u64 = 0xFFFF_FFFF;

const NO_BREAK_SPACE: u64 = set(&[0xA0]);
const APOSTROPHE: u64 = set(&[0x92]);
const ACUTE: u64 = set(&[0xB4]);
const MIDDLE_DOT: u64 = set(&[0xB7]);
const CAPITAL_LETTERS: u64 = set(&[0x8A, 0x8E]);
const SMALL_LETTERS: u64 = set(&[0x9A, 0x9E]);

/// Numbers and ranges with the unit Å.
const NUMERIC: u64 = DASHES | MIDDLE_DOT | set(&[0xB0, 0xB1, 0xB2, 0xB3, 0xB9]);

static ROWS: &[Row] = &[
    // Â. U+0080 to U+009F are only in text that was encoded three times.
    row(0xC2..=0xC2, CONTROLS, always, |pair| pair.is_rare && pair.has_control),
    // In a word in capitals, a quotation or before a space it is a letter.
    row(0xC2..=0xC2, NO_BREAK_SPACE, Pair::is_after_upper, Pair::is_before_lower),
    row(0xC2..=0xC2, QUOTES | ACUTE | MIDDLE_DOT, Pair::is_after_upper, never),
    row(0xC2..=0xC2, NO_BREAK_SPACE, Pair::is_word, never),
    row(0xC2..=0xC2, QUOTES, Pair::is_quoted, never),
    row(0xC2..=0xC2, ANY, always, always),
    row(0xC3..=0xCB, ANY, |pair| pair.is_rare, always),
    // Ã. No language has these letters in a word with it.
    row(0xC3..=0xC3, LETTERS, always, always),
    row(0xC3..=0xC3, NO_BREAK_SPACE, Pair::is_after_upper, |pair| {
        pair.is_in_title() && (pair.is_before_lower() || pair.is_before(|after| after == ' '))
    }),
    row(0xC3..=0xC3, QUOTES | DASHES, Pair::is_after_upper, |pair| {
        pair.is_inside_capitals_or_title() || pair.is_before_lead()
    }),
    row(0xC3..=0xC3, set(&[0x99, 0xAE]), Pair::is_after_upper, |pair| {
        pair.is_before_lower() || pair.is_inside_capitals_or_title()
    }),
    row(0xC3..=0xC3, ANY, Pair::is_after_upper, |pair| {
        pair.is_before_lower() || pair.is_inside_capitals_or_title() || pair.is_in_title()
    }),
    row(0xC3..=0xC3, APOSTROPHE, Pair::is_quoted, never),
    row(0xC3..=0xC3, QUOTES | DASHES, Pair::is_quoted, Pair::is_before_lower),
    row(0xC3..=0xC3, ANY, Pair::is_quoted, always),
    row(0xC3..=0xC3, NO_BREAK_SPACE | set(&[0x85]), always, |pair| {
        pair.is_after_lower()
            || pair.is_before_lead()
            || pair.is_before(|after| after.is_lowercase() || after == ' ')
    }),
    row(0xC3..=0xC3, ANY, always, always),
    // Ä and Å before Š and Ž.
    row(0xC4..=0xC4, SMALL_LETTERS, Pair::is_before_lower, never),
    row(0xC4..=0xC5, LETTERS, Pair::is_before_lower, Pair::is_first),
    row(0xC4..=0xC5, CAPITAL_LETTERS, always, never),
    row(0xC4..=0xC5, SMALL_LETTERS, always, Pair::is_after_upper),
    row(0xC5..=0xC5, ACUTE, always, |pair| {
        pair.is_after_lower() || pair.is_first() && pair.is_before_lower()
    }),
    // The unit Å with a prefix, as in kÅ, is not a unit after a word.
    row(
        0xC5..=0xC5,
        NUMERIC,
        |pair| !pair.is_before_lower(),
        |pair| pair.is_after_lower() && pair.around.second.is_some_and(char::is_alphabetic),
    ),
    row(0xC4..=0xC5, ANY, Pair::is_after_lower, always),
    row(0xC4..=0xC5, ANY, Pair::is_after_upper, Pair::is_inside_capitals_or_title),
    row(0xC4..=0xC5, ANY, always, Pair::is_inside),
    // Æ to Ë.
    row(0xC6..=0xCB, LETTERS, always, never),
    row(0xC6..=0xCB, APOSTROPHE, Pair::is_after_lower, Pair::is_before_lower),
    row(0xC6..=0xCB, ACUTE | NO_BREAK_SPACE, Pair::is_after_lower, never),
    row(0xC6..=0xCB, ANY, Pair::is_after_lower, always),
    row(0xC6..=0xCB, ANY, Pair::is_after_upper, |pair| pair.is_inside() && pair.is_second()),
    row(0xC6..=0xCB, ANY, always, Pair::is_inside),
    // Ì and Í, the first bytes of combining characters.
    row(
        0xCC..=0xCD,
        ANY,
        |pair| pair.is_after(char::is_alphabetic),
        |pair| pair.is_rare || pair.is_after_lower() || pair.is_inside(),
    ),
    row(0xCC..=0xCD, ANY, always, never),
    // × and ß.
    row(0xD7..=0xD7, ANY, always, never),
    row(0xDF..=0xDF, ANY, always, never),
    // Î, Ï and Ð, the first bytes of Greek and Cyrillic.
    row(0xD0..=0xD0, LETTERS, always, |pair| pair.is_first() && !pair.is_before_lower()),
    row(0xCE..=0xCE, SIGNS, |pair| !pair.is_rare, Pair::is_unquoted_first),
    row(0xD0..=0xD0, SIGNS, |pair| !pair.is_rare, Pair::is_unquoted_first),
    row(0xCE..=0xCF, ANY, always, |pair| pair.is_rare),
    // A letter of another script is not in a Latin word.
    row(0xD0..=0xDF, ANY, always, |pair| {
        pair.is_rare
            && !pair.is_after(|before| before.is_ascii_alphabetic())
            && !pair.is_before(|after| after.is_ascii_alphabetic())
    }),
];

fn always(_: &Pair) -> bool {
    true
}

fn never(_: &Pair) -> bool {
    false
}

impl Pair {
    /// Whether there is such a character before the pair.
    fn is_after(&self, is: fn(char) -> bool) -> bool {
        self.around.before.is_some_and(is)
    }

    /// Whether there is such a character after the pair.
    fn is_before(&self, is: fn(char) -> bool) -> bool {
        self.around.after.is_some_and(is)
    }

    fn is_after_lower(&self) -> bool {
        self.is_after(char::is_lowercase)
    }

    fn is_after_upper(&self) -> bool {
        self.is_after(char::is_uppercase)
    }

    fn is_before_lower(&self) -> bool {
        self.is_before(char::is_lowercase)
    }

    /// Whether another pair may follow: the most frequent ones start with Â to Å.
    fn is_before_lead(&self) -> bool {
        self.is_before(|after| matches!(after, 'Â'..='Å'))
    }

    fn is_quoted(&self) -> bool {
        self.around.is_quoted()
    }

    /// Whether the letter Â is a word: nothing is before it, or a space or a quotation mark, and a sign is after its space.
    fn is_word(&self) -> bool {
        !self.is_after(|before| !before.is_whitespace() && !is_quote(before))
            && self.is_before(|after| matches!(after, ':' | ';' | '=' | '?' | '!' | '»'))
    }

    /// Whether the pair is at the start of a word.
    fn is_first(&self) -> bool {
        !self.is_after(|before| before.is_alphanumeric() || matches!(before, '\u{300}'..='\u{36F}'))
    }

    /// Whether the pair is at the start of a word that is not quoted.
    fn is_unquoted_first(&self) -> bool {
        !self.is_after(|before| before.is_alphanumeric() || is_quote(before))
    }

    /// Whether the pair follows the first letter of a word, and that letter is a capital.
    fn is_title(&self) -> bool {
        self.is_after_upper() && !self.around.second.is_some_and(char::is_alphanumeric)
    }

    /// Whether the pair is the second letter of such a word, and a lower-case letter is near.
    fn is_in_title(&self) -> bool {
        self.is_title() && self.around.letter.is_some_and(char::is_lowercase)
    }

    /// Whether the pair is the second letter of a capitalized word.
    fn is_second(&self) -> bool {
        self.is_title() && self.is_before_lower()
    }

    /// Whether a sign or a closing quotation mark is inside a word: a letter follows it.
    fn is_inside(&self) -> bool {
        has(BEFORE_SPACE, self.trail)
            && self.is_before(char::is_alphabetic)
            && (!self.is_quoted()
                || self.is_after(|before| matches!(before, '(' | '[' | '{' | '<' | '>' | '|')))
    }

    /// The same in a word in capitals or with a capital.
    fn is_inside_capitals_or_title(&self) -> bool {
        let is_capitals = self.is_after_upper() && self.is_before(char::is_uppercase);
        self.is_inside() && (is_capitals || self.is_second())
    }
}
