//! Encoded words in headers (RFC 2047).
//!
//! Each word must contain whole characters (§5), because readers decode each word separately. Every
//! `=?charset?q?text?=` of a field is checked, even if RFC 2047 does not allow it there (in a quoted string, for
//! example), because readers decode those too.

use memchr::memmem;

use super::body::{BodyDecoder, BodyPiece};
use super::error::{MimeError, MimeErrorKind, StructureErrorKind};
use super::transfer::{TransferEncoding, TransferErrorKind};
use crate::content_type::is_utf8_label;
use crate::decoder::Utf8Decoder;

/// The maximum length of an encoded word (RFC 2047 §2).
const MAX_WORD: usize = 75;

/// Checks the encoded words of fields.
#[derive(Clone, Debug)]
pub(super) struct EncodedWords {
    base64: BodyDecoder,
}

/// An encoded word (RFC 2047), with its position in the line.
struct Word<'f> {
    charset: &'f [u8],
    base64: bool,
    /// The position of the text in the line.
    text_at: usize,
    text: &'f [u8],
}

impl EncodedWords {
    pub(super) fn new(lenient: bool) -> Self {
        let base64 = BodyDecoder::new(TransferEncoding::Base64);
        Self { base64: if lenient { base64.lenient() } else { base64 } }
    }

    /// Checks the words of a field at the offset `offset` of the message. A word does not continue in the next line.
    pub(super) fn check(&mut self, field: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
        let mut line_at = offset;
        for line in field.split_inclusive(|&byte| byte == b'\n') {
            // No word starts after the last `?=`. Without this test a line that repeats `=?` would need quadratic time.
            if let Some(last) = memmem::rfind(line, b"?=") {
                self.check_line(&line[..last + 2], line_at, each);
            }
            line_at += line.len() as u64;
        }
    }

    fn check_line(&mut self, line: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
        let mut at = 0;
        while let Some(found) = memmem::find(&line[at..], b"=?") {
            let start = at + found;
            let Some(word) = Word::at(line, start) else {
                at = start + 2;
                continue;
            };
            at = word.text_at + word.text.len() + 2;
            if at - start > MAX_WORD {
                let kind = StructureErrorKind::LongEncodedWord;
                each(MimeError::structure(offset + start as u64, kind));
            }
            // RFC 2231 §5: a language may follow the charset.
            let charset = word.charset.split(|&byte| byte == b'*').next().unwrap_or_default();
            if is_utf8_label(charset) {
                let text_at = offset + word.text_at as u64;
                if word.base64 {
                    self.check_base64(word.text, text_at, each);
                } else {
                    check_quoted(word.text, text_at, each);
                }
            }
        }
    }

    fn check_base64(&mut self, text: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
        self.base64.restart(offset);
        let mut report = |piece: BodyPiece<'_>| match piece {
            BodyPiece::Error(error) if !error.kind.is_warning() => each(error),
            _ => {}
        };
        self.base64.feed(text, &mut report);
        self.base64.finish(&mut report);
    }
}

impl<'f> Word<'f> {
    /// Returns the word at the position `start` if there is one.
    fn at(line: &'f [u8], start: usize) -> Option<Self> {
        let charset = line[start + 2..].split(|&byte| byte == b'?').next()?;
        if charset.is_empty() || !charset.iter().all(u8::is_ascii_graphic) {
            return None;
        }
        let after = start + 2 + charset.len();
        let base64 = match line.get(after..after + 3)? {
            [b'?', b'B' | b'b', b'?'] => true,
            [b'?', b'Q' | b'q', b'?'] => false,
            _ => return None,
        };
        let text_at = after + 3;
        let text = &line[text_at..];
        let text = &text[..memmem::find(text, b"?=")?];
        Some(Self { charset, base64, text_at, text })
    }
}

/// Checks the Q encoding (RFC 2047 §4.2): quoted-printable without lines, and with `_` for a space.
fn check_quoted(text: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut decoder = Utf8Decoder::new();
    // The offsets in the message of the pending bytes and of the next byte.
    let mut offsets = [0_u64; 4];
    let mut at = 0;
    while let [first, after @ ..] = &text[at..] {
        let byte_at = offset + at as u64;
        let (byte, len) = match (first, after) {
            (b'_', _) => (b' ', 1),
            (b'=', [high, low, ..]) if digit(*high).is_some() && digit(*low).is_some() => {
                ((digit(*high).unwrap_or(0) << 4 | digit(*low).unwrap_or(0)) as u8, 3)
            }
            (b'=', _) => {
                each(transfer(TransferErrorKind::InvalidEscape, byte_at, decoder.offset()));
                (b'=', 1)
            }
            (byte, _) => {
                if !byte.is_ascii() {
                    each(transfer(TransferErrorKind::EightBit, byte_at, decoder.offset()));
                }
                (*byte, 1)
            }
        };
        let mut rest = core::slice::from_ref(&byte);
        while !rest.is_empty() {
            let (before, pending) = (decoder.offset(), decoder.pending().len());
            offsets[pending] = byte_at;
            if let Err(error) = decoder.validate(rest) {
                each(text_error(error, offsets[0]));
            }
            rest = &rest[(decoder.offset() - before) as usize..];
        }
        at += len;
    }
    if let Err(error) = decoder.finish() {
        each(text_error(error, offsets[0]));
    }
}

fn transfer(kind: TransferErrorKind, offset: u64, decoded: u64) -> MimeError {
    MimeError { offset, decoded_offset: Some(decoded), kind: MimeErrorKind::Transfer(kind), len: 1 }
}

fn text_error(error: crate::error::Utf8Error, offset: u64) -> MimeError {
    MimeError {
        offset,
        decoded_offset: Some(error.offset),
        kind: MimeErrorKind::Text(error.kind),
        len: error.len,
    }
}
