//! The portable kernel, for every target.

#[cfg(feature = "base64")]
pub(crate) mod base64;
pub(super) mod classes;
pub(crate) mod count;
#[cfg(feature = "transcode")]
pub(crate) mod latin;
pub(crate) mod positions;
#[cfg(feature = "transcode")]
pub(crate) mod utf16;
pub(crate) mod validation;

use crate::functions::{Functions, Validate};

pub(super) const PORTABLE: Functions = extended("portable", || true);

/// Returns the functions of this kernel, with another name and another test of the CPU. Other kernels replace those for
/// which they have their own.
pub(super) const fn extended(name: &'static str, is_supported: fn() -> bool) -> Functions {
    Functions { name, is_supported, ..FUNCTIONS }
}

const VALIDATE: Validate = |chunk, mut state| {
    let result = validation::validate(chunk, &mut state);
    (state.bits(), result)
};

const FUNCTIONS: Functions = Functions {
    name: "portable",
    is_supported: || true,
    validate_function: VALIDATE,
    validate_large_function: VALIDATE,
    is_text_function: validation::is_text,
    count: count::count,
    count_range: count::count_range,
    count_ascii: count::count_ascii,
    #[cfg(feature = "transcode")]
    ascii_len: count::ascii_len,
    #[cfg(feature = "base64")]
    decode_base64: base64::decode_groups,
    #[cfg(feature = "base64")]
    decode_base64_lines: |encoded, output, form| {
        base64::decode_lines(encoded, output, form, base64::decode_groups)
    },
    find_all: positions::find_all,
    find_class: classes::find_class,
    escapes_len: |_| 0,
    ascii_without: |_, _| 0,
    #[cfg(feature = "transcode")]
    utf16: None,
    #[cfg(feature = "transcode")]
    decode_latin: [latin::decode_portable::<false>, latin::decode_portable::<true>],
    #[cfg(feature = "transcode")]
    encode_latin: |_, _| (0, 0),
    #[cfg(feature = "transcode")]
    copy_below: [|_, _| 0; 4],
};
