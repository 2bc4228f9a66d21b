//! The kernel for 32-bit WebAssembly with `simd128`.

mod simd128;

use crate::kernels::functions::Functions;

/// The kernels of this target, the best first.
pub(in crate::kernels) static KERNELS: [&Functions; 1] = [&SIMD128];

/// An engine rejects a module with instructions that it does not have, so no detection is needed.
pub(in crate::kernels) const KNOWN: Option<&Functions> = Some(&SIMD128);

static SIMD128: Functions = Functions {
    name: "simd128",
    is_supported: || true,
    validate: simd128::validate,
    is_text: simd128::is_text,
    count: super::portable::count::count,
    count_range: super::portable::count::count_range,
    count_ascii: super::portable::count::count_ascii,
    #[cfg(feature = "transcode")]
    ascii_len: simd128::ascii_len,
    #[cfg(feature = "mime")]
    decode_base64: None,
    #[cfg(feature = "mime")]
    decode_base64_lines: None,
    #[cfg(feature = "mime")]
    decode_quoted: None,
    #[cfg(feature = "codec")]
    find_all: simd128::find_all,
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

/// Compares each lane of the vector code with the scalar definition of its formula.
#[cfg(test)]
pub(in crate::kernels) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    // SAFETY: the target has `simd128`.
    unsafe { simd128::check_lanes(pairs()) }
}
