//! Quotations: text that stands between quotation marks in a line.

use core::ops::Range;

use super::sequence::ReadBack;

/// Opening marks, the marks that close them, and whether an opening one is only at the start of a word, because other texts
/// close quotations with it or have it as an apostrophe.
const MARKS: &[(char, &[char], bool)] = &[
    ('"', &['"'], false),
    ('`', &['`'], false),
    ('\'', &['\''], true),
    ('“', &['”'], false),
    ('„', &['“', '”'], false),
    ('”', &['”'], true),
    ('‘', &['’'], true),
    ('‚', &['‘', '’'], false),
    ('’', &['’'], true),
    ('«', &['»'], false),
    ('»', &['«'], true),
    ('‹', &['›'], false),
    ('›', &['‹'], true),
    ('「', &['」'], false),
    ('『', &['』'], false),
];

/// Text between two quotation marks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Quotation {
    pub(super) range: Range<usize>,
    /// Whether the marks are ASCII, so that a program may have read the text between them.
    pub(super) is_ascii: bool,
}

/// Returns the quotations of a line. A mark in one of the `runs` is a part of broken text. `has_others` is whether
/// characters outside of them are not ASCII.
pub(super) fn find(line: &str, runs: &[ReadBack<'_>], has_others: bool) -> Vec<Quotation> {
    let mut found = Vec::new();
    // Most lines have only ASCII outside of the runs.
    let ascii = memchr::memchr3_iter(b'"', b'\'', b'`', if has_others { b"" } else { line.as_bytes() });
    let others = if has_others { line.as_bytes() } else { b"" };
    let all = (0..others.len()).filter(|&at| matches!(others[at], b'"' | b'\'' | b'`' | 0xC2 | 0xE2 | 0xE3));
    let mut starts = ascii.chain(all).peekable();
    if starts.peek().is_none() {
        return found;
    }
    let mut open = [None; MARKS.len()];
    let mut runs = runs.iter().peekable();
    let marks = starts.filter_map(|at| Some((at, line[at..].chars().next()?)));
    for (at, character) in marks.filter(|&(_, character)| is_mark(character)) {
        let end = at + character.len_utf8();
        while runs.next_if(|run| run.range.end <= at).is_some() {}
        if runs.peek().is_some_and(|run| run.range.contains(&at)) {
            continue;
        }
        let before = line[..at].chars().next_back();
        let after = line[end..].chars().next();
        // An apostrophe in a word opens and closes nothing.
        let is_apostrophe = matches!(character, '\'' | '’')
            && after.is_some_and(char::is_alphanumeric)
            && before.is_some_and(char::is_alphanumeric);
        for (&(opening, closing, is_ambiguous), open) in MARKS.iter().zip(&mut open) {
            let is_start = !is_ambiguous
                || !before.is_some_and(char::is_alphanumeric) && !after.is_none_or(char::is_whitespace);
            match *open {
                Some(start) if closing.contains(&character) && !is_apostrophe => {
                    found.push(Quotation { range: start..at, is_ascii: character.is_ascii() });
                    *open = None;
                }
                _ if opening == character && is_start => *open = Some(end),
                _ => {}
            }
        }
    }
    found
}

/// Whether a mark that is not ASCII is beside the run. The one on its other side may be missing.
pub(super) fn is_beside_mark(line: &str, run: &Range<usize>) -> bool {
    line[..run.start].ends_with(is_other_mark) || line[run.end..].starts_with(is_other_mark)
}

/// Whether a character is a mark that is neither ASCII nor an apostrophe.
fn is_other_mark(character: char) -> bool {
    is_mark(character) && !character.is_ascii() && character != '’'
}

fn is_mark(character: char) -> bool {
    matches!(
        character,
        '"' | '\''
            | '`'
            | '“'
            | '”'
            | '„'
            | '‘'
            | '’'
            | '‚'
            | '«'
            | '»'
            | '‹'
            | '›'
            | '「'
            | '」'
            | '『'
            | '』'
    )
}
