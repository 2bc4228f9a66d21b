//! A search for a `Utf8Error` in a chain of errors.

#[cfg(feature = "codec")]
use crate::codec::framing::FramingError;
#[cfg(feature = "codec")]
use crate::codec::{CodecError, Utf8FramesError};
use crate::error::Utf8Error;
use crate::many::{RepairManyError, ValidateManyError};
use crate::text::DecodeError;

impl Utf8Error {
    /// Finds a `Utf8Error` in a chain of errors: the error itself, the error inside an [`io::Error`](std::io::Error) or
    /// inside an error of this crate, or a [`source`](core::error::Error::source). Returns `None` if there is none.
    /// Errors of the crates for HTTP, mail and proxies have a method `utf8_error`.
    ///
    /// ```
    /// use std::io;
    /// use utf8_codec::{ErrorKind, Utf8Error, from_utf8};
    ///
    /// fn read(bytes: &[u8]) -> io::Result<&str> {
    ///     Ok(from_utf8(bytes)?)
    /// }
    ///
    /// let error = read(b"caf\xE9").unwrap_err();
    /// assert_eq!(error.kind(), io::ErrorKind::InvalidData);
    /// assert_eq!(Utf8Error::find(&error), Some(Utf8Error::new(3, ErrorKind::Truncated, 1)));
    /// ```
    #[inline]
    pub fn find(error: &(dyn core::error::Error + 'static)) -> Option<Self> {
        chain(error).find_map(Self::inside)
    }

    /// Returns the error if `error` is a `Utf8Error`, or an error of this crate whose message contains one. The latter do not
    /// return it as their source, so that no chain displays it twice.
    fn inside(error: &(dyn core::error::Error + 'static)) -> Option<Self> {
        let at_most_one = [
            error.downcast_ref::<Self>().copied(),
            error.downcast_ref::<DecodeError>().and_then(DecodeError::utf8_error),
            error.downcast_ref::<ValidateManyError>().and_then(ValidateManyError::utf8_error),
            error.downcast_ref::<RepairManyError>().and_then(RepairManyError::utf8_error),
            #[cfg(feature = "codec")]
            error.downcast_ref::<CodecError>().and_then(CodecError::utf8_error),
            #[cfg(feature = "codec")]
            error.downcast_ref::<Utf8FramesError>().and_then(Utf8FramesError::utf8_error),
            #[cfg(feature = "codec")]
            error.downcast_ref::<Utf8FramesError<FramingError>>().and_then(Utf8FramesError::utf8_error),
        ];
        at_most_one.into_iter().flatten().next()
    }
}

/// Iterates over an error and its sources. The `source` of an `io::Error` skips the error that it wraps, so the wrapped
/// error is read with `get_ref`.
#[inline]
pub fn chain<'e>(
    error: &'e (dyn core::error::Error + 'static),
) -> impl Iterator<Item = &'e (dyn core::error::Error + 'static)> {
    core::iter::successors(Some(error), |error| {
        match error.downcast_ref::<std::io::Error>().and_then(std::io::Error::get_ref) {
            Some(inner) => Some(inner),
            None => error.source(),
        }
    })
}
