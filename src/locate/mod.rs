//! Conversion between offsets and lines and columns.
//!
//! For compilers, linters and language servers. A column is counted in bytes, in characters, or in UTF-16 code units,
//! which the Language Server Protocol and SARIF (`columnKind: utf16CodeUnits`) use.
//!
//! [`Locator`] reads the text in chunks and is 48 bytes in size. The results do not depend on how the text is split.
//! Lines and columns count from 0, as in the Language Server Protocol. SARIF and messages for people count from 1.
//!
//! ```
//! use utf8_codec::locate::Locator;
//! use utf8_codec::{Piece, Utf8Decoder};
//!
//! let (mut decoder, mut locator) = (Utf8Decoder::new(), Locator::new());
//! let mut errors = Vec::new();
//! for chunk in [&b"first\nna\xC3"[..], b"\xAFve \xF0\x9F\xA6\x80 \xFF"] {
//!     for piece in decoder.feed(chunk) {
//!         match piece {
//!             Piece::Text(text) => locator.push(text),
//!             Piece::Seam(character) => locator.push(character.encode_utf8(&mut [0; 4])),
//!             Piece::IllFormed(error) => {
//!                 errors.push(locator.location());
//!                 locator.push_ill_formed(error.len.into());
//!             }
//!         }
//!     }
//! }
//! let at = errors[0];
//! assert_eq!((at.offset, at.line), (18, 1));
//! assert_eq!((at.columns.bytes, at.columns.characters, at.columns.utf16), (12, 8, 9));
//! ```
//!
//! # Limits
//!
//! An ill-formed sequence counts as one character and one UTF-16 code unit, like the U+FFFD that would replace it.
//! Combining characters and display width are not considered. Offsets wrap at 2^64 bytes.
//!
//! # Cost
//!
//! Nothing is copied or allocated. Lines are counted with vector instructions, columns only in the text after the last
//! terminator of a chunk. [`Locator::push_ascii`] validates and counts ASCII in one pass.

mod terminators;

use core::ops::AddAssign;

use kernels::count;

use crate::line_ending::LineEnding;

/// The location of a byte. All numbers count from 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Location {
    /// The number of bytes of the stream before the location.
    pub offset: u64,
    /// The number of lines that end before the location.
    pub line: u64,
    /// The length of the part of its line before the location.
    pub columns: Columns,
}

/// The length of a text, or of the part of a line before a location, in each of the three units.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Columns {
    /// The length in bytes.
    pub bytes: u64,
    /// The length in characters (Unicode scalar values).
    pub characters: u64,
    /// The length in UTF-16 code units. A character above U+FFFF has two.
    pub utf16: u64,
}

impl Columns {
    /// Returns the length of a text.
    ///
    /// ```
    /// use utf8_codec::locate::Columns;
    ///
    /// let columns = Columns::of("a€🦀");
    /// assert_eq!((columns.bytes, columns.characters, columns.utf16), (8, 3, 4));
    /// ```
    #[inline]
    pub fn of(text: &str) -> Self {
        let characters = count::characters(text) as u64;
        // ASCII, the most frequent case, has one byte for each character and no supplementary characters.
        let supplementary =
            if characters == text.len() as u64 { 0 } else { count::supplementary(text) as u64 };
        Self { bytes: text.len() as u64, characters, utf16: characters + supplementary }
    }
}

impl AddAssign for Columns {
    #[inline]
    fn add_assign(&mut self, more: Self) {
        self.bytes = self.bytes.wrapping_add(more.bytes);
        self.characters = self.characters.wrapping_add(more.characters);
        self.utf16 = self.utf16.wrapping_add(more.utf16);
    }
}

/// Counts lines and columns of a stream, in constant memory.
///
/// A clone is a checkpoint: if the text that was fed after the clone was made changes, feed the new text to the clone.
///
/// ```
/// use utf8_codec::LineEnding;
/// use utf8_codec::locate::Locator;
///
/// let mut locator = Locator::new().with_line_ending(LineEnding::Any);
/// locator.push("one\r");
/// locator.push("\ntwo: €");
/// assert_eq!(locator.location().line, 1);
/// assert_eq!(locator.location().columns.utf16, 6);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Locator {
    ending: LineEnding,
    here: Location,
    /// Whether the last byte that was fed is a CR.
    after_cr: bool,
}

const _: () = assert!(size_of::<Locator>() <= 48);

impl Locator {
    /// Creates a locator at the start of a stream whose lines end with LF.
    #[inline]
    pub const fn new() -> Self {
        const START: Columns = Columns { bytes: 0, characters: 0, utf16: 0 };
        Self {
            ending: LineEnding::Lf,
            here: Location { offset: 0, line: 0, columns: START },
            after_cr: false,
        }
    }

    /// Creates a locator inside a stream, after text that was counted in another way. The byte before the location is
    /// not a CR.
    ///
    /// ```
    /// use utf8_codec::locate::Locator;
    ///
    /// let mut locator = Locator::new();
    /// locator.push("one\ntwo");
    /// let mut resumed = Locator::with_location(locator.location());
    /// resumed.push(": \u{20AC}");
    /// assert_eq!((resumed.location().line, resumed.location().columns.characters), (1, 6));
    /// ```
    #[inline]
    pub const fn with_location(location: Location) -> Self {
        Self { here: location, ..Self::new() }
    }

    /// Sets the terminators that end a line.
    #[must_use]
    #[inline]
    pub const fn with_line_ending(self, ending: LineEnding) -> Self {
        Self { ending, ..self }
    }

    /// Counts the next chunk.
    #[inline]
    pub fn push(&mut self, text: &str) {
        let (ends, start) = self.ending.count_lines(self.after_cr, text.as_bytes());
        self.advance(text.as_bytes(), ends, Columns::of(&text[start..]));
    }

    /// Counts the ASCII at the start of a chunk and returns its length. ASCII is validated and counted in one pass, so
    /// the chunk need not be validated. The locator must be between two characters.
    ///
    /// ```
    /// use utf8_codec::locate::Locator;
    ///
    /// let (mut locator, chunk) = (Locator::new(), "GET / HTTP/1.1\r\nHost: münchen.example".as_bytes());
    /// assert_eq!(locator.push_ascii(chunk), 23);
    /// assert_eq!((locator.location().line, locator.location().columns.characters), (1, 7));
    /// assert_eq!(locator.push_ascii(&chunk[23..]), 0);
    /// ```
    #[inline]
    pub fn push_ascii(&mut self, chunk: &[u8]) -> usize {
        let (len, ends, start) = self.ending.count_ascii(self.after_cr, chunk);
        let rest = (len - start) as u64;
        self.advance(&chunk[..len], ends, Columns { bytes: rest, characters: rest, utf16: rest });
        len
    }

    /// Moves past `bytes`, which contain `ends` terminators. `rest` is the length of the part of `bytes` that belongs
    /// to the last line.
    #[inline]
    fn advance(&mut self, bytes: &[u8], ends: usize, rest: Columns) {
        let Some(&last) = bytes.last() else { return };
        self.here.offset = self.here.offset.wrapping_add(bytes.len() as u64);
        if ends > 0 {
            self.here.line += ends as u64;
            self.here.columns = Columns::default();
        }
        self.here.columns += rest;
        self.after_cr = last == b'\r';
    }

    /// Counts an ill-formed sequence of `bytes` bytes as one character. Does nothing if it has no bytes.
    #[inline]
    pub fn push_ill_formed(&mut self, bytes: u64) {
        if bytes == 0 {
            return;
        }
        self.here.offset = self.here.offset.wrapping_add(bytes);
        self.here.columns += Columns { bytes, characters: 1, utf16: 1 };
        self.after_cr = false;
    }

    /// Returns the location of the next byte.
    ///
    /// Under [`LineEnding::Any`] a CR ends a line immediately, so the location of an LF after it is the start of the next
    /// line.
    #[inline]
    pub const fn location(&self) -> Location {
        self.here
    }
}
