//! Lines and columns of a document, for offsets in any order.

mod leaf;
mod tree;

use core::mem;
use core::ops::Range;

use leaf::{Bytes, Leaves, Sums};
use tree::{Node, Tree, join, leaf_at, leaf_of_end, split, split_first, split_last};

use super::{Columns, Location};
use crate::line_ending::LineEnding;

/// A column in one of the units, counted from 0.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Column {
    /// A column in bytes.
    Bytes(u64),
    /// A column in characters.
    Characters(u64),
    /// A column in UTF-16 code units.
    Utf16(u64),
}

impl Column {
    const fn value(self) -> u64 {
        match self {
            Self::Bytes(value) | Self::Characters(value) | Self::Utf16(value) => value,
        }
    }

    /// Returns the length in the unit of this column.
    const fn of(self, columns: Columns) -> u64 {
        match self {
            Self::Bytes(_) => columns.bytes,
            Self::Characters(_) => columns.characters,
            Self::Utf16(_) => columns.utf16,
        }
    }
}

/// An index of the lines and of the non-ASCII characters of a document. It converts any offset to a line and column,
/// and back, without access to the text. It follows the edits of the document.
///
/// Memory: about 0.25 bytes for each byte of ASCII with LF, and up to 0.6 for text with all kinds of characters and CR LF.
/// A lookup, and an edit apart from its text, take time that is logarithmic in the length of the document.
///
/// ```
/// use utf8_codec::LineEnding;
/// use utf8_codec::locate::{Column, LineIndex};
///
/// let mut index = LineIndex::new(LineEnding::Any);
/// index.push("let crab = \"🦀\";\r");
/// index.push("\nnext");
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
///
/// // An edit of the document, as in `textDocument/didChange`.
/// let start = index.offset_of(0, Column::Utf16(4)).unwrap();
/// let end = index.offset_of(0, Column::Utf16(8)).unwrap();
/// index.splice(start..end, "ferris\n");
/// assert_eq!((index.line(0), index.line(1)), (Some(0..10), Some(11..21)));
/// ```
#[derive(Clone, Debug)]
pub struct LineIndex {
    ending: LineEnding,
    tree: Tree,
    /// The state of the generator of priorities.
    random: u32,
}

impl LineIndex {
    /// Creates the index of an empty document.
    pub const fn new(ending: LineEnding) -> Self {
        Self { ending, tree: None, random: 0x9E37_79B9 }
    }

    /// Appends text to the document.
    pub fn push(&mut self, text: &str) {
        self.append(Bytes::Text(text.as_bytes()));
    }

    /// Appends an ill-formed sequence of `bytes` bytes, which counts as one character. Does nothing if it has no bytes. The
    /// sequences of this crate have at most 8. A lookup inside a longer one takes time that is linear in its length.
    pub fn push_ill_formed(&mut self, bytes: u64) {
        self.append(Bytes::IllFormed(bytes));
    }

    /// Replaces a range of the document by text. An end inside a character is moved to the start of the character, and an
    /// end after the document to its end. A range that ends before it starts is empty.
    ///
    /// The time follows the lengths of the range and of the text, and the logarithm of the length of the document. The
    /// result is the index of the edited document.
    pub fn splice(&mut self, range: Range<u64>, text: &str) {
        let start = self.start_of_character(range.start.min(self.len()));
        let end = self.start_of_character(range.end.min(self.len())).max(start);
        let (left, rest) = split(mem::take(&mut self.tree), start);
        // The leaves on both sides of the edit are divided again, so that a CR LF is in one leaf and leaves do not become
        // small.
        let (left, before) = split_last(left);
        let rest_start = tree::sums(&left).bytes + before.as_ref().map_or(0, |leaf| leaf.len() as u64);
        let (removed, rest) = split(rest, end - rest_start);
        let last_start = rest_start + tree::sums(&removed).bytes;
        let (last, right) = split_first(rest);
        let (first, _) = split_first(removed);
        let mut leaves = Leaves::after(before.unwrap_or_default(), self.ending);
        // Fewer bytes than those of a leaf.
        if let Some(first) = first.as_ref().or(last.as_ref()) {
            leaves.push(Bytes::Part(first, 0..(start - rest_start) as usize));
        }
        leaves.push(Bytes::Text(text.as_bytes()));
        if let Some(last) = &last {
            leaves.push(Bytes::Part(last, (end - last_start) as usize..last.len()));
        }
        self.tree = left;
        self.add(leaves);
        self.tree = join(self.tree.take(), right);
    }

    /// Returns the length of the document in bytes.
    pub fn len(&self) -> u64 {
        tree::sums(&self.tree).bytes
    }

    /// Whether the document is empty.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Returns the number of lines, which is the number of terminators plus one.
    pub fn lines(&self) -> u64 {
        tree::sums(&self.tree).ends + 1
    }

    /// Returns the byte range of a line without its terminator. Returns `None` if there is no such line.
    pub fn line(&self, line: u64) -> Option<Range<u64>> {
        let end = if line.checked_add(1)? == self.lines() {
            self.len()
        } else {
            let (end, terminator) = self.nth_end(line)?;
            end - terminator
        };
        Some(self.start_of_line(line)?..end)
    }

    /// Returns the location of an offset. An offset inside a character is moved to the start of the character. An
    /// offset inside a terminator belongs to the line that it ends. Returns `None` after the end of the document; the
    /// end itself has a location.
    pub fn location(&self, offset: u64) -> Option<Location> {
        if offset > self.len() {
            return None;
        }
        let offset = self.start_of_character(offset);
        let here = self.sums_before(offset);
        let line_start = self.sums_before(self.start_of_line(here.ends)?);
        let (here_columns, start_columns) = (columns(here), columns(line_start));
        let columns = Columns {
            bytes: here_columns.bytes - start_columns.bytes,
            characters: here_columns.characters - start_columns.characters,
            utf16: here_columns.utf16 - start_columns.utf16,
        };
        Some(Location { offset, line: here.ends, columns })
    }

    /// Returns the offset of a line and column. The line after the last one is the end of the document, because editors
    /// send it as the end of a range of whole lines. Returns `None` after it.
    ///
    /// A column inside a character is moved to the start of the character. A column after the end of a line is moved to
    /// the end of the line, before its terminator, as the Language Server Protocol specifies.
    pub fn offset_of(&self, line: u64, column: Column) -> Option<u64> {
        if line == self.lines() {
            return Some(self.len());
        }
        let Range { start, end } = self.line(line)?;
        let column_of = |offset| column.of(columns(self.sums_before(offset)));
        let wanted = column_of(start).saturating_add(column.value());
        // Finds the last offset of the line whose column is not greater than `wanted`. All bytes of a character have
        // the column of its first byte here, so the result is moved to the start of its character.
        let (mut low, mut high) = (start, end);
        while low < high {
            let middle = high - (high - low) / 2;
            if column_of(self.start_of_character(middle)) <= wanted {
                low = middle
            } else {
                high = middle - 1
            }
        }
        Some(self.start_of_character(low))
    }

    fn append(&mut self, bytes: Bytes<'_>) {
        let (rest, last) = split_last(self.tree.take());
        self.tree = rest;
        let mut leaves = Leaves::after(last.unwrap_or_default(), self.ending);
        leaves.push(bytes);
        self.add(leaves);
    }

    /// Adds leaves after those of the tree.
    fn add(&mut self, leaves: Leaves) {
        for leaf in leaves.into_leaves() {
            // The generator of Marsaglia, "Xorshift RNGs".
            self.random ^= self.random << 13;
            self.random ^= self.random >> 17;
            self.random ^= self.random << 5;
            let node = Node::new(leaf, self.ending, self.random);
            self.tree = join(self.tree.take(), Some(node));
        }
    }

    /// Returns the offset after the `n`-th terminator, counted from 0, and the length of the terminator.
    fn nth_end(&self, n: u64) -> Option<(u64, u64)> {
        let (leaf, before) = leaf_of_end(&self.tree, n)?;
        let (position, len) = leaf.nth_end(self.ending, n.checked_sub(before.ends)?)?;
        Some((before.bytes + position as u64 + 1, len as u64))
    }

    fn start_of_line(&self, line: u64) -> Option<u64> {
        match line.checked_sub(1) {
            None => Some(0),
            Some(end) => self.nth_end(end).map(|(start, _)| start),
        }
    }

    fn sums_before(&self, offset: u64) -> Sums {
        leaf_at(&self.tree, offset).map_or(Sums::default(), |(leaf, before)| {
            before + leaf.sums(self.ending, (offset - before.bytes) as usize)
        })
    }

    fn start_of_character(&self, offset: u64) -> u64 {
        let mut offset = offset;
        while let Some((leaf, before)) = leaf_at(&self.tree, offset) {
            let position = (offset - before.bytes) as usize;
            let start = (0..=position).rev().find(|&position| !leaf.is_continuation(position));
            match start {
                Some(start) => return before.bytes + start as u64,
                None if before.bytes == 0 => return 0,
                None => offset = before.bytes - 1,
            }
        }
        offset
    }
}

/// Returns the columns of an offset, counted from the start of the document.
const fn columns(before: Sums) -> Columns {
    let characters = before.bytes - before.continuations;
    Columns { bytes: before.bytes, characters, utf16: characters + before.supplementary }
}

impl Extend<char> for LineIndex {
    fn extend<T: IntoIterator<Item = char>>(&mut self, characters: T) {
        characters.into_iter().for_each(|character| self.push(character.encode_utf8(&mut [0; 4])));
    }
}
