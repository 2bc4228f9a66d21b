//! The decoder with what to do about ill-formed input and about the BOM.

#[cfg(feature = "alloc")]
mod collect;

#[cfg(feature = "proxy")]
pub(crate) use collect::{Sink, take};
use core::iter::FusedIterator;

use crate::decoder::{Piece, Pieces, Utf8Decoder};
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::{BomPolicy, ErrorPolicy, ShortStr};
use crate::subset::Subset;

/// A [`Utf8Decoder`] with an [`ErrorPolicy`] and a [`BomPolicy`]: what comes out is certainly text.
///
/// This is where policies are set for every adapter of the crate. Like the decoder it takes chunks of any size,
/// allocates nothing, never panics, and gives the same for every way of cutting.
///
/// ```
/// use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
///
/// let mut decoder = TextDecoder::new().on_error(ErrorPolicy::Replace).bom(BomPolicy::Strip);
/// let mut text = String::new();
/// for chunk in [&b"\xEF\xBB"[..], b"\xBFna\xC3", b"\xAFve \xFF"] {
///     for piece in decoder.feed(chunk) {
///         text.push_str(piece.text()?);
///     }
/// }
/// if let Some(piece) = decoder.finish() {
///     text.push_str(piece.text()?);
/// }
/// assert_eq!(text, "naïve \u{FFFD}");
/// assert_eq!(decoder.counters().total(), 1);
/// # Ok::<(), utf8_codec::Utf8Error>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct TextDecoder {
    decoder: Utf8Decoder,
    on_error: ErrorPolicy,
    bom: BomPolicy,
    subset: Option<Subset>,
    counters: Counters,
}

/// What a chunk holds once the policies were applied, in the order of the stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextPiece<'c> {
    /// Well-formed text, borrowed from the chunk; never empty.
    Text(&'c str),
    /// The character whose bytes straddled chunks.
    Seam(ShortStr),
    /// What took the place of an ill-formed sequence; empty under [`ErrorPolicy::Skip`].
    Repaired(ShortStr, Utf8Error),
    /// An error that the policy does not repair. The decoder has gone past it, and goes on if it is asked.
    IllFormed(Utf8Error),
}

impl TextPiece<'_> {
    /// The text of the piece.
    ///
    /// # Errors
    ///
    /// The error that the policy does not repair.
    #[inline]
    pub fn text(&self) -> Result<&str, Utf8Error> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Seam(text) | Self::Repaired(text, _) => Ok(text.as_str()),
            Self::IllFormed(error) => Err(*error),
        }
    }
}

/// How many errors a decoder met, by kind, whatever became of them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counters {
    by_kind: [u64; ErrorKind::ALL.len()],
}

impl Counters {
    pub(crate) const NONE: Self = Self { by_kind: [0; ErrorKind::ALL.len()] };

    /// Errors of one kind.
    pub const fn of(&self, kind: ErrorKind) -> u64 {
        self.by_kind[kind as usize]
    }

    /// Errors of all kinds.
    pub fn total(&self) -> u64 {
        self.by_kind.iter().sum()
    }

    /// Adds those of another decoder.
    #[cfg(feature = "codec")]
    pub(crate) fn add(&mut self, others: Self) {
        self.by_kind.iter_mut().zip(others.by_kind).for_each(|(ours, others)| *ours += others);
    }

    pub(crate) fn count(&mut self, kind: ErrorKind) {
        self.by_kind[kind as usize] += 1;
    }
}

impl TextDecoder {
    /// A strict decoder that keeps the BOM.
    pub const fn new() -> Self {
        Self {
            decoder: Utf8Decoder::new(),
            on_error: ErrorPolicy::Strict,
            bom: BomPolicy::Keep,
            subset: None,
            counters: Counters::NONE,
        }
    }

    /// The same, `offset` bytes into a stream, as [`Utf8Decoder::at`]: after its start no BOM is looked for.
    #[must_use]
    pub const fn at(self, offset: u64) -> Self {
        Self { decoder: Utf8Decoder::at(offset), ..self }
    }

    /// Sets what becomes of ill-formed sequences.
    #[must_use]
    pub const fn on_error(self, on_error: ErrorPolicy) -> Self {
        Self { on_error, ..self }
    }

    /// Sets what becomes of the BOM.
    #[must_use]
    pub const fn bom(self, bom: BomPolicy) -> Self {
        Self { bom, ..self }
    }

    /// Adopts a subset: a character outside it goes through the [`ErrorPolicy`] as an ill-formed sequence does
    /// (ISO/IEC 10646-1 Annex R.7), with the kind [`ErrorKind::OutsideSubset`]. A BOM that the [`BomPolicy`]
    /// does not keep is not asked for.
    #[must_use]
    pub const fn subset(self, subset: Subset) -> Self {
        Self { subset: Some(subset), ..self }
    }

    /// Takes the next chunk and lends its text. As with [`Utf8Decoder::feed`], nothing is taken before the iterator
    /// is asked, and [`offset`](Self::offset) says how far it got.
    #[inline]
    #[must_use = "the chunk is only taken as the pieces are"]
    pub fn feed<'d, 'c>(&'d mut self, chunk: &'c [u8]) -> TextPieces<'d, 'c> {
        let Self { decoder, on_error, bom, subset, counters } = self;
        let rules = Rules { on_error: *on_error, bom: *bom, counters };
        TextPieces { pieces: decoder.feed(chunk), rules, subset: *subset, unjudged: "", outside: None }
    }

    /// The first piece of a chunk, and how many bytes it took: for adapters, which cannot keep [`TextPieces`] from
    /// one call to the next.
    #[cfg(any(
        feature = "codec",
        feature = "futures-io",
        feature = "http",
        feature = "io",
        feature = "stream"
    ))]
    pub(crate) fn take_piece<'c>(&mut self, chunk: &'c [u8]) -> (Option<TextPiece<'c>>, usize) {
        /// A subset looks for its characters in text that was validated first. That is done anew for every piece, so
        /// it must not reach far.
        const VALIDATED_FOR_SUBSET: usize = 4 * 1024;
        let reach = if self.subset.is_some() { VALIDATED_FOR_SUBSET } else { usize::MAX };
        let before = self.offset();
        let piece = self.feed(&chunk[..chunk.len().min(reach)]).next();
        (piece, self.offset().wrapping_sub(before) as usize)
    }

    /// Ends the stream: what becomes of a sequence that it cut short, if it did. As with [`Utf8Decoder::finish`],
    /// exactly once, and the decoder can be fed again; the offset goes on counting.
    #[must_use = "the end of the stream may be ill-formed"]
    pub fn finish(&mut self) -> Option<TextPiece<'static>> {
        let held = self.decoder;
        let at_start = held.valid_up_to() == 0;
        match self.decoder.finish() {
            Err(error) => Some(self.rules().judge(error, held.pending())),
            Ok(())
                if at_start
                    && self.bom == BomPolicy::Require
                    && self.counters.of(ErrorKind::MissingBom) == 0 =>
            {
                Some(self.rules().refuse(Utf8Error::new(0, ErrorKind::MissingBom, 0)))
            }
            Ok(()) => None,
        }
    }

    /// Bytes taken so far, those of an unfinished sequence included.
    #[inline]
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }

    /// The bytes of an unfinished sequence, `0..=3` of them.
    #[inline]
    pub fn pending(&self) -> &[u8] {
        self.decoder.pending()
    }

    /// What becomes of ill-formed sequences.
    pub const fn error_policy(&self) -> ErrorPolicy {
        self.on_error
    }

    /// What becomes of the BOM.
    pub const fn bom_policy(&self) -> BomPolicy {
        self.bom
    }

    /// Errors met so far.
    pub const fn counters(&self) -> Counters {
        self.counters
    }

    /// Where the text that is known to be good ends.
    #[cfg(any(feature = "codec", feature = "proxy"))]
    pub(crate) const fn valid_up_to(&self) -> u64 {
        self.decoder.valid_up_to()
    }

    /// Whether plain validation says it all: no BOM to judge, no subset.
    #[cfg(any(feature = "codec", feature = "proxy"))]
    pub(crate) fn is_past_start(&self) -> bool {
        self.subset.is_none() && (matches!(self.bom, BomPolicy::Keep) || self.valid_up_to() > 0)
    }

    /// Whether an ill-formed sequence is an error.
    #[cfg(feature = "codec")]
    pub(crate) fn is_strict(&self) -> bool {
        matches!(self.on_error, ErrorPolicy::Strict)
    }

    /// [`Utf8Decoder::validate`]: an error is neither judged nor counted. Only past the start.
    #[cfg(any(feature = "codec", feature = "proxy"))]
    pub(crate) fn validate(&mut self, chunk: &[u8]) -> Result<(), Utf8Error> {
        self.decoder.validate(chunk)
    }

    /// What becomes of an error that [`validate`](Self::validate) returned, and of its bytes.
    #[cfg(feature = "proxy")]
    pub(crate) fn apply_policy(&mut self, error: Utf8Error, bytes: &[u8]) -> TextPiece<'static> {
        self.rules().judge(error, bytes)
    }

    /// Goes to a place between characters, unseen.
    #[cfg(any(feature = "codec", feature = "proxy"))]
    pub(crate) fn seek(&mut self, offset: u64) {
        self.decoder.seek(offset);
    }

    fn rules(&mut self) -> Rules<'_> {
        Rules { on_error: self.on_error, bom: self.bom, counters: &mut self.counters }
    }
}

const BOM: &str = "\u{FEFF}";

/// The policies at work.
#[derive(Debug)]
struct Rules<'d> {
    on_error: ErrorPolicy,
    bom: BomPolicy,
    counters: &'d mut Counters,
}

impl Rules<'_> {
    /// Applies the bom policy to the first text of a stream: the error that it gives, and the bytes that are not text.
    fn start(&mut self, text: &str) -> (Option<TextPiece<'static>>, usize) {
        let bom = if text.starts_with(BOM) { BOM.len() } else { 0 };
        match (self.bom, bom) {
            (BomPolicy::Strip | BomPolicy::Require, 1..) => (None, bom),
            (BomPolicy::Require, 0) if self.counters.of(ErrorKind::MissingBom) == 0 => {
                (Some(self.refuse(Utf8Error::new(0, ErrorKind::MissingBom, 0))), 0)
            }
            (BomPolicy::Reject, 1..) => {
                (Some(self.refuse(Utf8Error::new(0, ErrorKind::UnexpectedBom, 3))), bom)
            }
            _ => (None, 0),
        }
    }

    /// Applies the error policy to a sequence and its bytes.
    #[inline]
    fn judge(&mut self, error: Utf8Error, bytes: &[u8]) -> TextPiece<'static> {
        if error.offset == 0 && self.bom == BomPolicy::Require && self.counters.of(ErrorKind::MissingBom) == 0
        {
            return self.refuse(Utf8Error { kind: ErrorKind::MissingBom, ..error });
        }
        match self.on_error.repair(bytes) {
            Some(text) => {
                self.count(error);
                TextPiece::Repaired(text, error)
            }
            None => self.refuse(error),
        }
    }

    #[inline]
    fn refuse(&mut self, error: Utf8Error) -> TextPiece<'static> {
        self.count(error);
        TextPiece::IllFormed(error)
    }

    fn count(&mut self, error: Utf8Error) {
        debug!(offset = error.offset, kind = error.kind.as_str(), len = error.len, "ill-formed");
        self.counters.count(error.kind);
    }
}

/// The pieces of a chunk, by [`TextDecoder::feed`].
#[derive(Debug)]
pub struct TextPieces<'d, 'c> {
    pieces: Pieces<'d, 'c>,
    rules: Rules<'d>,
    subset: Option<Subset>,
    /// Well-formed text that starts where the decoder stands, in which the subset has found something before.
    unjudged: &'c str,
    /// The character outside the subset that was told last.
    outside: Option<ShortStr>,
}

impl TextPieces<'_, '_> {
    /// The bytes of the ill-formed sequence that was told last; empty before the first one.
    pub fn rejected(&self) -> &[u8] {
        match &self.outside {
            Some(character) => character.as_bytes(),
            None => self.pieces.rejected(),
        }
    }
}

impl<'c> Iterator for TextPieces<'_, 'c> {
    type Item = TextPiece<'c>;

    #[inline]
    fn next(&mut self) -> Option<TextPiece<'c>> {
        match self.subset {
            None => self.next_piece(),
            Some(subset) => self.next_within(subset),
        }
    }
}

impl<'c> TextPieces<'_, 'c> {
    #[inline]
    fn next_piece(&mut self) -> Option<TextPiece<'c>> {
        if self.pieces.decoder().valid_up_to() == 0 && self.rules.bom != BomPolicy::Keep {
            return self.next_at_start();
        }
        Some(match self.pieces.next()? {
            Piece::Text(text) => TextPiece::Text(text),
            Piece::Seam(character) => TextPiece::Seam(character.into()),
            Piece::IllFormed(error) => self.rules.judge(error, self.pieces.rejected()),
        })
    }

    /// The first piece of a stream, which the bom policy sees. Outlined: it happens once in a stream.
    #[cold]
    fn next_at_start(&mut self) -> Option<TextPiece<'c>> {
        let before = (*self.pieces.decoder(), self.pieces.rest());
        match self.pieces.next()? {
            Piece::Text(text) => {
                let (refused, bom) = self.rules.start(text);
                if refused.is_some() {
                    // The text after the error is not lost if the iterator is dropped now: it was not taken.
                    self.pieces.restart(Utf8Decoder::at(bom as u64), &before.1[bom..]);
                    return refused;
                }
                let text = &text[bom..];
                if text.is_empty() { self.next_piece() } else { Some(TextPiece::Text(text)) }
            }
            Piece::Seam(character) => {
                let seam = ShortStr::from(character);
                match self.rules.start(&seam) {
                    (Some(refused), 0) => {
                        self.pieces.restart(before.0, before.1);
                        Some(refused)
                    }
                    (Some(refused), _) => Some(refused),
                    (None, 0) => Some(TextPiece::Seam(seam)),
                    (None, _) => self.next_piece(),
                }
            }
            Piece::IllFormed(error) => Some(self.rules.judge(error, self.pieces.rejected())),
        }
    }

    /// The next piece, up to the next character outside the subset. Each character is looked at once, or twice in
    /// the first text of a chunk that holds such a character.
    fn next_within(&mut self, subset: Subset) -> Option<TextPiece<'c>> {
        if self.unjudged.is_empty() {
            let (offset, rest) = (self.pieces.decoder().offset(), self.pieces.rest());
            let piece = self.next_piece()?;
            match piece {
                TextPiece::Text(text) if subset.first_outside(text).is_some() => {
                    // Back to the start of the text: the decoder never stands after what was not given out.
                    let start = self.pieces.decoder().valid_up_to().wrapping_sub(text.len() as u64);
                    let rest = &rest[start.wrapping_sub(offset) as usize..];
                    self.pieces.restart(Utf8Decoder::at(start), rest);
                    self.unjudged = text;
                }
                TextPiece::Seam(character) if subset.first_outside(&character).is_some() => {
                    return Some(self.refuse_outside(character));
                }
                TextPiece::Text(_) | TextPiece::Seam(_) => return Some(piece),
                TextPiece::Repaired(..) | TextPiece::IllFormed(_) => {
                    self.outside = None;
                    return Some(piece);
                }
            }
        }
        let text = self.unjudged;
        match subset.first_outside(text) {
            Some((0, character)) => {
                self.pass(character.len_utf8());
                Some(self.refuse_outside(character.into()))
            }
            first => {
                let inside = first.map_or(text.len(), |(at, _)| at);
                self.pass(inside);
                Some(TextPiece::Text(&text[..inside]))
            }
        }
    }

    /// Goes past bytes of the text that is not judged.
    fn pass(&mut self, bytes: usize) {
        let offset = self.pieces.decoder().offset().wrapping_add(bytes as u64);
        self.pieces.restart(Utf8Decoder::at(offset), &self.pieces.rest()[bytes..]);
        self.unjudged = &self.unjudged[bytes..];
    }

    /// Applies the error policy to a character that the decoder has just gone past.
    fn refuse_outside(&mut self, character: ShortStr) -> TextPiece<'static> {
        let len = character.len();
        let offset = self.pieces.decoder().valid_up_to().wrapping_sub(len as u64);
        self.outside = Some(character);
        self.rules.judge(Utf8Error::new(offset, ErrorKind::OutsideSubset, len as u8), character.as_bytes())
    }
}

impl FusedIterator for TextPieces<'_, '_> {}
