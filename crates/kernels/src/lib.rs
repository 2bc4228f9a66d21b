#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![allow(unsafe_code, reason = "the only crate of the family that has unsafe code")]

#[cfg(feature = "alloc")]
extern crate alloc;

mod adjacent;
#[cfg(feature = "bytes")]
mod append;
mod arch;
mod as_chunks;
#[cfg(feature = "transcode")]
pub mod ascii;
#[cfg(feature = "base64")]
pub mod base64;
pub mod boundary;
mod class;
pub mod class_search;
#[cfg(feature = "transcode")]
pub mod conversions;
pub mod copy;
pub mod count;
#[allow(unreachable_pub, reason = "public only if a benchmark selects the kernel")]
mod dispatch;
pub mod escapes;
mod formula;
mod functions;
pub mod grammar;
#[cfg(feature = "alloc")]
mod growing;
#[cfg(feature = "bytes")]
pub mod held;
#[allow(unreachable_pub, reason = "public only if a benchmark selects the kernel")]
mod kernel;
#[cfg(feature = "transcode")]
mod latin;
mod positions;
#[cfg(test)]
mod rng;
mod short;
mod short_str;
#[cfg(feature = "memchr")]
mod split;
mod state;
#[cfg(test)]
mod tests;
pub mod text_buffer;
#[cfg(feature = "transcode")]
mod utf16;
mod validation;
pub mod windows_1252;
pub mod words;

pub use adjacent::join_adjacent;
#[cfg(feature = "bytes")]
pub use append::append_line;
#[cfg(utf8_codec_kernel = "choice")]
pub use dispatch::Kernel;
#[cfg(feature = "alloc")]
pub use growing::GrowingString;
pub use positions::Positions;
#[cfg(feature = "memchr")]
pub use positions::find_byte;
#[cfg(feature = "transcode")]
pub use positions::first_position;
#[cfg(feature = "transcode")]
pub use positions::last_position;
pub use short_str::ShortStr;
#[cfg(feature = "memchr")]
pub use split::SplitAtByte;
pub use state::{AtBoundary, ScanState};
pub use validation::{
    TextEnd, likely_text, plain_prefix, prefix, prefix_of_text, prefix_within, text, validate,
};

/// Whether the crate is compiled at `opt-level = 0`, where calls of the standard library are faster than code that nothing
/// inlines.
pub const IS_UNOPTIMIZED: bool = cfg!(utf8_codec_unoptimized);
