//! The kernel for little-endian 64-bit ARM.

mod neon;

use crate::kernels::functions::Functions;
#[cfg(feature = "transcode")]
use crate::kernels::functions::{Latin, Utf16, Utf32};

/// The kernels of this target, the best first.
pub(in crate::kernels) static KERNELS: [&Functions; 1] = [&NEON];

/// NEON is part of the target, so no detection is needed.
pub(in crate::kernels) const KNOWN: Option<&Functions> = Some(&NEON);

static NEON: Functions = Functions {
    name: "neon",
    validate: neon::validate,
    is_text: neon::is_text,
    #[cfg(feature = "transcode")]
    ascii_len: neon::ascii_len,
    #[cfg(feature = "transcode")]
    utf16: Some(Utf16 {
        encode: [neon::to_utf16::encode::<false>, neon::to_utf16::encode::<true>],
        encode_ascii: Some([neon::to_utf16::encode_ascii::<false>, neon::to_utf16::encode_ascii::<true>]),
        decode: [neon::utf16::decode::<false>, neon::utf16::decode::<true>],
    }),
    #[cfg(feature = "transcode")]
    utf32: Some(Utf32 {
        encode_ascii: Some([neon::utf32::widen_ascii::<false>, neon::utf32::widen_ascii::<true>]),
        encode: [neon::utf32::encode::<false>, neon::utf32::encode::<true>],
        decode: [neon::utf32::decode::<false>, neon::utf32::decode::<true>],
        from_utf16: [
            neon::utf32::from_utf16::<false, false>,
            neon::utf32::from_utf16::<false, true>,
            neon::utf32::from_utf16::<true, false>,
            neon::utf32::from_utf16::<true, true>,
        ],
        to_utf16: [
            neon::utf32::to_utf16::<false, false>,
            neon::utf32::to_utf16::<false, true>,
            neon::utf32::to_utf16::<true, false>,
            neon::utf32::to_utf16::<true, true>,
        ],
    }),
    #[cfg(feature = "transcode")]
    latin: Some(Latin {
        decode: [neon::latin::decode::<false>, neon::latin::decode::<true>],
        encode: [neon::latin::encode::<false>, neon::latin::encode::<true>],
    }),
    #[cfg(feature = "transcode")]
    copy_ascii: Some([neon::convert::copy_ascii::<true>, neon::convert::copy_ascii::<false>]),
    ..super::portable::BASE
};

/// Compares the lanes of the vector code with the scalar definition of its formula.
#[cfg(test)]
pub(in crate::kernels) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    // SAFETY: the target has NEON.
    unsafe { neon::check_lanes(pairs()) }
}
