//! `application/x-www-form-urlencoded`: checks the percent-decoded text.

use core::ops::Range;

use bytes::Bytes;
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder, TextPiece, Utf8Error};
use utf8_codec_media::percent;

use super::field::UrlEncodedField;
use super::frames::FrameQueue;
use super::kind::{KindFilter, repaired};
use crate::reason::RejectReason;

/// The maximum number of bytes that are decoded into a buffer and checked at a time. If the next `%` is at least this
/// far away, the bytes before it are checked in the chunk without a copy.
const BLOCK: usize = 512;

/// Filters percent-encoded text with a [`TextDecoder`].
///
/// The decoded text is checked, and the bytes are returned unchanged. An unfinished character, escaped or not, and an
/// unfinished escape are pending: at most 11 bytes. `&` and `=` are ASCII characters of the text, so a name or a value
/// that ends inside a character is ill-formed.
///
/// A character of which some bytes are escaped and others are not is an error ([`ErrorKind::PartlyEscaped`]). The
/// WHATWG URL Standard (§5.1) finds the character, but a program that decodes the text before its escapes finds ill-formed
/// bytes. A policy other than [`ErrorPolicy::Strict`] escapes all of its bytes, so that all programs find the character.
///
/// A form has no BOM (WHATWG URL Standard §5.1). U+FEFF at its start is a character under every [`BomPolicy`].
///
/// The offset of an error is the position in the encoded body of the first byte of the sequence or of its `%`. The
/// length counts decoded bytes.
#[derive(Debug)]
pub(super) struct UrlEncodedFilter {
    decoder: TextDecoder,
    /// An unfinished character in its encoded form.
    carry: Vec<u8>,
    /// An unfinished escape, `%` or `%X`.
    escape: Vec<u8>,
    /// The number of bytes fed, without those in `escape`.
    offset: u64,
    out: FrameQueue,
    /// Whether a sequence was skipped after the last byte of the output. The output may end with `%` or `%X`, so a
    /// hexadecimal digit that comes next is escaped. Otherwise a reader would find an escape.
    has_skipped: bool,
    /// The number of characters whose bytes were partly escaped.
    escaped: u64,
    field: UrlEncodedField,
    error: Option<RejectReason>,
}

/// The location of the encoded bytes.
#[derive(Clone)]
enum Sent<'s> {
    /// In the chunk.
    Chunk(Range<usize>),
    /// In a copy, because some of them were in an earlier chunk.
    Copied(&'s [u8]),
}

impl UrlEncodedFilter {
    pub(super) fn new(decoder: TextDecoder) -> Self {
        Self {
            decoder: decoder.with_bom_policy(BomPolicy::Keep),
            carry: Vec::new(),
            escape: Vec::new(),
            offset: 0,
            out: FrameQueue::new(),
            has_skipped: false,
            escaped: 0,
            field: UrlEncodedField::default(),
            error: None,
        }
    }

    /// Reads the rest of an escape that started in an earlier chunk. Returns the number of bytes of the chunk that were
    /// read.
    fn feed_escape(&mut self, chunk: &Bytes) -> usize {
        if self.escape.is_empty() {
            return 0;
        }
        let added = chunk.len().min(3 - self.escape.len());
        let whole = [&self.escape[..], &chunk[..added]].concat();
        if let Some((byte, 3)) = percent::first_byte(&whole) {
            self.escape.clear();
            self.check(chunk, &Sent::Copied(&whole), &[byte]);
            return added;
        }
        if is_cut_escape(&whole) {
            self.escape = whole;
            return added;
        }
        self.take_escape_as_text(chunk);
        0
    }

    /// Checks the start of an incomplete escape as plain text.
    fn take_escape_as_text(&mut self, chunk: &Bytes) {
        let text = core::mem::take(&mut self.escape);
        self.check(chunk, &Sent::Copied(&text), &text);
    }

    /// Reads bytes from `chunk[at..]`. Returns the number of bytes read.
    fn feed_block(&mut self, chunk: &Bytes, at: usize) -> usize {
        let rest = &chunk[at..];
        let literal = memchr::memchr(b'%', rest).unwrap_or(rest.len());
        if literal == rest.len() || literal >= BLOCK {
            self.check(chunk, &Sent::Chunk(at..at + literal), &rest[..literal]);
            return literal;
        }
        let mut decoded = [0; BLOCK];
        let mut taken = 0;
        let mut len = 0;
        while len < BLOCK {
            let rest = &rest[taken..];
            if is_cut_escape(rest) {
                self.escape.extend_from_slice(rest);
                break;
            }
            let Some((byte, sent)) = percent::first_byte(rest) else { break };
            decoded[len] = byte;
            len += 1;
            taken += sent;
        }
        self.check(chunk, &Sent::Chunk(at..at + taken), &decoded[..len]);
        taken + self.escape.len()
    }

    /// Checks decoded bytes and queues their encoded form.
    fn check(&mut self, chunk: &Bytes, sent: &Sent<'_>, mut decoded: &[u8]) {
        let bytes = match sent {
            Sent::Chunk(range) => &chunk[range.clone()],
            Sent::Copied(bytes) => bytes,
        };
        let has_escapes = bytes.len() != decoded.len();
        let mut at = 0;
        while !decoded.is_empty() {
            let (piece, taken) = self.decoder.take_piece(decoded);
            // The bytes of an unfinished character at the end of the input are not part of the piece.
            let unfinished = if piece.is_some() { self.decoder.pending().len() } else { taken };
            let end = at + sent_len(&bytes[at..], taken - unfinished, decoded.len());
            let next = end + sent_len(&bytes[end..], unfinished, decoded.len() - (taken - unfinished));
            let start = self.offset + at as u64 - self.carry.len() as u64;
            match piece {
                None => {}
                Some(TextPiece::Text(_) | TextPiece::Seam(_)) => {
                    if core::mem::take(&mut self.has_skipped)
                        && self.carry.is_empty()
                        && let Some(digit) = bytes[at..end].first().filter(|byte| byte.is_ascii_hexdigit())
                    {
                        self.out.copy(chunk, &escape(*digit));
                        at += 1;
                    }
                    if !has_escapes && self.carry.is_empty() {
                        self.put_sent(chunk, sent, at..end);
                    } else if let Err(error) = self.put_text(chunk, sent, bytes, at..end) {
                        self.fail(bytes, error);
                        break;
                    }
                }
                Some(TextPiece::Repaired(text, _)) => {
                    self.has_skipped |= text.is_empty();
                    self.out.copy(chunk, &encoded(&text));
                }
                Some(TextPiece::IllFormed(error)) => {
                    self.fail(bytes, error.with_offset(start));
                    break;
                }
            }
            if piece.is_some() {
                self.carry.clear();
            }
            self.carry.extend_from_slice(&bytes[end..next]);
            decoded = &decoded[taken..];
            at = next;
        }
        self.field.read(bytes, self.offset);
        self.offset += bytes.len() as u64;
    }

    /// Stores an error in the next bytes of the form, or before them.
    fn fail(&mut self, bytes: &[u8], error: Utf8Error) {
        let before = error.offset.saturating_sub(self.offset) as usize;
        self.field.read(&bytes[..before.min(bytes.len())], self.offset);
        self.error = Some(self.field.error(error));
    }

    /// Queues the text in `bytes[span]`. If there is a carry, the text is one character, which starts with the carry.
    fn put_text(
        &mut self,
        chunk: &Bytes,
        sent: &Sent<'_>,
        bytes: &[u8],
        mut span: Range<usize>,
    ) -> Result<(), Utf8Error> {
        let carry = core::mem::take(&mut self.carry);
        if !carry.is_empty() {
            let whole = [&carry[..], &bytes[span.clone()]].concat();
            if partly_escaped(&whole).is_some() {
                let offset = self.offset + span.start as u64 - carry.len() as u64;
                return self.put_partly_escaped(chunk, &whole, offset);
            }
        }
        self.out.copy(chunk, &carry);
        while let Some(character) = partly_escaped(&bytes[span.clone()]) {
            let start = span.start + character.start;
            let end = span.start + character.end;
            self.put_sent(chunk, sent, span.start..start);
            self.put_partly_escaped(chunk, &bytes[start..end], self.offset + start as u64)?;
            span.start = end;
        }
        self.put_sent(chunk, sent, span);
        Ok(())
    }

    fn put_sent(&mut self, chunk: &Bytes, sent: &Sent<'_>, span: Range<usize>) {
        match sent {
            Sent::Chunk(range) => self.out.span(chunk, range.start + span.start..range.start + span.end),
            Sent::Copied(bytes) => self.out.copy(chunk, &bytes[span]),
        }
    }

    /// Queues a character with all of its bytes escaped, or returns its error.
    fn put_partly_escaped(&mut self, chunk: &Bytes, character: &[u8], offset: u64) -> Result<(), Utf8Error> {
        let bytes: Vec<u8> = percent::decoded(character).collect();
        if self.decoder.error_policy() == ErrorPolicy::Strict {
            return Err(Utf8Error::new(offset, ErrorKind::PartlyEscaped, bytes.len() as u8));
        }
        self.escaped += 1;
        bytes.iter().for_each(|byte| self.out.copy(chunk, &escape(*byte)));
        Ok(())
    }

    /// Queues the replacement or the error of a character that was truncated by the end of the body.
    fn put_end(&mut self, chunk: &Bytes, end: Result<&str, Utf8Error>) {
        match end {
            Ok(text) => self.out.copy(chunk, &encoded(text)),
            Err(error) => {
                let start = self.offset - self.carry.len() as u64;
                self.fail(&[], error.with_offset(start));
            }
        }
        self.carry.clear();
    }
}

impl KindFilter for UrlEncodedFilter {
    fn feed(&mut self, chunk: Bytes) {
        let mut at = self.feed_escape(&chunk);
        while at < chunk.len() && self.error.is_none() {
            at += self.feed_block(&chunk, at);
        }
        // Nothing is checked after an error.
        self.offset += (chunk.len() - at) as u64;
        self.out.end_chunk(&chunk);
    }

    fn next(&mut self) -> Option<Result<Bytes, RejectReason>> {
        self.out.pop().map(Ok).or_else(|| self.error.take().map(Err))
    }

    fn finish(&mut self) {
        if self.error.is_some() {
            return;
        }
        let none = Bytes::new();
        self.take_escape_as_text(&none);
        if self.error.is_none()
            && let Some(end) = self.decoder.finish()
        {
            self.put_end(&none, end.text());
        }
        self.out.end_chunk(&none);
    }

    fn is_clean(&self) -> bool {
        self.out.is_empty() && self.error.is_none() && self.held() == 0
    }

    fn offset(&self) -> u64 {
        self.offset + self.escape.len() as u64
    }

    fn repaired(&self) -> u64 {
        self.escaped + repaired(&self.decoder)
    }

    fn held(&self) -> u64 {
        (self.carry.len() + self.escape.len()) as u64
    }

    fn queued(&self) -> (u64, bool) {
        (self.out.queued(), self.error.is_some())
    }

    fn min_output(&self, bytes: u64) -> u64 {
        // A replacement may be shorter than the escapes that it replaces.
        if self.decoder.error_policy() == ErrorPolicy::Strict { bytes } else { 0 }
    }

    fn max_output(&self, bytes: u64) -> Option<u64> {
        match self.decoder.error_policy() {
            ErrorPolicy::Strict => Some(bytes),
            // Every byte of a replacement may be escaped.
            policy => policy.max_output_len(bytes)?.checked_mul(3),
        }
    }
}

/// Whether `bytes` are the start of an escape that is not complete.
fn is_cut_escape(bytes: &[u8]) -> bool {
    match bytes {
        [b'%'] => true,
        [b'%', high] => percent::digit(*high).is_some(),
        _ => false,
    }
}

/// Returns the position of the first character of which some bytes are escaped and others are not.
fn partly_escaped(sent: &[u8]) -> Option<Range<usize>> {
    // In most forms all bytes above ASCII are escaped.
    if sent.is_ascii() {
        return None;
    }
    let mut start = 0;
    let mut at = 0;
    let mut has_escaped = false;
    let mut has_other = false;
    while let Some((byte, len)) = percent::first_byte(&sent[at..]) {
        if !(0x80..0xC0).contains(&byte) {
            if has_escaped && has_other {
                break;
            }
            start = at;
            has_escaped = false;
            has_other = false;
        }
        has_escaped |= len > 1;
        has_other |= len == 1;
        at += len;
    }
    (has_escaped && has_other).then_some(start..at)
}

/// Returns the length of the prefix of `sent` that encodes the first `decoded` of its `all` decoded bytes.
fn sent_len(sent: &[u8], decoded: usize, all: usize) -> usize {
    if decoded == all {
        return sent.len();
    }
    // Nothing is escaped.
    if sent.len() == all {
        return decoded;
    }
    (0..decoded).fold(0, |len, _| len + percent::first_byte(&sent[len..]).map_or(0, |(_, sent)| sent))
}

/// Percent-encodes the replacement of ill-formed bytes, so that no character of it is parsed as syntax. A hexadecimal
/// digit at its start is encoded too, because there may be `%` or `%X` before it.
fn encoded(text: &str) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(3 * text.len());
    for byte in text.bytes() {
        if byte.is_ascii_alphanumeric() && !(bytes.is_empty() && byte.is_ascii_hexdigit()) {
            bytes.push(byte);
        } else {
            bytes.extend_from_slice(&escape(byte));
        }
    }
    bytes
}

fn escape(byte: u8) -> [u8; 3] {
    [b'%', hex_digit(byte >> 4), hex_digit(byte & 0xF)]
}

fn hex_digit(nibble: u8) -> u8 {
    b"0123456789ABCDEF"[usize::from(nibble)]
}
