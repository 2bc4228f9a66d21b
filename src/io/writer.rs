//! A writer that validates or repairs text.

use core::task::{Poll, ready};
use std::io;

use super::pin_project;
use crate::boundary::{ceil_boundary, floor_boundary};
use crate::error::Utf8Error;
use crate::text::{Part, Run, TextDecoder, TextPiece};

pin_project! {
    /// A writer that validates bytes as UTF-8, or repairs them, before it forwards them to another writer.
    ///
    /// It implements the traits that the inner writer implements: `Write` of std, `AsyncWrite` of tokio (feature `tokio-io`)
    /// or of futures-io (feature `futures-io`). Every write to the inner writer consists of whole characters, however
    /// the input is split. There is one exception: if the inner writer accepts only a part of a character, the next
    /// write contains the rest of this character. Use this writer for consoles, for peers that decode every packet
    /// separately, and for sinks that must never contain ill-formed text.
    ///
    /// ```
    /// use std::io::Write;
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    /// use utf8_codec::io::Utf8Writer;
    ///
    /// let mut out = Utf8Writer::with_decoder(Vec::new(), TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    /// for part in [&b"gr\xC3"[..], b"\xBCn \xFF \xE2\x82"] {
    ///     out.write_all(part)?;
    /// }
    /// assert_eq!(out.get_ref(), "grün \u{FFFD} ".as_bytes());
    /// out.finish()?;
    /// assert_eq!(out.into_inner(), "grün \u{FFFD} \u{FFFD}".as_bytes());
    /// # std::io::Result::Ok(())
    /// ```
    ///
    /// # Flush and the end of the text
    ///
    /// `flush` forwards and flushes every whole character. The first bytes of an unfinished character, at most 3, stay
    /// in this writer until the rest of the character arrives; `decoder().pending()` returns them. Only
    /// [`finish`](Self::finish), or `shutdown` of the async traits (`close` in futures-io), ends the text. If the
    /// writer is dropped without one of these calls, truncated text is not reported.
    ///
    /// # Errors
    ///
    /// Returns [`InvalidData`](std::io::ErrorKind::InvalidData) for the first sequence that the policy of the decoder
    /// does not repair. [`Utf8Error::find`](crate::Utf8Error::find) returns the [`Utf8Error`](crate::Utf8Error) inside.
    /// All text before that sequence has been forwarded, and every later write returns the same error. Text that ends
    /// inside a character is reported once: by `finish` after the inner writer has been flushed, or by `shutdown` after
    /// the inner writer has been shut down.
    ///
    /// Errors of the inner writer are returned unchanged, including `Interrupted` and `WouldBlock`. Writing can
    /// continue after them.
    ///
    /// # Cancel safety
    ///
    /// All state is in the writer. An async `write()` may be dropped at any await point. If the call is dropped before
    /// it returns, none of its bytes were accepted.
    #[derive(Debug)]
    pub struct Utf8Writer<W> {
        #[pin]
        pub(super) inner: W,
        pub(super) text: Writing,
    }
}

impl<W> Utf8Writer<W> {
    /// Creates a strict writer to `inner` that keeps the BOM.
    pub const fn new(inner: W) -> Self {
        Self::with_decoder(inner, TextDecoder::new())
    }

    /// Creates a writer to `inner` with the policies of `decoder`.
    pub const fn with_decoder(inner: W, decoder: TextDecoder) -> Self {
        Self { inner, text: Writing::new(decoder) }
    }

    /// Returns the decoder, with its offset and its counters.
    pub const fn decoder(&self) -> &TextDecoder {
        &self.text.decoder
    }

    io_accessors!(
        W,
        "inner writer",
        "Bytes that are written to it directly may be inserted inside a character.",
        "Bytes that were not forwarded yet are lost."
    );
}

/// The maximum number of bytes that one call decodes. If the inner writer accepts only some of them, the next call
/// decodes the others again, so this limits the repeated work.
const AT_ONCE: usize = 64 * 1024;

/// The state of a writer, for the traits of every runtime.
#[derive(Debug)]
pub(super) struct Writing {
    decoder: TextDecoder,
    made: Made,
    /// The bytes of the caller that `made` covers, if the inner writer has not accepted any of its bytes. The text is
    /// not made again when the caller passes the same bytes again, so that an error is logged once.
    unsent: Option<Unsent>,
    /// Errors that are close together. Allocated after the first one.
    run: Option<Box<Run>>,
    state: State<Utf8Error>,
}

/// Text that is not in the caller's bytes: the rest of a character, a character that was split, or repaired text.
#[derive(Debug)]
struct Made {
    text: String,
    /// The number of bytes that the inner writer has accepted.
    written: usize,
}

impl Made {
    fn left(&self) -> &[u8] {
        &self.text.as_bytes()[self.written..]
    }

    fn take(&mut self, bytes: usize) {
        self.written += bytes.min(self.left().len());
        if self.left().is_empty() {
            self.clear();
        }
    }

    fn clear(&mut self) {
        self.text.clear();
        self.written = 0;
    }
}

#[derive(Debug)]
struct Unsent {
    /// The sequences, and the byte after the last one if it is ill-formed.
    covered: Vec<u8>,
    /// The decoder after these bytes.
    after: TextDecoder,
}

/// What the next call of a writer does.
#[derive(Clone, Copy, Debug)]
pub enum State<E> {
    /// Text is accepted.
    Open,
    /// The text before an ill-formed sequence is being written, and the error was not returned yet.
    Failing(E),
    /// Every later write returns the error. If the caller could continue after it, the ill-formed sequence would be
    /// missing from the output.
    Failed(E),
    /// The text has ended and the inner writer is being shut down. The error reports a truncated sequence, if there was
    /// one.
    Ending(Option<E>),
    /// The inner writer was shut down.
    Closed,
}

impl<E: Copy + Into<io::Error>> State<E> {
    /// Returns the error of a write unless the writer is open.
    pub fn check_open(&mut self) -> io::Result<()> {
        match *self {
            Self::Open => Ok(()),
            Self::Failing(error) => {
                *self = Self::Failed(error);
                Err(error.into())
            }
            Self::Failed(error) => Err(error.into()),
            Self::Ending(_) | Self::Closed => Err(io::ErrorKind::BrokenPipe.into()),
        }
    }

    /// Ends the text. `finish` is called if it is open, and returns an error. Returns whether the inner writer must still be
    /// shut down.
    pub fn end(&mut self, finish: impl FnOnce() -> Option<E>) -> bool {
        match self {
            Self::Open => *self = Self::Ending(finish()),
            Self::Failing(error) => *self = Self::Ending(Some(*error)),
            // The error was already reported by a write.
            Self::Failed(_) => *self = Self::Ending(None),
            Self::Ending(_) => {}
            Self::Closed => return false,
        }
        true
    }

    /// Called after the inner writer was shut down. The first call returns the error of the end of the text, if there was
    /// one.
    pub fn closed(&mut self) -> io::Result<()> {
        match core::mem::replace(self, Self::Closed) {
            Self::Ending(Some(error)) => Err(error.into()),
            _ => Ok(()),
        }
    }
}

/// Writes the rest of `bytes` with `inner`. `left` returns it, and `take` removes the bytes that were accepted.
pub fn drain<B>(
    bytes: &mut B,
    left: impl Fn(&B) -> &[u8],
    take: impl Fn(&mut B, usize),
    mut inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
) -> Poll<io::Result<()>> {
    while !left(bytes).is_empty() {
        let written = ready!(inner(left(bytes)))?;
        if written == 0 {
            return Poll::Ready(Err(io::ErrorKind::WriteZero.into()));
        }
        take(bytes, written);
    }
    Poll::Ready(Ok(()))
}

impl Writing {
    #[inline]
    const fn new(decoder: TextDecoder) -> Self {
        let made = Made { text: String::new(), written: 0 };
        Self { decoder, made, unsent: None, run: None, state: State::Open }
    }

    /// Accepts bytes from the caller and writes text with `inner`. Returns the number of bytes accepted.
    pub(super) fn write(
        &mut self,
        bytes: &[u8],
        mut inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        let bytes = &bytes[..bytes.len().min(AT_ONCE)];
        self.state.check_open()?;
        if let Some(Unsent { covered, after }) = self.unsent.take() {
            if bytes.starts_with(&covered) {
                return self.send(&covered, after, inner);
            }
            self.made.clear();
        }
        ready!(self.drain(&mut inner))?;
        let mut after = self.decoder.clone();
        let (part, mut taken) = match &mut self.run {
            Some(run) => after.take_run(bytes, run),
            None => {
                let (piece, taken) = after.take_piece(bytes);
                (piece.map(Part::Piece), taken)
            }
        };
        // If the part contains text, bytes are accepted from the caller only after the inner writer has accepted a
        // part of this text.
        let ends_with_error = match part {
            Some(Part::Piece(TextPiece::Text(text))) => {
                let written = ready!(inner(text.as_bytes()))?;
                if written < text.len() {
                    return Poll::Ready(Ok(self.take_part(text, written, taken - after.pending().len())));
                }
                self.decoder = after;
                return Poll::Ready(Ok(taken));
            }
            Some(Part::Piece(TextPiece::Seam(character))) => {
                self.made.text.push_str(&character);
                false
            }
            Some(Part::Piece(TextPiece::Repaired(replacement, _))) => {
                self.run.get_or_insert_with(|| Box::new(Run::after_error()));
                self.made.text.push_str(&replacement);
                true
            }
            Some(Part::Run) => self.run.as_ref().is_some_and(|run| {
                self.made.text.push_str(run.text());
                run.ends_with_error()
            }),
            Some(Part::Piece(TextPiece::IllFormed(error))) => {
                self.decoder = after;
                self.state = State::Failed(error);
                return Poll::Ready(Err(error.into()));
            }
            None => false,
        };
        if ends_with_error {
            // The next byte may be the one that makes the sequence ill-formed, so both are accepted together, and no
            // byte has an effect before it is accepted. One byte after the sequence yields at most one piece.
            let rest = &bytes[taken..];
            let (next, first) = after.take_piece(&rest[..rest.len().min(1)]);
            self.made.text.push_str(next.as_ref().map_or("", |next| next.text().unwrap_or_default()));
            taken += first;
        }
        self.send(&bytes[..taken], after, inner)
    }

    /// Writes the text that was made of `bytes`, which are accepted with it. Then the decoder becomes `after`.
    fn send(
        &mut self,
        bytes: &[u8],
        after: TextDecoder,
        mut inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<usize>> {
        if !self.made.text.is_empty() {
            match inner(self.made.text.as_bytes()) {
                Poll::Ready(Ok(written @ 1..)) => self.made.take(written),
                not_written => {
                    self.unsent = Some(Unsent { covered: bytes.to_vec(), after });
                    return not_written;
                }
            }
        }
        self.decoder = after;
        Poll::Ready(Ok(bytes.len()))
    }

    /// Called when the inner writer has accepted only the first `written` bytes of `text`, which ends `taken` bytes
    /// after the decoder's offset. If a character was written only in part, its rest is kept in `made`. Returns the
    /// number of bytes accepted from the caller.
    #[inline]
    fn take_part(&mut self, text: &str, written: usize, taken: usize) -> usize {
        if written == 0 {
            return 0;
        }
        let whole = ceil_boundary(text.as_bytes(), written);
        let start = floor_boundary(text.as_bytes(), written);
        if start < whole {
            self.made.text.push_str(&text[start..whole]);
            self.made.take(written - start);
        }
        let taken = taken - (text.len() - whole);
        self.decoder.skip(taken);
        taken
    }

    /// Writes the text in `made` with `inner`, if its bytes were accepted from the caller.
    pub(super) fn drain(
        &mut self,
        inner: impl FnMut(&[u8]) -> Poll<io::Result<usize>>,
    ) -> Poll<io::Result<()>> {
        if self.unsent.is_some() {
            return Poll::Ready(Ok(()));
        }
        drain(&mut self.made, Made::left, Made::take, inner)
    }

    /// Ends the text. The caller has called [`drain`](Self::drain) before, and calls it again if the result is `true`.
    /// Returns whether the inner writer must still be shut down.
    #[inline]
    pub(super) fn end(&mut self) -> bool {
        let Self { decoder, made, unsent, .. } = self;
        self.state.end(|| {
            if unsent.take().is_some() {
                made.clear();
            }
            match decoder.finish() {
                Some(TextPiece::Repaired(text, _) | TextPiece::Seam(text)) => {
                    made.text.push_str(&text);
                    None
                }
                Some(TextPiece::IllFormed(error)) => Some(error),
                Some(TextPiece::Text(_)) | None => None,
            }
        })
    }

    /// [`State::closed`].
    #[inline]
    pub(super) fn closed(&mut self) -> io::Result<()> {
        self.state.closed()
    }
}
