//! What drives a writer of text, whatever the runtime.

use core::task::{Poll, ready};
use std::io;

use super::Short;
use crate::boundary::{ceil_boundary, floor_boundary};
use crate::error::Utf8Error;
use crate::policy::ShortStr;
use crate::text::{TextDecoder, TextPiece};

/// Bytes that are looked at in one call. A writer that takes few of many has them looked at again and again.
const AT_ONCE: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Writing {
    decoder: TextDecoder,
    /// What the inner writer has not yet taken of a character, or of a repair.
    short: Short,
    state: State,
}

#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    /// Told, and told again: a caller who goes on would leave a hole in the text.
    Failed(Utf8Error),
    /// The end was given to the inner writer, perhaps after a sequence that it cut short.
    Ending(Option<Utf8Error>),
    Closed,
}

impl Writing {
    pub(super) const fn new(decoder: TextDecoder) -> Self {
        Self { decoder, short: Short::EMPTY, state: State::Open }
    }

    pub(super) const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Takes bytes from a caller; `inner` is offered text.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        mut inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(AT_ONCE)];
        loop {
            match self.state {
                State::Open => {}
                State::Failed(error) => return Poll::Ready(Err(error.into())),
                State::Ending(_) | State::Closed => {
                    return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()));
                }
            }
            ready!(self.drain(&mut inner))?;
            let mut after = self.decoder;
            let (piece, taken) = after.take_piece(bytes);
            // Until the inner writer has taken something, nothing is taken from the caller.
            match piece {
                Some(TextPiece::Text(text)) => {
                    let written = ready!(inner(text.as_bytes()))?;
                    if written < text.len() {
                        return Poll::Ready(Ok(self.take_part(text, written, taken - after.pending().len())));
                    }
                }
                Some(TextPiece::Seam(text) | TextPiece::Repaired(text, _)) if !text.is_empty() => {
                    let written = ready!(inner(text.as_bytes()))?;
                    if written == 0 {
                        return Poll::Ready(Ok(0));
                    }
                    self.short = Short::new(text);
                    self.short.take(written);
                }
                Some(TextPiece::IllFormed(error)) => self.state = State::Failed(error),
                _ => {}
            }
            self.decoder = after;
            // A sequence that is broken off by the first byte has none of them.
            if taken > 0 || bytes.is_empty() {
                return match self.state {
                    State::Failed(error) => Poll::Ready(Err(error.into())),
                    _ => Poll::Ready(Ok(taken)),
                };
            }
        }
    }

    /// The inner writer has taken the first `written` bytes of `text`, which ends `taken` bytes after what was
    /// taken so far. The character that it has begun is ours to finish; how much is taken from the caller.
    fn take_part(&mut self, text: &str, written: usize, taken: usize) -> usize {
        if written == 0 {
            return 0;
        }
        let whole = ceil_boundary(text.as_bytes(), written);
        let start = floor_boundary(text.as_bytes(), written);
        if let Some(character) = text[start..whole].chars().next() {
            self.short = Short { text: ShortStr::from(character), gone: written - start };
        }
        let taken = taken - (text.len() - whole);
        self.decoder.seek(self.decoder.offset().wrapping_add(taken as u64));
        taken
    }

    /// Gives `inner` what it has not yet taken.
    pub(super) fn drain(
        &mut self,
        mut inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        while !self.short.left().is_empty() {
            let written = ready!(inner(self.short.left()))?;
            if written == 0 {
                return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
            }
            self.short.take(written);
        }
        Poll::Ready(Ok(()))
    }

    /// Ends the text, once it is drained; whether the inner writer has yet to be ended.
    pub(super) fn end(&mut self) -> bool {
        match self.state {
            State::Open => {
                let mut truncated = None;
                match self.decoder.finish() {
                    Some(TextPiece::Repaired(text, _) | TextPiece::Seam(text)) => {
                        self.short = Short::new(text)
                    }
                    Some(TextPiece::IllFormed(error)) => truncated = Some(error),
                    Some(TextPiece::Text(_)) | None => {}
                }
                self.state = State::Ending(truncated);
            }
            // Told already.
            State::Failed(_) => self.state = State::Ending(None),
            State::Ending(_) => {}
            State::Closed => return false,
        }
        true
    }

    /// The inner writer has ended: whether the text did so as well, told once.
    pub(super) fn closed(&mut self) -> io::Result<()> {
        match core::mem::replace(&mut self.state, State::Closed) {
            State::Ending(Some(error)) => Err(error.into()),
            _ => Ok(()),
        }
    }
}
