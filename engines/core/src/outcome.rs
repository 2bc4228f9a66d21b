//! The changes to the slices of an engine's buffer.

use utf8_codec_proxy::Edit;

use crate::reason::Reason;

/// The changes for the slices that were fed.
///
/// The new content of the buffer is `head`, the first `kept` bytes of the slices, and `tail`.
#[derive(Debug)]
#[must_use = "a rejected stream must be ended"]
pub struct Outcome {
    /// Bytes inserted before the bytes that are kept: the held part of a character.
    pub head: Head,
    /// The number of bytes that are kept, from the start of the slices.
    pub kept: usize,
    /// Bytes inserted after the bytes that are kept. Empty, and without an allocation, unless something was repaired.
    pub tail: Vec<u8>,
    /// The length of all slices.
    pub len: usize,
    /// The number of ill-formed sequences that were repaired in these slices, and of escapes that were kept.
    pub repaired: u64,
    /// The result for the stream so far.
    pub verdict: Verdict,
}

/// The result of a check.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The stream is well-formed or was repaired.
    Pass,
    /// The first error of a stream that is only reported. Nothing was changed.
    Reported(Reason),
    /// The stream must end after the new content of the buffer.
    Rejected(Reason),
}

/// Up to 16 bytes: a character or an escape that came in several slices, or the header of a frame.
#[derive(Clone, Copy, Debug, Default)]
pub struct Head {
    bytes: [u8; 16],
    len: usize,
}

impl Head {
    /// Returns the bytes.
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[..self.len]
    }

    /// Appends bytes if they fit.
    fn push(&mut self, more: &[u8]) -> bool {
        let Some(room) = self.bytes[self.len..].get_mut(..more.len()) else { return false };
        room.copy_from_slice(more);
        self.len += more.len();
        true
    }
}

impl Outcome {
    /// The slices, of this length, stay as they are.
    pub(crate) fn unchanged(len: usize, verdict: Verdict) -> Self {
        Self { head: Head::default(), kept: len, tail: Vec::new(), len, repaired: 0, verdict }
    }

    /// Whether the buffer is unchanged.
    pub fn is_unchanged(&self) -> bool {
        self.kept == self.len && self.head.len == 0 && self.tail.is_empty()
    }
}

/// The new content of a buffer while its slices are checked.
pub(crate) struct Output<'s> {
    pub(crate) slices: &'s [&'s [u8]],
    /// The position of the current slice in the concatenation of all slices.
    pub(crate) start: usize,
    head: Head,
    pub(crate) kept: usize,
    pub(crate) tail: Vec<u8>,
}

impl<'s> Output<'s> {
    pub(crate) const fn new(slices: &'s [&'s [u8]]) -> Self {
        Self { slices, start: 0, head: Head { bytes: [0; 16], len: 0 }, kept: 0, tail: Vec::new() }
    }

    /// Returns the length of all slices.
    pub(crate) fn len(&self) -> usize {
        self.slices.iter().map(|slice| slice.len()).sum()
    }

    pub(crate) fn outcome(self, repaired: u64, verdict: Verdict) -> Outcome {
        let len = self.len();
        Outcome { head: self.head, kept: self.kept, tail: self.tail, len, repaired, verdict }
    }

    pub(crate) fn edit(&mut self, index: usize, edit: Edit<'_>) {
        match edit {
            Edit::Pass(range) if self.tail.is_empty() && self.start + range.start == self.kept => {
                self.kept = self.start + range.end;
            }
            Edit::Pass(range) => self.tail.extend_from_slice(&self.slices[index][range]),
            Edit::Insert(bytes) if self.tail.is_empty() && self.keep_held(index, bytes) => {}
            Edit::Insert(bytes) => self.tail.extend_from_slice(bytes),
            _ => {}
        }
    }

    /// Keeps the bytes of a character that are at the end of the previous slices, and moves those of an earlier call to
    /// the head. Returns whether the buffer then contains all of `bytes` without a copy.
    fn keep_held(&mut self, index: usize, bytes: &[u8]) -> bool {
        let in_place = self.start.checked_sub(self.kept);
        let Some(earlier) = in_place.and_then(|len| bytes.len().checked_sub(len)) else { return false };
        let (earlier, in_place) = bytes.split_at(earlier);
        let mut before = self.slices[..index].iter().rev().flat_map(|slice| slice.iter().rev());
        let keeps = in_place.iter().rev().all(|byte| before.next() == Some(byte))
            && (earlier.is_empty() || self.kept == 0 && self.head.push(earlier));
        if keeps {
            self.kept = self.start;
        }
        keeps
    }
}
