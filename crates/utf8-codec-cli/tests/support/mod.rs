//! Code that the tests share.
#![allow(dead_code, missing_docs, unreachable_pub)]

pub mod program;
#[cfg(unix)]
pub mod server;
pub mod wait;
