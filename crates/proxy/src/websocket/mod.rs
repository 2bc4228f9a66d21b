//! Text in WebSocket frames (RFC 6455).
//!
//! For gateways that forward WebSocket connections, and for endpoints that read frames themselves.
//!
//! | input | use |
//! |---|---|
//! | the frames of a peer, for a client or server | [`FrameReader`]: text as it arrives, control frames, the end of messages |
//! | one direction of a connection, for a gateway | [`FrameFilter`]: edits of an engine's buffer, as [`Filter`](crate::Filter) |
//! | an error | [`FrameError`]: kind, offset on the wire and in the message, close code |
//! | frames to write | [`FrameHeader`], [`CloseFrame`] |
//! | `Sec-WebSocket-Extensions` in the handshake | [`CompressionPolicy`], [`FrameSender::has_context_takeover`] |
//! | payloads of another library | [`validator`](utf8_codec::validator) |
//!
//! ```
//! use utf8_codec_proxy::websocket::{FrameEvent, FrameErrorKind, FrameReader, FrameSender};
//!
//! let mut reader = FrameReader::new(FrameSender::Server);
//! // The first bytes of a frame of 1 MiB.
//! let mut chunk = *b"\x81\x7F\0\0\0\0\0\x10\0\0caf\xC3\xA9 \xFF";
//! let mut events = reader.feed(&mut chunk);
//! assert_eq!(events.next(), Some(Ok(FrameEvent::Text("café "))));
//! let error = events.next().unwrap().unwrap_err();
//! assert_eq!((error.offset, error.message_offset, error.close_code()), (16, 6, 1007));
//! assert!(matches!(error.kind, FrameErrorKind::Text(_)));
//! let mut to_server = Vec::new();
//! error.close_frame().write_to(Some([1, 2, 3, 4]), &mut to_server);
//! ```
//!
//! An HTTP library does the handshake. After it, pass the bytes of each direction to a reader or filter.
//!
//! # Errors
//!
//! An invalid header is an error at the first byte that no frame can have there: reserved bits and opcodes, the mask,
//! the length, a fragmented or long control frame, a continuation without a message. Ill-formed text is an error at the
//! first byte that cannot be part of a character, even if the rest of the frame has not arrived. The same holds for the
//! code and the reason of a close frame. An error ends the connection, and [`FrameError::close_code`] is the code:
//! 1002, 1007 or 1009.
//!
//! # Compression
//!
//! A reader or filter with an [`Inflater`](utf8_codec::inflate::Inflater) reads the messages of `permessage-deflate` (RFC 7692).
//! Each direction has its own. Binary messages are inflated too: a later message may refer to their data.
//!
//! - [`FrameReader`] returns their text as [`InflatedText`](FrameEvent::InflatedText).
//! - [`FrameFilter`] forwards them unchanged. What it has forwarded of a message that it rejects, which is never all of it,
//!   depends on the slices.
//! - A filter that repairs forwards each compressed message of the direction inflated, in fragments of about 8 KiB: without
//!   the data of one message, a receiver could not inflate a later one that refers to it.
//!
//! The inflater limits the length of an inflated message. An error has the offset of the frame that shows it on the wire, and
//! an offset in the inflated text.
//!
//! ```
//! use utf8_codec::inflate::{Deflate, Inflater};
//! use utf8_codec_proxy::websocket::{CompressionPolicy, FrameFilter, FrameSender};
//!
//! let policy = CompressionPolicy::Inflate;
//! // Of the response of the server.
//! let extensions = "permessage-deflate; server_no_context_takeover";
//! let filter = |sender: FrameSender| {
//!     let filter = FrameFilter::new(sender);
//!     if policy.negotiated(extensions) == CompressionPolicy::Remove {
//!         return filter;
//!     }
//!     let deflate = Deflate::permessage().with_context_takeover(sender.has_context_takeover(extensions));
//!     filter.with_inflater(Inflater::new(deflate))
//! };
//! let mut responses = filter(FrameSender::Server);
//! // The message of RFC 7692 §7.2.3.1, and one with the text FF.
//! assert!(responses.feed_with(b"\xC1\x07\xF2\x48\xCD\xC9\xC9\x07\0", |_| {}).is_ok());
//! let error = responses.feed_with(b"\xC1\x03\xFA\x0F\0", |_| {}).unwrap_err();
//! assert_eq!((error.offset, error.message_offset, error.close_code()), (9, 0, 1007));
//! ```
//!
//! # Limits
//!
//! A frame has at most 16 MiB and a message at most 64 MiB, unless another limit is set. Of the data of a message, both
//! types store only the bytes of an incomplete character, at most 3, and the window of an inflater. They also store an
//! incomplete header or control frame, at most 139 bytes.
//!
//! # Cost
//!
//! Nothing is allocated, except a copy of the payload of each control frame that [`FrameReader`] returns, and what an inflater
//! needs from the first compressed message on. A byte of text is validated once. [`FrameReader`] removes the mask in
//! the chunk, [`FrameFilter`] while it validates, or in a copy of 1 KiB.

mod close;
mod error;
mod filter;
mod frames;
mod handshake;
mod header;
mod inflation;
mod plan;
mod reader;

pub use close::CloseFrame;
pub use error::{FrameError, FrameErrorKind};
pub use filter::FrameFilter;
pub use handshake::CompressionPolicy;
pub use header::{FrameHeader, FrameSender, Opcode};
pub use reader::{FrameEvent, FrameEvents, FrameReader};
