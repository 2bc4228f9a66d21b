//! The events of the feature `tracing`. A program of its own, because it sets a global subscriber, which panics.
#![allow(missing_docs)]

mod events;
mod panics;
mod payload;
