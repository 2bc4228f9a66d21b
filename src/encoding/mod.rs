//! Encodings and their grammar as data.
//!
//! `grammar` compiles rows of a grammar to the table that the one state machine walks, `dialects` holds the rows of
//! every UTF-8-shaped encoding but UTF-8, `windows_1252` the table of that encoding, and `names` the encodings and what
//! they are called.

#[cfg(feature = "transcode")]
pub(crate) mod dialects;
mod grammar;
#[cfg_attr(
    not(feature = "transcode"),
    allow(dead_code, unreachable_pub, reason = "public with that feature")
)]
pub(crate) mod names;
mod windows_1252;

pub(crate) use grammar::{Machine, Sequence, UTF_8, is_continuation};
#[cfg(test)]
pub(crate) use grammar::{State, Step};
#[cfg(feature = "transcode")]
pub use names::{Encoding, UnknownEncoding};
pub(crate) use windows_1252::windows_1252;
