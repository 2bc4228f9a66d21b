//! The grammar of an escape (RFC 8259 §7).

use crate::error::ErrorKind;
use crate::subset::Subset;

/// The maximum length of an escape, or of the two escapes of a surrogate pair.
pub(super) const MAX_LEN: usize = 12;

/// What a backslash at an even position starts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Escape {
    /// An escape that is accepted, and its length. Without a `u` the length covers only the backslash, or both of two
    /// backslashes: a character that is not ASCII can follow, so it is not counted.
    Whole(usize),
    /// An error, and the length of its bytes.
    Wrong(ErrorKind, usize),
    /// The bytes end before the result is known.
    Unfinished,
}

/// The second half of a pair is known at its second digit: `\uDC`.
const SECOND_HALF_LEN: usize = 4;

/// Reads the escape at the start of `bytes`, which start with a backslash. The result is known after at most
/// [`MAX_LEN`] bytes, and an error at the first byte that cannot continue an escape. All digits of a second half belong
/// to its error only if `is_whole` is set, for a policy that replaces them.
#[inline]
pub(super) fn read(bytes: &[u8], subset: Option<&Subset>, is_whole: bool) -> Escape {
    let first = match bytes {
        [_, b'u', ..] => match unit(bytes) {
            Unit::Value(first) => first,
            incomplete => return incomplete.escape(bytes, is_whole),
        },
        [_, b'\\', ..] => return Escape::Whole(2),
        [_, _, ..] => return Escape::Whole(1),
        _ => return Escape::Unfinished,
    };
    let next = bytes.get(6..).unwrap_or_default();
    let (code_point, len) = match first {
        0xD800..=0xDBFF => match unit(next) {
            Unit::Value(second @ 0xDC00..=0xDFFF) => {
                (0x1_0000 + ((first & 0x3FF) << 10 | second & 0x3FF), MAX_LEN)
            }
            Unit::Unfinished if may_start_second_half(next) => return Escape::Unfinished,
            _ => return Escape::Wrong(ErrorKind::UnpairedSurrogate, 6),
        },
        0xDC00..=0xDFFF => {
            let len = if is_whole { 6 } else { SECOND_HALF_LEN };
            return Escape::Wrong(ErrorKind::UnpairedSurrogate, len);
        }
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

impl Unit {
    /// Returns the result for a `\u` that does not have four digits yet.
    #[cold]
    fn escape(self, bytes: &[u8], is_whole: bool) -> Escape {
        let is_second_half = bytes.get(..SECOND_HALF_LEN).is_some_and(may_start_second_half);
        match self {
            Self::Wrong(SECOND_HALF_LEN..) | Self::Unfinished if is_second_half && !is_whole => {
                Escape::Wrong(ErrorKind::UnpairedSurrogate, SECOND_HALF_LEN)
            }
            Self::Wrong(len) => Escape::Wrong(ErrorKind::IncompleteEscape, len),
            _ => Escape::Unfinished,
        }
    }
}

/// Whether the digits of a `\u` that is not complete can belong to the second half of a pair.
#[inline]
fn may_start_second_half(bytes: &[u8]) -> bool {
    bytes.get(2).is_none_or(|digit| matches!(digit, b'd' | b'D'))
        && bytes.get(3).is_none_or(|digit| matches!(digit, b'c'..=b'f' | b'C'..=b'F'))
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
    let parts = bytes.iter().take(6).enumerate().take_while(|&(at, byte)| match at {
        0 => *byte == b'\\',
        1 => *byte == b'u',
        _ => byte.is_ascii_hexdigit(),
    });
    let len = parts.count();
    if len == bytes.len() { Unit::Unfinished } else { Unit::Wrong(len) }
}

/// The values of hexadecimal digits; 255 for other bytes.
static DIGITS: [u8; 256] = {
    let mut digits = [0xFF; 256];
    let mut byte = 0;
    while byte < digits.len() {
        if let Some(value) = (byte as u8 as char).to_digit(16) {
            digits[byte] = value as u8;
        }
        byte += 1;
    }
    digits
};
