//! The start of a document that may declare its encoding: XML, HTML and CSS without a `charset` parameter.

use bytes::Bytes;
use utf8_codec::{BomPolicy, TextDecoder};
use utf8_codec_media::content_type::{Charset, is_ascii_label, labels};
use utf8_codec_media::declared::{Declaration, DeclarationSearch, DeclarationSource, DocumentKind, find};

use super::kind::{KindFilter, min_text_output};
use crate::charset::{NewTranscoding, OtherCharset, SourceCharset};
use crate::plan::in_ascii;
use crate::reason::RejectReason;

/// Stores the start of a document until its encoding is known: at most [`DocumentKind::max_prefix`] bytes.
#[derive(Debug)]
pub(super) struct DocumentStart {
    kind: DocumentKind,
    other: OtherCharset,
    decoder: TextDecoder,
    start: Vec<u8>,
    /// The number of bytes of `start` that were returned.
    returned: usize,
}

/// How a document is read.
#[derive(Debug)]
pub(super) enum Reading {
    Text(TextDecoder),
    /// Without a check.
    Pass,
    Transcode(SourceCharset, NewTranscoding),
    Reject(RejectReason),
}

impl DocumentStart {
    pub(super) const fn new(kind: DocumentKind, other: OtherCharset, decoder: TextDecoder) -> Self {
        Self { kind, other, decoder, start: Vec::new(), returned: 0 }
    }

    /// Returns how the document is read if this chunk decides it. Otherwise the chunk is stored.
    pub(super) fn reading_after(&mut self, chunk: &[u8]) -> Option<Reading> {
        let before = self.start.len();
        let room = self.kind.max_prefix() - before;
        let chunk = &chunk[..chunk.len().min(room)];
        // The first chunk of most documents decides, so it is not copied before.
        if before == 0
            && let decided @ Some(_) = self.reading(chunk, false)
        {
            return decided;
        }
        self.start.extend_from_slice(chunk);
        let decided = if before == 0 { None } else { self.reading(&self.start, false) };
        if decided.is_some() {
            self.start.truncate(before);
        }
        decided
    }

    /// Returns how the document is read if it ends here.
    pub(super) fn reading_at_end(&self) -> Reading {
        self.reading(&self.start, true).unwrap_or(Reading::Text(self.decoder.clone()))
    }

    /// Returns the number of bytes that were returned, and the bytes after them.
    pub(super) fn split(&mut self) -> (u64, Bytes) {
        let held = self.start.split_off(self.returned);
        (self.returned as u64, held.into())
    }

    fn reading(&self, prefix: &[u8], is_end: bool) -> Option<Reading> {
        match find(self.kind, prefix, is_end) {
            DeclarationSearch::NeedMore => None,
            DeclarationSearch::Missing => Some(Reading::Text(self.decoder.clone())),
            DeclarationSearch::Found(declaration) => Some(self.reading_of(&declaration)),
        }
    }

    fn reading_of(&self, declaration: &Declaration<'_>) -> Reading {
        let label = declaration.label;
        if Charset::for_label(label) == Charset::Utf8 || self.is_wide(declaration) {
            return Reading::Text(self.decoder.clone());
        }
        match self.other {
            OtherCharset::Pass => Reading::Pass,
            OtherCharset::Reject if is_ascii_label(label) => {
                in_ascii(self.decoder.clone()).map_or_else(|| rejected(declaration), Reading::Text)
            }
            OtherCharset::Reject => rejected(declaration),
            OtherCharset::Transcode(start) => SourceCharset::for_label(label)
                .map_or_else(|| rejected(declaration), |charset| Reading::Transcode(charset, start)),
        }
    }

    /// Returns the decoder for a document in UTF-8.
    pub(super) const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Whether an XML declaration that was read as ASCII has the label of an encoding of 2 or 4 bytes for each
    /// character. It cannot be true (XML 1.0 §4.3.3), and the document is read as UTF-8: .NET writes such declarations
    /// into strings, which are then sent in UTF-8. For HTML and CSS, [`find`] returns UTF-8.
    fn is_wide(&self, declaration: &Declaration<'_>) -> bool {
        self.kind == DocumentKind::Xml
            && declaration.source == DeclarationSource::Declaration
            && labels::is_wide(declaration.label)
    }
}

fn rejected(declaration: &Declaration<'_>) -> Reading {
    Reading::Reject(RejectReason::DeclaredCharset { offset: declaration.range.start as u64 })
}

impl KindFilter for DocumentStart {
    // `BodyFilter::next` calls `reading_after` and `reading_at_end` instead.
    fn feed(&mut self, _: Bytes) {}

    /// Returns bytes that are the same whatever the document declares: ASCII, if the document is neither rejected nor
    /// transcoded. A page that is sent in parts is not delayed then.
    fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        let is_sure = self.other.is_pass()
            && !self.decoder.has_subset()
            && self.decoder.bom_policy() == BomPolicy::Keep;
        let held = &self.start[self.returned..];
        let len = held.iter().position(|byte| !byte.is_ascii()).unwrap_or(held.len());
        if !is_sure || len == 0 {
            return None;
        }
        let ascii = Bytes::copy_from_slice(&held[..len]);
        self.returned += len;
        Some(Ok(ascii))
    }

    fn is_clean(&self) -> bool {
        let mut probe = self.decoder.clone();
        self.held() == 0 && probe.finish().is_none()
    }

    fn offset(&self) -> u64 {
        self.start.len() as u64
    }

    fn held(&self) -> u64 {
        (self.start.len() - self.returned) as u64
    }

    fn min_output(&self, bytes: u64) -> u64 {
        if self.other.transcodes() { 0 } else { min_text_output(&self.decoder, bytes) }
    }

    fn max_output(&self, bytes: u64) -> Option<u64> {
        let most = if self.other.transcodes() { bytes.checked_mul(4)? } else { bytes };
        self.decoder.error_policy().max_output_len(most)
    }
}
