//! One round: reverses one encoding in a line.

use core::ops::Range;
use std::sync::LazyLock;

use memchr::memmem::Finder;

use super::charsets::{self, Charset, Counts};
use super::example::places;
use super::references::Decoded;
use super::screen::{has_correct, suspect};
use super::segments::{SEGMENT, segments};
use super::sequence::{Place, ReadBack, Sequence};
use super::sequences::Sequences;
use crate::guess::utf8_evidence::ascii_len;

/// Finds the comment that switches the rule off. Made once, because making it takes longer than a search.
static ALLOW: LazyLock<Finder<'_>> = LazyLock::new(|| Finder::new("utf8-codec: allow mojibake"));

/// One in this number of lines may contain correct text in a file that was encoded twice as a whole.
const EXCEPTIONS: u64 = 20;

/// The maximum number of lines in which text that was encoded twice is taken for an example.
const EXAMPLES: u64 = 5;

/// The number of runs in a line that is not an example, but was encoded twice.
const PASTED: usize = 3;

/// The evidence that a file was encoded twice.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Evidence {
    /// The first characters of the strong sequences, as a set of [`Sequence::lead`].
    pub(super) leads: u64,
    /// The number of lines with a strong sequence in which all non-ASCII characters are in sequences.
    pub(super) twice: u64,
    /// The number of lines in which other non-ASCII characters are.
    pub(super) others: u64,
    /// Whether the text was fixed as a whole, so that no weak sequence is left.
    pub(super) is_fixed: bool,
    /// Whether the text that was encoded twice may be an example in a correct file.
    pub(super) is_example: bool,
    /// Whether the text is a part of a line that is longer than a segment. Nothing depends on the rest of the line then.
    pub(super) is_long: bool,
    /// The number of lines with a strong sequence.
    pub(super) strong: u64,
    /// The number of lines with correct non-ASCII characters.
    pub(super) correct: u64,
    /// Another encoding with which a line was certainly broken as a whole.
    pub(super) charset: Option<Charset>,
    /// The number of lines that each encoding reads back.
    pub(super) read_back: Counts,
    /// The number of lines that are not ASCII.
    pub(super) lines: u64,
}

impl Evidence {
    /// Adds lines that have no sequence, and no rest of one. Returns whether none of them is longer than a segment.
    pub(super) fn add_clean(&mut self, mut text: &str) -> bool {
        let mut are_short = true;
        while !text.is_empty() {
            let start = ascii_len(text.as_bytes());
            let end =
                memchr::memchr(b'\n', &text.as_bytes()[start..]).map_or(text.len(), |len| start + len + 1);
            let rest = &text[start..end];
            are_short &= end <= SEGMENT;
            if end > SEGMENT || charsets::may_start(rest) {
                let start = memchr::memrchr(b'\n', &text.as_bytes()[..start]).map_or(0, |end| end + 1);
                segments(&text[start..end]).for_each(|segment| self.add(segment));
            } else if !rest.is_empty() {
                self.lines += 1;
                self.others += 1;
                self.correct += u64::from(has_correct(rest));
            }
            text = &text[end..];
        }
        are_short
    }

    /// Adds a line, or a segment of one.
    pub(super) fn add(&mut self, line: &str) {
        if line.is_ascii() {
            return;
        }
        self.lines += 1;
        let mut sequences = Sequences::of(line);
        let charset = if sequences.are_all() {
            charsets::readable(line, &mut self.read_back);
            None
        } else {
            charsets::detect(line, sequences.is_proven(), &mut self.read_back)
        };
        if (!sequences.list.is_empty() || charset.is_some()) && ALLOW.find(line.as_bytes()).is_some() {
            return;
        }
        // Examples are not evidence for the rest of the file.
        if let Some((charset, read)) = charset {
            self.charset.get_or_insert(charset);
            self.strong += u64::from(places(line, &runs_of(&read.runs), false).contains(&Place::Text));
            return;
        }
        if sequences.is_proven() {
            sequences.place(line, false);
        }
        let Sequences { list, has_others, has_correct, .. } = sequences;
        let evidence = list.iter().filter(|each| each.is_strong && each.place == Place::Text);
        let leads = evidence.fold(0, |leads, each| leads | each.lead());
        self.leads |= leads;
        self.strong += u64::from(leads != 0);
        self.correct += u64::from(has_correct);
        self.twice += u64::from(leads != 0 && !has_others);
        self.others += u64::from(has_others);
    }

    /// Adds the evidence of other lines.
    pub(super) fn join(&mut self, others: &Self) {
        self.leads |= others.leads;
        self.twice += others.twice;
        self.others += others.others;
        self.strong += others.strong;
        self.correct += others.correct;
        self.lines += others.lines;
        self.charset = self.charset.or(others.charset);
        self.read_back.iter_mut().zip(others.read_back).for_each(|(own, other)| *own += other);
    }

    /// Sets `is_example` after the last line.
    pub(super) fn finish(&mut self) {
        let is_whole = self.charset.is_some_and(|charset| self.is_whole_charset(charset));
        self.is_example = self.strong > 0 && self.strong <= EXAMPLES && self.correct > 0 && !is_whole;
    }

    /// Whether the whole file was encoded twice.
    pub(super) fn is_whole(&self) -> bool {
        !self.is_fixed && self.twice > 0 && self.others * EXCEPTIONS <= self.twice
    }

    /// Whether the whole file was broken with another encoding.
    fn is_whole_charset(&self, charset: Charset) -> bool {
        let count = self.read_back[charset];
        count > 0 && (self.lines - count) * EXCEPTIONS <= count
    }

    /// Whether a run is kept where it stands. Between ASCII quotation marks it is not an example if the text outside of them
    /// is broken as well: that of its line (`is_text`), or many lines and as good as all of the file.
    fn keeps(&self, place: Place, is_text: bool) -> bool {
        match place {
            Place::Text => false,
            Place::Literal => !(is_text || self.twice > EXAMPLES && self.is_whole()),
            Place::Example => true,
        }
    }

    /// Whether some text was certainly encoded twice.
    pub(super) fn is_proven(&self) -> bool {
        self.leads != 0 || self.is_fixed
    }
}

fn runs_of(runs: &[(Range<usize>, String)]) -> Vec<ReadBack<'_>> {
    runs.iter().map(|(range, original)| ReadBack { range: range.clone(), original }).collect()
}

/// Whether a line with these runs was pasted as a whole: it has several of them, and quotes nothing.
fn is_pasted(line: &str, list: &[Sequence]) -> bool {
    let strong: Vec<&Sequence> =
        list.iter().filter(|sequence| sequence.is_strong && sequence.place == Place::Text).collect();
    let adjacent = strong.windows(2).filter(|pair| pair[0].range.end == pair[1].range.start).count();
    strong.len() - adjacent >= PASTED && !line.contains(['"', '`'])
}

/// A run of sequences that was found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Found {
    /// The range in the text.
    pub(crate) range: Range<usize>,
    /// The text before it was encoded again. Empty if a byte of it is lost.
    pub(crate) original: String,
    /// Whether the run is decoded. Otherwise it is reported, because it may be correct.
    pub(crate) is_certain: bool,
    /// Whether it was encoded twice, but may be an example.
    pub(crate) is_example: bool,
}

impl Found {
    /// A sequence whose last bytes are lost.
    fn lost(range: Range<usize>) -> Self {
        Self { range, original: String::new(), is_certain: false, is_example: false }
    }

    pub(crate) fn message(&self) -> String {
        match self.original.as_str() {
            "" => "text that was encoded twice, and then a byte of it was lost".to_owned(),
            original if self.is_example => {
                format!("text that was encoded twice, but it may be an example: it was {original}")
            }
            original if self.is_certain => format!("text that was encoded twice: it was {original}"),
            original => {
                format!(
                    "text that may have been encoded twice, like other text in the file: it may have been {original}"
                )
            }
        }
    }
}

/// Returns the runs of a line that were encoded twice.
pub(super) fn find_once(line: &str, evidence: &Evidence) -> Vec<Found> {
    if evidence.charset.is_none() && suspect(line.as_bytes()).is_none() {
        return Vec::new();
    }
    let mut sequences = Sequences::of(line);
    let charset = evidence.charset.filter(|_| !sequences.are_all() && !evidence.is_long);
    if let Some(read) = charset.and_then(|charset| charsets::read_back(line, charset)) {
        let is_whole = charset.is_some_and(|charset| evidence.is_whole_charset(charset));
        let is_strong = read.is_strong || sequences.is_proven() || is_whole;
        let places = places(line, &runs_of(&read.runs), false);
        let is_text = places.contains(&Place::Text);
        let found = |((range, original), place): ((Range<usize>, String), Place)| {
            let is_kept = evidence.is_example || evidence.keeps(place, is_text);
            Found { range, original, is_certain: is_strong && !is_kept, is_example: is_strong && is_kept }
        };
        return read.runs.into_iter().zip(places).map(found).collect();
    }
    sequences.place(line, evidence.is_long);
    let Sequences { list, has_others, damaged, mut lost, .. } = sequences;
    let (mut leads, mut is_text) = (0, false);
    for sequence in list.iter().filter(|sequence| sequence.is_strong) {
        leads |= sequence.lead();
        is_text |= sequence.place == Place::Text;
    }
    let is_text = is_text && !has_others;
    let is_whole = !evidence.is_long && !has_others && (leads != 0 || evidence.is_whole());
    leads |= evidence.leads;
    let mut found: Vec<Found> = Vec::with_capacity(list.len());
    let is_found = |sequence: &&Sequence| {
        sequence.is_strong || is_whole && sequence.is_reversible || leads & sequence.lead() != 0
    };
    let is_kept = evidence.is_example && (evidence.is_long || !is_pasted(line, &list));
    for sequence in list.iter().filter(is_found) {
        let is_proven = sequence.is_strong || is_whole && sequence.is_reversible;
        if sequence.is_lossy && !is_proven {
            lost.push(sequence.range.clone());
            continue;
        }
        let is_kept = is_kept || evidence.keeps(sequence.place, is_text);
        let (is_certain, is_example) = (is_proven && !is_kept, is_proven && is_kept);
        match found.last_mut() {
            Some(last)
                if last.range.end == sequence.range.start
                    && (last.is_certain, last.is_example) == (is_certain, is_example) =>
            {
                last.range.end = sequence.range.end;
                last.original.push(sequence.original);
            }
            _ => found.push(Found {
                range: sequence.range.clone(),
                original: sequence.original.to_string(),
                is_certain,
                is_example,
            }),
        }
    }
    if leads != 0 || evidence.is_proven() {
        lost.extend(damaged);
    }
    if !lost.is_empty() {
        lost.sort_by_key(|lost| lost.start);
        lost.dedup();
        // A space that is repaired is not lost.
        lost.retain(|lost| !found.iter().any(|found| found.range.contains(&lost.start)));
        found.extend(lost.into_iter().map(Found::lost));
        found.sort_by_key(|found| found.range.start);
    }
    found
}

/// Returns the runs of a line that were encoded twice, and in which characters are written as ASCII. They are reported only:
/// as escapes, they may be meant as bytes.
pub(super) fn find_written(line: &str) -> Vec<Found> {
    let decoded = Decoded::of(line);
    let found =
        find_once(&decoded.text, &Evidence::default()).into_iter().filter(|found| !found.original.is_empty());
    found
        .filter_map(|found| {
            let range = decoded.written(&found.range)?;
            Some(Found { range, is_certain: false, is_example: true, ..found })
        })
        .collect()
}

pub(super) fn undo_once(line: &str, evidence: &Evidence) -> Option<String> {
    let found = find_once(line, evidence);
    if found.is_empty() {
        return None;
    }
    let (mut out, mut from) = (String::with_capacity(line.len()), 0);
    for Found { range, original, .. } in found.into_iter().filter(|found| found.is_certain) {
        out.push_str(&line[from..range.start]);
        out.push_str(&original);
        from = range.end;
    }
    (from > 0).then(|| out + &line[from..])
}
