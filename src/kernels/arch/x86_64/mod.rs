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

static AVX512: Functions = Functions {
    name: "avx512",
    is_supported: || has!("avx2" "avx512f" "avx512bw" "avx512vl" "avx512vbmi" "avx512vbmi2" "bmi1" "bmi2" "popcnt"),
    validate: avx512::validate,
    is_text: avx512::is_text,
    count: avx512::count::count,
    count_range: avx512::count::count_range,
    count_ascii: avx512::count::count_ascii,
    #[cfg(feature = "transcode")]
    ascii_len: avx512::count::ascii_len,
    #[cfg(feature = "mime")]
    decode_base64: Some(avx512::base64::decode_groups),
    #[cfg(feature = "mime")]
    decode_base64_lines: Some(avx512::base64::decode_lines),
    #[cfg(feature = "mime")]
    decode_quoted: Some(avx2::quoted::decode_segments),
    #[cfg(feature = "codec")]
    find_all: avx512::positions::find_all,
    find_class: avx512::classes::find_class,
    ascii_without: Some(avx512::classes::ascii_without),
    #[cfg(feature = "transcode")]
    utf16: Some(Utf16 {
        encode: [avx512::utf16::encode::<false>, avx512::utf16::encode::<true>],
        encode_ascii: Some([avx512::utf16::encode_ascii::<false>, avx512::utf16::encode_ascii::<true>]),
        decode: [avx512::utf16::decode::<false>, avx512::utf16::decode::<true>],
    }),
    #[cfg(feature = "transcode")]
    encode_utf32: Some([avx512::utf32::encode::<false>, avx512::utf32::encode::<true>]),
    #[cfg(feature = "transcode")]
    decode_latin: Some([avx512::latin::decode::<false>, avx512::latin::decode::<true>]),
    #[cfg(feature = "transcode")]
    copy_below: Some([
        [avx512::copy::below::<0x80, true>, avx512::copy::below::<0x80, false>],
        [avx512::copy::below::<0xF0, true>, avx512::copy::below::<0xF0, false>],
    ]),
    #[cfg(feature = "transcode")]
    units: &avx512::UNITS,
};

static AVX2: Functions = Functions {
    name: "avx2",
    is_supported: || has!("avx2" "bmi1" "popcnt"),
    validate: avx2::validate,
    is_text: avx2::is_text,
    count: avx2::count::count,
    count_range: avx2::count::count_range,
    count_ascii: avx2::count::count_ascii,
    #[cfg(feature = "transcode")]
    ascii_len: avx2::count::ascii_len,
    #[cfg(feature = "mime")]
    decode_base64: Some(avx2::base64::decode_groups),
    #[cfg(feature = "mime")]
    decode_base64_lines: Some(avx2::base64::decode_lines),
    #[cfg(feature = "mime")]
    decode_quoted: Some(avx2::quoted::decode_segments),
    #[cfg(feature = "codec")]
    find_all: avx2::positions::find_all,
    find_class: avx2::classes::find_class,
    ascii_without: Some(avx2::classes::ascii_without),
    #[cfg(feature = "transcode")]
    utf16: Some(Utf16 {
        encode: [avx2::to_utf16::encode::<false>, avx2::to_utf16::encode::<true>],
        encode_ascii: Some([avx2::to_utf16::encode_ascii::<false>, avx2::to_utf16::encode_ascii::<true>]),
        decode: [avx2::utf16::decode::<false>, avx2::utf16::decode::<true>],
    }),
    #[cfg(feature = "transcode")]
    encode_utf32: None,
    #[cfg(feature = "transcode")]
    decode_latin: Some([avx2::latin::decode::<false>, avx2::latin::decode::<true>]),
    #[cfg(feature = "transcode")]
    copy_below: Some([
        [avx2::copy::below::<0x80, true>, avx2::copy::below::<0x80, false>],
        [avx2::copy::below::<0xF0, true>, avx2::copy::below::<0xF0, false>],
    ]),
    #[cfg(feature = "transcode")]
    units: &avx2::UNITS,
};

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
