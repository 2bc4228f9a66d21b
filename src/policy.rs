//! What to do about ill-formed sequences and about the BOM.

use core::fmt;
use core::ops::Deref;

/// What becomes of an ill-formed sequence (a maximal subpart, Unicode D93b).
///
/// | policy | `61 E2 82 62` becomes | length | reversible |
/// |---|---|---|---|
/// | `Strict` | an error | - | - |
/// | `Replace` | `a\u{FFFD}b` | changes | no |
/// | `Substitute(?)` | `a??b` | stays | no |
/// | `Escape` | `a\xe2\x82b` | changes | unless the text holds `\x` of its own |
/// | `Latin1` | `aâ\u{82}b` | changes | no |
/// | `Windows1252` | `aâ‚b` | changes | no |
/// | `Skip` | `ab` | changes | no |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorPolicy {
    /// It is an error.
    #[default]
    Strict,
    /// U+FFFD for each maximal subpart: the practice of the Unicode Standard (§3.9) and of the WHATWG Encoding
    /// Standard.
    Replace,
    /// Another character for each maximal subpart.
    ReplaceWith(char),
    /// One ASCII character for each byte, so that lengths (`Content-Length`, frame headers) stay true.
    Substitute(Ascii),
    /// `\xNN`, two lower-case hexadecimal digits for each byte, as Python's `backslashreplace`. A `\x` that stands
    /// in good text is not escaped.
    Escape,
    /// Each byte is the character of that number in ISO 8859-1.
    Latin1,
    /// Each byte is its character in windows-1252, by the table of the WHATWG Encoding Standard, in which the five
    /// unassigned bytes are C1 controls.
    Windows1252,
    /// It vanishes. **Dangerous**: text that a filter saw apart is joined behind its back (UTR #36 §3.5: `<scr` `FF`
    /// `ipt>`). Use it only where nothing judged the text before.
    Skip,
}

impl ErrorPolicy {
    /// The character that replaces a maximal subpart, under the two policies that have one.
    #[inline]
    pub(crate) const fn replacement(self) -> Option<char> {
        match self {
            Self::Replace => Some(char::REPLACEMENT_CHARACTER),
            Self::ReplaceWith(character) => Some(character),
            _ => None,
        }
    }

    /// What takes the place of these bytes; `None` under [`ErrorPolicy::Strict`].
    #[inline]
    pub(crate) fn repair(self, bytes: &[u8]) -> Option<ShortStr> {
        match self {
            Self::Strict => None,
            _ => Some(match self.replacement() {
                Some(character) => character.into(),
                None => self.spell(bytes),
            }),
        }
    }

    /// Some text for each byte.
    fn spell(self, bytes: &[u8]) -> ShortStr {
        let mut text = ShortStr::EMPTY;
        match self {
            Self::Strict | Self::Skip => {}
            Self::Replace => text.push(char::REPLACEMENT_CHARACTER),
            Self::ReplaceWith(character) => text.push(character),
            Self::Substitute(Ascii(ascii)) => bytes.iter().for_each(|_| text.push(char::from(ascii))),
            Self::Escape => {
                for &byte in bytes {
                    let digit = |nibble: u8| char::from(b"0123456789abcdef"[usize::from(nibble & 0xF)]);
                    ['\\', 'x', digit(byte >> 4), digit(byte)].into_iter().for_each(|c| text.push(c));
                }
            }
            Self::Latin1 => bytes.iter().for_each(|&byte| text.push(char::from(byte))),
            Self::Windows1252 => bytes.iter().for_each(|&byte| text.push(windows_1252(byte))),
        }
        text
    }
}

/// An ASCII byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ascii(u8);

impl Ascii {
    /// `?`, what most programs put in the place of a byte they cannot show.
    pub const QUESTION_MARK: Self = Self(b'?');

    /// NUL, which ends the texts of C.
    pub const NUL: Self = Self(0x00);

    /// RECORD SEPARATOR, which separates JSON texts (RFC 7464).
    pub const RECORD_SEPARATOR: Self = Self(0x1E);

    /// `None` if `byte` is above `7F`.
    pub const fn new(byte: u8) -> Option<Self> {
        if byte.is_ascii() { Some(Self(byte)) } else { None }
    }

    /// The byte.
    pub const fn get(self) -> u8 {
        self.0
    }
}

/// What to do about `EF BB BF` at the very start of a stream (RFC 3629 §6). Anywhere else it is U+FEFF, a character
/// like any other. Offsets always count its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum BomPolicy {
    /// It is text.
    #[default]
    Keep,
    /// It is left out.
    Strip,
    /// A stream without it is an error ([`ErrorKind::MissingBom`](crate::ErrorKind)) under every [`ErrorPolicy`];
    /// with it, it is left out.
    Require,
    /// A stream with it is an error ([`ErrorKind::UnexpectedBom`](crate::ErrorKind)) under every [`ErrorPolicy`].
    Reject,
}

/// A few characters that are not borrowed from anywhere: at most 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShortStr {
    bytes: [u8; 32],
    len: u8,
}

impl ShortStr {
    pub(crate) const EMPTY: Self = Self { bytes: [0; 32], len: 0 };

    /// The bytes of the characters, and more of them up to as many as there can be.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// There is room: eight bytes, the longest sequence of any encoding, are 32 when each is escaped.
    fn push(&mut self, character: char) {
        let start = usize::from(self.len);
        self.len += character.encode_utf8(&mut self.bytes[start..]).len() as u8;
    }

    /// The characters.
    #[inline]
    pub fn as_str(&self) -> &str {
        let bytes = &self.bytes[..usize::from(self.len)];
        // SAFETY: `push`, the only place that changes the bytes, writes whole characters.
        #[allow(unsafe_code)]
        unsafe {
            core::str::from_utf8_unchecked(bytes)
        }
    }
}

impl From<char> for ShortStr {
    fn from(character: char) -> Self {
        let mut text = Self::EMPTY;
        text.push(character);
        text
    }
}

impl Deref for ShortStr {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Debug for ShortStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

/// The character of a byte in windows-1252, by the index of the WHATWG Encoding Standard.
pub(crate) const fn windows_1252(byte: u8) -> char {
    const C1: [char; 32] = [
        '\u{20AC}', '\u{81}', '\u{201A}', '\u{192}', '\u{201E}', '\u{2026}', '\u{2020}', '\u{2021}', //
        '\u{2C6}', '\u{2030}', '\u{160}', '\u{2039}', '\u{152}', '\u{8D}', '\u{17D}', '\u{8F}', //
        '\u{90}', '\u{2018}', '\u{2019}', '\u{201C}', '\u{201D}', '\u{2022}', '\u{2013}', '\u{2014}', //
        '\u{2DC}', '\u{2122}', '\u{161}', '\u{203A}', '\u{153}', '\u{9D}', '\u{17E}', '\u{178}',
    ];
    match byte {
        0x80..=0x9F => C1[(byte - 0x80) as usize],
        _ => byte as char,
    }
}
