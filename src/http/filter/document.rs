//! The start of a document that may declare its encoding: XML, HTML and CSS without a `charset` parameter.

use bytes::Bytes;

use crate::content_type::{is_ascii_label, is_utf8_label};
use crate::declared::{Declaration, DocumentKind, Search, find};
use crate::http::charset::SourceCharset;
use crate::http::error::Utf8BodyError;
use crate::http::options::OtherCharset;
use crate::http::plan::in_ascii;
use crate::text::TextDecoder;

/// Holds the start of a document until its encoding is known: at most [`DocumentKind::max_prefix`] bytes.
#[derive(Debug)]
pub(super) struct DocumentStart {
    kind: DocumentKind,
    other: OtherCharset,
    decoder: TextDecoder,
    held: Vec<u8>,
}

/// How a document is read.
#[derive(Debug)]
pub(super) enum Reading {
    Text(TextDecoder),
    /// Without a check.
    Pass,
    Transcode(SourceCharset),
    Reject(Utf8BodyError),
}

impl DocumentStart {
    pub(super) const fn new(kind: DocumentKind, other: OtherCharset, decoder: TextDecoder) -> Self {
        Self { kind, other, decoder, held: Vec::new() }
    }

    /// Returns how the document is read, and the bytes before the chunk, if this chunk decides it. Otherwise the chunk is
    /// held.
    pub(super) fn feed(&mut self, chunk: &[u8]) -> Option<(Reading, Bytes)> {
        let room = self.kind.max_prefix() - self.held.len();
        let start = &chunk[..chunk.len().min(room)];
        let reading = if self.held.is_empty() {
            self.reading(start, false)
        } else {
            let before = self.held.len();
            self.held.extend_from_slice(start);
            let reading = self.reading(&self.held, false);
            if reading.is_some() {
                self.held.truncate(before);
            }
            reading
        };
        match reading {
            Some(reading) => Some((reading, self.take_held())),
            None => {
                if self.held.is_empty() {
                    self.held = start.to_vec();
                }
                None
            }
        }
    }

    /// Returns how the document is read if it ends here, and its bytes.
    pub(super) fn finish(&mut self) -> (Reading, Bytes) {
        let reading = self.reading(&self.held, true).unwrap_or(Reading::Text(self.decoder));
        (reading, self.take_held())
    }

    fn take_held(&mut self) -> Bytes {
        core::mem::take(&mut self.held).into()
    }

    fn reading(&self, prefix: &[u8], is_end: bool) -> Option<Reading> {
        match find(self.kind, prefix, is_end) {
            Search::NeedMore => None,
            Search::Missing => Some(Reading::Text(self.decoder)),
            Search::Found(declaration) => Some(self.reading_of(&declaration)),
        }
    }

    fn reading_of(&self, declaration: &Declaration<'_>) -> Reading {
        let label = declaration.label;
        if is_utf8_label(label)
            || declaration.source == crate::declared::Source::Declaration && is_wide(label)
        {
            return Reading::Text(self.decoder);
        }
        let rejected = || {
            let offset = declaration.range.start as u64;
            Reading::Reject(Utf8BodyError::UnsupportedCharset { offset })
        };
        match self.other {
            OtherCharset::Pass => Reading::Pass,
            OtherCharset::Reject if is_ascii_label(label) => {
                in_ascii(self.decoder).map_or_else(rejected, Reading::Text)
            }
            OtherCharset::Reject => rejected(),
            #[cfg(feature = "encoding_rs")]
            OtherCharset::Transcode => {
                SourceCharset::for_label(label).map_or_else(rejected, Reading::Transcode)
            }
        }
    }

    /// Returns the decoder for a document in UTF-8.
    pub(super) const fn decoder(&self) -> &TextDecoder {
        &self.decoder
    }

    /// Whether the document may be transcoded.
    pub(super) const fn may_transcode(&self) -> bool {
        self.other.transcodes()
    }

    /// Returns the number of bytes that are held.
    pub(super) const fn held(&self) -> u64 {
        self.held.len() as u64
    }

    /// Whether the end of the document would add nothing.
    pub(super) fn is_clean(&self) -> bool {
        let mut probe = self.decoder;
        self.held.is_empty() && probe.finish().is_none()
    }
}

/// Whether a label means an encoding of 2 or 4 bytes for each character. A declaration that was read as ASCII cannot be
/// true then, and the document is read as UTF-8, as HTML §13.2.3.2 and CSS Syntax §3.2 require. .NET writes such
/// declarations into strings, which are then sent in UTF-8.
fn is_wide(label: &[u8]) -> bool {
    ["utf-16", "utf-32", "iso-10646-ucs-", "ucs-2", "ucs-4"].iter().any(|start| {
        label.get(..start.len()).is_some_and(|label| label.eq_ignore_ascii_case(start.as_bytes()))
    })
}
