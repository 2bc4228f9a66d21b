//! Header blocks (RFC 5322 §2.2, RFC 6532): fields as they come, and the few facts that a body needs.

use alloc::vec::Vec;

use memchr::memchr2;

use super::encoded_word::EncodedWords;
use super::error::{MimeError, MimeErrorKind, StructureErrorKind};
use super::plain::trim_blanks;
use super::verdict::{Findings, MimeLimits};
use crate::content_type::ContentType;
use crate::decoder::Utf8Decoder;

/// A field that a body needs, with its place in the message.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    /// As it stands, folds and all, without the last line break.
    pub(super) value: Vec<u8>,
    pub(super) offset: u64,
}

/// What a header says about its body.
#[derive(Clone, Debug, Default)]
pub(super) struct Facts {
    pub(super) content_type: Option<Field>,
    pub(super) encoding: Option<Field>,
    pub(super) findings: Findings,
    /// The header was not read to its end.
    pub(super) cut: bool,
}

/// What a line did.
#[derive(Debug)]
pub(super) enum Header {
    /// There may be more.
    Open,
    /// It is over.
    Ended,
    /// It was over before this line, which belongs to the body.
    EndedBefore(Vec<u8>),
    /// It is too large: so many of the bytes were taken, and nothing more is read of it.
    Cut(usize),
}

/// Reads one header after the other.
#[derive(Clone, Debug)]
pub(super) struct HeaderReader {
    limits: MimeLimits,
    words: EncodedWords,
    /// The field that is read, and the line after it.
    field: Vec<u8>,
    field_at: u64,
    /// Where in `field` the last line starts.
    line: usize,
    /// Bytes of the header so far.
    len: usize,
    /// Whether a first line `From ...` is the envelope of an mbox.
    envelope: bool,
    facts: Facts,
}

impl HeaderReader {
    pub(super) fn new(limits: MimeLimits, lenient: bool) -> Self {
        Self {
            limits,
            words: EncodedWords::new(lenient),
            field: Vec::new(),
            field_at: 0,
            line: 0,
            len: 0,
            envelope: true,
            facts: Facts::default(),
        }
    }

    /// The header that is read is a part's, not a message's.
    pub(super) const fn no_envelope(&mut self) {
        self.envelope = false;
    }

    /// Takes bytes of one line, which stand at `offset` of the message.
    pub(super) fn feed(&mut self, bytes: &[u8], offset: u64) -> Header {
        if self.field.is_empty() {
            self.field_at = offset;
        }
        let room = self.limits.header_bytes - self.len;
        if bytes.len() > room {
            self.field.truncate(self.line);
            self.end_field();
            self.error(offset + room as u64, StructureErrorKind::HeaderTooLarge);
            self.facts.cut = true;
            return Header::Cut(room);
        }
        self.len += bytes.len();
        self.field.extend_from_slice(bytes);
        if bytes.ends_with(b"\n") { self.line() } else { Header::Open }
    }

    /// A delimiter at `offset` ends the header.
    pub(super) fn missing_end(&mut self, offset: u64) {
        self.error(offset, StructureErrorKind::MissingHeaderEnd);
    }

    /// Ends the header where the message or the part ends: as [`feed`](Self::feed), for a line that has no end.
    pub(super) fn end(&mut self) -> Header {
        let end = self.field_at + self.field.len() as u64;
        let ended = if self.line < self.field.len() { self.line() } else { Header::Ended };
        if matches!(ended, Header::Open) {
            // Some readers do not see a field whose line has no end.
            self.missing_end(end);
        }
        self.end_field();
        ended
    }

    /// What the header said. The reader is then as new.
    pub(super) fn facts(&mut self) -> Facts {
        (self.line, self.len, self.envelope) = (0, 0, true);
        self.field.clear();
        core::mem::take(&mut self.facts)
    }

    /// Judges the line at the end of the buffer, which is whole.
    fn line(&mut self) -> Header {
        let line = &self.field[self.line..];
        let at = self.field_at + self.line as u64;
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let first = self.len == line.len();
        let too_long = (text.len() > self.limits.line_bytes).then_some(at + self.limits.line_bytes as u64);
        let control = memchr2(b'\r', 0, text).map(|place| at + place as u64);
        match text {
            [] => {
                self.field.truncate(self.line);
                self.end_field();
                return Header::Ended;
            }
            [b' ' | b'\t', ..] if self.line > 0 => {}
            [b' ' | b'\t', ..] => {
                // A continuation of nothing: readers skip it.
                self.error(at, StructureErrorKind::MalformedHeader);
                self.field.clear();
                return Header::Open;
            }
            [b'F', b'r', b'o', b'm', b' ', ..] if first && self.envelope => {
                self.field.clear();
                if let Some(offset) = control {
                    self.error(offset, StructureErrorKind::HeaderControl);
                }
                return Header::Open;
            }
            _ if is_field(text) => self.start_field(),
            _ => {
                self.error(at, StructureErrorKind::MalformedHeader);
                let body = self.field.split_off(self.line);
                self.end_field();
                return Header::EndedBefore(body);
            }
        }
        if let Some(offset) = too_long {
            self.error(offset, StructureErrorKind::HeaderLineTooLong);
        }
        if let Some(offset) = control {
            self.error(offset, StructureErrorKind::HeaderControl);
        }
        self.line = self.field.len();
        Header::Open
    }

    /// The last line starts a field: the one before it is whole.
    fn start_field(&mut self) {
        if self.line > 0 {
            let next = self.field.split_off(self.line);
            let next_at = self.field_at + self.line as u64;
            self.end_field();
            (self.field, self.field_at) = (next, next_at);
        }
    }

    /// Judges the field in the buffer, and keeps what a body needs.
    fn end_field(&mut self) {
        self.line = 0;
        let field = core::mem::take(&mut self.field);
        let Self { words, facts, field_at, .. } = self;
        let findings = &mut facts.findings;
        let max = self.limits.errors;
        if !field.is_ascii() {
            let mut decoder = Utf8Decoder::at(*field_at);
            let mut rest = &field[..];
            while let before = decoder.offset()
                && let Err(error) = decoder.validate(rest)
            {
                findings.push(raw(error), max);
                rest = &rest[(decoder.offset() - before) as usize..];
            }
        }
        words.judge(&field, *field_at, &mut |error| findings.push(error, max));

        let Some(colon) = field.iter().position(|&byte| byte == b':') else {
            return;
        };
        let (name, value) = (&field[..colon], &field[colon + 1..]);
        let value = value.strip_suffix(b"\n").unwrap_or(value);
        let value = value.strip_suffix(b"\r").unwrap_or(value);
        let (place, is_same) = if name.eq_ignore_ascii_case(b"Content-Type") {
            (&mut facts.content_type, is_same_type as Compare)
        } else if name.eq_ignore_ascii_case(b"Content-Transfer-Encoding") {
            (&mut facts.encoding, <[u8]>::eq_ignore_ascii_case as Compare)
        } else {
            return;
        };
        match place {
            None => *place = Some(Field { value: value.to_vec(), offset: *field_at + colon as u64 + 1 }),
            Some(before) if is_same(trim_blanks(&before.value), trim_blanks(value)) => {}
            Some(_) => {
                findings.push(MimeError::structure(*field_at, StructureErrorKind::ConflictingHeader), max);
            }
        }
    }

    fn error(&mut self, offset: u64, kind: StructureErrorKind) {
        self.facts.findings.push(MimeError::structure(offset, kind), self.limits.errors);
    }
}

/// An error in bytes that stand for themselves.
fn raw(error: crate::error::Utf8Error) -> MimeError {
    MimeError {
        offset: error.offset,
        decoded_offset: None,
        kind: MimeErrorKind::Text(error.kind),
        len: error.len,
    }
}

/// Whether two values of a field say the same.
type Compare = fn(&[u8], &[u8]) -> bool;

/// Whether two types say the same, in any case but that of their boundaries: those that differ in nothing but case
/// are two.
fn is_same_type(one: &[u8], two: &[u8]) -> bool {
    let boundary = |value| {
        let (content_type, _) = ContentType::parse_mail_prefix(value).ok()?;
        content_type.parameter("boundary").map(<[u8]>::to_vec)
    };
    one.eq_ignore_ascii_case(two) && (one == two || boundary(one) == boundary(two))
}

/// Whether a line is a field: a name of printable ASCII, and a colon (RFC 5322 §2.2).
fn is_field(line: &[u8]) -> bool {
    line.iter()
        .position(|byte| !matches!(byte, b'!'..=b'9' | b';'..=b'~'))
        .is_some_and(|end| end > 0 && line[end] == b':')
}
