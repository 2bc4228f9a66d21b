//! The state of a `Utf8Writer`. The traits of std, tokio and futures-io all use it.

use core::task::{Poll, ready};
use std::io;

use super::Short;
use crate::boundary::{ceil_boundary, floor_boundary};
use crate::error::Utf8Error;
use crate::policy::ShortStr;
use crate::text::{TextDecoder, TextPiece};

/// The maximum number of bytes that one call decodes. If the inner writer accepts only some of them, the next call
/// decodes the others again, so this limits the repeated work.
const AT_ONCE: usize = 64 * 1024;

#[derive(Debug)]
pub(super) struct Writing {
    decoder: TextDecoder,
    /// The rest of a character or of a replacement that the inner writer has not accepted yet.
    short: Short,
    /// A repair of which the inner writer has not accepted any byte. It is not decoded again when the caller passes the
    /// same bytes again, so that it is logged once.
    unsent: Option<Repair>,
    state: State,
}

/// The repair of a sequence at the start of the caller's bytes.
#[derive(Clone, Copy, Debug)]
struct Repair {
    text: ShortStr,
    /// The bytes of the caller that the repair covers: at most 3 of the sequence, and the next one.
    bytes: [u8; 4],
    len: u8,
    /// The decoder after these bytes.
    after: TextDecoder,
}

impl Repair {
    fn new(text: ShortStr, covered: &[u8], after: TextDecoder) -> Option<Self> {
        let mut bytes = [0; 4];
        bytes.get_mut(..covered.len())?.copy_from_slice(covered);
        Some(Self { text, bytes, len: covered.len() as u8, after })
    }

    fn bytes(&self) -> &[u8] {
        &self.bytes[..usize::from(self.len)]
    }
}

#[derive(Clone, Copy, Debug)]
enum State {
    Open,
    /// Every later write returns the error. If the caller could continue after it, the ill-formed sequence would be
    /// missing from the output.
    Failed(Utf8Error),
    /// The text has ended and the inner writer is being shut down. The error is that of a truncated sequence, if there
    /// was one.
    Ending(Option<Utf8Error>),
    Closed,
}

impl Writing {
    pub(super) const fn new(decoder: TextDecoder) -> Self {
        Self { decoder, short: Short::EMPTY, unsent: None, state: State::Open }
    }

    pub(super) const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Accepts bytes from the caller and writes text with `inner`. Returns the number of bytes accepted.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        mut inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(AT_ONCE)];
        match self.state {
            State::Open => {}
            State::Failed(error) => return Poll::Ready(Err(error.into())),
            State::Ending(_) | State::Closed => return Poll::Ready(Err(io::ErrorKind::BrokenPipe.into())),
        }
        ready!(self.drain(&mut inner))?;
        // Tested first, because the repair is large and there usually is none.
        if self.unsent.is_some()
            && let Some(repair) = self.unsent.take().filter(|repair| bytes.starts_with(repair.bytes()))
        {
            return self.send(repair.text, repair.bytes(), repair.after, inner);
        }
        let mut after = self.decoder;
        let (piece, mut taken) = after.take_piece(bytes);
        // If the piece contains text, bytes are accepted from the caller only after the inner writer has accepted a
        // part of this text.
        match piece {
            Some(TextPiece::Text(text)) => {
                let written = ready!(inner(text.as_bytes()))?;
                if written < text.len() {
                    return Poll::Ready(Ok(self.take_part(text, written, taken - after.pending().len())));
                }
            }
            Some(TextPiece::Seam(mut text) | TextPiece::Repaired(mut text, _)) => {
                if let Some(TextPiece::Repaired(..)) = piece {
                    // The next byte may be what makes the sequence ill-formed, so it is accepted together with it, and
                    // no byte that is not accepted has an effect. After the sequence one byte is at most one piece.
                    let rest = &bytes[taken..];
                    let (next, first) = after.take_piece(&rest[..rest.len().min(1)]);
                    text = text.followed_by(next.as_ref().map_or("", |next| next.text().unwrap_or_default()));
                    taken += first;
                }
                return self.send(text, &bytes[..taken], after, inner);
            }
            Some(TextPiece::IllFormed(error)) => {
                self.decoder = after;
                self.state = State::Failed(error);
                return Poll::Ready(Err(error.into()));
            }
            None => {}
        }
        self.decoder = after;
        Poll::Ready(Ok(taken))
    }

    /// Writes a text that is not in `bytes`, which are accepted with it. Then the decoder becomes `after`.
    fn send(
        &mut self,
        text: ShortStr,
        bytes: &[u8],
        after: TextDecoder,
        mut inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if !text.is_empty() {
            let written = inner(text.as_bytes());
            if !matches!(written, Poll::Ready(Ok(1..))) {
                self.unsent = Repair::new(text, bytes, after);
                return written;
            }
            self.short = Short::new(text);
            if let Poll::Ready(Ok(written)) = written {
                self.short.take(written);
            }
        }
        self.decoder = after;
        Poll::Ready(Ok(bytes.len()))
    }

    /// Called when the inner writer has accepted only the first `written` bytes of `text`, which ends `taken` bytes
    /// after the decoder's offset. If a character was written only in part, its rest is kept in `short`. Returns the
    /// number of bytes accepted from the caller.
    fn take_part(&mut self, text: &str, written: usize, taken: usize) -> usize {
        if written == 0 {
            return 0;
        }
        let whole = ceil_boundary(text.as_bytes(), written);
        let start = floor_boundary(text.as_bytes(), written);
        if let Some(character) = text[start..whole].chars().next() {
            self.short = Short { text: ShortStr::from(character), taken: written - start };
        }
        let taken = taken - (text.len() - whole);
        self.decoder.skip(taken);
        taken
    }

    /// Writes the bytes in `short` with `inner`.
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

    /// Ends the text. The caller has called [`drain`](Self::drain) before, and calls it again if the result is `true`.
    /// Returns whether the inner writer must still be shut down.
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
            // The error was already reported by a write.
            State::Failed(_) => self.state = State::Ending(None),
            State::Ending(_) => {}
            State::Closed => return false,
        }
        true
    }

    /// Called after the inner writer was shut down. The first call returns the error of a truncated sequence, if there
    /// was one.
    pub(super) fn closed(&mut self) -> io::Result<()> {
        match core::mem::replace(&mut self.state, State::Closed) {
            State::Ending(Some(error)) => Err(error.into()),
            _ => Ok(()),
        }
    }
}
