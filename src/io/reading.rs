//! The state of a reader of text, for the traits of every runtime.

use std::io;

use super::Short;
use crate::boundary::{floor_boundary, unfinished_len};
use crate::decoder::from_utf8;
use crate::error::Utf8Error;
use crate::text::{TextDecoder, TextPiece};

/// The state of a reader. The input is in the inner buffer, that of the inner reader (`AsyncBufRead`), or in the own
/// buffer, that of this reader (`AsyncRead`). A caller may change from one trait to the other at any time. The bytes in
/// the own buffer are then before those in the inner buffer.
#[derive(Debug)]
pub(super) struct Reading {
    text: Text,
    input: Input,
}

/// The location of the next text.
pub(super) enum ReadSource {
    /// In the own buffer. If no text is there, the text has ended.
    Own,
    /// At the front of the inner buffer, with this number of bytes.
    Inner(usize),
    /// Unknown until more input is read or decoded.
    Unknown,
}

impl Reading {
    pub(super) const fn new(decoder: TextDecoder) -> Self {
        Self {
            text: Text { decoder, short: Short::EMPTY, validated: 0, state: State::Open },
            input: Input::NEW,
        }
    }

    pub(super) const fn decoder(&self) -> &TextDecoder {
        &self.text.decoder
    }

    /// Calls `put` with at most `room` bytes of text. `room` is not 0. Returns `false` if more input is needed. At the
    /// end of the text it calls `put` with an empty slice.
    pub(super) fn read(&mut self, room: usize, put: impl FnOnce(&[u8])) -> io::Result<bool> {
        Ok(match self.source()? {
            ReadSource::Own => {
                let text = self.own();
                // A character that does not fit is split, because a read of 0 bytes would mean the end.
                let read = match floor_boundary(text, room) {
                    0 => room.min(text.len()),
                    whole => whole,
                };
                put(&text[..read]);
                self.take(read);
                true
            }
            ReadSource::Inner(_) | ReadSource::Unknown => false,
        })
    }

    /// Returns the free space at the end of the own buffer, never empty.
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// Counts bytes that were read into [`space`](Self::space). 0 means the end of the input. A number above the length
    /// of the space is an error of the inner reader, and the bytes are not counted.
    pub(super) fn filled(&mut self, bytes: usize) -> io::Result<()> {
        self.input.fill(bytes)?;
        if bytes == 0 {
            self.text.end();
        }
        Ok(())
    }

    /// Finds the next text.
    pub(super) fn source(&mut self) -> io::Result<ReadSource> {
        loop {
            if !self.own().is_empty() || !self.text.is_open()? {
                return Ok(ReadSource::Own);
            }
            match (self.input.as_slice(), self.text.validated) {
                ([], 0) | ([_, ..], 1..) => return Ok(ReadSource::Unknown),
                ([], validated) => return Ok(ReadSource::Inner(validated)),
                (bytes, 0) => {
                    let taken = self.text.decode(bytes);
                    self.input.from += taken;
                }
            }
        }
    }

    /// Returns the text in the own buffer, in whole characters.
    pub(super) fn own(&self) -> &[u8] {
        let short = self.text.short.left();
        if !short.is_empty() {
            return short;
        }
        let (bytes, validated) = (self.input.as_slice(), self.text.validated);
        if validated <= bytes.len() {
            return &bytes[..validated];
        }
        // The text continues in the inner buffer, possibly inside a character.
        &bytes[..bytes.len() - unfinished_len(bytes)]
    }

    /// Consumes and returns the text in the own buffer. Its bytes stay there until more input is read. Returns `None`
    /// if the text has ended.
    pub(super) fn take_str(&mut self) -> io::Result<Option<&str>> {
        let len = text_of(self.own())?.len();
        if len == 0 {
            return Ok(None);
        }
        let short = self.text.short;
        self.take(len);
        let taken = if short.left().is_empty() {
            &self.input.bytes[self.input.from - len..self.input.from]
        } else {
            &self.text.short.text.as_str().as_bytes()[short.taken..]
        };
        text_of(taken).map(Some)
    }

    /// Decodes the bytes of the inner buffer, which is empty at the end of the input. Returns the number of bytes to
    /// consume.
    pub(super) fn decode_inner(&mut self, available: &[u8]) -> usize {
        if available.is_empty() {
            self.text.end();
            return 0;
        }
        if self.input.as_slice().is_empty() {
            return self.text.decode(available);
        }
        // The own buffer contains the first bytes of a character that has been validated.
        let missing = self.text.validated.saturating_sub(self.input.as_slice().len());
        self.input.push(&available[..available.len().min(missing)])
    }

    /// Counts bytes that the caller has consumed. Returns the number of them that were in the inner buffer.
    pub(super) fn consume(&mut self, bytes: usize) -> usize {
        let own = self.own().len();
        if own > 0 || !self.input.as_slice().is_empty() {
            self.take(bytes.min(own));
            return 0;
        }
        let bytes = bytes.min(self.text.validated);
        self.text.validated -= bytes;
        bytes
    }

    /// Removes the first bytes of [`own`](Self::own).
    fn take(&mut self, bytes: usize) {
        if self.text.short.left().is_empty() {
            self.input.from += bytes;
            self.text.validated -= bytes;
        } else {
            self.text.short.take(bytes);
        }
    }
}

/// Returns bytes that were already validated as a `str`. They are validated again, because the caller may have consumed
/// a part of a character.
fn text_of(bytes: &[u8]) -> io::Result<&str> {
    from_utf8(bytes).map_err(|_| not_text())
}

/// Returns the error for a reader that returned more bytes than it had space for.
fn too_much() -> io::Error {
    io::Error::other("the inner reader returned a length above that of the buffer")
}

/// Returns the error for bytes that are not text, because the caller consumed a part of a character or the inner reader
/// changed its buffer.
pub(super) fn not_text() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "only a part of a character was consumed")
}

/// Decoded input that was not returned yet.
#[derive(Debug)]
struct Text {
    decoder: TextDecoder,
    /// A seam or a replacement. It is returned before the validated bytes.
    short: Short,
    /// The number of validated bytes that were not consumed. The first of them are in the own buffer, the others in the
    /// inner buffer.
    validated: usize,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    /// The error is returned after the text before it.
    Failed(Utf8Error),
    /// The error was returned, or the input has ended.
    Done,
}

impl Text {
    /// Decodes the next bytes. Returns the number of them that are no longer needed.
    fn decode(&mut self, bytes: &[u8]) -> usize {
        let (piece, taken) = self.decoder.take_piece(bytes);
        if let Some(TextPiece::Text(text)) = piece {
            self.validated = text.len();
            // An unfinished sequence after the text stays in the buffer until the text is consumed.
            let unfinished = self.decoder.pending().len();
            self.decoder.seek(self.decoder.valid_up_to());
            return taken - unfinished - text.len();
        }
        self.keep(piece);
        taken
    }

    fn end(&mut self) {
        self.validated = 0;
        self.state = State::Done;
        let end = self.decoder.finish();
        self.keep(end);
    }

    fn keep(&mut self, piece: Option<TextPiece<'_>>) {
        match piece {
            Some(TextPiece::Seam(text) | TextPiece::Repaired(text, _)) => self.short = Short::new(text),
            Some(TextPiece::IllFormed(error)) => self.state = State::Failed(error),
            Some(TextPiece::Text(_)) | None => {}
        }
    }

    fn is_open(&mut self) -> io::Result<bool> {
        match self.state {
            State::Open => Ok(true),
            State::Done => Ok(false),
            State::Failed(error) => {
                self.state = State::Done;
                Err(error.into())
            }
        }
    }
}

/// The buffer of the reader. It is allocated on first use.
#[derive(Debug)]
pub(super) struct Input {
    pub(super) bytes: Vec<u8>,
    pub(super) from: usize,
    pub(super) to: usize,
}

impl Input {
    /// The same capacity as `BufReader` of tokio and std.
    const CAPACITY: usize = 8 * 1024;

    pub(super) const NEW: Self = Self { bytes: Vec::new(), from: 0, to: 0 };

    pub(super) fn as_slice(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// Returns the free space at the end. The remaining bytes are moved to the front first.
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.bytes.resize(Self::CAPACITY, 0);
        self.bytes.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        &mut self.bytes[self.to..]
    }

    /// Counts bytes that were read into [`space`](Self::space). A number above its length is an error.
    pub(super) fn fill(&mut self, bytes: usize) -> io::Result<()> {
        if bytes > self.bytes.len() - self.to {
            return Err(too_much());
        }
        self.to += bytes;
        Ok(())
    }

    /// Appends as many bytes as fit. Returns their number.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let space = self.space();
        let pushed = bytes.len().min(space.len());
        space[..pushed].copy_from_slice(&bytes[..pushed]);
        self.to += pushed;
        pushed
    }
}
