//! Error counters.

use crate::error::ErrorKind;

/// The number of errors in the input of a decoder, by kind, including repaired ones.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    by_kind: [u64; ErrorKind::ALL.len()],
}

impl Counters {
    pub(crate) const ZERO: Self = Self { by_kind: [0; ErrorKind::ALL.len()] };

    /// Returns the number of errors of one kind.
    pub const fn of(&self, kind: ErrorKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Returns the number of errors of all kinds.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// Returns the number of errors that a policy repairs: all except those of a BOM.
    #[cfg(feature = "http-rules")]
    pub(crate) fn repairable(&self) -> u64 {
        self.total() - self.of(ErrorKind::MissingBom) - self.of(ErrorKind::UnexpectedBom)
    }

    /// Adds the counters of another decoder.
    #[cfg(feature = "codec")]
    pub(crate) fn add(&mut self, other: Self) {
        self.by_kind.iter_mut().zip(other.by_kind).for_each(|(count, other)| *count += other);
    }

    pub(super) const fn count(&mut self, kind: ErrorKind) {
        self.by_kind[kind as usize] += 1;
    }
}
