//! Conversion between encodings, in chunks of any size.
//!
//! For programs that exchange text with systems that do not use UTF-8: UTF-16 from Windows and Java, CESU-8 and
//! Modified UTF-8 from databases and class files, WTF-8 file names, the 31-bit UTF-8 of RFC 2279, ISO 8859-1 and
//! windows-1252. With the feature `encoding_rs` they include every encoding of the WHATWG Encoding Standard, such as GBK,
//! Shift_JIS and windows-1251, and code pages of DOS and EBCDIC. [`Encoding`] lists them all. The module does no I/O.
//!
//! ```
//! use utf8_codec_encodings::{Encoding, Transcoder};
//! use utf8_codec::{BomPolicy, ErrorPolicy};
//!
//! let transcoder = Transcoder::new(Encoding::Utf16Le, Encoding::Utf8).with_bom_policy(BomPolicy::Strip);
//! let mut transcoder = transcoder.with_error_policy(ErrorPolicy::Replace);
//! let mut text = String::new();
//! // A BOM, "né" split inside a code unit, and an unpaired surrogate.
//! for chunk in [&b"\xFF\xFEn\0\xE9"[..], b"\0\x3D\xD8!\0"] {
//!     transcoder.feed_into(chunk, &mut text)?;
//! }
//! transcoder.finish_into(&mut text)?;
//! assert_eq!(text, "né\u{FFFD}!");
//! assert_eq!(transcoder.counters().total(), 1);
//! # Ok::<(), utf8_codec_encodings::TranscodeError>(())
//! ```
//!
//! # Errors
//!
//! A [`TranscodeError`](crate::TranscodeError) has the offset in the input, and its message names the source encoding. The
//! transcoder can continue after an error.
//!
//! # Limits
//!
//! At most 7 bytes of input are kept between two calls. [`Transcoder::feed_into`] appends without a limit and keeps no
//! output. [`Transcoder::feed_into_slice`] writes into a buffer and stops when it is full. It keeps the rest of a
//! replacement text that does not fit, at most 32 bytes.
//!
//! # Cost
//!
//! Vector kernels (AVX-512, AVX2 for some, or a portable one) convert UTF-8 to and from UTF-8, UTF-16, ISO 8859-1 and
//! windows-1252. Legacy encodings are converted through UTF-16 with tables, if they
//! have 1 or 2 bytes for a character. UTF-8 to and from CESU-8 and Modified UTF-8 is a validation
//! and a copy; only the characters that differ are converted. Other pairs of encodings are converted in blocks through
//! UTF-8 or UTF-16. All remaining text is converted code point by code point. Each call of [`Transcoder::feed_into`] copies
//! the state of the transcoder, about 200 bytes, so a chunk should have at least a few hundred bytes.
//!
//! # Feature
//!
//! `transcode`, `no_std` without an allocator. Growing output ([`Output`]) needs `alloc`. `encoding_rs` adds the legacy
//! encodings.

#![cfg_attr(not(any(feature = "std", test)), no_std)]
#![forbid(unsafe_code)]
#![cfg_attr(docsrs, feature(doc_cfg))]

extern crate alloc;

#[cfg(feature = "codec")]
pub mod codec;
pub mod detect;
mod encoding;
mod error;
#[cfg(feature = "std")]
pub mod io;
#[cfg(feature = "stream")]
pub mod stream;
mod transcode;

pub use encoding::{Encoding, UnknownEncoding, is_label};
pub use error::TranscodeError;
pub use transcode::{Output, Progress, Status, Switches, Transcoder, UnmappablePolicy};
