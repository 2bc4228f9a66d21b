//! The events of the feature `tracing`. A program of its own, because it sets a global subscriber, which panics.
#![allow(missing_docs)]

#[cfg(all(feature = "codec", feature = "io"))]
mod events;
mod panics;
#[cfg(all(
    feature = "codec",
    feature = "io",
    feature = "mime",
    feature = "protobuf",
    feature = "stream",
    feature = "tower",
    feature = "websocket"
))]
mod payload;
