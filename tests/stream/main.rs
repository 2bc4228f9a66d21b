//! Streams of text.
#![allow(missing_docs)]

#[cfg(feature = "codec")]
mod sse;
mod text;
#[cfg(feature = "transcode")]
mod transcode;

#[path = "../support/mod.rs"]
mod support;
