//! The errors of a body.

use core::error::Error;
use core::fmt;
#[cfg(feature = "body")]
use core::pin::pin;
#[cfg(feature = "body")]
use core::task::{Context, Poll, Waker};

use http::HeaderName;
#[cfg(feature = "body")]
use http_body::Body;
#[cfg(feature = "body")]
use http_body_util::{Full, LengthLimitError, Limited};
use utf8_codec::Utf8Error;
use utf8_codec::internal::chain;
use utf8_codec_encodings::TranscodeError;

use crate::protobuf::ProtobufError;

/// The error of an inner body or service.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error in the content of a checked body.
///
/// A body returns it as a [`BoxError`], because an error of the inner body is returned as it is. [`find`](Self::find)
/// returns it from there, also if a framework wraps the error in others.
///
/// `Display` is short and shows no byte of the body, because frameworks write it into responses: the extractors of axum
/// respond with `400` and this text. `Debug` shows none either. The name of a trailer field is the only exception.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Utf8BodyError {
    /// The text is not well-formed, or has a character outside an adopted subset. The offset counts from the start of the
    /// body.
    IllFormed(Utf8Error),
    /// The text is not well-formed in the charset from which it is transcoded. The offset counts from the start of the body.
    Transcode(TranscodeError),
    /// The `multipart/form-data` cannot be parsed.
    Multipart(MultipartError),
    /// A document declares an encoding that is not accepted: in the XML declaration, a `meta` element of HTML, `@charset`
    /// of CSS, or a BOM of UTF-16.
    UnsupportedCharset {
        /// The absolute position in the body, in bytes, of the declaration.
        offset: u64,
    },
    /// The text of a field of a form is not well-formed.
    Field {
        /// The field.
        field: FormField,
        /// The error. Its offset counts from the start of the body.
        error: Utf8Error,
    },
    /// A string of a protobuf message is not well-formed, or the message cannot be parsed. The offset counts from the start
    /// of the body.
    Protobuf(ProtobufError),
    /// The value of a trailer field is not well-formed.
    Trailer {
        /// The name of the field.
        name: HeaderName,
        /// The error. Its offset counts from the start of the value.
        error: Utf8Error,
    },
}

/// The field of a form in which an error is. `Debug` shows the length of its name, not the name.
#[derive(Clone, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct FormField {
    /// The name of the field, at most its first 64 bytes. It is untrusted input. `None` if the field has no name, or the
    /// error is in the name.
    pub name: Option<Box<str>>,
    /// The position in the content of the field, in bytes as they were sent. For an error in the name of a urlencoded
    /// field it is the position in the name.
    pub offset: u64,
}

/// Why a `multipart/form-data` cannot be parsed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum MultipartError {
    /// The `boundary` parameter is missing, conflicts with another one, or is not allowed by the grammar of RFC 2046
    /// §5.1.1.
    Boundary,
    /// Bytes that are not allowed after a delimiter or in the header fields of a part, or that readers parse
    /// differently: `--boundary` that is not in a delimiter, also if a repair would make it, a part without header fields,
    /// header fields before or after the parts, a part that is not checked after a text field without a body, and a text
    /// field with a `Content-Transfer-Encoding` such as `base64`, which some readers decode.
    Malformed {
        /// The absolute position in the body, in bytes.
        offset: u64,
    },
    /// The header fields of a part are longer than 16 KiB.
    HeadersTooLong {
        /// The absolute position in the body, in bytes, of the first field.
        offset: u64,
    },
    /// A part is text in a charset that is not accepted, or its `charset` parameters conflict.
    Charset {
        /// The absolute position in the body, in bytes, of the content of the part.
        offset: u64,
    },
    /// The body ends before its closing delimiter.
    Unterminated {
        /// The length of the body, in bytes.
        offset: u64,
    },
}

/// The maximum number of bytes of the header fields of one part.
pub(crate) const HEADER_LIMIT: usize = 16 * 1024;

impl Utf8BodyError {
    /// Returns the error of ill-formed text, if this is one. Its offset counts from the start of the body, or from the
    /// start of the value of a [trailer field](Self::Trailer).
    pub fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::IllFormed(error) | Self::Field { error, .. } | Self::Trailer { error, .. } => Some(*error),
            Self::Transcode(error) => Some(error.utf8_error()),
            Self::Protobuf(error) => error.utf8_error(),
            _ => None,
        }
    }

    /// Finds the error of a checked body in a chain of errors, for example in the errors that a framework wraps around
    /// it.
    ///
    /// ```
    /// use utf8_codec::{ErrorKind, Utf8Error};
    /// use utf8_codec_http::Utf8BodyError;
    ///
    /// let error = Utf8BodyError::IllFormed(Utf8Error::new(7, ErrorKind::Surrogate, 1));
    /// let wrapped = std::io::Error::other(error);
    /// let found = Utf8BodyError::find(&wrapped).and_then(Utf8BodyError::utf8_error);
    /// assert_eq!(found.map(|error| error.offset), Some(7));
    /// ```
    pub fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        chain(error).find_map(|error| error.downcast_ref::<Self>())
    }
}

/// Returns the error of an inner body: unchanged, or the [`LengthLimitError`] that it contains.
///
/// The extractors of axum respond with `413` if this error is below at most two errors of axum, but each layer of a router
/// adds one.
#[cfg(feature = "body")]
pub(crate) fn of_inner(error: impl Into<BoxError>) -> BoxError {
    let error = error.into();
    let is_limit = chain(&*error).any(|error| error.is::<LengthLimitError>());
    if is_limit { length_limit_error().unwrap_or(error) } else { error }
}

/// Creates a [`LengthLimitError`], which has no constructor.
#[cfg(feature = "body")]
fn length_limit_error() -> Option<BoxError> {
    let body = pin!(Limited::new(Full::new(&b"-"[..]), 0));
    match body.poll_frame(&mut Context::from_waker(Waker::noop())) {
        Poll::Ready(Some(Err(error))) => Some(error),
        _ => None,
    }
}

impl fmt::Debug for FormField {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name_len = self.name.as_deref().map(str::len);
        f.debug_struct("FormField").field("name_len", &name_len).field("offset", &self.offset).finish()
    }
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

impl fmt::Display for Utf8BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed(error) | Self::Field { error, .. } => error.fmt(f),
            Self::Transcode(error) => error.fmt(f),
            Self::Multipart(error) => error.fmt(f),
            Self::Protobuf(error) => error.fmt(f),
            Self::UnsupportedCharset { offset } => {
                write!(f, "the encoding that the body declares at byte {offset} is not UTF-8")
            }
            Self::Trailer { name, error } => write!(f, "trailer {name}: {error}"),
        }
    }
}

impl Error for Utf8BodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::IllFormed(error) | Self::Field { error, .. } | Self::Trailer { error, .. } => Some(error),
            Self::Transcode(error) => Some(error),
            Self::Multipart(error) => Some(error),
            Self::Protobuf(error) => Some(error),
            Self::UnsupportedCharset { .. } => None,
        }
    }
}

/// Creates an error of kind [`InvalidData`](std::io::ErrorKind::InvalidData) that wraps the error.
impl From<Utf8BodyError> for std::io::Error {
    fn from(error: Utf8BodyError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

impl From<Utf8Error> for Utf8BodyError {
    fn from(error: Utf8Error) -> Self {
        Self::IllFormed(error)
    }
}

impl From<TranscodeError> for Utf8BodyError {
    fn from(error: TranscodeError) -> Self {
        Self::Transcode(error)
    }
}

impl From<ProtobufError> for Utf8BodyError {
    fn from(error: ProtobufError) -> Self {
        Self::Protobuf(error)
    }
}

impl From<MultipartError> for Utf8BodyError {
    fn from(error: MultipartError) -> Self {
        Self::Multipart(error)
    }
}

impl fmt::Display for MultipartError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Boundary => f.write_str("missing or invalid multipart boundary"),
            Self::Malformed { offset } => write!(f, "malformed multipart at byte {offset}"),
            Self::HeadersTooLong { offset } => {
                write!(f, "multipart headers at byte {offset} are longer than {HEADER_LIMIT} bytes")
            }
            Self::Charset { offset } => write!(f, "multipart field at byte {offset} is not in UTF-8"),
            Self::Unterminated { offset } => {
                write!(f, "multipart ends at byte {offset} without its closing delimiter")
            }
        }
    }
}

impl Error for MultipartError {}
