//! Lines and columns of a document, in any order.

use alloc::vec::Vec;
use core::ops::Range;

use super::{Column, Columns, Location, Newlines};
use crate::encoding::is_continuation;

/// The lines of a document, and what is wider than a byte in it: any offset to line and column, and back, without the
/// text.
///
/// Takes 8 bytes for each line, and 40 for each aligned 64 bytes of text that are not all ASCII. An answer takes a
/// binary search.
///
/// ```
/// use utf8_codec::locate::{Column, LineIndex, Newlines};
///
/// let mut index = LineIndex::new(Newlines::Any);
/// index.feed("let crab = \"🦀\";\r");
/// index.feed("\nnext");
///
/// // What a language server is asked for, and what it answers.
/// let offset = index.offset_of(0, Column::Utf16(15)).unwrap();
/// assert_eq!(offset, 17);
/// let location = index.location(offset).unwrap();
/// assert_eq!((location.line, location.columns.utf16, location.columns.characters), (0, 15, 14));
///
/// // After the end of the line is its end.
/// assert_eq!(index.offset_of(0, Column::Utf16(99)), Some(18));
/// assert_eq!(index.line(1), Some(20..24));
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineIndex {
    newlines: Newlines,
    /// The start of each line, shifted, and the length of what ended the line before: 0 for the first line.
    lines: Vec<u64>,
    /// Those that are not ASCII.
    blocks: Vec<Block>,
    len: u64,
    after_cr: bool,
}

/// 64 bytes that are not all ASCII.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Block {
    /// Its start.
    offset: u64,
    /// The bytes that start no character.
    continuations: u64,
    /// The first bytes of characters that are two UTF-16 units.
    supplementary: u64,
    /// All the bytes before the block that start no character.
    continuations_before: u64,
    /// All the characters before the block that are two UTF-16 units.
    supplementary_before: u64,
}

const BLOCK: u64 = 64;

/// Bits of a line that are not its start.
const SHIFT: u32 = 2;

impl LineIndex {
    /// The index of an empty document.
    pub fn new(newlines: Newlines) -> Self {
        Self { newlines, lines: Vec::from([0]), blocks: Vec::new(), len: 0, after_cr: false }
    }

    /// Adds text at the end of the document.
    pub fn feed(&mut self, text: &str) {
        let bytes = text.as_bytes();
        self.add_lines(bytes);
        self.add_wide(bytes);
        self.len += bytes.len() as u64;
        self.after_cr = bytes.last().map_or(self.after_cr, |&last| last == b'\r');
    }

    /// Adds an ill-formed sequence of so many bytes, which is one character.
    pub fn feed_ill_formed(&mut self, bytes: u64) {
        for at in 1..bytes {
            self.block(self.len + at).continuations |= 1 << ((self.len + at) % BLOCK);
        }
        self.len += bytes;
        self.after_cr &= bytes == 0;
    }

    /// Bytes in the document.
    pub const fn len(&self) -> u64 {
        self.len
    }

    /// Whether the document is empty.
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Lines in the document: one more than there are ends of line.
    pub const fn lines(&self) -> u64 {
        self.lines.len() as u64
    }

    /// The bytes of a line, without what ends it.
    pub fn line(&self, line: u64) -> Option<Range<u64>> {
        let line = usize::try_from(line).ok()?;
        let start = *self.lines.get(line)? >> SHIFT;
        let end = match self.lines.get(line + 1) {
            Some(next) => (next >> SHIFT) - (next & ((1 << SHIFT) - 1)),
            None => self.len,
        };
        Some(start..end)
    }

    /// Where an offset is: an offset inside a character is the start of the character. `None` after the end of the
    /// document; the end itself has a location.
    ///
    /// An offset in what ends a line is in that line.
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

    /// The offset of a line and column. `None` if there is no such line.
    ///
    /// A column inside a character is the start of the character. A column after the end of a line is the end of the
    /// line, before what ends it, as the Language Server Protocol wants it.
    pub fn offset_of(&self, line: u64, column: Column) -> Option<u64> {
        let Range { start, end } = self.line(line)?;
        let before = self.columns(start).like(column);
        let wanted = before.saturating_add(column.value());
        // The last offset of the line whose column is not too far: never in the middle of a character, since all the
        // bytes of a character but the first have the column after it.
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = high - (high - low) / 2;
            let column = self.columns(self.start_of_character(middle)).like(column);
            if column <= wanted { low = middle } else { high = middle - 1 }
        }
        Some(self.start_of_character(low))
    }

    /// What is before an offset in the document.
    fn columns(&self, offset: u64) -> Columns {
        let Some(block) = self.blocks[..self.blocks_up_to(offset)].last() else {
            return Columns { bytes: offset, characters: offset, utf16: offset };
        };
        // Of the block, those before the offset.
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

    /// How many blocks start at or before an offset.
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
            // The line starts after the LF, and two bytes end the one before.
            *last = (self.len + 1) << SHIFT | 2;
            from = 1;
        }
        let mut after_cr = from == 0 && self.after_cr;
        while let Some(end) = self.newlines.nth_end(after_cr, &bytes[from..], 1) {
            let mut len = end.len() as u64;
            // Its CR came in the chunk before.
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

    /// The block of an offset, which is not before the last one.
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
