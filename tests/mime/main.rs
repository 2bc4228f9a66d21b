//! Mail: transfer encodings and whole messages.
#![allow(missing_docs)]

mod body;
#[cfg(feature = "encoding_rs")]
mod charsets;
mod delimiters;
mod headers;
mod message;
mod obsolete;
mod quoted_printable;
mod reports;
mod text_types;
mod transfer;

#[path = "../support/mod.rs"]
mod support;
