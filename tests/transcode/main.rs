//! Conversion between encodings.
#![allow(missing_docs)]

mod bom;
mod encodings;
mod rows;
mod surrogates;
mod transcoder;

#[path = "../support/mod.rs"]
mod support;
