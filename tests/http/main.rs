//! HTTP bodies and the rules for them.
#![allow(missing_docs)]

#[cfg(feature = "http")]
mod body;
mod content_type;
#[cfg(feature = "http")]
mod documents;
#[cfg(feature = "http")]
mod forms;
#[cfg(feature = "http")]
mod json;
#[cfg(feature = "http")]
mod multipart;
#[cfg(all(feature = "http", feature = "protobuf"))]
mod protobuf;
#[cfg(feature = "http")]
mod urlencoded;

#[path = "../support/mod.rs"]
mod support;
