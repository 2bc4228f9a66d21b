//! HTTP bodies that are certainly text.
//!
//! A gateway that reads a body with a lossy decoder stores U+FFFD where its client sent something else; one that does
//! not look hands the bytes on to a database, a log or another parser, which may. Here they are looked at once, as
//! they come, and refused with their offset, or repaired as told.
//!
//! - [`Utf8Body`] is a `http_body::Body` around another: for whoever has a body in hand.
//! - [`BodyRules`] say which bodies are text and in which charset; `BodyRules::apply` wraps a body by them.
//! - `ValidateUtf8RequestLayer` and `ValidateUtf8ResponseLayer` do that for every message of a tower service.
//! - [`Refusal`] is why a message was refused, and the problem document (RFC 9457) that says so.
//!
//! What is not done: a body in a content coding is not decompressed (put the layer inside decompression), what is
//! percent-encoded inside a form body is not decoded, and text inside of files, archives or images is not text here.
//!
//! The rooms, from the inside out: `filter` is what happens to bytes (`TextChunks`, `multipart`, `transcode`), `body`
//! drives it by `poll_frame`, `gather` takes a body whole, `rules` choose a filter, `config` is what both layers do,
//! `request` and `response` are the layers. `watch` tells the news of a body to counters, log and layer.

pub(crate) mod body;
pub(crate) mod checked;
pub(crate) mod counters;
pub(crate) mod drain;
pub(crate) mod error;
pub(crate) mod fields;
pub(crate) mod filter;
pub(crate) mod gather;
pub(crate) mod integrity;
mod joint;
mod multipart;
mod part;
pub(crate) mod refusal;
pub(crate) mod rules;
#[cfg(feature = "encoding_rs")]
mod transcode;
#[cfg(not(feature = "encoding_rs"))]
#[path = "transcode_none.rs"]
mod transcode;
pub(crate) mod urlencoded;
pub(crate) mod watch;

pub use body::Utf8Body;
pub use checked::CheckedBody;
pub use counters::{HttpCounters, HttpCounts};
pub use error::{BoxError, Undecodable, Utf8BodyError};
pub use multipart::MultipartError;
pub use refusal::{Message, Reason, Refusal};
pub use rules::{BodyRules, MissingCharset, MissingContentType, OtherCharset, Uncheckable, is_text_type};
