//! Filters between two peers: [`Filter`] without I/O, for any proxy that has body hooks, and [`Relay`], the TCP pump
//! around two of them.

mod filter;
mod pump;
mod relay;

pub use filter::{Filter, Verdict};
pub use pump::Flow;
pub use relay::{Direction, End, Outcome, Relay};
