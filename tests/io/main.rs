//! Readers and writers of std, tokio and futures-io.
#![allow(missing_docs)]

#[cfg(all(feature = "tokio-io", feature = "futures-io"))]
mod async_reader;
#[cfg(all(feature = "tokio-io", feature = "futures-io"))]
mod async_writer;
mod blocking_reader;
mod blocking_writer;

use test_support as support;
