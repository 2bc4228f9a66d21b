//! Encodings and their grammars as data.
//!
//! | file | contents |
//! |---|---|
//! | `dialects.rs` | the rows of the encodings that resemble UTF-8: CESU-8, WTF-8 and others |
//! | `pages.rs` | the tables of the code pages of DOS and EBCDIC |
//! | `labels.rs` | the labels of the WHATWG Encoding Standard, and its table of windows-1252 |
//! | `names.rs` | the public type `Encoding`, its names and its labels |

#[cfg(feature = "transcode")]
pub(crate) mod dialects;
pub(crate) mod labels;
#[cfg_attr(
    not(feature = "transcode"),
    allow(dead_code, unreachable_pub, reason = "public with that feature")
)]
pub(crate) mod names;
#[cfg(feature = "encoding_rs")]
pub(crate) mod pages;

#[cfg(feature = "transcode")]
pub use names::{Encoding, UnknownEncoding};
