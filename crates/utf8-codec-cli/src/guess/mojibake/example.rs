//! Mojibake that is an example: a text about it quotes it, and a table has it beside what it was.

use core::ops::Range;

use super::hex;
use super::quotes;
use super::references::Decoded;
use super::sequence::{Place, ReadBack};
use crate::guess::utf8_evidence::count;

/// The maximum number of runs of a line that are compared with the rest of it, and its maximum length: a row of a table.
const COMPARED: usize = 32;
const ROW: usize = 4096;

/// Returns where each run of a line stands. `is_long` is whether the line is a part of a longer one, so that the marks before
/// it are not known.
pub(super) fn places(line: &str, runs: &[ReadBack<'_>], is_long: bool) -> Vec<Place> {
    // Most correct lines have none.
    if runs.is_empty() {
        return Vec::new();
    }
    // In a line that was broken as a whole, all marks are ASCII, and no run is beside what it was.
    let in_runs: u64 = runs.iter().map(|run| high_bytes(&line[run.range.clone()])).sum();
    let has_others = high_bytes(line) > in_runs;
    let mut quotations = quotes::find(line, runs, has_others);
    quotations.sort_by_key(|each| each.range.start);
    let mut quotations = quotations.into_iter().peekable();
    // The last ends of the quotations that start before the run, and the last one between ASCII marks.
    let mut ascii_end = 0;
    let mut other_end = 0;
    let mut last = 0..0;
    // The first and the last mark of a long line.
    let mut marks = 0..0;
    if is_long {
        marks.start = memchr::memchr2(b'"', b'`', line.as_bytes()).unwrap_or_default();
        marks.end = memchr::memrchr2(b'"', b'`', line.as_bytes()).unwrap_or_default();
    }
    let beside = Beside::of(line, has_others);
    let place = |(number, ReadBack { range, original }): (usize, &ReadBack<'_>)| {
        while let Some(each) = quotations.next_if(|each| each.range.start <= range.start) {
            if each.is_ascii {
                ascii_end = ascii_end.max(each.range.end);
                last = each.range;
            } else {
                other_end = other_end.max(each.range.end);
            }
        }
        let is_compared = number < COMPARED && line.len() <= ROW;
        let is_single = original.chars().nth(1).is_none();
        if other_end >= range.end
            || has_others && is_single && quotes::is_beside_mark(line, range)
            || is_single && last.end >= range.end && line[last.clone()].trim() == &line[range.clone()]
            || is_compared && beside.has(line, runs, number)
        {
            return Place::Example;
        }
        if ascii_end >= range.end || is_long && marks.start < range.start && range.end < marks.end {
            Place::Literal
        } else {
            Place::Text
        }
    };
    runs.iter().enumerate().map(place).collect()
}

/// Returns the number of bytes above 7F.
fn high_bytes(text: &str) -> u64 {
    count(text.as_bytes(), |byte| !byte.is_ascii())
}

/// What a line has besides runs, in which what they were is searched.
#[derive(Default)]
struct Beside {
    has_others: bool,
    /// Characters that are written as ASCII.
    decoded: Option<Decoded>,
    /// Where a code point or bytes may be written in hexadecimal.
    hex: Vec<usize>,
}

impl Beside {
    fn of(line: &str, has_others: bool) -> Self {
        let has_written = memchr::memchr2(b'\\', b'&', line.as_bytes()).is_some();
        Self {
            has_others,
            decoded: has_written.then(|| Decoded::of(line)),
            hex: if line.len() <= ROW { hex::places(line.as_bytes()) } else { Vec::new() },
        }
    }

    /// Whether the line also has what the run was: the word, its first character as an escape, its code point or its bytes.
    fn has(&self, line: &str, runs: &[ReadBack<'_>], number: usize) -> bool {
        let ReadBack { range, original } = &runs[number];
        let Some(first) = original.chars().next() else { return false };
        self.has_others && has_word(line, runs, range, original)
            || self.decoded.as_ref().is_some_and(|decoded| decoded.has(first))
            || self.hex.iter().any(|&at| hex::is_at(line.as_bytes(), at, first))
    }
}

/// Whether the word of a run is also in the line as it was.
fn has_word(line: &str, runs: &[ReadBack<'_>], range: &Range<usize>, original: &str) -> bool {
    let before = line[..range.start].bytes().rev().take_while(u8::is_ascii_alphabetic).count();
    let after = line[range.end..].bytes().take_while(u8::is_ascii_alphabetic).count();
    let word =
        [&line[range.start - before..range.start], original, &line[range.end..range.end + after]].concat();
    // Not a part of text that was encoded several times.
    memchr::memmem::find_iter(line.as_bytes(), &word).any(|at| {
        let next = runs.partition_point(|run| run.range.end <= at);
        runs.get(next).is_none_or(|run| run.range.start >= at + word.len())
            && !line[..at].chars().next_back().is_some_and(char::is_alphanumeric)
            && !line[at + word.len()..].chars().next().is_some_and(char::is_alphanumeric)
    })
}
