//! Which kernel this machine has, asked once.
//!
//! Whoever compiles with `--cfg utf8_codec_kernel="portable"` (or `"avx2"`, `"avx512"`, `"neon"`) in `RUSTFLAGS` gets
//! that kernel where the machine has it, and the portable one where it has not: that is how the whole test suite runs
//! on each. With `--cfg utf8_codec_kernel="choice"` a program chooses while it runs, for benchmarks. Neither is part
//! of the stable interface.

use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::{Last, arch, portable};

/// A kernel, whether this machine has it or not.
pub(super) struct Implementation {
    pub(super) name: &'static str,
    /// Does the machine have what `take` needs?
    pub(super) is_supported: fn() -> bool,
    /// Takes a chunk of four bytes or more that follows `last`, if it is good, and gives its length; or leaves the
    /// bytes of `last` as they are and gives the place of the first byte that makes the stream ill-formed. For one
    /// that is never a lead this may be the place after it, if the chunk has one.
    ///
    /// # Safety
    ///
    /// `is_supported`, and the chunk has four bytes or more.
    pub(super) take: unsafe fn(last: &mut Last, chunk: &[u8]) -> usize,
    /// Are four bytes or more text, from the first to the last?
    ///
    /// # Safety
    ///
    /// As for `take`.
    pub(super) is_text: unsafe fn(bytes: &[u8]) -> bool,
}

pub(super) static PORTABLE: Implementation = Implementation {
    name: "portable",
    is_supported: || true,
    take: portable::take,
    is_text: portable::is_text,
};

/// A kernel that this machine has: the only way to get one is to ask for those.
#[derive(Clone, Copy)]
pub struct Kernel(&'static Implementation);

impl Kernel {
    /// What this machine has, the best first.
    pub fn available() -> impl Iterator<Item = Self> {
        let kernels = arch::KERNELS.iter().copied().chain([&PORTABLE]);
        kernels.filter(|kernel| (kernel.is_supported)()).map(Self)
    }

    /// `portable`, `avx2`, `avx512` or `neon`.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Is it the one that every machine has?
    #[cfg(feature = "transcode")]
    pub(super) fn is_portable(self) -> bool {
        ptr::eq(self.0, &PORTABLE)
    }

    /// The kernel in use.
    #[inline]
    pub fn in_use() -> Self {
        if let Some(known) = arch::KNOWN
            && FORCED.is_none()
        {
            return Self(known);
        }
        // SAFETY: the pointer is null or made of a reference to a static, which needs no ordering.
        match unsafe { IN_USE.load(Ordering::Relaxed).as_ref() } {
            Some(kernel) => Self(kernel),
            None => Self::choose_best(),
        }
    }

    /// Makes this kernel the one in use, for all threads.
    pub fn choose(self) {
        IN_USE.store(ptr::from_ref(self.0).cast_mut(), Ordering::Relaxed);
    }

    #[cold]
    fn choose_best() -> Self {
        let is_wanted = |kernel: &Self| FORCED.is_none_or(|name| name == kernel.name());
        let best = Self::available().find(is_wanted).unwrap_or(Self(&PORTABLE));
        best.choose();
        best
    }

    /// [`Implementation::take`].
    ///
    /// # Safety
    ///
    /// The chunk has four bytes or more.
    #[inline(always)]
    pub(super) unsafe fn take(self, last: &mut Last, chunk: &[u8]) -> usize {
        debug_assert!(chunk.len() >= 4);
        // SAFETY: only a supported kernel becomes a `Kernel`; the length is the caller's promise.
        unsafe { (self.0.take)(last, chunk) }
    }

    /// [`Implementation::is_text`]; fewer than four bytes are not.
    #[inline(always)]
    pub(super) fn is_text(self, bytes: &[u8]) -> bool {
        // SAFETY: only a supported kernel becomes a `Kernel`; the length is asked.
        bytes.len() >= 4 && unsafe { (self.0.is_text)(bytes) }
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

static IN_USE: AtomicPtr<Implementation> = AtomicPtr::new(ptr::null_mut());

pub(super) const FORCED: Option<&str> = if cfg!(utf8_codec_kernel = "portable") {
    Some("portable")
} else if cfg!(utf8_codec_kernel = "avx2") {
    Some("avx2")
} else if cfg!(utf8_codec_kernel = "avx512") {
    Some("avx512")
} else if cfg!(utf8_codec_kernel = "neon") {
    Some("neon")
} else if cfg!(utf8_codec_kernel = "choice") {
    // None, but asked while the program runs.
    None
} else {
    None
};
