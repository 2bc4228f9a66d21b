//! Repair of many strings in one buffer.

use alloc::borrow::Cow;
use alloc::string::String;
use alloc::vec::Vec;
use core::error::Error;
use core::fmt;

use super::{STRINGS, ValidateManyError, groups, index, valid_text};
use crate::error::Utf8Error;
use crate::policy::ErrorPolicy;
use crate::text::TextDecoder;

/// The error of [`repair_many`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum RepairManyError {
    /// The offsets are invalid, or a string is ill-formed under [`ErrorPolicy::Strict`].
    Invalid(ValidateManyError),
    /// The end of a string after the repair does not fit in the type of the offsets.
    TooLong {
        /// The index of the string.
        index: usize,
    },
}

impl RepairManyError {
    /// Returns the error in the string, if one is ill-formed.
    #[inline]
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::Invalid(error) => error.utf8_error(),
            Self::TooLong { .. } => None,
        }
    }
}

impl fmt::Display for RepairManyError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Invalid(error) => error.fmt(f),
            Self::TooLong { index } => {
                write!(f, "string {index}: its end after the repair does not fit in an offset")
            }
        }
    }
}

impl Error for RepairManyError {}

impl From<ValidateManyError> for RepairManyError {
    #[inline]
    fn from(error: ValidateManyError) -> Self {
        Self::Invalid(error)
    }
}

/// The strings that [`repair_many`] returns: their bytes and their offsets.
pub type ManyStrings<'b, O> = (Cow<'b, [u8]>, Cow<'b, [O]>);

/// Repairs strings that are stored in one buffer, as for [`validate_many`](crate::many::validate_many): string `i` is
/// `bytes[offsets[i]..offsets[i + 1]]`. Use it for columns from sources that do not check text (Parquet, ORC, a shuffle of
/// Spark).
///
/// Returns the bytes and the offsets of the same number of strings. If every string is well-formed, both are borrowed.
/// Otherwise the offsets start at 0, and each string is the text that [`TextDecoder::decode_whole`] returns under the
/// policy. A string also ends a sequence, so a character that an offset splits is repaired in both strings. The strings
/// at positions without a value (nulls) are repaired, too.
///
/// # Errors
///
/// Returns the first pair of offsets that is not a range of the bytes, the first string whose end does not fit in the type
/// of the offsets after the repair, or the first ill-formed string under [`ErrorPolicy::Strict`].
///
/// # Limits
///
/// The text is at most [`ErrorPolicy::max_output_len`] bytes long.
///
/// ```
/// use std::borrow::Cow;
/// use utf8_codec::ErrorPolicy;
/// use utf8_codec::many::repair_many;
///
/// let (values, offsets) = repair_many(b"na\xEFvecaf\xC3\xA9\xED\xA0\x80", &[0_i32, 5, 10, 13], ErrorPolicy::ReplaceAsJava)?;
/// assert_eq!(&*values, "na\u{FFFD}vecafé\u{FFFD}".as_bytes());
/// assert_eq!(*offsets, [0, 7, 12, 15]);
///
/// let (values, _) = repair_many("café".as_bytes(), &[0_i64, 3, 5], ErrorPolicy::Replace)?;
/// assert!(matches!(values, Cow::Borrowed(_)));
/// # Ok::<(), utf8_codec::many::RepairManyError>(())
/// ```
pub fn repair_many<'b, O: Copy + TryFrom<usize> + TryInto<usize>>(
    bytes: &'b [u8],
    offsets: &'b [O],
    policy: ErrorPolicy,
) -> Result<ManyStrings<'b, O>, RepairManyError> {
    if groups(offsets, STRINGS).all(|(_, group)| valid_text(bytes, group).is_some()) {
        return Ok((Cow::Borrowed(bytes), Cow::Borrowed(offsets)));
    }
    let mut repaired = Repaired { values: String::new(), offsets: Vec::with_capacity(offsets.len()) };
    repaired.push_end(0, 0)?;
    repaired.values.reserve(bytes.len());
    let decoder = TextDecoder::new().with_error_policy(policy);
    // An ill-formed string is far from others in most columns, so only few strings beside it are checked again.
    for (start, group) in groups(offsets, FEW) {
        match valid_text(bytes, group) {
            Some(text) => repaired.push_group(start, text, group)?,
            None => repaired.push_repaired(start, bytes, group, &decoder)?,
        }
    }
    Ok((Cow::Owned(repaired.values.into_bytes()), Cow::Owned(repaired.offsets)))
}

/// The number of strings that are copied together if all are well-formed.
const FEW: usize = 8;

struct Repaired<O> {
    values: String,
    offsets: Vec<O>,
}

impl<O: Copy + TryFrom<usize> + TryInto<usize>> Repaired<O> {
    /// Ends a string.
    fn push_end(&mut self, index: usize, end: usize) -> Result<(), RepairManyError> {
        self.offsets.push(O::try_from(end).map_err(|_| RepairManyError::TooLong { index })?);
        Ok(())
    }

    /// Appends strings whose text is well-formed.
    fn push_group(&mut self, start: usize, text: &str, group: &[O]) -> Result<(), RepairManyError> {
        let before = self.values.len();
        self.values.push_str(text);
        let first = group.first().map_or(0, |&first| index(first));
        group
            .iter()
            .skip(1)
            .zip(start..)
            .try_for_each(|(&end, at)| self.push_end(at, before + (index(end) - first)))
    }

    /// Decodes strings one at a time and appends their text.
    fn push_repaired(
        &mut self,
        start: usize,
        bytes: &[u8],
        group: &[O],
        decoder: &TextDecoder,
    ) -> Result<(), RepairManyError> {
        for (at, pair) in (start..).zip(group.windows(2)) {
            let string = bytes.get(index(pair[0])..index(pair[1]));
            let string = string.ok_or(ValidateManyError::OutOfRange { index: at })?;
            if let Some(text) = kernels::text(string) {
                self.values.push_str(text);
                self.push_end(at, self.values.len())?;
                continue;
            }
            let mut decoder = decoder.clone();
            let end = decoder.feed_into(string, &mut self.values).map(|()| decoder.finish());
            let end = end.and_then(|end| {
                end.map_or(Ok(()), |piece| piece.text().map(|text| self.values.push_str(text)))
            });
            end.map_err(|error| ValidateManyError::IllFormed { index: at, error })?;
            self.push_end(at, self.values.len())?;
        }
        Ok(())
    }
}
