//! The kernels of [utf8-codec](https://docs.rs/utf8-codec): bulk operations on text, with vector instructions if the target has
//! them.
//!
//! **Internal.** Use utf8-codec. The crates of that family depend on the exact version of this one, whose functions may change in
//! every version.
//!
//! No function of this crate can cause undefined behavior, whatever its arguments: a state of another stream, or a closure that
//! returns other text. The result of such a call has no meaning, but every `str` is UTF-8. A call panics only where its documentation
//! says so. All `unsafe` code of the family is here.
//!
//! | module | computes |
//! |---|---|
//! | `validation.rs` | where a stream becomes ill-formed |
//! | `escapes.rs` | how far the escapes of JSON are those of characters |
//! | `utf16.rs` | UTF-16 from UTF-8, and UTF-8 from UTF-16 |
//! | `latin.rs` | UTF-8 from ISO 8859-1 and windows-1252, and back, mostly through UTF-16 |
//! | `ascii.rs` | a copy of ASCII or of text of the BMP, up to the first other byte |
//! | `copy.rs` | a copy of any bytes |
//! | `conversions.rs` | selects one of these by a pair of encodings |
//! | `classes.rs` | the positions of all characters of a class |
//! | `positions.rs` | the positions of a byte |
//! | `base64.rs` | bytes from base64 |
//! | `count.rs` | the number of lines, characters and UTF-16 code units |
//! | `append.rs` | a copy of a line without a terminator inside, without a kernel |
//! | `words.rs` | lengths and copies of a few bytes, without a kernel |
//! | `short_str.rs`, `text_buffer.rs`, `growing.rs`, `adjacent.rs`, `split.rs` | text that is made of parts that were validated apart, and parts of text |
//! | `held.rs` | text in buffers of the crate `bytes` |
//! | `grammar.rs` | the rows of UTF-8, and the state machine that rows are compiled to |
//! | `boundary.rs` | the start of the character at an index |
//! | `windows_1252.rs` | the characters of windows-1252 |
//! | `short.rs` | whether a few bytes are text, without a kernel |
//!
//! A kernel does not determine the kind of an ill-formed sequence. `grammar.rs` does that from the bytes of the sequence, which
//! are at most 4.
//!
//! These modules use the following ones:
//!
//! | module | contains |
//! |---|---|
//! | `dispatch.rs` | the selection of a kernel: the functions for the best instruction set that the CPU supports |
//! | `arch/x86_64/`, `arch/aarch64/`, `arch/wasm32/` | AVX-512, AVX2, NEON and `simd128`: their vector types, and the algorithms that only they have |
//! | `arch/vector/` | the validation algorithm, generic over the vector type |
//! | `arch/portable/` | the kernel for every other target, and loops that other kernels share |
//! | `arch/shuffles.rs` | the tables that AVX2 and NEON share |
//! | `arch/std.rs` | the validation of the standard library, for builds without optimizations |
//! | `functions.rs` | the functions that a kernel consists of |
//! | `kernel.rs` | a kernel that the CPU supports, and how its functions are called |
//! | `class.rs` | a class: the set of characters that a search finds |
//! | `state.rs` | the state that is kept between chunks |
//! | `formula.rs` | the validation formula, its derivation, and the same formula for one byte |
//! | `chunks.rs` | bytes as arrays |
//!
//! What the code for each instruction set costs and gains. A factor is the throughput divided by that of the portable kernel,
//! on Intel Sapphire Rapids in chunks of 8 KiB: the lowest and the highest one of ASCII, English, French, Cyrillic and CJK
//! (`benches/ratios/src/corpora.rs`), of those that the encodings have. Lines are without comments and tests, bytes those of
//! a release build. NEON was not measured on a CPU.
//!
//! | family | AVX-512: lines, bytes | factor | AVX2: lines, bytes | factor | NEON: lines |
//! |---|---|---|---|---|---|
//! | validation (measured with a copy) | 110, 7,088 | 1.8 to 12 | 200, 7,452 | 1.5 to 7 | 138 |
//! | classes and subsets | 146, 1,494 | 26 to 55 | 105, 6,030 | 11 to 25 | |
//! | counts and positions | 91, 1,573 | not measured | 76, 4,599 | not measured | |
//! | escapes of JSON, few and all of the text | those of AVX2 | | 60, 907 | 1.5, 7 | |
//! | copies (measured with CESU-8) | 37, 2,548 | 30 to 61 | 37, 2,064 | 16 to 53 | 50 |
//! | UTF-8 to UTF-16 and back | 256, 10,198 | 2.2 to 30 | 349, 12,958 | 1.6 to 16 | 288 |
//! | single bytes to UTF-8; UTF-8 to ISO 8859-1 | 145, 7,661 | 2.8 to 12 | 61, 12,846 | 2.1 to 4.5 | |
//! | base64 | 110, 2,770 | 5 to 8 | 93, 2,829 | 3.6 to 4.6 | 86 |
//!
//! The minimum supported Rust version is 1.85. Compilers before 1.87 build the portable kernel alone, those before 1.89 all kernels
//! except AVX-512: their instructions are not yet safe functions, or not stable.
//!
//! # Features
//!
//! | feature | adds |
//! |---|---|
//! | `alloc` | a `String` that grows |
//! | `std` | for tests, the selection of a kernel by the environment |
//! | `transcode` | conversions to and from UTF-16, ISO 8859-1 and windows-1252 |
//! | `base64` | base64 |
//! | `memchr` | the search for a byte |
//! | `bytes` | lines that are appended to a `BytesMut`, and text in `Bytes` and `BytesMut` |

#![cfg_attr(not(any(test, feature = "std")), no_std)]
#![allow(unsafe_code, reason = "the only crate of the family that has unsafe code")]

#[cfg(feature = "alloc")]
extern crate alloc;

mod adjacent;
#[cfg(feature = "bytes")]
mod append;
mod arch;
#[cfg(feature = "transcode")]
pub mod ascii;
#[cfg(feature = "base64")]
pub mod base64;
pub mod boundary;
mod chunks;
mod class;
pub mod classes;
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
