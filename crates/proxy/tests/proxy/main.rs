//! The filters of proxies, and the relay.
#![allow(missing_docs)]

mod filter;
mod json;
mod line_filter;
mod relay;
mod relay_lines;
mod relay_resets;
mod relay_timers;

use test_support as support;
