//! Streams of text.
#![allow(missing_docs)]

#[cfg(feature = "codec")]
mod lines;
#[cfg(feature = "codec")]
mod sse;
#[cfg(feature = "codec")]
#[path = "../codec/sse_model.rs"]
mod sse_model;
mod text;

use test_support as support;
