//! The lines of one direction. Each line that is not UTF-8 is decoded as a whole.

use core::fmt;
use std::string::String;
use std::sync::Arc;
use std::vec::Vec;

use utf8_codec::{LineEnding, from_utf8};

use crate::edit::{Edit, LineError, RejectedLine};

const ENDING: LineEnding = LineEnding::LfOrCrLf;

/// Returns the text of a line that is not UTF-8.
type Decode = dyn Fn(&[u8]) -> String + Send + Sync;

/// Passes lines of UTF-8 and replaces the others by their decoded text. Lines end with LF.
///
/// Unlike [`LineFilter`](crate::LineFilter) it keeps the bytes of an ill-formed line, because their meaning depends on all of
/// them.
#[derive(Clone)]
pub(super) struct DecodedLines {
    decode: Arc<Decode>,
    max_length: usize,
    /// The number of the line, counted from 1.
    number: u64,
    /// The offset of its first byte.
    offset: u64,
    /// The bytes of the line from earlier slices.
    held: Vec<u8>,
    /// Whether the line is too long. The rest of it is dropped.
    skipped: bool,
}

impl DecodedLines {
    pub(super) fn new(max_length: usize, decode: Arc<Decode>) -> Self {
        Self { decode, max_length, number: 1, offset: 0, held: Vec::new(), skipped: false }
    }

    /// Processes the next slice. If `end` is set, ends the stream, and the slice must be empty.
    pub(super) fn take(&mut self, slice: &[u8], end: bool, mut edit: impl FnMut(Edit<'_>)) {
        let mut at = 0;
        while let Some((content, len)) = ENDING.find(slice, at) {
            let after = if self.held.is_empty() && !self.skipped { self.whole_lines(slice, at) } else { at };
            if after > at {
                edit(Edit::Pass(at..after));
                self.number += ENDING.count(&slice[at..after]) as u64;
                self.offset += (after - at) as u64;
                at = after;
                continue;
            }
            self.add(&slice[at..content + len], &mut edit);
            self.end_line(&mut edit);
            at = content + len;
        }
        self.add(&slice[at..], &mut edit);
        if end && (self.skipped || !self.held.is_empty()) {
            self.end_line(&mut edit);
        }
    }

    /// Returns the end of the well-formed lines at the start of `slice[at..]`. Only as many bytes are searched as one
    /// line may have, so no line among them is too long.
    fn whole_lines(&self, slice: &[u8], at: usize) -> usize {
        let rest = &slice[at..];
        let short = ENDING.find_last(&rest[..rest.len().min(self.max_length.saturating_add(1))]).unwrap_or(0);
        let valid = match from_utf8(&rest[..short]) {
            Ok(_) => short,
            Err(error) => ENDING.find_last(&rest[..error.offset as usize]).unwrap_or(0),
        };
        at + valid
    }

    /// Adds bytes to the line, or rejects it.
    fn add(&mut self, bytes: &[u8], edit: &mut impl FnMut(Edit<'_>)) {
        self.offset += bytes.len() as u64;
        if self.skipped {
            return;
        }
        self.held.extend_from_slice(bytes);
        let content = self.held.strip_suffix(b"\n").unwrap_or(&self.held);
        // The CR may be part of the terminator.
        let content = content.strip_suffix(b"\r").unwrap_or(content);
        if content.len() > self.max_length {
            self.reject(edit);
        }
    }

    fn reject(&mut self, edit: &mut impl FnMut(Edit<'_>)) {
        let reason = LineError::TooLong(self.max_length);
        edit(Edit::LineRejected(RejectedLine { line: self.number, reason }));
        self.skipped = true;
        self.held = Vec::new();
    }

    fn end_line(&mut self, edit: &mut impl FnMut(Edit<'_>)) {
        // At the end of the stream, a CR is content.
        if !self.held.ends_with(b"\n") && self.held.len() > self.max_length {
            self.reject(edit);
        }
        match from_utf8(&self.held) {
            Ok("") => {}
            Ok(line) => edit(Edit::Insert(line.as_bytes())),
            Err(mut error) => {
                error.offset += self.offset - self.held.len() as u64;
                edit(Edit::IllFormed(error));
                let line = (self.decode)(&self.held);
                if !line.is_empty() {
                    edit(Edit::Insert(line.as_bytes()));
                }
            }
        }
        self.held.clear();
        self.skipped = false;
        self.number += 1;
    }

    /// Returns the number of held bytes.
    pub(super) fn held(&self) -> usize {
        self.held.len()
    }
}

impl fmt::Debug for DecodedLines {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("DecodedLines").field("number", &self.number).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use test_support::some_partitions;

    use super::*;

    /// Decodes each byte as a character.
    fn latin1(line: &[u8]) -> String {
        line.iter().map(|&byte| char::from(byte)).collect()
    }

    fn run(max_length: usize, chunks: &[&[u8]]) -> (String, Vec<String>) {
        let mut lines = DecodedLines::new(max_length, Arc::new(latin1));
        let (mut out, mut events) = (Vec::new(), Vec::new());
        for (chunk, end) in chunks.iter().map(|chunk| (*chunk, false)).chain([(&b""[..], true)]) {
            lines.take(chunk, end, |edit| match edit {
                Edit::Pass(range) => out.extend_from_slice(&chunk[range]),
                Edit::Insert(bytes) => out.extend_from_slice(bytes),
                Edit::IllFormed(error) => events.push(error.to_string()),
                Edit::LineRejected(line) => events.push(line.to_string()),
            });
        }
        assert_eq!(lines.held(), 0);
        (String::from_utf8(out).unwrap(), events)
    }

    #[test]
    fn lines_and_errors_do_not_depend_on_the_partition() {
        let ill_formed =
            |offset: u64| format!("ill-formed UTF-8 at byte {offset} (MissingContinuation, 1 byte)");
        let too_long = |line: u64| format!("line {line}: longer than 4 bytes");
        for (input, expected, events) in [
            (&b"\xC3\xA9\n\xC3\n\xC3\xA9"[..], "é\nÃ\né", vec![ill_formed(3)]),
            (b"a\r\n\xC3\xA9\xC3\r\n", "a\r\nÃ©Ã\r\n", vec![ill_formed(5)]),
            (b"\n\n\xC3a\n\n", "\n\nÃa\n\n", vec![ill_formed(2)]),
            (b"abcd\r\nabcde\nab\n", "abcd\r\nab\n", vec![too_long(2)]),
            (b"\xC3abcd\nab\xC3\n", "abÃ\n", vec![too_long(1), ill_formed(8)]),
            (b"abcd\r", "", vec![too_long(1)]),
            (b"abc\r", "abc\r", vec![]),
            (b"", "", vec![]),
        ] {
            some_partitions(input, 200, |chunks| {
                assert_eq!(run(4, chunks), (expected.to_owned(), events.clone()), "{chunks:02X?}");
            });
        }
    }

    #[test]
    fn an_endless_line_has_constant_memory() {
        let mut lines = DecodedLines::new(100, Arc::new(latin1));
        let mut rejected = 0;
        for _ in 0..1000 {
            lines.take(&[0xC3; 1000], false, |_| rejected += 1);
            assert_eq!(lines.held.capacity(), 0);
        }
        assert_eq!(rejected, 1);
    }

    #[test]
    fn many_lines_of_one_slice_pass_whole() {
        let input = "naïve\nna\u{10FFFF}\r\n\n".repeat(100).into_bytes();
        some_partitions(&input, 20, |chunks| {
            assert_eq!(run(64 * 1024, chunks).0.as_bytes(), input);
        });
        let mut edits = 0;
        DecodedLines::new(64 * 1024, Arc::new(latin1)).take(&input, false, |_| edits += 1);
        assert_eq!(edits, 1);
    }
}
