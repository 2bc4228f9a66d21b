//! Filters between two peers: [`Filter`] without I/O, for any proxy that has body hooks, and [`Relay`], the TCP pump
//! around two of them.

mod filter;
mod outcome;
mod pump;
mod relay;

pub use filter::{Filter, Verdict};
pub use outcome::{Direction, End, Flow, Outcome};
pub use relay::Relay;
