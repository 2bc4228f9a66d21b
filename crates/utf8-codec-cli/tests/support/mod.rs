//! Code that the tests share, some of it with the tests of the library.
#![allow(dead_code, missing_docs, unreachable_pub)]

#[path = "../linked/encodings.rs"]
pub mod encodings;
#[path = "../linked/partitions.rs"]
pub mod partitions;
pub mod program;
#[path = "../linked/rng.rs"]
pub mod rng;
#[path = "../linked/rows.rs"]
pub mod rows;
#[cfg(unix)]
pub mod server;
pub mod wait;

use rng::Rng;
