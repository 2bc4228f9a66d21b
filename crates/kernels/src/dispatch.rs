//! Selects the kernel: the best one that the CPU supports, detected once. If the crate is compiled without
//! optimizations, which `build.rs` detects, the kernel is `std`: the validation of the standard library. Some functions
//! then call the standard library directly, because no call is inlined.
//!
//! `RUSTFLAGS='--cfg utf8_codec_kernel="portable"'` (or `"avx2"`, `"avx512"`, `"neon"`, `"simd128"`, `"std"`) selects
//! that kernel if the CPU supports it, and the portable one otherwise. The whole test suite can run on each kernel this
//! way. With `--cfg utf8_codec_kernel="choice"` a program selects the kernel at run time, for benchmarks, and with
//! `--cfg utf8_codec_kernel="environment"` and feature `std` the variable `UTF8_CODEC_KERNEL` contains the name, so that
//! one build serves for the tests of all kernels. No cfg is part of the stable interface.

use core::fmt;
use core::sync::atomic::{AtomicPtr, AtomicU8, Ordering};

use super::arch;
use super::functions::IsText;
pub use super::kernel::Kernel;
use super::kernel::of_each;

impl Kernel {
    /// Returns the kernels that this CPU supports, the best first.
    pub fn available() -> impl Iterator<Item = Self> {
        const IS_SUPPORTED: [fn() -> bool; arch::COUNT] = of_each!(is_supported);
        let supported = IS_SUPPORTED.iter().zip(0..).filter(|(is_supported, _)| is_supported());
        // SAFETY: the CPU supports them.
        supported.map(|(_, index)| unsafe { Self::new(index) })
    }

    /// Returns the name: `portable`, `avx2`, `avx512`, `neon`, `simd128` or `std`.
    pub const fn name(self) -> &'static str {
        const NAMES: [&str; arch::COUNT] = of_each!(name);
        NAMES[self.index() as usize]
    }

    /// Returns the kernel in use.
    #[inline]
    pub fn in_use() -> Self {
        if cfg!(utf8_codec_unoptimized) {
            // SAFETY: every CPU supports it.
            return unsafe { Self::new(arch::STD) };
        }
        if let Some(known) = KNOWN {
            // SAFETY: the CPU has the instructions that the program was compiled for.
            return unsafe { Self::new(known) };
        }
        // The index needs no ordering.
        match IN_USE.load(Ordering::Relaxed) {
            UNKNOWN => Self::choose_best(),
            // SAFETY: only the index of a `Kernel` is stored.
            known => unsafe { Self::new(known) },
        }
    }

    /// Sets the kernel in use for all threads.
    #[cfg(utf8_codec_kernel = "choice")]
    pub fn choose(self) {
        IN_USE.store(self.index(), Ordering::Relaxed);
        IS_TEXT.store(*self.is_text_function() as *mut (), Ordering::Relaxed);
    }

    #[cold]
    fn choose_best() -> Self {
        #[cfg(utf8_codec_kernel = "environment")]
        let variable = std::env::var("UTF8_CODEC_KERNEL").ok();
        #[cfg(utf8_codec_kernel = "environment")]
        let wanted = variable.as_deref();
        #[cfg(not(utf8_codec_kernel = "environment"))]
        let wanted = FORCED;
        // SAFETY: every CPU supports the portable kernel.
        let portable = unsafe { Self::new(arch::PORTABLE) };
        let best = Self::available()
            .find(|kernel| wanted.is_none_or(|name| name == kernel.name()))
            .unwrap_or(portable);
        IN_USE.store(best.index(), Ordering::Relaxed);
        best
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The index of the kernel in use.
static IN_USE: AtomicU8 = AtomicU8::new(UNKNOWN);

const UNKNOWN: u8 = u8::MAX;

/// The [`IsText`] of the kernel in use. It is stored separately, because for short texts the cost of reading the index of
/// the kernel first would be noticeable.
static IS_TEXT: AtomicPtr<()> = AtomicPtr::new(choose_and_is_text as IsText as *mut ());

/// Calls the [`IsText`] function of the kernel in use.
///
/// # Safety
///
/// There are at least 4 bytes.
#[inline(always)]
pub(crate) unsafe fn is_text(bytes: &[u8]) -> bool {
    debug_assert!(bytes.len() >= 4);
    if let Some(known) = KNOWN {
        // SAFETY: the CPU has the instructions that the program was compiled for; the caller guarantees the length.
        return unsafe { Kernel::new(known).is_text_function()(bytes) };
    }
    let function = IS_TEXT.load(Ordering::Relaxed);
    // SAFETY: only functions of this type are stored, so the pointer can be converted to one. The CPU has the
    // instructions of every `Kernel`; the caller guarantees the length.
    unsafe { core::mem::transmute::<*mut (), IsText>(function)(bytes) }
}

/// Stores the [`IsText`] of the kernel in use and calls it.
///
/// # Safety
///
/// There are at least 4 bytes.
unsafe fn choose_and_is_text(bytes: &[u8]) -> bool {
    let is_text = *Kernel::in_use().is_text_function();
    IS_TEXT.store(is_text as *mut (), Ordering::Relaxed);
    // SAFETY: the CPU has the instructions of every `Kernel`; the caller guarantees the length.
    unsafe { is_text(bytes) }
}

/// The index of the kernel that the program was compiled for, unless the build requires another one.
const KNOWN: Option<u8> = if FORCED.is_none() { arch::KNOWN } else { None };

/// The name of the kernel that the build requires, if it requires one.
pub(crate) const FORCED: Option<&str> = if cfg!(utf8_codec_kernel = "portable") {
    Some("portable")
} else if cfg!(utf8_codec_kernel = "avx2") {
    Some("avx2")
} else if cfg!(utf8_codec_kernel = "avx512") {
    Some("avx512")
} else if cfg!(utf8_codec_kernel = "neon") {
    Some("neon")
} else if cfg!(utf8_codec_kernel = "simd128") {
    Some("simd128")
} else if cfg!(utf8_codec_kernel = "std") {
    Some("std")
} else {
    None
};
