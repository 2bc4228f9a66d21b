//! The decoder with policies for ill-formed input and for the BOM.

#[cfg(feature = "alloc")]
mod append;
mod decoder;
#[cfg(feature = "alloc")]
mod many;
mod pieces;
#[cfg(feature = "alloc")]
mod push;
mod ranges;

#[cfg(feature = "codec")]
pub(crate) use crate::policy::Counters;
#[cfg(feature = "alloc")]
pub use append::{Sink, put};
pub use decoder::TextDecoder;
#[cfg(feature = "alloc")]
pub use many::{ManyStrings, RepairManyError, repair_many};
pub use pieces::{TextPiece, TextPieces};
#[cfg(feature = "alloc")]
pub use push::{DecodeError, from_utf8_lossy};
pub use ranges::TextRanges;
