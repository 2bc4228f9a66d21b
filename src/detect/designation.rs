//! Designation sequences of ISO/IEC 10646-1, Annex R.6 and clause 17.5.

use core::iter::FusedIterator;

use crate::kernels;

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

/// A designation in a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct DesignationMatch {
    /// The designated encoding.
    pub designation: Designation,
    /// The absolute offset of the first byte.
    pub offset: u64,
    /// The length in bytes.
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
/// use utf8_codec::detect::{Designation, DesignationRecognizer};
///
/// let mut recognizer = DesignationRecognizer::new();
/// assert!(recognizer.feed(b"old\x1B%/").next().is_none());
/// let found = recognizer.feed(b"Inew \xC3\xA9").next();
/// assert_eq!(found.map(|it| (it.designation, it.offset, it.end())), Some((Designation::Utf8Level(3), 3, 7)));
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct DesignationRecognizer {
    offset: u64,
    /// The part of a designation at the end of the stream so far.
    state: State,
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
    /// Creates a recognizer at the start of a stream.
    pub const fn new() -> Self {
        Self { offset: 0, state: State::Nothing }
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
        let (state, found) = match (self.state, byte) {
            (_, ESC) => (State::Escape, None),
            (State::Escape, 0x25) => (State::Percent, None),
            (State::Percent, 0x2F) => (State::Solidus, None),
            (State::Percent, 0x47) => (State::Nothing, Some(Designation::Utf8)),
            (State::Percent, 0x40) => (State::Nothing, Some(Designation::Return)),
            (State::Solidus, level @ 0x47..=0x49) => {
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
            if recognizer.state == State::Nothing {
                let skipped = kernels::first_position(self.rest, ESC).unwrap_or(self.rest.len());
                recognizer.offset += skipped as u64;
                self.rest = &self.rest[skipped..];
            }
            let (&byte, rest) = self.rest.split_first()?;
            self.rest = rest;
            if let Some(designation) = recognizer.step(byte) {
                let len = if matches!(designation, Designation::Utf8Level(_)) { 4 } else { 3 };
                return Some(DesignationMatch {
                    designation,
                    offset: recognizer.offset - u64::from(len),
                    len,
                });
            }
        }
    }
}

impl FusedIterator for DesignationMatches<'_, '_> {}
