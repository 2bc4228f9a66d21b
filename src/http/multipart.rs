//! `multipart/form-data` (RFC 7578): its text fields are checked, its files pass.

use core::fmt;
use core::ops::Range;

use bytes::Bytes;

use super::error::Utf8BodyError;
use super::joint::Joint;
use super::part::{LABEL_LIMIT, Part, PartHeaders};
use super::rules::BodyRules;
use crate::content_type::{Charset, ContentType};
use crate::error::Utf8Error;
use crate::policy::BomPolicy;
use crate::text::{TextDecoder, TextPiece};

/// Bytes  the header fields of one part may have. Without a limit a peer that never ends them fills the memory.
pub(crate) const HEADER_LIMIT: usize = 16 * 1024;

/// Why a `multipart/form-data` cannot be taken apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MultipartError {
    /// The `boundary` is missing, or is not one in the sense of RFC 2046 §5.1.1: `1..=70` characters.
    Boundary,
    /// The bytes at this offset in the body fit nowhere: after a delimiter, or in the header fields of a part.
    Malformed {
        /// Absolute position in the body, in bytes.
        offset: u64,
    },
    /// The header fields of the part at this offset are longer than 16 KiB.
    HeadersTooLong {
        /// Absolute position in the body, in bytes, of the first field.
        offset: u64,
    },
    /// The part at this offset is text in a charset that is not accepted, or is declared in several ways.
    Charset {
        /// Absolute position in the body, in bytes, of the content of the part.
        offset: u64,
    },
    /// The body ends before its closing delimiter.
    Unterminated {
        /// The length of the body, in bytes.
        offset: u64,
    },
}

impl MultipartError {
    pub(crate) const fn offset_and_len(&self) -> Option<(u64, u64)> {
        match *self {
            Self::Boundary => None,
            Self::Malformed { offset }
            | Self::HeadersTooLong { offset }
            | Self::Charset { offset }
            | Self::Unterminated { offset } => Some((offset, 0)),
        }
    }
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boundary => f.write_str("no multipart boundary"),
            Self::Malformed { offset } => write!(f, "malformed multipart at byte {offset}"),
            Self::HeadersTooLong { offset } => {
                write!(f, "multipart headers at byte {offset} are longer than {HEADER_LIMIT} bytes")
            }
            Self::Charset { offset } => write!(f, "multipart field at byte {offset} is not in UTF-8"),
            Self::Unterminated { offset } => write!(f, "multipart ends at byte {offset} without its end"),
        }
    }
}

impl core::error::Error for MultipartError {}

/// Takes a form apart as it streams.
///
/// What may be the start of a delimiter is held back until it is one or is not; all of it is known, so nothing is
/// stored. Every ambiguity that could make the next parser see a field where this one sees a file is an error: a
/// delimiter with something else after it, a delimiter in the place of a content, bare line ends or twice the same
/// field in the headers of a part. What stands before the first delimiter and after the last one is text: RFC 2046
/// §5.1.1 has readers ignore it, and there are some that find a delimiter, and so a field, in the middle of its lines.
/// Not among the ambiguities is a bare CR or LF before the hyphens inside a file: that is no delimiter by the RFC, and
/// whoever hands forms on to a reader that takes it for one must have the files checked too.
#[derive(Debug)]
pub(crate) struct Multipart {
    /// `CRLF -- boundary`.
    delimiter: Bytes,
    rules: BodyRules,
    /// By the field `_charset_`, for the fields after it (RFC 7578 §4.6).
    default_charset: Option<Vec<u8>>,
    place: Place,
    /// In which part the place is.
    part: Part,
    /// Bytes taken.
    offset: u64,
    out: Joint,
    fault: Option<Utf8BodyError>,
    repaired: u64,
}

/// Where in the form the next byte is.
#[derive(Debug)]
enum Place {
    /// Before the first delimiter, or in the content of a part, after so many bytes of a delimiter. The CRLF of the
    /// delimiter may be `imagined`: at the start, where it may be the first line.
    Content { matched: usize, imagined: bool },
    /// After a delimiter, and what came since.
    Delimiter(After),
    /// In the header fields of a part, and what came of them.
    Headers(Vec<u8>),
    /// After the closing delimiter.
    Epilogue,
}

/// What has come after a delimiter.
#[derive(Clone, Copy, Debug)]
enum After {
    Nothing,
    Hyphen,
    WhiteSpace,
    Cr,
}

/// Bytes  are checked: a span of the chunk, which need not be copied, or others.
enum Run<'o> {
    Span(Range<usize>),
    Others(&'o [u8]),
}

impl Multipart {
    pub(crate) fn new(boundary: &[u8], rules: BodyRules) -> Result<Self, MultipartError> {
        let is_boundary = (1..=70).contains(&boundary.len())
            && boundary.last() != Some(&b' ')
            && boundary.iter().all(|byte| matches!(byte, b' '..=b'~'));
        if !is_boundary {
            return Err(MultipartError::Boundary);
        }
        let part = frame(&rules, 0);
        Ok(Self {
            delimiter: [b"\r\n--", boundary].concat().into(),
            rules,
            default_charset: None,
            place: Place::Content { matched: 2, imagined: true },
            part,
            offset: 0,
            out: Joint::default(),
            fault: None,
            repaired: 0,
        })
    }

    pub(crate) fn feed(&mut self, chunk: &Bytes) {
        let mut at = 0;
        while at < chunk.len() && self.fault.is_none() {
            let next = match &mut self.place {
                Place::Content { matched, imagined } => {
                    let (matched, imagined) = (*matched, *imagined);
                    self.content(chunk, at, matched, imagined)
                }
                Place::Delimiter(after) => {
                    let after = *after;
                    self.behind_delimiter(chunk, at, after)
                }
                Place::Headers(_) => self.headers(chunk, at),
                Place::Epilogue => {
                    self.check(chunk, Run::Span(at..chunk.len()));
                    chunk.len()
                }
            };
            self.offset += (next - at) as u64;
            at = next;
        }
        // After an error nothing is looked at, nor asked for again.
        self.offset += (chunk.len() - at) as u64;
        self.out.end_chunk(chunk);
    }

    pub(crate) fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        self.out.pop().map(Ok).or_else(|| self.fault.take().map(Err))
    }

    pub(crate) fn finish(&mut self) {
        if self.fault.is_some() || self.is_clean() {
            return;
        }
        let none = Bytes::new();
        if let Place::Content { matched, imagined } = self.place {
            self.check_matched(&none, matched, imagined);
        }
        self.end_part(&none);
        if matches!(self.place, Place::Epilogue) {
            // A body may go on after its end.
            self.part = frame(&self.rules, self.offset);
        } else {
            self.fail(MultipartError::Unterminated { offset: self.offset });
        }
        self.out.end_chunk(&none);
    }

    pub(crate) fn is_clean(&self) -> bool {
        matches!(self.place, Place::Epilogue) && self.is_idle() && self.part.pending() == 0
    }

    /// Whether nothing waits to be taken.
    pub(crate) fn is_idle(&self) -> bool {
        self.out.is_empty() && self.fault.is_none()
    }

    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) fn repaired(&self) -> u64 {
        self.repaired + self.part.repaired()
    }

    /// Bytes  were taken and are neither queued nor refused.
    pub(crate) fn held(&self) -> u64 {
        let held = match &self.place {
            Place::Content { matched, imagined } => matched - imaginary(*imagined) + self.part.pending(),
            Place::Headers(bytes) => bytes.len(),
            Place::Delimiter(_) => 0,
            Place::Epilogue => self.part.pending(),
        };
        held as u64
    }

    /// Bytes  wait to be taken, and whether an error waits after them.
    pub(crate) fn queued(&self) -> (u64, bool) {
        (self.out.queued(), self.fault.is_some())
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        self.rules.text_decoder()
    }

    /// Takes content from `chunk[at..]`, up to a delimiter or the end; says how far it got.
    fn content(&mut self, chunk: &Bytes, at: usize, matched: usize, imagined: bool) -> usize {
        let delimiter = self.delimiter.clone();
        let mut next = at;
        if matched > 0 {
            let more = common_prefix(&delimiter[matched..], &chunk[at..]);
            next += more;
            if matched + more == delimiter.len() {
                let offset = self.offset + more as u64 - (delimiter.len() - imaginary(imagined)) as u64;
                if imagined && offset > 0 {
                    self.fail(MultipartError::Malformed { offset });
                    return next;
                }
                self.end_part(chunk);
                if self.fault.is_none() {
                    self.out.copy(chunk, &delimiter[imaginary(imagined)..]);
                    self.place = Place::Delimiter(After::Nothing);
                }
                return next;
            }
            if next == chunk.len() {
                self.place = Place::Content { matched: matched + more, imagined };
                return next;
            }
            // It was no delimiter. What came of it in this chunk is content like any other.
            self.check_matched(chunk, matched, imagined);
            if self.fault.is_some() {
                return next;
            }
        }
        self.place = Place::Content { matched: 0, imagined: false };
        loop {
            let Some(distance) = memchr::memchr(b'\r', &chunk[next..]) else {
                self.check(chunk, Run::Span(at..chunk.len()));
                return chunk.len();
            };
            let candidate = next + distance;
            // CR is nowhere in a delimiter but at its start, so no candidate hides inside another.
            let len = common_prefix(&delimiter, &chunk[candidate..]);
            next = candidate + len;
            if len == delimiter.len() {
                self.check(chunk, Run::Span(at..candidate));
                self.end_part(chunk);
                if self.fault.is_none() {
                    self.out.span(chunk, candidate..next);
                    self.place = Place::Delimiter(After::Nothing);
                }
                return next;
            }
            if next == chunk.len() {
                self.check(chunk, Run::Span(at..candidate));
                self.place = Place::Content { matched: len, imagined: false };
                return next;
            }
        }
    }

    /// Hands on as content what looked like the start of a delimiter in the chunks before.
    fn check_matched(&mut self, chunk: &Bytes, matched: usize, imagined: bool) {
        let bytes = self.delimiter.slice(imaginary(imagined)..matched);
        self.check(chunk, Run::Others(&bytes));
    }

    /// Takes what is after a delimiter: `--` if it is the last one, white space and CRLF if not.
    fn behind_delimiter(&mut self, chunk: &Bytes, at: usize, after: After) -> usize {
        self.place = match (after, chunk[at]) {
            (After::Nothing, b'-') => Place::Delimiter(After::Hyphen),
            (After::Hyphen, b'-') => {
                self.part = frame(&self.rules, self.offset + 1);
                Place::Epilogue
            }
            (After::Nothing | After::WhiteSpace, b' ' | b'\t') => Place::Delimiter(After::WhiteSpace),
            (After::Nothing | After::WhiteSpace, b'\r') => Place::Delimiter(After::Cr),
            (After::Cr, b'\n') => Place::Headers(Vec::new()),
            _ => {
                self.fail(MultipartError::Malformed { offset: self.offset });
                return at;
            }
        };
        self.out.span(chunk, at..at + 1);
        at + 1
    }

    /// Takes the header fields of a part, up to the empty line after them.
    fn headers(&mut self, chunk: &Bytes, at: usize) -> usize {
        let Place::Headers(seen) = &mut self.place else { return at };
        let start = self.offset - seen.len() as u64;
        for (taken, &byte) in chunk[at..].iter().enumerate() {
            seen.push(byte);
            if seen.ends_with(b"\r\n\r\n") || seen == b"\r\n" {
                let bytes = core::mem::take(seen);
                let next = at + taken + 1;
                self.start_part(chunk, &bytes, start);
                return next;
            }
            if seen.len() == HEADER_LIMIT {
                self.fail(MultipartError::HeadersTooLong { offset: start });
                return at + taken + 1;
            }
        }
        chunk.len()
    }

    /// Checks the header fields that start at `start`, and decides by them what becomes of the content.
    fn start_part(&mut self, chunk: &Bytes, fields: &[u8], start: u64) {
        let content = start + fields.len() as u64;
        self.part = frame(&self.rules, start);
        self.check(chunk, Run::Others(fields));
        self.end_part(chunk);
        if self.fault.is_some() {
            return;
        }
        let fields = match PartHeaders::parse(fields) {
            Ok(fields) => fields,
            Err(at) => return self.fail(MultipartError::Malformed { offset: start + at as u64 }),
        };
        let is_text = fields.content_type.as_ref().is_none_or(|given| self.rules.is_text(given));
        self.part = Part::Untouched;
        self.place = Place::Content { matched: 2, imagined: true };
        if is_text && !fields.is_file {
            let default = self.default_charset.as_deref().map_or(Charset::Missing, Charset::of_label);
            let charset = match fields.content_type.as_ref().map_or(Charset::Missing, ContentType::charset) {
                Charset::Missing => default,
                given => given,
            };
            match self.rules.checks_field(charset) {
                Some(true) => self.part = Part::text(*self.decoder(), content, fields.is_charset),
                Some(false) => {}
                None => self.fail(MultipartError::Charset { offset: content }),
            }
        }
    }

    /// Checks bytes by the rules of the part they are in, and queues them.
    fn check(&mut self, chunk: &Bytes, bytes: Run<'_>) {
        let (bytes, span) = match bytes {
            Run::Span(span) => (&chunk[span.clone()], Some(span)),
            Run::Others(bytes) => (bytes, None),
        };
        let out = &mut self.out;
        let mut put = |good: &[u8], is_borrowed: bool| match &span {
            Some(span) if is_borrowed => {
                let start = span.start + (good.as_ptr() as usize - bytes.as_ptr() as usize);
                out.span(chunk, start..start + good.len());
            }
            _ => out.copy(chunk, good),
        };
        let Part::Text { decoder, start, label } = &mut self.part else {
            return put(bytes, true);
        };
        for piece in decoder.feed(bytes) {
            match piece.text() {
                Ok(text) => {
                    put(text.as_bytes(), matches!(piece, TextPiece::Text(_)));
                    if let Some(label) = label {
                        label.extend_from_slice(text.as_bytes());
                        label.truncate(LABEL_LIMIT);
                    }
                }
                Err(error) => {
                    self.fault = Some(Utf8Error { offset: *start + error.offset, ..error }.into());
                    return;
                }
            }
        }
    }

    /// Ends the part: a sequence that it cut short, and the charset that it names.
    fn end_part(&mut self, chunk: &Bytes) {
        self.repaired += self.part.repaired();
        let Part::Text { mut decoder, start, label } = core::mem::replace(&mut self.part, Part::Untouched)
        else {
            return;
        };
        if let Some(label) = label {
            self.default_charset = Some(label);
        }
        let before = decoder.counters().total();
        match decoder.finish().map(|end| end.text().map(str::to_owned)) {
            Some(Err(error)) if self.fault.is_none() => {
                self.fault = Some(Utf8Error { offset: start + error.offset, ..error }.into());
            }
            Some(Ok(text)) => {
                self.repaired += decoder.counters().total() - before;
                self.out.copy(chunk, text.as_bytes());
            }
            Some(Err(_)) | None => {}
        }
    }

    fn fail(&mut self, error: MultipartError) {
        self.fault.get_or_insert(error.into());
    }
}

/// The text around the contents, which has no BOM: header fields, and what is before and after the parts.
fn frame(rules: &BodyRules, start: u64) -> Part {
    Part::text(rules.text_decoder().bom(BomPolicy::Keep), start, false)
}

/// How many bytes of a delimiter were never in the body.
const fn imaginary(imagined: bool) -> usize {
    if imagined { 2 } else { 0 }
}

/// How many bytes two slices have in common at their start.
fn common_prefix(one: &[u8], two: &[u8]) -> usize {
    one.iter().zip(two).take_while(|(a, b)| a == b).count()
}
