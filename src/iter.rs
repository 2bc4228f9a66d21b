//! The iterators that the decoders return.

pub use crate::decoder::Pieces;
pub use crate::text::{TextPieces, TextRanges};
