//! A reader of text.

use std::io;

use super::{Short, pin_project};
use crate::boundary::floor_boundary;
use crate::decoder::from_utf8;
use crate::error::Utf8Error;
use crate::text::{Part, Run, TextDecoder, TextPiece};

pin_project! {
    /// A reader that validates the bytes of another reader as UTF-8, or repairs them, before it returns them.
    ///
    /// It implements the traits that the inner reader implements: `Read` and `BufRead` of std, `AsyncRead` and
    /// `AsyncBufRead` of tokio (feature `tokio-io`) or of futures-io (feature `futures-io`). `lines()`,
    /// `read_to_string()` and `copy()` work as on any reader. [`read_str_chunk`](Self::read_str_chunk) and
    /// [`into_bounded_lines`](Self::into_bounded_lines) are for blocking readers. `AsyncWrite` is passed through to the
    /// inner stream unchanged, as by `BufReader`.
    ///
    /// It reads into a buffer of 8 KiB, as `BufReader` does. The inner reader needs no `BufReader`.
    ///
    /// The text that one call returns is well-formed and ends between characters. The exception is a read into fewer
    /// than 4 bytes if the next character does not fit. That character is then returned in parts, because a read of 0
    /// bytes would mean the end.
    ///
    /// ```
    /// use std::io::BufRead;
    /// use utf8_codec::io::Utf8Reader;
    ///
    /// let file = &b"gr\xC3\xBCn\nbl\xFFu\n"[..];
    /// let mut lines = Utf8Reader::new(file).lines();
    /// assert_eq!(lines.next().transpose()?.as_deref(), Some("grün"));
    ///
    /// let error = lines.next().unwrap().unwrap_err();
    /// assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 8 (InvalidLead, 1 byte)");
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) for the first sequence that the policy of the decoder
    /// does not repair. By default that is the first ill-formed sequence, or the end of the stream inside a character.
    /// [`Utf8Error::find`](crate::Utf8Error::find) returns the [`Utf8Error`](crate::Utf8Error) inside. All text before
    /// the error is returned first. The error is returned once. Later reads return the end of the input, and the inner
    /// reader is not read again.
    ///
    /// Errors of the inner reader are returned unchanged, including `Interrupted` and `WouldBlock`. Reading can
    /// continue after them, even inside a character.
    ///
    /// # Limits
    ///
    /// The reader uses 8 KiB of memory, and 2 KiB more once an error was repaired. `lines()` has no limit: a peer that
    /// never sends LF makes a line grow until memory is exhausted. [`into_bounded_lines`](Self::into_bounded_lines) and
    /// `Utf8LinesCodec` in the module `codec` have a limit. One async poll reads at most 64 KiB of input without text
    /// (under [`ErrorPolicy::Skip`](crate::ErrorPolicy::Skip)). It then wakes its task and returns `Pending`, so that
    /// other tasks can run.
    ///
    /// # Cancel safety
    ///
    /// All state is in the reader. With the async traits `lines().next_line()` is cancel safe. `read_line()` is not,
    /// for any reader, because its future holds a part of the line.
    #[derive(Debug)]
    pub struct Utf8Reader<R> {
        #[pin]
        pub(super) inner: R,
        pub(super) text: Reading,
    }
}

impl<R> Utf8Reader<R> {
    /// Creates a strict reader of `inner` that keeps the BOM.
    pub const fn new(inner: R) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Creates a reader of `inner` with the policies of `decoder`.
    pub const fn with_decoder(inner: R, decoder: TextDecoder) -> Self {
        Self { inner, text: Reading::new(decoder) }
    }

    /// Returns the decoder, with its counters and its offset. The offset may be after the end of the text that was
    /// returned so far.
    pub const fn decoder(&self) -> &TextDecoder {
        &self.text.decoder
    }

    io_accessors!(
        R,
        "inner reader",
        "Bytes that are read from it directly are missing from the text.",
        "Bytes that were read from it but not returned are lost: see [`into_parts`](Self::into_parts)."
    );

    /// Returns the inner reader, and the bytes that were read from it and not returned, for a protocol that switches to
    /// binary data. An error in them was not reported, unless a call has returned it. If a replacement was returned
    /// only in part, the rest of the replacement stands in place of the bytes that it replaces.
    ///
    /// ```
    /// use std::io::{BufRead, Read};
    /// use utf8_codec::io::Utf8Reader;
    ///
    /// let socket = (&b"SWITCH\n\xFF\xC3"[..]).chain(&b"\0rest"[..]);
    /// let mut reader = Utf8Reader::new(socket);
    /// let mut line = String::new();
    /// reader.read_line(&mut line)?;
    /// let (socket, read) = reader.into_parts();
    /// let mut binary = Vec::new();
    /// read.as_slice().chain(socket).read_to_end(&mut binary)?;
    /// assert_eq!(binary, b"\xFF\xC3\0rest");
    /// # std::io::Result::Ok(())
    /// ```
    pub fn into_parts(self) -> (R, Vec<u8>) {
        let Reading { decoder, input, short, .. } = &self.text;
        let (replacement, repaired) = self.text.rest_of_run();
        let bytes = [replacement, short.left(), decoder.pending(), &input.as_slice()[repaired..]].concat();
        (self.inner, bytes)
    }
}

/// The state of a reader, for the traits of every runtime.
pub trait ReadState {
    /// Returns the buffer of the input.
    fn input(&mut self) -> &mut Input;

    /// Decodes input until there is text. Returns `true` if there is text or if the text has ended, and `false` if more
    /// input is needed.
    fn is_ready(&mut self) -> io::Result<bool>;

    /// Returns the next text. If the state is ready and this text is empty, the text has ended.
    fn text(&self) -> &[u8];

    /// Removes the first bytes of the text, at most all of them.
    fn consume(&mut self, bytes: usize);

    /// Ends the input.
    fn end(&mut self);

    /// Returns the number of bytes of text to return to a caller with this room, which is not 0.
    #[inline]
    fn len_within(&self, room: usize) -> usize {
        room.min(self.text().len())
    }

    /// Returns the free space for input, never empty.
    #[inline]
    fn space(&mut self) -> &mut [u8] {
        self.input().space()
    }

    /// Counts bytes that were read into [`space`](Self::space). 0 means the end of the input. A number above the length
    /// of the space is an error of the inner reader, and the bytes are not counted.
    #[inline]
    fn filled(&mut self, bytes: usize) -> io::Result<()> {
        self.input().fill(bytes)?;
        if bytes == 0 {
            self.end();
        }
        Ok(())
    }

    /// Calls `put` with at most `room` bytes of text, or at the end of the text with none. Returns `false` if more input
    /// is needed.
    fn read(&mut self, room: usize, put: impl FnOnce(&[u8])) -> io::Result<bool> {
        let is_ready = self.is_ready()?;
        if is_ready {
            let read = self.len_within(room);
            put(&self.text()[..read]);
            self.consume(read);
        }
        Ok(is_ready)
    }
}

#[derive(Debug)]
pub(super) struct Reading {
    decoder: TextDecoder,
    input: Input,
    /// The number of bytes at the start of the input that are text, in whole characters.
    validated: usize,
    /// A seam or a replacement. It is returned before the validated bytes.
    short: Short,
    /// Repaired text. Its bytes stay at the start of the input until all of it was returned. Allocated after the first error.
    run: Option<Box<Run>>,
    /// The number of bytes of the run that were not returned.
    left: usize,
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

impl Reading {
    #[inline]
    const fn new(decoder: TextDecoder) -> Self {
        Self {
            decoder,
            input: Input::NEW,
            validated: 0,
            short: Short::EMPTY,
            run: None,
            left: 0,
            state: State::Open,
        }
    }

    #[inline]
    fn decode(&mut self) {
        let input = self.input.as_slice();
        let (piece, mut passed) = match &mut self.run {
            None => self.decoder.take_piece(input),
            Some(run) => match self.decoder.take_run(input, run) {
                (Some(Part::Run), bytes) => {
                    self.left = run.text().len();
                    self.input.from += if self.left == 0 { bytes } else { 0 };
                    return;
                }
                (Some(Part::Piece(piece)), bytes) => (Some(piece), bytes),
                (None, bytes) => (None, bytes),
            },
        };
        if let (None, Some(TextPiece::Repaired(..))) = (&self.run, &piece) {
            self.run = Some(Box::new(Run::after_error()));
        }
        match piece {
            Some(TextPiece::Text(text)) => {
                self.validated = text.len();
                // An unfinished sequence after the text stays in the buffer until the text is consumed.
                passed -= self.decoder.pending().len() + text.len();
                self.decoder.seek(self.decoder.valid_up_to());
            }
            Some(TextPiece::Seam(text) | TextPiece::Repaired(text, _)) => self.short = Short::new(text),
            Some(TextPiece::IllFormed(error)) => self.state = State::Failed(error),
            None => {}
        }
        self.input.from += passed;
    }

    /// Consumes and returns the text. Its bytes stay in the buffer until more input is read. Returns `None` if the text
    /// has ended.
    #[inline]
    pub(super) fn take_str(&mut self) -> io::Result<Option<&str>> {
        let len = text_of(self.text())?.len();
        if len == 0 {
            return Ok(None);
        }
        let short = self.short;
        let left = self.left;
        self.consume(len);
        let taken = match &self.run {
            _ if !short.left().is_empty() => &self.short.text.as_str().as_bytes()[short.taken..],
            Some(run) if left > 0 => last(run, left),
            _ => &self.input.bytes[self.input.from - len..self.input.from],
        };
        text_of(taken).map(Some)
    }

    /// Returns the rest of a replacement that was returned only in part, and the number of bytes of the input before
    /// the first byte that was not returned.
    fn rest_of_run(&self) -> (&[u8], usize) {
        match &self.run {
            Some(run) if self.left > 0 => run.rest_after(run.text().len() - self.left),
            _ => (&[], 0),
        }
    }
}

impl ReadState for Reading {
    #[inline]
    fn input(&mut self) -> &mut Input {
        &mut self.input
    }

    #[inline]
    fn is_ready(&mut self) -> io::Result<bool> {
        while self.text().is_empty() {
            match self.state {
                State::Open if self.input.as_slice().is_empty() => return Ok(false),
                State::Open => self.decode(),
                State::Failed(error) => {
                    self.state = State::Done;
                    return Err(error.into());
                }
                State::Done => break,
            }
        }
        Ok(true)
    }

    #[inline]
    fn text(&self) -> &[u8] {
        match (self.short.left(), &self.run) {
            ([], Some(run)) if self.left > 0 => last(run, self.left),
            ([], _) => &self.input.as_slice()[..self.validated],
            (short, _) => short,
        }
    }

    #[inline]
    fn consume(&mut self, bytes: usize) {
        let bytes = bytes.min(self.text().len());
        if !self.short.left().is_empty() {
            self.short.take(bytes);
        } else if self.left > 0 {
            self.left -= bytes;
            if self.left == 0 {
                self.input.from += self.run.as_ref().map_or(0, |run| run.len());
            }
        } else {
            self.input.from += bytes;
            self.validated -= bytes;
        }
    }

    #[inline]
    fn end(&mut self) {
        self.state = State::Done;
        match self.decoder.finish() {
            Some(TextPiece::Seam(text) | TextPiece::Repaired(text, _)) => self.short = Short::new(text),
            Some(TextPiece::IllFormed(error)) => self.state = State::Failed(error),
            Some(TextPiece::Text(_)) | None => {}
        }
    }

    #[inline]
    fn len_within(&self, room: usize) -> usize {
        // A character that does not fit is split, because a read of 0 bytes would mean the end.
        match floor_boundary(self.text(), room) {
            0 => room.min(self.text().len()),
            whole => whole,
        }
    }
}

/// Returns the last bytes of the text of a run.
#[inline]
fn last(run: &Run, len: usize) -> &[u8] {
    let text = run.text().as_bytes();
    &text[text.len() - len..]
}

/// Returns bytes that were already validated as a `str`. They are validated again, because the caller may have consumed
/// a part of a character.
#[inline]
fn text_of(bytes: &[u8]) -> io::Result<&str> {
    from_utf8(bytes).map_err(|_| not_text())
}

/// Returns the error for bytes that are not text, because the caller consumed a part of a character.
#[inline]
pub(super) fn not_text() -> io::Error {
    io::Error::new(io::ErrorKind::InvalidInput, "only a part of a character was consumed")
}

/// A buffer of a reader. It is allocated on first use.
#[derive(Debug)]
pub struct Input {
    bytes: Vec<u8>,
    /// The position of the first byte that was not taken.
    pub from: usize,
    /// The position after the last byte.
    pub to: usize,
}

impl Input {
    /// The same capacity as `BufReader` of tokio and std.
    const CAPACITY: usize = 8 * 1024;
    /// An empty buffer.
    pub const NEW: Self = Self { bytes: Vec::new(), from: 0, to: 0 };

    /// Returns the bytes.
    #[inline]
    pub fn as_slice(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// Removes bytes from the front, at most all.
    #[inline]
    pub fn take(&mut self, bytes: usize) {
        self.from += bytes.min(self.as_slice().len());
    }

    /// Returns the free space at the end. The remaining bytes are moved to the front first.
    #[inline]
    pub fn space(&mut self) -> &mut [u8] {
        self.bytes.resize(Self::CAPACITY, 0);
        self.bytes.copy_within(self.from..self.to, 0);
        self.to -= self.from;
        self.from = 0;
        &mut self.bytes[self.to..]
    }

    /// Counts bytes that were read into [`space`](Self::space). A number above its length is an error.
    #[inline]
    fn fill(&mut self, bytes: usize) -> io::Result<()> {
        if bytes > self.bytes.len() - self.to {
            return Err(io::Error::other("the inner reader returned a length above that of the buffer"));
        }
        self.to += bytes;
        Ok(())
    }
}
