//! The kernels for x86-64.

mod avx2;
mod avx512;
mod vendor;

use crate::kernels::functions::Functions;
#[cfg(feature = "transcode")]
use crate::kernels::functions::Utf16;

/// Whether the CPU has the features, detected at run time.
#[cfg(feature = "std")]
macro_rules! has {
    ($($feature:tt)*) => {
        true $(&& std::arch::is_x86_feature_detected!($feature))*
    };
}

/// Without the standard library there is no detection. Only the features of the compilation target are used.
#[cfg(not(feature = "std"))]
macro_rules! has {
    ($($feature:tt)*) => {
        cfg!(all($(target_feature = $feature),*))
    };
}

/// The kernels of this target, the best first.
pub(in crate::kernels) static KERNELS: [&Functions; 2] = [&AVX512, &AVX2];

/// The kernel that the program was compiled for (`-C target-cpu`), which needs no detection.
pub(in crate::kernels) const KNOWN: Option<&Functions> = if cfg!(all(
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

/// Returns the functions of a module, which both kernels have.
macro_rules! functions {
    ($kernel:ident, $name:literal, $is_supported:expr) => {
        Functions {
            name: $name,
            is_supported: $is_supported,
            validate: $kernel::validate,
            is_text: $kernel::is_text,
            count: $kernel::count::count,
            count_range: $kernel::count::count_range,
            count_ascii: $kernel::count::count_ascii,
            #[cfg(feature = "transcode")]
            ascii_len: $kernel::count::ascii_len,
            #[cfg(feature = "mime")]
            decode_base64: $kernel::base64::decode_groups,
            #[cfg(feature = "mime")]
            decode_base64_lines: $kernel::base64::decode_lines,
            #[cfg(feature = "mime")]
            decode_quoted: Some(avx2::quoted::decode_segments),
            find_all: $kernel::positions::find_all,
            find_class: $kernel::classes::find_class,
            ascii_without: $kernel::classes::ascii_without,
            #[cfg(feature = "transcode")]
            decode_latin: [$kernel::latin::decode::<false>, $kernel::latin::decode::<true>],
            #[cfg(feature = "transcode")]
            copy_below: [
                $kernel::copy::below::<0x80, true>,
                $kernel::copy::below::<0x80, false>,
                $kernel::copy::below::<0xF0, true>,
                $kernel::copy::below::<0xF0, false>,
            ],
            #[cfg(feature = "transcode")]
            utf16: Some(Utf16 {
                encode: [$kernel::to_utf16::encode::<false>, $kernel::to_utf16::encode::<true>],
                encode_ascii: [
                    $kernel::to_utf16::encode_ascii::<false>,
                    $kernel::to_utf16::encode_ascii::<true>,
                ],
                decode: [$kernel::utf16::decode::<false>, $kernel::utf16::decode::<true>],
            }),
            #[cfg(feature = "transcode")]
            encode_utf32: $kernel::ENCODE_UTF32,
            #[cfg(feature = "transcode")]
            units: &$kernel::UNITS,
        }
    };
}

static AVX512: Functions = functions!(
    avx512,
    "avx512",
    || has!("avx2" "avx512f" "avx512bw" "avx512vl" "avx512vbmi" "avx512vbmi2" "bmi1" "bmi2" "popcnt")
);

static AVX2: Functions = functions!(avx2, "avx2", || has!("avx2" "bmi1" "popcnt"));

/// Compares the lanes of every vector type of this CPU with the scalar definition of its formula.
#[cfg(test)]
pub(in crate::kernels) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    if (AVX512.is_supported)() {
        // SAFETY: the CPU has the features.
        unsafe { avx512::check_lanes(pairs()) }
    }
    if (AVX2.is_supported)() {
        // SAFETY: the CPU has the features.
        unsafe { avx2::check_lanes(pairs()) }
    }
}
