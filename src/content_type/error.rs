//! The error of the parser.

use core::fmt;

/// The value of a header field is not a media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ContentTypeError {
    /// Position in the value, in bytes, of the first byte that the grammar does not allow; the length of the value if it
    /// ends too early.
    pub offset: usize,
}

impl fmt::Display for ContentTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed media type at byte {}", self.offset)
    }
}

impl core::error::Error for ContentTypeError {}
