//! What holds for all adapters: the same result for every partition, and what users of other crates reported.
#![allow(missing_docs)]

mod partitions;
#[cfg(all(feature = "tokio-io", feature = "stream"))]
mod users;

use test_support as support;
