//! Why a message is refused, and what its sender is told.

use core::fmt::{self, Write as _};

use bytes::Bytes;
use http::header::{CONTENT_TYPE, HeaderName};
use http::{HeaderValue, Response, StatusCode};

use super::error::{Undecodable, Utf8BodyError};
use super::multipart::MultipartError;
use crate::content_type::ContentTypeError;
use crate::error::Utf8Error;

/// Which half of an exchange a layer checks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Message {
    /// The request: its sender is to blame, and gets a `4xx`.
    Request,
    /// The response: the service after the layer is to blame, and the client gets a `502`.
    Response,
}

/// A message that was refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Refusal {
    /// What was refused.
    pub message: Message,
    /// Why.
    pub reason: Reason,
    /// The `Content-Type` of the message as its sender wrote it: do not trust it.
    pub content_type: Option<HeaderValue>,
}

/// Why a message is refused.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Reason {
    /// The body is not well-formed. The offset counts from its start.
    Body(Utf8Error),
    /// The body stands for nothing in the charset that the message declares.
    Undecodable(Undecodable),
    /// The `multipart/form-data` cannot be taken apart.
    Multipart(MultipartError),
    /// The value of a header field is not well-formed. The offset counts from its start.
    Header(HeaderName, Utf8Error),
    /// The value of a trailer field is not well-formed. The offset counts from its start.
    Trailer(HeaderName, Utf8Error),
    /// The percent-decoded path is not well-formed. The offset counts decoded bytes.
    Path(Utf8Error),
    /// The percent-decoded query is not well-formed. The offset counts decoded bytes, from after the `?`.
    Query(Utf8Error),
    /// The `Content-Type` is not a media type.
    ContentType(ContentTypeError),
    /// A body without a `Content-Type`, where one is demanded.
    MissingContentType,
    /// Several `Content-Type` fields, or several `charset` parameters, that do not agree.
    ConflictingCharset,
    /// Text without a `charset`, where one is asked for.
    MissingCharset,
    /// Text in a charset that is not accepted.
    UnsupportedCharset,
    /// Text in a content coding, such as gzip, that cannot be checked.
    ContentCoding,
    /// A part of a text (`Content-Range`), which cannot be checked by itself.
    ContentRange,
    /// A body that is longer than what is held before the handler runs.
    TooLong {
        /// Bytes that are held at most.
        limit: usize,
    },
}

impl Reason {
    /// What is ill-formed, if that is the reason.
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::Body(error)
            | Self::Header(_, error)
            | Self::Trailer(_, error)
            | Self::Path(error)
            | Self::Query(error) => Some(*error),
            _ => None,
        }
    }

    /// One word for logs and replies: the name of an [`ErrorKind`](crate::ErrorKind), or of the reason.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Body(error)
            | Self::Header(_, error)
            | Self::Trailer(_, error)
            | Self::Path(error)
            | Self::Query(error) => error.kind.as_str(),
            Self::Undecodable(_) => "Undecodable",
            Self::Multipart(_) => "Multipart",
            Self::ContentType(_) => "ContentType",
            Self::MissingContentType => "MissingContentType",
            Self::ConflictingCharset => "ConflictingCharset",
            Self::MissingCharset => "MissingCharset",
            Self::UnsupportedCharset => "UnsupportedCharset",
            Self::ContentCoding => "ContentCoding",
            Self::ContentRange => "ContentRange",
            Self::TooLong { .. } => "TooLong",
        }
    }

    /// Where the fault starts and how many bytes it has, if it is at a place.
    pub const fn place(&self) -> Option<(u64, u64)> {
        match self {
            Self::Body(error)
            | Self::Header(_, error)
            | Self::Trailer(_, error)
            | Self::Path(error)
            | Self::Query(error) => Some((error.offset, error.len as u64)),
            Self::Undecodable(error) => Some((error.offset, error.len as u64)),
            Self::Multipart(error) => error.offset_and_len(),
            Self::ContentType(error) => Some((error.offset as u64, 0)),
            _ => None,
        }
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Body(error) => error.fmt(f),
            Self::Undecodable(error) => error.fmt(f),
            Self::Multipart(error) => error.fmt(f),
            Self::Header(name, error) => write!(f, "field {name}: {error}"),
            Self::Trailer(name, error) => write!(f, "trailer {name}: {error}"),
            Self::Path(error) => write!(f, "path: {error}"),
            Self::Query(error) => write!(f, "query: {error}"),
            Self::ContentType(error) => error.fmt(f),
            Self::MissingContentType => f.write_str("the body has no Content-Type"),
            Self::ConflictingCharset => f.write_str("the charset is declared in several ways"),
            Self::MissingCharset => f.write_str("the charset is not declared"),
            Self::UnsupportedCharset => f.write_str("the charset is not UTF-8"),
            Self::ContentCoding => f.write_str("text in this content coding is not accepted"),
            Self::ContentRange => f.write_str("a part of a text is not accepted"),
            Self::TooLong { limit } => write!(f, "the body is longer than {limit} bytes"),
        }
    }
}

impl Refusal {
    /// A refusal of a message of which no more is known.
    pub const fn new(message: Message, reason: Reason) -> Self {
        Self { message, reason, content_type: None }
    }

    /// The refusal after an error that a handler got from a checked request body, however it is wrapped; `None` if
    /// the body failed for another reason.
    ///
    /// For handlers that read the body themselves and want to answer as the layer does:
    /// `Refusal::from_error(&error).map(|refusal| refusal.to_response())`.
    pub fn from_error(error: &(dyn core::error::Error + 'static)) -> Option<Self> {
        let reason = Self::reason_of(Utf8BodyError::find(error)?)?;
        Some(Self::new(Message::Request, reason))
    }

    pub(crate) fn reason_of(error: &Utf8BodyError) -> Option<Reason> {
        match error {
            Utf8BodyError::IllFormed(error) => Some(Reason::Body(*error)),
            Utf8BodyError::Undecodable(error) => Some(Reason::Undecodable(*error)),
            Utf8BodyError::Multipart(error) => Some(Reason::Multipart(*error)),
            Utf8BodyError::Trailer { name, error } => Some(Reason::Trailer(name.clone(), *error)),
            Utf8BodyError::Inner(_) => None,
        }
    }

    /// The status that fits: `400`, `413` or `415` for a request, `502` for a response.
    pub const fn status(&self) -> StatusCode {
        match (self.message, &self.reason) {
            (Message::Response, _) => StatusCode::BAD_GATEWAY,
            (_, Reason::TooLong { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
            (
                _,
                Reason::MissingContentType
                | Reason::MissingCharset
                | Reason::UnsupportedCharset
                | Reason::ContentCoding
                | Reason::Multipart(MultipartError::Charset { .. }),
            ) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// The problem document (RFC 9457), `application/problem+json`.
    ///
    /// Its members are `type` (`about:blank`), `title` (what the status means), `status`, `detail` (a sentence),
    /// `kind` ([`Reason::kind`]) and, where the fault is at a place, `offset` and `len` in bytes. No byte of the
    /// message is in it, but for the name of a header field.
    pub fn to_response(&self) -> Response<Bytes> {
        let status = self.status();
        let mut json = format!(
            r#"{{"type":"about:blank","title":"{}","status":{},"detail":"{}","kind":"{}""#,
            status.canonical_reason().unwrap_or_default(),
            status.as_u16(),
            self.reason,
            self.reason.kind(),
        );
        if let Some((offset, len)) = self.reason.place() {
            // Writing to a `String` does not fail.
            let _ = write!(json, r#","offset":{offset},"len":{len}"#);
        }
        json.push('}');
        let mut response = Response::new(Bytes::from(json));
        *response.status_mut() = status;
        response.headers_mut().insert(CONTENT_TYPE, HeaderValue::from_static("application/problem+json"));
        response
    }
}
