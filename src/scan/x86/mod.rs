//! The kernels for x86-64.

mod avx2;
mod avx512;
#[cfg(feature = "mime")]
pub(super) mod base64;
#[cfg(feature = "codec")]
pub(super) mod places;
#[cfg(feature = "transcode")]
pub(super) mod utf16;

use super::kernel::Implementation;

/// Asks the CPU.
#[cfg(feature = "std")]
macro_rules! has {
    ($($feature:tt)*) => {
        true $(&& std::arch::is_x86_feature_detected!($feature))*
    };
}

/// Without the standard library nobody can be asked but the compiler.
#[cfg(not(feature = "std"))]
macro_rules! has {
    ($($feature:tt)*) => {
        cfg!(all($(target_feature = $feature),*))
    };
}

/// The best first.
pub(super) static KERNELS: [&Implementation; 2] = [&AVX512, &AVX2];

/// The kernel that the program was compiled for (`-C target-cpu`), which needs no question.
pub(super) const KNOWN: Option<&Implementation> = if cfg!(all(
    target_feature = "avx512f",
    target_feature = "avx512bw",
    target_feature = "avx512vl",
    target_feature = "avx512vbmi",
    target_feature = "avx512vbmi2",
    target_feature = "bmi1",
    target_feature = "bmi2",
    target_feature = "popcnt"
)) {
    Some(&AVX512)
} else {
    None
};

static AVX512: Implementation = Implementation {
    name: "avx512",
    is_supported: || has!("avx512f" "avx512bw" "avx512vl" "avx512vbmi" "avx512vbmi2" "bmi1" "bmi2" "popcnt"),
    take: avx512::take,
    is_text: avx512::is_text,
};

static AVX2: Implementation = Implementation {
    name: "avx2",
    is_supported: || has!("avx2" "bmi1" "popcnt"),
    take: avx2::take,
    is_text: avx2::is_text,
};

/// The lanes of each kind of vector that this machine has.
#[cfg(test)]
pub(super) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    if (AVX512.is_supported)() {
        // SAFETY: the CPU was asked.
        unsafe { avx512::check_lanes(pairs()) }
    }
    if (AVX2.is_supported)() {
        // SAFETY: the CPU was asked.
        unsafe { avx2::check_lanes(pairs()) }
    }
}
