//! Lines of limited length.

use core::fmt;
use core::iter::FusedIterator;
use std::io::{self, BufRead, Read};

use super::reader::{Utf8Reader, not_text};
use crate::boundary::floor_boundary;
use crate::error::{ByteCount, Utf8Error};
use crate::from_utf8;
use crate::policy::Counters;

/// The lines of a [`Utf8Reader`](super::Utf8Reader), returned by
/// [`Utf8Reader::into_bounded_lines`](super::Utf8Reader::into_bounded_lines).
///
/// # Errors
///
/// - [`LineTooLong`] in an `io::Error` of kind [`InvalidData`](io::ErrorKind::InvalidData), once for each line that is
///   too long, as soon as the limit is exceeded. The next call discards the rest of the line in constant memory and
///   returns the next line.
/// - The [errors of the reader](super::Utf8Reader#errors). An ill-formed sequence that the policy does not repair ends
///   the iterator. After any other error, such as `WouldBlock`, the next call continues in the same line. A read that
///   was interrupted is repeated.
///
/// [`partial`](Self::partial) returns the text of a line that was interrupted by an error.
#[derive(Debug)]
pub struct BoundedLines<R> {
    reader: R,
    max: usize,
    /// The bytes of the line so far.
    line: Vec<u8>,
    /// The number of lines that have ended or were reported as too long.
    lines: u64,
    state: State,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Line,
    /// In the rest of a line that was reported as too long.
    Discard,
    Done,
}

impl<R> BoundedLines<R> {
    #[doc(hidden)]
    pub const fn new(reader: R, max: usize) -> Self {
        Self { reader, max, line: Vec::new(), lines: 0, state: State::Line }
    }

    /// Returns the text of an incomplete line. After an error of the reader this is the text before the error.
    pub fn partial(&self) -> &str {
        // The bytes are ill-formed only if the caller consumed a part of a character of the reader.
        from_utf8(&self.line).unwrap_or_default()
    }

    inner_accessors!(
        reader: R,
        "reader",
        "Bytes that are read from it directly are missing from the lines.",
        "The [`partial`](Self::partial) line is lost."
    );

    /// Returns the line without its terminator, LF or CRLF. A CR at the end of the input is not a terminator.
    fn take_line(&mut self) -> io::Result<String> {
        let mut line = core::mem::take(&mut self.line);
        if line.ends_with(b"\n") {
            line.pop();
            if line.ends_with(b"\r") {
                line.pop();
            }
        }
        self.lines = self.lines.wrapping_add(1);
        String::from_utf8(line).map_err(|_| not_text())
    }
}

impl<R> BoundedLines<R> {
    #[cold]
    fn too_long(&mut self) -> io::Error {
        let mut start = core::mem::take(&mut self.line);
        start.truncate(floor_boundary(&start, self.max.min(LineTooLong::MAX_START)));
        start.shrink_to_fit();
        self.lines = self.lines.wrapping_add(1);
        let start = String::from_utf8(start).unwrap_or_default();
        LineTooLong { number: self.lines, limit: self.max, start }.into()
    }
}

impl<R> BoundedLines<Utf8Reader<R>> {
    /// Returns the number of ill-formed sequences so far, by kind. Sequences after the last line that was returned may
    /// be included.
    pub const fn counters(&self) -> Counters {
        self.reader.decoder().counters()
    }
}

impl<R: BufRead> BoundedLines<R> {
    fn next_line(&mut self) -> io::Result<Option<String>> {
        if self.state == State::Discard {
            self.reader.skip_until(b'\n')?;
            self.state = State::Line;
        }
        loop {
            // One byte more than the limit is read, so that a line that is too long is detected. If this byte is a CR,
            // an LF may follow, so at least one more byte is read.
            let room = self.max.saturating_add(1).saturating_sub(self.line.len()).max(1);
            if self.reader.by_ref().take(room as u64).read_until(b'\n', &mut self.line)? == 0 {
                self.state = State::Done;
                return match self.line.len() {
                    0 => Ok(None),
                    len if len > self.max => Err(self.too_long()),
                    _ => self.take_line().map(Some),
                };
            }
            if self.line.ends_with(b"\n") {
                return self.take_line().map(Some);
            }
            if self.line.len() - usize::from(self.line.ends_with(b"\r")) > self.max {
                self.state = State::Discard;
                return Err(self.too_long());
            }
        }
    }
}

impl<R: BufRead> Iterator for BoundedLines<R> {
    type Item = io::Result<String>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.state == State::Done {
            return None;
        }
        let line = self.next_line();
        if line.as_ref().is_err_and(|error| Utf8Error::find(error).is_some()) {
            self.state = State::Done;
        }
        line.transpose()
    }
}

impl<R: BufRead> FusedIterator for BoundedLines<R> {}

/// A line of [`BoundedLines`] with more bytes than the limit.
///
/// It is inside an `io::Error`: `error.get_ref().and_then(|inner| inner.downcast_ref::<LineTooLong>())`. Neither `Display`
/// nor `Debug` shows the text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct LineTooLong {
    /// The number of the line, counted from 1.
    pub number: u64,
    /// The limit in bytes, without the terminator.
    pub limit: usize,
    /// The start of the line: at most [`MAX_START`](Self::MAX_START) bytes, and never more than the limit.
    pub start: String,
}

impl LineTooLong {
    /// The number of bytes that are kept of a line that is too long: 1 KiB.
    pub const MAX_START: usize = 1024;
}

impl fmt::Debug for LineTooLong {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LineTooLong")
            .field("number", &self.number)
            .field("limit", &self.limit)
            .field("start", &format_args!("{}", ByteCount(self.start.len())))
            .finish()
    }
}

impl fmt::Display for LineTooLong {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {} is longer than {}", self.number, ByteCount(self.limit))
    }
}

impl core::error::Error for LineTooLong {}

/// Creates an error of kind [`InvalidData`](io::ErrorKind::InvalidData) that wraps the [`LineTooLong`].
impl From<LineTooLong> for io::Error {
    #[inline]
    fn from(error: LineTooLong) -> Self {
        Self::new(io::ErrorKind::InvalidData, error)
    }
}
