//! Encodings and their names.

use core::fmt::{self, Write};
use core::str::FromStr;

/// An encoding, byte order included.
///
/// | encoding | bytes of a code point | code points | source |
/// |---|---|---|---|
/// | [`Utf8`](Self::Utf8) | 1-4 | U+0000..U+10FFFF except surrogates | RFC 3629 §4 |
/// | [`Utf8Ucs4`](Self::Utf8Ucs4) | 1-6 | 0..=7FFFFFFF except surrogates | RFC 2279 §2, ISO/IEC 10646-1 Annex R |
/// | [`Cesu8`](Self::Cesu8) | 1-3, pairs 6 | as UTF-8 | Unicode Technical Report #26 |
/// | [`ModifiedUtf8`](Self::ModifiedUtf8) | 1-3, pairs 6, NUL 2 | as UTF-8 | `java.io.DataInput` |
/// | [`Wtf8`](Self::Wtf8) | 1-4 | U+0000..U+10FFFF, surrogates if unpaired | the WTF-8 encoding |
/// | [`Utf8b`](Self::Utf8b) | 1-4 | as UTF-8, and any byte | PEP 383 |
/// | [`Utf16Le`](Self::Utf16Le), [`Utf16Be`](Self::Utf16Be) | 2, pairs 4 | as UTF-8 | RFC 2781, Unicode D91 |
/// | [`Utf32Le`](Self::Utf32Le), [`Utf32Be`](Self::Utf32Be) | 4 | 0..=7FFFFFFF except surrogates | UCS-4, Unicode D90 |
/// | [`Latin1`](Self::Latin1) | 1 | U+0000..U+00FF | ISO/IEC 8859-1 and the control characters |
/// | [`Windows1252`](Self::Windows1252) | 1 | 256 characters | WHATWG Encoding Standard |
///
/// [`Switches`](crate::transcode::Switches) selects among the behaviors that the standards leave open. `Display` writes
/// the name, and `FromStr` parses it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
#[non_exhaustive]
pub enum Encoding {
    /// UTF-8, `utf-8`.
    Utf8,
    /// UTF-8 as defined in RFC 2279, with sequences of up to 6 bytes and values of 31 bits, `utf-8-ucs4`.
    Utf8Ucs4,
    /// CESU-8, `cesu-8`: each UTF-16 code unit encoded as in UTF-8.
    Cesu8,
    /// Java's UTF-8, `modified-utf-8`: CESU-8 with `C0 80` for U+0000. Used by class files, `writeUTF` and JNI.
    ModifiedUtf8,
    /// UTF-8 with unpaired surrogates, `wtf-8`, for Windows file names and JavaScript strings.
    ///
    /// The stream is read as concatenated strings, as the WTF-8 specification defines concatenation: a high surrogate
    /// followed by a low one becomes one supplementary character, also across chunks. In a single string such a pair is
    /// ill-formed. [`Switches::with_reject_pairs`](crate::transcode::Switches::with_reject_pairs) makes it an error.
    Wtf8,
    /// UTF-8 in which each byte of an ill-formed sequence is represented by one of U+DC80..U+DCFF, `utf-8b`: Python's
    /// `surrogateescape`. Any bytes can be decoded, and encoding restores them.
    ///
    /// As in PEP 383, bytes below 80 are never escaped, and only U+DC80..U+DCFF are encoded as single bytes. Encoding
    /// and then decoding does not restore all code points: U+DCC3 U+DCA9 is encoded as `C3 A9`, which is decoded as
    /// U+00E9.
    Utf8b,
    /// UTF-16, little-endian, `utf-16le`. The UCS-2 input that RFC 2279 describes, with its surrogate pairs joined, is
    /// this encoding or [`Utf16Be`](Self::Utf16Be).
    Utf16Le,
    /// UTF-16, big-endian, `utf-16be`.
    Utf16Be,
    /// UTF-32, little-endian, `utf-32le`.
    Utf32Le,
    /// UTF-32, big-endian, `utf-32be`: the four-byte canonical form of ISO/IEC 10646-1, UCS-4.
    Utf32Be,
    /// ISO 8859-1, `latin1`: each byte is the character with that number.
    Latin1,
    /// windows-1252 by the index of the WHATWG Encoding Standard, `windows-1252`: the bytes 81, 8D, 8F, 90 and 9D are
    /// C1 controls.
    Windows1252,
}

impl Encoding {
    /// Every encoding, in declaration order.
    #[rustfmt::skip]
    pub const ALL: &'static [Self] = &[
        Self::Utf8, Self::Utf8Ucs4, Self::Cesu8, Self::ModifiedUtf8, Self::Wtf8, Self::Utf8b, Self::Utf16Le,
        Self::Utf16Be, Self::Utf32Le, Self::Utf32Be, Self::Latin1, Self::Windows1252,
    ];

    /// Returns the name that the command line and `Display` use.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Utf8 => "utf-8",
            Self::Utf8Ucs4 => "utf-8-ucs4",
            Self::Cesu8 => "cesu-8",
            Self::ModifiedUtf8 => "modified-utf-8",
            Self::Wtf8 => "wtf-8",
            Self::Utf8b => "utf-8b",
            Self::Utf16Le => "utf-16le",
            Self::Utf16Be => "utf-16be",
            Self::Utf32Le => "utf-32le",
            Self::Utf32Be => "utf-32be",
            Self::Latin1 => "latin1",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// Returns the name for use in a sentence.
    pub(crate) const fn title(self) -> &'static str {
        match self {
            Self::Utf8 => "UTF-8",
            Self::Utf8Ucs4 => "UTF-8 of RFC 2279",
            Self::Cesu8 => "CESU-8",
            Self::ModifiedUtf8 => "Modified UTF-8",
            Self::Wtf8 => "WTF-8",
            Self::Utf8b => "UTF-8b",
            Self::Utf16Le => "UTF-16LE",
            Self::Utf16Be => "UTF-16BE",
            Self::Utf32Le => "UTF-32LE",
            Self::Utf32Be => "UTF-32BE",
            Self::Latin1 => "ISO 8859-1",
            Self::Windows1252 => "windows-1252",
        }
    }

    /// Returns the other names that [`FromStr`] parses, in lowercase and without `-`, `_` and spaces. They include
    /// `utf16` and `utf32`.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        ALIASES.iter().filter(move |(_, encoding)| *encoding == self).map(|&(alias, _)| alias)
    }

    /// Returns the encoding for a `charset` label on the web. It supports the labels of the WHATWG Encoding Standard
    /// for the encodings of this type, and the descriptors of ISO/IEC 10646-1 Annex M, such as `ISO 10646 part-1
    /// utf-8`. Case and ASCII whitespace around the label are ignored.
    ///
    /// The label `latin1` is windows-1252 here, as on the web. [`FromStr`] parses it as ISO 8859-1.
    ///
    /// **`unicode-1-1-utf-8`** was registered by RFC 2279 §5 only for text with Hangul syllables at the code points
    /// that they had before Amendment 5 of ISO/IEC 10646. Here it is UTF-8, as on the web. Hangul in such text would
    /// become other characters, but no such text is known.
    pub fn for_label(label: impl AsRef<[u8]>) -> Option<Self> {
        let label = label.as_ref().trim_ascii();
        LABELS.iter().find_map(|&(encoding, labels)| {
            labels.iter().any(|known| label.eq_ignore_ascii_case(known.as_bytes())).then_some(encoding)
        })
    }

    /// Returns the BOM with which a stream may start: U+FEFF in this encoding (ISO/IEC 10646-1 Annex F). Returns `None`
    /// if the encoding does not have this character.
    pub const fn bom(self) -> Option<&'static [u8]> {
        match self {
            Self::Utf8 | Self::Utf8Ucs4 | Self::Cesu8 | Self::ModifiedUtf8 | Self::Wtf8 | Self::Utf8b => {
                Some(&[0xEF, 0xBB, 0xBF])
            }
            Self::Utf16Le => Some(&[0xFF, 0xFE]),
            Self::Utf16Be => Some(&[0xFE, 0xFF]),
            Self::Utf32Le => Some(&[0xFF, 0xFE, 0, 0]),
            Self::Utf32Be => Some(&[0, 0, 0xFE, 0xFF]),
            Self::Latin1 | Self::Windows1252 => None,
        }
    }

    /// Returns the object descriptor of ISO/IEC 10646-1 Annex M.3, for the encodings that Amendments 1 and 2 name
    /// there.
    pub const fn descriptor(self) -> Option<&'static str> {
        match self {
            Self::Utf8 | Self::Utf8Ucs4 => Some("ISO 10646 part-1 utf-8"),
            Self::Utf16Be => Some("ISO 10646 part-1 utf-16"),
            _ => None,
        }
    }

    /// Returns the last arc of the object identifier of this encoding in ISO/IEC 10646-1 Annex M.3: its name and its
    /// number. Returns `None` if the annex does not name the encoding.
    pub const fn arc(self) -> Option<(&'static str, u32)> {
        match self {
            Self::Utf8 | Self::Utf8Ucs4 => Some(("UTF8-form", 8)),
            Self::Utf16Be => Some(("transformation-format-16", 5)),
            _ => None,
        }
    }
}

/// The labels of the WHATWG Encoding Standard §4.2, "Names and labels", and the descriptors of Annex M.
#[rustfmt::skip]
const LABELS: [(Encoding, &[&str]); 4] = [
    (Encoding::Utf8, &[
        "utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8",
        "iso 10646 part-1 utf-8",
    ]),
    (Encoding::Windows1252, &[
        "windows-1252", "iso-8859-1", "latin1", "us-ascii", "ascii", "ansi_x3.4-1968", "cp1252", "cp819",
        "csisolatin1", "ibm819", "iso-ir-100", "iso8859-1", "iso88591", "iso_8859-1", "iso_8859-1:1987", "l1",
        "x-cp1252",
    ]),
    (Encoding::Utf16Le, &[
        "utf-16", "utf-16le", "csunicode", "iso-10646-ucs-2", "ucs-2", "unicode", "unicodefeff",
    ]),
    (Encoding::Utf16Be, &["utf-16be", "unicodefffe", "iso 10646 part-1 utf-16"]),
];

/// Other names that [`FromStr`] parses, in lowercase and without `-`, `_` and spaces.
const ALIASES: [(&str, Encoding); 28] = [
    ("unicode11utf8", Encoding::Utf8),
    ("rfc2279", Encoding::Utf8Ucs4),
    ("utf8rfc2279", Encoding::Utf8Ucs4),
    ("mutf8", Encoding::ModifiedUtf8),
    ("java", Encoding::ModifiedUtf8),
    ("javautf8", Encoding::ModifiedUtf8),
    ("surrogateescape", Encoding::Utf8b),
    ("utf8surrogateescape", Encoding::Utf8b),
    ("utf16", Encoding::Utf16Le),
    ("ucs2", Encoding::Utf16Le),
    ("ucs2le", Encoding::Utf16Le),
    ("iso10646ucs2", Encoding::Utf16Le),
    ("ucs2be", Encoding::Utf16Be),
    ("utf32", Encoding::Utf32Le),
    ("ucs4le", Encoding::Utf32Le),
    ("ucs4", Encoding::Utf32Be),
    ("ucs4be", Encoding::Utf32Be),
    ("iso10646ucs4", Encoding::Utf32Be),
    ("l1", Encoding::Latin1),
    ("iso88591", Encoding::Latin1),
    ("iso88591:1987", Encoding::Latin1),
    ("isoir100", Encoding::Latin1),
    ("csisolatin1", Encoding::Latin1),
    ("ibm819", Encoding::Latin1),
    ("cp819", Encoding::Latin1),
    ("cp1252", Encoding::Windows1252),
    ("xcp1252", Encoding::Windows1252),
    ("win1252", Encoding::Windows1252),
];

impl fmt::Display for Encoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.name())
    }
}

/// The error for a name that is not an encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct UnknownEncoding {
    /// The start of the name. Bytes that are not printable ASCII are `?`.
    name: [u8; MAX_SHOWN],
    len: u8,
    is_cut: bool,
}

/// The number of bytes of an unknown name that its error shows.
const MAX_SHOWN: usize = 40;

impl UnknownEncoding {
    fn new(name: &str) -> Self {
        let mut error = Self { name: [0; MAX_SHOWN], len: 0, is_cut: name.len() > MAX_SHOWN };
        for (shown, byte) in error.name.iter_mut().zip(name.bytes()) {
            *shown = if matches!(byte, b' '..=b'~') { byte } else { b'?' };
            error.len += 1;
        }
        error
    }
}

impl fmt::Display for UnknownEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("unknown encoding `")?;
        self.name[..usize::from(self.len)].iter().try_for_each(|&byte| f.write_char(char::from(byte)))?;
        f.write_str(if self.is_cut { "...`; known are " } else { "`; known are " })?;
        for (i, &encoding) in Encoding::ALL.iter().enumerate() {
            if i > 0 {
                f.write_str(", ")?;
            }
            f.write_str(encoding.name())?;
        }
        Ok(())
    }
}

impl core::error::Error for UnknownEncoding {}

impl FromStr for Encoding {
    type Err = UnknownEncoding;

    /// Parses a name as `iconv` does: `latin1` is ISO 8859-1. Case, `-`, `_` and spaces are ignored. `utf-16` and
    /// `utf-32` without a byte order are little-endian, as on the web. UCS-4 is big-endian, as in ISO/IEC 10646-1.
    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let names = Self::ALL.iter().map(|&encoding| (encoding.name(), encoding));
        names
            .chain(ALIASES)
            .find(|&(known, _)| same(known, name))
            .map(|(_, encoding)| encoding)
            .ok_or_else(|| UnknownEncoding::new(name))
    }
}

fn same(a: &str, b: &str) -> bool {
    significant(a).eq(significant(b))
}

fn significant(name: &str) -> impl Iterator<Item = u8> + '_ {
    name.bytes().filter(|byte| !matches!(byte, b'-' | b'_' | b' ')).map(|byte| byte.to_ascii_lowercase())
}
