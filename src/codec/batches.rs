//! Codec for batches of lines.

use core::iter::FusedIterator;
use std::io;

use bytes::BytesMut;
use bytestring::ByteString;
use kernels::{SplitAtByte, held, join_adjacent};
use tokio_util::codec::{Decoder, Encoder};

use super::error::CodecError;
use super::items::Items;
use super::line_reader::LineReader;
use super::lines::Utf8LinesCodec;
use crate::line_ending::{LineEnding, MAX_TERMINATOR};
use crate::text::Counters;

/// A codec for lines of text that returns all complete lines of the read buffer as one item.
/// [`Utf8LinesCodec::into_batches`] creates it.
///
/// The bytes of a batch are validated in one call, and all of its lines share one reference count. For many short lines
/// (logs, NDJSON, metrics) this saves most of the cost of a line. The limit, the terminators and the errors are the
/// same as for [`Utf8LinesCodec`]. Errors are items between batches, one for each rejected line.
///
/// The number of lines in a batch depends on how much was read. The lines themselves do not.
///
/// # Cost
///
/// A rejected or repaired line is an item of its own, with a reference to its bytes or a `String`. Where every line is
/// ill-formed, a batch saves nothing.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::FramedRead;
/// use utf8_codec::codec::Utf8LinesCodec;
///
/// # tokio_test::block_on(async {
/// let socket = &b"one\ntwo\r\nth\xFFree\nfour\nfive"[..];
/// let mut batches = FramedRead::new(socket, Utf8LinesCodec::new().into_batches());
/// let (mut texts, mut errors) = (Vec::new(), 0);
/// while let Some(batch) = batches.next().await {
///     match batch? {
///         Ok(lines) => texts.extend(lines.iter().map(String::from)),
///         Err(_) => errors += 1,
///     }
/// }
/// assert_eq!(texts, ["one", "two", "four", "five"]);
/// assert_eq!(errors, 1);
/// # std::io::Result::Ok(())
/// # }).unwrap();
/// ```
#[derive(Clone, Debug)]
pub struct Utf8LineBatchesCodec {
    reader: LineReader,
}

impl Utf8LinesCodec {
    /// Converts this codec into a [`Utf8LineBatchesCodec`], which returns all complete lines of the buffer as one item.
    pub const fn into_batches(self) -> Utf8LineBatchesCodec {
        Utf8LineBatchesCodec { reader: self.reader }
    }
}

impl Default for Utf8LineBatchesCodec {
    fn default() -> Self {
        Utf8LinesCodec::new().into_batches()
    }
}

impl Utf8LineBatchesCodec {
    /// Same as [`Utf8LinesCodec::offset`].
    pub const fn offset(&self) -> u64 {
        self.reader.text.offset()
    }

    /// Same as [`Utf8LinesCodec::counters`].
    pub const fn counters(&self) -> Counters {
        self.reader.text.counters()
    }

    /// Converts this codec back into a [`Utf8LinesCodec`], which returns one line per item.
    pub const fn into_lines(self) -> Utf8LinesCodec {
        Utf8LinesCodec { reader: self.reader }
    }

    /// Returns the complete lines at the start of `src` that can be returned unchanged. There are none if the first of
    /// them is ill-formed or too long, or has an escape that is not accepted, or if the BOM policy or a subset may
    /// change it.
    ///
    /// The search uses a window that doubles as long as everything in it is well-formed. A call therefore reads at most
    /// a few times as many bytes as it returns, regardless of the bytes after them.
    fn unchanged<'b>(&mut self, src: &'b [u8]) -> &'b str {
        let mut lines = "";
        if !self.reader.text.is_past_start() || self.reader.bom_in_each_line {
            return lines;
        }
        let mut window = FIRST_WINDOW;
        while lines.len() < src.len() {
            let rest = &src[lines.len()..];
            if let Some(end) = self.reader.ending.find_last(&rest[..rest.len().min(window)]) {
                let more = self.unchanged_of(&rest[..end]);
                lines = join_adjacent(src, lines, more).unwrap_or(lines);
                if more.len() < end {
                    break;
                }
            } else if rest.len() <= window {
                break;
            }
            window = window.saturating_mul(2);
        }
        lines
    }

    /// Same as [`unchanged`](Self::unchanged), without a window. `lines` ends with a terminator.
    fn unchanged_of<'b>(&mut self, lines: &'b [u8]) -> &'b str {
        let max_length = self.reader.max_unchanged_length();
        let ending = self.reader.ending;
        let lines = &lines[..within_limit(lines, ending, max_length)];
        let start = self.reader.text.offset();
        let (mut text, error) = self.reader.text.take_text(lines);
        if error.is_some() {
            let end = ending.find_last(text.as_bytes()).unwrap_or(0);
            text = text.get(..end).unwrap_or_default();
        }
        text = text.get(..self.accepted_len(text.as_bytes())).unwrap_or_default();
        if text.len() < lines.len() {
            self.reader.text.seek(start.wrapping_add(text.len() as u64));
        }
        text
    }

    /// Returns the length of the first lines whose escapes are accepted, if the lines are JSON. `lines` ends with a
    /// terminator.
    fn accepted_len(&self, lines: &[u8]) -> usize {
        let Some(json) = self.reader.json else { return lines.len() };
        let mut end = 0;
        while let Some((length, terminator)) = self.reader.ending.find(&lines[end..], 0) {
            if !(json.accepts)(json.strings, &lines[end..end + length]) {
                break;
            }
            end += length + terminator;
        }
        end
    }
}

/// The first window of [`Utf8LineBatchesCodec::unchanged`], in bytes.
const FIRST_WINDOW: usize = 512;

/// Returns the length of the prefix of `lines` that contains only lines of at most `max` bytes. The prefix ends with a
/// terminator.
fn within_limit(lines: &[u8], ending: LineEnding, max: usize) -> usize {
    let mut end = 0;
    // A line can only be too long if more than `max` bytes are left.
    while lines.len() - end > max {
        let rest = &lines[end..];
        let window = &rest[..rest.len().min(max.saturating_add(MAX_TERMINATOR))];
        match (ending.find(window, 0), ending.find_last(window)) {
            (Some((first, _)), Some(last)) if first <= max => end += last,
            _ => return end,
        }
    }
    lines.len()
}

impl Items for Utf8LineBatchesCodec {
    type Item = LineBatch;

    fn next_item(&mut self, src: &mut BytesMut) -> Option<Result<LineBatch, CodecError>> {
        if !self.reader.start_line(src) {
            return None;
        }
        // Search forward from the end of the last search. A backward search would read the whole buffer for each line.
        let Some((length, terminator)) = self.reader.ending.find(src, self.reader.searched) else {
            return self.reader.await_terminator(src).err().map(Err);
        };
        let text = held::take_front(src, |bytes| Some(self.unchanged(bytes))).unwrap_or_default();
        if text.is_empty() {
            return Some(self.reader.take_line(src, length, terminator).map(LineBatch::one));
        }
        trace!(offset = self.offset().wrapping_sub(text.len() as u64), length = text.len(), "decoding lines");
        let ending = self.reader.ending;
        self.reader.count_lines(text.as_bytes(), ending.count(text.as_bytes()));
        Some(Ok(LineBatch { text, ending: Some(ending) }))
    }

    fn next_at_end(&mut self, src: &mut BytesMut) -> Option<Result<LineBatch, CodecError>> {
        let lines = self.next_item(src);
        lines.or_else(|| self.reader.decode_eof(src).map(|line| line.map(LineBatch::one)))
    }
}

impl_decoder!(Utf8LineBatchesCodec);

impl<T: AsRef<str>> Encoder<T> for Utf8LineBatchesCodec {
    type Error = io::Error;

    /// Writes one line, same as [`Utf8LinesCodec`].
    fn encode(&mut self, line: T, dst: &mut BytesMut) -> io::Result<()> {
        let line = line.as_ref().as_bytes();
        self.reader.encode(line, dst)
    }
}

/// One or more lines in one piece of memory: an item of [`Utf8LineBatchesCodec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LineBatch {
    text: ByteString,
    /// The terminator of each line. If `None`, the text is one line without its terminator.
    ending: Option<LineEnding>,
}

impl LineBatch {
    const fn one(line: ByteString) -> Self {
        Self { text: line, ending: None }
    }

    /// Returns the lines without their terminators.
    pub fn iter(&self) -> LineBatchIter<'_> {
        LineBatchIter::new(&self.text, self.ending)
    }

    /// Returns the lines with their terminators. An item of one line has no terminator if the line was repaired, if a
    /// BOM policy or a subset was applied to it, or if the stream ended without a terminator.
    pub const fn as_text(&self) -> &ByteString {
        &self.text
    }
}

impl<'l> IntoIterator for &'l LineBatch {
    type Item = &'l str;
    type IntoIter = LineBatchIter<'l>;

    fn into_iter(self) -> LineBatchIter<'l> {
        self.iter()
    }
}

impl IntoIterator for LineBatch {
    type Item = ByteString;
    type IntoIter = LineBatchIntoIter;

    /// Each line is a slice of the memory of the item, so that memory is freed when the last line is dropped.
    fn into_iter(self) -> LineBatchIntoIter {
        LineBatchIntoIter { text: self.text, start: 0, ending: self.ending }
    }
}

/// The lines of [`LineBatch`], each of which owns its text.
#[derive(Clone, Debug)]
pub struct LineBatchIntoIter {
    text: ByteString,
    /// The position of the next line.
    start: usize,
    ending: Option<LineEnding>,
}

impl Iterator for LineBatchIntoIter {
    type Item = ByteString;

    fn next(&mut self) -> Option<ByteString> {
        // After the only line of an item without terminators this is `None`.
        let rest = self.text.get(self.start..)?;
        let (length, terminator) = match self.ending {
            Some(ending) => ending.find(rest.as_bytes(), 0)?,
            None => (rest.len(), 1),
        };
        let line = self.text.slice_ref(rest.get(..length)?);
        self.start += length + terminator;
        Some(line)
    }
}

impl FusedIterator for LineBatchIntoIter {}

/// The lines of [`LineBatch`].
#[derive(Clone, Debug)]
pub struct LineBatchIter<'l>(Parts<'l>);

/// The remaining lines. How they are split depends on the terminator.
#[derive(Clone, Debug)]
enum Parts<'l> {
    /// A line ends with this byte.
    Byte(SplitAtByte<'l>),
    /// A line ends with LF. A CR before it is not part of the line.
    Lf(SplitAtByte<'l>),
    /// A line ends with CRLF. An LF after anything else is part of the line.
    CrLf(SplitAtByte<'l>),
    /// A line ends with LF, CRLF or CR.
    Any(&'l str),
    /// The text is one line.
    One(Option<&'l str>),
}

impl<'l> LineBatchIter<'l> {
    fn new(text: &'l str, ending: Option<LineEnding>) -> Self {
        Self(match ending {
            Some(LineEnding::LfOrCrLf) => Parts::Lf(SplitAtByte::new(text, b'\n')),
            Some(ending @ (LineEnding::Lf | LineEnding::Ascii(_))) => {
                Parts::Byte(SplitAtByte::new(text, ending.last_byte()))
            }
            Some(LineEnding::CrLf) => Parts::CrLf(SplitAtByte::new(text, b'\n')),
            Some(LineEnding::Any) => Parts::Any(text),
            None => Parts::One(Some(text)),
        })
    }
}

impl<'l> Iterator for LineBatchIter<'l> {
    type Item = &'l str;

    #[inline]
    fn next(&mut self) -> Option<&'l str> {
        match &mut self.0 {
            Parts::Byte(lines) => lines.next_where(|_| true),
            Parts::Lf(lines) => lines.next_where(|_| true).map(without_cr),
            Parts::CrLf(lines) => lines.next_where(|line| line.ends_with(b"\r")).map(without_cr),
            Parts::Any(text) => next_of_any(text),
            Parts::One(text) => text.take(),
        }
    }

    /// Same as the loop over [`next`](Self::next), but keeps the position of the line in a register. `for_each`, `sum` and
    /// `count` call this function.
    #[inline]
    fn fold<B, F: FnMut(B, &'l str) -> B>(self, init: B, mut f: F) -> B {
        match self.0 {
            Parts::Byte(lines) => lines.fold(init, f),
            Parts::Lf(lines) => lines.fold(init, |all, line| f(all, without_cr(line))),
            _ => {
                let mut all = init;
                for line in self {
                    all = f(all, line);
                }
                all
            }
        }
    }
}

#[inline]
fn without_cr(line: &str) -> &str {
    line.strip_suffix('\r').unwrap_or(line)
}

/// Removes and returns the next line, which ends with LF, CRLF or CR.
#[inline(never)]
fn next_of_any<'l>(text: &mut &'l str) -> Option<&'l str> {
    let (length, terminator) = LineEnding::Any.find(text.as_bytes(), 0)?;
    let line = text.get(..length)?;
    *text = text.get(length + terminator..)?;
    Some(line)
}

impl FusedIterator for LineBatchIter<'_> {}
