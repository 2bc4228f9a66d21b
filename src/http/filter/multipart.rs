//! `multipart/form-data` (RFC 7578): checks the text fields and passes the files.

use core::ops::Range;

use bytes::Bytes;

use super::delimiters::{DashedSearch, FieldsSearch, MadeDelimiter, common_prefix};
use super::field::{error_in, shown};
use super::frames::FrameQueue;
use super::part::{FormPart, LABEL_LIMIT, PartHeaders, PartHeadersError};
use super::text::repaired;
use crate::content_type::{Charset, ContentType};
use crate::delimiter::{Boundary, Delimiter, LineBreak, Tail, TailStep};
use crate::error::Utf8Error;
use crate::http::error::{HEADER_LIMIT, MultipartError, Utf8BodyError};
use crate::http::rules::{BodyRules, FieldCheck};
use crate::policy::{BomPolicy, ErrorPolicy};
use crate::text::{TextDecoder, TextPiece};

/// Parses a form while it streams.
///
/// Bytes that may be the start of a delimiter are pending until more bytes arrive. They are equal to the first bytes of
/// the delimiter, so only their number is stored.
///
/// Until the closing delimiter was read, the last character or byte of the output is pending too. If the form ends there,
/// it is not returned, so a reader that counts to `Content-Length` polls again and receives the error.
///
/// If another parser could find a field where this one finds a file, the form is rejected under every policy. The cases
/// are:
/// - `--boundary` anywhere but in a delimiter, also if a repair would make it. RFC 2046 §5.1.1 forbids it in a part.
///   Django finds a delimiter in the middle of a line, Werkzeug and PHP after a bare line break;
/// - other bytes after a delimiter;
/// - a part without header fields, bare line breaks or repeated fields there;
/// - header fields before the first delimiter or after the last one ([`FieldsSearch`]).
///
/// A text field in a transfer encoding is rejected too, because some readers decode it.
///
/// The delimiter after a part without a body has no line break of its own (RFC 2046 §5.1.1, `body-part`). Some readers
/// do not find it: for them the next part is content of the field. So a text field without a body is accepted, but not a
/// part after it that is not checked.
///
/// The bytes before the first delimiter and after the last one are checked as text. By RFC 2046 §5.1.1 they are ignored,
/// but Django reads them as parts.
#[derive(Debug)]
pub(super) struct FormFilter {
    /// `CRLF -- boundary`, in bytes.
    delimiter: Bytes,
    search: DashedSearch,
    /// The number of bytes of `--boundary` at the end of what was read as content or outside of the parts.
    matched: usize,
    rules: BodyRules,
    /// The text of the field `_charset_`, which applies to the fields after it (RFC 7578 §4.6).
    default_charset: Option<Vec<u8>>,
    position: Position,
    /// The part that contains the next byte.
    part: FormPart,
    /// The number of bytes fed so far.
    offset: u64,
    out: FrameQueue,
    /// The last character or byte of the output, while the form is not closed.
    last: Vec<u8>,
    error: Option<Utf8BodyError>,
    repaired: u64,
    made: MadeDelimiter,
    /// The offset of a delimiter that some readers do not find, in a text field that they have not ended.
    missed: Option<u64>,
}

/// The position of the next byte in the form.
#[derive(Debug)]
enum Position {
    /// Before the first delimiter or in the content of a part, after `matched` bytes of a delimiter. A delimiter at the
    /// start of the body or of a content has no CRLF of its own. There `lacks_crlf` is `true`, and `matched` counts the
    /// missing CRLF.
    Content { matched: usize, lacks_crlf: bool },
    /// In a delimiter line, after the boundary.
    Delimiter(Tail),
    /// In the header fields of a part, after these bytes.
    Headers(Vec<u8>),
    /// After the closing delimiter.
    Epilogue,
}

/// Bytes to check: a span of the chunk, which need not be copied, or other bytes.
enum Run<'o> {
    Span(Range<usize>),
    Others(&'o [u8]),
}

impl FormFilter {
    pub(super) fn new(boundary: &Boundary, rules: BodyRules) -> Self {
        let part = outside(&rules, 0, FieldsSearch::new(false));
        Self {
            delimiter: [b"\r\n", boundary.dashed()].concat().into(),
            search: DashedSearch::new(boundary.dashed()),
            matched: 0,
            rules,
            default_charset: None,
            position: Position::Content { matched: 2, lacks_crlf: true },
            part,
            offset: 0,
            out: FrameQueue::new(),
            last: Vec::new(),
            error: None,
            repaired: 0,
            made: MadeDelimiter::default(),
            missed: None,
        }
    }

    pub(super) fn feed(&mut self, chunk: &Bytes) {
        if chunk.is_empty() {
            return;
        }
        self.release_last(chunk);
        let mut at = 0;
        while at < chunk.len() && self.error.is_none() {
            let next = match &mut self.position {
                Position::Content { matched, lacks_crlf } => {
                    let (matched, lacks_crlf) = (*matched, *lacks_crlf);
                    self.content(chunk, at, matched, lacks_crlf)
                }
                Position::Delimiter(tail) => {
                    let tail = *tail;
                    self.rest_of_delimiter(chunk, at, tail)
                }
                Position::Headers(_) => self.headers(chunk, at),
                Position::Epilogue => self.epilogue(chunk, at),
            };
            self.offset += (next - at) as u64;
            at = next;
        }
        // Nothing is checked after an error.
        self.offset += (chunk.len() - at) as u64;
        self.out.end_chunk(chunk);
        if self.error.is_none() && !self.is_closed() {
            self.out.take_last(self.part.is_text(), &mut self.last);
        }
    }

    fn release_last(&mut self, chunk: &Bytes) {
        self.out.copy(chunk, &self.last);
        self.last.clear();
    }

    pub(super) fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        self.out.pop().map(Ok).or_else(|| self.error.take().map(Err))
    }

    pub(super) fn finish(&mut self) {
        if self.error.is_some() || self.is_clean() {
            return;
        }
        let none = Bytes::new();
        self.release_last(&none);
        if let Position::Content { matched, lacks_crlf } = self.position {
            self.check_matched(&none, matched, lacks_crlf);
        }
        let is_text = self.part.is_text();
        self.end_part(&none);
        self.out.end_chunk(&none);
        if self.is_closed() {
            // More bytes may be fed after `finish`.
            self.part = outside(&self.rules, self.offset, FieldsSearch::new(false));
        } else if self.error.is_none() {
            self.out.take_last(is_text, &mut Vec::new());
            self.fail(MultipartError::Unterminated { offset: self.offset });
        }
    }

    pub(super) fn is_clean(&self) -> bool {
        let is_idle = self.out.is_empty() && self.error.is_none();
        self.is_closed() && is_idle && self.part.pending() == 0
    }

    /// Whether the closing delimiter was read. Its line break may be missing at the end of the body.
    const fn is_closed(&self) -> bool {
        matches!(
            self.position,
            Position::Epilogue
                | Position::Delimiter(Tail::Padding(Delimiter::Close) | Tail::Cr(Delimiter::Close))
        )
    }

    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(super) fn repaired(&self) -> u64 {
        self.repaired + self.part.repaired()
    }

    /// Returns the number of pending bytes, which were fed but are neither queued nor part of an error.
    pub(super) fn held(&self) -> u64 {
        let held = match &self.position {
            Position::Content { matched, lacks_crlf } => {
                matched - missing_crlf_len(*lacks_crlf) + self.part.pending()
            }
            Position::Headers(bytes) => bytes.len(),
            Position::Delimiter(_) => 0,
            Position::Epilogue => self.part.pending(),
        };
        (held + self.last.len()) as u64
    }

    /// Returns the number of bytes in the queue, and whether an error follows them.
    pub(super) fn queued(&self) -> (u64, bool) {
        (self.out.queued(), self.error.is_some())
    }

    pub(super) const fn decoder(&self) -> &TextDecoder {
        self.rules.text_decoder()
    }

    /// Reads content from `chunk[at..]`, up to the end of a delimiter or of the chunk. Returns the position after the
    /// bytes read.
    fn content(&mut self, chunk: &Bytes, at: usize, matched: usize, lacks_crlf: bool) -> usize {
        let delimiter = self.delimiter.clone();
        let mut next = at;
        if matched > 0 {
            let more = common_prefix(&delimiter[matched..], &chunk[at..]);
            next += more;
            if matched + more == delimiter.len() {
                let offset =
                    self.offset + more as u64 - (delimiter.len() - missing_crlf_len(lacks_crlf)) as u64;
                // The first delimiter of the body has no line break either.
                let is_missed = lacks_crlf && offset > 0 && (self.part.is_text() || self.missed.is_some());
                self.missed = is_missed.then_some(offset);
                self.end_part(chunk);
                if self.error.is_none() {
                    self.out.copy(chunk, &delimiter[missing_crlf_len(lacks_crlf)..]);
                    self.position = Position::Delimiter(Tail::Boundary);
                }
                return next;
            }
            if next == chunk.len() {
                self.position = Position::Content { matched: matched + more, lacks_crlf };
                return next;
            }
            // The matched bytes are not a delimiter. Those of this chunk are checked together with the bytes after
            // them.
            self.check_matched(chunk, matched, lacks_crlf);
            if self.error.is_some() {
                return next;
            }
        }
        self.position = Position::Content { matched: 0, lacks_crlf: false };
        let bytes = &chunk[at..];
        let Some(start) = self.search.find(bytes) else {
            // A delimiter has a CR only at its start.
            let end = &bytes[bytes.len().saturating_sub(delimiter.len() - 1)..];
            let held = memchr::memrchr(b'\r', end).map(|start| &end[start..]);
            let matched = held.filter(|held| delimiter.starts_with(held)).map_or(0, <[u8]>::len);
            self.check(chunk, Run::Span(at..chunk.len() - matched));
            self.position = Position::Content { matched, lacks_crlf: false };
            return chunk.len();
        };
        if !bytes[..start].ends_with(b"\r\n") {
            return self.misplaced(chunk, at, start);
        }
        let candidate = at + start - 2;
        let next = candidate + delimiter.len();
        self.check(chunk, Run::Span(at..candidate));
        self.missed = None;
        self.end_part(chunk);
        if self.error.is_none() {
            self.out.span(chunk, candidate..next);
            self.position = Position::Delimiter(Tail::Boundary);
        }
        next
    }

    /// Reads `chunk[at..]` after the closing delimiter.
    fn epilogue(&mut self, chunk: &Bytes, at: usize) -> usize {
        if let Some(start) = self.search.find(&chunk[at..]) {
            return self.misplaced(chunk, at, start);
        }
        self.check(chunk, Run::Span(at..chunk.len()));
        chunk.len()
    }

    /// Rejects `--boundary` at `chunk[at + start..]`, which is not in a delimiter. Its last byte is not returned.
    fn misplaced(&mut self, chunk: &Bytes, at: usize, start: usize) -> usize {
        let end = at + start + self.search.dashed().len();
        self.check(chunk, Run::Span(at..end - 1));
        if self.error.is_none() {
            self.fail(MultipartError::Malformed { offset: self.offset + start as u64 });
        }
        end
    }

    /// Checks matched bytes of earlier chunks as content, because they are not a delimiter.
    fn check_matched(&mut self, chunk: &Bytes, matched: usize, lacks_crlf: bool) {
        let bytes = self.delimiter.slice(missing_crlf_len(lacks_crlf)..matched);
        self.check(chunk, Run::Others(&bytes));
    }

    /// Reads a byte of a delimiter line after the boundary. A delimiter before a part that ends with a bare LF is an
    /// error.
    fn rest_of_delimiter(&mut self, chunk: &Bytes, at: usize, tail: Tail) -> usize {
        self.position = match tail.step(chunk[at]) {
            TailStep::More(next) => Position::Delimiter(next),
            TailStep::Line(Delimiter::Part, LineBreak::CrLf) => Position::Headers(Vec::new()),
            TailStep::Line(Delimiter::Close, line_break) => {
                let fields = FieldsSearch::new(line_break == LineBreak::CrLf);
                self.part = outside(&self.rules, self.offset + 1, fields);
                Position::Epilogue
            }
            TailStep::Line(Delimiter::Part, LineBreak::Lf) | TailStep::Malformed => {
                self.fail(MultipartError::Malformed { offset: self.offset });
                return at;
            }
        };
        self.out.span(chunk, at..at + 1);
        at + 1
    }

    /// Reads the header fields of a part, up to the empty line after them.
    fn headers(&mut self, chunk: &Bytes, at: usize) -> usize {
        let Position::Headers(seen) = &mut self.position else { return at };
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

    /// Checks the header fields at the offset `start`. They determine how the content is checked. They are parsed as they
    /// are returned, because a repair may change what a reader finds.
    fn start_part(&mut self, chunk: &Bytes, fields: &[u8], start: u64) {
        let content = start + fields.len() as u64;
        // A repair may have made the fields longer.
        let malformed = |at: usize| MultipartError::Malformed { offset: content.min(start + at as u64) };
        let mut decoder = self.decoder().with_bom_policy(BomPolicy::Keep);
        let text = match decoder.decode_chunk(fields) {
            Ok(text) => text,
            Err(failed) => {
                self.out.copy(chunk, failed.text.as_bytes());
                self.error = Some(Utf8Error { offset: start + failed.error.offset, ..failed.error }.into());
                return;
            }
        };
        self.repaired += repaired(&decoder);
        // If the fields are not accepted, their last character is not returned, so a reader that counts to
        // `Content-Length` does not miss the error.
        let (before, last) = text.split_at(text.char_indices().next_back().map_or(0, |(at, _)| at));
        self.out.copy(chunk, before.as_bytes());
        let fields = match PartHeaders::parse(text.as_bytes(), &self.search) {
            Ok(fields) => fields,
            Err(PartHeadersError::Malformed(at)) => return self.fail(malformed(at)),
            Err(PartHeadersError::IllFormed(error)) => {
                let offset = content.min(start + error.offset);
                self.error = Some(Utf8Error { offset, ..error }.into());
                return;
            }
        };
        self.part = FormPart::Untouched;
        self.position = Position::Content { matched: 2, lacks_crlf: true };
        if self.rules.is_field(fields.content_type.as_ref(), fields.file_name.as_deref()) {
            let default = self.default_charset.as_deref().map_or(Charset::Missing, Charset::for_label);
            let charset = match fields.content_type.as_ref().map_or(Charset::Missing, ContentType::charset) {
                Charset::Missing => default,
                given => given,
            };
            match (self.rules.field_check(charset), fields.encoded) {
                (FieldCheck::Text(_), Some(at)) => return self.fail(malformed(at)),
                (FieldCheck::Text(decoder), None) => {
                    let name = fields.name.as_deref().and_then(shown);
                    self.part = FormPart::field(decoder, content, name, fields.is_charset());
                }
                (FieldCheck::Pass, _) => {}
                (FieldCheck::Reject, _) => return self.fail(MultipartError::Charset { offset: content }),
            }
        }
        if let Some(offset) = self.missed.filter(|_| !self.part.is_text()) {
            return self.fail(MultipartError::Malformed { offset });
        }
        self.out.copy(chunk, last.as_bytes());
    }

    /// Checks bytes of the current part and queues them. A span starts at the offset of the filter, other bytes end there.
    /// They have no whole `--boundary`, but may complete one.
    fn check(&mut self, chunk: &Bytes, bytes: Run<'_>) {
        let (bytes, span, start) = match bytes {
            Run::Span(span) => (&chunk[span.clone()], Some(span), self.offset),
            Run::Others(bytes) => (bytes, None, self.offset - bytes.len() as u64),
        };
        let dashed = self.search.find_across(&mut self.matched, bytes);
        let fields = match &mut self.part {
            FormPart::Text { fields: Some(fields), .. } => fields.find(bytes),
            _ => None,
        };
        let malformed = match (dashed, fields) {
            (Some(end), _) if fields.is_none_or(|fields| end < fields) => {
                Some((end, start + end as u64 + 1 - self.search.dashed().len() as u64))
            }
            // The empty line.
            (_, Some(end)) => Some((end, start + end as u64 - 1)),
            (_, None) => None,
        };
        self.check_text(
            chunk,
            &bytes[..malformed.map_or(bytes.len(), |(end, _)| end)],
            span.map(|span| span.start),
        );
        if let Some((_, offset)) = malformed
            && self.error.is_none()
        {
            self.fail(MultipartError::Malformed { offset });
        }
    }

    /// Checks bytes of the current part and queues them. They are `chunk[at..]` if there is an `at`.
    fn check_text(&mut self, chunk: &Bytes, bytes: &[u8], at: Option<usize>) {
        let out = &mut self.out;
        let mut put = |text: &[u8], is_borrowed: bool| match at {
            Some(at) if is_borrowed => {
                let start = at + (text.as_ptr() as usize - bytes.as_ptr() as usize);
                out.span(chunk, start..start + text.len());
            }
            _ => out.copy(chunk, text),
        };
        let FormPart::Text { decoder, start, field, label, .. } = &mut self.part else {
            return put(bytes, true);
        };
        let changes = decoder.error_policy() != ErrorPolicy::Strict
            || matches!(decoder.bom_policy(), BomPolicy::Strip | BomPolicy::Require);
        for piece in decoder.feed(bytes) {
            if let TextPiece::Repaired(_, error) = piece {
                self.made.repair = *start + error.offset;
            }
            match piece.text() {
                Ok(text) => {
                    let is_borrowed = matches!(piece, TextPiece::Text(_));
                    if changes
                        && let Some(end) = self.search.find_across(&mut self.made.matched, text.as_bytes())
                    {
                        put(&text.as_bytes()[..end], is_borrowed);
                        self.error =
                            Some(MultipartError::Malformed { offset: self.made.repair.max(*start) }.into());
                        return;
                    }
                    put(text.as_bytes(), is_borrowed);
                    if let Some(label) = label {
                        label.extend_from_slice(text.as_bytes());
                        label.truncate(LABEL_LIMIT);
                    }
                }
                Err(error) => {
                    self.error = Some(in_part(*start, field.take(), error));
                    return;
                }
            }
        }
    }

    /// Ends the part. An unfinished character is an error or is repaired. The text of the field `_charset_` is stored.
    fn end_part(&mut self, chunk: &Bytes) {
        // After an error nothing is added to the output, for example for a character that the error left unfinished.
        if self.error.is_some() {
            return;
        }
        self.repaired += self.part.repaired();
        self.matched = 0;
        let mut made = core::mem::take(&mut self.made);
        let part = core::mem::replace(&mut self.part, FormPart::Untouched);
        let FormPart::Text { mut decoder, start, field, label, .. } = part else { return };
        if let Some(label) = label {
            self.default_charset = Some(label);
        }
        let before = decoder.counters().total();
        let repair = start + decoder.offset() - decoder.pending().len() as u64;
        match decoder.finish().map(|end| end.text().map(str::to_owned)) {
            Some(Err(error)) => {
                self.error = Some(in_part(start, field, error));
            }
            Some(Ok(text)) if self.search.find_across(&mut made.matched, text.as_bytes()).is_some() => {
                self.fail(MultipartError::Malformed { offset: repair });
            }
            Some(Ok(text)) => {
                self.repaired += decoder.counters().total() - before;
                self.out.copy(chunk, text.as_bytes());
            }
            None => {}
        }
    }

    fn fail(&mut self, error: MultipartError) {
        self.error.get_or_insert(error.into());
    }
}

/// Creates the check for the bytes before the first part or after the last one. A BOM there is kept.
fn outside(rules: &BodyRules, start: u64, fields: FieldsSearch) -> FormPart {
    FormPart::outside(rules.text_decoder().with_bom_policy(BomPolicy::Keep), start, fields)
}

/// Returns the error of a text that starts at the offset `start`. `field` is the name of the field, if it is one.
fn in_part(start: u64, field: Option<Option<Box<str>>>, error: Utf8Error) -> Utf8BodyError {
    let in_body = Utf8Error { offset: start + error.offset, ..error };
    match field {
        Some(name) => error_in(name, error.offset, in_body),
        None => in_body.into(),
    }
}

/// Returns the number of matched bytes that are not in the body: the CRLF if it is missing.
const fn missing_crlf_len(lacks_crlf: bool) -> usize {
    if lacks_crlf { 2 } else { 0 }
}
