//! Why a message is rejected.

use core::error::Error;
use core::fmt;

use http::HeaderName;
use utf8_codec::Utf8Error;
use utf8_codec::internal::chain;
use utf8_codec_encodings::TranscodeError;
use utf8_codec_media::content_type::ContentTypeError;

use super::error::{FormField, MultipartError};
use crate::protobuf::ProtobufError;

/// Why a message is rejected, for its header fields or for its body.
///
/// It is the error in the content of a checked body, which returns it as a [`BoxError`](crate::BoxError), because an error of
/// the inner body is returned as it is. [`find`](Self::find) returns it from there, even if a framework wraps the error in
/// others.
///
/// `Display` is short and shows no byte of the message, because frameworks write it into responses: the extractors of axum
/// respond with `400` and this text. `Debug` shows none either. The name of a header or trailer field is the only exception.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RejectReason {
    /// The body is not well-formed UTF-8, or has a character outside an adopted subset. The offset counts from the start of
    /// the body.
    Body(Utf8Error),
    /// The body is not well-formed in the declared charset, from which it is transcoded. The offset counts from the start of
    /// the body.
    Transcode(TranscodeError),
    /// The text of a field of a form is not well-formed. The offset counts from the start of the body.
    Field(FormField, Utf8Error),
    /// The `multipart/form-data` cannot be parsed.
    Multipart(MultipartError),
    /// A string of a protobuf message is not well-formed, or the message cannot be parsed. The offset counts from the start
    /// of the body.
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
    /// A body that must not be changed (`Cache-Control: no-transform`), under rules that would change every body of its type:
    /// they require a BOM and remove it.
    NoTransform,
    /// A body of gRPC, gRPC-Web or a Connect stream, which cannot be checked, if such bodies are rejected.
    LengthPrefixed,
    /// A body that is held until its end is longer than the limit.
    TooLong {
        /// The limit, in bytes.
        limit: usize,
    },
}

impl RejectReason {
    /// Returns the offset, the kind and the length if the reason is ill-formed text, in UTF-8 or another charset. The
    /// offset counts from the start of the body, or of what the variant names.
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
            Self::NoTransform => "NoTransform",
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

    /// Finds the reason in a chain of errors, for example in those that a framework wraps around the error of a checked
    /// body. Returns `None` if the body failed for another reason.
    ///
    /// ```
    /// use utf8_codec::{ErrorKind, Utf8Error};
    /// use utf8_codec_http::RejectReason;
    ///
    /// let reason = RejectReason::Body(Utf8Error::new(7, ErrorKind::Surrogate, 1));
    /// let wrapped = std::io::Error::other(reason);
    /// let found = RejectReason::find(&wrapped).and_then(RejectReason::utf8_error);
    /// assert_eq!(found.map(|error| error.offset), Some(7));
    /// ```
    pub fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        chain(error).find_map(|error| error.downcast_ref::<Self>())
    }
}

impl fmt::Display for RejectReason {
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
            Self::NoTransform => f.write_str("the body must not be changed"),
            Self::LengthPrefixed => f.write_str("messages with a length prefix are not accepted"),
            Self::TooLong { limit } => write!(f, "the body is longer than {limit} bytes"),
        }
    }
}

impl Error for RejectReason {}

/// Creates an error of kind [`InvalidData`](std::io::ErrorKind::InvalidData) that wraps the error.
impl From<RejectReason> for std::io::Error {
    fn from(error: RejectReason) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

impl From<Utf8Error> for RejectReason {
    fn from(error: Utf8Error) -> Self {
        Self::Body(error)
    }
}

impl From<TranscodeError> for RejectReason {
    fn from(error: TranscodeError) -> Self {
        Self::Transcode(error)
    }
}

impl From<ProtobufError> for RejectReason {
    fn from(error: ProtobufError) -> Self {
        Self::Protobuf(error)
    }
}

impl From<MultipartError> for RejectReason {
    fn from(error: MultipartError) -> Self {
        Self::Multipart(error)
    }
}
