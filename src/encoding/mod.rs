//! Encodings and their grammars as data.
//!
//! | file | contents |
//! |---|---|
//! | `grammar.rs` | the rows of UTF-8, and the state machine that rows are compiled to |
//! | `dialects.rs` | the rows of the encodings that resemble UTF-8: CESU-8, WTF-8 and others |
//! | `pages.rs` | the tables of the code pages of DOS and EBCDIC |
//! | `labels.rs` | the labels of the WHATWG Encoding Standard, and its table of windows-1252 |
//! | `names.rs` | the public type `Encoding`, its names and its labels |

#[cfg(feature = "transcode")]
pub(crate) mod dialects;
mod grammar;
pub(crate) mod labels;
#[cfg_attr(
    not(feature = "transcode"),
    allow(dead_code, unreachable_pub, reason = "public with that feature")
)]
pub(crate) mod names;
#[cfg(feature = "encoding_rs")]
pub(crate) mod pages;

pub(crate) use grammar::{Machine, Sequence, UTF_8, is_continuation};
#[cfg(test)]
pub(crate) use grammar::{State, Step};
pub(crate) use labels::windows_1252;
#[cfg(feature = "transcode")]
pub use names::{Encoding, UnknownEncoding};
