//! Cases from public bug reports, a table for each room. The name of a case is the repository and the number of the report.
#![allow(missing_docs)]

#[cfg(all(feature = "cli", unix))]
mod check;
#[cfg(feature = "codec")]
mod codec;
#[cfg(all(feature = "cli", unix))]
mod declared;
#[cfg(all(feature = "cli", unix))]
mod fix;
#[cfg(feature = "http")]
mod forms;
#[cfg(feature = "tower")]
mod http;
#[cfg(feature = "mime")]
mod mail;
#[cfg(all(feature = "cli", unix))]
mod mojibake;
#[cfg(feature = "transcode")]
mod text;

#[path = "../support/mod.rs"]
mod support;
