//! The call of the functions of a kernel.

use super::arch;
use super::class::Class;
#[cfg(feature = "base64")]
use super::functions::LineForm;
#[cfg(feature = "transcode")]
use super::functions::Utf16;
use super::functions::{CAPACITY, Found, Index, IsText, MAX_VECTOR, Range, Validate, functions};
use super::state::ScanState;

/// A kernel that this CPU supports, as its index in [`arch::ALL`]. Its functions can be called, because a value of this
/// type exists only for a kernel that the CPU supports.
#[derive(Clone, Copy)]
#[allow(unreachable_pub, reason = "public only if a benchmark selects the kernel")]
pub struct Kernel(u8);

/// The field of all kernels, by their indices.
macro_rules! of_each {
    ($field:ident) => {{
        let mut of_each = [arch::ALL[0].$field; arch::COUNT];
        let mut kernel = 1;
        while kernel < arch::COUNT {
            of_each[kernel] = arch::ALL[kernel].$field;
            kernel += 1;
        }
        of_each
    }};
}
pub(crate) use of_each;

/// Declares a method that calls each function of a kernel. For a function in `variants` the first argument selects the
/// variant. For a field the method returns its value.
///
/// Each method has a table of its own, so that a program contains only the functions that it calls.
macro_rules! methods {
    (
        functions {
            $($(#[$attribute:meta])* $name:ident($($argument:ident: $type:ty),*) -> $result:ty;)*
        }
        variants {
            $($(#[$other_attribute:meta])* $other:ident[$count:literal]($($input:ident: $input_type:ty),*) -> $output:ty;)*
        }
        fields {
            $($(#[$field_attribute:meta])* $field:ident: $field_type:ty,)*
        }
    ) => {
        impl Kernel {
            $(
                $(#[$attribute])*
                #[inline]
                pub(crate) fn $name(self, $($argument: $type),*) -> $result {
                    static TABLE: [unsafe fn($($type),*) -> $result; arch::COUNT] = of_each!($name);
                    // SAFETY: this CPU supports every `Kernel`.
                    unsafe { self.select(&TABLE)($($argument),*) }
                }
            )*
            $(
                $(#[$other_attribute])*
                #[inline]
                pub(crate) fn $other(self, variant: usize, $($input: $input_type),*) -> $output {
                    static TABLE: [[unsafe fn($($input_type),*) -> $output; $count]; arch::COUNT] = of_each!($other);
                    // SAFETY: this CPU supports every `Kernel`.
                    unsafe { self.select(&TABLE)[variant]($($input),*) }
                }
            )*
            $(
                $(#[$field_attribute])*
                #[inline(always)]
                pub(crate) fn $field(self) -> &'static $field_type {
                    static TABLE: [$field_type; arch::COUNT] = of_each!($field);
                    self.select(&TABLE)
                }
            )*
        }
    };
}

functions!(methods);

impl Kernel {
    /// # Safety
    ///
    /// [`is_supported`](super::functions::Functions) of the kernel with this index in [`arch::ALL`] returned true.
    pub(crate) const unsafe fn new(index: u8) -> Self {
        debug_assert!((index as usize) < arch::COUNT);
        Self(index)
    }

    pub(crate) const fn index(self) -> u8 {
        self.0
    }

    /// Returns the entry of this kernel.
    #[inline(always)]
    fn select<T>(self, of_each: &[T; arch::COUNT]) -> &T {
        // SAFETY: the index is one of `ALL`.
        unsafe { of_each.get_unchecked(usize::from(self.0)) }
    }

    /// Calls the [`Validate`] function of this kernel.
    ///
    /// # Safety
    ///
    /// The chunk has at least 4 bytes.
    #[inline(always)]
    pub(crate) unsafe fn validate(self, state: &mut ScanState, chunk: &[u8]) -> Result<(), Index> {
        debug_assert!(chunk.len() >= 4);
        // SAFETY: this CPU supports every `Kernel`; the caller guarantees the length.
        let (after, result) = unsafe { self.validate_function()(chunk, *state) };
        *state = ScanState::from_bits(after);
        result
    }

    /// Calls the [`Validate`] function of this kernel for chunks longer than a vector.
    ///
    /// # Safety
    ///
    /// The chunk has more than [`MAX_VECTOR`] bytes.
    #[inline]
    pub(crate) unsafe fn validate_large(self, state: &mut ScanState, chunk: &[u8]) -> Result<(), Index> {
        debug_assert!(chunk.len() > MAX_VECTOR);
        // SAFETY: this CPU supports every `Kernel`; the caller guarantees the length.
        let (after, result) = unsafe { self.validate_large_function()(chunk, *state) };
        *state = ScanState::from_bits(after);
        result
    }

    /// [`IsText`] of this kernel. Returns `false` for fewer than 4 bytes.
    #[cfg(test)]
    pub(crate) fn is_text(self, bytes: &[u8]) -> bool {
        // SAFETY: this CPU supports every `Kernel`; the length is tested first.
        bytes.len() >= 4 && unsafe { self.is_text_function()(bytes) }
    }
}
