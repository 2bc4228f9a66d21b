//! Filters for well-formed text.
//!
//! For proxies that must only forward well-formed text.
//!
//! | input | use | feature |
//! |---|---|---|
//! | an engine with body hooks: pingora, proxy-wasm | [`Filter::rewrite`] | `proxy` |
//! | an engine that edits its own buffers: Envoy | [`Filter::feed_with`] | `proxy` |
//! | HTTP bodies in such an engine | [`BodyRules`](crate::http::BodyRules), then one of these | `http-rules` |
//! | a protocol of lines: IRC, syslog, NDJSON | [`LineFilter`] | `proxy` |
//! | two tokio streams, such as TCP connections | `Relay` | `relay` |
//!
//! ```
//! use utf8_codec_proxy::{Edit, Filter, Verdict};
//!
//! let mut filter = Filter::new();
//! let mut sent = Vec::new();
//! for slice in [&b"caf\xC3"[..], b"\xA9"] {
//!     let verdict = filter.feed_with(slice, |edit| match edit {
//!         Edit::Pass(range) => sent.extend_from_slice(&slice[range]),
//!         Edit::Insert(bytes) => sent.extend_from_slice(bytes),
//!         _ => {}
//!     });
//!     assert_eq!(verdict, Verdict::Pass);
//! }
//! assert_eq!(sent, "café".as_bytes());
//! ```
//!
//! # Limits
//!
//! A [`Filter`] holds at most 3 bytes, those of an incomplete character, or none with [`ForwardPolicy::Bytes`]. If it checks
//! the escapes of JSON, it also holds an unfinished escape, at most 11 bytes. A [`LineFilter`] holds one line, up to its
//! limit. A `Relay` reads from a peer only after the other peer has read everything. It has one buffer for each direction
//! while bytes are in flight, and none while it waits.
//!
//! # Cost
//!
//! A slice of well-formed text is validated once. It is not copied and nothing is allocated, even if characters are split
//! between slices.
//!
//! # Feature
//!
//! `proxy` needs `alloc` and `bytes`, but neither `std` nor a runtime. `relay` adds tokio. The command
//! `utf8-codec proxy` (package `utf8-codec-cli`) runs a `Relay` with limits, logs and metrics.

#![cfg_attr(not(any(feature = "relay", test)), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

#[cfg(feature = "relay")]
mod buffer;
#[cfg(feature = "relay")]
mod deadline;
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
pub use filter::{Filter, Verdict};
pub use forward::ForwardPolicy;
pub use lines::LineFilter;
#[cfg(feature = "relay")]
pub use outcome::{Direction, End, Flow, Observer, Outcome};
#[cfg(feature = "relay")]
pub use relay::{RejectionPolicy, Relay};
