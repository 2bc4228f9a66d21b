//! Text in another charset becomes UTF-8, through the tables of the WHATWG Encoding Standard.

use core::fmt;

use bytes::{Buf, Bytes};
use encoding_rs::{Decoder, DecoderResult, Encoding};

use super::error::{Undecodable, Utf8BodyError};
use super::rules::OtherCharset;
use crate::policy::ErrorPolicy;

/// Bytes that come out at a time, at most.
const CHUNK: usize = 16 * 1024;

/// Bytes that have room for any one character.
const ROOM: usize = 16;

/// A resumable decoder of one charset, whose output is UTF-8.
pub(crate) struct Transcoder {
    decoder: Decoder,
    charset: &'static Encoding,
    on_error: ErrorPolicy,
    rest: Bytes,
    offset: u64,
    repaired: u64,
    end: End,
    /// Found after the last text, not yet told.
    fault: Option<Undecodable>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum End {
    /// More may come.
    Open,
    /// The decoder has to be told.
    Coming,
    /// The decoder has been told.
    Told,
}

impl Transcoder {
    /// The transcoder of a charset, if one was chosen and the standard knows the label.
    pub(crate) fn choose(other: OtherCharset, label: &[u8], on_error: ErrorPolicy) -> Option<Self> {
        if other != OtherCharset::Transcode {
            return None;
        }
        let charset = Encoding::for_label_no_replacement(label)?;
        let decoder = charset.new_decoder_with_bom_removal();
        let rest = Bytes::new();
        let end = End::Open;
        Some(Self { decoder, charset, on_error, rest, offset: 0, repaired: 0, end, fault: None })
    }

    pub(crate) fn feed(&mut self, chunk: Bytes) {
        if self.end == End::Told {
            // A body that goes on after its end. The decoder may not.
            self.decoder = self.charset.new_decoder_without_bom_handling();
            self.end = End::Open;
        }
        self.rest = chunk;
    }

    pub(crate) fn finish(&mut self) {
        if self.end == End::Open {
            self.end = End::Coming;
        }
    }

    pub(crate) fn next(&mut self) -> Option<Result<Bytes, Utf8BodyError>> {
        if let Some(fault) = self.fault.take() {
            return Some(Err(Utf8BodyError::Undecodable(fault)));
        }
        // Zeroed once: anew for every malformed sequence, that would cost thousands of bytes for each.
        let (mut text, mut filled) = (Vec::new(), 0);
        while self.fault.is_none() && filled < CHUNK && (!self.rest.is_empty() || self.end == End::Coming) {
            if text.len() < filled + ROOM {
                // And for what this chunk is likely to become.
                let likely = self.rest.len().saturating_mul(2).min(CHUNK);
                text.resize(CHUNK.min(filled + likely).max(filled + ROOM), 0);
            }
            let last = self.end == End::Coming;
            let (result, read, written) =
                self.decoder.decode_to_utf8_without_replacement(&self.rest, &mut text[filled..], last);
            filled += written;
            self.rest.advance(read);
            self.offset += read as u64;
            match result {
                DecoderResult::OutputFull => {}
                DecoderResult::InputEmpty if last => self.end = End::Told,
                DecoderResult::InputEmpty => {}
                DecoderResult::Malformed(len, after) => match self.replacement() {
                    Some(text_of_it) => {
                        self.repaired += 1;
                        text.resize(text.len().max(filled + 4), 0);
                        filled += text_of_it.encode_utf8(&mut text[filled..]).len();
                    }
                    None if self.on_error == ErrorPolicy::Skip => self.repaired += 1,
                    None => {
                        let offset = self.offset - u64::from(after) - u64::from(len);
                        let charset = self.charset.name();
                        self.fault = Some(Undecodable { offset, len, charset });
                    }
                },
            }
        }
        text.truncate(filled);
        if text.is_empty() {
            return self.fault.take().map(|fault| Err(Utf8BodyError::Undecodable(fault)));
        }
        Some(Ok(text.into()))
    }

    /// What takes the place of bytes that stand for nothing. They are not UTF-8, so what is made of single bytes
    /// of UTF-8 elsewhere is U+FFFD here.
    const fn replacement(&self) -> Option<char> {
        match self.on_error {
            ErrorPolicy::Strict | ErrorPolicy::Skip => None,
            ErrorPolicy::ReplaceWith(character) => Some(character),
            _ => Some(char::REPLACEMENT_CHARACTER),
        }
    }

    /// Whether nothing more can come out of it.
    pub(crate) fn is_clean(&self) -> bool {
        self.end == End::Told && self.fault.is_none()
    }

    /// The most bytes of an unfinished character or escape sequence.
    pub(crate) fn held(&self) -> u64 {
        if self.is_clean() { 0 } else { 4 }
    }

    pub(crate) const fn offset(&self) -> u64 {
        self.offset
    }

    pub(crate) const fn repaired(&self) -> u64 {
        self.repaired
    }

    pub(crate) const fn queued(&self) -> (u64, bool) {
        (0, self.fault.is_some())
    }
}

impl fmt::Debug for Transcoder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Transcoder").field("charset", &self.charset.name()).finish_non_exhaustive()
    }
}
