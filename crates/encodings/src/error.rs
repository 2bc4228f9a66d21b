//! The error of a conversion.

use core::fmt;

use utf8_codec::internal::{ByteCount, in_encoding};
use utf8_codec::{ErrorKind, Utf8Error};

use crate::encoding::Encoding;

/// A sequence that a conversion cannot read, or a character that its target does not have.
///
/// The error contains no bytes of the input. `Display` names the encodings.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct TranscodeError {
    /// The offset in the input of the first byte of the sequence.
    pub offset: u64,
    /// Why the sequence is an error.
    pub kind: ErrorKind,
    /// The number of bytes of the sequence in the input, up to 8. It is 0 for [`ErrorKind::MissingBom`].
    pub len: u8,
    /// The encoding of the input.
    pub source_encoding: Encoding,
    /// The encoding of the output.
    pub target_encoding: Encoding,
}

impl TranscodeError {
    /// Adds the encodings of a conversion to an error.
    pub const fn new(error: Utf8Error, source_encoding: Encoding, target_encoding: Encoding) -> Self {
        Self { offset: error.offset, kind: error.kind, len: error.len, source_encoding, target_encoding }
    }

    /// Returns the offset, the kind and the length. `Display` of the result does not name the encoding.
    pub const fn utf8_error(&self) -> Utf8Error {
        match self.source_encoding {
            Encoding::Utf8 => Utf8Error::new(self.offset, self.kind, self.len),
            _ => in_encoding(self.offset, self.kind, self.len),
        }
    }

    /// Finds a `TranscodeError` in a chain of errors: the error itself, the error inside an
    /// [`io::Error`](std::io::Error), or a [`source`](core::error::Error::source).
    #[cfg(feature = "std")]
    pub fn find(error: &(dyn core::error::Error + 'static)) -> Option<Self> {
        utf8_codec::internal::chain(error).find_map(|error| error.downcast_ref::<Self>().copied())
    }
}

impl fmt::Display for TranscodeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { offset, kind, .. } = *self;
        let source = self.source_encoding.title();
        let target = self.target_encoding.title();
        let len = ByteCount(self.len.into());
        match kind {
            // The error of `Output` for `String`. It is not about a character.
            ErrorKind::Unmappable if self.len == 0 => {
                return write!(f, "{target} cannot be written to a String, only to a Vec<u8>");
            }
            ErrorKind::Unmappable => write!(f, "character not in {target}")?,
            ErrorKind::OutsideSubset => write!(f, "character outside the subset")?,
            ErrorKind::MissingBom => write!(f, "no BOM")?,
            ErrorKind::UnexpectedBom => write!(f, "BOM")?,
            _ => return write!(f, "ill-formed {source} at byte {offset} ({kind}, {len})"),
        }
        write!(f, " at byte {offset} ({kind}, {len} of {source})")
    }
}

impl core::error::Error for TranscodeError {}

/// Creates an error of kind [`InvalidData`](std::io::ErrorKind::InvalidData) that wraps the `TranscodeError`.
/// [`TranscodeError::find`] returns it.
#[cfg(feature = "std")]
impl From<TranscodeError> for std::io::Error {
    fn from(error: TranscodeError) -> Self {
        Self::new(std::io::ErrorKind::InvalidData, error)
    }
}

#[cfg(feature = "codec")]
impl utf8_codec::internal::ErrorOffset for TranscodeError {
    fn offset(&self) -> u64 {
        self.offset
    }
}
