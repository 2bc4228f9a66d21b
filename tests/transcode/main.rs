//! Conversion between encodings.
#![allow(missing_docs)]

mod bom;
mod conformance;
mod encodings;
mod transcoder;

#[path = "../support/mod.rs"]
mod support;
