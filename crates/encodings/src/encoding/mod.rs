//! Encodings and their grammars as data.
//!
//! | file | contents |
//! |---|---|
//! | `dialects.rs` | the rows of the encodings that resemble UTF-8: CESU-8, WTF-8 and others |
//! | `pages.rs` | the tables of the code pages of DOS and EBCDIC |
//! | `labels.rs` | the labels of the WHATWG Encoding Standard |
//! | `names.rs` | the public type `Encoding`, its names and its labels |

pub(crate) mod dialects;
mod labels;
pub(crate) mod names;
pub(crate) mod pages;

pub use labels::is_label;
pub use names::{Encoding, UnknownEncoding};
