//! The layers for services, and the responses to what they reject.
#![allow(missing_docs)]

mod content;
mod drain;
mod fields;
mod limits;
mod protobuf;
mod rejection;
mod reports;
mod request;
mod response;

use test_support as support;
