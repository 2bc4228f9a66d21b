//! The evidence in a whole file that it was encoded twice.

use std::io::{self, Read, Seek};

use utf8_codec::from_utf8;

use super::round::{Evidence, undo_once};
use super::screen::{clean_len, suspect};
use super::segments::{SEGMENT, first_len, is_long, long_segments};

/// The maximum number of rounds.
pub(super) const MAX_ROUNDS: usize = 8;

/// The size of the read buffer.
const BUFFER: usize = 4 * SEGMENT;

/// The maximum length of the segments that are kept.
const MAX_KEPT: usize = 1 << 20;

/// A file with a NUL in its first bytes is binary or UTF-16.
const BINARY_PREFIX: usize = 8000;

/// What is known about a file: the evidence before each round.
#[derive(Clone, Debug, Default)]
pub(crate) struct Survey {
    rounds: Vec<Evidence>,
    /// Whether no line has a sequence, or the rest of one.
    is_clean: bool,
}

impl Survey {
    /// Reads the file, and rewinds it. It is read once more for each round in which text was encoded twice if such text
    /// is long. A file with a NUL in its first bytes has no evidence.
    pub(crate) fn of<F: Read + Seek>(file: &mut F) -> io::Result<Self> {
        let mut survey = Self::default();
        let mut kept = Kept::default();
        while survey.rounds.len() < MAX_ROUNDS {
            let mut evidence = Evidence::default();
            let mut is_clean = false;
            if survey.rounds.is_empty() || kept.is_over || survey.has_charset() {
                file.rewind()?;
                kept = Kept::default();
                let mut are_short = true;
                let is_text = parts_of(file, !survey.has_charset(), &mut |part| match part {
                    Part::Clean(text) => {
                        // The first line with one decides.
                        kept.clean.charset = evidence.charset;
                        are_short &= kept.clean.add_clean(text);
                        evidence.charset = kept.clean.charset;
                    }
                    Part::Segment(segment, is_long) => {
                        kept.push(segment, is_long);
                        survey.add(&mut evidence, segment, is_long);
                    }
                })?;
                is_clean = is_text && are_short && kept.segments.is_empty() && !kept.is_over;
            } else {
                let mut start = 0;
                for &(end, is_long) in &kept.segments {
                    survey.add(&mut evidence, &kept.text[start..end], is_long);
                    start = end;
                }
            }
            evidence.join(&kept.clean);
            if evidence.leads == 0 && evidence.charset.is_none() {
                survey.is_clean = is_clean;
                break;
            }
            // In a later round, lines that were fixed have correct characters.
            if survey.rounds.is_empty() {
                evidence.finish();
            }
            survey.rounds.push(evidence);
            if evidence.is_example {
                break;
            }
        }
        file.rewind()?;
        Ok(survey)
    }

    /// Adds a segment to the evidence before the next round.
    fn add(&self, evidence: &mut Evidence, segment: &str, is_long: bool) {
        let fixed = self.undo_rounds(segment, is_long);
        // Most lines that were fixed are correct.
        match fixed.as_deref() {
            Some(fixed) if suspect(fixed.as_bytes()).is_none() => _ = evidence.add_clean(fixed),
            fixed => evidence.add(fixed.unwrap_or(segment)),
        }
    }

    /// Returns the survey with which the result of a fix is checked: what was left is reported.
    pub(crate) fn after_fix(&self) -> Self {
        if self.rounds.is_empty() {
            return Self::default();
        }
        let is_example = self.rounds.iter().any(|round| round.is_example);
        let is_fixed = !is_example && self.rounds.iter().all(Evidence::is_whole);
        let leads = self.rounds.iter().fold(0, |leads, round| leads | round.leads);
        let leads = if is_fixed { 0 } else { leads };
        let charset = self.rounds.iter().find_map(|round| round.charset);
        let evidence = Evidence { leads, is_fixed, is_example, charset, ..Evidence::default() };
        Self { rounds: vec![evidence], is_clean: false }
    }

    /// Whether a text may have been encoded twice. The first byte of each sequence of windows-1252 is C3.
    pub(super) fn may_have(&self, text: &str) -> bool {
        self.has_charset() || memchr::memchr(0xC3, text.as_bytes()).is_some()
    }

    /// Whether no line of the file has a sequence, or the rest of one.
    pub(super) fn is_clean(&self) -> bool {
        self.is_clean
    }

    /// Whether a line was certainly broken with another encoding.
    fn has_charset(&self) -> bool {
        self.rounds.iter().any(|round| round.charset.is_some())
    }

    /// The number of rounds in which text was encoded twice.
    pub(super) fn len(&self) -> usize {
        self.rounds.len()
    }

    /// The evidence before a round.
    pub(super) fn round(&self, number: usize) -> Evidence {
        let is_example = self.rounds.first().is_some_and(|first| first.is_example);
        self.rounds.get(number).copied().unwrap_or(Evidence { is_example, ..Evidence::default() })
    }

    /// Applies the rounds of the survey. Returns the text if it is another one.
    fn undo_rounds(&self, line: &str, is_long: bool) -> Option<String> {
        let mut fixed: Option<String> = None;
        for evidence in &self.rounds {
            let text = fixed.as_deref().unwrap_or(line);
            fixed = undo_once(text, &Evidence { is_long, ..*evidence }).or(fixed);
        }
        fixed
    }
}

/// What later rounds need of a file, so that it is not read again.
#[derive(Default)]
struct Kept {
    /// The segments, and for each of them its end and whether its line is longer.
    text: String,
    segments: Vec<(usize, bool)>,
    /// Whether they are longer than [`MAX_KEPT`], and none is kept.
    is_over: bool,
    /// The evidence of the clean lines, which is the same in each round.
    clean: Evidence,
}

impl Kept {
    fn push(&mut self, segment: &str, is_long: bool) {
        self.is_over |= self.text.len() + segment.len() > MAX_KEPT;
        if self.is_over {
            (self.text, self.segments) = Default::default();
            return;
        }
        self.text.push_str(segment);
        self.segments.push((self.text.len(), is_long));
    }
}

/// A part of a file.
enum Part<'t> {
    /// Lines that have no sequence, and no rest of one.
    Clean(&'t str),
    /// A segment, and whether its line is longer.
    Segment(&'t str, bool),
}

/// Calls `each` with the parts of a file. Ill-formed sequences separate segments. `joins_clean` is whether clean lines
/// need not be looked at one by one. Returns whether the file is text: a file with a NUL in its first bytes has no
/// parts.
fn parts_of(input: &mut dyn Read, joins_clean: bool, each: &mut dyn FnMut(Part<'_>)) -> io::Result<bool> {
    let mut buffer = Vec::with_capacity(BUFFER);
    let mut is_start = true;
    let mut is_line_start = true;
    loop {
        (&mut *input).take((BUFFER - buffer.len()) as u64).read_to_end(&mut buffer)?;
        if core::mem::take(&mut is_start)
            && memchr::memchr(0, &buffer[..buffer.len().min(BINARY_PREFIX)]).is_some()
        {
            return Ok(false);
        }
        let is_end = buffer.len() < BUFFER;
        let end = match (is_end, memchr::memrchr(b'\n', &buffer)) {
            (true, _) => buffer.len(),
            (false, Some(at)) => at + 1,
            (false, None) => long_segments(&buffer),
        };
        // Most files have long ranges of ASCII, in which nothing is found.
        if buffer[..end].is_ascii() {
            is_line_start = buffer[..end].last().map_or(is_line_start, |&last| last == b'\n');
        } else {
            match from_utf8(&buffer[..end]) {
                Ok(text) => parts_of_text(text, joins_clean, &mut is_line_start, each),
                Err(_) => {
                    for chunk in buffer[..end].utf8_chunks() {
                        parts_of_text(chunk.valid(), joins_clean, &mut is_line_start, each);
                        is_line_start &= chunk.invalid().is_empty();
                    }
                }
            }
        }
        buffer.drain(..end);
        if is_end {
            return Ok(true);
        }
    }
}

fn parts_of_text(
    mut text: &str,
    joins_clean: bool,
    is_line_start: &mut bool,
    each: &mut dyn FnMut(Part<'_>),
) {
    while !text.is_empty() {
        let (clean, rest) = text.split_at(if joins_clean { clean_len(text) } else { 0 });
        if !clean.is_empty() {
            each(Part::Clean(clean));
            *is_line_start = clean.ends_with('\n');
        }
        let (segment, after) = rest.split_at(first_len(rest));
        if !segment.is_empty() {
            each(Part::Segment(segment, is_long(segment, *is_line_start)));
            *is_line_start = segment.ends_with('\n');
        }
        text = after;
    }
}
