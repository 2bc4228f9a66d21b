//! Frames of WebSocket connections.
#![allow(missing_docs)]

mod compression;
mod filter;
mod frames;
mod reader;

use test_support as support;
