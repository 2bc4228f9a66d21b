//! The functions of a kernel that call the generic ones, compiled with its instructions.

/// Declares the functions for a vector type. The features are those of its instructions, if the target may not have them.
/// `statement` is what its formula marks, for the test of every lane.
macro_rules! entries {
    ($vector:ident, $statement:ident $(, $features:literal)?) => {
        /// Implements [`Validate`](crate::functions::Validate).
        ///
        /// # Safety
        ///
        /// The chunk has at least 4 bytes.
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn validate(
            chunk: &[u8],
            mut state: crate::state::ScanState,
        ) -> (u64, Result<(), crate::functions::Index>) {
            // SAFETY: the CPU has the features; the caller guarantees the length.
            let result = unsafe { crate::arch::vector::validate::<$vector>(chunk, &mut state) };
            (state.bits(), result)
        }

        /// Implements [`IsText`](crate::functions::IsText).
        ///
        /// # Safety
        ///
        /// There are at least 4 bytes.
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn is_text(bytes: &[u8]) -> bool {
            // SAFETY: the CPU has the features; the caller guarantees the length.
            unsafe { crate::arch::vector::is_text::<$vector>(bytes) }
        }

        /// Calls [`validate_large`](crate::arch::vector::validate_large). It is not inlined, so that short chunks
        /// do not save its registers.
        ///
        /// # Safety
        ///
        /// The chunk is longer than a vector.
        $(#[target_feature(enable = $features)])?
        #[inline(never)]
        pub(super) unsafe fn validate_large(
            chunk: &[u8],
            mut state: crate::state::ScanState,
        ) -> (u64, Result<(), crate::functions::Index>) {
            // SAFETY: the CPU has the features; the caller guarantees the length.
            let result = unsafe { crate::arch::vector::validate_large::<$vector>(chunk, &mut state) };
            (state.bits(), result)
        }

        /// Calls [`find`](crate::arch::vector::find). It is not inlined, because the loops call it only at an
        /// error.
        ///
        /// # Safety
        ///
        /// The range is one that the function allows.
        $(#[target_feature(enable = $features)])?
        #[cold]
        #[inline(never)]
        unsafe fn find(chunk: &[u8], at: usize, end: usize) -> Option<usize> {
            // SAFETY: the CPU has the features; the caller guarantees the range.
            unsafe { crate::arch::vector::find::<$vector>(chunk, at, end) }
        }

        /// Compares every lane of the vector code with the scalar definition of its formula.
        ///
        /// # Safety
        ///
        /// The CPU has the features.
        #[cfg(test)]
        $(#[target_feature(enable = $features)])?
        pub(super) unsafe fn check_lanes(pairs: impl Iterator<Item = (u8, u8)>) {
            use crate::tests::lanes;
            // SAFETY: the CPU has the features.
            unsafe { lanes::check::<$vector>(pairs, lanes::$statement) }
        }
    };
}

/// The methods of a [`Vector`](super::Vector) that call the functions of [`entries`].
macro_rules! entry_methods {
    () => {
        #[inline(always)]
        unsafe fn validate_large(
            chunk: &[u8],
            state: &mut crate::state::ScanState,
        ) -> Result<(), crate::functions::Index> {
            // SAFETY: the caller guarantees the requirements.
            let (after, result) = unsafe { validate_large(chunk, *state) };
            *state = crate::state::ScanState::from_bits(after);
            result
        }

        #[inline(always)]
        unsafe fn find(chunk: &[u8], at: usize, end: usize) -> Option<usize> {
            // SAFETY: the caller guarantees the requirements.
            unsafe { find(chunk, at, end) }
        }
    };
}

pub(in crate::arch) use {entries, entry_methods};
