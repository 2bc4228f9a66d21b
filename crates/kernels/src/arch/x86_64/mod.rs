//! The kernels for x86-64.

/// The methods of a [`Vector`](super::vector::Vector) that prefetch.
macro_rules! prefetches {
    () => {
        #[inline(always)]
        fn prefetch(from: *const u8) {
            // SAFETY: a prefetch has no visible effect, and every x86-64 CPU has the instruction.
            unsafe { _mm_prefetch::<_MM_HINT_T0>(from.cast()) }
        }

        #[inline(always)]
        fn prefetches_ascii() -> bool {
            crate::arch::x86_64::vendor::prefetches_ascii()
        }

        #[inline(always)]
        fn prefetch_far(from: *const u8) {
            // SAFETY: same as for `prefetch`.
            unsafe { _mm_prefetch::<_MM_HINT_T1>(from.cast()) }
        }
    };
}

mod avx2;
#[cfg(utf8_codec_avx512)]
#[clippy::msrv = "1.89"]
mod avx512;
#[cfg_attr(not(utf8_codec_avx512), allow(dead_code, reason = "the features of AVX-512"))]
mod detect;
mod vendor;

use crate::functions::Functions;
#[cfg(feature = "transcode")]
use crate::functions::Utf16;

/// The kernels of this target, the best first.
pub(crate) const KERNELS: [Functions; 1 + cfg!(utf8_codec_avx512) as usize] = [
    #[cfg(utf8_codec_avx512)]
    AVX512,
    AVX2,
];

/// The kernel that the program was compiled for (`-C target-cpu`), which needs no detection.
pub(crate) const KNOWN: Option<u8> = if HAS_AVX512 { Some(0) } else { None };

/// Whether the compilation target has the features.
const HAS_AVX512: bool = cfg!(all(
    utf8_codec_avx512,
    target_feature = "avx512f",
    target_feature = "avx512bw",
    target_feature = "avx512vl",
    target_feature = "avx512vbmi",
    target_feature = "avx512vbmi2",
    target_feature = "bmi1",
    target_feature = "bmi2",
    target_feature = "popcnt"
));
const HAS_AVX2: bool = cfg!(all(target_feature = "avx2", target_feature = "bmi1", target_feature = "popcnt"));

/// Calls `copy_group` with the start of each group of `GROUP` bytes, up to the first one for which it returns `false`, because
/// the group has another byte. Returns the number of bytes copied. Groups may overlap.
#[cfg(feature = "transcode")]
#[inline(always)]
fn copy_groups<const GROUP: usize, const WIDTH: usize>(
    len: usize,
    output: *const u8,
    copy_group: impl Fn(usize) -> bool,
) -> usize {
    if len < GROUP || !copy_group(0) {
        return 0;
    }
    // The other groups are aligned in the output: a store that crosses cache lines costs more than such a load.
    let mut at = GROUP - (output as usize + GROUP) % WIDTH;
    while len - at >= GROUP && copy_group(at) {
        at += GROUP;
    }
    // The first group may end after `at`.
    at.max(GROUP)
}

/// Returns the functions of a module, which both kernels have.
macro_rules! functions {
    ($kernel:ident, $name:literal, $is_supported:expr) => {
        Functions {
            name: $name,
            is_supported: $is_supported,
            validate_function: $kernel::validate,
            validate_large_function: $kernel::validate_large,
            is_text_function: $kernel::is_text,
            count: $kernel::count::count,
            count_range: $kernel::count::count_range,
            count_ascii: $kernel::count::count_ascii,
            #[cfg(feature = "transcode")]
            ascii_len: $kernel::count::ascii_len,
            #[cfg(feature = "base64")]
            decode_base64: $kernel::base64::decode_groups,
            #[cfg(feature = "base64")]
            decode_base64_lines: $kernel::base64::decode_lines,
            find_all: $kernel::positions::find_all,
            find_class: $kernel::classes::find_class,
            // Every CPU with AVX-512 has AVX2.
            escapes_len: avx2::escapes::escapes_len,
            ascii_without: $kernel::classes::ascii_without,
            #[cfg(feature = "transcode")]
            decode_latin: [$kernel::latin::decode::<false>, $kernel::latin::decode::<true>],
            #[cfg(feature = "transcode")]
            encode_latin: |_, _| (0, 0),
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
        }
    };
}

#[cfg(utf8_codec_avx512)]
const AVX512: Functions = Functions {
    #[cfg(feature = "transcode")]
    encode_latin: avx512::latin::encode,
    ..functions!(avx512, "avx512", || HAS_AVX512 || detect::has_avx512())
};

const AVX2: Functions = functions!(avx2, "avx2", || HAS_AVX2 || detect::has_avx2());

/// Compares the lanes of every vector type of this CPU with the scalar definition of its formula.
#[cfg(test)]
pub(crate) fn check_lanes<I: Iterator<Item = (u8, u8)>>(pairs: fn() -> I) {
    #[cfg(utf8_codec_avx512)]
    if (AVX512.is_supported)() {
        // SAFETY: the CPU has the features.
        unsafe { avx512::check_lanes(pairs()) }
    }
    if (AVX2.is_supported)() {
        // SAFETY: the CPU has the features.
        unsafe { avx2::check_lanes(pairs()) }
    }
}

#[cfg(test)]
mod tests {
    use std::arch::is_x86_feature_detected as std_has;

    use super::detect;

    // Miri has no `cpuid`, and the features of the compilation target.
    #[cfg_attr(miri, ignore)]
    #[test]
    fn detection_agrees_with_std() {
        assert_eq!(detect::has_avx2(), std_has!("avx2") && std_has!("bmi1") && std_has!("popcnt"));
        let avx512 =
            std_has!("avx512f") && std_has!("avx512bw") && std_has!("avx512vl") && std_has!("avx512vbmi");
        let others = std_has!("avx512vbmi2") && std_has!("bmi1") && std_has!("bmi2") && std_has!("popcnt");
        assert_eq!(detect::has_avx512(), avx512 && others);
    }
}
