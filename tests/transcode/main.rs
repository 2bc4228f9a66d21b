//! Conversion between encodings, and their detection.
#![allow(missing_docs)]

mod bom;
mod detector;
mod encodings;
#[cfg(feature = "encoding_rs")]
mod legacy;
mod rows;
mod surrogates;
mod transcoder;
mod utf_16;

#[path = "../support/mod.rs"]
mod support;
