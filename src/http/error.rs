//! What ends a body.

use core::error::Error;
use core::fmt;

use http::HeaderName;

use super::multipart::MultipartError;
use crate::error::{ByteCount, Utf8Error, chain};

/// The error of any inner body or service.
pub type BoxError = Box<dyn Error + Send + Sync>;

/// The error of a body that is checked.
///
/// `Display` is short and shows no byte of the body, because frameworks put it into replies: axum's extractors
/// answer `400` with it. It is found again after the errors that wrap it with [`Utf8BodyError::find`].
#[derive(Debug)]
#[non_exhaustive]
pub enum Utf8BodyError {
    /// The text is not well-formed; the offset counts from the start of the body.
    IllFormed(Utf8Error),
    /// The bytes stand for nothing in the charset that the message declared.
    Undecodable(Undecodable),
    /// The `multipart/form-data` cannot be taken apart.
    Multipart(MultipartError),
    /// The value of a trailer field is not well-formed.
    Trailer {
        /// The name of the field.
        name: HeaderName,
        /// The error. Its offset counts from the start of the value.
        error: Utf8Error,
    },
    /// The inner body failed. An inner body that is checked too is not such a one: its error is handed on as it is.
    Inner(BoxError),
}

/// Bytes that stand for nothing in their charset, where that is not UTF-8.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Undecodable {
    /// Absolute position in the body, in bytes, of the first of them.
    pub offset: u64,
    /// Their number.
    pub len: u8,
    /// The charset, by its name in the WHATWG Encoding Standard.
    pub charset: &'static str,
}

impl Utf8BodyError {
    /// Where and why the text was ill-formed, if that is the error. The offset counts from the start of the body, or of
    /// the value of a [trailer field](Self::Trailer).
    pub fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::IllFormed(error) | Self::Trailer { error, .. } => Some(*error),
            _ => None,
        }
    }

    /// The error of an inner body.
    pub(crate) fn inner(error: impl Into<BoxError>) -> Self {
        match error.into().downcast::<Self>() {
            Ok(checked) => *checked,
            Err(other) => Self::Inner(other),
        }
    }

    /// The error of a checked body after whatever a framework wrapped around it.
    ///
    /// ```
    /// use utf8_codec::{ErrorKind, Utf8Error};
    /// use utf8_codec::http::Utf8BodyError;
    ///
    /// let error = Utf8BodyError::IllFormed(Utf8Error::new(7, ErrorKind::Surrogate, 1));
    /// let wrapped = std::io::Error::other(error);
    /// let found = Utf8BodyError::find(&wrapped).and_then(Utf8BodyError::utf8_error);
    /// assert_eq!(found.map(|error| error.offset), Some(7));
    /// ```
    pub fn find<'e>(error: &'e (dyn Error + 'static)) -> Option<&'e Self> {
        let mut found = chain(error).filter_map(|error| error.downcast_ref::<Self>());
        let first = found.next()?;
        // The error of an inner body may have that of another checked body below it.
        Some(if matches!(first, Self::Inner(_)) { found.last().unwrap_or(first) } else { first })
    }
}

impl fmt::Display for Utf8BodyError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed(error) => error.fmt(f),
            Self::Undecodable(error) => error.fmt(f),
            Self::Multipart(error) => error.fmt(f),
            Self::Trailer { name, error } => write!(f, "trailer {name}: {error}"),
            Self::Inner(_) => f.write_str("the body failed"),
        }
    }
}

impl Error for Utf8BodyError {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::IllFormed(error) | Self::Trailer { error, .. } => Some(error),
            Self::Undecodable(error) => Some(error),
            Self::Multipart(error) => Some(error),
            Self::Inner(error) => Some(error.as_ref()),
        }
    }
}

/// Kind [`InvalidData`](std::io::ErrorKind::InvalidData), with the error inside, or the `io::Error` of an inner body
/// itself.
impl From<Utf8BodyError> for std::io::Error {
    fn from(error: Utf8BodyError) -> Self {
        match error {
            Utf8BodyError::Inner(inner) => match inner.downcast::<Self>() {
                Ok(inner) => *inner,
                Err(inner) => Self::other(Utf8BodyError::Inner(inner)),
            },
            error => Self::new(std::io::ErrorKind::InvalidData, error),
        }
    }
}

impl From<Utf8Error> for Utf8BodyError {
    fn from(error: Utf8Error) -> Self {
        Self::IllFormed(error)
    }
}

impl From<MultipartError> for Utf8BodyError {
    fn from(error: MultipartError) -> Self {
        Self::Multipart(error)
    }
}

impl fmt::Display for Undecodable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "undecodable {} at byte {} ({})", self.charset, self.offset, ByteCount(self.len.into()))
    }
}

impl Error for Undecodable {}
