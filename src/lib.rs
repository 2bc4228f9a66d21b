//! Bytes arrive in chunks of any size; this crate turns them into validated UTF-8 text and reports exactly what was
//! ill-formed.
//!
//! The same bytes give the same text, the same errors and the same offsets, however the stream is split into chunks.
//! The decoder is `Copy` and 16 bytes in size, allocates nothing and never panics.
//!
//! ```
//! use utf8_codec::{Piece, Utf8Decoder};
//!
//! let mut decoder = Utf8Decoder::new();
//! assert_eq!(decoder.feed(b"caf\xC3").next(), Some(Piece::Text("caf")));
//! let mut pieces = decoder.feed(b"\xA9 \xFF!");
//! assert_eq!([pieces.next(), pieces.next()], [Some(Piece::Seam('é')), Some(Piece::Text(" "))]);
//! assert!(matches!(pieces.next(), Some(Piece::IllFormed(error)) if error.offset == 6));
//! ```
//!
//! # Overview
//!
//! | input | names | feature |
//! |---|---|---|
//! | chunks in memory | [`Utf8Decoder`], [`TextDecoder`], [`from_utf8`], [`validate_many`], [`repair_many`] | none (`no_std`) |
//! | positions in a buffer or text | [`boundary`], [`locate`] | none (`no_std`) |
//! | the start of an XML, HTML, CSS, Python or gettext file | [`declared`] | none (`no_std`) |
//! | folded lines, stuffed dots, the text of a syslog message | [`unwrap`] | none (`no_std`) |
//! | escapes in the strings of JSON | [`json`] | none (`no_std`) |
//! | WebSocket messages | [`validator`] | none (`no_std`) |
//! | WebSocket frames | [`websocket`] | `websocket` |
//! | a tokio `Framed` | [`codec`], [`codec::framing`], [`codec::sse`] | `codec` (default) |
//! | a `Stream` of chunks | [`stream`] | `stream` |
//! | a reader or writer | [`io`] | `std`, `io`, `futures-io` |
//! | HTTP messages | [`http`], [`tower`], [`content_type`] | `http`, `tower` |
//! | mail | [`mime`] | `mime` |
//! | protobuf messages, gRPC | [`protobuf`] | `protobuf` |
//! | a proxied connection | [`proxy`] | `proxy`, `relay` |
//! | UTF-16, CESU-8, Latin-1, ... | [`transcode`], [`detect`] | `transcode` |
//!
//! An adapter that decodes has two constructors: `new(inner)` is strict and keeps a byte order mark, and
//! `with_decoder(inner, TextDecoder)` uses the policies of the decoder. Only [`codec::SseCodec`] replaces and strips by
//! default, as its standard requires. Every other setting is a method `with_...`, which consumes the value. Features
//! are additive. `tracing` emits an event with the offset, the kind and the length of each error, and never a byte of
//! the input. The command `utf8-codec` is the package `utf8-codec-cli`.
// This page links to modules that exist only if their features are enabled.
#![cfg_attr(not(all(feature = "codec", feature = "stream")), allow(rustdoc::broken_intra_doc_links))]
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
#[cfg_attr(not(feature = "stream"), allow(dead_code))]
mod chunks;
#[cfg(feature = "codec")]
pub mod codec;
mod decoder;
mod error;
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
