//! The kernel for 32-bit WebAssembly with `simd128`.

mod simd128;

use crate::functions::Functions;

/// The kernels of this target, the best first.
pub(crate) const KERNELS: [Functions; 1] = [SIMD128];

/// An engine rejects a module with instructions that it does not have, so no detection is needed.
pub(crate) const KNOWN: Option<u8> = Some(0);

const SIMD128: Functions = Functions {
    validate_function: simd128::validate,
    validate_large_function: simd128::validate_large,
    is_text_function: simd128::is_text,
    #[cfg(feature = "transcode")]
    ascii_len: simd128::ascii_len,
    find_all: simd128::find_all,
    ..super::portable::extended("simd128", || true)
};

/// Compares each lane of the vector code with the scalar definition of its formula.
#[cfg(test)]
pub(crate) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    // SAFETY: the target has `simd128`.
    unsafe { simd128::check_lanes(pairs()) }
}
