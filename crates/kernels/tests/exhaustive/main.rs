//! The public functions of the crate on all input of a kind, with the kernel that is in use:
//!
//! ```text
//! cargo test --release -p utf8-codec-kernels --all-features -- --ignored
//! ```
//!
//! `src/tests/` has the same for what is private: every lane, every pair of bytes and the loops, for each kernel.
#![cfg(all(feature = "base64", feature = "memchr", feature = "transcode"))]
#![allow(unsafe_code, reason = "memory between pages that cannot be accessed")]

mod abnf;
mod cuts;
mod four_bytes;
mod grammar;
mod guard_pages;
#[path = "../../src/tests/guarded.rs"]
mod guarded;
mod long_texts;
#[path = "../../src/rng.rs"]
mod rng;
