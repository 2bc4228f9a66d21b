//! The text of a chunk, borrowed from it.

use core::iter::FusedIterator;

use crate::decoder::{Piece, Pieces, Utf8Decoder};
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::{BomPolicy, First, Policies, ShortStr};
use crate::subset::Subset;

/// A part of a chunk after the policies were applied. Pieces are in stream order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TextPiece<'c> {
    /// Well-formed text, borrowed from the chunk; never empty.
    Text(&'c str),
    /// A character whose bytes came in different chunks.
    Seam(ShortStr),
    /// The replacement of an ill-formed sequence. It is empty under [`ErrorPolicy::Skip`](crate::ErrorPolicy), and for the
    /// continuation bytes of a surrogate under `ReplaceAsJava`.
    Repaired(ShortStr, Utf8Error),
    /// An error that the policy does not repair. The decoder is positioned after it and can continue.
    IllFormed(Utf8Error),
}

impl TextPiece<'_> {
    /// Returns the text of the piece.
    ///
    /// # Errors
    ///
    /// Returns the error that the policy does not repair.
    #[inline]
    pub fn text(&self) -> Result<&str, Utf8Error> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Seam(text) | Self::Repaired(text, _) => Ok(text.as_str()),
            Self::IllFormed(error) => Err(*error),
        }
    }
}

/// Applies the error policy to an ill-formed sequence and its bytes.
#[inline]
pub(super) fn repair(policies: &mut Policies, error: Utf8Error, bytes: &[u8]) -> TextPiece<'static> {
    match policies.repair(error, bytes) {
        Ok(text) => TextPiece::Repaired(text, error),
        Err(error) => TextPiece::IllFormed(error),
    }
}

/// The pieces of a chunk, returned by [`TextDecoder::feed`](crate::TextDecoder::feed).
#[derive(Debug)]
pub struct TextPieces<'d, 'c> {
    pieces: Pieces<'d, 'c>,
    policies: &'d mut Policies,
    /// Well-formed text at the decoder's offset that contains a character outside the subset. It is returned in parts.
    mixed: &'c str,
    /// The last well-formed character that was rejected: a BOM, or a character outside the subset. `None` if an
    /// ill-formed sequence was rejected after it.
    rejected: Option<ShortStr>,
}

impl<'d, 'c> TextPieces<'d, 'c> {
    #[inline]
    pub(super) const fn new(pieces: Pieces<'d, 'c>, policies: &'d mut Policies) -> Self {
        Self { pieces, policies, mixed: "", rejected: None }
    }

    /// Returns the bytes of the sequence that was rejected or repaired last, or an empty slice before the first one. A
    /// BOM and a character outside the subset are such sequences, too. A missing BOM has no bytes.
    pub fn rejected(&self) -> &[u8] {
        match &self.rejected {
            Some(character) => character.as_bytes(),
            None => self.pieces.rejected(),
        }
    }

    /// Returns the number of bytes of this chunk that were returned as pieces or removed. The chunk starts at offset
    /// `start`. Bytes of an unfinished sequence are not counted.
    #[inline]
    pub(super) fn decoded_since(&self, start: u64) -> usize {
        let decoder = self.pieces.decoder();
        let taken = decoder.offset().wrapping_sub(start) as usize;
        // A missing BOM can be reported while bytes of an earlier chunk are pending.
        taken.saturating_sub(decoder.pending().len())
    }

    #[inline]
    fn next_piece(&mut self) -> Option<TextPiece<'c>> {
        if self.policies.is_at_start() {
            return self.next_at_start();
        }
        let piece = self.pieces.next()?;
        Some(self.with_policies(piece))
    }

    /// Returns the next piece, and the number of bytes at its start that are known to be in the subset.
    fn next_piece_within(&mut self, subset: &Subset) -> Option<(TextPiece<'c>, usize)> {
        if self.policies.is_at_start() {
            // Four bytes always contain a first piece, and one that does not start with EF is not a BOM.
            let is_other = self.pieces.decoder().pending().is_empty()
                && self.pieces.rest().first_chunk::<4>().is_some_and(|start| start[0] != 0xEF);
            if !is_other || self.policies.bom == BomPolicy::Require {
                return self.next_at_start().map(|piece| (piece, 0));
            }
            // The first character is not a BOM, and need not be one.
            self.policies.pass_start();
        }
        let (piece, inside) = self.pieces.next_within(subset.doubtful())?;
        Some((self.with_policies(piece), inside))
    }

    /// Applies the error policy to a piece.
    #[inline(always)]
    fn with_policies(&mut self, piece: Piece<'c>) -> TextPiece<'c> {
        match piece {
            Piece::Text(text) => TextPiece::Text(text),
            Piece::Seam(character) => TextPiece::Seam(character.into()),
            Piece::IllFormed(error) => self.repair(error),
        }
    }

    /// Applies the error policy to the ill-formed sequence that the decoder returned last.
    #[inline(always)]
    fn repair(&mut self, error: Utf8Error) -> TextPiece<'static> {
        self.rejected = None;
        repair(self.policies, error, self.pieces.rejected())
    }

    /// Returns the first piece of a stream, after the BOM policy was applied.
    #[cold]
    fn next_at_start(&mut self) -> Option<TextPiece<'c>> {
        let decoder = *self.pieces.decoder();
        let rest = self.pieces.rest();
        let (piece, first) = match self.pieces.next_by_call()? {
            Piece::Text(text) => (TextPiece::Text(text), text.chars().next()),
            Piece::Seam(character) => (TextPiece::Seam(character.into()), Some(character)),
            Piece::IllFormed(error) => {
                return Some(self.repair(error));
            }
        };
        let start = decoder.valid_up_to();
        match (self.policies.first(first == Some(BOM)), piece) {
            (First::Text, piece) => Some(piece),
            (First::Strip, TextPiece::Text(text)) if text.len() > BOM.len_utf8() => {
                Some(TextPiece::Text(&text[BOM.len_utf8()..]))
            }
            (First::Strip, _) => {
                let piece = self.pieces.next_by_call()?;
                Some(self.with_policies(piece))
            }
            // The iterator may be dropped after the error, so the text after it is decoded again as the next piece.
            (First::MissingBom, _) => {
                self.pieces.restart(decoder, rest);
                let error = Utf8Error::new(start, ErrorKind::MissingBom, 0);
                Some(TextPiece::IllFormed(self.policies.reject(error)))
            }
            (First::UnexpectedBom, piece) => {
                let len = BOM.len_utf8();
                if let TextPiece::Text(_) = piece {
                    self.pieces
                        .restart(Utf8Decoder::with_offset(start.wrapping_add(len as u64)), &rest[len..]);
                }
                self.rejected = Some(BOM.into());
                let error = Utf8Error::new(start, ErrorKind::UnexpectedBom, len as u8);
                Some(TextPiece::IllFormed(self.policies.reject(error)))
            }
        }
    }

    /// Returns the next piece, up to the next character outside the subset. The text before the first character outside
    /// the subset is searched twice, the rest once.
    fn next_within(&mut self, subset: &Subset) -> Option<TextPiece<'c>> {
        if self.mixed.is_empty() {
            let offset = self.pieces.decoder().offset();
            let rest = self.pieces.rest();
            let (piece, inside) = self.next_piece_within(subset)?;
            match piece {
                TextPiece::Text(text) if subset.has_outside_after(inside, text) => {
                    // Moves back to the start of the text, because the iterator may be dropped before all of the text
                    // is returned.
                    let start = self.pieces.decoder().valid_up_to().wrapping_sub(text.len() as u64);
                    let rest = &rest[start.wrapping_sub(offset) as usize..];
                    self.pieces.restart(Utf8Decoder::with_offset(start), rest);
                    self.mixed = text;
                }
                TextPiece::Seam(character) if subset.first_outside(&character).is_some() => {
                    return Some(self.reject_outside(character));
                }
                _ => return Some(piece),
            }
        }
        let text = self.mixed;
        match subset.first_outside(text) {
            Some((0, character)) => {
                self.pass(character.len_utf8());
                Some(self.reject_outside(character.into()))
            }
            first => {
                let inside = first.map_or(text.len(), |(at, _)| at);
                self.pass(inside);
                Some(TextPiece::Text(&text[..inside]))
            }
        }
    }

    /// Moves past the first `bytes` bytes of the mixed text.
    fn pass(&mut self, bytes: usize) {
        let offset = self.pieces.decoder().offset().wrapping_add(bytes as u64);
        self.pieces.restart(Utf8Decoder::with_offset(offset), &self.pieces.rest()[bytes..]);
        self.mixed = &self.mixed[bytes..];
    }

    /// Applies the error policy to the character that ends at the decoder's offset.
    fn reject_outside(&mut self, character: ShortStr) -> TextPiece<'static> {
        let len = character.len();
        let offset = self.pieces.decoder().valid_up_to().wrapping_sub(len as u64);
        self.rejected = Some(character);
        let error = Utf8Error::new(offset, ErrorKind::OutsideSubset, len as u8);
        repair(self.policies, error, character.as_bytes())
    }
}

const BOM: char = '\u{FEFF}';

impl<'c> Iterator for TextPieces<'_, 'c> {
    type Item = TextPiece<'c>;

    #[inline]
    fn next(&mut self) -> Option<TextPiece<'c>> {
        match self.policies.subset {
            None => self.next_piece(),
            Some(subset) => self.next_within(subset),
        }
    }
}

impl FusedIterator for TextPieces<'_, '_> {}
