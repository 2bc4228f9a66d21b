//! Frames of WebSocket connections.
#![allow(missing_docs)]

mod filter;
mod frames;
mod reader;

#[path = "../support/mod.rs"]
mod support;
