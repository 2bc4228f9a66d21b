//! What drives a reader of text, whatever the runtime.

use std::io;

use super::Short;
use crate::boundary::{floor_boundary, unfinished_len};
use crate::error::Utf8Error;
use crate::text::{TextDecoder, TextPiece};

/// Bytes come out of the inner reader in one of two ways: they are lent from its buffer (`AsyncBufRead`), or read
/// into ours (`AsyncRead`). A caller may go from the one way to the other at any time, so there is an order: what is
/// in our buffer came before what is in the inner one.
#[derive(Debug)]
pub(super) struct Reading {
    text: Text,
    input: Input,
}

/// Where the next text is.
pub(super) enum Source {
    /// Here; nothing is the end.
    Own,
    /// At the front of the inner buffer: that many bytes.
    Inner(usize),
    /// The inner buffer has to be looked at first.
    Unseen,
}

impl Reading {
    pub(super) const fn new(decoder: TextDecoder) -> Self {
        Self {
            text: Text { decoder, short: Short::EMPTY, known: 0, state: State::Open },
            input: Input { bytes: Vec::new(), from: 0, to: 0 },
        }
    }

    pub(super) const fn decoder(&self) -> &TextDecoder {
        &self.text.decoder
    }

    /// Gives text to a caller with `room`, which is not 0. `false` asks for more input; `true` without text is the
    /// end.
    pub(super) fn give(&mut self, room: usize, put: impl FnOnce(&[u8])) -> io::Result<bool> {
        Ok(match self.source()? {
            Source::Own => {
                let text = self.own();
                // Half a character only where there is no room for a whole one: nothing would mean the end.
                let given = match floor_boundary(text, room) {
                    0 => room.min(text.len()),
                    whole => whole,
                };
                put(&text[..given]);
                self.take(given);
                true
            }
            Source::Inner(_) | Source::Unseen => false,
        })
    }

    /// Where input goes that was asked for; never empty.
    pub(super) fn space(&mut self) -> &mut [u8] {
        self.input.space()
    }

    /// So many bytes are there now; none is the end.
    pub(super) fn filled(&mut self, bytes: usize) {
        self.input.to += bytes;
        if bytes == 0 {
            self.text.end();
        }
    }

    /// Where the next text is.
    pub(super) fn source(&mut self) -> io::Result<Source> {
        loop {
            if !self.own().is_empty() || !self.text.is_open()? {
                return Ok(Source::Own);
            }
            match (self.input.as_slice(), self.text.known) {
                ([], 0) | ([_, ..], 1..) => return Ok(Source::Unseen),
                ([], known) => return Ok(Source::Inner(known)),
                (bytes, 0) => {
                    let taken = self.text.look(bytes);
                    self.input.from += taken;
                }
            }
        }
    }

    /// Text that is not in the inner buffer, whole characters.
    pub(super) fn own(&self) -> &[u8] {
        let short = self.text.short.left();
        if !short.is_empty() {
            return short;
        }
        let (bytes, known) = (self.input.as_slice(), self.text.known);
        if known <= bytes.len() {
            return &bytes[..known];
        }
        // The text goes on in the inner buffer, perhaps inside a character.
        &bytes[..bytes.len() - unfinished_len(bytes)]
    }

    /// Looks at what the inner buffer holds, which is empty at the end: how much of it is dealt with.
    pub(super) fn see(&mut self, available: &[u8]) -> usize {
        if available.is_empty() {
            self.text.end();
            return 0;
        }
        if self.input.as_slice().is_empty() {
            return self.text.look(available);
        }
        // Our buffer holds half a character of known text.
        let missing = self.text.known.saturating_sub(self.input.as_slice().len());
        self.input.push(&available[..available.len().min(missing)])
    }

    /// The caller has taken so many bytes of what it was lent: how many of them were in the inner buffer.
    pub(super) fn consume(&mut self, bytes: usize) -> usize {
        let own = self.own().len();
        if own > 0 || !self.input.as_slice().is_empty() {
            self.take(bytes.min(own));
            return 0;
        }
        let bytes = bytes.min(self.text.known);
        self.text.known -= bytes;
        bytes
    }

    /// Bytes of [`own`](Self::own) are given out.
    fn take(&mut self, bytes: usize) {
        if self.text.short.left().is_empty() {
            self.input.from += bytes;
            self.text.known -= bytes;
        } else {
            self.text.short.take(bytes);
        }
    }
}

/// What is known of the bytes to come.
#[derive(Debug)]
struct Text {
    decoder: TextDecoder,
    /// A seam, or a repair. It comes before everything else.
    short: Short,
    /// Bytes, from the front of our buffer through the front of the inner one, which the decoder has found to be
    /// text.
    known: usize,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    /// To be told once the text before it is given out.
    Failed(Utf8Error),
    /// The error was told, or the inner reader is at its end.
    Done,
}

impl Text {
    /// Looks at bytes of which nothing is known: how many of them do not matter any more.
    fn look(&mut self, bytes: &[u8]) -> usize {
        let (piece, taken) = self.decoder.take_piece(bytes);
        if let Some(TextPiece::Text(text)) = piece {
            self.known = text.len();
            // What is unfinished after the text stays where it is until the text is gone.
            let unfinished = self.decoder.pending().len();
            self.decoder.seek(self.decoder.valid_up_to());
            return taken - unfinished - text.len();
        }
        self.keep(piece);
        taken
    }

    fn end(&mut self) {
        self.known = 0;
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

/// The buffer for a reader that has none. It takes no memory before it is used.
#[derive(Debug)]
struct Input {
    bytes: Vec<u8>,
    from: usize,
    to: usize,
}

impl Input {
    /// As tokio's and std's own buffers.
    const CAPACITY: usize = 8 * 1024;

    fn as_slice(&self) -> &[u8] {
        &self.bytes[self.from..self.to]
    }

    /// The free end. What is left in the buffer, no more than half a character, moves to its front.
    fn space(&mut self) -> &mut [u8] {
        self.bytes.resize(Self::CAPACITY, 0);
        self.bytes.copy_within(self.from..self.to, 0);
        (self.from, self.to) = (0, self.to - self.from);
        &mut self.bytes[self.to..]
    }

    /// Appends what there is space for, at most.
    fn push(&mut self, bytes: &[u8]) -> usize {
        let space = self.space();
        let pushed = bytes.len().min(space.len());
        space[..pushed].copy_from_slice(&bytes[..pushed]);
        self.to += pushed;
        pushed
    }
}
