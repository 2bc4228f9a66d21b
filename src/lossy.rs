//! A decoder that cannot fail.

use alloc::borrow::Cow;
use alloc::string::String;

use crate::decoder::Utf8Decoder;
use crate::policy::ErrorPolicy;
use crate::text::TextDecoder;

/// Decodes chunks of UTF-8 and replaces ill-formed sequences with U+FFFD. It cannot fail.
///
/// This is [`String::from_utf8_lossy`] for a stream: the text is the same, however the stream is split into chunks. Each
/// maximal subpart (Unicode definition D93b) is replaced by one U+FFFD, as in std and in browsers. A BOM is kept.
///
/// ```
/// use utf8_codec::LossyDecoder;
///
/// let mut decoder = LossyDecoder::new();
/// let mut text = String::new();
/// for chunk in [&b"na\xC3"[..], b"\xAFve \xFF", b"\xE2\x82"] {
///     text += &decoder.push(chunk);
/// }
/// text += decoder.finish();
/// assert_eq!(text, "naïve \u{FFFD}\u{FFFD}");
/// assert_eq!(decoder.replacements(), 2);
/// ```
///
/// [`TextDecoder`] has other policies. [`Utf8Decoder`] returns errors.
///
/// # Cost
///
/// The decoder is 24 bytes in size, and at most 3 bytes of input are pending between two calls. [`push`](Self::push) copies
/// only if a character started in an earlier chunk or a sequence was replaced.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LossyDecoder {
    decoder: Utf8Decoder,
    replacements: u64,
}

impl LossyDecoder {
    /// Creates a decoder at the start of a stream.
    #[inline]
    pub const fn new() -> Self {
        Self { decoder: Utf8Decoder::new(), replacements: 0 }
    }

    /// Decodes the next chunk. The text is borrowed from the chunk unless a character started in an earlier chunk or a
    /// sequence was replaced. It is empty if the chunk has only a part of a character.
    #[doc(alias = "feed")]
    #[doc(alias = "decode")]
    #[must_use = "the text of the chunk is lost otherwise"]
    #[inline]
    pub fn push<'c>(&mut self, chunk: &'c [u8]) -> Cow<'c, str> {
        if let Some(text) = self.decoder.take_likely_text(chunk) {
            return Cow::Borrowed(text);
        }
        self.with_policy(|decoder| match decoder.decode_chunk(chunk) {
            Ok(text) => text,
            // Not reached: the policy replaces every error.
            Err(failed) => Cow::Owned(failed.text),
        })
    }

    /// Decodes the next chunk and appends its text.
    #[inline]
    pub fn push_into(&mut self, chunk: &[u8], text: &mut String) {
        match self.decoder.take_likely_text(chunk) {
            Some(likely) => text.push_str(likely),
            None => {
                // The policy replaces every error, so there is none.
                let result = self.with_policy(|decoder| decoder.feed_into(chunk, text));
                debug_assert!(result.is_ok());
            }
        }
    }

    /// Ends the stream. Returns U+FFFD if it ended inside a character, and an empty text otherwise. The decoder can be used
    /// again; its [`offset`](Self::offset) is not reset.
    #[doc(alias = "flush")]
    #[must_use = "a character that was cut is lost otherwise"]
    #[inline]
    pub fn finish(&mut self) -> &'static str {
        self.with_policy(|decoder| if decoder.finish().is_some() { "\u{FFFD}" } else { "" })
    }

    /// Returns the number of sequences that were replaced.
    #[inline]
    pub const fn replacements(&self) -> u64 {
        self.replacements
    }

    /// Returns the number of bytes decoded so far, including those of an unfinished character.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// Returns the 0 to 3 bytes of an unfinished character at the end of the last chunk.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.decoder.pending()
    }

    fn with_policy<T>(&mut self, decode: impl FnOnce(&mut TextDecoder) -> T) -> T {
        let mut text = TextDecoder::of(self.decoder, ErrorPolicy::Replace);
        let result = decode(&mut text);
        self.replacements += text.counters().total();
        self.decoder = text.into_decoder();
        result
    }
}
