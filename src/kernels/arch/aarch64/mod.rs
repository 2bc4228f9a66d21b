//! The kernel for little-endian 64-bit ARM.

mod neon;

use crate::kernels::functions::Functions;

/// The best first.
pub(in crate::kernels) static KERNELS: [&Functions; 1] = [&NEON];

/// The target has NEON, which needs no detection.
pub(in crate::kernels) const KNOWN: Option<&Functions> = Some(&NEON);

static NEON: Functions = Functions {
    name: "neon",
    is_supported: || true,
    validate: neon::validate,
    is_text: neon::is_text,
    count: super::portable::count::count,
    #[cfg(feature = "mime")]
    decode_base64: None,
    #[cfg(feature = "codec")]
    find_all: super::portable::positions::find_all,
    find_class: super::portable::classes::find_class,
    #[cfg(feature = "transcode")]
    utf16: None,
    #[cfg(feature = "transcode")]
    conversions: None,
};

/// Compares the lanes of the vectors with the statement of their formula.
#[cfg(test)]
pub(in crate::kernels) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    // SAFETY: the target has NEON.
    unsafe { neon::check_lanes(pairs()) }
}
