//! The state of the walk, and its position in a chunk.

use utf8_codec::Utf8Error;

use super::super::error::ProtobufErrorKind;
use super::super::tables::FieldKind;

/// What the next byte belongs to.
#[derive(Clone, Copy, Debug)]
pub(super) enum State {
    Tag,
    /// A value of wire type 0.
    Varint,
    /// The length of a field of this kind.
    Length(FieldKind),
    /// The number of bytes left to skip without reading them.
    Skip(u64),
    /// A string, and the number of its bytes that are left.
    Text(u64),
}

/// Why the walk ends early.
pub(super) enum Stop {
    Malformed(ProtobufErrorKind),
    IllFormed(Utf8Error),
}

/// A position in a chunk.
pub(super) struct Cursor<'c> {
    pub(super) chunk: &'c [u8],
    /// The offset of the chunk.
    pub(super) base: u64,
    pub(super) at: usize,
}

impl<'c> Cursor<'c> {
    /// Returns the offset of the next byte.
    pub(super) const fn offset(&self) -> u64 {
        self.base.wrapping_add(self.at as u64)
    }

    /// Returns the number of bytes up to an offset.
    pub(super) const fn left(&self, end: u64) -> u64 {
        end.wrapping_sub(self.offset())
    }

    pub(super) fn rest(&self) -> &'c [u8] {
        &self.chunk[self.at..]
    }

    /// Returns the error of a tag, a varint or a length, which the byte before the position shows.
    pub(super) const fn before(&mut self, kind: ProtobufErrorKind) -> Stop {
        self.at -= 1;
        Stop::Malformed(kind)
    }
}
