//! HTTP bodies and the rules for them.
#![allow(missing_docs)]

mod body;
#[cfg(feature = "inflate")]
mod compressed;
mod documents;
mod forms;
mod json;
mod multipart;
mod protobuf;
mod trailers;
mod types;
mod urlencoded;

use test_support as support;
