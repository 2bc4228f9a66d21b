//! Percent-encoding (RFC 3986 §2.1).

#[cfg(feature = "http-rules")]
use crate::{decoder::Utf8Decoder, error::Utf8Error};

/// Returns the first byte that `text` encodes, and the length of its encoding: 3 for `%XX`, 1 otherwise.
///
/// A `%` without two hexadecimal digits is a literal `%`, as in the WHATWG URL Standard.
pub(crate) fn first_byte(text: &[u8]) -> Option<(u8, usize)> {
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
pub(crate) const fn digit(byte: u8) -> Option<u8> {
    match byte {
        b'0'..=b'9' => Some(byte - b'0'),
        b'a'..=b'f' => Some(byte - b'a' + 10),
        b'A'..=b'F' => Some(byte - b'A' + 10),
        _ => None,
    }
}

/// Returns the bytes that `text` encodes.
pub(crate) fn decoded(text: &[u8]) -> impl Iterator<Item = u8> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let (byte, len) = first_byte(rest)?;
        rest = &rest[len..];
        Some(byte)
    })
}

/// Checks the bytes that `text` encodes.
///
/// # Errors
///
/// Returns the first error. Its offset is the position in `text` of the first byte of the sequence or of its `%`, and its
/// length counts decoded bytes.
#[cfg(feature = "http-rules")]
pub(crate) fn check(text: &[u8]) -> Result<(), Utf8Error> {
    let mut decoder = Utf8Decoder::new();
    let (mut at, mut start) = (0, 0);
    while let Some((byte, len)) = first_byte(&text[at..]) {
        if decoder.pending().is_empty() {
            start = at;
        }
        decoder.validate(&[byte]).map_err(|error| Utf8Error { offset: start as u64, ..error })?;
        at += len;
    }
    decoder.finish().map_err(|error| Utf8Error { offset: start as u64, ..error })
}
