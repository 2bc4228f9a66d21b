//! Frames of WebSocket connections.
#![allow(missing_docs)]

mod filter;
mod frames;
mod reader;

use test_support as support;
