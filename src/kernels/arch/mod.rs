//! The kernels of each architecture: `KERNELS`, the best first, and `KNOWN`, the kernel that needs no detection, if
//! there is one.
//!
//! x86-64, AArch64 and 32-bit WebAssembly have vector kernels, with two exceptions: targets without vector registers in
//! their ABI (operating systems, firmware), and big-endian AArch64, where the lanes are numbered in reverse. All other
//! targets have only the portable kernel and `std`.

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
mod aarch64;
mod portable;
#[cfg(all(
    feature = "transcode",
    any(
        all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"),
        all(target_arch = "x86_64", target_feature = "sse2")
    )
))]
mod shuffles;
mod std;
#[cfg(utf8_codec_vectors)]
pub(super) mod vector;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
mod wasm32;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
mod x86_64;

#[cfg(all(target_arch = "aarch64", target_feature = "neon", target_endian = "little"))]
use aarch64 as native;
#[cfg(all(target_arch = "wasm32", target_feature = "simd128"))]
use wasm32 as native;
#[cfg(all(target_arch = "x86_64", target_feature = "sse2"))]
use x86_64 as native;

#[cfg(not(utf8_codec_vectors))]
mod native {
    use super::super::functions::Functions;

    pub(in crate::kernels) static KERNELS: [&Functions; 0] = [];
    pub(in crate::kernels) const KNOWN: Option<&Functions> = Some(&super::portable::PORTABLE);
}

#[cfg(feature = "codec")]
pub(super) use self::std::find_byte as find_byte_by_std;
pub(super) use self::std::{STD, validate as validate_by_std};
#[cfg(all(test, utf8_codec_vectors))]
pub(super) use native::check_lanes;
pub(super) use native::{KERNELS, KNOWN};
#[cfg(feature = "mime")]
pub(super) use portable::base64;
pub(super) use portable::{PORTABLE, count};
#[cfg(feature = "transcode")]
pub(super) use portable::{latin, units, utf16};
