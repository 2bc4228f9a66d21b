//! Percent-encoding (RFC 3986 §2.1).

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
