//! Percent-encoding (RFC 3986 §2.1).

use utf8_codec::{Utf8Decoder, Utf8Error};

/// Returns the first byte that `text` encodes, and the length of its encoding: 3 for `%XX`, 1 otherwise.
///
/// A `%` without two hexadecimal digits is a literal `%`, as in the WHATWG URL Standard.
pub fn first_byte(text: &[u8]) -> Option<(u8, usize)> {
    Some(match *text {
        [b'%', high, low, ..] => match (digit(high), digit(low)) {
            (Some(high), Some(low)) => (high << 4 | low, 3),
            _ => (b'%', 1),
        },
        [byte, ..] => (byte, 1),
        [] => return None,
    })
}

/// Returns the value of a hexadecimal digit.
pub const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Returns the bytes that `text` encodes.
pub fn decoded(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let (byte, len) = first_byte(rest)?;
        rest = &rest[len..];
        Some(byte)
    })
}

/// Checks the bytes that several joined texts encode.
#[derive(Debug, Default)]
pub struct EncodedText {
    decoder: Utf8Decoder,
    /// The offset of the first byte of an unfinished character, or of its `%`.
    start: u64,
}

impl EncodedText {
    /// Creates a checker at the start of a text.
    pub const fn new() -> Self {
        Self { decoder: Utf8Decoder::new(), start: 0 }
    }

    /// Checks the next text, which starts at an offset.
    ///
    /// # Errors
    ///
    /// Returns the first error. Its offset is the position of the first byte of the sequence or of its `%`, and its
    /// length counts decoded bytes.
    pub fn push(&mut self, text: &[u8], offset: u64) -> Result<(), Utf8Error> {
        let mut at = 0;
        while let Some((byte, len)) = first_byte(&text[at..]) {
            if self.decoder.pending().is_empty() {
                self.start = offset + at as u64;
            }
            self.decoder.validate(&[byte]).map_err(|error| error.with_offset(self.start))?;
            at += len;
        }
        Ok(())
    }

    /// Ends the text. The next one is not joined to it.
    pub fn finish(&mut self) -> Result<(), Utf8Error> {
        self.decoder.finish().map_err(|error| error.with_offset(self.start))
    }
}
