//! Cases from public bug reports, a table for each room. The name of a case is the repository and the number of the report.
#![allow(missing_docs)]

#[cfg(feature = "codec")]
mod codec;
#[cfg(feature = "http")]
mod forms;
#[cfg(feature = "tower")]
mod http;
#[cfg(feature = "mime")]
mod mail;
#[cfg(feature = "transcode")]
mod text;

#[path = "../support/mod.rs"]
mod support;
