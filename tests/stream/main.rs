//! Streams of text.
#![allow(missing_docs)]

#[cfg(feature = "codec")]
mod sse;
mod text;

use test_support as support;
