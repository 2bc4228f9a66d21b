//! Detects text that was encoded twice: UTF-8 that was decoded as windows-1252 or ISO 8859-1 and encoded as UTF-8
//! again.
//!
//! To detect such text, the second encoding is reversed: each run of non-ASCII characters is encoded as windows-1252.
//! Characters that are well-formed UTF-8 in the result are a [`sequence`]. Correct text has a few of them, such as a
//! capital letter before a quotation mark: these are weak. The others are strong evidence ([`judge`], [`pairs`]). A
//! weak sequence is decoded if the line or the file was encoded twice as a whole ([`round`], [`survey`]).
//!
//! Text about mojibake quotes it, and tables have it beside what it was ([`example`]): this is reported and kept. Where bytes
//! were lost after the second encoding, the other sequences of the line are decoded ([`sequences`]), and what is left of a
//! character is reported ([`lost`]). Lines that were decoded
//! as another encoding are read back as a whole ([`charsets`], [`plausible`]). Characters that are written as ASCII are
//! reported ([`references`]).
//!
//! Most lines are correct, and their bytes show it ([`screen`]).
//!
//! Text that was encoded more than twice is decoded in several rounds with the same rule.

mod charsets;
mod example;
mod hex;
mod judge;
mod lost;
mod neighbors;
mod pairs;
mod plausible;
mod quotes;
mod references;
mod round;
mod screen;
mod segments;
mod sequence;
mod sequences;
mod survey;
mod trails;

use core::ops::Range;

pub(crate) use round::Found;
use round::{Evidence, find_once, find_written, undo_once};
use screen::clean_len;
use segments::is_long;
pub(crate) use segments::{first_len, long_segments};
use sequences::Sequences;
use survey::MAX_ROUNDS;
pub(crate) use survey::Survey;

/// Returns the runs of a text that were encoded twice, in its order. `is_line_start` is whether the text is at the start
/// of a line.
pub(crate) fn find(text: &str, survey: &Survey, mut is_line_start: bool) -> Vec<Found> {
    let is_written = references::may_start(text);
    if !is_written && (survey.is_clean() || !survey.may_have(text)) {
        return Vec::new();
    }
    let evidence = survey.round(0);
    let mut found = Vec::new();
    let mut at = 0;
    while at < text.len() {
        let clean = if is_written || evidence.charset.is_some() { 0 } else { clean_len(&text[at..]) };
        at += clean;
        is_line_start |= clean > 0;
        let len = first_len(&text[at..]);
        let segment = &text[at..at + len];
        let evidence = Evidence { is_long: is_long(segment, is_line_start), ..evidence };
        is_line_start = segment.ends_with('\n');
        let mut own = find_once(segment, &evidence);
        if is_written && references::may_start(segment) {
            own.extend(find_written(segment));
            own.sort_by_key(|each| each.range.start);
        }
        for mut each in own {
            each.range = at + each.range.start..at + each.range.end;
            found.push(each);
        }
        at += len;
    }
    found
}

/// Whether correct text is not like `read`, which is a line of UTF-8 that was decoded as an encoding of one byte for each
/// character.
pub(crate) fn is_made(line: &str, read: &str) -> bool {
    let originals = runs(line);
    let read_runs = runs(read);
    let runs: Vec<(Range<usize>, String)> =
        read_runs.into_iter().zip(originals.iter().map(|range| line[range.clone()].to_owned())).collect();
    !runs.is_empty()
        && runs.len() == originals.len()
        && (plausible::is_broken(read, &runs) || Sequences::of(read).is_proven())
}

/// Returns the runs of characters that are not ASCII.
fn runs(text: &str) -> Vec<Range<usize>> {
    let bytes = text.as_bytes();
    (0..bytes.len())
        .filter(|&at| !bytes[at].is_ascii() && (at == 0 || bytes[at - 1].is_ascii()))
        .map(|at| at..at + bytes[at..].iter().take_while(|byte| !byte.is_ascii()).count())
        .collect()
}

/// Returns the text of a segment before it was encoded again, or `None` if it was not. `is_line_start` is as in [`find`].
pub(crate) fn undo(segment: &str, survey: &Survey, is_line_start: bool) -> Option<String> {
    if !survey.may_have(segment) {
        return None;
    }
    let mut fixed: Option<String> = None;
    let is_long = is_long(segment, is_line_start);
    for round in 0..MAX_ROUNDS {
        let evidence = Evidence { is_long, ..survey.round(round) };
        match undo_once(fixed.as_deref().unwrap_or(segment), &evidence) {
            Some(text) => fixed = Some(text),
            None if round >= survey.len() => break,
            None => {}
        }
    }
    fixed
}

#[cfg(test)]
mod tests;
