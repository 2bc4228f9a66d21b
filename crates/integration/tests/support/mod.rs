//! The parts of `tests/support` of the library that these tests use.
#![allow(dead_code, unreachable_pub, unused_imports)]

#[path = "../../../../tests/support/conformance.rs"]
pub mod conformance;
#[path = "../../../../tests/support/encodings.rs"]
pub mod encodings;
#[path = "../../../../tests/support/messages.rs"]
pub mod messages;
#[path = "../../../../tests/support/oracle.rs"]
pub mod oracle;
#[path = "../../../../tests/support/partitions.rs"]
mod partitions;
#[path = "../../../../tests/support/rng.rs"]
mod rng;

pub use partitions::{every_partition, some_partitions};
pub use rng::Rng;
