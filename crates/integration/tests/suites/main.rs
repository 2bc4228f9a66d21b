//! The published suites in `../shared/conformance`, beside the checkout. Without that folder they are ignored. The tests of
//! the library contain the rules of the same standards as tables.
#![allow(missing_docs)]

mod adapters;
mod cases;
mod encodings;
mod mail;
mod text;

#[path = "../support/mod.rs"]
mod support;
