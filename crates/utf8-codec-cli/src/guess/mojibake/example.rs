//! Mojibake that is an example: a text about it quotes it, and a table has it beside what it was.

use core::ops::Range;

use super::quotes;
use super::references::Decoded;
use super::sequence::Place;

/// The maximum number of runs of a line that are compared with the rest of it, and its maximum length: a row of a table.
const COMPARED: usize = 32;
const ROW: usize = 4096;

/// Returns where each run of a line stands. `is_long` is whether the line is a part of a longer one, so that the marks before
/// it are not known.
pub(super) fn places(line: &str, runs: &[(Range<usize>, String)], is_long: bool) -> Vec<Place> {
    // Most correct lines have none.
    if runs.is_empty() {
        return Vec::new();
    }
    let mut quotations = quotes::find(line, runs);
    quotations.sort_by_key(|each| each.range.start);
    let mut quotations = quotations.into_iter().peekable();
    // The last ends of the quotations that start before the run, and the last one between ASCII marks.
    let (mut ascii_end, mut other_end, mut last) = (0, 0, 0..0);
    // The first and the last mark of a long line.
    let mark = |at: Option<usize>| at.unwrap_or_default();
    let marks = mark(line.find(['"', '`']))..mark(line.rfind(['"', '`']));
    let mut beside = Beside::default();
    let place = |(number, (range, original)): (usize, &(Range<usize>, String))| {
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
            || is_single && quotes::is_beside_mark(line, range)
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

/// A line in which what runs were is searched.
#[derive(Default)]
struct Beside {
    decoded: Option<Decoded>,
    /// The lower-case letters and the digits of the line.
    hex: Option<String>,
}

impl Beside {
    /// Whether the line also has what the run was: the word, its first character as an escape, its code point or its bytes.
    fn has(&mut self, line: &str, runs: &[(Range<usize>, String)], number: usize) -> bool {
        let (range, original) = &runs[number];
        let letters = |text: &str| text.bytes().take_while(u8::is_ascii_alphabetic).count();
        let before = line[..range.start].bytes().rev().take_while(u8::is_ascii_alphabetic).count();
        let after = letters(&line[range.end..]);
        let word = [
            &line[range.start - before..range.start],
            original.as_str(),
            &line[range.end..range.end + after],
        ]
        .concat();
        // Not a part of text that was encoded several times.
        let is_word = |at: usize| {
            let next = runs.partition_point(|(run, _)| run.end <= at);
            runs.get(next).is_none_or(|(run, _)| run.start >= at + word.len())
                && !line[..at].chars().next_back().is_some_and(char::is_alphanumeric)
                && !line[at + word.len()..].chars().next().is_some_and(char::is_alphanumeric)
        };
        if line.match_indices(&word).any(|(at, _)| is_word(at)) {
            return true;
        }
        let Some(first) = original.chars().next() else { return false };
        if self.decoded.get_or_insert_with(|| Decoded::of(line)).has(first) {
            return true;
        }
        let hex = self.hex.get_or_insert_with(|| line.to_ascii_lowercase());
        let point = u32::from(first);
        let bytes: Vec<String> =
            first.encode_utf8(&mut [0; 4]).bytes().map(|byte| format!("{byte:02x}")).collect();
        [format!("u+{point:04x}"), format!("u{{{point:x}}}"), format!("\\x{point:x}"), format!("0x{point:x}")]
            .iter()
            .chain(["", " ", "\\x", "%"].map(|between| bytes.join(between)).iter())
            .any(|written| hex.contains(written.as_str()))
    }
}
