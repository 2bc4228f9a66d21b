#![doc = include_str!("../README.md")]
#![cfg_attr(not(any(feature = "relay", test)), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

#[cfg(feature = "relay")]
mod buffer;
#[cfg(feature = "relay")]
mod deadline;
#[cfg(feature = "relay")]
mod decoded_lines;
mod edit;
mod filter;
mod forward;
mod lines;
#[cfg(feature = "relay")]
mod outcome;
#[cfg(feature = "relay")]
mod pump;
#[cfg(feature = "relay")]
mod relay;
#[cfg(feature = "relay")]
mod stage;
pub mod websocket;

pub use edit::{Edit, LineError, RejectedLine};
pub use filter::Filter;
pub use forward::ForwardPolicy;
pub use lines::LineFilter;
#[cfg(feature = "relay")]
pub use outcome::{RelayDirection, RelayEnd, RelayFlow, RelayObserver, RelayOutcome};
#[cfg(feature = "relay")]
pub use relay::{RejectionPolicy, Relay};
