//! Streams of text.
#![allow(missing_docs)]

#[cfg(feature = "codec")]
mod sse;
mod text;

#[path = "../support/mod.rs"]
mod support;
