//! The decoder with what to do about ill-formed input and about the BOM.

#[cfg(feature = "alloc")]
mod append;
mod decoder;
mod pieces;
#[cfg(feature = "alloc")]
mod whole;

#[cfg(any(feature = "codec", feature = "proxy"))]
pub(crate) use crate::policy::Counters;
#[cfg(feature = "proxy")]
pub(crate) use append::{Sink, put};
pub use decoder::TextDecoder;
pub use pieces::{TextPiece, TextPieces};
#[cfg(feature = "alloc")]
pub use whole::from_utf8_lossy;
