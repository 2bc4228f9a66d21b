//! Work allocates nothing, or memory within bounds. A program of its own, because its global allocator counts.
#![allow(missing_docs)]

#[cfg(all(
    feature = "codec",
    feature = "futures-io",
    feature = "http",
    feature = "io",
    feature = "mime",
    feature = "proxy",
    feature = "stream",
    feature = "transcode"
))]
mod adapters;
#[cfg(feature = "tower")]
mod bodies;
#[cfg(all(feature = "codec", feature = "stream", feature = "transcode"))]
mod bounds;
#[cfg(feature = "proxy")]
mod filter;
#[cfg(feature = "protobuf")]
mod repair;
#[cfg(feature = "alloc")]
mod text;

#[path = "../support/allocations.rs"]
mod allocations;
#[cfg(feature = "tower")]
#[path = "../support/mod.rs"]
mod support;
