//! The decoder of JSON, and its pieces.

#[cfg(feature = "alloc")]
use alloc::string::String;
use core::iter::FusedIterator;

use kernels::Positions;

use super::escape::Escape;
use super::pending::Escapes;
use super::strings::JsonStrings;
use crate::boundary::floor_boundary;
use crate::error::ErrorKind;
#[cfg(feature = "alloc")]
use crate::error::Utf8Error;
use crate::policy::Counters;
use crate::text::{Part, Run, TextDecoder, TextPiece};
#[cfg(feature = "alloc")]
use crate::text::{Sink, put, put_run};

/// A [`TextDecoder`] that also checks the escapes in the strings of JSON. Its output is the text of the decoder, in which an
/// [`EscapePolicy`](super::EscapePolicy) was applied to every escape that is not accepted.
///
/// Like [`TextDecoder`] it accepts chunks of any size, does not allocate and does not panic, and its text, errors and
/// offsets do not depend on how the stream is split into chunks.
///
/// ```
/// use utf8_codec::json::{EscapePolicy, JsonDecoder, JsonStrings};
///
/// let replace = JsonStrings::new().with_escape_policy(EscapePolicy::Replace);
/// let mut decoder = JsonDecoder::new().with_strings(replace);
/// let mut text = String::new();
/// for chunk in [br#"["\uD83D\uDE"#, &br#"00", "\uD8"#[..], br#"3D"]"#] {
///     for piece in decoder.feed(chunk) {
///         text.push_str(piece.text()?);
///     }
/// }
/// assert_eq!(text, r#"["\uD83D\uDE00", "\uFFFD"]"#);
/// assert!(decoder.finish().next().is_none());
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct JsonDecoder {
    decoder: TextDecoder,
    escapes: Escapes,
}

default_is_new!(JsonDecoder);

impl JsonDecoder {
    /// Creates a strict decoder that keeps the BOM and accepts every escape of a character.
    #[inline]
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new())
    }

    /// Creates a decoder that continues the stream of this one: it uses its policies, and its offset.
    #[inline]
    pub const fn with_decoder(decoder: TextDecoder) -> Self {
        Self { decoder, escapes: Escapes::new(JsonStrings::new()) }
    }

    /// Sets which escapes are accepted, and what happens to the others.
    #[must_use]
    #[inline]
    pub const fn with_strings(self, strings: JsonStrings) -> Self {
        Self { decoder: self.decoder, escapes: Escapes::new(strings) }
    }

    /// Decodes the next chunk and returns its text piece by piece. As with [`TextDecoder::feed`], a piece is decoded when the
    /// iterator is advanced.
    ///
    /// A [`TextPiece::Seam`] is a character or an escape whose bytes came in different chunks. Under
    /// [`EscapePolicy::Keep`](super::EscapePolicy::Keep) the text of a [`TextPiece::Repaired`] is the escape itself. A
    /// replacement of ill-formed bytes that follows or contains a backslash is in `Seam`s after a `Repaired` without text.
    #[must_use = "the chunk is only decoded as the iterator is advanced"]
    #[inline]
    pub fn feed<'d, 'c>(&'d mut self, chunk: &'c [u8]) -> JsonPieces<'d, 'c> {
        JsonPieces::new(&mut self.decoder, &mut self.escapes, chunk, false)
    }

    /// Decodes the next chunk and appends its text. Many errors are decoded faster than by [`feed`](Self::feed). The
    /// text, the errors and the counters are the same.
    ///
    /// # Errors
    ///
    /// Returns the first error that the policies do not repair. The text before it has been appended. The decoder is
    /// positioned after the error, as with [`feed`](Self::feed), and the bytes after it are not decoded.
    ///
    /// ```
    /// use utf8_codec::json::JsonDecoder;
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    ///
    /// let replace = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    /// let (mut decoder, mut text) = (JsonDecoder::with_decoder(replace), String::new());
    /// decoder.feed_into(b"[\"caf\xE9\"]", &mut text)?;
    /// assert_eq!(text, "[\"caf\u{FFFD}\"]");
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    #[inline]
    pub fn feed_into(&mut self, chunk: &[u8], text: &mut String) -> Result<(), Utf8Error> {
        self.feed(chunk).decode_to(text)
    }

    /// Ends the stream, and returns what is pending, or its errors. After the last piece the decoder can be used again,
    /// and the offset is not reset.
    ///
    /// The end ends an escape as any other character does: it is not [`Truncated`](ErrorKind::Truncated).
    #[must_use = "the end of the stream may be ill-formed"]
    #[inline]
    pub fn finish(&mut self) -> JsonPieces<'_, 'static> {
        JsonPieces::new(&mut self.decoder, &mut self.escapes, &[], true)
    }

    /// Returns the absolute offset in the stream: the number of bytes decoded so far, including the pending ones.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// Returns the bytes of an unfinished escape, at most 11. The [`decoder`](Self::decoder) has the bytes of an unfinished
    /// character after it.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.escapes.pending()
    }

    /// Returns the number of errors so far, by kind, in the bytes and in the escapes.
    #[inline]
    pub const fn counters(&self) -> Counters {
        self.decoder.counters()
    }

    /// Returns the decoder of the bytes.
    #[inline]
    pub const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Returns which escapes are accepted.
    #[inline]
    pub const fn strings(&self) -> JsonStrings {
        self.escapes.strings()
    }
}

/// The maximum number of bytes that are decoded at a time after a backslash. If the iterator is dropped after an error, the
/// rest of them is decoded again, so this number is small.
const WINDOW: usize = 4 * 1024;

/// The pieces of a chunk, returned by [`JsonDecoder::feed`] and [`JsonDecoder::finish`].
#[derive(Debug)]
pub struct JsonPieces<'d, 'c> {
    decoder: &'d mut TextDecoder,
    escapes: &'d mut Escapes,
    /// The bytes of the chunk after `text`.
    rest: &'c [u8],
    text: &'c str,
    /// The number of bytes of `text` that were returned, and that were searched.
    returned: usize,
    searched: usize,
    /// The backslashes of `text`.
    backslashes: Positions,
    /// The error at `returned`.
    wrong: Option<(ErrorKind, usize)>,
    is_end: bool,
    /// The number of bytes at the start of `rest` that are known to have no backslash.
    plain: usize,
}

impl<'d, 'c> JsonPieces<'d, 'c> {
    #[doc(hidden)]
    #[inline]
    pub fn new(
        decoder: &'d mut TextDecoder,
        escapes: &'d mut Escapes,
        chunk: &'c [u8],
        is_end: bool,
    ) -> Self {
        Self {
            decoder,
            escapes,
            rest: chunk,
            text: "",
            returned: 0,
            searched: 0,
            backslashes: Positions::START,
            wrong: None,
            is_end,
            plain: 0,
        }
    }

    /// Returns the next part, as [`TextDecoder::take_run`] does. The same run is passed for each part.
    #[doc(hidden)]
    pub fn next_part(&mut self, run: &mut Run) -> Option<Part<'c>> {
        let is_between = self.returned == self.text.len()
            && self.escapes.pending().is_empty()
            && self.escapes.waiting.is_none()
            && self.decoder.repairs_without_backslash();
        if is_between && run.is_near_error() {
            if self.plain == 0 {
                let window = &self.rest[..floor_boundary(self.rest, WINDOW)];
                self.plain = { Positions::START }.next(window, b'\\').unwrap_or(window.len());
            }
            while self.plain > 0 {
                let (part, taken) = self.decoder.take_run(&self.rest[..self.plain], run);
                self.rest = &self.rest[taken..];
                self.plain -= taken;
                if part.is_some() {
                    return part;
                }
            }
        }
        self.plain = 0;
        let piece = self.next()?;
        if let TextPiece::Repaired(..) = piece {
            run.follow(0);
        }
        Some(Part::Piece(piece))
    }

    /// Passes all text and errors to a sink.
    ///
    /// # Errors
    ///
    /// Returns the first error that the policies do not repair.
    #[cfg(feature = "alloc")]
    #[doc(hidden)]
    pub fn decode_to(&mut self, sink: &mut impl Sink) -> Result<(), Utf8Error> {
        while let Some(piece) = self.next() {
            let is_repaired = matches!(piece, TextPiece::Repaired(..));
            put(piece, sink)?;
            if is_repaired {
                return self.decode_parts_to(sink);
            }
        }
        Ok(())
    }

    #[cfg(feature = "alloc")]
    #[inline(never)]
    fn decode_parts_to(&mut self, sink: &mut impl Sink) -> Result<(), Utf8Error> {
        let mut run = Run::after_error();
        while let Some(part) = self.next_part(&mut run) {
            match part {
                Part::Run => put_run(&run, sink),
                Part::Piece(piece) => put(piece, sink)?,
            }
        }
        Ok(())
    }

    /// Returns the offset of a position in `text`.
    #[inline]
    fn offset_of(&self, position: usize) -> u64 {
        self.decoder.valid_up_to().wrapping_sub((self.text.len() - position) as u64)
    }

    /// Whether the unfinished `\u` ends before the next byte, if that byte is known. The error of the `\u` is counted
    /// before the errors of the bytes after it.
    #[inline]
    fn has_end(&self) -> bool {
        let is_next_part = match self.rest.first() {
            Some(byte) => byte.is_ascii_hexdigit() || matches!(byte, b'\\' | b'u'),
            None => !self.is_end,
        };
        self.escapes.pending().len() > 1 && !(self.decoder.pending().is_empty() && is_next_part)
    }

    /// Returns the text before the next backslash if nothing is pending and it is long.
    #[inline]
    fn take_plain(&mut self) -> Option<&'c str> {
        if !self.escapes.pending().is_empty() {
            return None;
        }
        let before = self.decoder.offset();
        let text = self.decoder.take_plain(self.rest);
        let taken = self.decoder.offset().wrapping_sub(before) as usize;
        self.rest = self.rest.get(taken..).unwrap_or_default();
        (!text.is_empty()).then_some(text)
    }

    /// Starts the search at `searched`. Escapes that are accepted in bulk are not found.
    #[inline]
    fn search(&mut self) {
        if self.escapes.pending().is_empty() {
            let rest = self.text.as_bytes().get(self.searched..).unwrap_or_default();
            self.searched += self.escapes.accepted_len(rest);
        }
        self.backslashes = Positions::after(self.searched);
    }

    /// Returns the next piece of `text`.
    #[inline]
    fn next_of_text(&mut self) -> Option<TextPiece<'c>> {
        let bytes = self.text.as_bytes();
        if !self.escapes.pending().is_empty() {
            let (piece, taken) = self.escapes.resume(self.decoder, bytes);
            self.returned = taken;
            self.searched = taken;
            self.search();
            if piece.is_none() {
                self.escapes.end = self.decoder.valid_up_to();
            }
            return piece;
        }
        if let Some((kind, len)) = self.wrong.take() {
            let start = self.returned;
            let offset = self.offset_of(self.returned);
            self.returned += len;
            let escape = bytes.get(start..self.returned).unwrap_or_default();
            return Some(self.escapes.report(self.decoder, kind, offset, escape));
        }
        let mut end = bytes.len();
        while let Some(at) = self.backslashes.next(bytes, b'\\') {
            // The second of two backslashes, or the backslash of the second half of a pair.
            if at < self.searched {
                continue;
            }
            let escape = bytes.get(at..).unwrap_or_default();
            match self.escapes.read(escape) {
                Escape::Whole(len) => self.searched = at + len,
                Escape::Wrong(kind, len) => {
                    self.searched = at + len;
                    self.wrong = Some((kind, len));
                    end = at;
                    break;
                }
                Escape::Unfinished => {
                    self.escapes.keep(escape, self.decoder.valid_up_to());
                    end = at;
                    break;
                }
            }
        }
        let text = self.text.get(self.returned..end).unwrap_or_default();
        self.returned = if self.escapes.pending().is_empty() { end } else { bytes.len() };
        (!text.is_empty()).then_some(TextPiece::Text(text))
    }
}

impl<'c> Iterator for JsonPieces<'_, 'c> {
    type Item = TextPiece<'c>;

    #[inline]
    fn next(&mut self) -> Option<TextPiece<'c>> {
        loop {
            let piece = if self.escapes.waiting.is_some() {
                self.escapes.next_waiting(self.decoder)
            } else if self.returned < self.text.len() {
                self.next_of_text()
            } else if self.has_end() {
                self.escapes.end(self.decoder)
            } else if !self.rest.is_empty() {
                if let Some(plain) = self.take_plain() {
                    return Some(TextPiece::Text(plain));
                }
                let window = &self.rest[..floor_boundary(self.rest, WINDOW)];
                let (piece, taken) = self.decoder.take_piece(window);
                self.rest = self.rest.get(taken..).unwrap_or_default();
                match piece {
                    Some(TextPiece::Text(text)) => {
                        self.text = text;
                        self.returned = 0;
                        self.searched = 0;
                        self.search();
                    }
                    Some(TextPiece::Seam(it)) => self.escapes.waiting = Some(TextPiece::Seam(it)),
                    Some(TextPiece::Repaired(it, error)) => {
                        self.escapes.waiting = Some(TextPiece::Repaired(it, error));
                    }
                    Some(TextPiece::IllFormed(error)) => {
                        self.escapes.waiting = Some(TextPiece::IllFormed(error));
                    }
                    None => {}
                }
                None
            } else if !self.is_end {
                return None;
            } else if let Some(end) = self.decoder.finish() {
                self.escapes.waiting = Some(end);
                None
            } else {
                return self.escapes.end(self.decoder);
            };
            if piece.is_some() {
                return piece;
            }
        }
    }
}

impl FusedIterator for JsonPieces<'_, '_> {}

impl Drop for JsonPieces<'_, '_> {
    /// Moves the decoder back to the end of the pieces that were returned.
    #[inline]
    fn drop(&mut self) {
        if self.returned < self.text.len() {
            let offset = self.offset_of(self.returned);
            self.decoder.seek(offset);
        }
    }
}
