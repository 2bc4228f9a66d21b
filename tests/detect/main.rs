//! Detection of encodings.
#![allow(missing_docs)]

mod detector;

#[path = "../support/mod.rs"]
mod support;
