//! Codecs for `tokio_util::codec::Framed`: text without frames, in lines and in frames.
//!
//! For servers and clients that read text from a socket: line protocols, NDJSON, logs, chat, length-prefixed frames. A
//! character that is split between reads is never an error, and one ill-formed line does not end the session.
//!
//! | codec | an item is | encodes |
//! |---|---|---|
//! | [`Utf8Codec`] | the text of one read | text |
//! | [`Utf8LinesCodec`] | a line | a line |
//! | [`Utf8LineBatchesCodec`] | all lines in the buffer | a line |
//! | [`Utf8FramesCodec`] | the text of a frame of another codec | a frame |
//! | the codecs of [`framing`] | a frame of bytes: syslog, language servers, JSON sequences, logs of containers | a frame |
//! | [`SseCodec`] | a server-sent event (see [`sse`]) | an event |
//! | [`SseFramesCodec`](sse::SseFramesCodec) | an event or a comment, with its bytes | - |
//! | `TranscodeCodec`, `TranscodeLinesCodec` of `utf8-codec-encodings` | text or a line that was converted to UTF-8 | the other encoding |
//!
//! An error is an item, too, so that one ill-formed line does not end the session: an item is a `Result`, and the `Err` of
//! the stream is an `io::Error` of the transport. [`FailFast`] wraps any of these codecs and ends at the first error.
//!
//! ```
//! use futures::{SinkExt, StreamExt};
//! use tokio_util::codec::Framed;
//! use utf8_codec::codec::Utf8LinesCodec;
//!
//! async fn serve(socket: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin) -> std::io::Result<()> {
//!     let codec = Utf8LinesCodec::new().with_max_length(1024);
//!     let mut lines = Framed::new(socket, codec);
//!     while let Some(line) = lines.next().await {
//!         let reply = match line? {
//!             Ok(line) => format!("{} characters", line.chars().count()),
//!             Err(error) => error.to_string(),
//!         };
//!         lines.send(reply).await?;
//!     }
//!     Ok(())
//! }
//! # tokio_test::block_on(async {
//! # let socket = tokio_test::io::Builder::new().read(b"gr\xC3").read(b"\xBCn\nb\xFFd\n").write(b"4 characters\n")
//! #     .write(b"line 2, column 2: ill-formed UTF-8 at byte 7 (InvalidLead, 1 byte)\n").build();
//! # serve(socket).await.unwrap();
//! # });
//! ```
//!
//! # Errors
//!
//! [`CodecError`] and [`Utf8FramesError`] contain the offset, the kind, the rejected bytes and, for lines, the line and
//! the column. The codec has consumed the reported bytes.
//!
//! # End of the stream
//!
//! `decode_eof` returns what is left, one item for each call, and then `Ok(None)`. If the source resumes after its end,
//! decoding continues where it stopped, and the offsets are not reset: an item that was cut off by the end is not
//! continued, and bytes are no longer discarded because of an earlier error.
//!
//! # Limits
//!
//! A line has at most 64 KiB unless another limit is set. [`Utf8Codec`] keeps at most 3 bytes in the read buffer.
//!
//! # Cost
//!
//! Items are slices of the read buffer. Text is copied if a policy changes it, if the BOM policy may apply to it, under
//! a subset, and if it is transcoded. Each byte is searched once and validated once. The work is linear in the length
//! of any input.
//!
//! # Cancel safety
//!
//! Codecs do no I/O. All state is in the codec and in the buffer of `Framed`, whose `next()` is cancel safe. An item is
//! a slice that keeps the memory of the whole read buffer alive: copy items that you keep.
//!
//! # Feature
//!
//! `codec`, which is on by default.

// An unfinished sequence stays in the read buffer. When its other bytes have arrived, the sequence is contiguous there,
// so nothing is copied. `Framed::into_parts` returns every byte that was not decoded. A caller may pass another buffer
// to each call of `decode`, so every call validates the bytes that it returns.

#[macro_use]
pub(crate) mod items;

mod batches;
pub(crate) mod error;
mod fail_fast;
mod frames;
pub mod framing;
mod line_reader;
mod lines;
pub mod sse;
mod text;
mod whole_text;

pub use batches::{LineBatch, LineBatchIntoIter, LineBatchIter, Utf8LineBatchesCodec};
pub use error::{CodecError, LineStart, RejectedText};
pub use fail_fast::FailFast;
pub use frames::{Utf8FramesCodec, Utf8FramesError};
pub use lines::Utf8LinesCodec;
pub use sse::codec::SseCodec;
pub use text::Utf8Codec;
