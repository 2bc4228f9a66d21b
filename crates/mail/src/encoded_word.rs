//! Encoded words in headers (RFC 2047).
//!
//! Each word must contain whole characters (§5), because readers decode each word separately. Every
//! `=?charset?q?text?=` of a field is checked, even if RFC 2047 does not allow it there (in a quoted string, for
//! example), because readers decode those too. White space and folds are not allowed inside a word (§2), but readers that
//! unfold the field first (RFC 5322 §2.2.3) decode such a word, so it is checked as well.

use alloc::boxed::Box;

use memchr::memmem;
use utf8_codec_media::content_type::labels;
use utf8_codec_media::percent::digit;

use super::body::{BodyDecoder, BodyPiece};
use super::charset::CharsetText;
use super::error::{MimeError, StructureErrorKind};
use super::escaped::EscapedText;
use super::transfer::{TransferEncoding, TransferErrorKind};

/// The maximum length of an encoded word (RFC 2047 §2).
const MAX_WORD: usize = 75;

/// Checks the encoded words of fields.
#[derive(Clone, Debug)]
pub(super) struct EncodedWords {
    base64: BodyDecoder,
    /// Whether words in other charsets are checked.
    pub(super) charsets: bool,
}

/// The start of an encoded word: `=?charset?q?`.
struct Start<'f> {
    charset: &'f [u8],
    base64: bool,
    /// The position of the text in the field.
    text_at: usize,
}

impl EncodedWords {
    pub(super) fn new(lenient: bool, charsets: bool) -> Self {
        let base64 = BodyDecoder::new(TransferEncoding::Base64);
        Self { base64: base64.with_lenient(lenient), charsets }
    }

    /// Checks the words of a field at the offset `offset` of the message.
    pub(super) fn check(&mut self, field: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
        let mut at = 0;
        let mut end = 0;
        while let Some(found) = memmem::find(&field[at..], b"=?") {
            let start = at + found;
            at = start + 2;
            let Some(word) = Start::at(field, start) else { continue };
            // The search starts after the last result, because many words may have the same end.
            if end < word.text_at {
                let Some(next) = memmem::find(&field[word.text_at..], b"?=") else { return };
                end = word.text_at + next;
            }
            let text = &field[word.text_at..end];
            if end + 2 - start > MAX_WORD {
                let kind = StructureErrorKind::LongEncodedWord;
                each(MimeError::structure(offset + start as u64, kind));
            }
            // RFC 2231 §5: a language may follow the charset.
            let charset = word.charset.split(|&byte| byte == b'*').next().unwrap_or_default();
            let text_at = offset + word.text_at as u64;
            at = end + 2;
            let is_utf8 = labels::is_checked(charset);
            let other = if self.charsets && !is_utf8 { CharsetText::for_label(charset) } else { None };
            if !is_utf8 && other.is_none() {
                // For some readers this is not a word, and another one starts in its text.
                at = memmem::find(text, b"=?").map_or(at, |inner| word.text_at + inner);
            } else if word.base64 {
                self.check_base64(text, text_at, other, each);
            } else {
                check_quoted(text, text_at, other, each);
            }
        }
    }

    fn check_base64(
        &mut self,
        text: &[u8],
        offset: u64,
        charset: Option<Box<CharsetText>>,
        each: &mut impl FnMut(MimeError),
    ) {
        self.base64.restart(offset);
        self.base64.set_charset(charset);
        self.base64.feed_with(text, |piece| report(piece, each));
        self.base64.finish_with(|piece| report(piece, each));
    }
}

fn report(piece: BodyPiece<'_>, each: &mut impl FnMut(MimeError)) {
    if let BodyPiece::Error(error) = piece
        && !error.kind.is_warning()
    {
        each(error);
    }
}

impl<'f> Start<'f> {
    /// Returns the start of the word at the position `start` if there is one.
    fn at(field: &'f [u8], start: usize) -> Option<Self> {
        let charset = field[start + 2..].split(|&byte| byte == b'?').next()?;
        if charset.is_empty() {
            return None;
        }
        let after = start + 2 + charset.len();
        let base64 = match field.get(after..after + 3)? {
            [b'?', b'B' | b'b', b'?'] => true,
            [b'?', b'Q' | b'q', b'?'] => false,
            _ => return None,
        };
        Some(Self { charset, base64, text_at: after + 3 })
    }
}

/// Checks the Q encoding (RFC 2047 §4.2): quoted-printable without lines, and with `_` for a space.
fn check_quoted(
    text: &[u8],
    offset: u64,
    charset: Option<Box<CharsetText>>,
    each: &mut impl FnMut(MimeError),
) {
    let mut decoded = EscapedText::new(charset);
    let mut at = 0;
    while let [first, after @ ..] = &text[at..] {
        let byte_at = offset + at as u64;
        at += 1;
        let byte = match (first, after) {
            // A fold: the line break is not part of the text, but the white space after it is.
            (b'\r' | b'\n', _) => continue,
            (b'_', _) => b' ',
            (b'=', _) => match escaped(after) {
                Some(byte) => {
                    at += 2;
                    byte
                }
                None => {
                    each(decoded.transfer_error(TransferErrorKind::InvalidEscape, byte_at));
                    b'='
                }
            },
            (byte, _) => {
                if !byte.is_ascii() {
                    each(decoded.transfer_error(TransferErrorKind::EightBit, byte_at));
                }
                *byte
            }
        };
        decoded.push(byte, byte_at, each);
    }
    decoded.finish(each);
}

/// Returns the byte that the two digits at the start of `text` encode.
fn escaped(text: &[u8]) -> Option<u8> {
    let [high, low, ..] = *text else { return None };
    Some(digit(high)? << 4 | digit(low)?)
}
