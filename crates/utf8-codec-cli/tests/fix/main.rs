//! The command `check --fix`.
#![cfg(unix)]
#![allow(missing_docs)]

mod cases;
mod escapes;
mod files;
mod mojibake;
mod options;
mod races;

#[path = "../support/mod.rs"]
mod support;
