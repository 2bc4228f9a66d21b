//! Decoding of a complete input.

use alloc::borrow::Cow;
use alloc::string::String;

use super::decoder::TextDecoder;
use super::pieces::TextPiece;
use crate::error::Utf8Error;
use crate::policy::ErrorPolicy;

/// Decodes a complete input, with U+FFFD for each ill-formed sequence. This is [`String::from_utf8_lossy`] with the
/// kernels of this crate. Well-formed bytes are borrowed.
///
/// The result is the same as that of the standard library. [`TextDecoder::decode`] supports other policies;
/// [`from_utf8`](crate::from_utf8) returns an error instead.
///
/// ```
/// use utf8_codec::from_utf8_lossy;
///
/// assert_eq!(from_utf8_lossy(b"caf\xC3\xA9"), "café");
/// assert_eq!(from_utf8_lossy(b"caf\xE9 \xE2\x82"), "caf\u{FFFD} \u{FFFD}");
/// ```
#[must_use]
pub fn from_utf8_lossy(bytes: &[u8]) -> Cow<'_, str> {
    // This policy repairs every error.
    TextDecoder::new().with_error_policy(ErrorPolicy::Replace).decode(bytes).unwrap_or_default()
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
    /// assert!(matches!(decoder.decode(b"\xEF\xBB\xBFcaf\xC3\xA9")?, Cow::Borrowed("café")));
    /// assert_eq!(decoder.decode(b"caf\xE9, 5 \x80")?, "café, 5 €");
    ///
    /// let error = TextDecoder::new().decode(b"caf\xE9").unwrap_err();
    /// assert_eq!(error.offset, 3);
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    pub fn decode<'b>(&self, bytes: &'b [u8]) -> Result<Cow<'b, str>, Utf8Error> {
        let mut decoder = self.restarted_at(0);
        let first = decoder.feed(bytes).next();
        if let Some(TextPiece::Text(text)) = first
            && decoder.offset() == bytes.len() as u64
            && decoder.pending().is_empty()
        {
            return Ok(Cow::Borrowed(text));
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
