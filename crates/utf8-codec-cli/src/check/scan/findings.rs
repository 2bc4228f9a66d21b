//! What a scan finds, as diagnostics with their context, and what follows from all of it.

mod mixed;

use core::ops::Range;

use utf8_codec::boundary::{ceil_boundary, floor_boundary};
use utf8_codec::locate::{Columns, Location, Locator};
use utf8_codec::{BomPolicy, ErrorKind, Utf8Error};
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::detect::{BomSniffer, Sniff};

use super::window::{Window, line_around};
use crate::check::characters;
use crate::check::checks::Checks;
use crate::check::describe::{DESCRIBED, Reason, describe_in};
use crate::check::diagnostic::{Context, Diagnostic, FileStatus, ILL_FORMED, Message, Problem, Row, Summary};
use crate::check::escapes::{Escapes, Violation};
use crate::check::invisible::MARK;
use crate::check::kept::starts_patch;
use crate::check::rules::Rule;
use crate::guess::Guess;
use crate::guess::binary::PREFIX;
use crate::guess::evidence::EncodingEvidence;
use crate::guess::iso2022::{Iso2022Counter, has_escape, longest_line};
use crate::guess::mojibake;
use crate::guess::utf8_evidence::count;

/// The maximum number of bytes of the line that are shown before the start of an error, and from it on. In converted
/// text these are characters.
const SHOWN: usize = 60;

/// What was found so far. The methods that get a [`Window`] need it for the bytes around an error.
pub(super) struct Findings<'s> {
    checks: &'s Checks,
    report: &'s mut dyn FnMut(Diagnostic),
    summary: Summary,
    evidence: EncodingEvidence,
    locator: Locator,
    /// The number of bytes that were counted by the locator and not decoded.
    not_decoded: u64,
    /// Whether the next text is at the start of a line.
    is_line_start: bool,
    /// The escapes of JSON, if their rule is checked.
    escapes: Option<Escapes>,
    /// Whether a BOM is missing if there is a character beyond ASCII.
    needs_bom: bool,
    /// The encoding, with its byte order.
    encoding: Encoding,
    /// The last part of the current line so far, converted to UTF-8. Empty if the input is UTF-8.
    converted: String,
    /// The position in the window of the line that was last searched for comments, and the rules that they switch off.
    allowed: (Range<usize>, Vec<Rule>),
}

impl<'s> Findings<'s> {
    pub(super) fn new(checks: &'s Checks, report: &'s mut dyn FnMut(Diagnostic)) -> Self {
        let has_escapes = checks.rules.contains(&Rule::JsonEscapes);
        Self {
            checks,
            report,
            summary: Summary::default(),
            evidence: EncodingEvidence::default(),
            locator: Locator::new(),
            not_decoded: 0,
            is_line_start: true,
            escapes: has_escapes.then(|| Escapes::new(&checks.rules, checks.has_comments)),
            needs_bom: false,
            encoding: checks.encoding.encoding(),
            converted: String::new(),
            allowed: Default::default(),
        }
    }

    /// Examines the start of the file, which is in the window.
    pub(super) fn start(&mut self, window: &Window) {
        let start = window.bytes();
        self.evidence.start(start, self.checks.kind);
        self.summary.is_patch = starts_patch(start);
        self.summary.has_no_command = self.summary.is_patch || self.checks.kept.is_some();
        self.encoding = self.checks.encoding.encoding_of(&start[..start.len().min(5)]);
    }

    /// Whether the file is binary.
    pub(super) fn is_binary(&self) -> bool {
        !self.checks.is_text.unwrap_or(!self.evidence.is_binary())
    }

    /// The encoding of the file, with its byte order.
    pub(super) fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether text is needed where it is ASCII, and must not be cut inside a line.
    pub(super) fn needs_lines(&self) -> bool {
        self.checks.rules.iter().any(|rule| rule.is_about_text())
    }

    /// Whether a rule depends on more of the text than the line around a character.
    pub(super) fn needs_chunks(&self) -> bool {
        self.checks.needs_survey() || self.escapes.is_some()
    }

    /// Whether nothing after an error matters.
    pub(super) fn is_decided(&self) -> bool {
        self.checks.is_verdict && self.summary.errors > 0
    }

    /// Checks the BOM, at the start of the file.
    pub(super) fn check_bom(&mut self, window: &Window) {
        let start = &window.bytes()[..window.bytes().len().min(5)];
        let mut sniffer = BomSniffer::new();
        sniffer.push(start);
        let named = match sniffer.finish() {
            Sniff::Found(named) => Some(named),
            _ => None,
        };
        let encoding = self.encoding;
        let own = encoding.bom().filter(|bom| start.starts_with(bom));
        let (kind, bom) = match (self.checks.bom, own) {
            (_, Some(bom)) if self.checks.bom_by_content && start[bom.len()..].starts_with(b"#!") => {
                (ErrorKind::UnexpectedBom, bom)
            }
            (BomPolicy::Require, None) if self.checks.bom_by_content => {
                self.needs_bom = !start.starts_with(b"#!");
                return;
            }
            (BomPolicy::Require, None) => (ErrorKind::MissingBom, &[][..]),
            (BomPolicy::Reject, Some(bom)) => (ErrorKind::UnexpectedBom, bom),
            // The BOM of another encoding is reported as ill-formed by the UTF-8 decoder. Other decoders may decode it
            // as text, so it is reported here.
            (_, None) if encoding != Encoding::Utf8 && named.is_some() => {
                (ErrorKind::UnexpectedBom, named.and_then(Encoding::bom).unwrap_or_default())
            }
            _ => return,
        };
        let message = match named.filter(|&named| named != encoding) {
            Some(named) => {
                let text = format!("the BOM is that of {named}, and the encoding should be {encoding}");
                Message::Text(text)
            }
            None => Message::IllFormed(Reason::new(kind, &[], 0)),
        };
        self.bom(kind, bom, message, window);
    }

    /// Reports UTF-16 without a BOM whose text is ASCII, which is also well-formed UTF-8.
    pub(super) fn check_wide(&mut self, window: &Window) {
        let start = &window.bytes()[..window.bytes().len().min(PREFIX)];
        let Some(encoding) = self.evidence.wide_ascii(start) else { return };
        if self.encoding != Encoding::Utf8 {
            return;
        }
        let kind = ErrorKind::MissingBom;
        let name = encoding.name().to_uppercase();
        let message = Message::Text(format!("{name} without a BOM, not UTF-8: every other byte is NUL"));
        let problem = Problem::IllFormed(kind);
        if self.is_shown(problem) {
            self.show(problem, Location::default(), Columns::of(" "), 0, message, window);
        }
    }

    fn bom(&mut self, kind: ErrorKind, bom: &[u8], message: Message, window: &Window) {
        let mut width = Columns::of(" ");
        width.bytes = bom.len() as u64;
        let problem = Problem::Bom(kind, self.checks.bom_rule);
        if self.is_shown(problem) {
            self.show(problem, Location::default(), width, width.bytes, message, window);
        }
    }

    /// Examines the bytes of the window that are decoded next.
    pub(super) fn start_chunk(&mut self, chunk: &[u8], window: &Window) {
        self.allowed = Default::default();
        self.evidence.bytes(chunk);
        if self.needs_bom && !chunk.is_ascii() {
            self.needs_bom = false;
            let message = Message::IllFormed(Reason::new(ErrorKind::MissingBom, &[], 0));
            self.bom(ErrorKind::MissingBom, &[], message, window);
        }
    }

    /// Counts the lines of the ASCII at the start of some bytes and returns its length. It need not be decoded: one pass
    /// finds its end and counts.
    pub(super) fn ascii(&mut self, bytes: &[u8]) -> usize {
        let before = self.locator.location();
        let len = self.locator.push_ascii(bytes);
        if self.checks.counts_iso_2022 {
            self.count_iso_2022(&bytes[..len], before.columns.characters);
        }
        if self.checks.wants_counts {
            self.count(&bytes[..len], before.columns.characters, |text| text.len() as u64);
        }
        self.not_decoded += len as u64;
        if self.locator.location().line > before.line {
            self.evidence.end_line();
        }
        len
    }

    /// Checks the next text.
    pub(super) fn text(&mut self, text: &str, window: &Window) {
        let found = self.search(text);
        self.violations(found, text, window);
        if self.checks.wants_counts {
            let column = self.locator.location().columns.characters;
            self.count(text.as_bytes(), column, characters);
        }
        self.evidence.text(text);
        self.locator.push(text);
    }

    /// Returns what violates rules in the next text, in order.
    fn search(&mut self, text: &str) -> Vec<(Rule, Violation)> {
        let mut found = Vec::new();
        if !self.needs_lines() {
            return found;
        }
        // The BOM of a file is not invisible text.
        let is_bom = self.locator.location().offset == 0 && text.starts_with(MARK);
        let start = if is_bom { MARK.len_utf8() } else { 0 };
        characters::find(&self.checks.rules, text, start, |rule, violation| found.push((rule, violation)));
        if self.checks.needs_survey() {
            let runs = mojibake::find(text, &self.checks.survey, self.is_line_start);
            found.extend(runs.into_iter().map(|run| {
                let at = run.range.start;
                let len = run.range.len();
                let violation = Violation { at, before: 0, len, message: Message::EncodedTwice(run) };
                (Rule::Mojibake, violation)
            }));
        }
        self.is_line_start = text.ends_with('\n');
        found.sort_by_key(|(rule, violation)| (violation.at, self.position_of(*rule)));
        if let Some(escapes) = &mut self.escapes {
            found.extend(escapes.check(Some(text)));
            found.sort_by_key(|(_, violation)| violation.at);
        }
        found
    }

    /// Returns the position of a rule among those that are checked.
    fn position_of(&self, rule: Rule) -> Option<usize> {
        self.checks.rules.iter().position(|checked| *checked == rule)
    }

    /// Stores the last part of the current line of converted text for the context of an error.
    pub(super) fn remember(&mut self, text: &str) {
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

    /// Reports what violates a rule in the next text, in order.
    fn violations(&mut self, found: Vec<(Rule, Violation)>, text: &str, window: &Window) {
        let start = self.locator.location().offset;
        let mut locator = None;
        let mut from = 0;
        for (rule, Violation { at, before, len, message }) in found {
            let offset = start + at as u64 - before;
            // JSON has no comments.
            if rule != Rule::JsonEscapes && self.is_allowed(rule, window.position(offset), window) {
                continue;
            }
            if !self.is_shown(Problem::Rule(rule)) {
                continue;
            }
            let locator = locator.get_or_insert_with(|| self.locator.clone());
            locator.push(&text[from..at]);
            from = at;
            let mut location = locator.location();
            location.offset = offset;
            let Columns { bytes, characters, utf16, .. } = &mut location.columns;
            // An escape is ASCII, and is in one line.
            for column in [bytes, characters, utf16] {
                *column = column.saturating_sub(before);
            }
            let width = match text.get(at..at + len) {
                Some(text) if before == 0 => Columns::of(text),
                _ => Columns::of(&"u".repeat(len)),
            };
            self.show(Problem::Rule(rule), location, width, len as u64, message, window);
        }
    }

    /// Whether a comment on the line around the position `at` switches the rule off. The comments are searched once for
    /// all violations in a line, because a line may have as many of them as bytes.
    fn is_allowed(&mut self, rule: Rule, at: usize, window: &Window) -> bool {
        if !self.allowed.0.contains(&at) {
            let line = window.line_around(at);
            let text = &window.bytes()[line.clone()];
            let rules = self.checks.rules.iter().copied().filter(|rule| rule.is_allowed_by(text)).collect();
            self.allowed = (line, rules);
        }
        self.allowed.1.contains(&rule)
    }

    /// Counts the characters of a text and measures its lines. `column` is the number of characters of its first line before
    /// it.
    fn count(&mut self, text: &[u8], column: u64, characters: impl Fn(&[u8]) -> u64) {
        self.summary.characters += characters(text);
        self.summary.longest_line = longest_line(text, column, self.summary.longest_line, characters);
    }

    /// Counts ASCII as text of the family of ISO/IEC 2022. Before the first escape sequence the counts are the same.
    fn count_iso_2022(&mut self, ascii: &[u8], column: u64) {
        let Summary { characters, longest_line, iso_2022, .. } = &mut self.summary;
        if iso_2022.is_none() && has_escape(ascii) {
            *iso_2022 = Some(Iso2022Counter::after(*characters, *longest_line, column));
        }
        if let Some(counter) = iso_2022 {
            counter.feed(ascii);
        }
    }

    /// Ends an escape that the text does not continue.
    fn end_escape(&mut self, window: &Window) {
        let wrong = self.escapes.as_mut().map(|escapes| escapes.check(None)).unwrap_or_default();
        self.violations(wrong, "", window);
    }

    /// Reports an ill-formed sequence. Its offset is that among the decoded bytes.
    pub(super) fn error(&mut self, error: Utf8Error, window: &Window) {
        self.end_escape(window);
        let offset = self.not_decoded + error.offset;
        let error = Utf8Error::new(offset, error.kind, error.len);
        tracing::debug!(offset, kind = %error.kind, len = error.len, "ill-formed");
        let at = window.position(error.offset);
        self.evidence.error(window.bytes(), at, error.len.into());
        if error.kind == ErrorKind::Truncated {
            self.evidence.cut();
        }
        self.summary.characters += 1;
        self.ill_formed(error, window);
        self.locator.push_ill_formed(error.len.into());
    }

    fn ill_formed(&mut self, error: Utf8Error, window: &Window) {
        if self.is_shown(Problem::IllFormed(error.kind)) {
            self.show_ill_formed(error, window);
        }
    }

    fn show_ill_formed(&mut self, error: Utf8Error, window: &Window) {
        let Utf8Error { offset, kind, len, .. } = error;
        let problem = Problem::IllFormed(kind);
        let named = self.checks.encoding;
        let following = &window.bytes()[window.position(offset)..];
        let bytes = &following[..following.len().min(DESCRIBED)];
        let message = match named == Encoding::Utf8.into() {
            true => Message::IllFormed(Reason::new(kind, bytes, len)),
            false => Message::Text(describe_in(self.encoding, named, kind, bytes, len.into())),
        };
        let mut location = self.locator.location();
        location.offset = offset;
        let mut width = Columns::of(" ");
        width.bytes = len.into();
        self.show(problem, location, width, len.into(), message, window);
    }

    /// Counts an error. Returns whether it is within the limit of those that are reported.
    fn is_shown(&mut self, problem: Problem) -> bool {
        let name = problem.name();
        self.summary.count(name, 1);
        !self.summary.is_above(name, self.checks.max_errors)
    }

    /// Reports an error with its context.
    fn show(
        &mut self,
        problem: Problem,
        location: Location,
        width: Columns,
        len: u64,
        message: Message,
        window: &Window,
    ) {
        let context = self.checks.wants_context.then(|| self.context(location.offset, len as usize, window));
        (self.report)(Diagnostic { problem, location, len, width, message, context });
    }

    fn context(&self, offset: u64, len: usize, window: &Window) -> Context {
        let at = window.position(offset);
        let bytes = window.bytes();
        let row = Row::of(bytes, at, offset);
        if self.encoding != Encoding::Utf8 {
            let characters = self.converted.chars().count();
            let shown = self.converted.chars().skip(characters.saturating_sub(SHOWN));
            let line: String = shown.chain([char::REPLACEMENT_CHARACTER]).collect();
            let at = line.len() - char::REPLACEMENT_CHARACTER.len_utf8();
            return Context {
                covered: line.len() - at,
                line: line.into_bytes(),
                at,
                is_cut: (characters > SHOWN, true),
                row,
            };
        }
        // The length is limited, because a line may fill the window, and each error in it copies its context.
        let end = floor_boundary(bytes, bytes.len().min(at + SHOWN)).max(at);
        let near = at.saturating_sub(SHOWN)..end;
        let line = line_around(&bytes[near.clone()], at - near.start);
        let is_cut = (line.start == 0 && near.start > 0, line.end == near.len() && near.end < bytes.len());
        let line = near.start + line.start..near.start + line.end;
        let start = match is_cut.0 {
            true => ceil_boundary(&bytes[..line.end], line.start).min(at),
            false => line.start,
        };
        Context { line: bytes[start..line.end].to_vec(), at: at - start, covered: len, is_cut, row }
    }

    /// Ends the text.
    pub(super) fn end(&mut self, window: &Window) {
        self.end_escape(window);
        self.evidence.end();
    }

    /// Returns the summary of the file.
    pub(super) fn finish(self, window: &Window, end: FileStatus) -> Summary {
        let Self { mut summary, evidence, locator, encoding, .. } = self;
        summary.bytes = window.end();
        summary.end = end;
        if !matches!(summary.end, FileStatus::Checked) {
            return summary;
        }
        let end = locator.location();
        summary.lines = end.line + u64::from(end.columns.bytes > 0);
        summary.longest_line = summary.longest_line.max(end.columns.characters);
        if encoding == Encoding::Utf8 {
            judge(&mut summary, evidence);
        }
        summary
    }
}

/// Returns the number of characters of well-formed text.
fn characters(text: &[u8]) -> u64 {
    count(text, |byte| !matches!(byte, 0x80..=0xBF))
}

/// Adds what the evidence says about the encoding of a file that should be UTF-8.
fn judge(summary: &mut Summary, evidence: EncodingEvidence) {
    let is_ill_formed = summary.has(ILL_FORMED);
    let declared = evidence.declared.as_ref().filter(|_| is_ill_formed);
    summary.reading = declared.map(|declared| evidence.reading(declared));
    let guess = evidence.guess(summary.reading);
    summary.guess = guess.filter(|guess| is_ill_formed || *guess == Guess::Binary);
    summary.is_utf_8 = true;
    summary.has_utf_8 = evidence.has_utf_8();
    summary.is_foreign = evidence.is_foreign();
    summary.is_mixed = evidence.contradicts_declaration();
    // In a file that is mostly UTF-8, the conversion of the whole file would turn that text into mojibake.
    let is_other = summary.is_foreign && !summary.is_mixed;
    if is_ill_formed && is_other && summary.guess.is_none() {
        summary.candidates = evidence.candidates();
    }
    summary.declared = evidence.declared;
}
