//! Decoding: from bytes to code points.
//!
//! [`Source::read`] decodes the first item of a slice that starts between code points. It has no state: the bytes of an
//! unfinished sequence are passed again, followed by more bytes. A result other than [`Item::Unfinished`] does not
//! depend on later bytes, so the results do not depend on how the stream is split into chunks.

use kernels::grammar::{Machine, Sequence, UTF_8};
use kernels::windows_1252::windows_1252;
use utf8_codec::ErrorKind;

use super::item::Item;
use super::legacy::LegacySource;
use super::switches::Switches;
use crate::encoding::Encoding;
use crate::encoding::dialects::{
    CESU_8, LENIENT_MODIFIED_UTF_8, LOW_SURROGATE, MODIFIED_UTF_8, UCS_4, UCS_4_AND_SURROGATES, WTF_8,
};

/// The length of the longest unfinished sequence: in UTF-7, two surrogates in two shifts, of which the next byte shows
/// whether the second shift ends.
pub(super) const MAX_UNFINISHED: usize = 8;
/// The length of the longest sequence: two surrogates in UTF-32 or UTF-7.
pub(super) const MAX_SEQUENCE: usize = 8;

/// The decoder for the units of an encoding.
#[derive(Clone, Copy, Debug)]
enum Units {
    Bytes(&'static Machine),
    Utf8b,
    Utf16 { big_endian: bool },
    Utf32 { big_endian: bool },
    Latin1,
    Windows1252,
    Legacy(LegacySource),
}

/// How a high surrogate followed by a low surrogate is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Pairs {
    /// As two code points, if the encoding allows surrogates.
    Apart,
    /// As one code point.
    Joined,
    /// As ill-formed, although each surrogate alone is well-formed.
    IllFormed,
}

/// A source encoding and its options.
#[derive(Clone, Copy, Debug)]
pub(super) struct Source {
    encoding: Encoding,
    units: Units,
    pairs: Pairs,
    /// Whether an unpaired surrogate is a code point.
    lone: bool,
    reject_fffe_ffff: bool,
    reads_utf_8: bool,
}

impl Source {
    /// Creates a source. It depends on the target encoding `to`, because some targets require joined pairs.
    pub(super) const fn new(encoding: Encoding, to: Encoding, switches: Switches) -> Self {
        let units = match encoding {
            Encoding::Utf8 => Units::Bytes(&UTF_8),
            Encoding::Utf8Ucs4 if switches.surrogates => Units::Bytes(&UCS_4_AND_SURROGATES),
            Encoding::Utf8Ucs4 => Units::Bytes(&UCS_4),
            Encoding::Cesu8 => Units::Bytes(&CESU_8),
            Encoding::ModifiedUtf8 if switches.lenient_java => Units::Bytes(&LENIENT_MODIFIED_UTF_8),
            Encoding::ModifiedUtf8 => Units::Bytes(&MODIFIED_UTF_8),
            Encoding::Wtf8 => Units::Bytes(&WTF_8),
            Encoding::Utf8b => Units::Utf8b,
            Encoding::Utf16Le => Units::Utf16 { big_endian: false },
            Encoding::Utf16Be => Units::Utf16 { big_endian: true },
            Encoding::Utf32Le => Units::Utf32 { big_endian: false },
            Encoding::Utf32Be => Units::Utf32 { big_endian: true },
            Encoding::Latin1 => Units::Latin1,
            Encoding::Windows1252 => Units::Windows1252,
            _ => Units::Legacy(LegacySource::new(encoding)),
        };
        let pairs = match encoding {
            Encoding::Cesu8 | Encoding::ModifiedUtf8 | Encoding::Utf16Le | Encoding::Utf16Be => Pairs::Joined,
            Encoding::Wtf8 if switches.reject_pairs => Pairs::IllFormed,
            Encoding::Wtf8 => Pairs::Joined,
            // In WTF-8 two surrogates must not be a pair, in the others they cannot be anything else.
            _ if switches.surrogates
                && matches!(
                    to,
                    Encoding::Wtf8
                        | Encoding::Cesu8
                        | Encoding::ModifiedUtf8
                        | Encoding::Utf16Le
                        | Encoding::Utf16Be
                ) =>
            {
                Pairs::Joined
            }
            _ => Pairs::Apart,
        };
        let reads_utf_8 = match encoding {
            Encoding::Utf8 | Encoding::Wtf8 | Encoding::Utf8b => true,
            Encoding::Utf8Ucs4 => !switches.reject_fffe_ffff,
            Encoding::ModifiedUtf8 => switches.lenient_java,
            _ => false,
        };
        Self {
            encoding,
            units,
            pairs,
            lone: switches.surrogates || matches!(encoding, Encoding::Wtf8),
            reject_fffe_ffff: switches.reject_fffe_ffff && matches!(encoding, Encoding::Utf8Ucs4),
            reads_utf_8,
        }
    }

    pub(super) const fn encoding(&self) -> Encoding {
        self.encoding
    }

    /// Returns the legacy encoding.
    #[inline]
    pub(super) const fn legacy(&self) -> Option<&LegacySource> {
        match &self.units {
            Units::Legacy(legacy) => Some(legacy),
            _ => None,
        }
    }

    /// Called after each item and each block with its bytes.
    #[inline]
    pub(super) fn advance(&mut self, bytes: &[u8]) {
        if let Units::Legacy(legacy) = &mut self.units {
            legacy.advance(bytes);
        }
    }

    /// Called at the end of a stream, which another one may follow.
    pub(super) const fn restart(&mut self) {
        if let Units::Legacy(legacy) = &mut self.units {
            legacy.restart();
        }
    }

    /// Whether this encoding decodes well-formed UTF-8 to the same code points.
    pub(super) const fn reads_utf_8(&self) -> bool {
        self.reads_utf_8
    }

    /// Decodes the first item of `bytes`. The slice must not be empty.
    #[inline]
    pub(super) fn read(&self, bytes: &[u8]) -> Item {
        let (value, len) = match self.unit(bytes) {
            Item::CodePoint { value, len } => (value, len),
            other => return other,
        };
        if !is_surrogate(value) || matches!(self.units, Units::Utf8b) {
            return match value {
                0xFFFE | 0xFFFF if self.reject_fffe_ffff => {
                    Item::IllFormed { kind: ErrorKind::Noncharacter, len }
                }
                _ => Item::CodePoint { value, len },
            };
        }
        if !is_high(value) || self.pairs == Pairs::Apart {
            return self.unpaired(value, len);
        }
        match self.low(&bytes[len..]) {
            Item::CodePoint { value: low, len: low_len } => match self.pairs {
                Pairs::IllFormed => Item::IllFormed { kind: ErrorKind::Surrogate, len: len + low_len },
                _ => Item::CodePoint {
                    value: 0x1_0000 + ((value & 0x3FF) << 10 | low & 0x3FF),
                    len: len + low_len,
                },
            },
            Item::Unfinished => Item::Unfinished,
            _ => self.unpaired(value, len),
        }
    }

    /// Decodes `bytes` at the end of the stream. [`read`](Self::read) must have returned [`Item::Unfinished`] for them.
    pub(super) fn read_last(&self, bytes: &[u8]) -> Item {
        if let Some(legacy) = self.legacy() {
            return legacy.read_last(bytes);
        }
        match (self.unit(bytes), self.units) {
            (Item::CodePoint { value, len }, _) if self.lone => Item::CodePoint { value, len },
            (_, Units::Utf8b) => Item::CodePoint { value: 0xDC00 | u32::from(bytes[0]), len: 1 },
            _ => Item::IllFormed { kind: ErrorKind::Truncated, len: bytes.len() },
        }
    }

    fn unpaired(&self, value: u32, len: usize) -> Item {
        if self.lone {
            return Item::CodePoint { value, len };
        }
        let kind = match self.pairs {
            Pairs::Joined => ErrorKind::UnpairedSurrogate,
            Pairs::Apart | Pairs::IllFormed => ErrorKind::Surrogate,
        };
        Item::IllFormed { kind, len }
    }

    /// Decodes one code unit, or one sequence if the code unit is a byte.
    #[inline]
    fn unit(&self, bytes: &[u8]) -> Item {
        match self.units {
            Units::Bytes(machine) => machine.sequence(bytes).into(),
            Units::Utf8b => match UTF_8.sequence(bytes) {
                Sequence::IllFormed { .. } => Item::CodePoint { value: 0xDC00 | u32::from(bytes[0]), len: 1 },
                unit => unit.into(),
            },
            Units::Utf16 { big_endian } => match *bytes {
                [a, b, ..] => Item::CodePoint { value: u32::from(utf_16_unit([a, b], big_endian)), len: 2 },
                _ => Item::Unfinished,
            },
            Units::Utf32 { big_endian } => match *bytes {
                [a, b, c, d, ..] => {
                    let unit = [a, b, c, d];
                    let value = if big_endian { u32::from_be_bytes(unit) } else { u32::from_le_bytes(unit) };
                    if value > 0x7FFF_FFFF {
                        return Item::IllFormed { kind: ErrorKind::AboveMax, len: 4 };
                    }
                    Item::CodePoint { value, len: 4 }
                }
                _ => Item::Unfinished,
            },
            Units::Latin1 => Item::CodePoint { value: u32::from(bytes[0]), len: 1 },
            Units::Windows1252 => Item::CodePoint { value: windows_1252(bytes[0]).into(), len: 1 },
            Units::Legacy(ref legacy) => legacy.read(bytes),
        }
    }

    /// Decodes a low surrogate at the start of `bytes`, which may be empty. Returns [`Item::IllFormed`] if there is
    /// none. Half a code unit is [`Item::Unfinished`] for every value, as in the decoders of the WHATWG Encoding
    /// Standard.
    fn low(&self, bytes: &[u8]) -> Item {
        if bytes.is_empty() {
            return Item::Unfinished;
        }
        let never = Item::IllFormed { kind: ErrorKind::UnpairedSurrogate, len: 0 };
        match self.units {
            Units::Bytes(_) => LOW_SURROGATE.sequence(bytes).into(),
            _ => match self.unit(bytes) {
                Item::CodePoint { value, .. } if !is_low(value) => never,
                item => item,
            },
        }
    }
}

#[inline]
const fn utf_16_unit(bytes: [u8; 2], big_endian: bool) -> u16 {
    if big_endian { u16::from_be_bytes(bytes) } else { u16::from_le_bytes(bytes) }
}

pub(super) const fn is_surrogate(value: u32) -> bool {
    matches!(value, 0xD800..=0xDFFF)
}

pub(super) const fn is_high(value: u32) -> bool {
    matches!(value, 0xD800..=0xDBFF)
}

pub(super) const fn is_low(value: u32) -> bool {
    matches!(value, 0xDC00..=0xDFFF)
}
