//! Encoding: from code points to bytes.

use kernels::windows_1252::windows_1252;

use super::item::{EncodedSequence, pair};
use super::legacy::LegacyTarget;
use super::source::is_surrogate;
use super::switches::Switches;
use crate::encoding::Encoding;

/// A target encoding and its options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Target {
    encoding: Encoding,
    switches: Switches,
    legacy: Option<LegacyTarget>,
}

impl Target {
    pub(super) const fn new(encoding: Encoding, switches: Switches) -> Self {
        Self { encoding, switches, legacy: LegacyTarget::of(encoding) }
    }

    /// Returns the legacy encoding.
    #[inline]
    pub(super) const fn legacy(&self) -> Option<&LegacyTarget> {
        self.legacy.as_ref()
    }

    /// Called after each sequence and each block that is written, with its bytes.
    #[inline]
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        if let Some(legacy) = &mut self.legacy {
            legacy.advance(bytes);
        }
    }

    /// Returns the bytes that end the output.
    pub(super) fn end(&self) -> &'static [u8] {
        self.legacy.as_ref().map_or(&[], LegacyTarget::end)
    }

    pub(super) const fn switches(&self) -> Switches {
        self.switches
    }

    pub(super) const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Whether every character has the same encoding as in UTF-8.
    pub(super) const fn writes_utf_8(&self) -> bool {
        match self.encoding {
            Encoding::Utf8 | Encoding::Wtf8 | Encoding::Utf8b => true,
            Encoding::Utf8Ucs4 => !self.switches.reject_fffe_ffff,
            _ => false,
        }
    }

    /// Returns how many bytes a byte of UTF-8 becomes at most, if the encoding has all characters and no state.
    pub(super) const fn expansion(&self) -> Option<usize> {
        match self.encoding {
            _ if self.writes_utf_8() => Some(1),
            Encoding::Utf16Le | Encoding::Utf16Be | Encoding::Cesu8 | Encoding::ModifiedUtf8 => Some(2),
            Encoding::Utf32Le | Encoding::Utf32Be => Some(4),
            _ => None,
        }
    }

    /// Whether the encoding can have a high surrogate without a low one, and joins it with a low surrogate after it.
    pub(super) const fn has_high_surrogates(&self) -> bool {
        match self.encoding {
            Encoding::Wtf8 => true,
            Encoding::Cesu8 | Encoding::ModifiedUtf8 | Encoding::Utf16Le | Encoding::Utf16Be => {
                self.switches.surrogates
            }
            _ => false,
        }
    }

    /// Whether encoded text ends with a high surrogate. The encoding [has them](Self::has_high_surrogates).
    pub(super) fn ends_with_high_surrogate(&self, text: &[u8]) -> bool {
        match self.encoding {
            Encoding::Utf16Le => matches!(text, [.., 0xD8..=0xDB]),
            Encoding::Utf16Be => matches!(text, [.., 0xD8..=0xDB, _]),
            _ => matches!(text, [.., 0xED, 0xA0..=0xAF, _]),
        }
    }

    /// Encodes a code point. Returns `None` if the encoding does not have it.
    #[inline]
    pub(super) fn encode(&self, value: u32) -> Option<EncodedSequence> {
        if let Some(legacy) = &self.legacy {
            return legacy.encode(char::from_u32(value)?);
        }
        if is_surrogate(value) {
            return self.encode_surrogate(value);
        }
        let sequence = match self.encoding {
            Encoding::Utf8Ucs4 => {
                if matches!(value, 0xFFFE | 0xFFFF) && self.switches.reject_fffe_ffff {
                    return None;
                }
                EncodedSequence::of_value(value)
            }
            Encoding::Utf32Le => EncodedSequence::of(value.to_le_bytes()),
            Encoding::Utf32Be => EncodedSequence::of(value.to_be_bytes()),
            _ if value > 0x10_FFFF => return None,
            Encoding::Utf8 | Encoding::Wtf8 | Encoding::Utf8b => EncodedSequence::of_value(value),
            Encoding::ModifiedUtf8 if value == 0 => EncodedSequence::of([0xC0, 0x80]),
            Encoding::Cesu8 | Encoding::ModifiedUtf8 => match value {
                0x1_0000.. => EncodedSequence::of_pair(value),
                _ => EncodedSequence::of_value(value),
            },
            Encoding::Utf16Le | Encoding::Utf16Be => match value {
                0x1_0000.. => {
                    let [[a, b], [c, d]] = pair(value).map(|unit| self.unit(unit));
                    EncodedSequence::of([a, b, c, d])
                }
                _ => EncodedSequence::of(self.unit(value as u16)),
            },
            Encoding::Latin1 => EncodedSequence::of([u8::try_from(value).ok()?]),
            Encoding::Windows1252 => EncodedSequence::of([encode_windows_1252(value)?]),
            _ => return None,
        };
        Some(sequence)
    }

    fn encode_surrogate(&self, value: u32) -> Option<EncodedSequence> {
        match self.encoding {
            Encoding::Wtf8 => Some(EncodedSequence::of_value(value)),
            // PEP 383: bytes below 80 are never escaped.
            Encoding::Utf8b if matches!(value, 0xDC80..=0xDCFF) => Some(EncodedSequence::of([value as u8])),
            Encoding::Utf8 | Encoding::Utf8b | Encoding::Latin1 | Encoding::Windows1252 => None,
            _ if !self.switches.surrogates => None,
            Encoding::Utf8Ucs4 | Encoding::Cesu8 | Encoding::ModifiedUtf8 => {
                Some(EncodedSequence::of_value(value))
            }
            Encoding::Utf16Le | Encoding::Utf16Be => Some(EncodedSequence::of(self.unit(value as u16))),
            Encoding::Utf32Le => Some(EncodedSequence::of(value.to_le_bytes())),
            Encoding::Utf32Be => Some(EncodedSequence::of(value.to_be_bytes())),
            _ => None,
        }
    }

    /// Encodes a UTF-16 code unit in the byte order of the encoding.
    fn unit(&self, unit: u16) -> [u8; 2] {
        if matches!(self.encoding, Encoding::Utf16Be) { unit.to_be_bytes() } else { unit.to_le_bytes() }
    }
}

pub(super) fn encode_windows_1252(value: u32) -> Option<u8> {
    match value {
        0x00..=0x7F | 0xA0..=0xFF => Some(value as u8),
        _ => (0x80..=0x9F).find(|&byte| windows_1252(byte) as u32 == value),
    }
}
