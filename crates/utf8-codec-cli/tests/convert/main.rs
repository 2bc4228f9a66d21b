//! The commands `convert`, `detect` and `mail`, and what all commands have in common.
#![allow(missing_docs)]

mod legacy;
mod mail;
#[cfg(unix)]
mod output;
mod text;
mod usage;

#[path = "../support/mod.rs"]
mod support;
