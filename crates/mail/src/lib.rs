#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]

extern crate alloc;

mod body;
mod charset;
mod encoded_word;
mod error;
mod escaped;
mod extended;
mod headers;
mod kind;
mod message;
mod multipart;
mod obsolete;
mod plain;
mod transfer;
pub mod unwrap;
mod verdict;
mod xml;

pub use body::{BodyDecoder, BodyPiece};
pub use error::{MimeError, MimeErrorKind, MimeLayer, StructureErrorKind};
pub use message::MessageValidator;
pub use transfer::{
    Decoded, TransferDecoder, TransferEncoding, TransferError, TransferErrorKind, TransferPiece,
};
pub use verdict::{MessageVerdict, MimeSettings, PartKind, PartPath, PartVerdict};
