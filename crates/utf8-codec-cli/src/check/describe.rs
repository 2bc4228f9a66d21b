//! Texts of messages: the reason for an error.

use core::fmt::{self, Display, Formatter};
use std::io::Write;

use utf8_codec::ErrorKind;
use utf8_codec_encodings::Encoding;

/// The number of bytes from the start of an ill-formed sequence on that its description needs, at most.
pub(super) const DESCRIBED: usize = 8;

/// Why a sequence is ill-formed UTF-8.
#[derive(Clone, Copy, Debug)]
pub(super) struct Reason {
    kind: ErrorKind,
    /// The input from the start of the sequence on, as far as it exists, and zeros.
    bytes: [u8; DESCRIBED],
    /// The number of these bytes that exist.
    filled: u8,
    /// The length of the maximal subpart.
    len: u8,
}

impl Reason {
    /// The reason for the ill-formed sequence at the start of `following`, whose maximal subpart has `len` bytes.
    pub(super) fn new(kind: ErrorKind, following: &[u8], len: u8) -> Self {
        let mut bytes = [0; DESCRIBED];
        let filled = following.len().min(DESCRIBED);
        bytes[..filled].copy_from_slice(&following[..filled]);
        Self { kind, bytes, filled: filled as u8, len }
    }
}

/// Appends a byte in hexadecimal.
fn push_hex(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789ABCDEF";
    out.extend([byte >> 4, byte & 0xF].map(|digit| DIGITS[usize::from(digit)]));
}

impl Reason {
    /// Appends the reason, which is plain ASCII. The formatting functions of std would take most of the time of a report, so
    /// the most frequent reasons are written without them.
    pub(super) fn push_to(&self, out: &mut Vec<u8>) {
        match self.kind {
            ErrorKind::InvalidLead => {
                push_hex(out, self.bytes[0]);
                out.extend_from_slice(b" is never part of UTF-8");
            }
            ErrorKind::UnexpectedContinuation => {
                out.extend_from_slice(b"continuation byte ");
                push_hex(out, self.bytes[0]);
                out.extend_from_slice(b" without a first byte");
            }
            ErrorKind::MissingContinuation => self.push_missing(out),
            _ => _ = write!(out, "{}", Rare(self)),
        }
    }

    fn push_missing(&self, out: &mut Vec<u8>) {
        let len = usize::from(self.len);
        let bytes = &self.bytes[..self.filled.into()];
        let next = bytes.get(len).copied().unwrap_or(0);
        let (low, high) = match (len, self.bytes[0]) {
            (1, 0xE0) => (0xA0, 0xBF),
            (1, 0xED) => (0x80, 0x9F),
            (1, 0xF0) => (0x90, 0xBF),
            (1, 0xF4) => (0x80, 0x8F),
            _ => (0x80, 0xBF),
        };
        match len {
            0 | 1 => out.extend_from_slice(b"the second"),
            2 => out.extend_from_slice(b"the third"),
            _ => out.extend_from_slice(b"the fourth"),
        }
        out.extend_from_slice(b" byte after");
        for &byte in &bytes[..len] {
            out.push(b' ');
            push_hex(out, byte);
        }
        out.extend_from_slice(b" must be ");
        push_hex(out, low);
        out.extend_from_slice(b"..");
        push_hex(out, high);
        out.extend_from_slice(b", but is ");
        push_hex(out, next);
    }
}

impl Display for Reason {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let mut text = Vec::new();
        self.push_to(&mut text);
        f.write_str(str::from_utf8(&text).unwrap_or_default())
    }
}

/// Returns the bits of a character in a continuation byte.
fn tail(byte: u8) -> u32 {
    u32::from(byte & 0x3F)
}

/// A reason that few errors have.
struct Rare<'r>(&'r Reason);

impl Display for Rare<'_> {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        let Reason { kind, bytes: [a, b, c, d, ..], .. } = *self.0;
        let bytes = &self.0.bytes[..self.0.filled.into()];
        match kind {
            ErrorKind::Overlong => {
                let value = match a {
                    0xC0 | 0xC1 => u32::from(a & 0x1F) << 6 | tail(b),
                    0xE0 => tail(b) << 6 | tail(c),
                    _ => tail(b) << 12 | tail(c) << 6 | tail(d),
                };
                let whole = match a {
                    0xC0 | 0xC1 => 2,
                    0xE0 => 3,
                    _ => 4,
                };
                let is_whole =
                    bytes.len() >= whole && bytes[1..whole].iter().all(|byte| (0x80..0xC0).contains(byte));
                if is_whole {
                    write!(f, "overlong encoding of U+{value:04X}")
                } else {
                    write!(f, "{a:02X} {b:02X} starts an overlong encoding")
                }
            }
            ErrorKind::Surrogate => {
                write!(f, "surrogate U+{:04X}: half of a UTF-16 pair", 0xD000 | tail(b) << 6 | tail(c))
            }
            ErrorKind::AboveMax if a == 0xF4 => {
                let value = 0x10_0000 | tail(b) << 12 | tail(c) << 6 | tail(d);
                write!(f, "U+{value:X} is above U+10FFFF, the last code point")
            }
            ErrorKind::AboveMax => write!(f, "{a:02X} starts a code point above U+10FFFF, the last one"),
            ErrorKind::Truncated => f.write_str("the input ends inside a character"),
            ErrorKind::MissingBom => f.write_str("there is no BOM"),
            ErrorKind::UnexpectedBom => f.write_str("there is a BOM"),
            kind => write!(f, "ill-formed: {kind}"),
        }
    }
}

/// Describes the ill-formed sequence at the start of `bytes` in an encoding other than UTF-8. `name` is the name of the
/// encoding in reports.
pub(super) fn describe_in(
    encoding: Encoding,
    name: impl Display,
    kind: ErrorKind,
    bytes: &[u8],
    len: usize,
) -> String {
    let sequence = &bytes[..len.min(bytes.len())];
    let value = match encoding {
        Encoding::Utf16Le | Encoding::Utf32Le => {
            sequence.iter().rev().fold(0, |value, &byte| value << 8 | u32::from(byte))
        }
        Encoding::Utf16Be | Encoding::Utf32Be => {
            sequence.iter().fold(0, |value, &byte| value << 8 | u32::from(byte))
        }
        // The value of a sequence of three bytes in CESU-8 and similar encodings.
        _ => sequence.iter().fold(0, |value, &byte| (value << 6 | u32::from(byte & 0x3F)) & 0xFFFF),
    };
    let is_wide =
        matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Utf32Le | Encoding::Utf32Be);
    match kind {
        ErrorKind::UnpairedSurrogate => format!("surrogate {value:04X} without its other half"),
        ErrorKind::Truncated if !is_wide => format!("the input ends inside a character of {name}"),
        ErrorKind::Truncated if len == 2 && matches!(encoding, Encoding::Utf16Le | Encoding::Utf16Be) => {
            format!("surrogate {value:04X}, and the input ends before its other half")
        }
        ErrorKind::Truncated => format!("the input ends inside a code unit of {name}"),
        ErrorKind::Surrogate if is_wide => format!("{value:04X} is a surrogate, half of a UTF-16 pair"),
        ErrorKind::AboveMax if is_wide => format!("{value:X} is above 10FFFF, the last code point"),
        ErrorKind::InvalidLead | ErrorKind::OutsideSubset => {
            format!("{:02X} is never part of {name}", bytes.first().copied().unwrap_or(0))
        }
        _ if encoding.is_legacy() || encoding.is_decoded_only() => {
            let bytes: Vec<String> = sequence.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("{} is ill-formed {name}: {kind}", bytes.join(" "))
        }
        _ if is_wide => format!("{value:04X} is ill-formed {name}: {kind}"),
        _ => Reason::new(kind, bytes, len as u8).to_string(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_message_of_an_error_states_the_reason() {
        for (kind, bytes, len, words) in [
            (ErrorKind::Overlong, &b"\xC0\xAF"[..], 1, "overlong encoding of U+002F"),
            (ErrorKind::Overlong, b"\xE0\x80\xAF", 1, "overlong encoding of U+002F"),
            (ErrorKind::Overlong, b"\xC0a", 1, "C0 61 starts an overlong encoding"),
            (
                ErrorKind::MissingContinuation,
                b"\xE0a",
                1,
                "the second byte after E0 must be A0..BF, but is 61",
            ),
            (
                ErrorKind::MissingContinuation,
                b"\xE2\x82a",
                2,
                "the third byte after E2 82 must be 80..BF, but is 61",
            ),
            (ErrorKind::Surrogate, b"\xED\xA0\xBD", 1, "surrogate U+D83D: half of a UTF-16 pair"),
            (ErrorKind::AboveMax, b"\xF4\x90\x80\x80", 1, "U+110000 is above U+10FFFF, the last code point"),
            (ErrorKind::InvalidLead, b"\xFF", 1, "FF is never part of UTF-8"),
        ] {
            assert_eq!(Reason::new(kind, bytes, len).to_string(), words);
        }
    }

    #[test]
    fn errors_in_other_encodings_state_the_reason() {
        for (encoding, kind, bytes, len, words) in [
            (
                Encoding::Utf16Be,
                ErrorKind::UnpairedSurrogate,
                &b"\xD8\x3E\0b"[..],
                2,
                "surrogate D83E without its other half",
            ),
            (
                Encoding::Utf16Le,
                ErrorKind::Truncated,
                b"\x3E\xD8",
                2,
                "surrogate D83E, and the input ends before its other half",
            ),
            (Encoding::Utf16Le, ErrorKind::Truncated, b"a", 1, "the input ends inside a code unit of NAME"),
            (
                Encoding::Utf32Le,
                ErrorKind::AboveMax,
                b"\0\0\x11\0",
                4,
                "110000 is above 10FFFF, the last code point",
            ),
            (
                Encoding::Utf32Be,
                ErrorKind::Surrogate,
                b"\0\0\xD8\0",
                4,
                "D800 is a surrogate, half of a UTF-16 pair",
            ),
            (Encoding::Latin1, ErrorKind::OutsideSubset, b"\xE9a", 1, "E9 is never part of NAME"),
            (
                Encoding::Cesu8,
                ErrorKind::UnpairedSurrogate,
                b"\xED\xA0\xBD",
                3,
                "surrogate D83D without its other half",
            ),
            (Encoding::Cesu8, ErrorKind::Overlong, b"\xC0\xAF", 1, "overlong encoding of U+002F"),
        ] {
            assert_eq!(describe_in(encoding, "NAME", kind, bytes, len), words);
        }
    }
}
