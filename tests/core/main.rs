//! Floor 1: the decoder, its errors, the validator, boundaries.
#![allow(missing_docs)]

mod boundary;
mod decoder;
#[cfg(all(feature = "codec", feature = "http", feature = "mime", feature = "stream"))]
mod errors;
mod many;
mod rows;
mod standards;
mod validator;

#[path = "../support/mod.rs"]
mod support;
