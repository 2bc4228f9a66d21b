//! The text of each chunk, or of a complete input, as one string.

use alloc::borrow::Cow;
use alloc::string::String;
use core::fmt;

use kernels::join_adjacent;

use super::decoder::TextDecoder;
use super::pieces::TextPiece;
use crate::error::{ByteCount, Utf8Error};
use crate::policy::ErrorPolicy;

impl TextDecoder {
    /// Decodes the next chunk and returns its text as one string. Use it in a loop that reads from a pipe, a terminal
    /// or a socket. [`finish`](Self::finish) returns the rest at the end.
    ///
    /// The text is borrowed from the chunk, without an allocation, unless a character started in an earlier chunk or an
    /// error was repaired. In these cases the text of the chunk is copied once. The text is empty if the chunk contains
    /// only a part of a character. At most 3 bytes remain in the decoder.
    ///
    /// For a blocking reader, `io::Utf8Reader::read_str_chunk` is shorter than the loop of this example. It also repeats
    /// a read that a signal interrupts.
    ///
    /// ```
    /// use std::io::{self, Read};
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    ///
    /// fn show(mut terminal: impl Read, mut print: impl FnMut(&str)) -> io::Result<()> {
    ///     let mut buffer = [0; 4096];
    ///     let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    ///     while let read @ 1.. = terminal.read(&mut buffer)? {
    ///         print(&decoder.decode_chunk(&buffer[..read])?);
    ///     }
    ///     if let Some(end) = decoder.finish() {
    ///         print(end.text()?);
    ///     }
    ///     Ok(())
    /// }
    /// # let mut shown = String::new();
    /// # show(&b"na\xC3\xAFve \xFF \xE2\x82"[..], |text| shown += text).unwrap();
    /// # assert_eq!(shown, "naïve \u{FFFD} \u{FFFD}");
    /// ```
    ///
    /// # Errors
    ///
    /// Returns a [`DecodeError`] for the first error that the policy does not repair. It contains the text of the chunk
    /// before the error, and the number of bytes of the chunk that were decoded. To continue after the error, pass the
    /// rest of the chunk to the next call. Only [`ErrorPolicy::Strict`](crate::ErrorPolicy),
    /// [`BomPolicy::Require`](crate::BomPolicy) and [`BomPolicy::Reject`](crate::BomPolicy) cause errors.
    ///
    /// ```
    /// use utf8_codec::{TextDecoder, Utf8Error};
    ///
    /// let (mut text, mut errors) = (String::new(), Vec::<Utf8Error>::new());
    /// let mut decoder = TextDecoder::new();
    /// for mut chunk in [&b"gr\xC3"[..], b"\xBCn \xFFund blau"] {
    ///     while let Err(failed) = decoder.decode_chunk(chunk).map(|good| text += &good) {
    ///         text += &failed.text;
    ///         errors.push(failed.error);
    ///         chunk = &chunk[failed.read..];
    ///     }
    /// }
    /// assert_eq!(text, "grün und blau");
    /// assert_eq!(errors[0].offset, 6);
    /// ```
    #[doc(alias = "push")]
    #[doc(alias = "carry")]
    #[doc(alias = "incremental")]
    #[inline]
    pub fn decode_chunk<'c>(&mut self, chunk: &'c [u8]) -> Result<Cow<'c, str>, DecodeError> {
        let mut text = "";
        let mut taken = 0;
        while taken < chunk.len() {
            let (piece, bytes) = self.take_piece(&chunk[taken..]);
            taken += bytes;
            let Some(piece) = piece else { continue };
            let joined = match piece {
                TextPiece::Text(next) => join_adjacent(chunk, text, next),
                _ => None,
            };
            let Some(both) = joined else {
                return self.rest_copied(text, piece, chunk, taken).map(Cow::Owned);
            };
            text = both;
        }
        Ok(Cow::Borrowed(text))
    }

    /// Returns a copy of the text of a chunk. It consists of `text`, of `piece`, which ends after `taken` bytes of the
    /// chunk, and of the rest.
    #[inline]
    fn rest_copied(
        &mut self,
        text: &str,
        piece: TextPiece<'_>,
        chunk: &[u8],
        taken: usize,
    ) -> Result<String, DecodeError> {
        let piece = piece.text().map_err(|error| DecodeError { error, text: text.into(), read: taken })?;
        let mut copy = String::with_capacity(text.len() + piece.len() + chunk.len() - taken);
        copy.push_str(text);
        copy.push_str(piece);
        let before = self.offset();
        match self.feed_into(&chunk[taken..], &mut copy) {
            Ok(()) => Ok(copy),
            Err(error) => {
                let taken = taken + self.offset().wrapping_sub(before) as usize;
                Err(DecodeError { error, text: copy, read: taken })
            }
        }
    }
}

/// Decodes a complete input, with U+FFFD for each ill-formed sequence. This is [`String::from_utf8_lossy`] with the
/// kernels of this crate. Well-formed bytes are borrowed.
///
/// The result is the same as in the standard library. [`TextDecoder::decode_whole`] supports other policies;
/// [`from_utf8`](crate::from_utf8) returns an error instead.
///
/// ```
/// use utf8_codec::from_utf8_lossy;
///
/// assert_eq!(from_utf8_lossy(b"caf\xC3\xA9"), "café");
/// assert_eq!(from_utf8_lossy(b"caf\xE9 \xE2\x82"), "caf\u{FFFD} \u{FFFD}");
/// ```
#[must_use]
#[doc(alias = "lossy")]
#[inline]
pub fn from_utf8_lossy(bytes: &[u8]) -> Cow<'_, str> {
    // This policy repairs every error.
    TextDecoder::new().with_error_policy(ErrorPolicy::Replace).decode_whole(bytes).unwrap_or_default()
}

impl TextDecoder {
    /// Decodes a complete input with the policies of this decoder. Offsets count from the start of `bytes`. The
    /// position and the [`counters`](Self::counters) of the decoder are neither used nor changed.
    ///
    /// Well-formed bytes are borrowed, even if a BOM before them is removed. If an error is repaired, the text is a new
    /// `String` of at most [`ErrorPolicy::max_output_len`] bytes.
    ///
    /// # Errors
    ///
    /// Returns the first error that the policies do not repair.
    ///
    /// ```
    /// use std::borrow::Cow;
    /// use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
    ///
    /// let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Windows1252).with_bom_policy(BomPolicy::Strip);
    /// assert!(matches!(decoder.decode_whole(b"\xEF\xBB\xBFcaf\xC3\xA9")?, Cow::Borrowed("café")));
    /// assert_eq!(decoder.decode_whole(b"caf\xE9, 5 \x80")?, "café, 5 €");
    ///
    /// let error = TextDecoder::new().decode_whole(b"caf\xE9").unwrap_err();
    /// assert_eq!(error.offset, 3);
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    #[inline]
    pub fn decode_whole<'b>(&self, bytes: &'b [u8]) -> Result<Cow<'b, str>, Utf8Error> {
        let mut decoder = self.restarted_at(0);
        let first = decoder.feed(bytes).next();
        if let Some(TextPiece::Text(text)) = first {
            if decoder.offset() == bytes.len() as u64 && decoder.pending().is_empty() {
                return Ok(Cow::Borrowed(text));
            }
        }
        let mut text = String::with_capacity(bytes.len());
        if let Some(piece) = first {
            text.push_str(piece.text()?);
        }
        decoder.feed_into(&bytes[decoder.offset() as usize..], &mut text)?;
        if let Some(end) = decoder.finish() {
            text.push_str(end.text()?);
        }
        Ok(Cow::Owned(text))
    }
}

/// An error of [`TextDecoder::decode_chunk`]: the ill-formed sequence, and the text before it.
///
/// It owns the text, so `?` converts it into any boxed error. It also converts into an `io::Error` of kind
/// `InvalidData` and into a [`Utf8Error`]. Both conversions drop the text. Neither `Display` nor `Debug` shows the
/// text.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct DecodeError {
    /// The ill-formed sequence, with its absolute offset.
    pub error: Utf8Error,
    /// The text of this chunk before the error. The text of earlier chunks has already been returned.
    pub text: String,
    /// The number of bytes of the chunk that were decoded, up to the end of the ill-formed sequence. It is 0 if the
    /// whole sequence came in earlier chunks.
    pub read: usize,
}

impl DecodeError {
    /// Returns the error in the text.
    #[inline]
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        Some(self.error)
    }
}

impl fmt::Debug for DecodeError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { error, text, read } = self;
        f.debug_struct("DecodeError")
            .field("error", error)
            .field("text", &format_args!("{}", ByteCount(text.len())))
            .field("read", read)
            .finish()
    }
}

impl fmt::Display for DecodeError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.error.fmt(f)
    }
}

impl core::error::Error for DecodeError {}

impl From<DecodeError> for Utf8Error {
    #[inline]
    fn from(error: DecodeError) -> Self {
        error.error
    }
}

/// Creates an error of kind [`InvalidData`](std::io::ErrorKind::InvalidData) that wraps the [`Utf8Error`].
#[cfg(feature = "std")]
impl From<DecodeError> for std::io::Error {
    #[inline]
    fn from(error: DecodeError) -> Self {
        error.error.into()
    }
}
