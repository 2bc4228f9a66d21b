//! Detection of an encoding by a BOM, by a designation, or by content.
//!
//! For programs that read files and streams without a label. The module does no I/O.
//!
//! | question | type or function |
//! |---|---|
//! | Which encoding is this stream in, and how probable is that? | [`Detector`] |
//! | Does it start with a BOM? | [`BomSniffer`] |
//! | Does it switch to UTF-8 with an escape sequence (ISO/IEC 2022)? | [`DesignationRecognizer`] |
//! | How is a mix of UTF-8 and a named encoding decoded? | [`FallbackDecoder`] |
//!
//! ```
//! use utf8_codec_encodings::detect::{Detection, Detector};
//! use utf8_codec_encodings::Encoding;
//!
//! let mut detector = Detector::new();
//! for chunk in [&b"H\0e"[..], b"\0l\0l\0o\0\xB2\0"] {
//!     detector.push(chunk);
//! }
//! let detection = detector.finish();
//! let encoding = Encoding::Utf16Le;
//! assert_eq!(detection, Detection::LooksLikeUtf16 { encoding, units: 6, evidence: 5 });
//! assert_eq!(detection.encoding(), Some(encoding));
//! ```
//!
//! # Limits
//!
//! Detection by content may be wrong. RFC 2279 §1 states that "the probability that a string of characters in any other
//! encoding appears as valid UTF-8 is low, diminishing with increasing string length": of the pairs of random bytes that
//! are not both ASCII, 3.9 % are a sequence of UTF-8, so less than 1 of 10,000 such texts has 3 of them and no error.
//! Legacy encodings are not distinguished from each other, except those with escape sequences. UTF-32 without a BOM is
//! not detected. Text in UTF-7 and HZ is [`Detection::Ascii`], as its bytes are. [`FallbackDecoder`] buffers at most
//! [`DEFAULT_LIMIT`](FallbackDecoder::DEFAULT_LIMIT) bytes of a line. The other types buffer a few bytes.
//!
//! # Cost
//!
//! The [`Detector`] validates at the speed of the kernels and counts characters. It also examines the code units of the
//! first 4 KiB as UTF-16.

mod bom;
mod designation;
mod detector;
mod fallback;
mod iso2022;
mod utf16;

pub(crate) use bom::sniff;
pub use bom::{BomSniffer, Sniff};
pub use designation::{Designation, DesignationMatch, DesignationMatches, DesignationRecognizer, Padding};
pub use detector::{Detection, Detector};
pub use fallback::{FallbackDecoder, Scope, UnsupportedFallback};
