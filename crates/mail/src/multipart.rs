//! Splits a message into parts (RFC 2046 §5.1).
//!
//! ```text
//!              line break            part of `--boundary`           all of it               line break
//!   Text ───────(held)───> Break ─────────(held)───> Candidate ─────(held)───> Line ──────────> Delimiter
//!    ^                       │                           │                      │ not a delimiter:
//!    └───────────────────────┴── other byte: content ────┴──────────────────────┘ Ambiguous, content
//! ```
//!
//! The line break before a delimiter is part of it, so it is held until the next line is known not to be a delimiter.
//! While no multipart is open, everything is content, and nothing is held or searched.
//!
//! Readers treat delimiters differently: some search only the start of a line, some also the middle; some end lines at
//! a bare CR; some ignore the bytes after the boundary. The splitter therefore has a single rule: the bytes
//! `--boundary` of an open multipart may only occur in delimiter lines of that multipart, and these lines must have a
//! syntax that all readers parse in the same way. Any other occurrence is an [`MultipartEvent::Ambiguous`].

use alloc::vec::Vec;

use memchr::memchr;
use memchr::memmem;
use utf8_codec_media::delimiter::{Boundary, Delimiter, LineBreak};

/// The maximum length of a delimiter line without its line break. Transports that add padding do not write longer
/// lines.
const MAX_LINE: usize = 998;

/// The form in which content is returned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Mode {
    /// Line by line, each with its line break, for a header. Delimiters are searched for only at the start of lines,
    /// because no reader searches for them inside a field.
    Lines,
    /// As much as possible, for a body.
    Bulk,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum MultipartEvent<'c> {
    /// Bytes of the chunk.
    Content(&'c [u8]),
    /// Bytes of earlier chunks, available from [`MultipartSplitter::swap_released`].
    Released,
    /// A delimiter of the multipart at `level`. The outermost multipart has level 0.
    Delimiter { level: usize, delimiter: Delimiter, offset: u64 },
    /// The boundary of the multipart at `level` is at `offset`, in a position that readers treat differently.
    Ambiguous { level: usize, offset: u64 },
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// At the start of a line, with nothing held.
    Start,
    /// In a line that is not a delimiter, with nothing held.
    Text,
    /// The line break before a possible delimiter, or only the CR of it, is held.
    Break,
    /// The start of `--boundary` is held, after the line break if there is one.
    Candidate,
    /// A line that starts with `--boundary` is held, after the line break if there is one.
    Line,
}

/// An open multipart.
#[derive(Clone, Debug)]
struct Open {
    boundary: Boundary,
    /// The line break after its first delimiter. Some readers require the same line break for the following delimiters.
    line_break: Option<LineBreak>,
}

/// Splits a message at the delimiters of the open multiparts.
#[derive(Clone, Debug)]
pub(super) struct MultipartSplitter {
    /// The open multiparts, the outermost first.
    open: Vec<Open>,
    /// The common prefix of their delimiters.
    common: Vec<u8>,
    state: State,
    held: Vec<u8>,
    /// The length of the line break at the start of `held`.
    held_break: usize,
    /// Whether the candidate is at the start of a line.
    is_line_start: bool,
    /// The line break before the line of the candidate, if that line break ended a header. It was returned with the
    /// header and is not in `held`.
    header_break: Option<LineBreak>,
    /// The last byte read.
    last: u8,
    /// Held bytes that are content.
    released: Vec<u8>,
    /// An event to return before all others.
    due: Option<MultipartEvent<'static>>,
    /// The number of bytes of the message so far.
    offset: u64,
}

impl MultipartSplitter {
    pub(super) const fn new() -> Self {
        Self {
            open: Vec::new(),
            common: Vec::new(),
            state: State::Start,
            held: Vec::new(),
            held_break: 0,
            is_line_start: true,
            header_break: None,
            last: 0,
            released: Vec::new(),
            due: None,
            offset: 0,
        }
    }

    /// Returns the number of bytes of the message read so far.
    pub(super) const fn offset(&self) -> u64 {
        self.offset
    }

    /// Moves back to the start of `bytes`, the content that was returned last, because the caller feeds it again. It is a
    /// whole line or the rest of a line.
    pub(super) const fn rewind(&mut self, bytes: &[u8], whole_line: bool) {
        self.offset -= bytes.len() as u64;
        self.state = if whole_line { State::Start } else { State::Text };
    }

    /// Opens a multipart at the start of a line.
    pub(super) fn open(&mut self, boundary: Boundary) {
        self.open.push(Open { boundary, line_break: None });
        self.find_common();
    }

    /// Closes all multiparts except the outermost `level` ones.
    pub(super) fn close(&mut self, level: usize) {
        self.open.truncate(level);
        self.find_common();
    }

    fn find_common(&mut self) {
        self.common.clear();
        if let Some((first, others)) = self.open.split_first() {
            let first = first.boundary.dashed();
            let len = others.iter().map(|open| common_prefix(first, open.boundary.dashed())).min();
            self.common.extend_from_slice(&first[..len.unwrap_or(first.len())]);
        }
    }

    /// Exchanges the released bytes for an empty buffer. Returns the offset of their end.
    pub(super) fn swap_released(&mut self, buffer: &mut Vec<u8>) -> u64 {
        core::mem::swap(&mut self.released, buffer);
        self.offset - self.held.len() as u64
    }

    /// Reads bytes from `rest` up to the next event. Returns `None` when `rest` is empty.
    pub(super) fn next<'c>(&mut self, rest: &mut &'c [u8], mode: Mode) -> Option<MultipartEvent<'c>> {
        loop {
            if let Some(due) = self.due.take() {
                return Some(due);
            }
            let [byte, ..] = **rest else { return None };
            let event = match self.state {
                State::Start => {
                    self.begin_line(byte);
                    None
                }
                State::Text => {
                    let content = match mode {
                        Mode::Lines => self.rest_of_line(rest),
                        Mode::Bulk => self.text(rest),
                    };
                    (!content.is_empty()).then_some(MultipartEvent::Content(content))
                }
                State::Break => self.after_break(byte, rest),
                State::Candidate => self.candidate(byte, rest, mode),
                State::Line => self.line(rest, mode),
            };
            if event.is_some() {
                return event;
            }
        }
    }

    /// Returns the next event at the end of the message, from the held bytes. Returns `None` if there are none.
    pub(super) fn finish(&mut self) -> Option<MultipartEvent<'static>> {
        if let Some(due) = self.due.take() {
            return Some(due);
        }
        let event = if self.state == State::Line {
            Some(self.end_line(None, Mode::Lines))
        } else {
            self.release(self.held.len())
        };
        self.state = State::Start;
        event
    }

    /// Reads the first byte of a line.
    fn begin_line(&mut self, byte: u8) {
        self.held_break = 0;
        self.is_line_start = true;
        self.state = if byte == b'-' && !self.open.is_empty() { State::Candidate } else { State::Text };
    }

    /// Reads the byte after a line break, or after the CR of one.
    fn after_break(&mut self, byte: u8, rest: &mut &[u8]) -> Option<MultipartEvent<'static>> {
        let is_complete = self.held.ends_with(b"\n");
        if !is_complete && byte == b'\n' {
            self.hold(rest, 1);
            return None;
        }
        if is_complete && byte == b'-' {
            self.held_break = self.held.len();
            self.is_line_start = true;
            self.state = State::Candidate;
            return None;
        }
        self.state = State::Text;
        self.release(self.held.len())
    }

    /// Reads the next byte of a possible `--boundary`.
    fn candidate(&mut self, byte: u8, rest: &mut &[u8], mode: Mode) -> Option<MultipartEvent<'static>> {
        let seen = &self.held[self.held_break..];
        if let Some(level) = self.level_with(seen, byte) {
            let is_complete = self.open[level].boundary.dashed().len() == seen.len() + 1;
            self.hold(rest, 1);
            if !is_complete {
                return None;
            }
            if self.is_line_start {
                self.state = State::Line;
                return None;
            }
            let offset = self.line_offset();
            self.state = State::Text;
            self.due = self.release(self.held.len());
            return Some(MultipartEvent::Ambiguous { level, offset });
        }
        // A boundary may still start inside the held bytes, in the middle of the line.
        let next = match mode {
            Mode::Lines => None,
            Mode::Bulk => (1..seen.len()).find(|&at| self.level_with(&seen[at..], byte).is_some()),
        };
        let len = match next {
            Some(at) => self.held_break + at,
            None => self.held.len(),
        };
        self.state = if next.is_some() { State::Candidate } else { State::Text };
        self.is_line_start = false;
        self.release(len)
    }

    /// Returns the level of a multipart whose `--boundary` starts with `seen` followed by `byte`. A multipart whose
    /// `--boundary` consists of exactly these bytes has precedence.
    fn level_with(&self, seen: &[u8], byte: u8) -> Option<usize> {
        let mut found = None;
        for (level, open) in self.open.iter().enumerate() {
            match open.boundary.dashed().strip_prefix(seen) {
                Some([next]) if *next == byte => return Some(level),
                Some([next, ..]) if *next == byte => found = found.or(Some(level)),
                _ => {}
            }
        }
        found
    }

    /// Reads the rest of a line that starts with `--boundary`.
    fn line<'c>(&mut self, rest: &mut &'c [u8], mode: Mode) -> Option<MultipartEvent<'c>> {
        // The CR of the line break may follow a line of the maximum length.
        let room = MAX_LINE + 2 - (self.held.len() - self.held_break);
        let window = &rest[..rest.len().min(room)];
        let end = memchr(b'\n', window);
        self.hold(rest, end.unwrap_or(window.len()));
        match end {
            Some(_) => {
                let line_break = if self.held.ends_with(b"\r") { LineBreak::CrLf } else { LineBreak::Lf };
                let event = self.end_line(Some(line_break), mode);
                if matches!(event, MultipartEvent::Delimiter { .. }) || self.due.is_some_and(is_delimiter) {
                    self.take(rest, 1);
                }
                Some(event)
            }
            None if self.held.len() - self.held_break > MAX_LINE + 1 => Some(self.not_a_delimiter(mode)),
            None => None,
        }
    }

    /// Processes the held line. It ends with `line_break`, or with the message if there is none.
    fn end_line(&mut self, line_break: Option<LineBreak>, mode: Mode) -> MultipartEvent<'static> {
        let line = &self.held[self.held_break..];
        let text = if line_break == Some(LineBreak::CrLf) { &line[..line.len() - 1] } else { line };
        // Outer boundaries are delimiters at any level of nesting (RFC 2046 §5.1.2).
        let found = self
            .open
            .iter()
            .enumerate()
            .find_map(|(level, open)| Some((level, open.boundary.delimiter(text)?)))
            .filter(|_| text.len() <= MAX_LINE);
        let Some((level, delimiter)) = found else { return self.not_a_delimiter(mode) };
        let before = match &self.held[..self.held_break] {
            [] => self.header_break,
            [b'\r', ..] => Some(LineBreak::CrLf),
            _ => Some(LineBreak::Lf),
        };
        let own = self.open[level].line_break;
        let has_other_break =
            own.is_some() && [before, line_break].iter().any(|other| other.is_some() && *other != own);
        let is_ambiguous =
            has_other_break
                || self.open.iter().enumerate().any(|(other, open)| {
                    other != level && memmem::find(text, open.boundary.dashed()).is_some()
                });
        let offset = self.line_offset();
        let own = &mut self.open[level].line_break;
        *own = own.or(line_break);
        self.held.clear();
        self.header_break = None;
        self.state = State::Start;
        let event = MultipartEvent::Delimiter { level, delimiter, offset };
        if !is_ambiguous {
            return event;
        }
        self.due = Some(event);
        MultipartEvent::Ambiguous { level, offset }
    }

    /// Converts the held line, which starts with a boundary but is not a delimiter, to content. A CR at its end stays
    /// held, because it may be part of the line break before a delimiter.
    fn not_a_delimiter(&mut self, mode: Mode) -> MultipartEvent<'static> {
        let line = &self.held[self.held_break..];
        let level =
            self.open.iter().position(|open| line.starts_with(open.boundary.dashed())).unwrap_or_default();
        let event = MultipartEvent::Ambiguous { level, offset: self.line_offset() };
        let has_cr = mode == Mode::Bulk && line.ends_with(b"\r");
        self.state = if has_cr { State::Break } else { State::Text };
        self.due = self.release(self.held.len() - usize::from(has_cr));
        event
    }

    /// Returns the offset of the held line or candidate.
    fn line_offset(&self) -> u64 {
        self.offset - (self.held.len() - self.held_break) as u64
    }

    /// Returns the content up to and including the next line break.
    fn rest_of_line<'c>(&mut self, rest: &mut &'c [u8]) -> &'c [u8] {
        let len = match memchr(b'\n', rest) {
            Some(at) => {
                let before = at.checked_sub(1).map_or(self.last, |before| rest[before]);
                self.header_break = Some(if before == b'\r' { LineBreak::CrLf } else { LineBreak::Lf });
                self.state = State::Start;
                at + 1
            }
            None => rest.len(),
        };
        self.take(rest, len)
    }

    /// Returns the content up to a possible delimiter or to the end of the chunk. A line break at the end of this
    /// content is not returned but held.
    fn text<'c>(&mut self, rest: &mut &'c [u8]) -> &'c [u8] {
        if self.open.is_empty() {
            return self.take(rest, rest.len());
        }
        let bytes = *rest;
        let candidate = memmem::find(bytes, &self.common).or_else(|| {
            // The chunk may end inside the delimiter.
            let len = (1..self.common.len()).rev().find(|&len| bytes.ends_with(&self.common[..len]))?;
            Some(bytes.len() - len)
        });
        let end = candidate.unwrap_or(bytes.len());
        let line_break = match bytes[..end] {
            [.., b'\r', b'\n'] => 2,
            [.., b'\n'] => 1,
            [.., b'\r'] if candidate.is_none() => 1,
            _ => 0,
        };
        let content = self.take(rest, end - line_break);
        self.hold(rest, line_break);
        if candidate.is_some() {
            self.held_break = line_break;
            self.is_line_start = line_break > 0;
            self.state = State::Candidate;
        } else if line_break > 0 {
            self.state = State::Break;
        }
        content
    }

    fn take<'c>(&mut self, rest: &mut &'c [u8], len: usize) -> &'c [u8] {
        let (taken, after) = rest.split_at(len);
        self.offset += len as u64;
        self.last = taken.last().copied().unwrap_or(self.last);
        *rest = after;
        taken
    }

    fn hold(&mut self, rest: &mut &[u8], len: usize) {
        let taken = self.take(rest, len);
        self.held.extend_from_slice(taken);
    }

    /// Releases the first `len` held bytes, including the line break. They are content and not part of a delimiter.
    fn release(&mut self, len: usize) -> Option<MultipartEvent<'static>> {
        self.released.extend(self.held.drain(..len));
        self.held_break = 0;
        (!self.released.is_empty()).then_some(MultipartEvent::Released)
    }
}

const fn is_delimiter(event: MultipartEvent<'_>) -> bool {
    matches!(event, MultipartEvent::Delimiter { .. })
}

fn common_prefix(one: &[u8], other: &[u8]) -> usize {
    one.iter().zip(other).take_while(|(a, b)| a == b).count()
}
