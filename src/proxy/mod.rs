//! Filters between two peers: [`Filter`] without I/O, for any proxy that has body hooks, and [`Relay`], the TCP pump
//! around two of them.

#[cfg(feature = "relay")]
mod buffer;
#[cfg(feature = "relay")]
mod deadline;
mod edit;
mod filter;
mod lines;
#[cfg(feature = "relay")]
mod outcome;
#[cfg(feature = "relay")]
mod pump;
#[cfg(feature = "relay")]
mod relay;
#[cfg(feature = "relay")]
mod stage;

pub use edit::{Edit, LineError, RejectedLine};
pub use filter::{Filter, Verdict};
pub use lines::LineFilter;
#[cfg(feature = "relay")]
#[cfg_attr(docsrs, doc(cfg(feature = "relay")))]
pub use outcome::{Direction, End, Flow, Observer, Outcome};
#[cfg(feature = "relay")]
#[cfg_attr(docsrs, doc(cfg(feature = "relay")))]
pub use relay::{OnRefusal, Relay};
