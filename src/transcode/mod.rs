//! From any encoding to any other, in chunks of any size. Feature `transcode`.
//!
//! For programs that exchange text with systems that do not speak UTF-8: UTF-16 from Windows and Java, CESU-8 and Modified
//! UTF-8 from databases and class files, WTF-8 file names, the 31-bit UTF-8 of RFC 2279, ISO 8859-1 and windows-1252. The
//! table is at [`Encoding`]. It does no I/O and needs no allocator (`no_std`); output that grows ([`Output`]) needs
//! the feature `alloc`. Other charsets of the web are read by `http::Utf8Body` with the feature `encoding_rs`.
//!
//! ```
//! use utf8_codec::transcode::{Encoding, Transcoder};
//! use utf8_codec::{BomPolicy, ErrorPolicy};
//!
//! let mut transcoder =
//!     Transcoder::new(Encoding::Utf16Le, Encoding::Utf8).bom(BomPolicy::Strip).on_error(ErrorPolicy::Replace);
//! let mut text = String::new();
//! // A BOM, "né" cut inside a code unit, and half of a surrogate pair.
//! for chunk in [&b"\xFF\xFEn\0\xE9"[..], b"\0\x3D\xD8!\0"] {
//!     transcoder.feed(chunk, &mut text)?;
//! }
//! transcoder.finish(&mut text)?;
//! assert_eq!(text, "né\u{FFFD}!");
//! assert_eq!(transcoder.counters().total(), 1);
//! # Ok::<(), utf8_codec::Utf8Error>(())
//! ```
//!
//! # Errors
//!
//! A [`Utf8Error`](crate::Utf8Error) with the offset in the input, whose message names the encoding that was read. After an
//! error the transcoder can go on.
//!
//! # Limits
//!
//! At most 7 bytes of input are kept between two calls, and no output. [`Transcoder::feed`] appends to the output without a
//! bound; [`Transcoder::feed_into`] writes into a buffer of yours and stops when it is full.
//!
//! # Cost
//!
//! UTF-8 to UTF-8 and between UTF-8 and UTF-16 run in vector kernels (AVX-512, AVX2; a portable one elsewhere), ASCII in
//! blocks of 16 between all encodings, everything else code point by code point. A call copies the state of the transcoder,
//! about 250 bytes: feed chunks of at least some hundred bytes.

mod bulk;
mod carry;
#[cfg(feature = "alloc")]
mod growing;
mod run;
mod source;
mod switches;
mod target;
mod transcoder;

pub use crate::encoding::{Encoding, UnknownEncoding};
#[cfg(feature = "alloc")]
pub use growing::Output;
pub use run::Status;
pub use switches::Switches;
pub use transcoder::{Progress, Transcoder};
