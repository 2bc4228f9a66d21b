//! What a scan finds, as diagnostics with their context.

use core::ops::Range;

use utf8_codec::boundary::{ceil_boundary, floor_boundary};
use utf8_codec::detect::{BomSniffer, Sniff};
use utf8_codec::locate::{Columns, Location};
use utf8_codec::transcode::Encoding;
use utf8_codec::{BomPolicy, ErrorKind, Utf8Error};

use super::{PREFIX, SHOWN, Scan};
use crate::check::describe::{describe, describe_in};
use crate::check::diagnostic::{Context, Diagnostic, Problem};
use crate::check::rules::Rule;

impl Scan<'_> {
    pub(super) fn check_bom(&mut self, start: &[u8], encoding: Encoding) {
        let mut sniffer = BomSniffer::new();
        sniffer.push(start);
        let named = match sniffer.finish() {
            Sniff::Found(named) => Some(named),
            _ => None,
        };
        let own = encoding.bom().filter(|bom| start.starts_with(bom));
        let is_before_shebang = |bom: &[u8]| start[bom.len()..].starts_with(b"#!");
        let (kind, bom) = match (self.checks.bom, own) {
            (_, Some(bom)) if self.checks.bom_by_content && is_before_shebang(bom) => {
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
            Some(named) => format!("the BOM is that of {named}, and the encoding should be {encoding}"),
            None => describe(kind, &[], 0),
        };
        let buffer = core::mem::take(&mut self.buffer);
        self.found_bom(kind, bom, message, &buffer);
        self.buffer = buffer;
    }

    /// Reports UTF-16 without a BOM whose text is ASCII, which is also well-formed UTF-8.
    pub(super) fn check_wide(&mut self) {
        let start = &self.buffer[..self.filled.min(PREFIX)];
        let Some(encoding) = self.evidence.wide_ascii(start).filter(|_| self.part.start == 0) else { return };
        if self.encoding != Encoding::Utf8 {
            return;
        }
        let kind = ErrorKind::MissingBom;
        let name = encoding.name().to_uppercase();
        let message = format!("{name} without a BOM, not UTF-8: every other byte is NUL");
        let buffer = core::mem::take(&mut self.buffer);
        let problem = Problem::IllFormed(kind);
        self.found(problem, Location::default(), 0, Columns::of(" "), &buffer, || message);
        self.buffer = buffer;
    }

    pub(super) fn found_bom(&mut self, kind: ErrorKind, bom: &[u8], message: String, buffer: &[u8]) {
        let mut width = Columns::of(" ");
        width.bytes = bom.len() as u64;
        let problem = Problem::Bom(kind, self.checks.bom_rule);
        self.found(problem, Location::default(), width.bytes, width, buffer, || message);
    }

    /// Whether a comment on the line around the position `at` switches the rule off. The comments are searched once for
    /// all violations in a line, because a line may have as many of them as bytes.
    pub(super) fn is_allowed(&mut self, rule: Rule, at: usize, buffer: &[u8]) -> bool {
        if !self.allowed.0.contains(&at) {
            let line = line_around(&buffer[..self.filled], at);
            let text = &buffer[line.clone()];
            let rules = self.checks.rules.iter().copied().filter(|rule| rule.is_allowed_by(text)).collect();
            self.allowed = (line, rules);
        }
        self.allowed.1.contains(&rule)
    }

    pub(super) fn error(&mut self, error: Utf8Error, buffer: &[u8]) {
        self.end_escape(buffer);
        let offset = self.part.start + self.not_decoded + error.offset;
        let error = Utf8Error::new(offset, error.kind, error.len);
        tracing::debug!(offset, kind = %error.kind, len = error.len, "ill-formed");
        let at = self.position(error.offset).min(buffer.len());
        let following = &buffer[at..self.filled.max(at)];
        self.evidence.error(error, &buffer[..self.filled.max(at)], at);
        self.summary.characters += 1;
        self.ill_formed(error, following, buffer);
        self.locator.push_ill_formed(error.len.into());
    }

    fn ill_formed(&mut self, error: Utf8Error, following: &[u8], buffer: &[u8]) {
        let Utf8Error { offset, kind, len, .. } = error;
        let (named, encoding) = (self.checks.encoding, self.encoding);
        let bytes = &following[..following.len().min(8)];
        let message = || match named == Encoding::Utf8.into() {
            true => describe(kind, bytes, len.into()),
            false => describe_in(encoding, named, kind, bytes, len.into()),
        };
        let mut location = self.locator.location();
        location.offset = offset;
        let mut width = Columns::of(" ");
        width.bytes = len.into();
        self.found(Problem::IllFormed(kind), location, len.into(), width, buffer, message);
    }

    pub(super) fn found(
        &mut self,
        problem: Problem,
        location: Location,
        len: u64,
        width: Columns,
        buffer: &[u8],
        message: impl FnOnce() -> String,
    ) {
        self.summary.count(problem.name());
        if self.summary.is_above(problem.name(), self.checks.max_errors) {
            return;
        }
        let context = self.checks.wants_context.then(|| self.context(location.offset, len as usize, buffer));
        (self.report)(Diagnostic { problem, location, len, width, message: message(), context });
    }

    /// Returns the position in the buffer of an offset in the input. A position outside the buffer becomes the nearest
    /// end.
    pub(super) fn position(&self, offset: u64) -> usize {
        (offset.saturating_sub(self.base)).min(self.filled as u64) as usize
    }

    fn context(&self, offset: u64, len: usize, buffer: &[u8]) -> Context {
        let at = self.position(offset);
        let buffer = &buffer[..self.filled];
        let row = at - (offset % 16).min(at as u64) as usize;
        let (row, row_offset) = (buffer[row..buffer.len().min(row + 16)].to_vec(), offset - offset % 16);
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
                row_offset,
            };
        }
        // The length is limited, because a line may fill the buffer, and each error in it copies its context.
        let end = floor_boundary(buffer, buffer.len().min(at + SHOWN)).max(at);
        let window = at.saturating_sub(SHOWN)..end;
        let line = line_around(&buffer[window.clone()], at - window.start);
        let is_cut =
            (line.start == 0 && window.start > 0, line.end == window.len() && window.end < buffer.len());
        let line = window.start + line.start..window.start + line.end;
        let start = match is_cut.0 {
            true => ceil_boundary(&buffer[..line.end], line.start).min(at),
            false => line.start,
        };
        Context {
            line: buffer[start..line.end].to_vec(),
            at: at - start,
            covered: len,
            is_cut,
            row,
            row_offset,
        }
    }
}

/// Returns the range of the line around the position `at`, as far as it is in `buffer`, without the line break.
fn line_around(buffer: &[u8], at: usize) -> Range<usize> {
    let start = memchr::memrchr(b'\n', &buffer[..at]).map_or(0, |end| end + 1);
    let end = memchr::memchr(b'\n', &buffer[at..]).map_or(buffer.len(), |end| at + end);
    start..end
}
