//! Streams of text.
#![allow(missing_docs)]

mod text;

#[path = "../support/mod.rs"]
mod support;
