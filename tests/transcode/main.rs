//! Conversion between encodings.
#![allow(missing_docs)]

mod bom;
mod encodings;
#[cfg(feature = "encoding_rs")]
mod legacy;
mod rows;
mod surrogates;
mod transcoder;

#[path = "../support/mod.rs"]
mod support;
