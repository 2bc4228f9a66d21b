//! Code that the tests share, some of it with the tests of the library.
#![allow(dead_code, missing_docs, unreachable_pub)]

#[path = "../../../../tests/support/encodings.rs"]
pub mod encodings;
#[path = "../../../../tests/support/partitions.rs"]
pub mod partitions;
pub mod program;
#[path = "../../../../src/rng.rs"]
pub mod rng;
#[path = "../../../../tests/support/rows.rs"]
pub mod rows;
#[cfg(unix)]
pub mod server;
pub mod wait;

use rng::Rng;
