//! The state that is kept between chunks: an unfinished escape.

#[cfg(feature = "codec")]
use kernels::Positions;
use kernels::escapes::escapes_len;

use super::escape::{self, Escape, MAX_LEN};
use super::strings::{EscapePolicy, JsonStrings};
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::ShortStr;
use crate::text::{TextDecoder, TextPiece};

/// The state of the escapes of a stream: the bytes of an unfinished escape, and how many errors there were.
#[derive(Clone, Copy, Debug)]
pub struct Escapes {
    strings: JsonStrings,
    pending: [u8; MAX_LEN],
    len: usize,
    /// The offset of the first pending byte, and the offset after the last one.
    start: u64,
    pub(super) end: u64,
    /// A piece of the decoder that comes after the pending bytes: a seam, a replacement or an error.
    pub(super) waiting: Option<TextPiece<'static>>,
    wrong: u64,
}

impl Escapes {
    #[inline]
    pub const fn new(strings: JsonStrings) -> Self {
        Self { strings, pending: [0; MAX_LEN], len: 0, start: 0, end: 0, waiting: None, wrong: 0 }
    }

    /// Returns the state for another stream.
    #[inline]
    pub const fn restarted(self) -> Self {
        Self::new(self.strings)
    }

    #[inline]
    pub const fn strings(&self) -> JsonStrings {
        self.strings
    }

    /// Returns the bytes of an unfinished escape.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.pending.get(..self.len).unwrap_or_default()
    }

    /// Whether a piece of an earlier chunk is left. The next piece is a part of it.
    #[inline]
    pub const fn is_waiting(&self) -> bool {
        self.waiting.is_some()
    }

    /// Returns the length of the text of the waiting piece, and whether it is an error.
    #[inline]
    pub fn waiting_output(&self) -> (usize, bool) {
        self.waiting.map_or((0, false), |piece| match piece.text() {
            Ok(text) => (text.len(), false),
            Err(_) => (0, true),
        })
    }

    /// Discards the unfinished escape.
    #[inline]
    pub const fn clear(&mut self) {
        self.len = 0;
        self.waiting = None;
    }

    /// Returns the number of errors, and how many of them were repaired.
    #[inline]
    pub fn wrong_and_replaced(&self) -> (u64, u64) {
        (self.wrong, if self.strings.escape_policy().repairs() { self.wrong } else { 0 })
    }

    /// Reads the escape at the start of `bytes`.
    #[inline]
    pub(super) fn read(&self, bytes: &[u8]) -> Escape {
        escape::read(bytes, self.strings.subset(), self.strings.escape_policy() != EscapePolicy::Strict)
    }

    /// Returns the length of a prefix of a text in which all escapes are accepted, as far as that is known without
    /// reading each escape.
    #[inline]
    pub(super) fn accepted_len(&self, text: &[u8]) -> usize {
        if self.strings.subset().is_some() { 0 } else { escapes_len(text) }
    }

    /// Whether all escapes of a text are accepted. An unfinished one is not.
    #[cfg(feature = "codec")]
    #[inline]
    pub fn accept(&self, text: &[u8]) -> bool {
        let mut searched = self.accepted_len(text);
        let mut backslashes = Positions::after(searched);
        while let Some(at) = backslashes.next(text, b'\\') {
            if at < searched {
                continue;
            }
            let Escape::Whole(len) = self.read(text.get(at..).unwrap_or_default()) else { return false };
            searched = at + len;
        }
        true
    }

    /// Keeps an unfinished escape, which ends at the offset `end`.
    #[inline]
    pub(super) fn keep(&mut self, bytes: &[u8], end: u64) {
        self.len = 0;
        self.end = end;
        self.start = end.wrapping_sub(bytes.len() as u64);
        self.append(bytes);
    }

    #[inline]
    fn append(&mut self, bytes: &[u8]) {
        for (to, byte) in self.pending.iter_mut().skip(self.len).zip(bytes) {
            *to = *byte;
            self.len += 1;
        }
    }

    /// Applies the policy to an escape that is not accepted.
    #[cold]
    pub(super) fn report(
        &mut self,
        decoder: &mut TextDecoder,
        kind: ErrorKind,
        offset: u64,
        escape: &[u8],
    ) -> TextPiece<'static> {
        let error = Utf8Error::escaped(offset, kind, escape.len() as u8);
        decoder.count(error);
        self.wrong += 1;
        let text = match self.strings.escape_policy() {
            EscapePolicy::Strict => return TextPiece::IllFormed(error),
            EscapePolicy::Replace if kind == ErrorKind::IncompleteEscape => {
                short("?????".get(..escape.len()).unwrap_or_default().as_bytes())
            }
            EscapePolicy::Replace => {
                short(r"\uFFFD\uFFFD".get(..escape.len()).unwrap_or_default().as_bytes())
            }
            EscapePolicy::Drop => ShortStr::EMPTY,
            EscapePolicy::Keep => short(escape),
        };
        TextPiece::Repaired(text, error)
    }

    /// Returns the first escape of the pending bytes, now that `next` follows them, and the number of bytes of `next` that
    /// belong to it. Keeps the pending bytes after it. Returns `None` if it is still unfinished: all bytes are pending, and
    /// the caller sets their `end`.
    #[inline]
    pub(super) fn resume(
        &mut self,
        decoder: &mut TextDecoder,
        next: &[u8],
    ) -> (Option<TextPiece<'static>>, usize) {
        let before = self.len;
        self.append(next);
        let bytes = self.pending;
        let all = self.len;
        let bytes = bytes.get(..all).unwrap_or_default();
        let (piece, len) = match self.read(bytes) {
            Escape::Unfinished => return (None, all - before),
            Escape::Whole(len) => (TextPiece::Seam(short(&bytes[..len])), len),
            Escape::Wrong(kind, len) => (self.report(decoder, kind, self.start, &bytes[..len]), len),
        };
        // Bytes of `next` after the escape are not kept.
        let kept = before.saturating_sub(len);
        self.len = 0;
        self.append(&bytes[len..len + kept]);
        self.start = self.end.wrapping_sub(kept as u64);
        (Some(piece), len.saturating_sub(before))
    }

    /// Removes and returns the first escape of the pending bytes. No more bytes follow them.
    #[inline]
    pub(super) fn end(&mut self, decoder: &mut TextDecoder) -> Option<TextPiece<'static>> {
        if self.len == 0 {
            return None;
        }
        // A quote is not part of an escape.
        self.resume(decoder, b"\"").0
    }

    /// Returns the next part of the [`waiting`](Self::waiting) piece and of the pending bytes before it. `None` if all of
    /// it is pending.
    ///
    /// A sequence that is ill-formed or comes in two chunks ends a `\u`. After a backslash its replacement is text like
    /// any other, so the text that is returned has no escape that was not read.
    #[inline]
    pub(super) fn next_waiting(&mut self, decoder: &mut TextDecoder) -> Option<TextPiece<'static>> {
        let piece = self.waiting?;
        if self.len > 1 || self.len == 1 && matches!(piece, TextPiece::IllFormed(_)) {
            return self.end(decoder);
        }
        match piece {
            TextPiece::Repaired(text, error) if self.len > 0 || text.as_bytes().contains(&b'\\') => {
                self.waiting = (!text.is_empty()).then_some(TextPiece::Seam(text));
                self.end = error.offset;
                if self.len == 0 {
                    self.start = error.offset;
                }
                Some(TextPiece::Repaired(ShortStr::EMPTY, error))
            }
            TextPiece::Seam(text) if self.len > 0 || text.as_bytes().contains(&b'\\') => {
                self.next_of_made(decoder, text)
            }
            piece => {
                self.waiting = None;
                Some(piece)
            }
        }
    }

    /// Same for text that is not part of the chunk.
    #[inline]
    fn next_of_made(&mut self, decoder: &mut TextDecoder, text: ShortStr) -> Option<TextPiece<'static>> {
        let before_escape = if self.len == 0 { text.find('\\').unwrap_or(text.len()) } else { 0 };
        let (piece, taken) = if before_escape > 0 {
            (Some(TextPiece::Seam(short(&text.as_bytes()[..before_escape]))), before_escape)
        } else if self.len > 0 {
            self.resume(decoder, text.as_bytes())
        } else {
            self.append(b"\\");
            (None, 1)
        };
        let rest = text.as_bytes().get(taken..).unwrap_or_default();
        self.waiting = (!rest.is_empty()).then(|| TextPiece::Seam(short(rest)));
        piece
    }
}

/// Returns short text, which is well-formed.
#[inline]
fn short(text: &[u8]) -> ShortStr {
    ShortStr::EMPTY.followed_by(core::str::from_utf8(text).unwrap_or_default())
}
