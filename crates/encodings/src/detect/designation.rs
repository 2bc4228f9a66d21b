//! Designation sequences of ISO/IEC 10646-1, Annex R.6 and clause 17.5.

use core::iter::FusedIterator;

/// The encoding that an ISO/IEC 2022 escape sequence designates for the bytes after it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Designation {
    /// `ESC 02/05 02/15 04/07`, `04/08` or `04/09`: UTF-8 with implementation level 1, 2 or 3.
    Utf8Level(u8),
    /// `ESC 02/05 04/07`: UTF-8 without a level (R.6, Note 6).
    Utf8,
    /// `ESC 02/05 04/00`: return to the coding system of ISO/IEC 2022.
    Return,
}

/// The padding of escape sequences (clause 16): each byte of the sequence is the last byte of a code unit whose other
/// bytes are 0.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Padding {
    /// No padding, as in ISO/IEC 2022 and in UTF-8.
    #[default]
    None,
    /// To two bytes, as in UCS-2: `00 1B 00 25 ..`.
    Ucs2,
    /// To four bytes, as in UCS-4: `00 00 00 1B 00 00 00 25 ..`.
    Ucs4,
}

impl Padding {
    const fn unit(self) -> u64 {
        match self {
            Self::None => 1,
            Self::Ucs2 => 2,
            Self::Ucs4 => 4,
        }
    }
}

/// A designation in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DesignationMatch {
    /// The designated encoding.
    pub designation: Designation,
    /// The absolute offset of the first byte.
    pub offset: u64,
    /// The length in bytes, including padding.
    pub len: u8,
}

impl DesignationMatch {
    /// Returns the absolute offset of the first byte after the designation.
    pub const fn end(&self) -> u64 {
        self.offset + self.len as u64
    }
}

/// Finds designations in a stream in chunks of any size. They may be split between chunks.
///
/// ```
/// use utf8_codec_encodings::detect::{Designation, DesignationRecognizer};
///
/// let mut recognizer = DesignationRecognizer::new();
/// assert!(recognizer.feed(b"old\x1B%/").next().is_none());
/// let found = recognizer.feed(b"Inew \xC3\xA9").next();
/// assert_eq!(found.map(|it| (it.designation, it.offset, it.end())), Some((Designation::Utf8Level(3), 3, 7)));
/// ```
#[derive(Clone, Debug, Default)]
pub struct DesignationRecognizer {
    padding: Padding,
    offset: u64,
    /// The part of a designation at the end of the stream so far.
    state: State,
    /// Whether the current code unit has a padding byte that is not zero.
    foreign: bool,
}

/// The part of a designation at the end of the stream so far: `ESC`, `ESC %` or `ESC % /`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Nothing,
    Escape,
    Percent,
    Solidus,
}

const ESC: u8 = 0x1B;

impl DesignationRecognizer {
    /// Creates a recognizer for sequences without padding.
    pub const fn new() -> Self {
        Self::padded(Padding::None)
    }

    /// Creates a recognizer for padded sequences. Their offsets are multiples of the length of a code unit.
    pub const fn padded(padding: Padding) -> Self {
        Self { padding, offset: 0, state: State::Nothing, foreign: false }
    }

    /// Searches the next chunk. The chunk is searched as the iterator advances. If the iterator is dropped early, feed
    /// the bytes after [`offset`](Self::offset) again.
    #[must_use = "the chunk is searched only as the iterator advances"]
    pub fn feed<'r, 'c>(&'r mut self, chunk: &'c [u8]) -> DesignationMatches<'r, 'c> {
        DesignationMatches { recognizer: self, rest: chunk }
    }

    /// Returns the number of bytes searched.
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Examines one byte. Returns the designation that ends with it.
    fn step(&mut self, byte: u8) -> Option<Designation> {
        self.offset += 1;
        if !self.offset.is_multiple_of(self.padding.unit()) {
            self.foreign |= byte != 0;
            return None;
        }
        let byte = (!core::mem::take(&mut self.foreign)).then_some(byte);
        let (state, found) = match (self.state, byte) {
            (_, Some(ESC)) => (State::Escape, None),
            (State::Escape, Some(0x25)) => (State::Percent, None),
            (State::Percent, Some(0x2F)) => (State::Solidus, None),
            (State::Percent, Some(0x47)) => (State::Nothing, Some(Designation::Utf8)),
            (State::Percent, Some(0x40)) => (State::Nothing, Some(Designation::Return)),
            (State::Solidus, Some(level @ 0x47..=0x49)) => {
                (State::Nothing, Some(Designation::Utf8Level(level - 0x46)))
            }
            _ => (State::Nothing, None),
        };
        self.state = state;
        found
    }
}

/// The designations that end in a chunk, returned by [`DesignationRecognizer::feed`].
#[derive(Debug)]
pub struct DesignationMatches<'r, 'c> {
    recognizer: &'r mut DesignationRecognizer,
    rest: &'c [u8],
}

impl Iterator for DesignationMatches<'_, '_> {
    type Item = DesignationMatch;

    fn next(&mut self) -> Option<DesignationMatch> {
        let recognizer = &mut *self.recognizer;
        loop {
            if recognizer.state == State::Nothing && recognizer.padding == Padding::None {
                let skipped = kernels::first_position(self.rest, ESC).unwrap_or(self.rest.len());
                recognizer.offset += skipped as u64;
                self.rest = &self.rest[skipped..];
            }
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            if let Some(designation) = recognizer.step(byte) {
                let units = if matches!(designation, Designation::Utf8Level(_)) { 4 } else { 3 };
                let len = units * recognizer.padding.unit();
                return Some(DesignationMatch {
                    designation,
                    offset: recognizer.offset - len,
                    len: len as u8,
                });
            }
        }
    }
}

impl FusedIterator for DesignationMatches<'_, '_> {}
