//! The policies for ill-formed sequences and for the BOM.

use kernels::ShortStr;
use kernels::windows_1252::windows_1252;

/// The policy for an ill-formed sequence (a maximal subpart, Unicode D93b).
///
/// | policy | `61 E2 82 62` becomes | length | reversible |
/// |---|---|---|---|
/// | `Strict` | an error | - | - |
/// | `Replace` | `a\u{FFFD}b` | changes | no |
/// | `ReplaceWith(#)` | `a#b` | changes | no |
/// | `ReplaceAsJava` | `a\u{FFFD}b` | changes | no |
/// | `Substitute(?)` | `a??b` | stays | no |
/// | `Escape` | `a\xe2\x82b` | changes | unless the text itself contains `\x` |
/// | `Latin1` | `aâ\u{82}b` | changes | no |
/// | `Windows1252` | `aâ‚b` | changes | no |
/// | `Skip` | `ab` | changes | no |
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorPolicy {
    /// The sequence is an error.
    #[default]
    Strict,
    /// U+FFFD for each maximal subpart, as recommended by the Unicode Standard (§3.9) and required by the WHATWG
    /// Encoding Standard.
    Replace,
    /// Another character for each maximal subpart. With a line terminator, the output has more lines than the input.
    ReplaceWith(char),
    /// U+FFFD for each maximal subpart, but only one for a surrogate (`ED A0 80`) or the start of one (`ED A0`), as
    /// Java's decoder does (`new String(bytes, UTF_8)`). [`Replace`](Self::Replace) writes one for each of their bytes.
    /// For engines that have to return the same strings as Spark, Trino or another program on the JVM.
    ///
    /// The errors and the counters are the same as for `Replace`: the continuation bytes are errors whose replacement is empty.
    ReplaceAsJava,
    /// One ASCII character for each byte, so that lengths (`Content-Length`, frame headers) stay correct.
    Substitute(Ascii),
    /// `\xNN` for each byte, with two lowercase hexadecimal digits, like Python's `backslashreplace`. A `\x` in
    /// well-formed text is not escaped.
    Escape,
    /// Each byte becomes the ISO 8859-1 character with that number.
    Latin1,
    /// Each byte becomes its windows-1252 character, by the table of the WHATWG Encoding Standard. In this table the 5
    /// unassigned bytes are C1 controls.
    Windows1252,
    /// The sequence is removed. **Dangerous**: parts of the text that were separate for an earlier filter are joined
    /// (UTR #36 §3.5: `<scr` `FF` `ipt>`). Use it only if no filter has read the input before.
    Skip,
}

impl ErrorPolicy {
    /// Returns the maximum number of bytes of UTF-8 that `input_len` bytes of input of a
    /// [`TextDecoder`](crate::TextDecoder) can become, including those pending in it. Returns `None` if the number does
    /// not fit in a `u64`. Text in another encoding can become longer, also without an error.
    ///
    /// ```
    /// use utf8_codec::ErrorPolicy;
    ///
    /// assert_eq!(ErrorPolicy::Strict.max_output_len(100), Some(100));
    /// assert_eq!(ErrorPolicy::Replace.max_output_len(100), Some(300)); // U+FFFD has 3 bytes
    /// assert_eq!(ErrorPolicy::Escape.max_output_len(100), Some(400));
    /// ```
    pub const fn max_output_len(self, input_len: u64) -> Option<u64> {
        let per_byte = match self {
            Self::Strict | Self::Substitute(_) | Self::Skip => 1,
            Self::Latin1 => 2,
            // U+20AC and others have 3 bytes.
            Self::Windows1252 => 3,
            Self::Escape => 4,
            Self::Replace | Self::ReplaceAsJava => char::REPLACEMENT_CHARACTER.len_utf8() as u64,
            // The shortest maximal subpart has 1 byte.
            Self::ReplaceWith(character) => character.len_utf8() as u64,
        };
        input_len.checked_mul(per_byte)
    }

    /// Returns the minimum number of bytes of UTF-8 that `input_len` bytes of input of a
    /// [`TextDecoder`](crate::TextDecoder) can become, if none of them is reported as an error and no BOM is removed.
    ///
    /// ```
    /// use utf8_codec::{Ascii, ErrorPolicy};
    ///
    /// assert_eq!(ErrorPolicy::Substitute(Ascii::QUESTION_MARK).min_output_len(100), 100);
    /// // A character of 4 bytes outside an adopted subset becomes one U+FFFD.
    /// assert_eq!(ErrorPolicy::Replace.min_output_len(100), 75);
    /// assert_eq!(ErrorPolicy::Skip.min_output_len(100), 0);
    /// ```
    pub const fn min_output_len(self, input_len: u64) -> u64 {
        match (self, self.replacement()) {
            (Self::Skip, _) => 0,
            // At most 4 bytes, a character outside the adopted subset, become one replacement character.
            (_, Some(character)) => {
                let len = character.len_utf8() as u64;
                let rest = input_len % 4;
                // The last 1 to 3 bytes become one more, or are text if that is shorter.
                input_len / 4 * len + if rest < len { rest } else { len }
            }
            (_, None) => input_len,
        }
    }

    /// Whether every replacement has the same length as the sequence that it replaces.
    pub const fn keeps_len(self) -> bool {
        matches!(self, Self::Strict | Self::Substitute(_))
    }

    /// Returns the character that replaces a maximal subpart under `Replace`, `ReplaceWith` and `ReplaceAsJava`. The other
    /// policies have none.
    #[inline]
    pub(crate) const fn replacement(self) -> Option<char> {
        match self {
            Self::Replace | Self::ReplaceAsJava => Some(char::REPLACEMENT_CHARACTER),
            Self::ReplaceWith(character) => Some(character),
            _ => None,
        }
    }

    /// Returns the text that replaces these bytes.
    #[inline(never)]
    pub(super) fn byte_by_byte(self, bytes: &[u8]) -> ShortStr {
        let mut text = ShortStr::EMPTY;
        self.replace(bytes, |character| text.push(character));
        text
    }

    /// Calls `push` with each character that replaces these bytes. There is none under [`ErrorPolicy::Strict`].
    #[inline]
    pub(super) fn replace(self, bytes: &[u8], mut push: impl FnMut(char)) {
        match self {
            Self::Strict | Self::Skip => {}
            Self::Replace | Self::ReplaceAsJava => push(char::REPLACEMENT_CHARACTER),
            Self::ReplaceWith(character) => push(character),
            Self::Substitute(Ascii(ascii)) => bytes.iter().for_each(|_| push(char::from(ascii))),
            Self::Escape => {
                for &byte in bytes {
                    push('\\');
                    push('x');
                    push(digit(byte >> 4));
                    push(digit(byte));
                }
            }
            Self::Latin1 => bytes.iter().for_each(|&byte| push(char::from(byte))),
            Self::Windows1252 => bytes.iter().for_each(|&byte| push(windows_1252(byte))),
        }
    }
}

/// Returns the hexadecimal digit of the low 4 bits.
const fn digit(nibble: u8) -> char {
    b"0123456789abcdef"[(nibble & 0xF) as usize] as char
}

choices! {
    "policy":
    /// The policy for `EF BB BF` at the start of a stream (RFC 3629 §6). After the start these bytes are U+FEFF, a normal
    /// character. Offsets always include them.
    #[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
    #[non_exhaustive]
    pub enum BomPolicy {
        /// The BOM is kept as text.
        #[default]
        Keep = "keep",
        /// The BOM is removed.
        Strip = "strip",
        /// A stream without a BOM is an error ([`ErrorKind::MissingBom`](crate::ErrorKind)) under every
        /// [`ErrorPolicy`](crate::ErrorPolicy). The BOM is removed.
        Require = "require",
        /// A stream with a BOM is an error ([`ErrorKind::UnexpectedBom`](crate::ErrorKind)) under every
        /// [`ErrorPolicy`](crate::ErrorPolicy).
        Reject = "reject",
    }
}

/// An ASCII byte.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Ascii(u8);

impl Ascii {
    /// `?`, the usual replacement for a byte that cannot be displayed.
    pub const QUESTION_MARK: Self = Self(b'?');

    /// NUL, which terminates a C string.
    pub const NUL: Self = Self(0x00);

    /// RECORD SEPARATOR, which separates JSON texts (RFC 7464).
    pub const RECORD_SEPARATOR: Self = Self(0x1E);

    /// Creates an ASCII byte. Returns `None` if `byte` is above `7F`.
    pub const fn new(byte: u8) -> Option<Self> {
        if byte.is_ascii() { Some(Self(byte)) } else { None }
    }

    /// Returns the byte.
    pub const fn get(self) -> u8 {
        self.0
    }
}

impl From<Ascii> for u8 {
    fn from(ascii: Ascii) -> Self {
        ascii.0
    }
}

impl From<Ascii> for char {
    fn from(ascii: Ascii) -> Self {
        Self::from(ascii.0)
    }
}
