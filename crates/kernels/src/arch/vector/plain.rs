//! Validation up to the first backslash, which starts an escape.

use core::ops::BitOr;

use super::super::super::functions::Index;
use super::super::super::state::{Carry, ScanState};
use super::{Vector, validate_large};

/// A vector type that has [`Plain`].
pub(crate) trait Search: Vector {
    /// Which bytes are equal to another one.
    type Equal: Copy + BitOr<Output = Self::Equal>;

    fn equal(self, byte: u8) -> Self::Equal;

    /// Returns a bit for each equal byte. The lowest bit is for the first byte.
    fn bits(equal: Self::Equal) -> u64;

    /// Calls the function [`find`](super::find) of [`Plain`] without inlining it into the loops.
    ///
    /// # Safety
    ///
    /// Same as for [`find`](super::find).
    unsafe fn find_in_plain(chunk: &[u8], at: usize, end: usize) -> Option<usize>;
}

/// A vector type for which a backslash is ill-formed. The validation generic over vectors then finds both.
#[derive(Clone, Copy)]
pub(crate) struct Plain<V: Search> {
    /// The bytes, or their marks.
    bytes: V,
    /// The backslashes, which are marks, and make text not ASCII.
    backslashes: V::Equal,
}

impl<V: Search> Plain<V> {
    #[inline(always)]
    fn new(bytes: V) -> Self {
        Self { bytes, backslashes: bytes.equal(b'\\') }
    }

    #[inline(always)]
    fn with(self, bytes: V, other: Self) -> Self {
        Self { bytes, backslashes: self.backslashes | other.backslashes }
    }
}

impl<V: Search> Vector for Plain<V> {
    const LEN: usize = V::LEN;
    const GROUP: usize = V::GROUP;
    const STEP: usize = V::STEP;
    const SMALL: usize = V::SMALL;
    const FIRST_SEGMENT: usize = V::FIRST_SEGMENT;
    const LONGEST_SEGMENT: usize = V::LONGEST_SEGMENT;

    #[inline(always)]
    fn next_segment(groups: usize) -> usize {
        V::next_segment(groups)
    }

    #[inline(always)]
    unsafe fn zero() -> Self {
        // SAFETY: the caller guarantees the requirements.
        Self::new(unsafe { V::zero() })
    }

    #[inline(always)]
    unsafe fn load(from: *const u8) -> Self {
        // SAFETY: the caller guarantees the requirements.
        Self::new(unsafe { V::load(from) })
    }

    #[inline(always)]
    unsafe fn load_rest(chunk: &[u8], at: usize) -> Self {
        // SAFETY: the caller guarantees the requirements.
        Self::new(unsafe { V::load_rest(chunk, at) })
    }

    #[inline(always)]
    fn shifted(self, before: Self) -> [Self; 3] {
        let [p1, p2, p3] = self.bytes.shifted(before.bytes);
        [Self::new(p1), Self::new(p2), Self::new(p3)]
    }

    #[inline(always)]
    fn shifted_after(self, carry: Carry) -> [Self; 3] {
        let [p1, p2, p3] = self.bytes.shifted_after(carry);
        [Self::new(p1), Self::new(p2), Self::new(p3)]
    }

    #[inline(always)]
    fn or(self, other: Self) -> Self {
        self.with(self.bytes.or(other.bytes), other)
    }

    #[inline(always)]
    fn is_ascii(self) -> bool {
        self.bytes.is_ascii() && V::bits(self.backslashes) == 0
    }

    #[inline(always)]
    fn or_marks(self, x: Self, [p1, p2, p3]: [Self; 3]) -> Self {
        self.with(self.bytes.or_marks(x.bytes, [p1.bytes, p2.bytes, p3.bytes]), x)
    }

    #[inline(always)]
    fn or_marks_in_bmp(self, x: Self, [p1, p2]: [Self; 2]) -> Self {
        self.with(self.bytes.or_marks_in_bmp(x.bytes, [p1.bytes, p2.bytes]), x)
    }

    #[inline(always)]
    fn is_marked(self) -> bool {
        self.bytes.is_marked() || V::bits(self.backslashes) != 0
    }

    #[inline(always)]
    fn first_mark_before(self, len: usize) -> Option<usize> {
        let end = (V::bits(self.backslashes).trailing_zeros() as usize).min(len);
        self.bytes.first_mark_before(end).or((end < len).then_some(end))
    }

    #[cfg(test)]
    #[inline(always)]
    fn mark_bits(self) -> u64 {
        self.bytes.mark_bits() | V::bits(self.backslashes)
    }

    #[inline(always)]
    unsafe fn validate_large(chunk: &[u8], state: &mut ScanState) -> Result<(), Index> {
        // SAFETY: the caller guarantees the requirements.
        unsafe { validate_large::<Self>(chunk, state) }
    }

    #[inline(always)]
    unsafe fn find(chunk: &[u8], at: usize, end: usize) -> Option<usize> {
        // SAFETY: the caller guarantees the requirements.
        unsafe { V::find_in_plain(chunk, at, end) }
    }

    #[inline(always)]
    fn prefetch(from: *const u8) {
        V::prefetch(from);
    }

    #[inline(always)]
    fn prefetches_ascii() -> bool {
        V::prefetches_ascii()
    }

    #[inline(always)]
    fn prefetch_far(from: *const u8) {
        V::prefetch_far(from);
    }
}

/// Declares the functions of [`Plain`] for a vector type, and implements [`Search`] with these methods.
macro_rules! plain_entries {
    ($vector:ident, $features:literal, { $($methods:item)* }) => {
        /// Implements [`ValidatePlain`](crate::functions::ValidatePlain).
        ///
        /// # Safety
        ///
        /// The chunk is longer than a vector.
        #[target_feature(enable = $features)]
        pub(super) unsafe fn validate_plain(
            chunk: &[u8],
            state: &mut crate::state::ScanState,
        ) -> Result<(), crate::functions::Index> {
            use crate::arch::vector::{Plain, validate_large};
            // SAFETY: the CPU has the features; the caller guarantees the length.
            unsafe { validate_large::<Plain<$vector>>(chunk, state) }
        }

        /// # Safety
        ///
        /// The range is one that the function allows.
        #[target_feature(enable = $features)]
        #[cold]
        #[inline(never)]
        unsafe fn find_in_plain(chunk: &[u8], at: usize, end: usize) -> Option<usize> {
            use crate::arch::vector::{Plain, find};
            // SAFETY: the CPU has the features; the caller guarantees the range.
            unsafe { find::<Plain<$vector>>(chunk, at, end) }
        }

        impl crate::arch::vector::Search for $vector {
            $($methods)*

            #[inline(always)]
            unsafe fn find_in_plain(chunk: &[u8], at: usize, end: usize) -> Option<usize> {
                // SAFETY: the caller guarantees the requirements.
                unsafe { find_in_plain(chunk, at, end) }
            }
        }
    };
}

pub(in crate::arch) use plain_entries;
