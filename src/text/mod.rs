//! The decoder with policies for ill-formed input and for the BOM.

#[cfg(feature = "alloc")]
mod append;
mod decoder;
mod pieces;
#[cfg(feature = "alloc")]
mod push;
mod ranges;
#[allow(missing_docs, reason = "internal")]
mod run;

#[cfg(feature = "codec")]
pub(crate) use crate::policy::Counters;
#[cfg(feature = "alloc")]
pub use append::{Sink, put, put_run};
pub use decoder::TextDecoder;
pub use pieces::{TextPiece, TextPieces};
#[cfg(feature = "alloc")]
pub use push::{DecodeError, from_utf8_lossy};
pub use ranges::TextRanges;
pub use run::{Part, Run};
