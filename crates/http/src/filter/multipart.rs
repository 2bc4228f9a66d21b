//! `multipart/form-data` (RFC 7578): checks the text fields and passes the files.
//!
//! A state machine over the positions in a form: content, delimiter line, header fields, epilogue. Only content is long,
//! so only content is searched by memchr; the lines between are read byte by byte.
//!
//! In content the search is for `--boundary`, which RFC 2046 §5.1.1 forbids anywhere else. After CRLF they are the
//! delimiter. Anywhere else some reader would see a delimiter where another does not, so the form is rejected.
//!
//! If a chunk ends inside what may be a delimiter, its bytes are not passed to the check of the part yet. They equal the start of
//! the delimiter, so `matched`, their number, is all that is stored. When the next bytes differ, they are content and are
//! checked first. They cannot be the start of another delimiter, because it has a CR only at its start.

mod content;

use core::ops::Range;

use bytes::Bytes;
use utf8_codec::{BomPolicy, TextDecoder};
use utf8_codec_media::delimiter::{Boundary, Delimiter, DelimiterStep, DelimiterTail, LineBreak};

use super::delimiters::{DashedSearch, FieldsSearch, MadeDelimiter, common_prefix};
use super::frames::FrameQueue;
use super::kind::{KindFilter, min_text_output};
use super::part::FormPart;
use crate::error::{HEADER_LIMIT, MultipartError};
use crate::reason::RejectReason;
use crate::rules::BodyRules;

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
/// - `--boundary` anywhere but in a delimiter, even if only a repair would create it. RFC 2046 §5.1.1 forbids it in a part.
///   Django finds a delimiter in the middle of a line, Werkzeug and PHP after a bare line break;
/// - other bytes after a delimiter;
/// - a part without header fields, or with bare line breaks or repeated fields in them;
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
    error: Option<RejectReason>,
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
    Delimiter(DelimiterTail),
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

    fn release_last(&mut self, chunk: &Bytes) {
        self.out.copy(chunk, &self.last);
        self.last.clear();
    }

    /// Whether the closing delimiter was read. Its line break may be missing at the end of the body.
    const fn is_closed(&self) -> bool {
        matches!(
            self.position,
            Position::Epilogue
                | Position::Delimiter(
                    DelimiterTail::Padding(Delimiter::Close) | DelimiterTail::Cr(Delimiter::Close)
                )
        )
    }

    const fn decoder(&self) -> &TextDecoder {
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
                    self.position = Position::Delimiter(DelimiterTail::Boundary);
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
            self.position = Position::Delimiter(DelimiterTail::Boundary);
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
    fn rest_of_delimiter(&mut self, chunk: &Bytes, at: usize, tail: DelimiterTail) -> usize {
        self.position = match tail.step(chunk[at]) {
            DelimiterStep::More(next) => Position::Delimiter(next),
            DelimiterStep::Line(Delimiter::Part, LineBreak::CrLf) => Position::Headers(Vec::new()),
            DelimiterStep::Line(Delimiter::Close, line_break) => {
                let fields = FieldsSearch::new(line_break == LineBreak::CrLf);
                self.part = outside(&self.rules, self.offset + 1, fields);
                Position::Epilogue
            }
            DelimiterStep::Line(Delimiter::Part, LineBreak::Lf) | DelimiterStep::Malformed => {
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

    fn fail(&mut self, error: MultipartError) {
        self.error.get_or_insert(error.into());
    }
}

impl KindFilter for FormFilter {
    fn feed(&mut self, chunk: Bytes) {
        self.release_last(&chunk);
        let mut at = 0;
        while at < chunk.len() && self.error.is_none() {
            let next = match &mut self.position {
                Position::Content { matched, lacks_crlf } => {
                    let matched = *matched;
                    let lacks_crlf = *lacks_crlf;
                    self.content(&chunk, at, matched, lacks_crlf)
                }
                Position::Delimiter(tail) => {
                    let tail = *tail;
                    self.rest_of_delimiter(&chunk, at, tail)
                }
                Position::Headers(_) => self.headers(&chunk, at),
                Position::Epilogue => self.epilogue(&chunk, at),
            };
            self.offset += (next - at) as u64;
            at = next;
        }
        // Nothing is checked after an error.
        self.offset += (chunk.len() - at) as u64;
        self.out.end_chunk(&chunk);
        if self.error.is_none() && !self.is_closed() {
            self.out.take_last(self.part.is_text(), &mut self.last);
        }
    }

    fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        self.out.pop().map(Ok).or_else(|| self.error.take().map(Err))
    }

    fn finish(&mut self) {
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

    fn is_clean(&self) -> bool {
        let is_idle = self.out.is_empty() && self.error.is_none();
        self.is_closed() && is_idle && self.part.pending() == 0
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn repaired(&self) -> u64 {
        self.repaired + self.part.repaired()
    }

    fn held(&self) -> u64 {
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

    fn queued(&self) -> (u64, bool) {
        (self.out.queued(), self.error.is_some())
    }

    fn min_output(&self, bytes: u64) -> u64 {
        match self.decoder().bom_policy() {
            // Every field may start with a BOM, so the number of removed BOMs is not known.
            BomPolicy::Strip | BomPolicy::Require => 0,
            _ if self.rules.drops_escapes() => 0,
            _ => min_text_output(self.decoder(), bytes),
        }
    }

    fn max_output(&self, bytes: u64) -> Option<u64> {
        self.decoder().error_policy().max_output_len(bytes)
    }
}

/// Creates the check for the bytes before the first part or after the last one. A BOM there is kept.
fn outside(rules: &BodyRules, start: u64, fields: FieldsSearch) -> FormPart {
    FormPart::outside(rules.text_decoder().clone().with_bom_policy(BomPolicy::Keep), start, fields)
}

/// Returns the number of matched bytes that are not in the body: the CRLF if it is missing.
const fn missing_crlf_len(lacks_crlf: bool) -> usize {
    if lacks_crlf { 2 } else { 0 }
}
