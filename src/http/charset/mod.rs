//! Charsets other than UTF-8. Without the feature `encoding_rs` none is supported.

#[cfg(feature = "encoding_rs")]
mod known;
#[cfg(not(feature = "encoding_rs"))]
mod none;

#[cfg(feature = "encoding_rs")]
pub(crate) use known::{CharsetDecoder, SourceCharset};
#[cfg(not(feature = "encoding_rs"))]
pub(crate) use none::{CharsetDecoder, SourceCharset};
