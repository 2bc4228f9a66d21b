//! Why a message is rejected, and the problem document for its sender.

use core::fmt::{self, Write as _};

use http::header::HeaderName;
use http::{HeaderValue, StatusCode};
use utf8_codec::Utf8Error;
use utf8_codec_encodings::TranscodeError;
use utf8_codec_media::content_type::{ContentTypeError, is_grpc};

use super::error::{FormField, MultipartError, Utf8BodyError};
use crate::protobuf::ProtobufError;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// A request. Ill-formed text in it is an error of the client, `4xx`.
    Request,
    /// A response. Ill-formed text in it is an error of the service, `502`.
    Response,
}

/// A rejected message. It is an error whose `Display` and `Debug` show no byte of the message, except the name of a header
/// or trailer field.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// The kind of the message.
    pub message_kind: MessageKind,
    /// Why the message is rejected.
    pub reason: Reason,
    /// The `Content-Type` of the message as sent. It is untrusted input.
    pub content_type: Option<HeaderValue>,
}

/// Why a message is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The body is not well-formed UTF-8. The offset counts from the start of the body.
    Body(Utf8Error),
    /// The body is not well-formed in the declared charset, from which it is transcoded. The offset counts from the start of
    /// the body.
    Transcode(TranscodeError),
    /// The text of a field of a form is not well-formed. The offset counts from the start of the body.
    Field(FormField, Utf8Error),
    /// The `multipart/form-data` cannot be parsed.
    Multipart(MultipartError),
    /// A string of a protobuf message is not well-formed, or the message cannot be parsed.
    Protobuf(ProtobufError),
    /// The value of a header field is not well-formed. The offset counts from the start of the value.
    Header(HeaderName, Utf8Error),
    /// The value of a trailer field is not well-formed. The offset counts from the start of the value.
    Trailer(HeaderName, Utf8Error),
    /// The percent-decoded path is not well-formed. The offset counts decoded bytes.
    Path(Utf8Error),
    /// The percent-decoded query is not well-formed. The offset counts decoded bytes after the `?`.
    Query(Utf8Error),
    /// The `Content-Type` is not a media type.
    ContentType(ContentTypeError),
    /// A body without a `Content-Type`, if one is required.
    MissingContentType,
    /// Several `Content-Type` fields or `charset` parameters with different values.
    ConflictingCharset,
    /// Text without a `charset`, if one is required.
    MissingCharset,
    /// Text in a charset that is not accepted, declared by the `charset` parameter.
    UnsupportedCharset,
    /// A document in a charset that is not accepted, declared in the body: in the XML declaration, a `meta` element of
    /// HTML, `@charset` of CSS, or a BOM of UTF-16. Its [`kind`](Self::kind) is also `UnsupportedCharset`.
    DeclaredCharset {
        /// The absolute position in the body, in bytes, of the declaration.
        offset: u64,
    },
    /// Text in a content coding, such as gzip, which cannot be checked.
    ContentCoding,
    /// A range of a text (`Content-Range`), which cannot be checked without the other bytes.
    ContentRange,
    /// A body of gRPC, gRPC-Web or a Connect stream, which cannot be checked, if these are rejected.
    LengthPrefixed,
    /// A body that is held until its end is longer than the limit.
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
}

impl Reason {
    /// Returns the offset, the kind and the length if the reason is ill-formed text, also in another charset.
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::Body(error)
            | Self::Field(_, error)
            | Self::Header(_, error)
            | Self::Trailer(_, error)
            | Self::Path(error)
            | Self::Query(error) => Some(*error),
            Self::Protobuf(error) => error.utf8_error(),
            Self::Transcode(error) => Some(error.utf8_error()),
            _ => None,
        }
    }

    /// Returns one word for logs and responses: the name of an [`ErrorKind`](utf8_codec::ErrorKind) or of the reason.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Body(error)
            | Self::Field(_, error)
            | Self::Header(_, error)
            | Self::Trailer(_, error)
            | Self::Path(error)
            | Self::Query(error) => error.kind.as_str(),
            Self::Multipart(_) => "Multipart",
            Self::Protobuf(error) => error.kind.as_str(),
            Self::Transcode(error) => error.kind.as_str(),
            Self::ContentType(_) => "ContentType",
            Self::MissingContentType => "MissingContentType",
            Self::ConflictingCharset => "ConflictingCharset",
            Self::MissingCharset => "MissingCharset",
            Self::UnsupportedCharset | Self::DeclaredCharset { .. } => "UnsupportedCharset",
            Self::ContentCoding => "ContentCoding",
            Self::ContentRange => "ContentRange",
            Self::LengthPrefixed => "LengthPrefixed",
            Self::TooLong { .. } => "TooLong",
        }
    }

    /// Returns the offset and the length of the error in bytes, for a reason with a position.
    pub const fn offset_and_len(&self) -> Option<(u64, u64)> {
        match self {
            Self::Body(error)
            | Self::Field(_, error)
            | Self::Header(_, error)
            | Self::Trailer(_, error)
            | Self::Path(error)
            | Self::Query(error) => Some((error.offset, error.len as u64)),
            Self::DeclaredCharset { offset } => Some((*offset, 0)),
            Self::Multipart(error) => error.offset_and_len(),
            Self::Protobuf(error) => Some((error.offset, error.len as u64)),
            Self::Transcode(error) => Some((error.offset, error.len as u64)),
            Self::ContentType(error) => Some((error.position as u64, 0)),
            _ => None,
        }
    }

    /// Returns the reason to reject a message whose body returned this error, also if it is wrapped in other errors. Returns
    /// `None` if the body failed for another reason.
    pub fn of_body(error: &(dyn core::error::Error + 'static)) -> Option<Self> {
        Utf8BodyError::find(error).map(Self::from)
    }
}

impl From<&Utf8BodyError> for Reason {
    fn from(error: &Utf8BodyError) -> Self {
        match error {
            Utf8BodyError::IllFormed(error) => Self::Body(*error),
            Utf8BodyError::Transcode(error) => Self::Transcode(*error),
            Utf8BodyError::Field { field, error } => Self::Field(field.clone(), *error),
            Utf8BodyError::Multipart(error) => Self::Multipart(*error),
            Utf8BodyError::Protobuf(error) => Self::Protobuf(error.clone()),
            Utf8BodyError::UnsupportedCharset { offset } => Self::DeclaredCharset { offset: *offset },
            Utf8BodyError::Trailer { name, error } => Self::Trailer(name.clone(), *error),
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body(error) | Self::Field(_, error) => error.fmt(f),
            Self::Multipart(error) => error.fmt(f),
            Self::Protobuf(error) => error.fmt(f),
            Self::Transcode(error) => error.fmt(f),
            Self::Header(name, error) => write!(f, "field {name}: {error}"),
            Self::Trailer(name, error) => write!(f, "trailer {name}: {error}"),
            Self::Path(error) => write!(f, "path: {error}"),
            Self::Query(error) => write!(f, "query: {error}"),
            Self::ContentType(error) => error.fmt(f),
            Self::MissingContentType => f.write_str("the body has no Content-Type"),
            Self::ConflictingCharset => f.write_str("the charset is declared in several ways"),
            Self::MissingCharset => f.write_str("the charset is not declared"),
            Self::UnsupportedCharset => f.write_str("the charset is not UTF-8"),
            Self::DeclaredCharset { offset } => {
                write!(f, "the encoding that the body declares at byte {offset} is not UTF-8")
            }
            Self::ContentCoding => f.write_str("text in this content coding is not accepted"),
            Self::ContentRange => f.write_str("a range of a text is not accepted"),
            Self::LengthPrefixed => f.write_str("messages with a length prefix are not accepted"),
            Self::TooLong { limit } => write!(f, "the body is longer than {limit} bytes"),
        }
    }
}

impl core::error::Error for Reason {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Body(error)
            | Self::Field(_, error)
            | Self::Header(_, error)
            | Self::Trailer(_, error)
            | Self::Path(error)
            | Self::Query(error) => Some(error),
            Self::Multipart(error) => Some(error),
            Self::Protobuf(error) => Some(error),
            Self::Transcode(error) => Some(error),
            Self::ContentType(error) => Some(error),
            _ => None,
        }
    }
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message_kind, reason, content_type } = self;
        f.debug_struct("Rejection")
            .field("message_kind", message_kind)
            .field("reason", reason)
            .field("content_type_len", &content_type.as_ref().map(HeaderValue::len))
            .finish()
    }
}

impl core::error::Error for Rejection {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        self.reason.source()
    }
}

impl Rejection {
    /// Creates a rejection without the `Content-Type` of the message.
    pub const fn new(message_kind: MessageKind, reason: Reason) -> Self {
        Self { message_kind, reason, content_type: None }
    }

    /// Returns the rejection for an error of a checked request body that a handler received, also if it is wrapped in
    /// other errors. Returns `None` if the body failed for another reason.
    ///
    /// Use it in handlers that read the body themselves, to respond in the same way as the layer:
    /// `Rejection::from_error(&*error).map(|rejection| rejection.to_response())`. Set
    /// [`content_type`](Self::content_type) if the request may be one of gRPC.
    pub fn from_error(error: &(dyn core::error::Error + 'static)) -> Option<Self> {
        Reason::of_body(error).map(|reason| Self::new(MessageKind::Request, reason))
    }

    /// Returns the status code: `400`, `413` or `415` for a request, `502` for a response.
    pub const fn status(&self) -> StatusCode {
        match (self.message_kind, &self.reason) {
            (MessageKind::Response, _) => StatusCode::BAD_GATEWAY,
            (_, Reason::TooLong { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
            (
                _,
                Reason::MissingContentType
                | Reason::MissingCharset
                | Reason::UnsupportedCharset
                | Reason::DeclaredCharset { .. }
                | Reason::ContentCoding
                | Reason::LengthPrefixed
                | Reason::Multipart(MultipartError::Charset { .. }),
            ) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// Returns the value of the `Accept-Encoding` field of the response, if it needs one. On a `415` it tells the client that
    /// the content coding, not the media type, was the problem (RFC 9110 §12.5.3).
    /// [`to_response`](Self::to_response) adds it.
    pub const fn accept_encoding(&self) -> Option<&'static str> {
        match (self.message_kind, &self.reason) {
            (MessageKind::Request, Reason::ContentCoding) => Some("identity"),
            _ => None,
        }
    }

    /// Whether the message is one of gRPC, by its `Content-Type`. A client of gRPC reads the status from the header fields
    /// of the response and not from a problem document ([`grpc_fields`](Self::grpc_fields)).
    pub fn is_grpc(&self) -> bool {
        self.content_type.as_ref().is_some_and(|value| is_grpc(value.as_bytes()))
    }

    /// Returns the gRPC status: `3` (`INVALID_ARGUMENT`) for a request, `13` (`INTERNAL`) for a response.
    pub const fn grpc_status(&self) -> u8 {
        match self.message_kind {
            MessageKind::Request => 3,
            MessageKind::Response => 13,
        }
    }

    /// Returns the header fields of the response to a client of gRPC, besides the status `200`: its form without a body,
    /// which gRPC over HTTP/2 calls `Trailers-Only`. They are `content-type`, `grpc-status` and `grpc-message`.
    pub fn grpc_fields(&self) -> [(&'static str, String); 3] {
        [
            ("content-type", "application/grpc".into()),
            ("grpc-status", self.grpc_status().to_string()),
            // The reason is ASCII. The name of a header field may contain a `%`, which starts an escape here.
            ("grpc-message", self.reason.to_string().replace('%', "%25")),
        ]
    }

    /// Returns the problem document (RFC 9457), which has the type `application/problem+json`.
    ///
    /// Its members are `type` (`about:blank`), `title` (the reason phrase of the status), `status`, `detail` (a
    /// sentence), `kind` ([`Reason::kind`]) and, for an error with a position, `offset` and `len` in bytes. For an error in
    /// the text of a field of a form, `field` is the name of the field, and `field_offset` the [position in its
    /// content](FormField::offset). For an error in a protobuf message, `field` is its path by the names of the schema. The
    /// document contains nothing of the message except the name of a header field or
    /// form field. The name of a form field is left out if it is ill-formed, and truncated if it is long.
    ///
    /// ```
    /// use utf8_codec_http::{MessageKind, Reason, Rejection};
    ///
    /// let rejection = Rejection::new(MessageKind::Request, Reason::ContentCoding);
    /// assert!(rejection.problem_json().starts_with(r#"{"type":"about:blank","title":"Unsupported Media Type""#));
    /// ```
    pub fn problem_json(&self) -> String {
        let status = self.status();
        let mut json = format!(
            r#"{{"type":"about:blank","title":"{}","status":{},"detail":"{}","kind":"{}""#,
            status.canonical_reason().unwrap_or_default(),
            status.as_u16(),
            self.reason,
            self.reason.kind(),
        );
        if let Some((offset, len)) = self.reason.offset_and_len() {
            // Writing to a `String` does not fail.
            let _ = write!(json, r#","offset":{offset},"len":{len}"#);
        }
        if let Reason::Field(field, _) = &self.reason {
            if let Some(name) = &field.name {
                let _ = write!(json, r#","field":"{}""#, Escaped(name));
            }
            let _ = write!(json, r#","field_offset":{}"#, field.offset);
        }
        if let Reason::Protobuf(error) = &self.reason {
            let _ = write!(json, r#","field":"{}""#, error.names());
        }
        json.push('}');
        json
    }
}

/// Displays a text as the content of a JSON string. Characters that a terminal, a page or a log may interpret are escaped.
struct Escaped<'t>(&'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            let is_safe =
                matches!(character, ' '..='~') && !matches!(character, '"' | '\\' | '<' | '>' | '&');
            if is_safe || character.is_alphanumeric() {
                f.write_char(character)?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(f, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}
