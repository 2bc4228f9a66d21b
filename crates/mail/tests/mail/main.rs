//! Mail: transfer encodings and whole messages.
#![allow(missing_docs)]

mod body;
mod charsets;
mod delimiters;
mod headers;
mod message;
mod obsolete;
mod quoted_printable;
mod reports;
mod text_types;
mod transfer;
mod unwrap;

use test_support as support;
