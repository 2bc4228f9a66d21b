//! MIME: the text of bodies and of whole messages, judged while they stream.
//!
//! [`BodyDecoder`] takes one body under its transfer encoding, [`MessageValidator`](crate::mime::MessageValidator) a whole
//! message (RFC 5322, RFC 2045 to 2049, RFC 6532). Neither does I/O, neither holds more than a header and a few
//! kibibytes.

mod body;
mod encoded_word;
mod error;
mod headers;
mod kind;
mod message;
mod multipart;
mod plain;
#[cfg(feature = "io")]
mod read;
mod transfer;
mod verdict;

pub use body::{BodyDecoder, BodyPiece};
pub use error::{MimeError, MimeErrorKind, MimeLayer, StructureErrorKind};
pub use message::MessageValidator;
pub use transfer::{
    Decoded, TransferDecoder, TransferEncoding, TransferError, TransferErrorKind, TransferPiece,
};
pub use verdict::{MessageVerdict, MimeLimits, PartKind, PartPath, PartVerdict};
