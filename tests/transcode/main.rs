//! Conversion between encodings.
#![allow(missing_docs)]

mod bom;
mod encodings;
mod rows;
mod transcoder;

#[path = "../support/mod.rs"]
mod support;
