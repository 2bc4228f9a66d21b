//! The filters of proxies, and the relay.
#![allow(missing_docs)]

mod filter;
mod json;
mod line_filter;
#[cfg(feature = "relay")]
mod relay;
#[cfg(feature = "relay")]
mod relay_lines;
#[cfg(feature = "relay")]
mod relay_resets;
#[cfg(feature = "relay")]
mod relay_timers;

#[path = "../support/mod.rs"]
mod support;
