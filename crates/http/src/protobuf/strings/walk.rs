//! The walk through the fields of a message: a method for each state.

use core::ops::Range;

use utf8_codec::{TextPiece, from_utf8};

use super::super::edit::{Edits, StringEdit};
use super::super::error::{FieldPath, Frame, ProtobufError, ProtobufErrorKind};
use super::super::tables::{FieldKind, MessageId};
use super::state::{Cursor, State, Stop};
use super::{MAX_LENGTH, MAX_NESTING, StringFilter};

impl StringFilter {
    /// Reads to the end of the chunk or of the outermost message.
    #[inline(always)]
    pub(super) fn walk_fields<F: FnMut(StringEdit<'_>)>(
        &mut self,
        cursor: &mut Cursor<'_>,
        edits: &mut Edits<'_, F>,
    ) -> Result<(), Stop> {
        loop {
            // An error between fields is not in a field.
            if matches!(self.state, State::Tag) && !self.varint.is_begun() {
                self.field = 0;
            }
            cursor.at = self.skip_whole_fields(cursor.chunk, cursor.base, cursor.at);
            let (message, end) = self.top();
            match self.state {
                State::Tag if cursor.offset() == end && !self.varint.is_begun() => {
                    if !self.end_message()? {
                        return Ok(());
                    }
                }
                _ if cursor.at == cursor.chunk.len() => return Ok(()),
                State::Tag => self.tag(cursor, message, end)?,
                State::Varint => {
                    if self.varint(cursor, end, |_, _, _| None)?.is_some() {
                        self.state = State::Tag;
                    }
                }
                State::Length(kind) => self.length(cursor, kind, end)?,
                State::Skip(left) => self.skip(cursor, left),
                State::Text(left) => self.text(cursor, left, edits)?,
            }
        }
    }

    /// Returns the message that contains the next byte, and its end.
    #[inline(always)]
    pub(super) fn top(&self) -> (MessageId, u64) {
        self.frames.last().map_or((self.root, self.end), |top| (top.message, top.end))
    }

    /// Ends the innermost message. Returns `false` if it is the outermost.
    fn end_message(&mut self) -> Result<bool, Stop> {
        if self.frames.last().is_some_and(|top| top.is_group) {
            return Err(Stop::Malformed(ProtobufErrorKind::UnpairedGroup));
        }
        Ok(self.frames.pop().is_some())
    }

    /// Reads the next varint of a message that ends at an offset. Returns `None` if the chunk ends inside it.
    #[inline(always)]
    fn varint(
        &mut self,
        cursor: &mut Cursor<'_>,
        end: u64,
        wrong: impl Fn(u64, u32, usize) -> Option<ProtobufErrorKind>,
    ) -> Result<Option<u64>, Stop> {
        let rest = cursor.rest().len();
        let inside = usize::try_from(cursor.left(end)).map_or(rest, |left| left.min(rest));
        let ends_here = cursor.left(end) <= rest as u64;
        let bytes = &cursor.chunk[..cursor.at + inside];
        match self.varint.read(bytes, &mut cursor.at, wrong) {
            Ok(None) if ends_here => Err(cursor.before(ProtobufErrorKind::InvalidLength)),
            Ok(value) => Ok(value),
            Err(kind) => Err(cursor.before(kind)),
        }
    }

    /// Reads a tag, which starts a field or ends a group.
    #[inline(always)]
    fn tag(&mut self, cursor: &mut Cursor<'_>, message: MessageId, end: u64) -> Result<(), Stop> {
        let group = self.frames.last().filter(|top| top.is_group).map(|top| top.field);
        let tag = self.varint(cursor, end, |tag, bits, _| wrong_tag(tag, bits, group))?;
        let Some(tag) = tag else { return Ok(()) };
        let number = (tag >> 3) as u32;
        if number == 0 {
            return Err(cursor.before(ProtobufErrorKind::InvalidTag));
        }
        if tag & 7 == 4 {
            if group != Some(number) {
                return Err(cursor.before(ProtobufErrorKind::UnpairedGroup));
            }
            self.frames.pop();
            return Ok(());
        }
        self.field = number;
        let (state, needed) = match (tag & 7, self.tables.kind(message, number)) {
            (0, FieldKind::Skipped) => (State::Varint, 1),
            (1, FieldKind::Skipped) => (State::Skip(8), 8),
            (5, FieldKind::Skipped) => (State::Skip(4), 4),
            (3, FieldKind::Skipped) => return self.open_group(cursor, MessageId::UNKNOWN, end),
            (3, FieldKind::Group(message)) => return self.open_group(cursor, message, end),
            (2, FieldKind::UnverifiedString) if !self.checks_unverified => {
                (State::Length(FieldKind::Skipped), 1)
            }
            (2, kind) if !matches!(kind, FieldKind::Group(_)) => (State::Length(kind), 1),
            _ => return Err(cursor.before(ProtobufErrorKind::WireType)),
        };
        if needed > cursor.left(end) {
            return Err(cursor.before(ProtobufErrorKind::InvalidLength));
        }
        self.state = state;
        if let State::Skip(len) = state {
            self.skip(cursor, len);
        }
        Ok(())
    }

    /// Enters a group. Its end is not known, so the end of the message around it is used.
    fn open_group(&mut self, cursor: &mut Cursor<'_>, message: MessageId, end: u64) -> Result<(), Stop> {
        self.open(cursor, Frame { end, message, field: self.field, is_group: true })
    }

    /// Enters a message or group.
    #[inline(always)]
    fn open(&mut self, cursor: &mut Cursor<'_>, frame: Frame) -> Result<(), Stop> {
        if self.frames.len() == MAX_NESTING {
            return Err(cursor.before(ProtobufErrorKind::TooDeep));
        }
        self.frames.push(frame);
        self.state = State::Tag;
        Ok(())
    }

    /// Reads the length of a field, and the field if it is a string that is whole in the chunk.
    #[inline(always)]
    fn length(&mut self, cursor: &mut Cursor<'_>, kind: FieldKind, end: u64) -> Result<(), Stop> {
        let base = cursor.base;
        let wrong = |len, _, at| {
            let left = end.wrapping_sub(base.wrapping_add(at as u64));
            (len > left.min(MAX_LENGTH)).then_some(ProtobufErrorKind::InvalidLength)
        };
        let Some(len) = self.varint(cursor, end, wrong)? else { return Ok(()) };
        match kind {
            FieldKind::Message(message) => {
                let end = cursor.offset() + len;
                return self.open(cursor, Frame { end, message, field: self.field, is_group: false });
            }
            _ if len == 0 => self.state = State::Tag,
            FieldKind::String | FieldKind::UnverifiedString => match cursor.rest().get(..len as usize) {
                Some(text) if !self.decoder.has_subset() && from_utf8(text).is_ok() => {
                    cursor.at += text.len();
                    self.state = State::Tag;
                }
                _ => {
                    self.decoder.seek(cursor.offset());
                    self.state = State::Text(len);
                }
            },
            FieldKind::Skipped | FieldKind::Group(_) => self.skip(cursor, len),
        }
        Ok(())
    }

    /// Skips this number of bytes, of which only some may be in the chunk.
    #[inline(always)]
    fn skip(&mut self, cursor: &mut Cursor<'_>, len: u64) {
        let taken = len.min(cursor.rest().len() as u64);
        cursor.at += taken as usize;
        self.state = if taken == len { State::Tag } else { State::Skip(len - taken) };
    }

    /// Decodes the next part of a string.
    fn text<F: FnMut(StringEdit<'_>)>(
        &mut self,
        cursor: &mut Cursor<'_>,
        left: u64,
        edits: &mut Edits<'_, F>,
    ) -> Result<(), Stop> {
        let start = cursor.at;
        let rest = cursor.rest();
        let part = &rest[..left.min(rest.len() as u64) as usize];
        let is_last = part.len() as u64 == left;
        cursor.at += part.len();
        let path =
            FieldPath { tables: &self.tables, root: self.root, frames: &self.frames, field: self.field };
        for (range, piece) in self.decoder.feed_ranges(part) {
            put(start + range.start..start + range.end, piece, path, edits)?;
        }
        let end = cursor.at;
        let held = self.decoder.pending().len().min(part.len());
        match is_last.then(|| self.decoder.finish()).flatten() {
            Some(piece) => put(end - held..end, piece, path, edits)?,
            None => edits.hold(end - held..end),
        }
        self.state = if is_last { State::Tag } else { State::Text(left - part.len() as u64) };
        Ok(())
    }
}

impl StringFilter {
    /// Ends a text whose length was not known. Its edits have no position.
    pub(in super::super) fn end_text(
        &mut self,
        edit: impl FnMut(StringEdit<'_>),
    ) -> Result<(), ProtobufError> {
        self.state = State::Tag;
        let path =
            FieldPath { tables: &self.tables, root: self.root, frames: &self.frames, field: self.field };
        let Some(piece) = self.decoder.finish() else { return Ok(()) };
        match put(0..0, piece, path, &mut Edits::new(&[], edit)) {
            Err(Stop::IllFormed(error)) => {
                let kind = ProtobufErrorKind::Text(error.kind);
                Err(ProtobufError::new(error.offset, kind, error.len, path))
            }
            _ => Ok(()),
        }
    }
}

/// Adds the edit for a piece of a string, at these positions of the chunk.
fn put<F: FnMut(StringEdit<'_>)>(
    range: Range<usize>,
    piece: TextPiece<'_>,
    path: FieldPath<'_>,
    edits: &mut Edits<'_, F>,
) -> Result<(), Stop> {
    match piece {
        TextPiece::Text(_) => {}
        TextPiece::Seam(text) => edits.replace(range, text.as_bytes(), None),
        TextPiece::Repaired(text, error) => edits.replace(range, text.as_bytes(), Some((error, path))),
        TextPiece::IllFormed(error) => {
            edits.pass_up_to(range.start);
            return Err(Stop::IllFormed(error));
        }
    }
    Ok(())
}

/// Returns why a tag that starts with these bits is an error, if it is. `group` is the field of the group that may end.
#[inline(always)]
fn wrong_tag(tag: u64, bits: u32, group: Option<u32>) -> Option<ProtobufErrorKind> {
    match tag & 7 {
        6 | 7 => Some(ProtobufErrorKind::InvalidTag),
        4 => {
            // The 10th byte has only one bit of the value.
            let bits = bits.min(u64::BITS);
            let is_start =
                group.is_some_and(|field| (u64::from(field << 3 | 4) ^ tag).trailing_zeros() >= bits);
            (!is_start).then_some(ProtobufErrorKind::UnpairedGroup)
        }
        // The field number would be above 2^29 - 1.
        _ if tag > u64::from(u32::MAX) => Some(ProtobufErrorKind::InvalidTag),
        _ => None,
    }
}
