//! XML without a charset: an encoding that the document declares applies (RFC 7303 §3).

use alloc::vec::Vec;

use utf8_codec_media::content_type::labels;
use utf8_codec_media::declared::{DeclarationSearch, DeclarationSource, DocumentKind, find};

use super::transfer::{TransferDecoder, TransferEncoding, TransferPiece};

/// The maximum number of bytes of a body that are stored until its encoding is known. Only white space and soft breaks
/// make the start of an encoded document longer.
const MAX_WIRE: usize = 16 * 1024;

/// The start of a body, until the encoding of the document is known.
#[derive(Clone, Debug)]
pub(super) struct XmlStart {
    transfer: TransferDecoder,
    document: Vec<u8>,
    /// The bytes of the body.
    pub(super) wire: Vec<u8>,
    /// Whether no transfer encoding was declared.
    pub(super) undeclared: bool,
}

impl XmlStart {
    pub(super) const fn new(transfer: TransferDecoder, undeclared: bool) -> Self {
        Self { transfer, document: Vec::new(), wire: Vec::new(), undeclared }
    }

    pub(super) const fn encoding(&self) -> TransferEncoding {
        self.transfer.encoding()
    }

    /// Stores bytes until it is known whether the document is UTF-8. Returns the number of bytes read.
    pub(super) fn feed(&mut self, bytes: &[u8]) -> (usize, Option<bool>) {
        let taken = bytes.len().min(MAX_WIRE - self.wire.len());
        let bytes = &bytes[..taken];
        self.wire.extend_from_slice(bytes);
        let Self { transfer, document, .. } = self;
        transfer.feed_with(bytes, |piece| store(document, piece));
        let is_utf8 = match is_utf8(document, false) {
            None if self.wire.len() == MAX_WIRE => Some(self.finish()),
            known => known,
        };
        (taken, is_utf8)
    }

    /// Ends the start. Returns whether the document is UTF-8.
    pub(super) fn finish(&mut self) -> bool {
        let Self { transfer, document, .. } = self;
        transfer.clone().finish_with(|piece| store(document, piece));
        is_utf8(document, true).unwrap_or(true)
    }
}

fn store(document: &mut Vec<u8>, piece: TransferPiece<'_>) {
    if let TransferPiece::Bytes(decoded) = piece {
        let room = DocumentKind::Xml.max_prefix() - document.len();
        document.extend(decoded.bytes().iter().take(room));
    }
}

/// Whether a document that starts with these bytes is UTF-8: it declares no other encoding. Returns `None` if more bytes
/// are needed.
fn is_utf8(document: &[u8], is_end: bool) -> Option<bool> {
    match find(DocumentKind::Xml, document, is_end) {
        DeclarationSearch::Found(found) => {
            // A declaration of UTF-16 that was read as ASCII cannot be true. Programs write such documents in UTF-8.
            let is_false = found.source == DeclarationSource::Declaration && labels::is_wide(found.label);
            Some(is_false || labels::is_checked(found.label))
        }
        DeclarationSearch::Missing => Some(true),
        DeclarationSearch::NeedMore => None,
    }
}
