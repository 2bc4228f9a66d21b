//! What holds for the crates together: their errors, the same lines from each reader of lines, hostile callers.
#![allow(missing_docs)]

mod errors;
mod lines;
mod memory;

use test_support as support;
use test_support::attacks;
