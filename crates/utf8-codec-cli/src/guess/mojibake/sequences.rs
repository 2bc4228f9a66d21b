//! Finds the character sequences of a line that are well-formed UTF-8 if they are read back.

use core::cell::LazyCell;
use core::ops::Range;

use super::example::places;
use super::judge;
use super::lost::{is_before_space, is_lost};
use super::neighbors::is_typographic;
use super::screen::is_correct;
use super::segments::is_inside;
use super::sequence::{Place, ReadBack, Sequence, UNDEFINED, byte_of};
use crate::guess::utf8_evidence::ascii_len;

/// The sequences of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    pub(super) list: Vec<Sequence>,
    /// Whether a non-ASCII character belongs to no sequence.
    pub(super) has_others: bool,
    /// Whether one of them is neither U+FFFD nor a BOM.
    pub(super) has_correct: bool,
    /// The ranges of the first characters of sequences whose other characters are lost.
    pub(super) damaged: Vec<Range<usize>>,
    /// Those that correct text does not have, and spaces in place of a no-break space where it does not have its `Â`.
    pub(super) lost: Vec<Range<usize>>,
    /// Those that are damaged only if the line was encoded twice as a whole. They may be letters of correct text.
    suspects: Vec<Range<usize>>,
    /// The sequences of the runs with suspects, as ranges of `list`.
    beside_suspects: Vec<Range<usize>>,
}

impl Sequences {
    /// Finds the sequences of a line.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        let bytes = text.as_bytes();
        let has_controls = LazyCell::new(|| has_undefined(text));
        let mut run = Run { characters: Vec::with_capacity(16), bytes: Vec::with_capacity(16) };
        let mut at = 0;
        loop {
            let start = at + ascii_len(&bytes[at..]);
            if start == bytes.len() {
                break;
            }
            let mut len = bytes[start..].iter().position(u8::is_ascii).unwrap_or(bytes.len() - start);
            if bytes.get(start + len) == Some(&b' ') {
                len = stretch_len(text, start, &|| *has_controls);
            }
            at = start + len;
            found.add_stretch(text, start..at, &mut run);
        }
        found.decide_suspects();
        found
    }

    /// Decides whether the suspects are damaged: all other characters are in sequences, and other runs have strong ones, or
    /// this run has two.
    fn decide_suspects(&mut self) {
        if self.suspects.is_empty() {
            return;
        }
        let has_two = |run: &Range<usize>| {
            let mut strong =
                self.list[run.clone()].iter().filter(|each| each.is_strong).map(|each| each.original);
            strong.next().is_some_and(|first| strong.any(|each| each != first))
        };
        let beside: usize = self.beside_suspects.iter().map(|run| strong(&self.list[run.clone()])).sum();
        if !self.has_others && (strong(&self.list) > beside || self.beside_suspects.iter().any(has_two)) {
            self.damaged.append(&mut self.suspects);
            return;
        }
        self.has_others = true;
        self.has_correct = true;
        for run in &self.beside_suspects {
            for sequence in &mut self.list[run.clone()] {
                sequence.is_strong = false;
            }
        }
    }

    /// Sets where the sequences stand.
    pub(super) fn place(&mut self, line: &str, is_long: bool) {
        if self.list.is_empty() {
            return;
        }
        let mut originals = String::with_capacity(4 * self.list.len());
        originals.extend(self.list.iter().map(|sequence| sequence.original));
        let mut runs: Vec<ReadBack<'_>> = Vec::with_capacity(self.list.len());
        let mut start = 0;
        let mut end = 0;
        for Sequence { range, original, .. } in &self.list {
            let is_next = runs.last().is_some_and(|last| last.range.end == range.start);
            start = if is_next { start } else { end };
            end += original.len_utf8();
            let first = if is_next { runs.pop().map(|last| last.range.start) } else { None };
            let range = first.unwrap_or(range.start)..range.end;
            runs.push(ReadBack { range, original: &originals[start..end] });
        }
        let places = places(line, &runs, is_long);
        let mut runs = runs.iter().zip(places).peekable();
        for sequence in &mut self.list {
            while runs.next_if(|(run, _)| run.range.end <= sequence.range.start).is_some() {}
            sequence.place = runs.peek().map(|&(_, place)| place).unwrap_or_default();
        }
    }

    /// Whether all characters that are not ASCII are in sequences, and a single encoding results in each run of them.
    pub(super) fn are_all(&self) -> bool {
        !self.has_others && self.list.iter().all(|sequence| sequence.is_reversible)
    }

    /// Whether some of the line was certainly encoded twice.
    pub(super) fn is_proven(&self) -> bool {
        self.list.iter().any(|sequence| sequence.is_strong)
    }

    /// Adds the sequences of a stretch of non-ASCII characters.
    fn add_stretch(&mut self, text: &str, stretch: Range<usize>, run: &mut Run) {
        let mut characters =
            text[stretch.clone()].char_indices().map(|(at, c)| (stretch.start + at, c)).peekable();
        // Whether a letter that has no byte precedes the run.
        let mut is_after_letter = false;
        while let Some((at, character)) = characters.next() {
            // A space of the stretch is in place of a no-break space.
            match if character == ' ' { Some(0xA0) } else { byte_of(character) } {
                Some(byte) => run.push(at, character, byte),
                None => {
                    self.has_others = true;
                    self.has_correct |= is_correct(character);
                    is_after_letter = is_letter(character);
                }
            }
            let next = characters.peek().map(|&(_, next)| next);
            if next.is_none_or(|next| next != ' ' && byte_of(next).is_none()) && !run.bytes.is_empty() {
                // A word with a letter that the encoding does not have was not decoded from it.
                if is_after_letter || next.is_some_and(is_letter) {
                    self.has_others = true;
                    self.has_correct = true;
                } else {
                    self.add_run(text, run);
                }
                is_after_letter = false;
                run.clear();
            }
        }
    }

    /// Adds the sequences of a run of characters that have bytes.
    fn add_run(&mut self, text: &str, run: &Run) {
        let first = self.list.len();
        // Not in several small steps.
        self.list.reserve(if first == 0 { 16 } else { run.bytes.len() });
        let mut at = 0;
        // Whether a letter or a sign of the run belongs to no sequence.
        let mut is_broken = false;
        let mut has_suspects = false;
        for chunk in run.bytes.utf8_chunks() {
            for original in chunk.valid().chars() {
                let len = original.len_utf8();
                let own = &run.characters[at..at + len];
                let mut sequence = Sequence {
                    range: run.range(at, len),
                    original,
                    bytes: [0; 4],
                    is_strong: false,
                    is_reversible: true,
                    has_control: own.iter().any(|(_, character)| character.is_control()),
                    is_lossy: own.iter().any(|&(_, character)| character == ' '),
                    place: Place::Text,
                };
                sequence.bytes[..len].copy_from_slice(&run.bytes[at..at + len]);
                if sequence.is_lossy && original == '\u{A0}' && is_before_space(&text[..sequence.range.start])
                {
                    self.lost.push(sequence.range.clone());
                }
                at += len;
                self.list.push(sequence);
            }
            let invalid = &run.bytes[at..at + chunk.invalid().len()];
            let range = run.range(at, invalid.len());
            if is_lost(text, &range, invalid) {
                self.lost.push(range);
            } else if is_cut(text, &range, invalid)
                || matches!(invalid, [0xC2 | 0xC3]) && is_damaged(text, range.start)
            {
                self.damaged.push(range);
            } else if is_suspect(invalid) {
                self.suspects.push(range);
                has_suspects = true;
            } else {
                for &(_, character) in &run.characters[at..at + invalid.len()] {
                    self.has_others = true;
                    self.has_correct = true;
                    is_broken |= !is_typographic(character);
                }
            }
            at += invalid.len();
        }
        if has_suspects && first < self.list.len() {
            self.beside_suspects.push(first..self.list.len());
        }
        let sequences = &mut self.list[first..];
        let (mut is_latin_1, mut is_windows_1252) = (true, true);
        for sequence in &*sequences {
            for character in text[sequence.range.clone()].chars() {
                is_latin_1 &= character <= '\u{FF}';
                is_windows_1252 &=
                    !sequence.has_control || !character.is_control() || UNDEFINED.contains(&character);
            }
        }
        for sequence in &mut *sequences {
            sequence.is_reversible = is_latin_1 || is_windows_1252;
        }
        if !is_broken && (is_latin_1 || is_windows_1252) {
            judge::run(text, sequences);
        }
    }
}

/// Characters that have bytes, beside each other.
#[derive(Clone, Debug)]
struct Run {
    /// The characters with their positions in the line.
    characters: Vec<(usize, char)>,
    bytes: Vec<u8>,
}

impl Run {
    fn push(&mut self, at: usize, character: char, byte: u8) {
        self.characters.push((at, character));
        self.bytes.push(byte);
    }

    fn clear(&mut self) {
        self.characters.clear();
        self.bytes.clear();
    }

    /// Returns the range in the line of this number of characters.
    fn range(&self, at: usize, len: usize) -> Range<usize> {
        self.position(at)..self.position(at + len)
    }

    /// Returns the position in the line of a character, or the end of the last one.
    fn position(&self, at: usize) -> usize {
        match (self.characters.get(at), self.characters.last()) {
            (Some(&(position, _)), _) => position,
            (None, Some(&(last, character))) => last + character.len_utf8(),
            (None, None) => 0,
        }
    }
}

fn strong(list: &[Sequence]) -> usize {
    list.iter().filter(|each| each.is_strong).count()
}

/// Whether a text has one of the [`UNDEFINED`] characters.
fn has_undefined(text: &str) -> bool {
    // Of U+0080 to U+00BF this is the first byte.
    memchr::memchr_iter(0xC2, text.as_bytes()).any(|at| text[at..].starts_with(UNDEFINED))
}

/// Whether this character is part of a word.
fn is_letter(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '\u{300}'..='\u{36F}')
}

/// Whether these bytes are an incomplete sequence before U+FFFD.
fn is_cut(text: &str, range: &Range<usize>, invalid: &[u8]) -> bool {
    let is_replaced = text[range.end..].starts_with(char::REPLACEMENT_CHARACTER);
    match invalid {
        [0xC2..=0xF4] => is_replaced && !text[..range.start].ends_with(char::is_uppercase),
        [0xE0..=0xF4, ..] => is_replaced,
        _ => false,
    }
}

/// Whether these bytes may be the start of a sequence whose last bytes are lost: they were dropped, replaced by `?`, or
/// cut off with the end of the line. A letter in lower case alone is rather correct.
fn is_suspect(invalid: &[u8]) -> bool {
    matches!(invalid, [0xC2..=0xDF] | [0xE0..=0xF4, _, ..])
}

/// Returns the length of a stretch of non-ASCII characters, with the spaces in it that are in place of a no-break space.
fn stretch_len(text: &str, start: usize, has_controls: &dyn Fn() -> bool) -> usize {
    let mut len = 0;
    loop {
        let rest = &text.as_bytes()[start + len..];
        len += rest.iter().position(u8::is_ascii).unwrap_or(rest.len());
        // Most correct text ends here: no space follows, or the last letter is in lower case and ASCII is after the space.
        let is_space = match &text.as_bytes()[start..start + len] {
            [.., 0xC3, 0xA0..=0xBF] => matches!(text.as_bytes()[start + len..], [b' ', 0x80..=0xFF, ..]),
            _ => text.as_bytes().get(start + len) == Some(&b' '),
        };
        if !is_space || !is_no_break(&text[start..], len, text[..start].chars().next_back(), has_controls) {
            return len;
        }
        len += 1;
    }
}

/// Whether the space at `at` is in place of a no-break space. `has_controls` is whether the bytes that windows-1252 does
/// not define are in the text, so that they are not lost after the character before the space.
fn is_no_break(stretch: &str, at: usize, before: Option<char>, has_controls: &dyn Fn() -> bool) -> bool {
    let mut characters = stretch[..at].chars().rev();
    let lead = characters.next();
    let before = characters.next().or(before);
    let after = stretch[at + 1..].chars().next();
    let is_in_word = before.is_some_and(char::is_alphanumeric);
    // In a sequence of three or four bytes.
    let is_in_long = match [before, lead].map(|character| character.and_then(byte_of)) {
        [_, Some(0xE1..=0xEF)] => after.is_some_and(is_inside),
        [Some(0xE0..=0xEF), Some(0x80..=0xBF)] => true,
        [Some(0x80..=0xBF), Some(0x80..=0xBF)] => {
            let first = stretch[..at].chars().rev().nth(2).and_then(byte_of);
            matches!(first, Some(0xF0..=0xF4))
        }
        _ => false,
    };
    if is_in_long {
        return has_controls();
    }
    match lead {
        Some('Â') => !before.is_some_and(char::is_uppercase),
        // `à` at the end of a word.
        Some('Ã') => {
            !before.is_some_and(char::is_uppercase)
                && after.is_none_or(|after| after.is_ascii() && !after.is_alphanumeric())
        }
        // `Š` and `Π` at its start.
        Some('Å') => !is_in_word && after.is_some_and(|after| after.is_ascii_lowercase()),
        Some('Î') if !is_in_word && matches!(after, Some('Î' | 'Ï')) => true,
        Some('Ä'..='ß') => has_controls(),
        _ => false,
    }
}

/// Whether the `Ã` or `Â` at `start` is followed by a space or U+FFFD, and is not at the end of a word in capitals. A
/// program replaced the no-break space after it.
fn is_damaged(text: &str, start: usize) -> bool {
    let mut before = text[..start].chars().rev();
    let mut after = text[start..].chars().skip(1);
    let is_capitals = before.next().is_some_and(char::is_uppercase);
    match after.next() {
        Some(' ') if is_capitals => {
            !before.next().is_some_and(char::is_alphanumeric) && after.next().is_some_and(char::is_lowercase)
        }
        Some(' ' | char::REPLACEMENT_CHARACTER) => !is_capitals,
        _ => false,
    }
}
