//! The error of a stream.

use core::error::Error;
use core::fmt;
use std::io;

use crate::error::Utf8Error;

/// An error of a [`Utf8Stream`](super::Utf8Stream), or of another stream of text: `T` is the error in the text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Utf8StreamError<E, T = Utf8Error> {
    /// The text is ill-formed, or a line or an event of it is too long.
    Text(T),
    /// The inner stream failed.
    Inner(E),
}

impl<E> Utf8StreamError<E> {
    /// Returns the error in the text, for [`Text`](Self::Text).
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::Text(error) => Some(*error),
            Self::Inner(_) => None,
        }
    }
}

#[cfg(feature = "codec")]
impl<E> Utf8StreamError<E, crate::codec::CodecError> {
    /// Returns the error in the text, if the line or the event is ill-formed.
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::Text(error) => error.utf8_error(),
            Self::Inner(_) => None,
        }
    }
}

impl<E: fmt::Display, T: fmt::Display> fmt::Display for Utf8StreamError<E, T> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Text(error) => error.fmt(f),
            Self::Inner(error) => error.fmt(f),
        }
    }
}

impl<E: Error + 'static, T: Error + 'static> Error for Utf8StreamError<E, T> {
    fn source(&self) -> Option<&(dyn Error + 'static)> {
        match self {
            Self::Text(error) => error.source(),
            Self::Inner(error) => error.source(),
        }
    }
}

/// Converts ill-formed text into an error of kind [`InvalidData`](io::ErrorKind::InvalidData) that wraps the
/// [`Utf8Error`]. An `io::Error` of the inner stream is returned unchanged. Any other error is wrapped by
/// [`io::Error::other`].
impl<E: Into<Box<dyn Error + Send + Sync>>, T: Into<Self>> From<Utf8StreamError<E, T>> for io::Error {
    fn from(error: Utf8StreamError<E, T>) -> Self {
        match error {
            Utf8StreamError::Text(error) => error.into(),
            Utf8StreamError::Inner(error) => match error.into().downcast::<Self>() {
                Ok(error) => *error,
                Err(error) => Self::other(error),
            },
        }
    }
}

impl<E> From<Utf8Error> for Utf8StreamError<E> {
    fn from(error: Utf8Error) -> Self {
        Self::Text(error)
    }
}
