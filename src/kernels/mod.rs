//! What is done in bulk, with vectors where the target has them.
//!
//! This folder has the `unsafe` code of the crate, apart from the few places elsewhere that make a `str` of bytes that
//! were just validated. Its rooms:
//!
//! | file | computes |
//! |---|---|
//! | `validation.rs` | where a stream becomes ill-formed |
//! | `utf16.rs` | UTF-16 from UTF-8, and UTF-8 from UTF-16 |
//! | `utf32.rs` | UTF-32 from UTF-8 and UTF-16, and back |
//! | `latin.rs` | UTF-8 from ISO 8859-1 and windows-1252, and back |
//! | `classes.rs` | every position of a byte of a class |
//! | `positions.rs` | every position of a byte |
//! | `base64.rs` | bytes from base64 |
//! | `count.rs` | how many lines, characters and UTF-16 units there are |
//!
//! What is wrong with an ill-formed sequence is not decided here: [`encoding`](crate::encoding) does that, over the at
//! most four bytes of the sequence.
//!
//! Below the rooms:
//!
//! | file | is |
//! |---|---|
//! | `dispatch.rs` | the choice of a kernel: the functions for the best instruction set that the CPU has |
//! | `arch/x86_64/`, `arch/aarch64/` | AVX-512, AVX2 and NEON: the type of their vectors, and what only they do |
//! | `arch/vector/` | the algorithm of validation over any type of vectors |
//! | `arch/portable/` | the kernel for every other target |
//! | `functions.rs` | what a kernel consists of |
//! | `state.rs` | what a scan keeps between chunks |
//! | `formula.rs` | the formula that the vectors compute, its derivation, and the same for one byte |

mod arch;
#[cfg(feature = "mime")]
pub(crate) mod base64;
pub(crate) mod classes;
pub(crate) mod count;
#[allow(unreachable_pub, reason = "public only where a benchmark chooses")]
mod dispatch;
mod formula;
mod functions;
#[cfg(feature = "transcode")]
pub(crate) mod latin;
#[cfg(feature = "codec")]
mod positions;
mod state;
#[cfg(test)]
mod tests;
#[cfg(feature = "transcode")]
pub(crate) mod utf16;
#[cfg(feature = "transcode")]
pub(crate) mod utf32;
mod validation;

#[cfg(utf8_codec_kernel = "choice")]
pub use dispatch::Kernel;
#[cfg(feature = "codec")]
pub(crate) use positions::Positions;
pub(crate) use state::{Boundary, ScanState};
pub(crate) use validation::{End, prefix, text, validate};
