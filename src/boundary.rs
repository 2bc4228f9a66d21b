//! Character boundaries.
//!
//! For protocols that split or count text in bytes.
//!
//! | you have | use |
//! |---|---|
//! | a buffer, and an index at which to split it | [`floor_boundary`], [`ceil_boundary`], [`unfinished_len`] |
//! | a field with a maximum length in bytes (a WebSocket close reason, an IRC line) | [`truncate`] |
//! | a stream that you join in the middle (a ring buffer, a `Content-Range`, a rotated log) | `ceil_boundary(bytes, 0)` is the length of the character whose start is missing; decode the bytes after it |
//!
//! ```
//! use utf8_codec::boundary::{floor_boundary, truncate};
//!
//! // A read buffer of which only whole characters are forwarded.
//! let buffer = b"caf\xC3\xA9 \xE2\x82";
//! let (whole, rest) = buffer.split_at(buffer.len() - utf8_codec::boundary::unfinished_len(buffer));
//! assert_eq!((whole, rest), ("café ".as_bytes(), &b"\xE2\x82"[..]));
//!
//! assert_eq!(floor_boundary("a🦀b".as_bytes(), 3), 1);
//! assert_eq!(truncate("naïve", 3), "na");
//! ```
//!
//! # Limits
//!
//! Text is split between characters, possibly inside a grapheme cluster. The bytes are not validated: in ill-formed input
//! the result is at most 3 bytes away from the index.
//!
//! # Cost
//!
//! UTF-8 is self-synchronizing (RFC 3629 §1): the nearest boundary is at most 3 bytes away from any index, and finding
//! it does not need the bytes before it. Every function reads a constant number of bytes. None allocates.

use kernels::boundary::{MAX_CONTINUATIONS, floor};
use kernels::grammar::{Sequence, UTF_8, is_continuation};

/// Returns the last character boundary at or before `index`. An `index` after the end counts as the end.
///
/// Reads at most 3 bytes. In ill-formed input the result is an index at most 3 before `index`.
///
/// ```
/// let text = "a🦀b".as_bytes();
/// assert_eq!([0, 1, 2, 3, 4, 5, 9].map(|index| utf8_codec::boundary::floor_boundary(text, index)), [0, 1, 1, 1, 1, 5, 6]);
/// ```
#[must_use]
#[inline]
pub fn floor_boundary(bytes: &[u8], index: usize) -> usize {
    floor(bytes, index)
}

/// Returns the first character boundary at or after `index`. An `index` after the end counts as the end.
///
/// Reads at most 3 bytes. In ill-formed input the result is an index at most 3 after `index`.
///
/// ```
/// let text = "a🦀b".as_bytes();
/// assert_eq!([0, 1, 2, 3, 4, 5, 9].map(|index| utf8_codec::boundary::ceil_boundary(text, index)), [0, 1, 5, 5, 5, 5, 6]);
/// ```
#[must_use]
#[inline]
pub fn ceil_boundary(bytes: &[u8], index: usize) -> usize {
    let index = index.min(bytes.len());
    index + leading_continuations(bytes.get(index..).unwrap_or_default())
}

/// Returns the number of bytes at the end of `bytes` that start an unfinished character, 0 to 3.
///
/// Use it for a read buffer that you manage yourself. A [`Utf8Decoder`](crate::Utf8Decoder) keeps these bytes itself.
///
/// ```
/// assert_eq!(utf8_codec::boundary::unfinished_len(b"caf\xC3"), 1);
/// assert_eq!(utf8_codec::boundary::unfinished_len("café".as_bytes()), 0);
/// ```
#[must_use]
#[inline]
pub fn unfinished_len(bytes: &[u8]) -> usize {
    let start = floor_boundary(bytes, bytes.len().saturating_sub(1));
    let last = bytes.get(start..).unwrap_or_default();
    if UTF_8.sequence(last) == Sequence::Unfinished { last.len() } else { 0 }
}

/// Returns the longest prefix of `text` that has at most `max` bytes and ends between characters.
///
/// For fields of limited length: a WebSocket close reason (123 bytes), a syslog message, an IRC line (510 bytes).
///
/// ```
/// assert_eq!(utf8_codec::boundary::truncate("na\u{EF}ve", 3), "na");
/// assert_eq!(utf8_codec::boundary::truncate("na\u{EF}ve", 4), "na\u{EF}");
/// ```
#[must_use]
#[inline]
pub fn truncate(text: &str, max: usize) -> &str {
    kernels::boundary::truncate(text, max)
}

/// Returns the number of continuation bytes at the start of `bytes`, at most 3.
#[inline]
fn leading_continuations(bytes: &[u8]) -> usize {
    bytes.iter().take(MAX_CONTINUATIONS).take_while(|&&byte| is_continuation(byte)).count()
}
