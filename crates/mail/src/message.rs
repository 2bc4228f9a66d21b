//! The validator for complete messages. The diagram shows what is read next.
//!
//! ```text
//!            empty line                      delimiter (a part)
//!   Header ────────────> Body ───────────────────────────────────────> Header of the part
//!     ^  └─ multipart ─> Between (preamble) ─────── delimiter ───────> Header of the first part
//!     └──── message ───┘ Between (epilogue) <── closing delimiter ──── Body
//! ```

use alloc::boxed::Box;
use alloc::vec::Vec;

use kernels::count;
use utf8_codec_media::delimiter::Delimiter;

use super::body::{BodyDecoder, BodyPiece};
use super::charset::CharsetText;
use super::error::{MimeError, MimeLayer, StructureErrorKind};
use super::headers::{Declared, Header, HeaderReader};
use super::kind::{Body, Description, Entity, describe};
use super::multipart::{Mode, MultipartEvent, MultipartSplitter};
use super::obsolete::RawText;
use super::transfer::{TransferDecoder, TransferEncoding, TransferPiece};
use super::verdict::{MessageVerdict, MimeSettings, PartKind, PartPath, PartVerdict};
use super::xml::XmlStart;

/// Checks the text of a message (RFC 5322, RFC 2045 to 2049, RFC 6532), in chunks of any size.
///
/// It reads headers, nested multiparts and nested messages, decodes the body of every part that is text, and reports
/// for each whether it is well-formed UTF-8. The raw bytes of headers and their encoded words are also checked. The
/// verdict does not depend on how the message is split into chunks. Memory is constant except for the verdicts, whose
/// number is limited ([`MimeSettings`]). Nothing is repaired, and nothing panics.
///
/// If mail readers parse a message differently, this is an error ([`StructureErrorKind`]), because some of them show
/// a different text from the one that was checked. Line breaks may be CRLF, as on the wire, or LF, as in files.
///
/// # Cost
///
/// Each body is validated once. The header of each part is parsed, for up to [`MimeSettings::max_parts`] parts, and
/// each line that starts with a boundary but is not a delimiter costs a comparison. A message that consists only of the
/// shortest parts or lines of these kinds is over a hundred times as slow as text.
///
/// ```
/// use utf8_codec::ErrorKind;
/// use utf8_codec_mail::{MessageValidator, MimeErrorKind};
///
/// let mail = b"Subject: =?UTF-8?Q?caf=C3=A9?=\r\n\
///     Content-Type: multipart/mixed; boundary=b\r\n\
///     \r\n\
///     --b\r\n\
///     \r\n\
///     good\r\n\
///     --b\r\n\
///     Content-Type: text/plain; charset=utf-8\r\n\
///     Content-Transfer-Encoding: base64\r\n\
///     \r\n\
///     b2jtoIA=\r\n\
///     --b--\r\n";
/// let mut validator = MessageValidator::new();
/// for chunk in mail.chunks(7) {
///     validator.push(chunk);
/// }
/// let verdict = validator.finish();
/// let (part, error) = verdict.first_error().expect("a surrogate half");
/// assert_eq!(part.path.to_string(), "2");
/// assert_eq!(error.kind, MimeErrorKind::Text(ErrorKind::Surrogate));
/// assert_eq!((error.offset, error.decoded_offset), (175, Some(2)));
/// assert_eq!(verdict.notable().filter(|part| part.is_ok()).count(), 1);
/// ```
#[derive(Clone, Debug)]
pub struct MessageValidator {
    settings: MimeSettings,
    splitter: MultipartSplitter,
    header: HeaderReader,
    reading: Reading,
    /// The open multiparts, the outermost first.
    open: Vec<Open>,
    /// The outermost part that some readers show as raw text.
    raw: Option<RawText>,
    verdicts: Vec<PartVerdict>,
    /// An empty buffer. It is exchanged for the released bytes of the splitter, so that no buffer is allocated for
    /// them.
    spare: Vec<u8>,
}

/// The part of the message that the next content belongs to.
#[derive(Clone, Debug)]
enum Reading {
    Header(Entity),
    Text(Box<TextBody>),
    OtherText(Box<TransferDecoder>),
    /// A text whose encoding is not known yet.
    Xml(Box<XmlStart>),
    Other,
    /// The preamble, the epilogue, or the rest of a message with too many parts.
    Between,
}

/// A text body that is checked.
#[derive(Clone, Debug)]
struct TextBody {
    decoder: BodyDecoder,
    /// Whether no transfer encoding was declared.
    undeclared: bool,
    /// Whether the charset is not UTF-8.
    is_other: bool,
    /// Whether the last line has no line break so far.
    open_line: bool,
}

/// A multipart that is open.
#[derive(Clone, Debug)]
struct Open {
    path: PartPath,
    verdict: usize,
    children: u32,
    depth: usize,
    digest: bool,
}

utf8_codec::default_is_new!(MessageValidator);

impl MessageValidator {
    /// Creates a strict validator with the default settings.
    pub fn new() -> Self {
        Self::with_settings(MimeSettings::default())
    }

    /// Creates a validator with these settings.
    pub fn with_settings(settings: MimeSettings) -> Self {
        Self {
            settings,
            splitter: MultipartSplitter::new(),
            header: HeaderReader::new(settings),
            reading: Reading::Header(Entity::root()),
            open: Vec::new(),
            raw: None,
            verdicts: Vec::new(),
            spare: Vec::new(),
        }
    }

    /// Returns the offset of the next byte of the message.
    pub const fn offset(&self) -> u64 {
        self.splitter.offset()
    }

    /// Whether no error has been found so far in the parts whose header is complete.
    pub fn is_ok(&self) -> bool {
        self.verdicts.iter().all(PartVerdict::is_ok)
    }

    /// Checks the next chunk.
    pub fn push(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some(event) = self.splitter.next(&mut rest, self.mode()) {
            self.event(event);
        }
    }

    /// Ends the message, resets the validator and returns the verdict.
    pub fn finish(&mut self) -> MessageVerdict {
        // An iteration may start another header. The last line of a header may be a delimiter, which starts a part. Or
        // the header may declare a message, whose own header follows.
        loop {
            while let Some(event) = self.splitter.finish() {
                self.event(event);
            }
            let Reading::Header(entity) = &self.reading else { break };
            // A message may consist of only a header, but some readers do not open such a message inside another one.
            if entity.depth > 0 {
                self.header.missing_end(self.splitter.offset());
            }
            self.end_header(self.splitter.offset());
        }
        self.end_body();
        self.end_raw(0);
        let end = self.splitter.offset();
        self.close(0, end);
        let parts = core::mem::take(&mut self.verdicts);
        *self = Self::with_settings(self.settings);
        MessageVerdict { parts, bytes: end }
    }

    const fn mode(&self) -> Mode {
        match self.reading {
            Reading::Header(_) => Mode::Lines,
            _ => Mode::Bulk,
        }
    }

    fn event(&mut self, event: MultipartEvent<'_>) {
        match event {
            MultipartEvent::Content(bytes) => {
                self.content(bytes, self.splitter.offset() - bytes.len() as u64)
            }
            MultipartEvent::Released => {
                let mut released = core::mem::take(&mut self.spare);
                let end = self.splitter.swap_released(&mut released);
                self.content(&released, end - released.len() as u64);
                released.clear();
                self.spare = released;
            }
            MultipartEvent::Delimiter { level, delimiter, offset } => {
                self.delimiter(level, delimiter, offset)
            }
            MultipartEvent::Ambiguous { level, offset } => self.ambiguous(level, offset),
        }
    }

    fn content(&mut self, bytes: &[u8], offset: u64) {
        let max = self.settings.max_errors;
        if let Some(raw) = &mut self.raw
            && match &self.reading {
                Reading::Header(_) | Reading::Xml(_) => false,
                Reading::Text(body) => body.is_other,
                Reading::OtherText(_) | Reading::Other | Reading::Between => true,
            }
        {
            raw.feed(bytes);
        }
        match &mut self.reading {
            Reading::Header(_) => match self.header.feed(bytes, offset) {
                Header::Open => {}
                Header::Ended => self.begin_body(offset + bytes.len() as u64),
                Header::EndedBefore(line) => self.begin_body_with(&line),
                Header::Cut(taken) => {
                    // The rest was split as a header. It is split again as a body.
                    let rest = &bytes[taken..];
                    self.splitter.rewind(rest, false);
                    self.begin_body(offset + taken as u64);
                    self.push(rest);
                }
            },
            Reading::Between => {}
            Reading::Text(body) => {
                if let Some(verdict) = self.verdicts.last_mut() {
                    verdict.bytes += bytes.len() as u64;
                    let TextBody { decoder, open_line, .. } = &mut **body;
                    decoder.feed_with(bytes, |piece| count_text(verdict, open_line, piece, max));
                }
            }
            Reading::OtherText(body) => {
                if let Some(verdict) = self.verdicts.last_mut() {
                    verdict.bytes += bytes.len() as u64;
                    body.feed_with(bytes, |piece| count_bytes(verdict, piece, max));
                }
            }
            Reading::Xml(start) => {
                let (taken, is_utf8) = start.feed(bytes);
                if let Some(is_utf8) = is_utf8 {
                    self.begin_xml(is_utf8);
                    self.content(&bytes[taken..], offset + taken as u64);
                }
            }
            Reading::Other => {
                if let Some(verdict) = self.verdicts.last_mut() {
                    verdict.bytes += bytes.len() as u64;
                }
            }
        }
    }

    /// Reports the boundary of a multipart in a position that readers treat differently.
    fn ambiguous(&mut self, level: usize, offset: u64) {
        let max = self.settings.max_errors;
        if let Some(verdict) = self.open.get(level).and_then(|open| self.verdicts.get_mut(open.verdict)) {
            verdict.reports.push(MimeError::structure(offset, StructureErrorKind::AmbiguousDelimiter), max);
        }
    }

    fn delimiter(&mut self, level: usize, delimiter: Delimiter, offset: u64) {
        // The header that ends here may declare a message. The header of that message is then empty and ends here too.
        while matches!(self.reading, Reading::Header(_)) {
            self.header.missing_end(offset);
            self.end_header(offset);
        }
        self.end_body();
        self.end_raw(level + 1);
        self.close(level + 1, offset);
        self.reading = Reading::Between;
        if delimiter == Delimiter::Close {
            // The multipart is complete if it had a part.
            let complete = self.open.pop_if(|open| open.children > 0);
            self.splitter.close(level);
            if complete.is_none() {
                self.close(level, offset);
            }
            return;
        }
        let Some(open) = self.open.last_mut() else { return };
        open.children += 1;
        let entity = Entity::part(open.path.child(open.children), open.depth + 1, open.digest);
        if self.verdicts.len() < self.settings.max_parts {
            self.header.no_envelope();
            self.reading = Reading::Header(entity);
        } else {
            self.too_many_parts(offset);
        }
    }

    /// Stops the checks, and reports once for the whole message that there are too many parts.
    fn too_many_parts(&mut self, offset: u64) {
        let max = self.settings.max_errors;
        if let Some(message) = self.verdicts.first_mut() {
            message.reports.push(MimeError::structure(offset, StructureErrorKind::TooManyParts), max);
        }
        self.open.clear();
        self.splitter.close(0);
        self.reading = Reading::Between;
    }

    /// Ends the header at the offset `end` if one is being read, and starts its body, which may be empty.
    fn end_header(&mut self, end: u64) {
        if matches!(self.reading, Reading::Header(_)) {
            match self.header.end() {
                Header::EndedBefore(line) => self.begin_body_with(&line),
                _ => self.begin_body(end),
            }
        }
    }

    /// Starts the body with a line that was read as a header line.
    fn begin_body_with(&mut self, line: &[u8]) {
        self.splitter.rewind(line, true);
        self.begin_body(self.splitter.offset());
        self.push(line);
    }

    fn begin_body(&mut self, offset: u64) {
        let declared = self.header.declared();
        let Reading::Header(entity) = core::mem::replace(&mut self.reading, Reading::Other) else { return };
        self.begin(entity, declared, offset);
    }

    fn begin(&mut self, entity: Entity, mut declared: Declared, offset: u64) {
        let depth = entity.depth;
        let Description { verdict, body, digest, raw } = describe(entity, &mut declared, &self.settings);
        let undeclared = declared.encoding.is_none();
        let verdict = PartVerdict { offset, reports: declared.reports, ..verdict };
        let path = verdict.path.clone();
        let encoding = verdict.encoding.filter(|_| !undeclared).unwrap_or(TransferEncoding::EightBit);
        let known = verdict.encoding.is_some();
        self.verdicts.push(verdict);
        if let Some(line) = raw
            && self.raw.is_none()
        {
            self.raw = Some(RawText::new(self.verdicts.len() - 1, self.open.len(), line));
        }
        self.reading = match body {
            Body::Xml => Reading::Xml(Box::new(XmlStart::new(self.transfer(encoding, offset), undeclared))),
            Body::Text(charset) => self.text(encoding, offset, undeclared, charset),
            Body::OtherText if known => Reading::OtherText(Box::new(self.transfer(encoding, offset))),
            Body::OtherText | Body::Other => Reading::Other,
            Body::Multipart(boundary) => {
                self.splitter.open(boundary);
                self.open.push(Open { path, verdict: self.verdicts.len() - 1, children: 0, depth, digest });
                Reading::Between
            }
            Body::Message if self.verdicts.len() < self.settings.max_parts => {
                Reading::Header(Entity::message(path, depth + 1))
            }
            Body::Message => {
                self.too_many_parts(offset);
                Reading::Between
            }
        };
    }

    /// Starts a text that is checked.
    fn text(
        &self,
        encoding: TransferEncoding,
        offset: u64,
        undeclared: bool,
        charset: Option<Box<CharsetText>>,
    ) -> Reading {
        let decoder =
            BodyDecoder::with_offset(encoding, offset).with_max_line_length(self.settings.max_line_length);
        let is_other = charset.is_some();
        let decoder = decoder.with_lenient(self.settings.lenient).in_charset(charset);
        Reading::Text(Box::new(TextBody { decoder, undeclared, is_other, open_line: false }))
    }

    /// Creates the decoder of a body.
    fn transfer(&self, encoding: TransferEncoding, offset: u64) -> TransferDecoder {
        let body = TransferDecoder::with_offset(encoding, offset)
            .with_max_line_length(self.settings.max_line_length);
        body.with_lenient(self.settings.lenient)
    }

    /// Processes the start of XML, whose encoding is now known.
    fn begin_xml(&mut self, is_utf8: bool) {
        let reading = core::mem::replace(&mut self.reading, Reading::Other);
        let Reading::Xml(start) = reading else { return };
        let Some(verdict) = self.verdicts.last_mut() else { return };
        let encoding = start.encoding();
        let offset = verdict.offset;
        self.reading = if is_utf8 {
            self.text(encoding, offset, start.undeclared, None)
        } else {
            verdict.kind = PartKind::OtherText;
            verdict.characters = None;
            Reading::OtherText(Box::new(self.transfer(encoding, offset)))
        };
        self.content(&start.wire, offset);
    }

    /// Ends a body without parts.
    fn end_body(&mut self) {
        if let Reading::Xml(start) = &mut self.reading {
            let is_utf8 = start.finish();
            self.begin_xml(is_utf8);
        }
        let max = self.settings.max_errors;
        let reading = core::mem::replace(&mut self.reading, Reading::Between);
        let Some(verdict) = self.verdicts.last_mut() else { return };
        match reading {
            Reading::Text(body) => {
                let TextBody { mut decoder, undeclared, is_other, mut open_line } = *body;
                decoder.finish_with(|piece| count_text(verdict, &mut open_line, piece, max));
                verdict.decoded_bytes = decoder.decoded_offset();
                verdict.lines += u64::from(open_line);
                if undeclared && !is_other && verdict.characters != Some(verdict.decoded_bytes) {
                    let kind = StructureErrorKind::UndeclaredEightBit;
                    verdict.reports.push(MimeError::structure(verdict.offset, kind), max);
                }
            }
            Reading::OtherText(mut body) => {
                body.finish_with(|piece| count_bytes(verdict, piece, max));
                verdict.decoded_bytes = body.decoded_offset();
            }
            _ => {}
        }
    }

    /// Ends a run of bytes that some readers show as raw text, and the part if it is in `level` multiparts or more.
    fn end_raw(&mut self, level: usize) {
        let Some(raw) = &mut self.raw else { return };
        let is_ill_formed = raw.end_run();
        if let Some(raw) = self.raw.take_if(|raw| raw.level >= level)
            && is_ill_formed
            && let Some(verdict) = self.verdicts.get_mut(raw.verdict)
        {
            let error = MimeError::structure(raw.offset, StructureErrorKind::AmbiguousHeader);
            verdict.reports.push(error, self.settings.max_errors);
        }
    }

    /// Closes all multiparts except the outermost `level` ones at `offset`. Their closing delimiters are missing.
    fn close(&mut self, level: usize, offset: u64) {
        let max = self.settings.max_errors;
        for open in self.open.drain(level.min(self.open.len())..) {
            let kind = match open.children {
                0 => StructureErrorKind::MissingFirstBoundary,
                _ => StructureErrorKind::MissingFinalBoundary,
            };
            if let Some(verdict) = self.verdicts.get_mut(open.verdict) {
                verdict.reports.push(MimeError::structure(offset, kind), max);
            }
        }
        self.splitter.close(level);
    }
}

/// Counts the lines and characters of a piece of text, or stores the error.
fn count_text(verdict: &mut PartVerdict, open_line: &mut bool, piece: BodyPiece<'_>, max: usize) {
    let characters = match piece {
        BodyPiece::Text(text) => {
            let (ascii, lines) = count::ascii(text.as_bytes(), b'\n');
            let rest = &text[ascii..];
            verdict.lines += (lines + count::byte(rest.as_bytes(), b'\n')) as u64;
            *open_line = !text.ends_with('\n');
            (ascii + count::characters(rest)) as u64
        }
        BodyPiece::Seam(_) => {
            *open_line = true;
            1
        }
        BodyPiece::Error(error) => {
            *open_line |= error.kind.layer() == MimeLayer::Text;
            verdict.reports.push(error, max);
            0
        }
    };
    verdict.characters = verdict.characters.map(|before| before + characters);
}

/// Counts the lines of a piece of text that is not checked, or stores the error of the transfer encoding.
fn count_bytes(verdict: &mut PartVerdict, piece: TransferPiece<'_>, max: usize) {
    match piece {
        TransferPiece::Bytes(decoded) => {
            verdict.lines += count::byte(decoded.bytes(), b'\n') as u64;
        }
        TransferPiece::Error(error) => verdict.reports.push(error.into(), max),
    }
}
