//! The kernel for little-endian 64-bit ARM.

#[cfg(feature = "base64")]
mod base64;
#[cfg(feature = "transcode")]
mod compress;
#[cfg(feature = "transcode")]
mod convert;
mod neon;
#[cfg(feature = "transcode")]
mod to_utf16;
#[cfg(feature = "transcode")]
mod utf16;

use crate::functions::Functions;
#[cfg(feature = "transcode")]
use crate::functions::Utf16;

/// The kernels of this target, the best first.
pub(crate) const KERNELS: [Functions; 1] = [NEON];

/// NEON is part of the target, so no detection is needed.
pub(crate) const KNOWN: Option<u8> = Some(0);

const NEON: Functions = Functions {
    validate_function: neon::validate,
    validate_large_function: neon::validate_large,
    is_text_function: neon::is_text,
    #[cfg(feature = "transcode")]
    ascii_len: neon::ascii_len,
    #[cfg(feature = "base64")]
    decode_base64: base64::decode_groups,
    #[cfg(feature = "base64")]
    decode_base64_lines: base64::decode_lines,
    #[cfg(feature = "transcode")]
    utf16: Some(Utf16 {
        encode: [to_utf16::encode::<false>, to_utf16::encode::<true>],
        encode_ascii: [to_utf16::encode_ascii::<false>, to_utf16::encode_ascii::<true>],
        decode: [utf16::decode::<false>, utf16::decode::<true>],
    }),
    #[cfg(feature = "transcode")]
    copy_below: [
        convert::copy_below::<0x80, true>,
        convert::copy_below::<0x80, false>,
        convert::copy_below::<0xF0, true>,
        convert::copy_below::<0xF0, false>,
    ],
    ..super::portable::extended("neon", || true)
};

/// Compares the lanes of the vector code with the scalar definition of its formula.
#[cfg(test)]
pub(crate) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    // SAFETY: the target has NEON.
    unsafe { neon::check_lanes(pairs()) }
}
