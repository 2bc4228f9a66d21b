//! What holds for all adapters: the same result for every partition, and what users of other crates reported.
#![allow(missing_docs)]

#[cfg(all(feature = "io", feature = "proxy", feature = "transcode"))]
mod lines;
mod partitions;
#[cfg(all(feature = "io", feature = "stream"))]
mod users;

#[path = "../support/mod.rs"]
mod support;
