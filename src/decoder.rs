//! The decoder: pieces of text, errors and offsets. No policy, no allocation, no I/O.

mod sequence;

#[cfg(feature = "alloc")]
use alloc::string::String;
use core::iter::FusedIterator;

use kernels::class_search::{self, Class};
use kernels::grammar::UTF_8;
use kernels::{AtBoundary, ScanState, TextEnd};
use sequence::{Continued, IllFormed, Subpart, continue_sequence, ill_formed_at, ill_formed_at_start_of};

use crate::error::{ErrorKind, Utf8Error};
use crate::subset::Subset;

/// A strict, resumable UTF-8 decoder (RFC 3629) for a stream in chunks of any size.
///
/// The same bytes give the same text, the same errors and the same offsets, however the stream is split into chunks.
/// The decoder allocates nothing and never panics. It is `Copy` and at most 16 bytes: a copy is a snapshot, and
/// assigning it back restores it. Two decoders are equal if their offsets and their pending bytes are equal.
///
/// A byte that makes the stream ill-formed is reported by the call that receives it, not by a later one. These bytes
/// are `C0`, `C1`, `F5..=FF`, `E0 80..=9F`, `ED A0..=BF`, `F0 80..=8F`, `F4 90..=BF`, a continuation byte `80..=BF`
/// outside a sequence, and any other byte inside one.
///
/// ```
/// use utf8_codec::{Piece, Utf8Decoder};
///
/// let mut decoder = Utf8Decoder::new();
/// let mut text = String::new();
/// for chunk in [&b"caf\xC3"[..], b"\xA9 \xFF!"] {
///     for piece in decoder.feed(chunk) {
///         match piece {
///             Piece::Text(part) => text.push_str(part),
///             Piece::Seam(character) => text.push(character),
///             Piece::IllFormed(error) => assert_eq!(error.offset, 6),
///         }
///     }
/// }
/// decoder.finish()?;
/// assert_eq!(text, "café !");
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Utf8Decoder {
    offset: u64,
    state: ScanState,
}

const _: () = assert!(size_of::<Utf8Decoder>() <= 16);

/// A part of a chunk: text, a character that started in an earlier chunk, or an error. Pieces are returned in stream
/// order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Piece<'c> {
    /// Well-formed text, borrowed from the chunk; never empty.
    Text(&'c str),
    /// A character whose bytes came in different chunks.
    Seam(char),
    /// An ill-formed sequence. The decoder is positioned after it.
    IllFormed(Utf8Error),
}

impl Utf8Decoder {
    /// Creates a decoder at the start of a stream.
    pub const fn new() -> Self {
        Self::with_offset(0)
    }

    /// Creates a decoder at a character boundary, `offset` bytes after the start of a stream. Offsets wrap at 2^64.
    pub const fn with_offset(offset: u64) -> Self {
        Self { offset, state: ScanState::START }
    }

    /// Moves the decoder to a character boundary at `offset`. The prediction is kept.
    #[doc(hidden)]
    #[inline(always)]
    pub fn seek(&mut self, offset: u64) {
        *self = Self { offset, state: self.state.without_carry() };
    }

    /// Decodes the next chunk. The pieces are borrowed from it.
    ///
    /// The chunk is decoded as the iterator advances. If the iterator is dropped early, [`offset`](Self::offset) shows
    /// how many bytes were consumed. The rest of the chunk can be passed to `feed` again.
    #[inline]
    #[must_use = "the chunk is decoded only as the iterator advances"]
    pub fn feed<'d, 'c>(&'d mut self, chunk: &'c [u8]) -> Pieces<'d, 'c> {
        Pieces { decoder: self, rest: chunk, ill_formed: None, rejected: Subpart::NONE }
    }

    /// Validates the next chunk. This is [`feed`](Self::feed) without the pieces, and faster.
    ///
    /// # Errors
    ///
    /// Returns the first ill-formed sequence. The decoder is positioned after it, and the bytes after it were not
    /// consumed. Continue with `&chunk[(decoder.offset() - offset_before) as usize..]`.
    #[inline(always)]
    pub fn validate(&mut self, chunk: &[u8]) -> Result<(), Utf8Error> {
        match kernels::validate(&mut self.state, chunk) {
            Ok(()) => {
                self.offset = self.offset.wrapping_add(chunk.len() as u64);
                Ok(())
            }
            Err(index) => {
                let (after, error) = self.rejected(chunk, index.get());
                *self = after;
                Err(error)
            }
        }
    }

    /// Returns the whole chunk if it is text and this can be decided quickly.
    #[cfg(feature = "alloc")]
    #[inline(always)]
    pub(crate) fn take_likely_text<'c>(&mut self, chunk: &'c [u8]) -> Option<&'c str> {
        let text = kernels::likely_text(&mut self.state, chunk)?;
        self.offset = self.offset.wrapping_add(text.len() as u64);
        Some(text)
    }

    /// Decodes the next chunk and appends its text.
    ///
    /// # Errors
    ///
    /// Returns the first ill-formed sequence. The text before it has been appended. The decoder is positioned after it, and
    /// the bytes after it are not decoded. To continue, pass them to the next call:
    /// `&chunk[(decoder.offset() - offset_before) as usize..]`.
    ///
    /// ```
    /// use utf8_codec::Utf8Decoder;
    ///
    /// let mut decoder = Utf8Decoder::new();
    /// let mut text = String::new();
    /// for chunk in [&b"na\xC3"[..], b"\xAFve"] {
    ///     decoder.feed_into(chunk, &mut text)?;
    /// }
    /// decoder.finish()?;
    /// assert_eq!(text, "naïve");
    /// assert_eq!(decoder.feed_into(b"\xFF", &mut text).unwrap_err().offset, 6);
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    #[cfg(feature = "alloc")]
    #[doc(alias = "push")]
    #[doc(alias = "incremental")]
    pub fn feed_into(&mut self, chunk: &[u8], text: &mut String) -> Result<(), Utf8Error> {
        for piece in self.feed(chunk) {
            match piece {
                Piece::Text(part) => text.push_str(part),
                Piece::Seam(character) => text.push(character),
                Piece::IllFormed(error) => return Err(error),
            }
        }
        Ok(())
    }

    /// Takes text without a backslash from the start of a chunk. The text ends at or before the first backslash or
    /// ill-formed sequence, or at the end of the chunk, where a sequence may be unfinished.
    #[inline]
    pub(crate) fn take_plain<'c>(&mut self, chunk: &'c [u8]) -> &'c str {
        let Some(start) = self.state.boundary() else { return "" };
        let (text, state) = kernels::plain_prefix(start, chunk);
        let taken = text.len() + usize::from(state.pending_len());
        self.offset = self.offset.wrapping_add(taken as u64);
        self.state = state;
        text
    }

    /// Takes the text at the start of a chunk, which starts between characters and follows no pending bytes. Returns
    /// whether an error follows the text. Otherwise the rest of the chunk is pending.
    #[inline]
    pub(crate) fn take_valid<'c>(&mut self, chunk: &'c [u8]) -> (&'c str, bool) {
        let before = self.offset;
        if let Some(text) = kernels::likely_text(&mut self.state, chunk) {
            self.offset = before.wrapping_add(text.len() as u64);
            return (text, false);
        }
        let (text, end) = kernels::prefix(self.state.boundary().unwrap_or(AtBoundary::START), chunk);
        let (taken, state, is_before_error) = match end {
            TextEnd::Unfinished(state) => (chunk.len(), state, false),
            TextEnd::IllFormed(_) => (text.len(), ScanState::START, true),
        };
        self.offset = before.wrapping_add(taken as u64);
        self.state = state;
        (text, is_before_error)
    }

    /// Same as [`take_valid`](Self::take_valid), but the first character outside the subset is an error, too.
    pub(crate) fn take_valid_within<'c>(&mut self, subset: &Subset, chunk: &'c [u8]) -> (&'c str, bool) {
        let start = self.state.boundary().unwrap_or(AtBoundary::START);
        let (text, end, inside) = kernels::prefix_within(start, chunk, subset.doubtful());
        let outside = text.get(inside..).and_then(|rest| subset.first_outside(rest));
        let (text, taken, state, is_before_error) = match (outside, end) {
            (Some((at, _)), _) => {
                let text = text.get(..inside + at).unwrap_or_default();
                (text, text.len(), ScanState::START, true)
            }
            (None, TextEnd::Unfinished(state)) => (text, chunk.len(), state, false),
            (None, TextEnd::IllFormed(_)) => (text, text.len(), ScanState::START, true),
        };
        self.offset = self.offset.wrapping_add(taken as u64);
        self.state = state;
        (text, is_before_error)
    }

    /// Validates a whole text that is contiguous in a buffer. It starts between characters, whatever is pending, and must
    /// end between them. On an error the decoder stays before the text. No bytes are pending afterwards.
    #[cfg(feature = "codec")]
    #[inline(always)]
    pub(crate) fn validate_whole<'t>(&mut self, text: &'t [u8]) -> Result<&'t str, Utf8Error> {
        let start = self.offset;
        let result = from_utf8(text);
        self.seek(if result.is_ok() { start.wrapping_add(text.len() as u64) } else { start });
        result.map_err(|error| error.with_offset(start.wrapping_add(error.offset)))
    }

    /// Takes the text at the start of a chunk, which starts between characters, whatever is pending. Returns the error
    /// that ends the text, if there is one; the decoder then stays before the error. Otherwise the rest of the chunk is
    /// pending.
    #[cfg(any(feature = "codec", feature = "stream"))]
    #[inline]
    pub(crate) fn take_text<'c>(&mut self, chunk: &'c [u8]) -> (&'c str, Option<Utf8Error>) {
        self.state = self.state.without_carry();
        let before = self.offset;
        if let Some(text) = kernels::likely_text(&mut self.state, chunk) {
            self.offset = before.wrapping_add(text.len() as u64);
            return (text, None);
        }
        let start = self.state.boundary().unwrap_or(AtBoundary::START);
        let (text, end) = kernels::prefix(start, chunk);
        match end {
            TextEnd::Unfinished(state) => {
                self.state = state;
                self.offset = before.wrapping_add(chunk.len() as u64);
                (text, None)
            }
            TextEnd::IllFormed(rest) => {
                self.offset = before.wrapping_add(text.len() as u64);
                let ill_formed = ill_formed_at_start_of(rest);
                let len = ill_formed.bytes.len();
                (text, Some(Utf8Error::new(self.offset, ill_formed.kind, len)))
            }
        }
    }

    /// Returns the decoder after an ill-formed sequence, and the error. It takes the decoder by value, so that the
    /// compiler can keep it in registers.
    #[cold]
    fn rejected(self, chunk: &[u8], index: usize) -> (Self, Utf8Error) {
        let (taken, ill_formed) = ill_formed_at(self.state, chunk, index);
        let after = Self::with_offset(self.offset.wrapping_add(taken as u64));
        (after, after.error_ending_here(ill_formed))
    }

    /// Ends the stream. The decoder can be used again for a stream that resumes after its end (a file that grows, a
    /// FIFO). Its [`offset`](Self::offset) is not reset.
    ///
    /// # Errors
    ///
    /// Returns [`Truncated`](crate::ErrorKind::Truncated) if the stream ended inside a sequence. The pending bytes are
    /// discarded, so a second call returns `Ok`.
    pub fn finish(&mut self) -> Result<(), Utf8Error> {
        match core::mem::take(&mut self.state).pending() {
            [] => Ok(()),
            pending => Err(self.error_ending_here(IllFormed::truncated(pending))),
        }
    }

    /// Returns the absolute offset: the number of bytes consumed so far, including the [`pending`](Self::pending) ones.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.offset
    }

    /// Returns the offset up to which every byte was returned as text or reported: [`offset`](Self::offset) without the
    /// pending bytes.
    #[inline]
    pub const fn valid_up_to(&self) -> u64 {
        self.offset.wrapping_sub(self.state.pending_len() as u64)
    }

    /// Returns the 0 to 3 bytes of an unfinished sequence at the end of the last chunk.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.state.pending()
    }

    /// Returns the error for a sequence that ends with the last byte consumed.
    #[inline]
    fn error_ending_here(&self, IllFormed { kind, bytes }: IllFormed) -> Utf8Error {
        Utf8Error::new(self.offset.wrapping_sub(u64::from(bytes.len())), kind, bytes.len())
    }
}

/// The pieces of a chunk, returned by [`Utf8Decoder::feed`].
#[derive(Debug)]
pub struct Pieces<'d, 'c> {
    decoder: &'d mut Utf8Decoder,
    rest: &'c [u8],
    /// The error to return next, after the text before it.
    ill_formed: Option<IllFormed>,
    rejected: Subpart,
}

impl<'c> Pieces<'_, 'c> {
    /// Returns the bytes of the ill-formed sequence that was returned last, or an empty slice before the first one.
    pub fn rejected(&self) -> &[u8] {
        self.rejected.as_slice()
    }

    pub(crate) fn decoder(&self) -> &Utf8Decoder {
        self.decoder
    }

    /// Returns the bytes of the chunk that are not consumed yet.
    pub(crate) fn rest(&self) -> &'c [u8] {
        self.rest
    }

    /// Replaces the decoder and the rest of the chunk. The iterator continues with them.
    pub(crate) fn restart(&mut self, decoder: Utf8Decoder, rest: &'c [u8]) {
        *self.decoder = decoder;
        self.rest = rest;
        self.ill_formed = None;
    }

    /// Consumes the next `taken` bytes of the chunk and sets the state after them.
    #[inline(always)]
    fn take(&mut self, taken: usize, state: ScanState) {
        self.take_up_to(self.rest.get(taken..).unwrap_or_default(), taken, state);
    }

    /// Same as [`take`](Self::take), for a caller that already has the rest of the chunk.
    #[inline(always)]
    fn take_up_to(&mut self, rest: &'c [u8], taken: usize, state: ScanState) {
        self.rest = rest;
        self.decoder.offset = self.decoder.offset.wrapping_add(taken as u64);
        self.decoder.state = state;
    }

    /// Consumes the next `taken` bytes of the chunk, which end an ill-formed sequence.
    #[inline(always)]
    fn reject(&mut self, taken: usize, ill_formed: IllFormed) -> Piece<'c> {
        self.take(taken, ScanState::START);
        self.rejected = ill_formed.bytes;
        Piece::IllFormed(self.decoder.error_ending_here(ill_formed))
    }
}

impl<'c> Iterator for Pieces<'_, 'c> {
    type Item = Piece<'c>;

    #[inline(always)]
    fn next(&mut self) -> Option<Piece<'c>> {
        // Then no ill-formed sequence follows, because its bytes would be in the rest.
        if self.rest.is_empty() {
            return None;
        }
        // Nor does one follow if ASCII is likely, because the state before it is `START`.
        if let Some(text) = kernels::likely_text(&mut self.decoder.state, self.rest) {
            self.decoder.offset = self.decoder.offset.wrapping_add(text.len() as u64);
            self.rest = &[];
            return Some(Piece::Text(text));
        }
        self.next_piece_by(kernels::prefix)
    }
}

impl<'c> Pieces<'_, 'c> {
    /// [`next`](Iterator::next), not inlined, for callers that are not worth a copy of its code.
    #[inline(never)]
    pub(crate) fn next_by_call(&mut self) -> Option<Piece<'c>> {
        self.next()
    }

    /// Returns the next piece, and the number of bytes at its start that are known to have no character of the class.
    #[inline(never)]
    pub(crate) fn next_within(&mut self, class: &Class) -> Option<(Piece<'c>, usize)> {
        if self.rest.len() < class_search::LONG {
            return self.next_by_call().map(|piece| (piece, 0));
        }
        let mut inside = 0;
        let piece = self.next_piece_by(|start, rest| {
            let (text, end, len) = kernels::prefix_within(start, rest, class);
            inside = len;
            (text, end)
        })?;
        Some((piece, inside))
    }

    /// Returns the next piece. The chunk has bytes or an ill-formed sequence left. `prefix` is [`kernels::prefix`] or a
    /// function with the same results.
    ///
    /// The functions that it calls take and return values, not `self`, so that the compiler can keep the fields of an
    /// iterator in registers.
    #[inline(always)]
    fn next_piece_by(
        &mut self,
        prefix: impl FnOnce(AtBoundary, &'c [u8]) -> (&'c str, TextEnd<'c>),
    ) -> Option<Piece<'c>> {
        if let Some(ill_formed) = self.ill_formed.take() {
            return Some(self.reject(usize::from(ill_formed.bytes.len()), ill_formed));
        }
        let Some(start) = self.decoder.state.boundary() else {
            return match continue_sequence(self.decoder.state, self.rest) {
                Continued::Whole { taken, character } => {
                    self.take(taken, ScanState::START);
                    Some(Piece::Seam(character))
                }
                Continued::IllFormed { taken, ill_formed } => Some(self.reject(taken, ill_formed)),
                Continued::Unfinished(state) => {
                    self.take_up_to(&[], self.rest.len(), state);
                    None
                }
            };
        };
        let (text, end) = prefix(start, self.rest);
        match end {
            TextEnd::Unfinished(state) => self.take_up_to(&[], self.rest.len(), state),
            TextEnd::IllFormed(rest) => {
                self.take_up_to(rest, text.len(), ScanState::START);
                let ill_formed = ill_formed_at_start_of(rest);
                if text.is_empty() {
                    return Some(self.reject(usize::from(ill_formed.bytes.len()), ill_formed));
                }
                self.ill_formed = Some(ill_formed);
            }
        }
        (!text.is_empty()).then_some(Piece::Text(text))
    }
}

impl FusedIterator for Pieces<'_, '_> {}

/// Validates a complete slice. This is [`core::str::from_utf8`] with the kernels and the errors of this crate.
///
/// # Errors
///
/// Returns the first ill-formed sequence, or [`Truncated`](crate::ErrorKind::Truncated) if the bytes end inside a
/// sequence. The bytes before [`Utf8Error::offset`] are well-formed.
///
/// ```
/// use utf8_codec::{ErrorKind, Utf8Error, from_utf8};
///
/// assert_eq!(from_utf8(b"caf\xC3\xA9"), Ok("café"));
/// assert_eq!(from_utf8(b"caf\xC3"), Err(Utf8Error::new(3, ErrorKind::Truncated, 1)));
/// ```
#[inline]
pub fn from_utf8(bytes: &[u8]) -> Result<&str, Utf8Error> {
    match kernels::text(bytes) {
        Some(text) => Ok(text),
        None => text_or_error(bytes),
    }
}

/// The second pass of [`from_utf8`], for bytes that the fast check did not accept.
#[inline(never)]
fn text_or_error(bytes: &[u8]) -> Result<&str, Utf8Error> {
    let (text, end) = kernels::prefix_of_text(bytes);
    let (len, kind) = match end {
        TextEnd::Unfinished(state) => match state.pending_len() {
            0 => return Ok(text),
            len => (len, None),
        },
        TextEnd::IllFormed(rest) => {
            let (len, kind) = UTF_8.walk(rest);
            (len as u8, kind.map(ErrorKind::of))
        }
    };
    Err(Utf8Error::new(text.len() as u64, kind.unwrap_or(ErrorKind::Truncated), len))
}
