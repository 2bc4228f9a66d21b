//! Character boundaries.
//!
//! For protocols that split or count text in bytes.
//!
//! | you have | use |
//! |---|---|
//! | a buffer, and an index at which to split it | [`floor_boundary`], [`ceil_boundary`], [`unfinished_len`] |
//! | a field with a maximum length in bytes (a WebSocket close reason, an IRC line) | [`truncate`]; [`Truncator`] for text in chunks |
//! | messages with a maximum length in bytes | [`Splitter`] |
//! | a maximum length in UTF-16 code units or characters (Telegram, Discord, a database column) | both, with a [`Unit`] |
//! | a stream that you join in the middle (a ring buffer, a `Content-Range`, a rotated log) | `ceil_boundary(bytes, 0)` is the length of the character whose start is missing; decode the bytes after it |
//!
//! ```
//! use utf8_codec::boundary::{Splitter, floor_boundary, truncate};
//!
//! // A read buffer of which only whole characters are forwarded.
//! let buffer = b"caf\xC3\xA9 \xE2\x82";
//! let (whole, rest) = buffer.split_at(buffer.len() - utf8_codec::boundary::unfinished_len(buffer));
//! assert_eq!((whole, rest), ("café ".as_bytes(), &b"\xE2\x82"[..]));
//!
//! assert_eq!(floor_boundary("a🦀b".as_bytes(), 3), 1);
//! assert_eq!(truncate("naïve", 3), "na");
//!
//! let mut splitter = Splitter::new(5).expect("4 bytes or more");
//! let texts: Vec<_> = splitter.feed("grün und blau").map(|part| part.text).collect();
//! assert_eq!(texts, ["grün", " und ", "blau"]);
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
//! it does not need the bytes before it. Every function reads a constant number of bytes, except that lengths in other
//! units than bytes are counted, by a kernel. None allocates.
//!
//! # Feature
//!
//! None, `no_std`.

use crate::encoding::{Sequence, UTF_8, is_continuation};
use crate::kernels::count;

/// The maximum number of continuation bytes of a character.
const MAX_CONTINUATIONS: usize = 3;

/// Returns the last character boundary at or before `index`. An `index` after the end counts as the end.
///
/// Reads at most 3 bytes. In ill-formed input the result is an index at most 3 before `index`.
///
/// ```
/// let text = "a🦀b".as_bytes();
/// assert_eq!([0, 1, 2, 3, 4, 5, 9].map(|index| utf8_codec::boundary::floor_boundary(text, index)), [0, 1, 1, 1, 1, 5, 6]);
/// ```
#[must_use]
pub fn floor_boundary(bytes: &[u8], index: usize) -> usize {
    let index = index.min(bytes.len());
    let inside = (0..MAX_CONTINUATIONS).take_while(|&back| {
        let byte = index.checked_sub(back).and_then(|at| bytes.get(at));
        byte.is_some_and(|&byte| is_continuation(byte))
    });
    index.saturating_sub(inside.count())
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
pub fn truncate(text: &str, max: usize) -> &str {
    split(text, max).0
}

/// Same as [`truncate`], and also returns the rest of the text.
fn split(text: &str, max: usize) -> (&str, &str) {
    // `floor_boundary` returns a character boundary of the text, so the fallback is never used. Indexing would compile
    // code that panics.
    text.split_at_checked(floor_boundary(text.as_bytes(), max)).unwrap_or((text, ""))
}

/// What the maximum length of a [`Truncator`] or a [`Splitter`] counts.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub enum Unit {
    /// Bytes of UTF-8.
    #[default]
    Bytes,
    /// UTF-16 code units: two for a character after U+FFFF, and one for another. The length of a string of JavaScript,
    /// Java or .NET.
    Utf16,
    /// Characters: Unicode scalar values.
    Characters,
}

impl Unit {
    fn len_of(self, text: &str) -> usize {
        match self {
            Self::Bytes => text.len(),
            Self::Utf16 => count::characters(text) + count::supplementary(text),
            Self::Characters => count::characters(text),
        }
    }

    /// Returns the longest prefix of at most `*left` units and the rest, and subtracts the length of the prefix.
    fn split<'t>(self, text: &'t str, left: &mut usize) -> (&'t str, &'t str) {
        let mut rest = text;
        loop {
            // A text has at most as many units as bytes, so a prefix of `left` bytes fits.
            let (mut fits, mut after) = split(rest, *left);
            if fits.is_empty() {
                (fits, after) = split(rest, rest.chars().next().map_or(0, char::len_utf8));
            }
            let len = self.len_of(fits);
            if fits.is_empty() || len > *left {
                return split(text, text.len() - rest.len());
            }
            *left -= len;
            rest = after;
        }
    }
}

/// Truncates text that arrives in chunks, as [`truncate`] does for a single string.
///
/// ```
/// use utf8_codec::boundary::{Truncator, Unit};
///
/// let mut truncator = Truncator::new(4);
/// let kept: String = ["na", "ïve"].into_iter().map(|chunk| truncator.truncate(chunk)).collect();
/// assert_eq!(kept, "naï");
///
/// assert_eq!(Truncator::new(5).with_unit(Unit::Utf16).truncate("🦀🦀🦀"), "🦀🦀");
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Truncator {
    unit: Unit,
    left: usize,
}

impl Truncator {
    /// Creates a truncator that keeps at most `max` bytes.
    pub const fn new(max: usize) -> Self {
        Self { unit: Unit::Bytes, left: max }
    }

    /// Sets what the maximum counts.
    #[must_use]
    pub const fn with_unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Returns the part of the next chunk that is kept: a prefix of it. After a character that did not fit, nothing
    /// more is kept, so the kept text is always a prefix of the whole text.
    #[must_use = "only the returned part is kept"]
    pub fn truncate<'t>(&mut self, chunk: &'t str) -> &'t str {
        let (kept, rest) = self.unit.split(chunk, &mut self.left);
        if !rest.is_empty() {
            self.left = 0;
        }
        kept
    }
}

/// Splits text that arrives in chunks into messages of a maximum length, by default in bytes. Each message contains whole
/// characters and is as long as possible. The messages depend only on the text, not on the chunks.
///
/// ```
/// use utf8_codec::boundary::{Splitter, Unit};
///
/// let mut splitter = Splitter::new(4).expect("4 bytes or more");
/// let mut messages: Vec<String> = Vec::new();
/// for chunk in ["gr\u{FC}", "n u", "nd blau"] {
///     for part in splitter.feed(chunk) {
///         if part.starts_message {
///             messages.push(String::new());
///         }
///         messages.last_mut().expect("the first part starts a message").push_str(part.text);
///     }
/// }
/// assert_eq!(messages, ["gr\u{FC}", "n un", "d bl", "au"]);
///
/// // Telegram counts UTF-16 code units: at most 4,096 in a message. Discord counts characters: at most 2,000.
/// let mut splitter = Splitter::new(4096).expect("4 or more").with_unit(Unit::Utf16);
/// assert_eq!(splitter.feed(&"🦀".repeat(3000)).map(|part| part.text.len() / 4).collect::<Vec<_>>(), [2048, 952]);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Splitter {
    max: usize,
    unit: Unit,
    /// The number of units that still fit in the current message.
    left: usize,
}

impl Splitter {
    /// Creates a splitter for messages of at most `max` bytes. Returns `None` if `max` is less than 4, because some
    /// characters would not fit in a message.
    pub const fn new(max: usize) -> Option<Self> {
        if max > MAX_CONTINUATIONS { Some(Self { max, unit: Unit::Bytes, left: 0 }) } else { None }
    }

    /// Sets what the maximum counts. Call it before the first chunk.
    #[must_use]
    pub const fn with_unit(mut self, unit: Unit) -> Self {
        self.unit = unit;
        self
    }

    /// Splits the next chunk as the iterator advances.
    #[must_use = "the chunk is split only as the iterator advances"]
    pub fn feed<'s, 't>(&'s mut self, chunk: &'t str) -> Parts<'s, 't> {
        Parts { splitter: self, rest: chunk }
    }

    /// Ends the current message: the next part starts a new one.
    pub const fn finish(&mut self) {
        self.left = 0;
    }
}

/// The parts of a chunk, returned by [`Splitter::feed`].
#[derive(Debug)]
pub struct Parts<'s, 't> {
    splitter: &'s mut Splitter,
    rest: &'t str,
}

/// A part of a chunk that belongs to one message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Part<'t> {
    /// Whether the part starts a message. If not, it continues the message of the previous part.
    pub starts_message: bool,
    /// The text, never empty.
    pub text: &'t str,
}

impl<'t> Iterator for Parts<'_, 't> {
    type Item = Part<'t>;

    fn next(&mut self) -> Option<Part<'t>> {
        if self.rest.is_empty() {
            return None;
        }
        let Splitter { max, unit, ref mut left } = *self.splitter;
        let (mut text, mut rest) = unit.split(self.rest, left);
        let starts_message = text.is_empty();
        if starts_message {
            *left = max;
            (text, rest) = unit.split(self.rest, left);
        }
        self.rest = rest;
        // A character that does not fit ends the message, even if the message has room for a shorter character.
        if !rest.is_empty() {
            *left = 0;
        }
        Some(Part { starts_message, text })
    }
}

impl core::iter::FusedIterator for Parts<'_, '_> {}

/// Returns the number of continuation bytes at the start of `bytes`, at most 3.
fn leading_continuations(bytes: &[u8]) -> usize {
    bytes.iter().take(MAX_CONTINUATIONS).take_while(|&&byte| is_continuation(byte)).count()
}
