//! A program of its own, because Miri runs it: callers that break the contracts of traits, readers that panic or lie.
#![allow(missing_docs)]

#[cfg(all(feature = "futures-io", feature = "tokio-io"))]
mod io;

#[cfg(all(feature = "futures-io", feature = "tokio-io"))]
use test_support::attacks;
