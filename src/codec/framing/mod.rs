//! Framing with a length before the payload (syslog over TCP, the Language Server Protocol), JSON text sequences, and
//! the logs of containers.
//!
//! For servers and clients of protocols whose framing is usually implemented in the application. Each codec reads and
//! writes frames of bytes. [`Utf8FramesCodec`](super::Utf8FramesCodec) converts them to text:
//!
//! | codec | a frame | protocols |
//! |---|---|---|
//! | [`OctetCountingCodec`] | `5 hello` | syslog over TCP and TLS (RFC 6587, RFC 5425) |
//! | [`ContentLengthCodec`] | `Content-Length: 5`, an empty line, `hello` | the Language Server Protocol, the Debug Adapter Protocol |
//! | [`JsonSequenceCodec`] | RS `"hello"` LF | JSON text sequences (RFC 7464), `application/json-seq` |
//! | [`CriCodec`] | `TIME stdout F hello` LF, read only | the logs of containers on Kubernetes |
//!
//! [`BlockingFrames`] reads frames from a file. [`SyslogValidator`] checks which parts of a syslog message are text.
//!
//! Some senders write a line break after each frame. It is skipped.
//!
//! For texts that end with NUL or another ASCII byte see [`LineEnding::Ascii`](crate::LineEnding::Ascii). For lengths
//! in binary see `LengthDelimitedCodec` of tokio-util.
//!
//! ```
//! use futures::{SinkExt, StreamExt};
//! use tokio_util::codec::Framed;
//! use utf8_codec::codec::Utf8FramesCodec;
//! use utf8_codec::codec::framing::ContentLengthCodec;
//!
//! async fn serve(socket: impl tokio::io::AsyncRead + tokio::io::AsyncWrite + Unpin) -> std::io::Result<()> {
//!     let codec = Utf8FramesCodec::new(ContentLengthCodec::new().with_max_length(1 << 20));
//!     let mut messages = Framed::new(socket, codec);
//!     while let Some(message) = messages.next().await {
//!         let reply = match message? {
//!             Ok(message) => format!("{} characters", message.chars().count()),
//!             Err(error) => error.to_string(), // ill-formed, or longer than 1 MiB
//!         };
//!         messages.send(reply).await?;
//!     }
//!     Ok(())
//! }
//! # tokio_test::block_on(async {
//! # let socket = tokio_test::io::Builder::new().read(b"content-length:5\r\n\r").read(b"\ngr\xC3").read(b"\xBCn")
//! #     .write(b"Content-Length: 12\r\n\r\n4 characters").build();
//! # serve(socket).await.unwrap();
//! # });
//! ```
//!
//! # Errors
//!
//! An item is a frame or a [`FramingError`], with an absolute offset. A frame that is too long is skipped, and the frames
//! after it are read normally. After a header that is invalid or too long the codec cannot find the next frame: the stream
//! ends with an `io::Error` that wraps the `FramingError`. [`JsonSequenceCodec`] and [`CriCodec`] continue after every error.
//!
//! # Limits
//!
//! A syslog message is limited to 64 KiB, a line of a container to 1 MiB, and the payloads of the other codecs to 8
//! MiB, unless another limit is set. A length has at most [`MAX_DIGITS`] digits. Header fields have at most 4 KiB.
//! Memory grows with the bytes that arrive, not with the length in the header.
//!
//! # Cost
//!
//! A frame is a slice of the read buffer, except a line of a container that is joined from parts. The work is linear in the
//! length of any input, however it is split.
//!
//! # Cancel safety
//!
//! All state is in the codec and in the buffer of `Framed`.
//!
//! # Feature
//!
//! `codec`, which is on by default.

mod blocking;
mod content_length;
mod cri;
mod error;
mod json_sequence;
mod json_value;
mod octet_counting;
mod reader;
mod syslog;

pub use blocking::BlockingFrames;
pub use content_length::ContentLengthCodec;
pub use cri::{CriCodec, CriLine, CriStream};
pub use error::FramingError;
pub use json_sequence::JsonSequenceCodec;
pub use octet_counting::OctetCountingCodec;
pub use reader::MAX_DIGITS;
pub use syslog::{SyslogError, SyslogMessage, SyslogText, SyslogValidator};
