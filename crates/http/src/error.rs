//! The parts of errors in a form, and the errors of an inner body.

use core::error::Error;
use core::fmt;
#[cfg(feature = "body")]
use core::pin::pin;
#[cfg(feature = "body")]
use core::task::{Context, Poll, Waker};

#[cfg(feature = "body")]
use http_body::Body;
#[cfg(feature = "body")]
use http_body_util::{Full, LengthLimitError, Limited};
#[cfg(feature = "body")]
use utf8_codec::internal::chain;

/// The error of an inner body or service.
pub type BoxError = Box<dyn Error + Send + Sync>;

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
    /// differently: `--boundary` that is not in a delimiter, even if only a repair would create it, a part without
    /// header fields, header fields before or after the parts, a part that is not checked after a text field without a
    /// body, and a text field with a `Content-Transfer-Encoding` such as `base64`, which some readers decode.
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

/// Returns the error of an inner body: unchanged, or the [`LengthLimitError`] that it contains.
///
/// The extractors of axum respond with `413` if this error is wrapped in at most two errors of axum, but each layer of a router
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
