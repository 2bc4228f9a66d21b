//! The legacy encodings of the WHATWG Encoding Standard. Without the feature `encoding_rs` there are none.
//!
//! All of them have a state only inside a sequence, except ISO-2022-JP. So a new decoder or encoder of `encoding_rs` is
//! used for each call, between two sequences, and the transcoder remains `Copy`. [`known::Iso2022Jp`] is the state of
//! ISO-2022-JP, which is set again in the new decoder.

#[cfg(feature = "encoding_rs")]
mod known;
#[cfg(not(feature = "encoding_rs"))]
mod none;

#[cfg(feature = "encoding_rs")]
pub(super) use known::{LegacySource, LegacyTarget};
#[cfg(not(feature = "encoding_rs"))]
pub(super) use none::{LegacySource, LegacyTarget};
