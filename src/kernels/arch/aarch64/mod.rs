//! The kernel for little-endian 64-bit ARM.

mod neon;

use crate::kernels::functions::Functions;

/// The kernels of this target, the best first.
pub(in crate::kernels) static KERNELS: [&Functions; 1] = [&NEON];

/// NEON is part of the target, so no detection is needed.
pub(in crate::kernels) const KNOWN: Option<&Functions> = Some(&NEON);

static NEON: Functions = Functions {
    name: "neon",
    is_supported: || true,
    validate: neon::validate,
    is_text: neon::is_text,
    count: super::portable::count::count,
    count_range: super::portable::count::count_range,
    count_ascii: super::portable::count::count_ascii,
    #[cfg(feature = "transcode")]
    ascii_len: neon::ascii_len,
    #[cfg(feature = "mime")]
    decode_base64: None,
    #[cfg(feature = "mime")]
    decode_base64_lines: None,
    #[cfg(feature = "mime")]
    decode_quoted: None,
    #[cfg(feature = "codec")]
    find_all: super::portable::positions::find_all,
    find_class: super::portable::classes::find_class,
    ascii_without: None,
    text_without: None,
    first_of: None,
    #[cfg(feature = "transcode")]
    utf16: None,
    #[cfg(feature = "transcode")]
    utf32: None,
    #[cfg(feature = "transcode")]
    latin: None,
    #[cfg(feature = "transcode")]
    pairs: None,
    #[cfg(feature = "transcode")]
    copy_ascii: None,
    #[cfg(feature = "transcode")]
    units: &super::portable::units::UNITS,
};

/// Compares the lanes of the vector code with the scalar definition of its formula.
#[cfg(test)]
pub(in crate::kernels) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    // SAFETY: the target has NEON.
    unsafe { neon::check_lanes(pairs()) }
}
