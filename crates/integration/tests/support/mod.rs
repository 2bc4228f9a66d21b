//! The parts of `tests/support` of the library that these tests use.
#![allow(dead_code, unreachable_pub, unused_imports)]

#[path = "../../../../tests/support/bodies.rs"]
pub mod bodies;
#[path = "../../../../tests/support/cases.rs"]
pub mod cases;
#[path = "../../../../tests/support/encodings.rs"]
pub mod encodings;
#[path = "../../../../tests/support/messages.rs"]
pub mod messages;
#[path = "../../../../tests/support/oracle.rs"]
pub mod oracle;
#[path = "../../../../tests/support/partitions.rs"]
mod partitions;
#[path = "../../../../tests/support/protobuf/mod.rs"]
pub mod protobuf;
#[path = "../../../../src/rng.rs"]
mod rng;
#[path = "../../../../tests/support/rows.rs"]
pub mod rows;
#[path = "../../../../tests/support/verdict.rs"]
pub mod verdict;

pub use partitions::{every_partition, some_partitions};
pub use rng::Rng;

pub fn unhex(hex: &str) -> Vec<u8> {
    assert!(hex.len().is_multiple_of(2), "{hex}");
    (0..hex.len()).step_by(2).map(|i| u8::from_str_radix(&hex[i..i + 2], 16).expect("hexadecimal")).collect()
}

pub fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}
