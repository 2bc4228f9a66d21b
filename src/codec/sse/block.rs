//! The event that is being read.

use bytestring::ByteString;

use crate::codec::error::LineStart;

/// The fields of the event that is being read.
#[derive(Clone, Debug, Default)]
pub(super) struct Block {
    pub(super) event: ByteString,
    pub(super) data: Data,
    /// The start of the first line that is not a comment.
    pub(super) start: Option<LineStart>,
    /// Whether the type or the data is a slice of the read buffer.
    pub(super) has_slices: bool,
    /// Whether the event contains an error.
    pub(super) is_discarded: bool,
}

impl Block {
    #[inline]
    pub(super) const fn new(is_discarded: bool) -> Self {
        let event = ByteString::new();
        Self { event, data: Data::None, start: None, has_slices: false, is_discarded }
    }

    /// Copies the slices of the read buffer, so that they do not keep its memory alive.
    #[inline]
    pub(super) fn copy_slices(&mut self) {
        if core::mem::take(&mut self.has_slices) {
            self.event = String::from(&*self.event).into();
            if let Data::Line(line) = &self.data {
                self.data = Data::Lines(String::from(&**line));
            }
        }
    }
}

/// The capacity of a read buffer that an unfinished event may keep alive while the next bytes are read into another
/// one. If a buffer was longer, such an event is copied.
pub(super) const SMALL_BUFFER: usize = 16 * 1024;

#[derive(Clone, Debug, Default)]
pub(super) enum Data {
    #[default]
    None,
    /// One line, a slice of the read buffer.
    Line(ByteString),
    /// Lines joined with LF.
    Lines(String),
}

impl Data {
    /// Returns the length after appending another line, in bytes.
    #[inline]
    pub(super) fn len_with(&self, line: &str) -> usize {
        match self {
            Self::None => line.len(),
            Self::Line(first) => first.len() + 1 + line.len(),
            Self::Lines(lines) => lines.len() + 1 + line.len(),
        }
    }

    /// Appends a line. The capacity doubles, but does not exceed `max`, the limit of the data.
    #[inline]
    pub(super) fn push(&mut self, line: ByteString, max: usize) {
        let length = self.len_with(&line);
        let capacity = length.saturating_mul(2).min(max).max(length);
        match self {
            Self::None => *self = Self::Line(line),
            Self::Line(first) => {
                let mut lines = String::with_capacity(capacity);
                lines.extend([&**first, "\n", &*line]);
                *self = Self::Lines(lines);
            }
            Self::Lines(lines) => {
                if lines.capacity() < length {
                    lines.reserve_exact(capacity - lines.len());
                }
                lines.extend(["\n", &*line]);
            }
        }
    }

    #[inline]
    pub(super) fn len(&self) -> usize {
        match self {
            Self::None => 0,
            Self::Line(line) => line.len(),
            Self::Lines(lines) => lines.len(),
        }
    }

    #[inline]
    pub(super) fn into_text(self) -> Option<ByteString> {
        match self {
            Self::None => None,
            Self::Line(line) => Some(line),
            Self::Lines(lines) => Some(lines.into()),
        }
    }
}
