//! Many strings in one buffer, as in the columns of Arrow and Parquet: bytes, and the offset of each string.

#[cfg(feature = "alloc")]
mod repair;

use core::error::Error;
use core::fmt;

use crate::decoder::from_utf8;
use crate::error::Utf8Error;
#[cfg(feature = "alloc")]
pub use repair::{ManyStrings, RepairManyError, repair_many};

/// The number of strings that are validated by one kernel call. With a larger number the call costs less for each
/// string. With a smaller number an error is found earlier, and the bytes are still in the L1 cache when the offsets
/// are tested.
pub(crate) const STRINGS: usize = 128;

/// The error of [`validate_many`]: the first invalid string.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ValidateManyError {
    /// A string is ill-formed.
    IllFormed {
        /// The string is `bytes[offsets[index]..offsets[index + 1]]`.
        index: usize,
        /// The first error of the string. Its offset counts from the start of the string.
        error: Utf8Error,
    },
    /// `offsets[index]..offsets[index + 1]` is not a range of the bytes: an offset is negative, after the end, or
    /// greater than the next one.
    OutOfRange {
        /// The index of the string.
        index: usize,
    },
}

impl ValidateManyError {
    /// Returns the index of the string.
    #[inline]
    pub const fn index(&self) -> usize {
        match *self {
            Self::IllFormed { index, .. } | Self::OutOfRange { index } => index,
        }
    }

    /// Returns the error in the string. Returns `None` if the offsets are invalid.
    #[inline]
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::IllFormed { error, .. } => Some(*error),
            Self::OutOfRange { .. } => None,
        }
    }
}

impl fmt::Display for ValidateManyError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed { index, error } => write!(f, "string {index}: {error}"),
            Self::OutOfRange { index } => {
                write!(f, "string {index}: its offsets are not a range of the bytes")
            }
        }
    }
}

impl Error for ValidateManyError {}

/// Validates strings that are stored in one buffer. String `i` is `bytes[offsets[i]..offsets[i + 1]]`, as in the `Utf8`
/// and `LargeUtf8` arrays of Arrow and in dictionaries of column formats. `n + 1` offsets define `n` strings; 0 or 1
/// offsets define none.
///
/// The offsets can be `i32`, `i64`, `u32`, `u64` or `usize`. The bytes before the first offset and after the last one
/// are not read. The result is the same as from a call of [`from_utf8`] for each string in order. The strings are validated
/// together, which is faster for short strings. Nothing is allocated.
///
/// # Errors
///
/// Returns the first ill-formed string, or the first pair of offsets that is not a range of the bytes. A string is also
/// ill-formed if an offset splits a character.
///
/// ```
/// use utf8_codec::{ErrorKind, Utf8Error};
/// use utf8_codec::many::{ValidateManyError, validate_many};
///
/// let bytes = "naïvecafé".as_bytes();
/// assert_eq!(validate_many(bytes, &[0_i32, 6, 11]), Ok(()));
///
/// // The offset 3 splits the ï.
/// let error = Utf8Error::new(2, ErrorKind::Truncated, 1);
/// assert_eq!(validate_many(bytes, &[0_u32, 3, 11]), Err(ValidateManyError::IllFormed { index: 0, error }));
/// assert_eq!(validate_many(bytes, &[0_u64, 6, 12]), Err(ValidateManyError::OutOfRange { index: 1 }));
/// ```
pub fn validate_many<O: Copy + TryInto<usize>>(bytes: &[u8], offsets: &[O]) -> Result<(), ValidateManyError> {
    for (start, group) in groups(offsets, STRINGS) {
        if valid_text(bytes, group).is_none() {
            first_error(bytes, group, start)?;
        }
    }
    Ok(())
}

/// Returns the offsets of groups of at most `size` strings, each with the index of its first string.
pub(crate) fn groups<O>(offsets: &[O], size: usize) -> impl Iterator<Item = (usize, &[O])> {
    let starts = (0..offsets.len().saturating_sub(1)).step_by(size);
    starts.map(move |start| (start, &offsets[start..offsets.len().min(start + size + 1)]))
}

/// Converts an offset to an index. A negative or too large offset becomes `usize::MAX`, which is never a valid index.
pub(crate) fn index<O: TryInto<usize>>(offset: O) -> usize {
    offset.try_into().unwrap_or(usize::MAX)
}

/// Returns the text of all strings together if they are valid: the text is well-formed, each offset is at a character
/// boundary, and no offset is less than the one before it.
pub(crate) fn valid_text<'b, O: Copy + TryInto<usize>>(bytes: &'b [u8], offsets: &[O]) -> Option<&'b str> {
    let [first, .., last] = *offsets else { return Some("") };
    let first = index(first);
    let text = bytes.get(first..index(last)).and_then(kernels::text)?;
    if text.is_ascii() {
        // Every offset is at a character boundary. This loop is compiled to vector instructions.
        let are_ordered = offsets
            .windows(2)
            .fold(true, |are_ordered, pair| are_ordered & (index(pair[0]) <= index(pair[1])));
        return are_ordered.then_some(text);
    }
    let mut before = 0;
    let mut are_valid = true;
    for &offset in offsets {
        // An offset less than the first one wraps to an index after the end. It is taken for a boundary here, but the
        // last index is the end, so a later offset is out of order. Both conditions are computed without a branch.
        let at = index(offset).wrapping_sub(first);
        let is_boundary = text.as_bytes().get(at).is_none_or(|byte| byte & 0xC0 != 0x80);
        are_valid &= (before <= at) & is_boundary;
        before = at;
    }
    are_valid.then_some(text)
}

/// Validates one string at a time and returns the first error. `start` is the index of the first string.
fn first_error<O: Copy + TryInto<usize>>(
    bytes: &[u8],
    offsets: &[O],
    start: usize,
) -> Result<(), ValidateManyError> {
    for (at, pair) in offsets.windows(2).enumerate() {
        let index_of_string = start + at;
        let string = bytes
            .get(index(pair[0])..index(pair[1]))
            .ok_or(ValidateManyError::OutOfRange { index: index_of_string })?;
        from_utf8(string).map_err(|error| ValidateManyError::IllFormed { index: index_of_string, error })?;
    }
    Ok(())
}
