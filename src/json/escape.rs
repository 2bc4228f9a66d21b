//! The grammar of an escape (RFC 8259 §7).

use crate::error::ErrorKind;
use crate::subset::Subset;

/// The maximum length of an escape: two for a surrogate pair.
pub(super) const MAX_LEN: usize = 12;

/// What a backslash at an even place starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// An escape that is accepted, and its length. Without a `u` it is the backslash, or both of two backslashes: a
    /// character that is not ASCII can follow, so it is not counted.
    Whole(usize),
    /// An error, and the length of its bytes.
    Wrong(ErrorKind, usize),
    /// The bytes end before it is known.
    Unfinished,
}

/// Reads the escape at the start of `bytes`, which start with a backslash. It is known after [`MAX_LEN`] bytes.
#[inline]
pub(super) fn read(bytes: &[u8], subset: Option<&Subset>) -> Escape {
    let first = match bytes {
        [_, b'u', ..] => match unit(bytes) {
            Unit::Value(first) => first,
            Unit::Wrong(len) => return Escape::Wrong(ErrorKind::IncompleteEscape, len),
            Unit::Unfinished => return Escape::Unfinished,
        },
        [_, b'\\', ..] => return Escape::Whole(2),
        [_, _, ..] => return Escape::Whole(1),
        _ => return Escape::Unfinished,
    };
    let (code_point, len) = match first {
        0xD800..=0xDBFF => match unit(bytes.get(6..).unwrap_or_default()) {
            Unit::Value(second @ 0xDC00..=0xDFFF) => {
                (0x1_0000 + ((first & 0x3FF) << 10 | second & 0x3FF), MAX_LEN)
            }
            Unit::Unfinished => return Escape::Unfinished,
            Unit::Value(_) | Unit::Wrong(_) => return Escape::Wrong(ErrorKind::UnpairedSurrogate, 6),
        },
        0xDC00..=0xDFFF => return Escape::Wrong(ErrorKind::UnpairedSurrogate, 6),
        _ => (first, 6),
    };
    match subset {
        Some(subset) if !subset.contains(code_point) => Escape::Wrong(ErrorKind::OutsideSubset, len),
        _ => Escape::Whole(len),
    }
}

/// `\u` and four digits.
enum Unit {
    Value(u32),
    /// The length of the part before the byte that cannot be part of it.
    Wrong(usize),
    Unfinished,
}

#[inline]
fn unit(bytes: &[u8]) -> Unit {
    if let Some(&[b'\\', b'u', a, b, c, d]) = bytes.first_chunk() {
        let [a, b, c, d] = [a, b, c, d].map(|digit| DIGITS[usize::from(digit)]);
        if a | b | c | d < 16 {
            let [a, b, c, d] = [a, b, c, d].map(u32::from);
            return Unit::Value(a << 12 | b << 8 | c << 4 | d);
        }
    }
    let is_part = |(at, &byte): (usize, &u8)| match at {
        0 => byte == b'\\',
        1 => byte == b'u',
        _ => byte.is_ascii_hexdigit(),
    };
    let len = bytes.iter().take(6).enumerate().take_while(|&part| is_part(part)).count();
    if len == bytes.len() { Unit::Unfinished } else { Unit::Wrong(len) }
}

/// The values of hexadecimal digits; 255 for other bytes.
static DIGITS: [u8; 256] = {
    let (mut digits, mut byte) = ([0xFF; 256], 0);
    while byte < digits.len() {
        if let Some(value) = (byte as u8 as char).to_digit(16) {
            digits[byte] = value as u8;
        }
        byte += 1;
    }
    digits
};
