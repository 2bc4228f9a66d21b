//! A program of its own, because Miri runs it: callers that break the contracts of traits, readers that panic or lie.
#![allow(missing_docs)]

#[cfg(all(feature = "futures-io", feature = "io"))]
mod io;
#[cfg(all(feature = "codec", feature = "http", feature = "proxy", feature = "stream"))]
mod memory;

#[path = "../support/attacks.rs"]
mod attacks;
