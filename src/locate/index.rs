//! Lines and columns of a document, for offsets in any order.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Column, Columns, Location, Newlines};
use crate::encoding::is_continuation;

/// An index of the lines and of the non-ASCII characters of a document. It converts any offset to a line and column,
/// and back, without access to the text.
///
/// Memory: 8 bytes for each line, and 40 bytes for each aligned block of 64 bytes that is not all ASCII. A lookup is a
/// binary search.
///
/// ```
/// use utf8_codec::locate::{Column, LineIndex, Newlines};
///
/// let mut index = LineIndex::new(Newlines::Any);
/// index.feed("let crab = \"🦀\";\r");
/// index.feed("\nnext");
///
/// // A position of the Language Server Protocol.
/// let offset = index.offset_of(0, Column::Utf16(15)).unwrap();
/// assert_eq!(offset, 17);
/// let location = index.location(offset).unwrap();
/// assert_eq!((location.line, location.columns.utf16, location.columns.characters), (0, 15, 14));
///
/// // A column after the end of the line is clamped to it.
/// assert_eq!(index.offset_of(0, Column::Utf16(99)), Some(18));
/// assert_eq!(index.line(1), Some(20..24));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    newlines: Newlines,
    /// For each line, its start, shifted left by [`SHIFT`], and the length of the terminator before it, which is 0 for
    /// the first line.
    lines: Vec<u64>,
    /// The blocks that contain a byte that is not ASCII.
    blocks: Vec<Block>,
    len: u64,
    after_cr: bool,
}

/// A block of 64 bytes that contains a byte that is not ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    /// The offset of its first byte.
    offset: u64,
    /// A bit for each byte that is a continuation byte.
    continuations: u64,
    /// A bit for each lead byte of a character that is two UTF-16 units.
    supplementary: u64,
    /// The number of continuation bytes before the block.
    continuations_before: u64,
    /// The number of characters before the block that are two UTF-16 units.
    supplementary_before: u64,
}

const BLOCK: u64 = 64;

/// The number of low bits of an entry of `lines` that contain the length of the terminator.
const SHIFT: u32 = 2;

impl LineIndex {
    /// Creates the index of an empty document.
    pub fn new(newlines: Newlines) -> Self {
        Self { newlines, lines: Vec::from([0]), blocks: Vec::new(), len: 0, after_cr: false }
    }

    /// Appends text to the document.
    pub fn feed(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.add_lines(bytes);
        self.add_wide(bytes);
        self.len += bytes.len() as u64;
        self.after_cr = bytes.last().map_or(self.after_cr, |&last| last == b'\r');
    }

    /// Appends an ill-formed sequence of `bytes` bytes, which counts as one character. Does nothing if it has no bytes.
    pub fn feed_ill_formed(&mut self, bytes: u64) {
        for at in 1..bytes {
            self.block(self.len + at).continuations |= 1 << ((self.len + at) % BLOCK);
        }
        self.len += bytes;
        self.after_cr &= bytes == 0;
    }

    /// Returns the length of the document in bytes.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the document is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the number of lines, which is the number of terminators plus one.
    pub const fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    /// Returns the byte range of a line without its terminator. Returns `None` if there is no such line.
    pub fn line(&self, line: u64) -> Option<Range<u64>> {
        let line = usize::try_from(line).ok()?;
        let start = *self.lines.get(line)? >> SHIFT;
        let end = match self.lines.get(line + 1) {
            Some(next) => (next >> SHIFT) - (next & ((1 << SHIFT) - 1)),
            None => self.len,
        };
        Some(start..end)
    }

    /// Returns the location of an offset. An offset inside a character is moved to the start of the character. An
    /// offset inside a terminator belongs to the line that it ends. Returns `None` after the end of the document; the
    /// end itself has a location.
    pub fn location(&self, offset: u64) -> Option<Location> {
        if offset > self.len {
            return None;
        }
        let offset = self.start_of_character(offset);
        let line = self.lines.partition_point(|&line| line >> SHIFT <= offset) - 1;
        let start = self.lines[line] >> SHIFT;
        let (line_start, here) = (self.columns(start), self.columns(offset));
        let columns = Columns {
            bytes: here.bytes - line_start.bytes,
            characters: here.characters - line_start.characters,
            utf16: here.utf16 - line_start.utf16,
        };
        Some(Location { offset, line: line as u64, columns })
    }

    /// Returns the offset of a line and column. Returns `None` if there is no such line.
    ///
    /// A column inside a character is moved to the start of the character. A column after the end of a line is moved to
    /// the end of the line, before its terminator, as the Language Server Protocol specifies.
    pub fn offset_of(&self, line: u64, column: Column) -> Option<u64> {
        let Range { start, end } = self.line(line)?;
        let before = self.columns(start).like(column);
        let wanted = before.saturating_add(column.value());
        // Finds the last offset of the line whose column is not greater than `wanted`. All bytes of a character have
        // the column of its first byte here, so the result is moved to the start of its character.
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = high - (high - low) / 2;
            let column = self.columns(self.start_of_character(middle)).like(column);
            if column <= wanted { low = middle } else { high = middle - 1 }
        }
        Some(self.start_of_character(low))
    }

    /// Returns the columns of an offset, counted from the start of the document.
    fn columns(&self, offset: u64) -> Columns {
        let Some(block) = self.blocks[..self.blocks_up_to(offset)].last() else {
            return Columns { bytes: offset, characters: offset, utf16: offset };
        };
        // A mask of the bytes of the block before the offset.
        let within = match offset - block.offset {
            within @ 0..BLOCK => (1 << within) - 1,
            _ => u64::MAX,
        };
        let count = |bits: u64| u64::from((bits & within).count_ones());
        let characters = offset - block.continuations_before - count(block.continuations);
        let supplementary = block.supplementary_before + count(block.supplementary);
        Columns { bytes: offset, characters, utf16: characters + supplementary }
    }

    fn start_of_character(&self, offset: u64) -> u64 {
        let is_continuation = |&offset: &u64| {
            let block = self.blocks[..self.blocks_up_to(offset)].last();
            block.is_some_and(|block| {
                offset - block.offset < BLOCK && block.continuations >> (offset % BLOCK) & 1 == 1
            })
        };
        (0..=offset).rev().find(|offset| !is_continuation(offset)).unwrap_or(0)
    }

    /// Returns the number of blocks that start at or before an offset.
    fn blocks_up_to(&self, offset: u64) -> usize {
        self.blocks.partition_point(|block| block.offset <= offset)
    }

    fn add_lines(&mut self, bytes: &[u8]) {
        let mut from = 0;
        if self.newlines == Newlines::Any
            && self.after_cr
            && bytes.first() == Some(&b'\n')
            && let Some(last) = self.lines.last_mut()
        {
            // This LF completes a CR LF whose CR was in the previous chunk. The last line therefore starts after the
            // LF, and the terminator before it has two bytes.
            *last = (self.len + 1) << SHIFT | 2;
            from = 1;
        }
        let mut after_cr = from == 0 && self.after_cr;
        while let Some(end) = self.newlines.nth_end(after_cr, &bytes[from..], 1) {
            let mut len = end.len() as u64;
            // If only the LF of a CR LF was found, its CR was at the end of the previous chunk.
            len += u64::from(self.newlines == Newlines::CrLf && len == 1);
            from += end.end;
            after_cr = bytes[from - 1] == b'\r';
            self.lines.push((self.len + from as u64) << SHIFT | len);
        }
    }

    fn add_wide(&mut self, bytes: &[u8]) {
        let mut at = self.len;
        let mut rest = bytes;
        while !rest.is_empty() {
            let (part, after) = rest.split_at(rest.len().min((BLOCK - at % BLOCK) as usize));
            if !part.is_ascii() {
                let block = self.block(at);
                for (bit, &byte) in (at % BLOCK..).zip(part) {
                    block.continuations |= u64::from(is_continuation(byte)) << bit;
                    block.supplementary |= u64::from(byte >= 0xF0) << bit;
                }
            }
            at += part.len() as u64;
            rest = after;
        }
    }

    /// Returns the block of an offset. Adds it if it does not exist. The offset must not be before the last block.
    fn block(&mut self, offset: u64) -> &mut Block {
        let offset = offset - offset % BLOCK;
        let last = self.blocks.last().copied();
        if last.is_none_or(|last| last.offset != offset) {
            let count = |before: u64, bits: u64| before + u64::from(bits.count_ones());
            self.blocks.push(Block {
                offset,
                continuations: 0,
                supplementary: 0,
                continuations_before: last
                    .map_or(0, |last| count(last.continuations_before, last.continuations)),
                supplementary_before: last
                    .map_or(0, |last| count(last.supplementary_before, last.supplementary)),
            });
        }
        let index = self.blocks.len() - 1;
        &mut self.blocks[index]
    }
}

impl Extend<char> for LineIndex {
    fn extend<T: IntoIterator<Item = char>>(&mut self, characters: T) {
        characters.into_iter().for_each(|character| self.feed(character.encode_utf8(&mut [0; 4])));
    }
}
