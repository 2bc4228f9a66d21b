//! Codec for batches of lines.

use core::iter::FusedIterator;

use bytes::BytesMut;
use bytestring::ByteString;
use kernels::Positions;
use tokio_util::codec::{Decoder, Encoder};

use super::error::CodecError;
use super::line_reader::LineReader;
use super::lines::Utf8LinesCodec;
use crate::chunks::text_of;
use crate::line_ending::{LineEnding, MAX_TERMINATOR};
use crate::text::Counters;

/// A codec for lines of text that returns all complete lines of the read buffer as one item.
/// [`Utf8LinesCodec::into_batches`] creates it.
///
/// The bytes of a batch are validated in one call, and all of its lines share one reference count. For many short lines
/// (logs, NDJSON, metrics) this saves most of the cost of a line. The limit, the terminators and the errors are the
/// same as for [`Utf8LinesCodec`]. Errors are returned between batches, one for each rejected line.
///
/// The number of lines in a batch depends on how much was read. The lines themselves do not.
///
/// ```
/// # use futures::StreamExt;
/// # use tokio_util::codec::FramedRead;
/// use utf8_codec::codec::{ErrorsAsItems, Utf8LinesCodec};
///
/// # tokio_test::block_on(async {
/// let socket = &b"one\ntwo\r\nth\xFFree\nfour\nfive"[..];
/// let mut batches = FramedRead::new(socket, ErrorsAsItems::new(Utf8LinesCodec::new().into_batches()));
/// let (mut texts, mut errors) = (Vec::new(), 0);
/// while let Some(batch) = batches.next().await {
///     match batch? {
///         Ok(lines) => texts.extend(lines.iter().map(String::from)),
///         Err(_) => errors += 1,
///     }
/// }
/// assert_eq!(texts, ["one", "two", "four", "five"]);
/// assert_eq!(errors, 1);
/// # Ok::<(), utf8_codec::codec::CodecError>(())
/// # }).unwrap();
/// ```
#[derive(Clone, Copy, Debug)]
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

    /// Returns the length of the complete lines at the start of `src` that can be returned unchanged. It is 0 if the
    /// first of them is ill-formed or too long, has an escape that is not accepted, or if the BOM policy or a subset may
    /// change it.
    ///
    /// The search uses a window that doubles as long as everything in it is well-formed. A call therefore reads at most
    /// a few times as many bytes as it returns, regardless of the bytes after them.
    fn unchanged_len(&mut self, src: &[u8]) -> usize {
        if !self.reader.text.is_past_start() {
            return 0;
        }
        let (mut length, mut window) = (0, FIRST_WINDOW);
        while length < src.len() {
            let rest = &src[length..];
            if let Some(end) = self.reader.ending.find_last(&rest[..rest.len().min(window)]) {
                let taken = self.unchanged_len_of(&rest[..end]);
                length += taken;
                if taken < end {
                    break;
                }
            } else if rest.len() <= window {
                break;
            }
            window = window.saturating_mul(2);
        }
        length
    }

    /// Same as [`unchanged_len`](Self::unchanged_len), without a window. `lines` ends with a terminator.
    fn unchanged_len_of(&mut self, lines: &[u8]) -> usize {
        let max_length = self.reader.max_unchanged_length();
        let (text, ending) = (&mut self.reader.text, self.reader.ending);
        let lines = &lines[..within_limit(lines, ending, max_length)];
        let start = text.offset();
        let well_formed = match text.validate_whole(lines) {
            Ok(()) => lines.len(),
            Err(error) => {
                let before = &lines[..error.offset.wrapping_sub(start) as usize];
                ending.find_last(before).unwrap_or(0)
            }
        };
        let length = self.accepted_len(&lines[..well_formed]);
        if length < lines.len() {
            self.reader.text.seek(start.wrapping_add(length as u64));
        }
        length
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

/// The first window of [`Utf8LineBatchesCodec::unchanged_len`], in bytes.
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

impl Decoder for Utf8LineBatchesCodec {
    type Item = Lines;
    type Error = CodecError;

    fn decode(&mut self, src: &mut BytesMut) -> Result<Option<Lines>, CodecError> {
        if !self.reader.start_line(src) {
            return Ok(None);
        }
        // Search forward from the end of the last search. A backward search would read the whole buffer for each line.
        let Some((length, terminator)) = self.reader.ending.find(src, self.reader.searched) else {
            return self.reader.await_terminator(src).map(|()| None);
        };
        let unchanged = self.unchanged_len(src);
        if unchanged == 0 {
            return Ok(self.reader.take(src, length, terminator)?.map(Lines::one));
        }
        let text = src.split_to(unchanged).freeze();
        trace!(offset = self.offset(), length = unchanged, "decoding lines");
        let ending = self.reader.ending;
        self.reader.end_lines(&text, ending.count(&text));
        // SAFETY: `unchanged_len` has validated these bytes, which end at the end of a line.
        #[allow(unsafe_code)]
        let text = unsafe { text_of(text) };
        Ok(Some(Lines { text, ending: Some(ending) }))
    }

    fn decode_eof(&mut self, src: &mut BytesMut) -> Result<Option<Lines>, CodecError> {
        let decoded = self.decode(src);
        self.reader.end_discarded(src);
        match decoded? {
            Some(lines) => Ok(Some(lines)),
            None => Ok(self.reader.decode_eof(src)?.map(Lines::one)),
        }
    }
}

impl<T: AsRef<str>> Encoder<T> for Utf8LineBatchesCodec {
    type Error = CodecError;

    /// Writes one line, same as [`Utf8LinesCodec`].
    fn encode(&mut self, line: T, dst: &mut BytesMut) -> Result<(), CodecError> {
        let line = line.as_ref().as_bytes();
        self.reader.encode(line, dst)
    }
}

/// One or more lines in one piece of memory: an item of [`Utf8LineBatchesCodec`].
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lines {
    text: ByteString,
    /// The terminator of each line. If `None`, the text is one line without its terminator.
    ending: Option<LineEnding>,
}

impl Lines {
    const fn one(line: ByteString) -> Self {
        Self { text: line, ending: None }
    }

    /// Returns the lines without their terminators.
    pub fn iter(&self) -> LinesIter<'_> {
        LinesIter { text: &self.text, start: 0, ends: Ends::of(self.ending), positions: Positions::START }
    }

    /// Returns the lines with their terminators. An item of one line has no terminator if the line was repaired, if a
    /// BOM policy or a subset was applied to it, or if the stream ended without a terminator.
    pub const fn as_text(&self) -> &ByteString {
        &self.text
    }
}

impl<'l> IntoIterator for &'l Lines {
    type Item = &'l str;
    type IntoIter = LinesIter<'l>;

    fn into_iter(self) -> LinesIter<'l> {
        self.iter()
    }
}

impl IntoIterator for Lines {
    type Item = ByteString;
    type IntoIter = LinesIntoIter;

    /// Each line is a slice of the memory of the item, so that memory is freed when the last line is dropped.
    fn into_iter(self) -> LinesIntoIter {
        let ends = Ends::of(self.ending);
        LinesIntoIter { text: self.text, start: 0, ends, positions: Positions::START }
    }
}

/// The lines of [`Lines`], each of which owns its text.
#[derive(Clone, Debug)]
pub struct LinesIntoIter {
    text: ByteString,
    start: usize,
    ends: Ends,
    positions: Positions,
}

impl Iterator for LinesIntoIter {
    type Item = ByteString;

    fn next(&mut self) -> Option<ByteString> {
        let positions = self.positions.clone();
        let mut lines = LinesIter { text: &self.text, start: self.start, ends: self.ends, positions };
        let line = lines.next().map(|line| self.text.slice_ref(line));
        (self.start, self.positions) = (lines.start, lines.positions);
        line
    }
}

impl FusedIterator for LinesIntoIter {}

/// The lines of [`Lines`].
#[derive(Clone, Debug)]
pub struct LinesIter<'l> {
    text: &'l str,
    /// The position of the next line.
    start: usize,
    ends: Ends,
    /// The positions of the last byte of each terminator, not used for `Ends::Any` and `Ends::Nowhere`.
    positions: Positions,
}

/// The end of a line, for the iterator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Ends {
    /// A line ends with this byte.
    Byte(u8),
    /// A line ends with LF. A CR before it is not part of the line.
    Lf,
    /// A line ends with CRLF. An LF after anything else is part of the line.
    CrLf,
    /// A line ends with LF, CRLF or CR.
    Any,
    /// The text is one line.
    Nowhere,
}

impl Ends {
    const fn of(ending: Option<LineEnding>) -> Self {
        match ending {
            None => Self::Nowhere,
            Some(LineEnding::LfOrCrLf) => Self::Lf,
            Some(ending @ (LineEnding::Lf | LineEnding::Ascii(_))) => Self::Byte(ending.last_byte()),
            Some(LineEnding::CrLf) => Self::CrLf,
            Some(LineEnding::Any) => Self::Any,
        }
    }
}

impl<'l> LinesIter<'l> {
    /// Returns the bytes of the line that ends at the next `byte` for which `is_whole` returns `true`. `is_whole` is
    /// called with these bytes.
    #[inline]
    fn up_to(&mut self, byte: u8, is_whole: impl Fn(&[u8]) -> bool) -> Option<&'l [u8]> {
        let bytes = self.text.as_bytes();
        loop {
            let at = self.positions.next(bytes, byte)?;
            let line = bytes.get(self.start..at)?;
            if is_whole(line) {
                self.start = at + 1;
                return Some(line);
            }
        }
    }

    /// Returns the next line if its end cannot be found by searching for one byte.
    #[inline(never)]
    fn other(&mut self) -> Option<&'l str> {
        // After the only line of `Ends::Nowhere` this is `None`.
        let rest = self.text.get(self.start..)?;
        let (length, terminator) = match self.ends {
            Ends::Any => LineEnding::Any.find(rest.as_bytes(), 0)?,
            _ => (rest.len(), 1),
        };
        self.start += length + terminator;
        rest.get(..length)
    }
}

impl<'l> Iterator for LinesIter<'l> {
    type Item = &'l str;

    #[inline]
    fn next(&mut self) -> Option<&'l str> {
        let line = match self.ends {
            Ends::Lf => {
                let line = self.up_to(b'\n', |_| true)?;
                line.strip_suffix(b"\r").unwrap_or(line)
            }
            Ends::Byte(byte) => self.up_to(byte, |_| true)?,
            Ends::CrLf => self.up_to(b'\n', |line| line.ends_with(b"\r"))?.split_last()?.1,
            Ends::Any | Ends::Nowhere => return self.other(),
        };
        debug_assert!(core::str::from_utf8(line).is_ok());
        // SAFETY: the line is a part of a `str`. Both of its ends are an end of that `str` or next to an ASCII byte,
        // and an ASCII byte is never inside a character.
        #[allow(unsafe_code)]
        Some(unsafe { core::str::from_utf8_unchecked(line) })
    }

    /// Same as the loop over [`next`](Self::next), but keeps the position of the line in a register. `for_each`, `sum` and
    /// `count` call this function.
    #[inline]
    fn fold<B, F: FnMut(B, &'l str) -> B>(mut self, init: B, mut f: F) -> B {
        let (mut all, bytes, mut start) = (init, self.text.as_bytes(), self.start);
        let byte = match self.ends {
            Ends::Lf => b'\n',
            Ends::Byte(byte) => byte,
            Ends::CrLf | Ends::Any | Ends::Nowhere => {
                for line in self {
                    all = f(all, line);
                }
                return all;
            }
        };
        while let Some((base, found)) = self.positions.next_found(bytes, byte) {
            for &position in found {
                let end = base + usize::from(position);
                let Some(line) = bytes.get(start..end) else { return all };
                start = end + 1;
                let line = match self.ends {
                    Ends::Lf => line.strip_suffix(b"\r").unwrap_or(line),
                    _ => line,
                };
                debug_assert!(core::str::from_utf8(line).is_ok());
                // SAFETY: same as in `next`.
                #[allow(unsafe_code)]
                let line = unsafe { core::str::from_utf8_unchecked(line) };
                all = f(all, line);
            }
        }
        all
    }
}

impl FusedIterator for LinesIter<'_> {}
