//! Boundaries (RFC 2046 §5.1.1): which bytes of a message are content, and where a part ends.
//!
//! ```text
//!                  ┌──────────── text ───────────┐
//!                  v                             │ no delimiter: what was held is content
//!   Inside ── line break (held) ──> Start ── a line that may be a delimiter (held) ──> Delimiter
//! ```
//!
//! The line break before a delimiter belongs to it, so it is held until the line after it is known to be none. As
//! long as nothing is open everything is content, and nothing is held or looked at.

use alloc::vec::Vec;

use memchr::memchr;
use memchr::memmem;

/// Longest boundary (RFC 2046 §5.1.1).
pub(super) const MAX_BOUNDARY: usize = 70;
/// Longest line that may be a delimiter: white space after it counts as what a transport put there, as far as a
/// line may be long.
const MAX_LINE: usize = 998;

/// How content is wanted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Line by line, and with the line break before a delimiter: a header.
    Lines,
    /// As much as there is: a body.
    Bulk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Event<'c> {
    /// Bytes of the chunk.
    Content(&'c [u8]),
    /// Bytes of earlier chunks, which [`Splitter::swap_held`] hands over.
    Held,
    /// A delimiter of the boundary at `level`, the outermost being 0.
    Delimiter { level: usize, last: bool, offset: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of a line, or in one that may be a delimiter.
    Start,
    /// In a line that is none.
    Inside,
    /// After a CR that is held, and nothing else is: of a line break if LF follows.
    Cr,
}

/// Splits a message at the boundaries that are open.
#[derive(Clone, Debug)]
pub(super) struct Splitter {
    /// With the two hyphens before them, the outermost first.
    boundaries: Vec<Vec<u8>>,
    state: State,
    /// A line break and the line after it, of which it is not known whether they are content.
    held: Vec<u8>,
    /// How much of it is the line break.
    held_break: usize,
    /// Bytes of the message so far.
    offset: u64,
}

impl Splitter {
    pub(super) const fn new() -> Self {
        Self { boundaries: Vec::new(), state: State::Start, held: Vec::new(), held_break: 0, offset: 0 }
    }

    /// Bytes of the message taken so far.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Takes back what was the last content, a line or the rest of one: it comes again.
    pub(super) const fn rewind(&mut self, bytes: &[u8], whole_line: bool) {
        self.offset -= bytes.len() as u64;
        self.state = if whole_line { State::Start } else { State::Inside };
    }

    /// Opens a multipart at the start of a line.
    pub(super) fn open(&mut self, boundary: &[u8]) {
        self.boundaries.push([b"--", boundary].concat());
    }

    /// Closes all but the outermost `level` multiparts.
    pub(super) fn close(&mut self, level: usize) {
        self.boundaries.truncate(level);
    }

    /// Exchanges the held bytes, which turned out to be content, for an empty buffer.
    pub(super) fn swap_held(&mut self, buffer: &mut Vec<u8>) {
        core::mem::swap(&mut self.held, buffer);
        self.held_break = 0;
        if self.state == State::Cr {
            self.held.push(b'\r');
        }
    }

    /// How many bytes are held.
    pub(super) fn held_len(&self) -> usize {
        self.held.len()
    }

    /// Takes bytes from `rest` up to the next event; `None` when it is empty.
    pub(super) fn next<'c>(&mut self, rest: &mut &'c [u8], mode: Mode) -> Option<Event<'c>> {
        while let [first, ..] = **rest {
            match self.state {
                State::Start if self.boundaries.is_empty() => self.state = State::Inside,
                State::Start => {
                    if let Some(event) = self.line(rest, mode) {
                        return Some(event);
                    }
                }
                State::Cr if first == b'\n' => {
                    self.hold(rest, 1);
                    self.held_break = self.held.len();
                    self.state = State::Start;
                }
                State::Cr => {
                    self.state = State::Inside;
                    return Some(Event::Held);
                }
                State::Inside => {
                    let content = match mode {
                        Mode::Lines => self.rest_of_line(rest),
                        Mode::Bulk => self.up_to_break(rest),
                    };
                    if !content.is_empty() {
                        return Some(Event::Content(content));
                    }
                }
            }
        }
        None
    }

    /// What is still held at the end of the message.
    pub(super) fn finish(&mut self) -> Option<Event<'static>> {
        let start = self.state == State::Start;
        self.state = State::Start;
        if self.held.is_empty() {
            return None;
        }
        let delimiter = if start { self.delimiter() } else { None };
        Some(delimiter.unwrap_or(Event::Held))
    }

    /// Takes from a line that may be a delimiter, up to its end or to where it is known to be none.
    fn line<'c>(&mut self, rest: &mut &'c [u8], mode: Mode) -> Option<Event<'c>> {
        let bytes = *rest;
        for (i, &byte) in bytes.iter().enumerate() {
            let place = self.held.len() - self.held_break + i;
            if byte == b'\n' {
                self.hold(rest, i);
                let delimiter = self.delimiter();
                if delimiter.is_some() {
                    self.take(rest, 1);
                    return delimiter;
                }
                return self.give_up(mode);
            }
            if (place < 2 && byte != b'-') || place == MAX_LINE {
                self.hold(rest, i);
                return self.give_up(mode);
            }
        }
        self.hold(rest, bytes.len());
        None
    }

    /// The line is none: what is held is content, but for a CR whose line break may belong to the next line.
    fn give_up<'c>(&mut self, mode: Mode) -> Option<Event<'c>> {
        let behind_break = self.held.len() > self.held_break;
        self.state = if mode == Mode::Bulk && behind_break && self.held.ends_with(b"\r") {
            self.held.pop();
            State::Cr
        } else {
            State::Inside
        };
        (!self.held.is_empty()).then_some(Event::Held)
    }

    /// The delimiter that is held, if it is one. It must be the whole line, but for white space at its end.
    fn delimiter<'c>(&mut self) -> Option<Event<'c>> {
        let line = self.held[self.held_break..].trim_ascii_end();
        let (level, last) =
            self.boundaries.iter().enumerate().rev().find_map(|(level, boundary)| {
                match line.strip_prefix(&boundary[..])? {
                    b"" => Some((level, false)),
                    b"--" => Some((level, true)),
                    _ => None,
                }
            })?;
        let offset = self.offset - (self.held.len() - self.held_break) as u64;
        self.held.clear();
        self.held_break = 0;
        Some(Event::Delimiter { level, last, offset })
    }

    /// The content up to and with the next line break.
    fn rest_of_line<'c>(&mut self, rest: &mut &'c [u8]) -> &'c [u8] {
        let len = match memchr(b'\n', rest) {
            Some(at) => {
                self.state = State::Start;
                at + 1
            }
            None => rest.len(),
        };
        self.take(rest, len)
    }

    /// The content up to a line break that may belong to a delimiter, which is then held.
    fn up_to_break<'c>(&mut self, rest: &mut &'c [u8]) -> &'c [u8] {
        if self.boundaries.is_empty() {
            return self.take(rest, rest.len());
        }
        let bytes = *rest;
        let (text, line_break) = match memmem::find(bytes, b"\n--") {
            Some(at) => (at, 1),
            // The chunk may end inside `\r\n--`.
            None => match *bytes {
                [.., b'\n', b'-'] => (bytes.len() - 2, 1),
                [.., b'\n'] => (bytes.len() - 1, 1),
                [.., b'\r'] => (bytes.len() - 1, 0),
                _ => (bytes.len(), 0),
            },
        };
        let held_cr = line_break == 1 && bytes[..text].ends_with(b"\r");
        let content = self.take(rest, text - usize::from(held_cr));
        if line_break == 1 {
            self.hold(rest, usize::from(held_cr) + 1);
            self.held_break = self.held.len();
            self.state = State::Start;
        } else if !rest.is_empty() {
            self.hold(rest, 1);
            self.state = State::Cr;
        }
        content
    }

    fn take<'c>(&mut self, rest: &mut &'c [u8], len: usize) -> &'c [u8] {
        let (taken, after) = rest.split_at(len);
        self.offset += len as u64;
        *rest = after;
        taken
    }

    fn hold(&mut self, rest: &mut &[u8], len: usize) {
        let taken = self.take(rest, len);
        self.held.extend_from_slice(taken);
    }
}
