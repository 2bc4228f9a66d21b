//! Selects the kernel: the best one that the CPU supports, detected once. If the crate is compiled without
//! optimizations, which `build.rs` detects, the kernel is `std`: the validation of the standard library. Some functions
//! then call the standard library directly, because no call is inlined.
//!
//! `RUSTFLAGS='--cfg utf8_codec_kernel="portable"'` (or `"avx2"`, `"avx512"`, `"neon"`, `"simd128"`, `"std"`) selects
//! that kernel if the CPU supports it, and the portable one otherwise. The whole test suite can run on each kernel this
//! way. With `--cfg utf8_codec_kernel="choice"` a program selects the kernel at run time, for benchmarks. Neither cfg
//! is part of the stable interface.

use core::fmt;
use core::ptr;
use core::sync::atomic::{AtomicPtr, Ordering};

use super::arch;
use super::class::Class;
use super::functions::{CAPACITY, Found, Functions, Index, IsText, Range};
#[cfg(feature = "transcode")]
use super::functions::{Convert, Encode, Units, Utf16};
#[cfg(feature = "mime")]
use super::functions::{LineForm, Segment};
use super::state::ScanState;

/// A kernel that this CPU supports. Its functions can be called, because a value of this type exists only for a kernel
/// that the CPU supports.
#[derive(Clone, Copy)]
pub struct Kernel(&'static Functions);

impl Kernel {
    /// Returns the kernels that this CPU supports, the best first.
    pub fn available() -> impl Iterator<Item = Self> {
        let kernels = arch::KERNELS.iter().copied().chain([&arch::PORTABLE, &arch::STD]);
        kernels.filter(|kernel| (kernel.is_supported)()).map(Self)
    }

    /// Returns the name: `portable`, `avx2`, `avx512`, `neon`, `simd128` or `std`.
    pub const fn name(self) -> &'static str {
        self.0.name
    }

    /// Returns the kernel in use.
    #[inline]
    pub fn in_use() -> Self {
        if cfg!(utf8_codec_unoptimized) {
            return Self(&arch::STD);
        }
        if let Some(known) = arch::KNOWN
            && FORCED.is_none()
        {
            return Self(known);
        }
        // SAFETY: the pointer is null or points to a static. A static needs no ordering.
        match unsafe { IN_USE.load(Ordering::Relaxed).as_ref() } {
            Some(kernel) => Self(kernel),
            None => Self::choose_best(),
        }
    }

    /// Sets the kernel in use for all threads.
    pub fn choose(self) {
        IN_USE.store(ptr::from_ref(self.0).cast_mut(), Ordering::Relaxed);
        IS_TEXT.store(self.0.is_text as *mut (), Ordering::Relaxed);
    }

    #[cold]
    fn choose_best() -> Self {
        let is_wanted = |kernel: &Self| FORCED.is_none_or(|name| name == kernel.name());
        let best = Self::available().find(is_wanted).unwrap_or(Self(&arch::PORTABLE));
        best.choose();
        best
    }

    /// Calls the [`Validate`](super::functions::Validate) function of this kernel.
    ///
    /// # Safety
    ///
    /// The chunk has at least 4 bytes.
    #[inline(always)]
    pub(super) unsafe fn validate(self, state: &mut ScanState, chunk: &[u8]) -> Result<(), Index> {
        debug_assert!(chunk.len() >= 4);
        // SAFETY: this CPU supports every `Kernel`; the caller guarantees the length.
        unsafe { (self.0.validate)(chunk, state) }
    }

    /// [`IsText`] of this kernel. Returns `false` for fewer than 4 bytes.
    #[cfg(test)]
    pub(super) fn is_text(self, bytes: &[u8]) -> bool {
        // SAFETY: this CPU supports every `Kernel`; the length is tested first.
        bytes.len() >= 4 && unsafe { (self.0.is_text)(bytes) }
    }

    /// Calls the [`Count`](super::functions::Count) function of this kernel.
    pub(super) fn count(self, bytes: &[u8], wanted: u8) -> usize {
        // SAFETY: this CPU supports every `Kernel`.
        unsafe { (self.0.count)(bytes, wanted) }
    }

    /// Calls the [`CountRange`](super::functions::CountRange) function of this kernel.
    pub(super) fn count_range(self, bytes: &[u8], range: Range) -> usize {
        // SAFETY: this CPU supports every `Kernel`.
        unsafe { (self.0.count_range)(bytes, range) }
    }

    /// Calls the [`CountAscii`](super::functions::CountAscii) function of this kernel.
    pub(super) fn count_ascii(self, bytes: &[u8], wanted: u8) -> (usize, usize) {
        // SAFETY: this CPU supports every `Kernel`.
        unsafe { (self.0.count_ascii)(bytes, wanted) }
    }

    /// Calls the [`AsciiLen`](super::functions::AsciiLen) function of this kernel.
    #[cfg(feature = "transcode")]
    pub(super) fn ascii_len(self, bytes: &[u8]) -> usize {
        // SAFETY: this CPU supports every `Kernel`.
        unsafe { (self.0.ascii_len)(bytes) }
    }

    /// [`DecodeBase64`](super::functions::DecodeBase64). Returns 0 if the kernel has no vector code for it.
    #[cfg(feature = "mime")]
    #[inline]
    pub(super) fn decode_base64(self, symbols: &[u8], output: &mut [u8]) -> usize {
        match self.0.decode_base64 {
            // SAFETY: this CPU supports every `Kernel`.
            Some(decode) => unsafe { decode(symbols, output) },
            None => 0,
        }
    }

    /// [`DecodeBase64Lines`](super::functions::DecodeBase64Lines). Returns `None` if the kernel has no vector code for
    /// it.
    #[cfg(feature = "mime")]
    #[inline]
    pub(super) fn decode_base64_lines(
        self,
        encoded: &[u8],
        output: &mut [u8],
        form: LineForm,
    ) -> Option<usize> {
        // SAFETY: this CPU supports every `Kernel`.
        self.0.decode_base64_lines.map(|decode| unsafe { decode(encoded, output, form) })
    }

    /// Returns whether this kernel has vector code for quoted-printable.
    #[cfg(feature = "mime")]
    #[inline]
    pub(super) const fn has_quoted(self) -> bool {
        self.0.decode_quoted.is_some()
    }

    /// Calls the [`DecodeQuoted`](super::functions::DecodeQuoted) function of this kernel. Returns `None` if it has none.
    #[cfg(feature = "mime")]
    #[inline]
    pub(super) fn decode_quoted(
        self,
        encoded: &[u8],
        output: &mut [u8],
        segments: &mut [Segment],
    ) -> Option<usize> {
        // SAFETY: this CPU supports every `Kernel`.
        self.0.decode_quoted.map(|decode| unsafe { decode(encoded, output, segments) })
    }

    /// Calls the [`FindAll`](super::functions::FindAll) function of this kernel.
    #[cfg(feature = "codec")]
    pub(super) fn find_all(self, bytes: &[u8], byte: u8, positions: &mut [u16; CAPACITY]) -> Found {
        // SAFETY: this CPU supports every `Kernel`.
        unsafe { (self.0.find_all)(bytes, byte, positions) }
    }

    /// Calls the [`FindClass`](super::functions::FindClass) function of this kernel.
    #[inline]
    pub(super) fn find_class(self, bytes: &[u8], class: &Class, positions: &mut [u16; CAPACITY]) -> Found {
        // SAFETY: this CPU supports every `Kernel`.
        unsafe { (self.0.find_class)(bytes, class, positions) }
    }

    /// [`AsciiWithout`](super::functions::AsciiWithout). Returns 0 if the kernel has no vector code for it.
    pub(super) fn ascii_without(self, bytes: &[u8], class: &Class) -> usize {
        match self.0.ascii_without {
            // SAFETY: this CPU supports every `Kernel`.
            Some(ascii_without) => unsafe { ascii_without(bytes, class) },
            None => 0,
        }
    }

    /// Returns the UTF-16 conversions of this kernel. This CPU supports them.
    #[cfg(feature = "transcode")]
    pub(super) const fn utf16(self) -> Option<&'static Utf16> {
        self.0.utf16.as_ref()
    }

    /// Returns the conversions of this kernel from UTF-8 to UTF-32. This CPU supports them.
    #[cfg(feature = "transcode")]
    pub(super) const fn encode_utf32(self) -> Option<[Encode; 2]> {
        self.0.encode_utf32
    }

    /// Returns the conversions of this kernel from single bytes to UTF-8. This CPU supports them.
    #[cfg(feature = "transcode")]
    pub(super) const fn decode_latin(self) -> Option<[Convert; 2]> {
        self.0.decode_latin
    }

    /// [`CopyBelow`](super::functions::CopyBelow) for ASCII, or for text below U+10000 if `BMP`; with `00` if `NUL`.
    /// Returns 0 if the kernel has no vector code for it.
    #[cfg(feature = "transcode")]
    #[inline]
    pub(super) fn copy_below<const BMP: bool, const NUL: bool>(
        self,
        input: &[u8],
        output: &mut [u8],
    ) -> usize {
        match self.0.copy_below {
            // SAFETY: this CPU supports every `Kernel`.
            Some(copy) => unsafe { (copy[usize::from(BMP)][usize::from(!NUL)])(input, output) },
            None => 0,
        }
    }

    /// Returns the conversions between encodings without sequences. This CPU supports them.
    #[cfg(feature = "transcode")]
    pub(super) const fn units(self) -> &'static Units {
        self.0.units
    }
}

impl fmt::Debug for Kernel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

static IN_USE: AtomicPtr<Functions> = AtomicPtr::new(ptr::null_mut());

/// The [`IsText`] of the kernel in use. It is stored separately, because for short texts the cost of reading the
/// address of the kernel first would be noticeable.
static IS_TEXT: AtomicPtr<()> = AtomicPtr::new(choose_and_is_text as IsText as *mut ());

/// Calls the [`IsText`] function of the kernel in use.
///
/// # Safety
///
/// There are at least 4 bytes.
#[inline(always)]
pub(super) unsafe fn is_text(bytes: &[u8]) -> bool {
    debug_assert!(bytes.len() >= 4);
    if let Some(known) = arch::KNOWN
        && FORCED.is_none()
    {
        // SAFETY: the CPU has the instructions that the program was compiled for; the caller guarantees the length.
        return unsafe { (known.is_text)(bytes) };
    }
    let function = IS_TEXT.load(Ordering::Relaxed);
    // SAFETY: only functions of this type are stored, so the pointer can be converted to one. The CPU has the
    // instructions of every `Kernel`; the caller guarantees the length.
    unsafe { core::mem::transmute::<*mut (), IsText>(function)(bytes) }
}

/// Selects the best kernel and calls its [`IsText`].
///
/// # Safety
///
/// There are at least 4 bytes.
unsafe fn choose_and_is_text(bytes: &[u8]) -> bool {
    // SAFETY: the CPU has the instructions of every `Kernel`; the caller guarantees the length.
    unsafe { (Kernel::choose_best().0.is_text)(bytes) }
}

/// The name of the kernel that the build requires, if it requires one.
pub(super) const FORCED: Option<&str> = if cfg!(utf8_codec_kernel = "portable") {
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
