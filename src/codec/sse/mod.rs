//! Server-sent events: [`Event`] and [`SseCodec`](super::SseCodec).
//!
//! For clients and servers of `text/event-stream`: responses of language models, MCP, dashboards, notifications. In a
//! client the codec decodes the events of a response. In a server it encodes them. For a stream of byte chunks, for
//! example a `reqwest` response, use `stream::SseStream` (feature `stream`), which uses the same codec.
//!
//! The algorithm is defined by the
//! [HTML standard](https://html.spec.whatwg.org/multipage/server-sent-events.html#event-stream-interpretation):
//!
//! - One BOM at the start of the stream is removed.
//! - A line ends with LF, CRLF or CR. A CR ends its line at once, so an event is not delayed until the next byte. An LF
//!   that follows is part of the same terminator, even in a later chunk.
//! - An empty line ends an event. The event is returned if it has a `data` field, which may be empty. Without one, only
//!   its `id` and `retry` take effect. The `data` lines are joined with LF.
//! - One space after the colon is removed. A line without a colon is a field with an empty value. Comments and unknown
//!   fields are ignored.
//! - An `id` that contains NUL and a `retry` that does not consist of ASCII digits are ignored.
//! - An event that is truncated by the end of the stream is discarded, unless
//!   [`with_dispatch_at_end`](super::SseCodec::with_dispatch_at_end) is set.
//! - Ill-formed sequences are replaced by U+FFFD. [`SseCodec::with_decoder`](super::SseCodec::with_decoder) sets
//!   another policy.
//!
//! ```
//! use futures::{SinkExt, StreamExt};
//! use tokio_util::codec::{FramedRead, FramedWrite};
//! use utf8_codec::codec::sse::{Comment, Event};
//! use utf8_codec::codec::SseCodec;
//!
//! # tokio_test::block_on(async {
//! let mut server = FramedWrite::new(Vec::new(), SseCodec::new());
//! server.send(Comment("connected")).await?;
//! server.send(Event::new("na\u{EF}ve").with_id("7")).await?;
//! server.send(Event::new("two\nlines").with_event("token")).await?;
//! let response = server.into_inner();
//! assert_eq!(
//!     String::from_utf8_lossy(&response),
//!     ": connected\n\nid: 7\ndata: naïve\n\nevent: token\ndata: two\ndata: lines\n\n"
//! );
//!
//! let mut events = FramedRead::new(&response[..], SseCodec::new());
//! let mut got = Vec::new();
//! while let Some(event) = events.next().await {
//!     match event? {
//!         Ok(event) => got.push((event.event, event.data)),
//!         Err(error) => eprintln!("{error}"), // an event that is too long, for example
//!     }
//! }
//! assert_eq!(got[0], ("message".into(), "naïve".into()));
//! assert_eq!(got[1], ("token".into(), "two\nlines".into()));
//! assert_eq!(events.decoder().last_event_id(), Some("7"));
//! # std::io::Result::Ok(())
//! # }).unwrap();
//! ```
//!
//! [`SseFramesCodec`] returns events with their bytes, and comments, for a proxy that looks at events and forwards them.
//!
//! # Errors
//!
//! [`CodecError`](super::CodecError): [`EventTooLong`](super::CodecError::EventTooLong),
//! [`LineTooLong`](super::CodecError::LineTooLong) and, unless ill-formed sequences are repaired,
//! [`IllFormed`](super::CodecError::IllFormed), each with the absolute offset. The whole event that contains the error
//! is discarded, unless the error is in a comment. The events after it are read normally. The encoder returns
//! [`InvalidField`](super::CodecError::InvalidField) in an `io::Error`.
//!
//! # Limits
//!
//! A line and an event have at most 8 MiB each, unless another limit is set, and an ID has at most 64 KiB. A line or
//! event that exceeds a limit is discarded in constant memory. A comment may have any length.
//! [`SseCodec`](super::SseCodec) documents how much memory is held.
//!
//! # Cost
//!
//! The data of an event with one `data` line is a slice, which keeps the memory of the read buffer alive: copy data
//! that you keep. The data of several lines is a copy. So is a single line that was read before the end of its event,
//! if the read buffer is long. Each byte is searched once and validated once. The work is linear in the length of any
//! input, however it is split.
//!
//! # Cancel safety
//!
//! All state is in the codec and in the buffer of `Framed`.
//!
//! # Feature
//!
//! `codec`, which is on by default.

mod block;
pub(super) mod codec;
mod encoder;
mod event;
mod frames;

pub use event::{Comment, Event, Retry};
pub use frames::{SseFrame, SseFramesCodec};
