//! Conversion between encodings.
#![allow(missing_docs)]

mod bom;
mod conformance;
mod differential;
mod encodings;
mod rows;
mod transcoder;

#[path = "../support/mod.rs"]
mod support;
