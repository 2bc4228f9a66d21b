//! The command `check` without `--fix`.
#![cfg(unix)]
#![allow(missing_docs)]

mod action;
mod cases;
mod config;
mod declarations;
mod files;
mod formats;
mod gitattributes;
mod mojibake;

#[path = "../support/mod.rs"]
mod support;
