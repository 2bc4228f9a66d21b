//! The decoder with policies for ill-formed input and for the BOM.

#[cfg(feature = "alloc")]
mod append;
#[cfg(feature = "alloc")]
mod cow;
mod decoder;
mod pieces;
mod ranges;
#[allow(missing_docs, reason = "internal")]
mod run;

#[cfg(feature = "codec")]
pub(crate) use crate::policy::Counters;
#[cfg(feature = "alloc")]
pub use append::{Sink, put, put_run};
#[cfg(feature = "alloc")]
pub use cow::{DecodeError, from_utf8_lossy};
pub use decoder::TextDecoder;
pub use pieces::{TextPiece, TextPieces};
pub use ranges::TextRanges;
pub use run::{Part, Run};
