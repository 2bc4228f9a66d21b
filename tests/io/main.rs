//! Readers and writers of std, tokio and futures-io.
#![allow(missing_docs)]

#[cfg(all(feature = "io", feature = "futures-io"))]
mod async_reader;
#[cfg(all(feature = "io", feature = "futures-io"))]
mod async_writer;
mod blocking_reader;
mod blocking_writer;
#[cfg(feature = "transcode")]
mod transcode;

#[path = "../support/mod.rs"]
mod support;
