//! Work allocates nothing, or memory within bounds. A program of its own, because its global allocator counts.
#![allow(missing_docs)]

mod adapters;
mod bodies;
mod bounds;
mod filter;
mod repair;
mod text;

mod allocations;
use test_support as support;
