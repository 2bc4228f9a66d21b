//! Encoded words in headers (RFC 2047), each judged by itself.
//!
//! A word must hold whole characters (§5): readers decode it alone. What is judged here is every `=?charset?q?text?=`
//! of a field, also where RFC 2047 allows none (in quoted strings, say), because readers decode those, too.

use memchr::memmem;

use super::body::{BodyDecoder, BodyPiece};
use super::error::{MimeError, MimeErrorKind, StructureErrorKind};
use super::transfer::{TransferEncoding, TransferErrorKind};
use crate::content_type::is_utf8_label;
use crate::decoder::Utf8Decoder;

/// Longest encoded word (RFC 2047 §2).
const MAX_WORD: usize = 75;
/// Judges the words of one field after the other.
#[derive(Clone, Debug)]
pub(super) struct EncodedWords {
    base64: BodyDecoder,
}

/// A word, as places in its line.
struct Word<'f> {
    charset: &'f [u8],
    base64: bool,
    /// Where its text starts.
    text_at: usize,
    text: &'f [u8],
}

impl EncodedWords {
    pub(super) fn new(lenient: bool) -> Self {
        let base64 = BodyDecoder::new(TransferEncoding::Base64);
        Self { base64: if lenient { base64.lenient() } else { base64 } }
    }

    /// Judges the words of a field that stands at `offset` of the message. A word does not go over the end of a line.
    pub(super) fn judge(&mut self, field: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
        let mut line_at = offset;
        for line in field.split_inclusive(|&byte| byte == b'\n') {
            // After the last end of a word none starts: a line of nothing but starts is read once.
            if let Some(last) = memmem::rfind(line, b"?=") {
                self.judge_line(&line[..last + 2], line_at, each);
            }
            line_at += line.len() as u64;
        }
    }

    fn judge_line(&mut self, line: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
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
                    self.judge_base64(word.text, text_at, each);
                } else {
                    judge_quoted(word.text, text_at, each);
                }
            }
        }
    }

    fn judge_base64(&mut self, text: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
        self.base64.restart(offset);
        let mut tell = |piece: BodyPiece<'_>| match piece {
            BodyPiece::Fault(error) if !error.kind.is_warning() => each(error),
            _ => {}
        };
        self.base64.feed(text, &mut tell);
        self.base64.finish(&mut tell);
    }
}

impl<'f> Word<'f> {
    /// The word that starts at `start`, if one does.
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

/// The Q encoding (RFC 2047 §4.2): quoted-printable without lines, and `_` for a space.
fn judge_quoted(text: &[u8], offset: u64, each: &mut impl FnMut(MimeError)) {
    let digit = |byte: u8| char::from(byte).to_digit(16);
    let mut decoder = Utf8Decoder::new();
    // Where the bytes stood that may still turn out to be ill-formed: what is pending, and the newest.
    let mut places = [0_u64; 4];
    let mut at = 0;
    while let [first, after @ ..] = &text[at..] {
        let place = offset + at as u64;
        let (byte, len) = match (first, after) {
            (b'_', _) => (b' ', 1),
            (b'=', [high, low, ..]) if digit(*high).is_some() && digit(*low).is_some() => {
                ((digit(*high).unwrap_or(0) << 4 | digit(*low).unwrap_or(0)) as u8, 3)
            }
            (b'=', _) => {
                each(transfer(TransferErrorKind::InvalidEscape, place, decoder.offset()));
                (b'=', 1)
            }
            (byte, _) => {
                if !byte.is_ascii() {
                    each(transfer(TransferErrorKind::EightBit, place, decoder.offset()));
                }
                (*byte, 1)
            }
        };
        let mut judged = core::slice::from_ref(&byte);
        while !judged.is_empty() {
            let (before, pending) = (decoder.offset(), decoder.pending().len());
            places[pending] = place;
            if let Err(error) = decoder.validate(judged) {
                each(text_error(error, places[0]));
            }
            judged = &judged[(decoder.offset() - before) as usize..];
        }
        at += len;
    }
    if let Err(error) = decoder.finish() {
        each(text_error(error, places[0]));
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
