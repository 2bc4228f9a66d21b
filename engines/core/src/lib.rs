//! What the filters of all engines share, over the slices of an engine's buffer.
//!
//! - [`config`] reads the settings of a filter from JSON.
//! - [`plan`] checks one direction of a connection or message, slice by slice, and returns the changes to the buffer.
//! - [`websocket`] checks the frames of a WebSocket connection in the same way.
//! - [`shift`](mod@shift) makes the changes in a copy of the buffer.
//!
//! An engine's module calls them from its hooks, and needs nothing else of the family of `utf8-codec`.

pub mod config;
mod outcome;
pub mod plan;
mod reason;
pub mod shift;
pub mod websocket;

pub use reason::{Reason, Rejection};
pub use utf8_codec::{ErrorKind, TextDecoder, from_utf8};
pub use utf8_codec_http::{MessageKind, RejectReason as MessageReason};
pub use utf8_codec_media::content_type;
pub use utf8_codec_proxy::websocket::FrameSender;
