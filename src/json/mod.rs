//! Text in the strings of JSON: escapes that do not encode a character.
//!
//! For servers, gateways and tools that pass JSON on to a program that decodes it. `{"text":"\uD83D"}` is well-formed
//! UTF-8, and the next program fails on it, because a lone surrogate is not a character (RFC 8259 §8.2, RFC 7493
//! §2.1). `"\u0000"` is a character, and PostgreSQL cannot store it.
//!
//! | type | use |
//! |---|---|
//! | [`JsonDecoder`] | decodes chunks of JSON as [`TextDecoder`](crate::TextDecoder) does, and checks the escapes |
//! | [`JsonStrings`] | which escapes are accepted, a setting of codecs, filters and rules |
//! | [`EscapePolicy`] | what happens to the others |
//! | [`SurrogateCarry`] | joins a surrogate pair whose halves are in two strings, such as the deltas of a model |
//!
//! ```
//! use utf8_codec::json::JsonDecoder;
//!
//! let mut decoder = JsonDecoder::new();
//! let mut pieces = decoder.feed(br#"{"text":"\uD83D"}"#);
//! assert_eq!(pieces.next().unwrap().text(), Ok(r#"{"text":""#));
//! let error = pieces.next().unwrap().text().unwrap_err();
//! assert_eq!(error.to_string(), "ill-formed escape at byte 9 (UnpairedSurrogate, 6 bytes)");
//! assert!(error.is_escaped());
//! ```
//!
//! # What is checked
//!
//! The bytes are decoded first, by a [`TextDecoder`](crate::TextDecoder) with its policies. An escape is a backslash at
//! an even position in a run of backslashes, followed by `u` and four hexadecimal digits. The grammar of JSON is not
//! checked, so the same decoder reads JSON texts, lines of JSON (NDJSON), JSON sequences (RFC 7464) and event streams
//! with data in JSON. `\b`, `\f` and the other escapes of two bytes are always accepted.
//!
//! # Errors
//!
//! - [`UnpairedSurrogate`](crate::ErrorKind::UnpairedSurrogate): a surrogate without the other half of its pair next to
//!   it; the error has 6 bytes. A second half without a first is recognized at its second digit: under
//!   [`EscapePolicy::Strict`] the error has these 4 bytes (`\uDC`), whatever follows.
//! - [`OutsideSubset`](crate::ErrorKind::OutsideSubset): a character outside the
//!   [subset](JsonStrings::with_subset); the error has 6 bytes or, for a pair, 12.
//! - [`IncompleteEscape`](crate::ErrorKind::IncompleteEscape): `\u` without four digits, and the digits that it has.
//!
//! Under [`EscapePolicy::Strict`], the first byte that cannot continue an accepted escape is reported by the call that
//! receives it: the `0` of `\uD83D\u0`, the second `D` of `\uDD`. The error has the offset of the backslash, and
//! [`is_escaped`](crate::Utf8Error::is_escaped) is true.
//!
//! # Limits
//!
//! At most 11 bytes are pending, as in `\uD83D\uDE0`, besides an unfinished character. If a policy of the decoder
//! replaces bytes after a backslash, the replacement is part of the text that is checked.
//!
//! # Cost
//!
//! The text is searched for backslashes with vector instructions. Nothing is copied except escapes that are split between
//! chunks and replacements, and nothing is allocated.

#[cfg(feature = "alloc")]
mod carry;
mod decoder;
mod escape;
#[allow(missing_docs, reason = "internal")]
mod pending;
mod strings;

#[cfg(feature = "alloc")]
pub use carry::SurrogateCarry;
pub use decoder::{JsonDecoder, JsonPieces};
pub use pending::Escapes;
pub use strings::{EscapePolicy, JsonStrings};
