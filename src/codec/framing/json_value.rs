//! The end of a JSON value in a JSON text sequence.

use memchr::{memchr2, memchr3};

/// The record separator RS. JSON text does not contain it, not even in a string.
pub(super) const SEPARATOR: u8 = 0x1E;

/// Whether a byte is white space of JSON (`ws` in RFC 8259).
#[inline]
pub(super) const fn is_white_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t' | b'\n' | b'\r')
}

/// The part of a text that was read so far. Brackets are counted, not matched: a parser rejects `[}`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum JsonValue {
    /// Only white space.
    Blank,
    /// A number, a literal, or something that is not JSON. White space completes it.
    Bare,
    /// In objects and arrays.
    Open { depth: u64 },
    /// In a string, in objects and arrays if `depth` is not 0.
    String { depth: u64, is_escaped: bool },
    /// The value is complete. Other bytes may have followed it.
    Complete,
}

impl JsonValue {
    /// Reads the next bytes of a text. Returns the position of its end: an LF after a complete value, or an RS.
    #[inline]
    pub(super) fn find_end(&mut self, bytes: &[u8]) -> Option<usize> {
        let mut at = 0;
        loop {
            let rest = bytes.get(at..)?;
            at += match self {
                Self::String { is_escaped: false, .. } => memchr3(b'"', b'\\', SEPARATOR, rest)?,
                Self::Complete => memchr2(b'\n', SEPARATOR, rest)?,
                _ => 0,
            };
            let byte = *bytes.get(at)?;
            if byte == SEPARATOR {
                return Some(at);
            }
            *self = self.with(byte);
            if byte == b'\n' && *self == Self::Complete {
                return Some(at);
            }
            at += 1;
        }
    }

    /// Returns the state after the next byte.
    #[inline]
    const fn with(self, byte: u8) -> Self {
        match (self, byte) {
            (Self::Blank | Self::Bare, byte) if is_white_space(byte) => match self {
                Self::Blank => Self::Blank,
                _ => Self::Complete,
            },
            (Self::Blank, b'{' | b'[') => Self::Open { depth: 1 },
            (Self::Blank, b'"') => Self::String { depth: 0, is_escaped: false },
            (Self::Blank | Self::Bare, _) => Self::Bare,
            (Self::Open { depth }, b'{' | b'[') => Self::Open { depth: depth.saturating_add(1) },
            (Self::Open { depth }, b'}' | b']') => Self::closed(depth - 1),
            (Self::Open { depth }, b'"') => Self::String { depth, is_escaped: false },
            (Self::String { depth, is_escaped: false }, b'"') => Self::closed(depth),
            (Self::String { depth, is_escaped: false }, b'\\') => Self::String { depth, is_escaped: true },
            (Self::String { depth, .. }, _) => Self::String { depth, is_escaped: false },
            (Self::Open { .. } | Self::Complete, _) => self,
        }
    }

    /// Returns the state after the end of a string, an object or an array in `depth` others.
    #[inline]
    const fn closed(depth: u64) -> Self {
        if depth == 0 { Self::Complete } else { Self::Open { depth } }
    }
}
