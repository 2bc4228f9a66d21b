//! The error of the parser.

use core::fmt;

/// The error for a header value that is not a media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ContentTypeError {
    /// The position in the value, in bytes, of the first byte that the grammar does not allow, or the length of the
    /// value if it ends too early.
    pub position: usize,
}

impl fmt::Display for ContentTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed media type at byte {}", self.position)
    }
}

impl core::error::Error for ContentTypeError {}
