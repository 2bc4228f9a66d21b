//! The layers for services, and the responses to what they reject.
#![allow(missing_docs)]

mod content;
mod drain;
mod limits;
#[cfg(feature = "protobuf")]
mod protobuf;
mod rejection;
mod reports;
mod request;
mod response;

#[path = "../support/mod.rs"]
mod support;
