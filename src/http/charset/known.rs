//! Decoder for text in other charsets, with the tables of the WHATWG Encoding Standard.

use core::fmt;
use std::borrow::Cow;

use bytes::{Buf, Bytes};
use encoding_rs::{Decoder, DecoderResult, Encoding};

use super::super::error::{Undecodable, Utf8BodyError};
use super::super::filter::kind::{KindFilter, repaired};
use crate::policy::{BomPolicy, ErrorPolicy};
use crate::text::TextDecoder;

/// The maximum number of bytes of text in one output buffer.
const CHUNK: usize = 16 * 1024;

/// The output space that is sufficient for one step of the decoder, in bytes.
const ROOM: usize = 16;

/// A charset of the WHATWG Encoding Standard.
#[derive(Clone, Copy, Debug)]
pub(crate) struct SourceCharset {
    encoding: &'static Encoding,
    /// Whether a BOM of UTF-8 or UTF-16 determines another charset.
    is_after_bom: bool,
}

impl SourceCharset {
    /// Returns the charset of a label, if the standard has one that can be decoded.
    pub(crate) fn for_label(label: &[u8]) -> Option<Self> {
        let encoding = Encoding::for_label_no_replacement(label)?;
        Some(Self { encoding, is_after_bom: false })
    }

    /// Returns the charset of a label of a document in which a BOM has precedence over it (RFC 7303 §3, HTML §13.2.3.1,
    /// CSS Syntax Level 3 §3.2).
    pub(crate) fn for_document(label: &[u8]) -> Option<Self> {
        Some(Self { is_after_bom: true, ..Self::for_label(label)? })
    }
}

/// A resumable decoder of one charset, whose output is UTF-8.
pub(crate) struct CharsetDecoder {
    decoder: Decoder,
    /// The policies, and the check of the decoded text, which may have characters outside an adopted subset.
    text: TextDecoder,
    rest: Bytes,
    offset: u64,
    repaired: u64,
    end: InputEnd,
    /// The error after the text decoded so far.
    error: Option<Utf8BodyError>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum InputEnd {
    /// More input may follow.
    Open,
    /// The input is complete. The decoder is not finished yet.
    Ended,
    /// The decoder has finished.
    Finished,
}

impl CharsetDecoder {
    pub(crate) fn boxed(charset: &SourceCharset, text: TextDecoder) -> Box<Self> {
        let SourceCharset { encoding, is_after_bom } = *charset;
        let decoder =
            if is_after_bom { encoding.new_decoder() } else { encoding.new_decoder_with_bom_removal() };
        // A BOM was removed.
        let text = text.restarted_at(0).with_bom_policy(BomPolicy::Keep);
        let (rest, end) = (Bytes::new(), InputEnd::Open);
        Box::new(Self { decoder, text, rest, offset: 0, repaired: 0, end, error: None })
    }

    /// Returns the character that replaces undecodable bytes, or `None` if the policy rejects or skips them. Policies
    /// that convert each byte of ill-formed UTF-8 cannot be applied to another charset. For these policies the
    /// character is U+FFFD.
    const fn replacement(&self) -> Option<char> {
        match self.text.error_policy() {
            ErrorPolicy::Strict | ErrorPolicy::Skip => None,
            ErrorPolicy::ReplaceWith(character) => Some(character),
            _ => Some(char::REPLACEMENT_CHARACTER),
        }
    }
}

impl KindFilter for CharsetDecoder {
    fn feed(&mut self, chunk: Bytes) {
        if self.end == InputEnd::Finished {
            // The stream continues after its end. A decoder of `encoding_rs` cannot be used after its end, so a new one
            // is created.
            self.decoder = self.decoder.encoding().new_decoder_without_bom_handling();
            self.end = InputEnd::Open;
        }
        self.rest = chunk;
    }

    fn finish(&mut self) {
        if self.end == InputEnd::Open {
            self.end = InputEnd::Ended;
        }
    }

    fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        if let Some(error) = self.error.take() {
            return Some(Err(error));
        }
        // The buffer grows and is reused after ill-formed sequences, so that its bytes are zeroed only once.
        let (mut text, mut filled) = (Vec::new(), 0);
        while self.error.is_none() && filled < CHUNK && (!self.rest.is_empty() || self.end == InputEnd::Ended)
        {
            if text.len() < filled + ROOM {
                // An estimate: 2 bytes of text for each byte of the chunk.
                let likely = self.rest.len().saturating_mul(2).min(CHUNK);
                text.resize(CHUNK.min(filled + likely).max(filled + ROOM), 0);
            }
            let last = self.end == InputEnd::Ended;
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(&self.rest, &mut text[filled..], last);
            self.rest.advance(read);
            self.offset += read as u64;
            // Replacements are not compared with an adopted subset, so only what was decoded is checked.
            let changed = match self.text.decode_chunk(&text[filled..filled + written]) {
                Ok(Cow::Borrowed(_)) => None,
                Ok(Cow::Owned(changed)) => Some(changed),
                Err(failed) => {
                    self.error = Some(failed.error.into());
                    Some(failed.text)
                }
            };
            if let Some(changed) = changed {
                let end = filled + changed.len();
                text.resize(text.len().max(end), 0);
                text[filled..end].copy_from_slice(changed.as_bytes());
                filled = end;
            } else {
                filled += written;
            }
            if self.error.is_some() {
                break;
            }
            match result {
                DecoderResult::OutputFull => {}
                DecoderResult::InputEmpty if last => self.end = InputEnd::Finished,
                DecoderResult::InputEmpty => {}
                DecoderResult::Malformed(len, after) => match self.replacement() {
                    Some(replacement) => {
                        self.repaired += 1;
                        text.resize(text.len().max(filled + 4), 0);
                        filled += replacement.encode_utf8(&mut text[filled..]).len();
                    }
                    None if self.text.error_policy() == ErrorPolicy::Skip => self.repaired += 1,
                    None => {
                        let offset = self.offset - u64::from(after) - u64::from(len);
                        let charset = self.decoder.encoding().name();
                        self.error = Some(Utf8BodyError::Undecodable(Undecodable { offset, len, charset }));
                    }
                },
            }
        }
        text.truncate(filled);
        if text.is_empty() {
            return self.error.take().map(Err);
        }
        Some(Ok(text.into()))
    }

    fn is_clean(&self) -> bool {
        self.end == InputEnd::Finished && self.error.is_none()
    }

    /// Returns the maximum number of bytes of an unfinished character or escape sequence, 0 after the end.
    fn held(&self) -> u64 {
        if self.is_clean() { 0 } else { 4 }
    }

    fn offset(&self) -> u64 {
        self.offset
    }

    fn repaired(&self) -> u64 {
        self.repaired + repaired(&self.text)
    }

    fn queued(&self) -> (u64, bool) {
        (0, self.error.is_some())
    }

    fn min_output(&self, _: u64) -> u64 {
        0
    }

    fn max_output(&self, bytes: u64) -> Option<u64> {
        // One byte becomes at most one character, which may be repaired.
        self.text.error_policy().max_output_len(bytes.checked_mul(4)?)
    }
}

impl fmt::Debug for CharsetDecoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("CharsetDecoder")
            .field("charset", &self.decoder.encoding().name())
            .finish_non_exhaustive()
    }
}
