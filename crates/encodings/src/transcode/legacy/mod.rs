//! The legacy encodings: those of the WHATWG Encoding Standard, and code pages.
//!
//! Single-byte encodings, and the sequences of 1 and 2 bytes of the others, are converted with `tables.rs`. Everything
//! else is converted by `encoding_rs`. Its encodings have a state only inside a sequence, except ISO-2022-JP. So a new
//! decoder or encoder is used for each call, between two sequences, and the transcoder remains small.
//! [`known::Iso2022Jp`] is the state of ISO-2022-JP, which is set again in the new decoder. `shifted.rs` has the
//! encodings with a state that `encoding_rs` lacks.

mod iso_2022_kr;
mod known;
mod shifted;
#[cfg_attr(not(feature = "std"), path = "no_tables.rs")]
mod tables;
mod utf_7;

pub(super) use known::{LegacySource, LegacyTarget};
#[cfg(feature = "codec")]
pub(crate) use tables::SingleByte;
