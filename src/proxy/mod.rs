//! Filters between two peers: [`Filter`] without I/O, for any proxy that has body hooks, and [`Relay`], the TCP pump
//! around two of them.

mod edit;
mod filter;
mod lines;
#[cfg(feature = "relay")]
mod outcome;
#[cfg(feature = "relay")]
mod pump;
#[cfg(feature = "relay")]
mod relay;

pub use edit::{Edit, LineError, RejectedLine};
pub use filter::{Filter, Verdict};
pub use lines::LineFilter;
#[cfg(feature = "relay")]
#[cfg_attr(docsrs, doc(cfg(feature = "relay")))]
pub use outcome::{Direction, End, Flow, Outcome};
#[cfg(feature = "relay")]
#[cfg_attr(docsrs, doc(cfg(feature = "relay")))]
pub use relay::Relay;
