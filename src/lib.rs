//! Bytes arrive in chunks of any size; this crate turns them into validated UTF-8 text and reports exactly what was
//! ill-formed.
//!
//! The same bytes give the same text, the same errors and the same offsets, however the stream is split into chunks.
//! [`Utf8Decoder`] is 16 bytes and never panics.
//!
//! ```
//! use utf8_codec::{LossyDecoder, Utf8Decoder};
//!
//! // Never fails.
//! let mut decoder = LossyDecoder::new();
//! assert_eq!(decoder.push(b"caf\xC3"), "caf"); // the read ended inside a character
//! assert_eq!(decoder.push(b"\xA9 \xFF"), "é \u{FFFD}");
//! assert_eq!(decoder.finish(), "");
//!
//! // Keeps the text before an error.
//! let (mut decoder, mut text) = (Utf8Decoder::new(), String::new());
//! decoder.feed_into(b"caf\xC3", &mut text).unwrap();
//! let error = decoder.feed_into(b"\xA9 \xE2\x82!", &mut text).unwrap_err();
//! assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 6 (MissingContinuation, 2 bytes)");
//! assert_eq!(text, "café ");
//! ```
//!
//! # Overview
//!
//! | input | use | feature |
//! |---|---|---|
//! | chunks in memory | [`LossyDecoder`]; [`Utf8Decoder`], which returns errors; [`TextDecoder`], which has policies | `alloc` for strings; none (`no_std`) for slices |
//! | a whole input | [`from_utf8`], [`from_utf8_lossy`]; [`many`] for the strings of one buffer | none; `alloc` |
//! | messages in frames, masked or not | [`validator`] | none; `bytes` for segments |
//! | an index in a buffer or text | [`boundary`], [`locate`] | none |
//! | escapes in the strings of JSON | [`json`] | none |
//! | text inside gzip or deflate | [`inflate`] | `alloc` for the hook, `inflate` |
//! | a tokio socket: lines, frames, text as it arrives | [`codec`], [`codec::framing`] | `codec` (default) |
//! | server-sent events | [`codec::sse`], [`stream::SseStream`] | `codec`; `codec` and `stream` |
//! | a `Stream` of chunks | [`stream`] | `stream` |
//! | a reader or writer | [`io`] | `std` (default), `tokio-io`, `futures-io` |
//!
//! Other crates of the family are based on this one, and take the same decoders and policies:
//!
//! | for | crate |
//! |---|---|
//! | UTF-16, GBK, Shift_JIS, windows-1252, CESU-8 ...; detection | [`utf8-codec-encodings`](https://docs.rs/utf8-codec-encodings) |
//! | HTTP bodies, axum and tower, protobuf, gRPC | [`utf8-codec-http`](https://docs.rs/utf8-codec-http) |
//! | mail | [`utf8-codec-mail`](https://docs.rs/utf8-codec-mail) |
//! | proxies, relays, WebSocket frames | [`utf8-codec-proxy`](https://docs.rs/utf8-codec-proxy) |
//! | `Content-Type`, multipart, declared encodings | [`utf8-codec-media`](https://docs.rs/utf8-codec-media) |
//! | files, pipes and TCP connections, without code | [`utf8-codec-cli`](https://crates.io/crates/utf8-codec-cli), the command `utf8-codec` |
//!
//! An adapter that decodes has two constructors: `new(inner)` is strict and keeps a byte order mark, and
//! `with_decoder(inner, TextDecoder)` uses the policies of the decoder. Only [`codec::SseCodec`] replaces and strips by
//! default, as its standard requires. Every other setting is a method `with_...`, which consumes the value. Features
//! add types and never change a result. `tracing` emits an event with the offset, the kind and the length of each error, and
//! never a byte of the input.
// This page links to modules that exist only if their features are enabled.
#![cfg_attr(
    not(all(feature = "codec", feature = "inflate", feature = "stream")),
    allow(rustdoc::broken_intra_doc_links)
)]
#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

#[cfg(feature = "alloc")]
extern crate alloc;

#[macro_use]
mod macros;
#[macro_use]
mod trace;

pub mod boundary;

#[allow(missing_docs, reason = "internal")]
mod budget;
#[cfg(any(feature = "codec", feature = "stream"))]
mod chunk;
#[cfg(feature = "stream")]
mod chunks;
#[cfg(feature = "codec")]
pub mod codec;
mod decoder;
mod error;
#[cfg(feature = "std")]
mod find;
#[cfg(feature = "alloc")]
pub mod inflate;
#[doc(hidden)]
pub mod internal;
#[cfg(feature = "std")]
pub mod io;
pub mod iter;
#[cfg(feature = "bytes")]
#[allow(missing_docs, reason = "internal")]
mod joiner;
pub mod json;
mod line_ending;
pub mod locate;
#[cfg(feature = "alloc")]
mod lossy;
pub mod many;
mod policy;
#[cfg(feature = "stream")]
pub mod stream;
mod subset;
mod text;
pub mod validator;

#[cfg(any(feature = "codec", feature = "stream"))]
pub use bytestring::ByteString;
pub use decoder::{Piece, Utf8Decoder, from_utf8};
pub use error::{ErrorKind, UnknownName, Utf8Error};
#[cfg(utf8_codec_kernel = "choice")]
#[doc(hidden)]
pub use kernels::Kernel;
pub use line_ending::LineEnding;
#[cfg(feature = "alloc")]
pub use lossy::LossyDecoder;
pub use policy::{Ascii, BomPolicy, Counters, ErrorPolicy, ShortStr};
pub use subset::Subset;
#[cfg(feature = "alloc")]
pub use text::{DecodeError, from_utf8_lossy};
pub use text::{TextDecoder, TextPiece};
