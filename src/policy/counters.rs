//! Error counters.

use core::fmt;
use core::ops::AddAssign;

use crate::error::ErrorKind;

/// The number of errors in the input of a decoder, by kind, including repaired ones.
///
/// `+=` adds the counters of another decoder, for the total of several streams. `Debug` shows the kinds that occurred.
///
/// ```
/// use utf8_codec::{Counters, ErrorKind, ErrorPolicy, TextDecoder};
///
/// let mut total = Counters::default();
/// for stream in [&b"bl\xFFu"[..], b"gr\xC3"] {
///     let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
///     decoder.feed(stream).for_each(drop);
///     decoder.finish().map(drop);
///     total += decoder.counters();
/// }
/// assert_eq!((total.total(), total.of(ErrorKind::Truncated)), (2, 1));
/// assert_eq!(format!("{total:?}"), "{InvalidLead: 1, Truncated: 1}");
/// ```
#[derive(Clone, Copy, Default, PartialEq, Eq)]
pub struct Counters {
    by_kind: [u64; ErrorKind::ALL.len()],
}

impl Counters {
    #[doc(hidden)]
    pub const ZERO: Self = Self { by_kind: [0; ErrorKind::ALL.len()] };

    /// Returns the number of errors of one kind.
    #[inline]
    pub const fn of(&self, kind: ErrorKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Returns the number of errors of all kinds.
    #[inline]
    pub fn total(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// Creates counters with these numbers, in the order of [`ErrorKind::ALL`].
    #[doc(hidden)]
    #[inline]
    pub const fn of_kinds(by_kind: [u64; ErrorKind::ALL.len()]) -> Self {
        Self { by_kind }
    }

    /// Returns the number of errors that a policy repairs: all except BOM errors.
    #[doc(hidden)]
    #[inline]
    pub fn repairable(&self) -> u64 {
        self.total() - self.of(ErrorKind::MissingBom) - self.of(ErrorKind::UnexpectedBom)
    }

    #[inline]
    pub(super) const fn count(&mut self, kind: ErrorKind, errors: u64) {
        self.by_kind[kind as usize] += errors;
    }
}

impl AddAssign for Counters {
    #[inline]
    fn add_assign(&mut self, other: Self) {
        self.by_kind.iter_mut().zip(other.by_kind).for_each(|(count, other)| *count += other);
    }
}

impl fmt::Debug for Counters {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let counts = ErrorKind::ALL.iter().zip(&self.by_kind).filter(|(_, count)| **count > 0);
        f.debug_map().entries(counts).finish()
    }
}
