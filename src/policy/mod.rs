//! Policies for ill-formed sequences and for the BOM.
//!
//! [`Policies`] applies both. Each [`TextDecoder`](crate::TextDecoder), and each `Transcoder` of `utf8-codec-encodings`,
//! has its own.

mod counters;
mod names;
mod on_error;
#[allow(missing_docs, reason = "internal")]
mod policies;

pub use counters::Counters;
#[doc(inline)]
pub use kernels::ShortStr;
pub use on_error::{Ascii, BomPolicy, ErrorPolicy};
pub(crate) use policies::log;
pub use policies::{First, Policies};
