//! Header parser (RFC 5322 §2.2, RFC 6532): checks each field, and stores the fields that describe the body.

use alloc::vec::Vec;

use memchr::memchr2;
use utf8_codec::Utf8Decoder;
use utf8_codec_media::content_type::ContentType;

use super::encoded_word::EncodedWords;
use super::error::{MimeError, StructureErrorKind};
use super::extended;
use super::obsolete::Hidden;
use super::plain::trim_blanks;
use super::transfer::TransferEncoding;
use super::verdict::{MimeReports, MimeSettings};

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// A field that describes the body.
#[derive(Clone, Debug, Default)]
pub(super) struct Field {
    /// The value as written, with its folds, without the last line break.
    pub(super) value: Vec<u8>,
    /// The offset of the value in the message.
    pub(super) offset: u64,
    /// Whether some readers do not find the field, because it follows a BOM or has white space before its colon.
    pub(super) is_hidden: bool,
}

impl Field {
    /// Whether the field is a `Content-Transfer-Encoding` that may change bytes.
    pub(super) fn changes_bytes(&self) -> bool {
        !TransferEncoding::for_name(&self.value).is_some_and(TransferEncoding::is_identity)
    }
}

/// The properties of a body that its header declares.
#[derive(Clone, Debug, Default)]
pub(super) struct Declared {
    pub(super) content_type: Option<Field>,
    pub(super) encoding: Option<Field>,
    pub(super) reports: MimeReports,
    /// The first line that some readers do not accept.
    pub(super) hidden: Option<Hidden>,
    /// Whether the header was too large and not read to its end.
    pub(super) cut: bool,
}

/// The state of the header after a line.
#[derive(Debug)]
pub(super) enum Header {
    /// The header may continue.
    Open,
    /// The header ended with this line.
    Ended,
    /// The header ended before this line, which is part of the body.
    EndedBefore(Vec<u8>),
    /// The header is too large. The bytes after this position are read as the body.
    Cut(usize),
}

/// Reads one header at a time.
#[derive(Clone, Debug)]
pub(super) struct HeaderReader {
    settings: MimeSettings,
    words: EncodedWords,
    /// The current field, followed by the line that is being read.
    field: Vec<u8>,
    field_at: u64,
    /// The position in `field` at which the line that is being read starts.
    line: usize,
    /// The number of bytes of the header so far.
    len: usize,
    /// Whether a first line `From ...` is the separator of an mbox file.
    envelope: bool,
    declared: Declared,
}

impl HeaderReader {
    pub(super) fn new(settings: MimeSettings) -> Self {
        Self {
            settings,
            words: EncodedWords::new(settings.lenient, settings.other_charsets),
            field: Vec::new(),
            field_at: 0,
            line: 0,
            len: 0,
            envelope: true,
            declared: Declared::default(),
        }
    }

    /// Marks the next header as the header of a part, in which `From ...` is not a separator.
    pub(super) const fn no_envelope(&mut self) {
        self.envelope = false;
    }

    /// Reads bytes of one line at the offset `offset` of the message.
    pub(super) fn feed(&mut self, bytes: &[u8], offset: u64) -> Header {
        if self.field.is_empty() {
            self.field_at = offset;
        }
        let room = self.settings.max_header_length - self.len;
        if bytes.len() > room {
            self.field.truncate(self.line);
            self.end_field();
            self.error(offset + room as u64, StructureErrorKind::HeaderTooLarge);
            self.declared.cut = true;
            return Header::Cut(room);
        }
        self.len += bytes.len();
        self.field.extend_from_slice(bytes);
        if bytes.ends_with(b"\n") { self.line() } else { Header::Open }
    }

    /// Reports that the header ends at `offset` without an empty line.
    pub(super) fn missing_end(&mut self, offset: u64) {
        self.error(offset, StructureErrorKind::MissingHeaderEnd);
    }

    /// Ends the header at the end of the message or the part. The last line may have no line break.
    pub(super) fn end(&mut self) -> Header {
        let end = self.field_at + self.field.len() as u64;
        let ended = if self.line < self.field.len() { self.line() } else { Header::Ended };
        if matches!(ended, Header::Open) {
            // Some readers ignore a field without a line break.
            self.missing_end(end);
        }
        self.end_field();
        ended
    }

    /// Returns the declarations of the header and resets the reader.
    pub(super) fn declared(&mut self) -> Declared {
        self.line = 0;
        self.len = 0;
        self.envelope = true;
        self.field.clear();
        core::mem::take(&mut self.declared)
    }

    /// Parses the line at the end of the buffer.
    fn line(&mut self) -> Header {
        let first = self.len == self.field.len() - self.line;
        if self.field_at == 0 && first && self.field.starts_with(BOM) {
            self.field.drain(..BOM.len());
            self.field_at = BOM.len() as u64;
            self.error(0, StructureErrorKind::ByteOrderMark);
            self.hide(0);
        }
        let line = &self.field[self.line..];
        let at = self.field_at + self.line as u64;
        let text = line.strip_suffix(b"\n").unwrap_or(line);
        let text = text.strip_suffix(b"\r").unwrap_or(text);
        let too_long =
            (text.len() > self.settings.max_line_length).then_some(at + self.settings.max_line_length as u64);
        let control = memchr2(b'\r', 0, text).map(|position| at + position as u64);
        let name = name_len(text);
        match (text, name) {
            ([], _) => {
                self.field.truncate(self.line);
                self.end_field();
                return Header::Ended;
            }
            ([b' ' | b'\t', ..], _) if self.line > 0 => {}
            ([b' ' | b'\t', ..], _) => {
                // A continuation line that follows no field. Readers skip it.
                self.error(at, StructureErrorKind::MalformedHeader);
                self.field.clear();
                return Header::Open;
            }
            ([b'F', b'r', b'o', b'm', b' ', ..], None) if first && self.envelope => {
                self.field.clear();
                if let Some(offset) = control {
                    self.error(offset, StructureErrorKind::HeaderControl);
                }
                return Header::Open;
            }
            (_, Some(len)) => {
                let is_obsolete = text[len] != b':';
                let has_dashes = text.starts_with(b"--");
                self.start_field();
                if is_obsolete {
                    self.error(at + len as u64, StructureErrorKind::SpaceBeforeColon);
                    self.hide(at + len as u64);
                }
                if let Some(hidden) = &mut self.declared.hidden {
                    hidden.before_dashes |= has_dashes;
                }
            }
            (_, None) => {
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

    /// Records that some readers do not accept the line with this offset. The fields before it are complete.
    fn hide(&mut self, offset: u64) {
        let Declared { content_type, encoding, hidden, .. } = &mut self.declared;
        hidden.get_or_insert_with(|| Hidden {
            offset,
            after_type: content_type.is_some(),
            after_encoding: encoding.as_ref().is_some_and(Field::changes_bytes),
            before_dashes: false,
        });
    }

    /// Starts a field with the last line. The field before it is complete.
    fn start_field(&mut self) {
        if self.line > 0 {
            let next = self.field.split_off(self.line);
            let next_at = self.field_at + self.line as u64;
            self.end_field();
            self.field = next;
            self.field_at = next_at;
        }
    }

    /// Checks the field in the buffer and stores it if it describes the body.
    fn end_field(&mut self) {
        self.line = 0;
        let field = core::mem::take(&mut self.field);
        let Self { words, declared, field_at, .. } = self;
        let reports = &mut declared.reports;
        let max = self.settings.max_errors;
        if !field.is_ascii() {
            let mut decoder = Utf8Decoder::with_offset(*field_at);
            let mut rest = &field[..];
            while let before = decoder.offset()
                && let Err(error) = decoder.validate(rest)
            {
                reports.push(MimeError::text(error.offset, None, error), max);
                rest = &rest[(decoder.offset() - before) as usize..];
            }
            // The last line of a message may have no line break.
            if let Err(error) = decoder.finish() {
                reports.push(MimeError::text(error.offset, None, error), max);
            }
        }
        words.check(&field, *field_at, &mut |error| reports.push(error, max));

        let Some(colon) = field.iter().position(|&byte| byte == b':') else {
            return;
        };
        let written = &field[..colon];
        let value = &field[colon + 1..];
        let name = written.trim_ascii_end();
        let follows_bom =
            *field_at == BOM.len() as u64 && declared.hidden.is_some_and(|hidden| hidden.offset == 0);
        let is_hidden = follows_bom || name.len() < written.len();
        let value_at = *field_at + colon as u64 + 1;
        let value = value.strip_suffix(b"\n").unwrap_or(value);
        let value = value.strip_suffix(b"\r").unwrap_or(value);
        let is_type = name.eq_ignore_ascii_case(b"Content-Type");
        if is_type || name.eq_ignore_ascii_case(b"Content-Disposition") {
            extended::check(value, value_at, words.charsets, &mut |error| reports.push(error, max));
        }
        let (kept, is_same) = if is_type {
            (&mut declared.content_type, is_same_type as Compare)
        } else if name.eq_ignore_ascii_case(b"Content-Transfer-Encoding") {
            (&mut declared.encoding, <[u8]>::eq_ignore_ascii_case as Compare)
        } else {
            return;
        };
        match kept {
            None => *kept = Some(Field { value: value.to_vec(), offset: value_at, is_hidden }),
            Some(before) if is_same(trim_blanks(&before.value), trim_blanks(value)) => {
                before.is_hidden &= is_hidden;
            }
            Some(_) => {
                reports.push(MimeError::structure(*field_at, StructureErrorKind::ConflictingHeader), max);
            }
        }
    }

    fn error(&mut self, offset: u64, kind: StructureErrorKind) {
        self.declared.reports.push(MimeError::structure(offset, kind), self.settings.max_errors);
    }
}

/// A function that returns whether two values of a field are the same.
type Compare = fn(&[u8], &[u8]) -> bool;

/// Whether two values of `Content-Type` are equal. Case is ignored, except in boundaries.
fn is_same_type(one: &[u8], two: &[u8]) -> bool {
    one.eq_ignore_ascii_case(two) && (one == two || boundary(one) == boundary(two))
}

fn boundary(value: &[u8]) -> Option<Vec<u8>> {
    let (content_type, _) = ContentType::parse_mail_prefix(value).ok()?;
    content_type.parameter("boundary").map(<[u8]>::to_vec)
}

/// Returns the length of the name of a field: printable ASCII followed by a colon (RFC 5322 §2.2). White space before the
/// colon is obsolete, but must be accepted (§4.5). Returns `None` if the line is not a field.
fn name_len(line: &[u8]) -> Option<usize> {
    let len = line.iter().position(|byte| !matches!(byte, b'!'..=b'9' | b';'..=b'~'))?;
    let colon = line[len..].iter().find(|byte| !matches!(byte, b' ' | b'\t'))?;
    (len > 0 && *colon == b':').then_some(len)
}
