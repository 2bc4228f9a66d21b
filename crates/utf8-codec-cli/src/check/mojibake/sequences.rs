//! Finds the character sequences of a line that are well-formed UTF-8 if they are read back.

use core::ops::Range;

use super::judge;
use super::sequence::{Sequence, UNDEFINED, byte_of};

/// The sequences of a line.
#[derive(Clone, Debug, Default)]
pub(super) struct Sequences {
    pub(super) list: Vec<Sequence>,
    /// Whether a non-ASCII character belongs to no sequence.
    pub(super) has_others: bool,
    /// Whether one of them is neither U+FFFD nor a BOM.
    pub(super) has_correct: bool,
    /// The ranges of the first characters of sequences whose other characters are lost: a space is in place of a no-break
    /// space, or U+FFFD follows.
    pub(super) damaged: Vec<Range<usize>>,
}

/// Whether a character that is not ASCII shows that the text around it was not encoded twice.
const fn is_correct(character: char) -> bool {
    !matches!(character, char::REPLACEMENT_CHARACTER | '\u{FEFF}')
}

impl Sequences {
    /// Finds the sequences of a line.
    pub(super) fn of(text: &str) -> Self {
        let mut found = Self::default();
        // The first character of a sequence is U+00C2 to U+00F4, and these are C3 82 to C3 B4.
        if memchr::memchr(0xC3, text.as_bytes()).is_none() {
            found.has_others = !text.is_ascii();
            found.has_correct = text.chars().any(|each| !each.is_ascii() && is_correct(each));
            return found;
        }
        let bytes = text.as_bytes();
        let mut at = 0;
        while let Some(start) = bytes[at..].iter().position(|byte| !byte.is_ascii()).map(|skip| at + skip) {
            let len = bytes[start..].iter().position(u8::is_ascii).unwrap_or(bytes.len() - start);
            at = start + len;
            match text[start..].chars().next() {
                // Most of them are one letter, which is no sequence.
                Some(only) if only.len_utf8() == len && !matches!(only, 'Â' | 'Ã') => {
                    found.has_others = true;
                    found.has_correct |= is_correct(only);
                }
                _ => found.add_stretch(text, start..at),
            }
        }
        found
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
    fn add_stretch(&mut self, text: &str, stretch: Range<usize>) {
        let mut characters =
            text[stretch.clone()].char_indices().map(|(at, c)| (stretch.start + at, c)).peekable();
        let (mut run, mut bytes) = (Vec::new(), Vec::new());
        // Whether a letter that has no byte precedes the run.
        let mut is_after_letter = false;
        while let Some((at, character)) = characters.next() {
            match byte_of(character) {
                Some(byte) => {
                    run.push((at, character));
                    bytes.push(byte);
                }
                None => {
                    self.has_others = true;
                    self.has_correct |= is_correct(character);
                    is_after_letter = is_letter(character);
                }
            }
            let next = characters.peek().map(|&(_, next)| next);
            if next.is_none_or(|next| byte_of(next).is_none()) && !run.is_empty() {
                // A word with a letter that the encoding does not have was not decoded from it.
                if is_after_letter || next.is_some_and(is_letter) {
                    self.has_others = true;
                    self.has_correct = true;
                } else {
                    self.add_run(text, &run, &bytes);
                }
                is_after_letter = false;
                run.clear();
                bytes.clear();
            }
        }
    }

    /// Adds the sequences of a run of characters that have bytes.
    fn add_run(&mut self, text: &str, run: &[(usize, char)], bytes: &[u8]) {
        let first = self.list.len();
        let mut at = 0;
        // Whether a letter or a sign of the run belongs to no sequence.
        let mut is_broken = false;
        for chunk in bytes.utf8_chunks() {
            for original in chunk.valid().chars() {
                let len = original.len_utf8();
                let mut sequence = Sequence {
                    range: run[at].0..run.get(at + len).map_or(end_of(run), |&(end, _)| end),
                    original,
                    bytes: [0; 4],
                    is_strong: false,
                    is_reversible: true,
                    has_control: run[at..at + len].iter().any(|(_, character)| character.is_control()),
                };
                sequence.bytes[..len].copy_from_slice(&bytes[at..at + len]);
                at += len;
                self.list.push(sequence);
            }
            let invalid = &bytes[at..at + chunk.invalid().len()];
            if is_cut(text, run, at, invalid) {
                self.damaged
                    .push(run[at].0..run.get(at + invalid.len()).map_or(end_of(run), |&(end, _)| end));
                at += invalid.len();
                continue;
            }
            for &(start, character) in &run[at..at + chunk.invalid().len()] {
                if matches!(character, 'Â' | 'Ã') && is_damaged(text, start) {
                    self.damaged.push(start..start + character.len_utf8());
                    continue;
                }
                self.has_others = true;
                self.has_correct = true;
                is_broken |= !judge::is_typographic(character);
            }
            at += chunk.invalid().len();
        }
        let sequences = &mut self.list[first..];
        let (mut is_latin_1, mut is_windows_1252) = (true, true);
        for sequence in &*sequences {
            for character in text[sequence.range.clone()].chars() {
                is_latin_1 &= character <= '\u{FF}';
                is_windows_1252 &= !character.is_control() || UNDEFINED.contains(&character);
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

fn end_of(run: &[(usize, char)]) -> usize {
    run.last().map_or(0, |&(at, character)| at + character.len_utf8())
}

/// Whether this character is part of a word.
fn is_letter(character: char) -> bool {
    character.is_alphabetic() || matches!(character, '\u{300}'..='\u{36F}')
}

/// Whether the bytes from `at` on are an incomplete sequence before U+FFFD. `E2 80` are the start of punctuation, and
/// correct text does not have `â€`.
fn is_cut(text: &str, run: &[(usize, char)], at: usize, invalid: &[u8]) -> bool {
    let Some(&(start, _)) = run.get(at) else { return false };
    let is_last = at + invalid.len() == run.len();
    let before = text[..start].chars().next_back();
    let is_replaced = is_last && text[end_of(run)..].starts_with(char::REPLACEMENT_CHARACTER);
    match invalid {
        [0xE2, 0x80] => true,
        [0xC2..=0xF4] => is_replaced && !before.is_some_and(char::is_uppercase),
        [0xE0..=0xF4, ..] => is_replaced,
        _ => false,
    }
}

/// Whether the `Ã` or `Â` at `start` is followed by a space or U+FFFD, and is not at the end of a word in capitals. A
/// program replaced the no-break space after it.
fn is_damaged(text: &str, start: usize) -> bool {
    let before = text[..start].chars().next_back();
    let after = text[start..].chars().nth(1);
    !before.is_some_and(char::is_uppercase) && matches!(after, Some(' ' | char::REPLACEMENT_CHARACTER))
}
