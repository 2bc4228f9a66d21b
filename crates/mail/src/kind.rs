//! Determines the kind of a part, and how its body is read, from its header.

use alloc::boxed::Box;
use alloc::string::{String, ToString};

use utf8_codec_media::content_type::{
    Charset, ContentType, TextKind, is_ascii_label, is_text_type, text_kind,
};
use utf8_codec_media::delimiter::Boundary;

use super::charset::CharsetText;
use super::error::{MimeError, MimeErrorKind, StructureErrorKind};
use super::headers::{Declared, Field};
use super::obsolete::{OtherReading, Part};
use super::plain::{reads_alike, reads_parameters_alike};
use super::transfer::{TransferEncoding, TransferErrorKind};
use super::verdict::{MimeReports, MimeSettings, PartKind, PartPath, PartVerdict};

/// The maximum length of names that are stored. RFC 6838 §4.2 allows 127 bytes on each side of the `/`.
const MAX_NAME: usize = 127;

/// A message, or a part of a multipart, whose header is being read.
#[derive(Clone, Debug)]
pub(super) struct Entity {
    path: PartPath,
    /// Whether this is a message and not a part of a multipart. `path` is then the path of the part that contains the
    /// message. If the body of the message is not a multipart, the body is part 1 below `path`.
    message: bool,
    /// Whether this is a part of a `multipart/digest`, in which the default type is `message/rfc822` (RFC 2046 §5.1.5).
    digest: bool,
    pub(super) depth: usize,
}

impl Entity {
    pub(super) fn root() -> Self {
        Self::message(PartPath::default(), 0)
    }

    pub(super) const fn message(path: PartPath, depth: usize) -> Self {
        Self { path, message: true, digest: false, depth }
    }

    pub(super) const fn part(path: PartPath, depth: usize, digest: bool) -> Self {
        Self { path, message: false, digest, depth }
    }

    /// Returns the path of a body that is not a multipart.
    fn leaf(self) -> PartPath {
        if self.message { self.path.child(1) } else { self.path }
    }
}

/// The properties of a part that are known before its body.
pub(super) struct Description {
    pub(super) verdict: PartVerdict,
    pub(super) boundary: Option<Boundary>,
    pub(super) digest: bool,
    /// Whether a text may declare its encoding as XML does.
    pub(super) is_xml: bool,
    /// The decoder of a text in another charset that is checked.
    pub(super) charset: Option<Box<CharsetText>>,
    /// The offset of a line of the header, if the readers that do not accept it show the raw body as text.
    pub(super) raw: Option<u64>,
}

/// Determines the kind of a part from its header, and adds the errors in these declarations to `declared.reports`.
pub(super) fn describe(entity: Entity, declared: &mut Declared, settings: &MimeSettings) -> Description {
    let mut report = Report { reports: &mut declared.reports, max: settings.max_errors };
    let value = declared.content_type.as_ref();
    let content_type = value.and_then(|field| report.content_type(field, entity.digest));
    let (top, subtype) = match &content_type {
        Some(content_type) => (content_type.top(), content_type.subtype()),
        None if entity.digest && value.is_none() => ("message", "rfc822"),
        None => ("text", "plain"),
    };
    let encoding = declared.encoding.as_ref().map_or(Some(TransferEncoding::default()), |field| {
        // RFC 5322 allows a comment after the name, but readers that implement only RFC 2045 do not.
        let name = field.value.split(|&byte| byte == b'(').next().unwrap_or_default();
        let encoding = TransferEncoding::for_name(name);
        if encoding.is_some() && name.len() < field.value.len() {
            report.structure(field.offset, StructureErrorKind::AmbiguousHeader);
        }
        encoding
    });
    let type_at = value.map_or(0, |field| field.offset);
    let (mut boundary, mut charset) = (None, None);
    let mut kind = if declared.cut {
        PartKind::Other
    } else if is_unknown_message(top, subtype) {
        report.structure(type_at, StructureErrorKind::AmbiguousHeader);
        PartKind::Other
    } else if let Some(kind) = kind_with_parts(top, subtype) {
        if let Some(field) = &declared.encoding
            && !encoding.is_some_and(TransferEncoding::is_identity)
        {
            report.structure(field.offset, StructureErrorKind::EncodedStructure);
        }
        if entity.depth >= settings.max_depth {
            report.structure(type_at, StructureErrorKind::TooDeep);
            PartKind::Other
        } else if kind == PartKind::Message {
            if entity.message && entity.depth > 0 {
                report.structure(type_at, StructureErrorKind::NestedMessage);
            }
            kind
        } else {
            boundary = report.boundary(content_type.as_ref(), type_at);
            if boundary.is_some() { kind } else { PartKind::Other }
        }
    } else if is_text(top, subtype, content_type.as_ref()) {
        let kind = report.text_kind(content_type.as_ref(), type_at);
        charset = match content_type.as_ref().map(charset_of) {
            Some(Charset::Other(label)) if settings.other_charsets && kind == PartKind::OtherText => {
                CharsetText::for_label(label)
            }
            _ => None,
        };
        if charset.is_some() { PartKind::Text } else { kind }
    } else {
        PartKind::Other
    };
    if let Some(field) = &declared.encoding
        && encoding.is_none()
        && matches!(kind, PartKind::Text | PartKind::OtherText)
    {
        report.push(field.offset, MimeErrorKind::Transfer(TransferErrorKind::UnknownEncoding));
        kind = PartKind::OtherText;
    }
    let is_xml = kind == PartKind::Text
        && content_type.as_ref().is_some_and(|content_type| {
            charset_of(content_type) == Charset::Missing && text_kind(content_type) == Some(TextKind::Xml)
        });
    let part = Part {
        // XML may be in another encoding. Readers that do not find the type read the text as UTF-8.
        kind: if is_xml || charset.is_some() { PartKind::OtherText } else { kind },
        in_digest: entity.digest,
        has_hidden_type: value.is_some_and(|field| field.is_hidden),
        is_encoded: declared.encoding.as_ref().is_some_and(|field| !field.is_hidden && field.changes_bytes()),
    };
    let raw = declared.hidden.and_then(|hidden| match hidden.reading(part) {
        OtherReading::Same => None,
        OtherReading::Raw => Some(hidden.offset),
        OtherReading::Unchecked => {
            report.structure(hidden.offset, StructureErrorKind::AmbiguousHeader);
            None
        }
    });
    let verdict = PartVerdict {
        content_type: [name(top), name(subtype)].join("/"),
        charset: content_type.as_ref().and_then(|content_type| match charset_of(content_type) {
            Charset::Missing => None,
            Charset::Utf8 => Some("utf-8".to_string()),
            _ => content_type
                .parameter("charset")
                .map(|label| name(&String::from_utf8_lossy(&label[..label.len().min(MAX_NAME)]))),
        }),
        encoding,
        kind,
        path: if kind == PartKind::Multipart { entity.path } else { entity.leaf() },
        offset: 0,
        bytes: 0,
        decoded_bytes: 0,
        lines: 0,
        characters: (kind == PartKind::Text).then_some(0),
        reports: MimeReports::default(),
    };
    let digest = top.eq_ignore_ascii_case("multipart") && subtype.eq_ignore_ascii_case("digest");
    Description { verdict, boundary, digest, is_xml, charset, raw }
}

/// Adds errors to the reports of the header.
struct Report<'f> {
    reports: &'f mut MimeReports,
    max: usize,
}

impl Report<'_> {
    fn push(&mut self, offset: u64, kind: MimeErrorKind) {
        self.reports.push(MimeError::new(offset, None, kind, 0), self.max);
    }

    fn structure(&mut self, offset: u64, kind: StructureErrorKind) {
        self.push(offset, MimeErrorKind::Structure(kind));
    }

    /// Parses the type, up to the first malformed byte. In a `digest` the default type is another than `text/plain`.
    fn content_type<'f>(&mut self, field: &'f Field, digest: bool) -> Option<ContentType<'f>> {
        let (content_type, error) = match ContentType::parse_mail_prefix(&field.value) {
            Ok((content_type, None)) => {
                if !reads_alike(&field.value, &content_type) {
                    self.structure(field.offset, StructureErrorKind::AmbiguousHeader);
                } else if content_type.parameter("charset").is_some_and(|label| label.trim_ascii().is_empty())
                {
                    self.structure(field.offset, StructureErrorKind::IncompleteContentType);
                }
                return Some(content_type);
            }
            Ok((content_type, Some(error))) => (Some(content_type), error),
            Err(error) => {
                let incomplete = ContentType::parse_mail_incomplete(&field.value);
                if let Some(content_type) = incomplete
                    && !digest
                    && reads_parameters_alike(&field.value, &content_type)
                {
                    self.structure(field.offset, StructureErrorKind::IncompleteContentType);
                    return Some(content_type);
                }
                (None, error)
            }
        };
        self.structure(field.offset + error.position as u64, StructureErrorKind::MalformedContentType);
        content_type
    }

    /// Returns the boundary of a multipart. `offset` is the offset of its `Content-Type`.
    fn boundary(&mut self, content_type: Option<&ContentType<'_>>, offset: u64) -> Option<Boundary> {
        let boundary = content_type.and_then(Boundary::of);
        if boundary.is_none() {
            self.structure(offset, StructureErrorKind::InvalidBoundary);
        }
        boundary
    }

    /// Returns the kind of a text, which depends on its charset. `offset` is the offset of its `Content-Type`.
    fn text_kind(&mut self, content_type: Option<&ContentType<'_>>, offset: u64) -> PartKind {
        match content_type.map_or(Charset::Missing, charset_of) {
            Charset::Utf8 | Charset::Missing => PartKind::Text,
            Charset::Other(label) if is_ascii_label(label) => PartKind::Text,
            Charset::Conflicting => {
                self.structure(offset, StructureErrorKind::ConflictingCharset);
                PartKind::OtherText
            }
            Charset::Other(_) => PartKind::OtherText,
        }
    }
}

/// Returns the charset that mail readers use: without one if it is empty (RFC 2045 §5.2).
fn charset_of<'c>(content_type: &'c ContentType<'_>) -> Charset<'c> {
    match content_type.charset() {
        Charset::Other(label) if label.trim_ascii().is_empty() => Charset::Missing,
        charset => charset,
    }
}

/// The subtypes of `message` that are messages.
const MESSAGES: [&str; 3] = ["rfc822", "global", "news"];

/// The subtypes of `message` whose body is a text of fields (RFC 3464, RFC 3886, RFC 5965, RFC 6533, RFC 8098).
const REPORTS: [&str; 7] = [
    "delivery-status",
    "disposition-notification",
    "feedback-report",
    "global-delivery-status",
    "global-disposition-notification",
    "global-headers",
    "tracking-status",
];

/// The other registered subtypes of `message`.
const NOT_MESSAGES: [&str; 8] =
    ["cpim", "external-body", "http", "imdn+xml", "partial", "s-http", "sip", "sipfrag"];

fn is_one_of(subtype: &str, known: &[&str]) -> bool {
    known.iter().any(|known| subtype.eq_ignore_ascii_case(known))
}

/// Whether the type is a subtype of `message` that is not registered. Some readers open every subtype as a message.
fn is_unknown_message(top: &str, subtype: &str) -> bool {
    top.eq_ignore_ascii_case("message")
        && ![&MESSAGES[..], &REPORTS, &NOT_MESSAGES].iter().any(|known| is_one_of(subtype, known))
}

/// Returns the kind of a type with parts. Returns `None` for other types.
fn kind_with_parts(top: &str, subtype: &str) -> Option<PartKind> {
    if top.eq_ignore_ascii_case("multipart") {
        Some(PartKind::Multipart)
    } else if top.eq_ignore_ascii_case("message") && is_one_of(subtype, &MESSAGES) {
        Some(PartKind::Message)
    } else {
        None
    }
}

/// Whether a body is text: of a type of [`is_text_type`] or of [`REPORTS`], or of any type with a declared charset.
fn is_text(top: &str, subtype: &str, content_type: Option<&ContentType<'_>>) -> bool {
    top.eq_ignore_ascii_case("text")
        || (top.eq_ignore_ascii_case("message") && is_one_of(subtype, &REPORTS))
        || content_type.is_some_and(|content_type| {
            is_text_type(content_type) || charset_of(content_type) != Charset::Missing
        })
}

/// Returns a name in lower case with a bounded length, for a verdict.
fn name(name: &str) -> String {
    name.chars().take(MAX_NAME).collect::<String>().to_ascii_lowercase()
}
