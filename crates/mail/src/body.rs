//! Decoder for the text of an encoded body: a transfer decoder followed by a UTF-8 decoder.

use alloc::boxed::Box;

use utf8_codec::{Piece, Utf8Decoder, Utf8Error};

use super::charset::CharsetText;
use super::error::MimeError;
use super::transfer::{Decoded, TransferDecoder, TransferEncoding, TransferPiece};
use utf8_codec_encodings::Encoding;

/// Decodes the text of one body in a transfer encoding, in chunks of any size.
///
/// A character whose bytes are in two lines of base64, or on both sides of a soft line break, is decoded as one
/// character. Errors of the transfer encoding and of the text are reported separately, each with its offset on the wire
/// and in the decoded body. Memory is constant, as for [`TransferDecoder`].
///
/// ```
/// use utf8_codec::ErrorKind;
/// use utf8_codec_mail::{BodyDecoder, BodyPiece, MimeErrorKind, TransferEncoding};
///
/// let mut body = BodyDecoder::new(TransferEncoding::Base64);
/// let mut text = String::new();
/// let mut errors = Vec::new();
/// let mut keep = |piece: BodyPiece<'_>| match piece {
///     BodyPiece::Text(good) => text.push_str(good),
///     BodyPiece::Seam(character) => text.push(character),
///     BodyPiece::Error(error) => errors.push(error),
///     _ => {}
/// };
/// // "na", "ï" across a line break, "ve", and an unpaired surrogate.
/// for chunk in [&b"bmHD\r"[..], b"\nr3", b"Zl7aCA\r\n"] {
///     body.feed_with(chunk, &mut keep);
/// }
/// body.finish_with(&mut keep);
/// assert_eq!(text, "naïve");
/// assert_eq!(errors[0].kind, MimeErrorKind::Text(ErrorKind::Surrogate));
/// assert_eq!((errors[0].offset, errors[0].decoded_offset), (10, Some(6)));
/// ```
#[derive(Clone, Debug)]
pub struct BodyDecoder {
    transfer: TransferDecoder,
    text: Text,
    /// The decoder of text in another charset. `text` is not used then.
    charset: Option<Box<CharsetText>>,
}

/// A piece of a body. Pieces are in stream order.
#[derive(Clone, Copy, Debug)]
#[non_exhaustive]
pub enum BodyPiece<'p> {
    /// Well-formed text; never empty.
    Text(&'p str),
    /// A character whose bytes are in different chunks, or in different pieces of the transfer layer.
    Seam(char),
    /// An error of either layer. The decoder is positioned after it.
    Error(MimeError),
}

impl BodyDecoder {
    /// Creates a strict decoder at the start of a body.
    pub fn new(encoding: TransferEncoding) -> Self {
        Self::with_offset(encoding, 0)
    }

    /// Creates a strict decoder for a body that starts `offset` bytes into a stream. [`MimeError::offset`] is relative
    /// to the start of the stream.
    pub fn with_offset(encoding: TransferEncoding, offset: u64) -> Self {
        Self {
            transfer: TransferDecoder::with_offset(encoding, offset),
            text: Text::default(),
            charset: None,
        }
    }

    /// Decodes text in a charset other than UTF-8. Pieces are UTF-8, and the offsets of errors count bytes in that charset.
    #[must_use]
    pub fn with_charset(self, charset: Encoding) -> Self {
        self.in_charset(Some(CharsetText::new(charset)))
    }

    pub(super) fn in_charset(self, charset: Option<Box<CharsetText>>) -> Self {
        Self { charset, ..self }
    }

    pub(super) fn set_charset(&mut self, charset: Option<Box<CharsetText>>) {
        self.charset = charset;
    }

    /// Same as [`TransferDecoder::with_lenient`].
    #[must_use]
    pub fn with_lenient(mut self, lenient: bool) -> Self {
        self.transfer = self.transfer.with_lenient(lenient);
        self
    }

    /// Same as [`TransferDecoder::with_max_line_length`].
    #[must_use]
    pub fn with_max_line_length(mut self, bytes: usize) -> Self {
        self.transfer = self.transfer.with_max_line_length(bytes);
        self
    }

    /// Starts the next body, in the same encoding, at byte `offset` of the stream.
    pub(super) fn restart(&mut self, offset: u64) {
        self.transfer.restart(offset);
        self.text = Text::default();
        self.charset = self.charset.as_deref().map(CharsetText::restarted);
    }

    /// Returns the offset of the next byte of the encoded body.
    pub const fn offset(&self) -> u64 {
        self.transfer.offset()
    }

    /// Returns the number of bytes decoded so far.
    pub const fn decoded_offset(&self) -> u64 {
        self.transfer.decoded_offset()
    }

    /// Decodes the next chunk and calls `each` with its pieces in stream order.
    pub fn feed_with(&mut self, chunk: &[u8], mut each: impl FnMut(BodyPiece<'_>)) {
        let Self { transfer, text, charset } = self;
        match charset {
            None => transfer.feed_with(chunk, |piece| text.decode(piece, &mut each)),
            Some(charset) => {
                transfer.feed_with(chunk, |piece| charset.decode(piece, &mut |text| each(piece_of(text))));
            }
        }
    }

    /// Ends the body and calls `each` with the remaining pieces. An incomplete character is an error. The decoder is
    /// then reset, except for its offsets.
    pub fn finish_with(&mut self, mut each: impl FnMut(BodyPiece<'_>)) {
        let Self { transfer, text, charset } = self;
        if let Some(charset) = charset {
            transfer.finish_with(|piece| charset.decode(piece, &mut |text| each(piece_of(text))));
            return charset.finish(&mut |text| each(piece_of(text)));
        }
        transfer.finish_with(|piece| text.decode(piece, &mut each));
        if let Err(error) = text.decoder.finish() {
            each(BodyPiece::Error(text.locate(error, None)));
        }
    }
}

fn piece_of(text: Result<&str, MimeError>) -> BodyPiece<'_> {
    text.map_or_else(BodyPiece::Error, BodyPiece::Text)
}

/// The text layer.
#[derive(Clone, Debug, Default)]
struct Text {
    decoder: Utf8Decoder,
    /// The offset of each pending byte in the encoded body.
    pending: [u64; 3],
}

impl Text {
    fn decode(&mut self, piece: TransferPiece<'_>, each: &mut impl FnMut(BodyPiece<'_>)) {
        let decoded = match piece {
            TransferPiece::Bytes(decoded) => decoded,
            TransferPiece::Error(error) => return each(BodyPiece::Error(error.into())),
        };
        let held = self.decoder.pending().len();
        // A copy, because the iterator borrows the decoder while `locate` borrows `self`.
        let mut decoder = self.decoder;
        for piece in decoder.feed(decoded.bytes()) {
            each(match piece {
                Piece::Text(text) => BodyPiece::Text(text),
                Piece::Seam(character) => BodyPiece::Seam(character),
                Piece::IllFormed(error) => BodyPiece::Error(self.locate(error, Some(&decoded))),
            });
        }
        self.decoder = decoder;
        self.keep_offsets(held, &decoded);
    }

    /// Adds the offset on the wire to an error that starts in `decoded` or in the pending bytes.
    fn locate(&self, error: Utf8Error, decoded: Option<&Decoded<'_>>) -> MimeError {
        let offset = match decoded {
            Some(decoded) if error.offset >= decoded.offset() => {
                decoded.encoded_offset((error.offset - decoded.offset()) as usize)
            }
            _ => self.pending[0],
        };
        MimeError::text(offset, Some(error.offset), error)
    }

    /// Updates the offsets of the pending bytes. The first of them may be among the `held` bytes, which were already
    /// pending before `decoded`. The others are the last bytes of `decoded`.
    fn keep_offsets(&mut self, held: usize, decoded: &Decoded<'_>) {
        let pending = self.decoder.pending().len();
        let len = decoded.bytes().len();
        let old = pending.saturating_sub(len).min(held);
        for (i, offset) in self.pending.iter_mut().enumerate().take(pending).skip(old) {
            *offset = decoded.encoded_offset(len - (pending - i));
        }
    }
}
