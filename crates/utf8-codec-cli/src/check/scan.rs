//! Scanner for one input: finds ill-formed sequences and violations of rules, in constant memory.

mod found;

use core::cell::Cell;
use core::num::NonZeroUsize;
use core::ops::Range;
use std::io::{self, Read, Seek};

use utf8_codec::declared::DocumentKind;
use utf8_codec::locate::{Columns, Locator};
use utf8_codec::transcode::{Encoding, Status, Transcoder};
use utf8_codec::{BomPolicy, ErrorKind, Piece, Utf8Decoder};

use super::describe::describe;
use super::diagnostic::{Diagnostic, FileStatus, Problem, Summary};
use super::escapes::{Escapes, Violation};
use super::invisible::MARK;
use super::kept::starts_patch;
use super::rules::Rule;
use super::scanned::Scanned;
use super::split::FilePart;
use crate::charset::NamedEncoding;
use crate::files::read;
use crate::guess::binary::PREFIX;
use crate::guess::declaration;
use crate::guess::evidence::EncodingEvidence;
use crate::guess::mojibake::{Survey, long_segments};

/// The maximum length of a line to which rules are applied as a whole.
const MAX_LINE: usize = 256 * 1024;

/// The size of the buffer: the longest line, the bytes that are kept before it, and the bytes after it.
const BUFFER: usize = HISTORY + MAX_LINE + AHEAD;

/// The number of bytes that are decoded and counted at a time if there are no rules.
const BLOCK: usize = 16 * 1024;

/// The number of scanned bytes that are kept for the context of an error.
pub(super) const HISTORY: usize = 256;

/// The number of bytes after a line that are read before the line is scanned: a row of a hex dump. The report does not
/// depend on where reads end.
const AHEAD: usize = 16;

/// The maximum number of bytes of the line that are shown before the start of an error, and from it on. In converted
/// text these are characters.
const SHOWN: usize = 60;

/// The settings of a scan.
#[derive(Clone, Debug)]
pub(super) struct Checks {
    pub(super) encoding: NamedEncoding,
    pub(super) bom: BomPolicy,
    /// Whether the start and the characters of the file also decide: a BOM before `#!` is an error, and
    /// [`BomPolicy::Require`] has an effect only on files with characters beyond ASCII and without `#!`.
    pub(super) bom_by_content: bool,
    /// The kind of the file by its extension, for declarations of an encoding.
    pub(super) kind: Option<DocumentKind>,
    /// Whether the file is JSON with comments, for its escapes.
    pub(super) has_comments: bool,
    /// Whether the file is text, if this does not depend on what it contains.
    pub(super) is_text: Option<bool>,
    /// Why `--fix` does not change the file.
    pub(super) kept: Option<String>,
    /// The rule under which a BOM error is reported.
    pub(super) bom_rule: Rule,
    pub(super) rules: Vec<Rule>,
    /// The evidence of the file for the rule `mojibake`.
    pub(super) survey: Survey,
    pub(super) max_errors: Option<NonZeroUsize>,
    /// Whether the scan ends at the first error.
    pub(super) is_verdict: bool,
    /// Whether a diagnostic contains the line and the bytes around the error.
    pub(super) wants_context: bool,
    /// Whether lines and characters of the whole input are counted, not only those before an error.
    pub(super) wants_counts: bool,
}

impl Checks {
    /// Checks only the encoding.
    pub(super) fn new(encoding: NamedEncoding) -> Self {
        Self {
            encoding,
            bom: BomPolicy::Keep,
            bom_by_content: false,
            kind: None,
            has_comments: false,
            is_text: None,
            kept: None,
            bom_rule: Rule::Bom,
            rules: Vec::new(),
            survey: Survey::default(),
            max_errors: None,
            is_verdict: false,
            wants_context: false,
            wants_counts: false,
        }
    }

    /// Returns the settings with the survey of a file, if a rule needs one.
    pub(super) fn surveyed<F: Read + Seek>(&self, file: &mut F) -> io::Result<Self> {
        let mut checks = self.clone();
        if self.needs_survey() {
            checks.survey = Survey::of(file)?;
        }
        Ok(checks)
    }

    pub(super) fn needs_survey(&self) -> bool {
        self.rules.contains(&Rule::Mojibake)
    }

    pub(super) fn needs_words(&self) -> bool {
        self.rules.iter().any(|rule| rule.needs_words())
    }
}

/// Scans an input. `report` is called for each error up to the limit, in input order.
pub(super) fn scan(
    input: &mut dyn Read,
    checks: &Checks,
    skip_binary: bool,
    report: &mut dyn FnMut(Diagnostic),
) -> io::Result<Summary> {
    scan_part(input, 0, FilePart::WHOLE, checks, skip_binary, report).map(Scanned::finish)
}

/// Scans a part of a file. `input` starts at the offset `from`, at most [`HISTORY`] bytes before the part. Lines and
/// columns are counted from the start of the part, and offsets from the start of the file.
pub(super) fn scan_part(
    input: &mut dyn Read,
    from: u64,
    part: FilePart,
    checks: &Checks,
    skip_binary: bool,
    report: &mut dyn FnMut(Diagnostic),
) -> io::Result<Scanned> {
    let mut buffer = SPARE.take();
    buffer.resize(BUFFER, 0);
    let mut scan = Scan {
        checks,
        part,
        is_line_start: true,
        escapes: checks
            .rules
            .contains(&Rule::JsonEscapes)
            .then(|| Escapes::new(&checks.rules, checks.has_comments)),
        report,
        buffer,
        base: from,
        filled: 0,
        done: (part.start - from) as usize,
        not_decoded: 0,
        locator: Locator::new(),
        evidence: if part.start > 0 {
            EncodingEvidence::of_later_part()
        } else {
            EncodingEvidence::default()
        },
        summary: Summary::default(),
        first_line: None,
        needs_bom: false,
        encoding: checks.encoding.encoding(),
        converted: String::new(),
        allowed: Default::default(),
    };
    let result = scan.run(input, skip_binary);
    let Scan { mut summary, locator, evidence, first_line, encoding, base, filled, buffer, .. } = scan;
    SPARE.set(buffer);
    result?;
    let end = base + filled as u64;
    summary.bytes = part.end.map_or(end, |part_end| part_end.min(end)).saturating_sub(part.start);
    Ok(Scanned {
        summary,
        evidence: Box::new(evidence),
        locator,
        first_line,
        is_utf_8: encoding == Encoding::Utf8,
    })
}

thread_local! {
    /// The buffer of the last scan on this thread. Allocating a new one for each small file would cost more than its
    /// scan.
    static SPARE: Cell<Vec<u8>> = const { Cell::new(Vec::new()) };
}

struct Scan<'s> {
    checks: &'s Checks,
    part: FilePart,
    /// Whether the next text is at the start of a line.
    is_line_start: bool,
    /// The escapes of JSON, if their rule is checked.
    escapes: Option<Escapes>,
    report: &'s mut dyn FnMut(Diagnostic),
    buffer: Vec<u8>,
    /// The offset of the first byte of the buffer.
    base: u64,
    filled: usize,
    /// The number of bytes of the buffer that were scanned or are before the part.
    done: usize,
    /// The number of bytes of the part that were counted by the locator and not fed to the decoder.
    not_decoded: u64,
    locator: Locator,
    evidence: EncodingEvidence,
    summary: Summary,
    /// The length of the first line of the part in characters, if it has ended.
    first_line: Option<u64>,
    /// Whether a BOM is missing if there is a character beyond ASCII.
    needs_bom: bool,
    /// The encoding, with its byte order.
    encoding: Encoding,
    /// The last part of the current line so far, converted to UTF-8. Empty if the input is UTF-8.
    converted: String,
    /// The position in the buffer of the line that was last searched for comments, and the rules that they switch off.
    allowed: (Range<usize>, Vec<Rule>),
}

/// The decoder of the input.
enum Decoder {
    Utf8(Utf8Decoder),
    Other(Box<Transcoder>),
}

impl Scan<'_> {
    fn run(&mut self, input: &mut dyn Read, skip_binary: bool) -> io::Result<()> {
        let mut is_at_end = false;
        // What the start of the file decides depends on a fixed number of bytes, and not on the length of a read.
        let mut needed = PREFIX;
        while self.filled < needed && !is_at_end {
            let more = read(&mut &mut *input, &mut self.buffer[self.filled..])?;
            self.filled += more;
            is_at_end = more == 0;
            if self.filled >= PREFIX && self.part.start == 0 {
                needed = declaration::needed(self.checks.kind, &self.buffer[..PREFIX]);
            }
        }
        // This only has an effect if the file has become shorter since it was split.
        self.done = self.done.min(self.filled);
        if self.part.start == 0 && self.is_binary(skip_binary) {
            self.summary.end = FileStatus::Binary;
            return Ok(());
        }
        let mut decoder = self.decoder();
        self.check_wide();
        loop {
            let limit = if is_at_end { self.filled } else { self.end_of_lines() };
            let stop = self.part.end.map_or(self.filled, |end| (end - self.base) as usize);
            self.look_at(&mut decoder, limit.min(stop));
            if self.is_decided() {
                return Ok(());
            }
            if self.part.end == Some(self.base + self.done as u64) {
                // Parts are split between two characters, so no sequence is unfinished here.
                return Ok(());
            }
            if is_at_end {
                self.finish(&mut decoder);
                return Ok(());
            }
            self.make_room();
            let more = read(&mut &mut *input, &mut self.buffer[self.filled..])?;
            self.filled += more;
            is_at_end = more == 0;
        }
    }

    /// Examines the start of the file. Returns whether the file is skipped because it is binary.
    fn is_binary(&mut self, skip_binary: bool) -> bool {
        let start = &self.buffer[..self.filled];
        self.evidence.start(start, self.checks.kind);
        self.summary.is_patch = starts_patch(start);
        self.summary.has_no_command = self.summary.is_patch || self.checks.kept.is_some();
        skip_binary && !self.checks.is_text.unwrap_or(!self.evidence.is_binary())
    }

    /// Creates the decoder of the part. Checks the BOM if it is the first part.
    fn decoder(&mut self) -> Decoder {
        if self.part.start > 0 {
            return Decoder::Utf8(Utf8Decoder::new());
        }
        let start = self.buffer[..self.filled.min(5)].to_vec();
        self.encoding = self.checks.encoding.encoding_of(&start);
        self.check_bom(&start, self.encoding);
        match self.encoding {
            Encoding::Utf8 => Decoder::Utf8(Utf8Decoder::new()),
            other => {
                let transcoder = Transcoder::new(other, Encoding::Utf8);
                Decoder::Other(Box::new(self.checks.encoding.restrict(transcoder)))
            }
        }
    }

    /// Returns the position after the last complete line that is followed by [`AHEAD`] bytes. Without such a line it is
    /// `done`. In a full buffer in which no more than [`HISTORY`] bytes would be scanned, it is the end of a segment of
    /// the line if a rule depends on words, and otherwise [`HISTORY`] bytes before the end, so that the context
    /// after an error is available: [`make_room`](Self::make_room) would otherwise make no room.
    fn end_of_lines(&self) -> usize {
        let bytes = &self.buffer[self.done..self.filled.saturating_sub(AHEAD).max(self.done)];
        let whole = memchr::memrchr(b'\n', bytes).map_or(self.done, |at| self.done + at + 1);
        if self.filled == self.buffer.len() && whole <= HISTORY && self.checks.needs_words() {
            return self.done + long_segments(bytes);
        }
        if self.filled == self.buffer.len() && whole <= HISTORY {
            return self.filled.saturating_sub(HISTORY).max(self.done);
        }
        whole
    }

    /// Whether nothing after an error matters.
    fn is_decided(&self) -> bool {
        self.checks.is_verdict && self.summary.errors > 0
    }

    fn make_room(&mut self) {
        let keep = self.done.saturating_sub(HISTORY);
        self.buffer.copy_within(keep..self.filled, 0);
        self.base += keep as u64;
        self.filled -= keep;
        self.done -= keep;
    }

    /// Scans the buffer up to `limit`.
    fn look_at(&mut self, decoder: &mut Decoder, limit: usize) {
        self.allowed = Default::default();
        // Taken out of `self`, because the calls below borrow both `self` and the buffer.
        let buffer = core::mem::take(&mut self.buffer);
        let chunk = &buffer[self.done..limit];
        self.evidence.bytes(chunk);
        if self.needs_bom && !chunk.is_ascii() {
            self.needs_bom = false;
            self.found_bom(ErrorKind::MissingBom, &[], describe(ErrorKind::MissingBom, &[], 0), &buffer);
        }
        match decoder {
            Decoder::Utf8(decoder) => {
                let has_rules = !self.checks.rules.is_empty();
                let mut rest = chunk;
                while !rest.is_empty() && !self.is_decided() {
                    if !has_rules && !self.checks.wants_counts && decoder.pending().is_empty() {
                        // Finds the end of the ASCII at the start and counts its lines in one pass. The decoder skips
                        // these bytes.
                        let ascii = self.locator.push_ascii(rest);
                        self.not_decoded += ascii as u64;
                        rest = &rest[ascii..];
                    }
                    // Processed in blocks, so that lines are counted while the text is in the L1 cache. Rules need whole lines.
                    let block = if has_rules { rest.len() } else { rest.len().min(BLOCK) };
                    let (block, after) = rest.split_at(block);
                    for piece in decoder.feed(block) {
                        match piece {
                            Piece::Text(text) => self.text(text, &buffer),
                            Piece::Seam(character) => self.text(character.encode_utf8(&mut [0; 4]), &buffer),
                            Piece::IllFormed(error) => self.error(error, &buffer),
                        }
                    }
                    rest = after;
                }
            }
            Decoder::Other(transcoder) => self.transcode(transcoder, Some(chunk), &buffer),
        }
        self.done = limit;
        self.buffer = buffer;
    }

    fn finish(&mut self, decoder: &mut Decoder) {
        let buffer = core::mem::take(&mut self.buffer);
        match decoder {
            Decoder::Utf8(decoder) => {
                if let Err(error) = decoder.finish() {
                    self.error(error, &buffer);
                }
            }
            Decoder::Other(transcoder) => self.transcode(transcoder, None, &buffer),
        }
        self.end_escape(&buffer);
        self.evidence.end();
        self.buffer = buffer;
    }

    /// Scans text in another encoding. Lines and columns are those of the converted text. The offset of an ill-formed
    /// sequence is that in the input.
    fn transcode(&mut self, transcoder: &mut Transcoder, chunk: Option<&[u8]>, buffer: &[u8]) {
        let mut room = [0; 8 * 1024];
        let mut rest = chunk.unwrap_or_default();
        loop {
            let progress = match chunk {
                Some(_) => transcoder.feed_into_slice(rest, &mut room),
                None => transcoder.finish_into_slice(&mut room),
            };
            rest = &rest[progress.read..];
            if let Ok(text) = str::from_utf8(&room[..progress.written]) {
                self.text(text, buffer);
                self.remember(text);
            }
            match progress.status {
                Status::InputEmpty => return,
                Status::OutputFull => {}
                Status::IllFormed(error) => self.error(error, buffer),
            }
        }
    }

    /// Stores the last part of the current line for the context of an error.
    fn remember(&mut self, text: &str) {
        if let Some(end) = memchr::memrchr(b'\n', text.as_bytes()) {
            self.converted.clear();
            self.converted.push_str(&text[end + 1..]);
        } else {
            self.converted.push_str(text);
        }
        let excess = self.converted.len().saturating_sub(4 * SHOWN);
        let start = (excess..).find(|&at| self.converted.is_char_boundary(at)).unwrap_or(0);
        self.converted.drain(..start);
    }

    fn text(&mut self, text: &str, buffer: &[u8]) {
        let mut found = Vec::new();
        let is_file_start = self.part.start == 0 && self.locator.location().offset == 0;
        for &rule in &self.checks.rules {
            // The BOM of a file is not invisible text.
            let is_bom = rule == Rule::Invisible && is_file_start && text.starts_with(MARK);
            let start = if is_bom { MARK.len_utf8() } else { 0 };
            rule.check(&text[start..], &self.checks.survey, self.is_line_start, |at, len, message| {
                found.push((rule, Violation { at: start + at, before: 0, len, message }));
            });
        }
        self.is_line_start = text.ends_with('\n');
        found.extend(self.escapes.as_mut().map(|escapes| escapes.check(Some(text))).unwrap_or_default());
        self.violations(found, text, buffer);
        if self.checks.wants_counts {
            self.count(text);
        }
        self.evidence.text(text);
        self.locator.push(text);
    }

    /// Reports what violates a rule in a text.
    fn violations(&mut self, mut found: Vec<(Rule, Violation)>, text: &str, buffer: &[u8]) {
        found.sort_by_key(|(_, violation)| violation.at);
        let (mut locator, mut from) = (self.locator, 0);
        for (rule, Violation { at, before, len, message }) in found {
            locator.push(&text[from..at]);
            from = at;
            let mut location = locator.location();
            location.offset = location.offset + self.part.start - before;
            // JSON has no comments.
            if rule != Rule::JsonEscapes && self.is_allowed(rule, self.position(location.offset), buffer) {
                continue;
            }
            let Columns { bytes, characters, utf16, .. } = &mut location.columns;
            // An escape is ASCII, and is in one line.
            for column in [bytes, characters, utf16] {
                *column = column.saturating_sub(before);
            }
            let width = match text.get(at..at + len) {
                Some(text) if before == 0 => Columns::of(text),
                _ => Columns::of(&"u".repeat(len)),
            };
            self.found(Problem::Rule(rule), location, len as u64, width, buffer, || message);
        }
    }

    /// Ends an escape that the text does not continue.
    fn end_escape(&mut self, buffer: &[u8]) {
        let wrong = self.escapes.as_mut().map(|escapes| escapes.check(None)).unwrap_or_default();
        self.violations(wrong, "", buffer);
    }

    fn count(&mut self, text: &str) {
        self.summary.characters += Columns::of(text).characters;
        let mut column = self.locator.location().columns.characters;
        let mut lines = text.split_inclusive('\n').peekable();
        while let Some(line) = lines.next() {
            column += Columns::of(line.trim_end_matches('\n')).characters;
            if line.ends_with('\n') || lines.peek().is_some() {
                match self.first_line {
                    Some(_) => self.summary.longest_line = self.summary.longest_line.max(column),
                    None => self.first_line = Some(column),
                }
                column = 0;
            }
        }
    }
}

#[cfg(test)]
mod tests;
