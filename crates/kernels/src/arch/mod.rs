//! The kernels of each architecture: `KERNELS`, the best first, and `KNOWN`, the index of the kernel that needs no
//! detection, if there is one.
//!
//! x86-64, AArch64 and 32-bit WebAssembly have vector kernels, with two exceptions: targets without vector registers in their
//! ABI (operating systems, firmware), and big-endian AArch64, where the lanes are numbered in reverse. All other targets have
//! only the portable kernel and `std`, and so do compilers before Rust 1.87. Compilers before 1.89 have no AVX-512.

#[cfg(utf8_codec_vectors = "aarch64")]
#[clippy::msrv = "1.87"]
mod aarch64;
mod portable;
#[cfg(all(feature = "transcode", any(utf8_codec_vectors = "aarch64", utf8_codec_vectors = "x86_64")))]
mod shuffles;
mod unoptimized;
#[cfg(utf8_codec_vectors)]
#[clippy::msrv = "1.87"]
pub(super) mod vector;
#[cfg(utf8_codec_vectors = "wasm32")]
#[clippy::msrv = "1.87"]
mod wasm32;
#[cfg(utf8_codec_vectors = "x86_64")]
#[clippy::msrv = "1.87"]
mod x86_64;

#[cfg(utf8_codec_vectors = "aarch64")]
use aarch64 as native;
#[cfg(utf8_codec_vectors = "wasm32")]
use wasm32 as native;
#[cfg(utf8_codec_vectors = "x86_64")]
use x86_64 as native;

#[cfg(not(utf8_codec_vectors))]
mod native {
    use super::super::functions::Functions;

    pub(super) const KERNELS: [Functions; 0] = [];
    // The portable kernel.
    pub(crate) const KNOWN: Option<u8> = Some(0);
}

use super::functions::Functions;

/// The number of kernels.
pub(super) const COUNT: usize = native::KERNELS.len() + 1 + HAS_STD as usize;

/// All kernels, the best first. This is a constant, so that the functions that are not called are not part of a program.
pub(super) const ALL: [Functions; COUNT] = {
    let mut all = [unoptimized::STD; COUNT];
    let mut i = 0;
    while i < native::KERNELS.len() {
        all[i] = native::KERNELS[i];
        i += 1;
    }
    all[i] = portable::PORTABLE;
    all
};
/// The index of the portable kernel.
pub(super) const PORTABLE: u8 = native::KERNELS.len() as u8;
/// The index of the kernel of the standard library, if it is in use or can be selected.
pub(super) const STD: u8 = PORTABLE + HAS_STD as u8;
const HAS_STD: bool = cfg!(any(
    test,
    utf8_codec_unoptimized,
    utf8_codec_kernel = "std",
    utf8_codec_kernel = "choice",
    utf8_codec_kernel = "environment"
));

#[cfg(feature = "memchr")]
pub(super) use self::unoptimized::find_byte as find_byte_by_std;
pub(super) use self::unoptimized::validate as validate_by_std;
pub(super) use native::KNOWN;
#[cfg(all(test, utf8_codec_vectors))]
pub(super) use native::check_lanes;
#[cfg(feature = "base64")]
pub(super) use portable::base64;
pub(super) use portable::count;
pub(super) use portable::validation::validate as validate_portable;
#[cfg(feature = "transcode")]
pub(super) use portable::{latin, utf16};
