//! An encoded body as text: a transfer decoder that feeds the UTF-8 decoder.

use super::error::{MimeError, MimeErrorKind};
use super::transfer::{Decoded, TransferDecoder, TransferEncoding, TransferPiece};
use crate::decoder::{Piece, Utf8Decoder};
use crate::error::Utf8Error;

/// The text of a body under a transfer encoding, which is taken in chunks of any size.
///
/// A character whose bytes stand in two lines of base64, or around a soft line break, is whole. The faults of the
/// transfer encoding and those of the text are told apart, and each has its place on the wire and in the decoded
/// text. Memory is constant, as for [`TransferDecoder`].
///
/// ```
/// use utf8_codec::ErrorKind;
/// use utf8_codec::mime::{BodyDecoder, BodyPiece, MimeErrorKind, TransferEncoding};
///
/// let mut body = BodyDecoder::new(TransferEncoding::Base64);
/// let mut text = String::new();
/// let mut errors = Vec::new();
/// let mut keep = |piece: BodyPiece<'_>| match piece {
///     BodyPiece::Text(good) => text.push_str(good),
///     BodyPiece::Seam(character) => text.push(character),
///     BodyPiece::Fault(error) => errors.push(error),
///     _ => {}
/// };
/// // "na", "ï" over a line break, "ve", and a surrogate half.
/// for chunk in [&b"bmHD\r"[..], b"\nr3", b"Zl7aCA\r\n"] {
///     body.feed(chunk, &mut keep);
/// }
/// body.finish(&mut keep);
/// assert_eq!(text, "naïve");
/// assert_eq!(errors[0].kind, MimeErrorKind::Text(ErrorKind::Surrogate));
/// assert_eq!((errors[0].offset, errors[0].decoded_offset), (10, Some(6)));
/// ```
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    transfer: TransferDecoder,
    text: Text,
}

/// What a body holds, in its order, by [`BodyDecoder::feed`].
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum BodyPiece<'p> {
    /// Well-formed text; never empty.
    Text(&'p str),
    /// A character whose bytes were not decoded together.
    Seam(char),
    /// A fault of either layer. The decoder has gone past it.
    Fault(MimeError),
}

impl BodyDecoder {
    /// A strict decoder at the start of a body.
    pub fn new(encoding: TransferEncoding) -> Self {
        Self::at(encoding, 0)
    }

    /// A strict decoder for a body that starts `offset` bytes into a stream, from which [`MimeError::offset`]
    /// counts.
    pub fn at(encoding: TransferEncoding, offset: u64) -> Self {
        Self { transfer: TransferDecoder::at(encoding, offset), text: Text::default() }
    }

    /// As [`TransferDecoder::lenient`].
    #[must_use]
    pub fn lenient(mut self) -> Self {
        self.transfer = self.transfer.lenient();
        self
    }

    /// As [`TransferDecoder::max_line`].
    #[must_use]
    pub fn max_line(mut self, bytes: usize) -> Self {
        self.transfer = self.transfer.max_line(bytes);
        self
    }

    /// Starts another body, `offset` bytes into the stream.
    pub(super) fn restart(&mut self, offset: u64) {
        self.transfer.restart(offset);
        self.text = Text::default();
    }

    /// Bytes of the body taken so far, and those before it.
    pub const fn offset(&self) -> u64 {
        self.transfer.offset()
    }

    /// Bytes decoded so far.
    pub const fn decoded_offset(&self) -> u64 {
        self.transfer.decoded_offset()
    }

    /// Takes the next chunk and lends its pieces to `each`, in the order of the stream.
    pub fn feed(&mut self, chunk: &[u8], mut each: impl FnMut(BodyPiece<'_>)) {
        let Self { transfer, text } = self;
        transfer.feed(chunk, |piece| text.lend(piece, &mut each));
    }

    /// Takes the next chunk without lending its text, and tells its faults to `each`.
    pub fn validate(&mut self, chunk: &[u8], mut each: impl FnMut(MimeError)) {
        let Self { transfer, text } = self;
        transfer.feed(chunk, |piece| text.validate(piece, &mut each));
    }

    /// Ends the body. A character that it cut short is a fault. The decoder is then as new, but for its offsets,
    /// which go on counting.
    pub fn finish(&mut self, mut each: impl FnMut(BodyPiece<'_>)) {
        let Self { transfer, text } = self;
        transfer.finish(|piece| text.lend(piece, &mut each));
        if let Err(error) = text.decoder.finish() {
            each(BodyPiece::Fault(text.find(error, None)));
        }
    }
}

/// The text layer.
#[derive(Clone, Debug, Default)]
struct Text {
    decoder: Utf8Decoder,
    /// Where the pending bytes stood in the encoded body.
    pending: [u64; 3],
}

impl Text {
    fn lend(&mut self, piece: TransferPiece<'_>, each: &mut impl FnMut(BodyPiece<'_>)) {
        let decoded = match piece {
            TransferPiece::Bytes(decoded) => decoded,
            TransferPiece::Fault(error) => return each(BodyPiece::Fault(error.into())),
        };
        let held = self.decoder.pending().len();
        // A copy: the errors are found by what was pending before.
        let mut decoder = self.decoder;
        for piece in decoder.feed(decoded.bytes()) {
            each(match piece {
                Piece::Text(text) => BodyPiece::Text(text),
                Piece::Seam(character) => BodyPiece::Seam(character),
                Piece::IllFormed(error) => BodyPiece::Fault(self.find(error, Some(&decoded))),
            });
        }
        self.decoder = decoder;
        self.remember(held, &decoded);
    }

    fn validate(&mut self, piece: TransferPiece<'_>, each: &mut impl FnMut(MimeError)) {
        let decoded = match piece {
            TransferPiece::Bytes(decoded) => decoded,
            TransferPiece::Fault(error) => return each(error.into()),
        };
        let held = self.decoder.pending().len();
        let mut decoder = self.decoder;
        let mut rest = decoded.bytes();
        while let before = decoder.offset()
            && let Err(error) = decoder.validate(rest)
        {
            each(self.find(error, Some(&decoded)));
            rest = &rest[(decoder.offset() - before) as usize..];
        }
        self.decoder = decoder;
        self.remember(held, &decoded);
    }

    /// Finds an error on the wire. It starts in `decoded`, or in what is pending.
    fn find(&self, error: Utf8Error, decoded: Option<&Decoded<'_>>) -> MimeError {
        let offset = match decoded {
            Some(decoded) if error.offset >= decoded.offset() => {
                decoded.encoded_offset((error.offset - decoded.offset()) as usize)
            }
            _ => self.pending[0],
        };
        MimeError {
            offset,
            decoded_offset: Some(error.offset),
            kind: MimeErrorKind::Text(error.kind),
            len: error.len,
        }
    }

    /// Notes where the pending bytes stood: those of `held` that still are, and the last of `decoded`.
    fn remember(&mut self, held: usize, decoded: &Decoded<'_>) {
        let pending = self.decoder.pending().len();
        let len = decoded.bytes().len();
        let old = pending.saturating_sub(len).min(held);
        for (i, place) in self.pending.iter_mut().enumerate().take(pending).skip(old) {
            *place = decoded.encoded_offset(len - (pending - i));
        }
    }
}
