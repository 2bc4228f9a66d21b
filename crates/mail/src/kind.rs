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
use super::obsolete::{Hidden, OtherReading, Part};
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
    pub(super) body: Body,
    pub(super) digest: bool,
    /// The offset of a line of the header, if the readers that do not accept it show the raw body as text.
    pub(super) raw: Option<u64>,
}

/// How the body of a part is read.
pub(super) enum Body {
    /// As text that is checked, with a decoder if it is in another charset.
    Text(Option<Box<CharsetText>>),
    /// As a text that may declare its encoding as XML does.
    Xml,
    OtherText,
    Multipart(Boundary),
    Message,
    Other,
}

impl Body {
    const fn kind(&self) -> PartKind {
        match self {
            Self::Text(_) | Self::Xml => PartKind::Text,
            Self::OtherText => PartKind::OtherText,
            Self::Multipart(_) => PartKind::Multipart,
            Self::Message => PartKind::Message,
            Self::Other => PartKind::Other,
        }
    }
}

/// Determines the kind of a part from its header, and adds the errors in these declarations to `declared.reports`.
pub(super) fn describe(entity: Entity, declared: &mut Declared, settings: &MimeSettings) -> Description {
    let mut report = Report { reports: &mut declared.reports, max: settings.max_errors };
    let type_field = declared.content_type.as_ref();
    let encoding_field = declared.encoding.as_ref();
    let content_type = type_field.and_then(|field| report.content_type(field, entity.digest));
    let content_type = content_type.as_ref();
    let (top, subtype) = match content_type {
        Some(content_type) => (content_type.top(), content_type.subtype()),
        None if entity.digest && type_field.is_none() => ("message", "rfc822"),
        None => ("text", "plain"),
    };
    let encoding = encoding_field.map_or(Some(TransferEncoding::default()), |field| report.encoding(field));
    let type_at = type_field.map_or(0, |field| field.offset);
    let class = if declared.cut { Class::Other } else { Class::of(top, subtype, content_type) };
    if let (Class::Message | Class::Multipart, Some(field)) = (class, encoding_field)
        && !encoding.is_some_and(TransferEncoding::is_identity)
    {
        report.structure(field.offset, StructureErrorKind::EncodedStructure);
    }
    let body = match class {
        Class::Other => Body::Other,
        Class::UnknownMessage => {
            report.structure(type_at, StructureErrorKind::AmbiguousHeader);
            Body::Other
        }
        Class::Message | Class::Multipart if entity.depth >= settings.max_depth => {
            report.structure(type_at, StructureErrorKind::TooDeep);
            Body::Other
        }
        Class::Message => {
            if entity.message && entity.depth > 0 {
                report.structure(type_at, StructureErrorKind::NestedMessage);
            }
            Body::Message
        }
        Class::Multipart => report.boundary(content_type, type_at).map_or(Body::Other, Body::Multipart),
        Class::Text => report.text(content_type, type_at, settings.other_charsets),
    };
    let body = match (encoding_field, encoding) {
        (Some(field), None) if matches!(body, Body::Text(_) | Body::Xml | Body::OtherText) => {
            report.push(field.offset, MimeErrorKind::Transfer(TransferErrorKind::UnknownEncoding));
            Body::OtherText
        }
        _ => body,
    };
    let kind = body.kind();
    let part = Part {
        // XML may be in another encoding. Readers that do not find the type read the text as UTF-8.
        kind: if matches!(body, Body::Xml | Body::Text(Some(_))) { PartKind::OtherText } else { kind },
        in_digest: entity.digest,
        has_hidden_type: type_field.is_some_and(|field| field.is_hidden),
        is_encoded: encoding_field.is_some_and(|field| !field.is_hidden && field.changes_bytes()),
    };
    let raw = declared.hidden.and_then(|hidden| report.raw(hidden, part));
    let verdict = PartVerdict {
        content_type: [name(top), name(subtype)].join("/"),
        charset: content_type.and_then(charset_name),
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
    Description { verdict, body, digest, raw }
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

    /// Parses the type, up to the first malformed byte. In a `digest` the default type is not `text/plain`.
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

    /// Returns the transfer encoding of a field, if it is known.
    fn encoding(&mut self, field: &Field) -> Option<TransferEncoding> {
        // RFC 5322 allows a comment after the name, but readers that implement only RFC 2045 do not.
        let name = field.value.split(|&byte| byte == b'(').next().unwrap_or_default();
        let encoding = TransferEncoding::for_name(name);
        if encoding.is_some() && name.len() < field.value.len() {
            self.structure(field.offset, StructureErrorKind::AmbiguousHeader);
        }
        encoding
    }

    /// Returns how a text is read, which depends on its charset. `offset` is the offset of its `Content-Type`.
    fn text(&mut self, content_type: Option<&ContentType<'_>>, offset: u64, other_charsets: bool) -> Body {
        let is_xml = content_type.and_then(text_kind) == Some(TextKind::Xml);
        match content_type.map_or(Charset::Missing, charset_of) {
            Charset::Missing if is_xml => Body::Xml,
            Charset::Utf8 | Charset::Missing => Body::Text(None),
            Charset::Other(label) if is_ascii_label(label) => Body::Text(None),
            Charset::Other(label) if other_charsets => {
                CharsetText::for_label(label).map_or(Body::OtherText, |charset| Body::Text(Some(charset)))
            }
            Charset::Other(_) => Body::OtherText,
            Charset::Conflicting => {
                self.structure(offset, StructureErrorKind::ConflictingCharset);
                Body::OtherText
            }
        }
    }

    /// Returns the offset of a line that some readers do not accept, if they show the raw body as text.
    fn raw(&mut self, hidden: Hidden, part: Part) -> Option<u64> {
        match hidden.reading(part) {
            OtherReading::Same => None,
            OtherReading::Raw => Some(hidden.offset),
            OtherReading::Unchecked => {
                self.structure(hidden.offset, StructureErrorKind::AmbiguousHeader);
                None
            }
        }
    }
}

/// Returns the charset that mail readers use: none if the label is empty (RFC 2045 §5.2).
fn charset_of<'c>(content_type: &'c ContentType<'_>) -> Charset<'c> {
    match content_type.charset() {
        Charset::Other(label) if label.trim_ascii().is_empty() => Charset::Missing,
        charset => charset,
    }
}

/// Returns the charset of a verdict.
fn charset_name(content_type: &ContentType<'_>) -> Option<String> {
    match charset_of(content_type) {
        Charset::Missing => None,
        Charset::Utf8 => Some("utf-8".to_string()),
        Charset::Other(_) | Charset::Conflicting => {
            let label = content_type.parameter("charset")?;
            Some(name(&String::from_utf8_lossy(&label[..label.len().min(MAX_NAME)])))
        }
    }
}

/// What a type says about a body.
#[derive(Clone, Copy)]
enum Class {
    Text,
    Multipart,
    Message,
    /// A subtype of `message` that is not registered. Some readers open every subtype as a message.
    UnknownMessage,
    Other,
}

/// The registered subtypes of `message`.
const MESSAGES: [(&str, Class); 18] = [
    ("rfc822", Class::Message),
    ("global", Class::Message),
    ("news", Class::Message),
    // A text of fields: RFC 3464, RFC 3886, RFC 5965, RFC 6533, RFC 8098.
    ("delivery-status", Class::Text),
    ("disposition-notification", Class::Text),
    ("feedback-report", Class::Text),
    ("global-delivery-status", Class::Text),
    ("global-disposition-notification", Class::Text),
    ("global-headers", Class::Text),
    ("tracking-status", Class::Text),
    ("cpim", Class::Other),
    ("external-body", Class::Other),
    ("http", Class::Other),
    ("imdn+xml", Class::Other),
    ("partial", Class::Other),
    ("s-http", Class::Other),
    ("sip", Class::Other),
    ("sipfrag", Class::Other),
];

impl Class {
    fn of(top: &str, subtype: &str, content_type: Option<&ContentType<'_>>) -> Self {
        let class = if top.eq_ignore_ascii_case("multipart") {
            Self::Multipart
        } else if top.eq_ignore_ascii_case("message") {
            let row = MESSAGES.iter().find(|(known, _)| subtype.eq_ignore_ascii_case(known));
            row.map_or(Self::UnknownMessage, |(_, class)| *class)
        } else if top.eq_ignore_ascii_case("text") {
            Self::Text
        } else {
            Self::Other
        };
        match (class, content_type) {
            // A type that is in UTF-8 or declares a charset is also text.
            (Self::Other, Some(given)) if is_text_type(given) || charset_of(given) != Charset::Missing => {
                Self::Text
            }
            (class, _) => class,
        }
    }
}

/// Returns a name in lower case with a bounded length, for a verdict.
fn name(name: &str) -> String {
    name.chars().take(MAX_NAME).collect::<String>().to_ascii_lowercase()
}
