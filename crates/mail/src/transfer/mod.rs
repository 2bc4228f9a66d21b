//! Content-Transfer-Encoding (RFC 2045 §6): decodes the encoded bytes on the wire.
//!
//! ```text
//!  encoded bytes ──> machine (identity | quoted-printable | base64) ──> block of decoded bytes ──> pieces
//!                        │                                                 and its runs
//!                        └──> errors, each after the bytes before it
//! ```
//!
//! A machine decodes into a block of bounded size and records, for each run of decoded bytes, where the run starts in
//! the encoded body. The position on the wire of any decoded byte is computed from the runs.

mod base64;
mod block;
mod decoder;
mod encoding;
mod error;
mod identity;
mod lines;
mod quoted_printable;

pub use decoder::{Decoded, TransferDecoder, TransferPiece};
pub use encoding::TransferEncoding;
pub use error::{TransferError, TransferErrorKind};
