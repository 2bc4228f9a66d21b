//! Cases from public bug reports, a table for each room. The name of a case is the repository and the number of the report.
#![cfg(unix)]
#![allow(missing_docs)]

mod check;
mod declared;
mod fix;
mod mojibake;

#[path = "../support/mod.rs"]
mod support;
