//! Detection of encodings.
#![allow(missing_docs)]

mod detector;
mod utf_16;

#[path = "../support/mod.rs"]
mod support;
