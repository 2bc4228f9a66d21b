//! Encodings and their names.

use core::fmt::{self, Write};
use core::str::FromStr;

/// Declares the encodings: their names, their names in a sentence, and the encoding of `encoding_rs` for those that need its
/// tables. `pages.rs` has the tables of the code pages.
macro_rules! encodings {
    (
        $(#[$meta:meta])* pub enum Encoding {
            $($(#[$doc:meta])* $own:ident = $own_name:literal, $own_title:literal;)*
        }
        legacy { $($legacy:ident = $name:literal, $title:literal, $($table:ident,)? $about:literal;)* }
    ) => {
        $(#[$meta])*
        pub enum Encoding {
            $($(#[$doc])* $own,)*
            $(
                #[doc = concat!("`", $name, "`: ", $about, ".")]
                $legacy,
            )*
        }

        impl Encoding {
            /// Every encoding, in declaration order.
            pub const ALL: &'static [Self] =
                &[$(Self::$own,)* $(Self::$legacy,)*];

            /// Returns the name that the command line and `Display` use.
            pub const fn name(self) -> &'static str {
                match self {
                    $(Self::$own => $own_name,)*
                    $(Self::$legacy => $name,)*
                }
            }

            /// Returns the name for use in a sentence.
            #[doc(hidden)]
            pub const fn title(self) -> &'static str {
                match self {
                    $(Self::$own => $own_title,)*
                    $(Self::$legacy => $title,)*
                }
            }

            /// Whether the encoding is decoded with a table: one of `encoding_rs`, or of a code page of DOS or EBCDIC.
            pub const fn is_legacy(self) -> bool {
                matches!(self, $(Self::$legacy)|*)
            }

            /// Returns the tables of the Encoding Standard, `encoding_rs::REPLACEMENT` if there are none.
            pub(crate) fn tables(self) -> &'static encoding_rs::Encoding {
                match self {
                    $($(Self::$legacy => encoding_rs::$table,)?)*
                    _ => encoding_rs::REPLACEMENT,
                }
            }
        }
    };
}

encodings! {
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
    /// | [`Utf7`](Self::Utf7) | 1-4, pairs 5-8 | as UTF-8; [only decoded](Self::is_decoded_only) | RFC 2152 |
    ///
    /// [`Switches`](crate::transcode::Switches) selects among the behaviors that the standards leave open. `Display` writes
    /// the name, and `FromStr` parses it.
    #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
    #[non_exhaustive]
    pub enum Encoding {
        /// UTF-8, `utf-8`.
        Utf8 = "utf-8", "UTF-8";
        /// UTF-8 as defined in RFC 2279, with sequences of up to 6 bytes and values of 31 bits, `utf-8-ucs4`.
        Utf8Ucs4 = "utf-8-ucs4", "UTF-8 of RFC 2279";
        /// CESU-8, `cesu-8`: each UTF-16 code unit encoded as in UTF-8.
        Cesu8 = "cesu-8", "CESU-8";
        /// Java's UTF-8, `modified-utf-8`: CESU-8 with `C0 80` for U+0000. Used by class files, `writeUTF` and JNI.
        ModifiedUtf8 = "modified-utf-8", "Modified UTF-8";
        /// UTF-8 with unpaired surrogates, `wtf-8`, for Windows file names and JavaScript strings.
        ///
        /// The stream is read as concatenated strings, as the WTF-8 specification defines concatenation: a high surrogate
        /// followed by a low one becomes one supplementary character, also across chunks. In a single string such a pair is
        /// ill-formed. [`Switches::with_reject_pairs`](crate::transcode::Switches::with_reject_pairs) makes it an error.
        Wtf8 = "wtf-8", "WTF-8";
        /// UTF-8 in which each byte of an ill-formed sequence is represented by one of U+DC80..U+DCFF, `utf-8b`: Python's
        /// `surrogateescape`. Any bytes can be decoded, and encoding restores them.
        ///
        /// As in PEP 383, bytes below 80 are never escaped, and only U+DC80..U+DCFF are encoded as single bytes. Encoding
        /// and then decoding does not restore all code points: U+DCC3 U+DCA9 is encoded as `C3 A9`, which is decoded as
        /// U+00E9.
        Utf8b = "utf-8b", "UTF-8b";
        /// UTF-16, little-endian, `utf-16le`. The UCS-2 input that RFC 2279 describes, with its surrogate pairs joined, is
        /// this encoding or [`Utf16Be`](Self::Utf16Be).
        Utf16Le = "utf-16le", "UTF-16LE";
        /// UTF-16, big-endian, `utf-16be`.
        Utf16Be = "utf-16be", "UTF-16BE";
        /// UTF-32, little-endian, `utf-32le`.
        Utf32Le = "utf-32le", "UTF-32LE";
        /// UTF-32, big-endian, `utf-32be`: the four-byte canonical form of ISO/IEC 10646-1, UCS-4.
        Utf32Be = "utf-32be", "UTF-32BE";
        /// ISO 8859-1, `latin1`: each byte is the character with that number.
        Latin1 = "latin1", "ISO 8859-1";
        /// windows-1252 by the index of the WHATWG Encoding Standard, `windows-1252`: the bytes 81, 8D, 8F, 90 and 9D are
        /// C1 controls.
        Windows1252 = "windows-1252", "windows-1252";
        /// UTF-7, `utf-7`, in old mail: ASCII, and shifts with UTF-16 in base64. It is [only decoded](Self::is_decoded_only).
        ///
        /// **Decode it only where a message declares it.** Any ASCII text may be decoded as UTF-7, and a filter that
        /// does not do so does not see what `+ADw-` becomes. No detection returns it, and the web does not use it.
        ///
        /// A shift that ends inside a code unit, or after bits that are not zero, is ill-formed. The surrogates of a
        /// pair may be in two shifts. Every ASCII character may represent itself, although RFC 2152 excludes `\`, `~`
        /// and most controls.
        Utf7 = "utf-7", "UTF-7";
    }

    legacy {
        Ibm437 = "ibm437", "IBM437", "Latin of DOS, code page 437";
        Ibm850 = "ibm850", "IBM850", "Western European of DOS, code page 850";
        Ibm852 = "ibm852", "IBM852", "Central European of DOS, code page 852";
        Ibm855 = "ibm855", "IBM855", "Cyrillic of DOS, code page 855";
        Ibm858 = "ibm858", "IBM858", "code page 850 with the euro sign";
        Ibm037 = "ibm037", "IBM037", "EBCDIC of North America; `25` is U+000A and `15` is U+0085";
        Ibm500 = "ibm500", "IBM500", "EBCDIC, international; line terminators as in `ibm037`";
        Ibm1047 = "ibm1047", "IBM1047", "EBCDIC of open systems; line terminators as in `ibm037`";
        Ibm866 = "ibm866", "IBM866", IBM866, "Cyrillic of DOS, code page 866";
        Iso8859_2 = "iso-8859-2", "ISO-8859-2", ISO_8859_2, "Latin-2, Central European";
        Iso8859_3 = "iso-8859-3", "ISO-8859-3", ISO_8859_3, "Latin-3, South European";
        Iso8859_4 = "iso-8859-4", "ISO-8859-4", ISO_8859_4, "Latin-4, North European";
        Iso8859_5 = "iso-8859-5", "ISO-8859-5", ISO_8859_5, "Cyrillic";
        Iso8859_6 = "iso-8859-6", "ISO-8859-6", ISO_8859_6, "Arabic";
        Iso8859_7 = "iso-8859-7", "ISO-8859-7", ISO_8859_7, "Greek";
        Iso8859_8 = "iso-8859-8", "ISO-8859-8", ISO_8859_8, "Hebrew in visual order";
        Iso8859_8I = "iso-8859-8-i", "ISO-8859-8-I", ISO_8859_8_I, "Hebrew in logical order";
        Iso8859_10 = "iso-8859-10", "ISO-8859-10", ISO_8859_10, "Latin-6, Nordic";
        Iso8859_13 = "iso-8859-13", "ISO-8859-13", ISO_8859_13, "Latin-7, Baltic";
        Iso8859_14 = "iso-8859-14", "ISO-8859-14", ISO_8859_14, "Latin-8, Celtic";
        Iso8859_15 = "iso-8859-15", "ISO-8859-15", ISO_8859_15, "Latin-9, Western European with the euro sign";
        Iso8859_16 = "iso-8859-16", "ISO-8859-16", ISO_8859_16, "Latin-10, South-Eastern European";
        Koi8R = "koi8-r", "KOI8-R", KOI8_R, "Russian";
        Koi8U = "koi8-u", "KOI8-U", KOI8_U, "Ukrainian and Belarusian";
        Macintosh = "macintosh", "macintosh", MACINTOSH, "Mac OS Roman";
        Windows874 = "windows-874", "windows-874", WINDOWS_874, "Thai; also TIS-620 and ISO 8859-11";
        Windows1250 = "windows-1250", "windows-1250", WINDOWS_1250, "Central European";
        Windows1251 = "windows-1251", "windows-1251", WINDOWS_1251, "Cyrillic";
        Windows1253 = "windows-1253", "windows-1253", WINDOWS_1253, "Greek";
        Windows1254 = "windows-1254", "windows-1254", WINDOWS_1254, "Turkish; also ISO 8859-9";
        Windows1255 = "windows-1255", "windows-1255", WINDOWS_1255, "Hebrew";
        Windows1256 = "windows-1256", "windows-1256", WINDOWS_1256, "Arabic";
        Windows1257 = "windows-1257", "windows-1257", WINDOWS_1257, "Baltic";
        Windows1258 = "windows-1258", "windows-1258", WINDOWS_1258, "Vietnamese";
        XMacCyrillic = "x-mac-cyrillic", "x-mac-cyrillic", X_MAC_CYRILLIC, "Mac OS Cyrillic";
        XUserDefined = "x-user-defined", "x-user-defined", X_USER_DEFINED, "ASCII, and U+F780..U+F7FF for the other bytes";
        Gbk = "gbk", "GBK", GBK, "Chinese, simplified: code page 936, also GB 2312; decoded as `gb18030`";
        Gb18030 = "gb18030", "gb18030", GB18030, "every character of Unicode, by GB 18030";
        Big5 = "big5", "Big5", BIG5, "Chinese, traditional, with the characters of HKSCS";
        EucJp = "euc-jp", "EUC-JP", EUC_JP, "Japanese";
        Iso2022Jp = "iso-2022-jp", "ISO-2022-JP", ISO_2022_JP, "Japanese with escape sequences, in mail";
        ShiftJis = "shift_jis", "Shift_JIS", SHIFT_JIS, "Japanese: code page 932, windows-31J";
        EucKr = "euc-kr", "EUC-KR", EUC_KR, "Korean: code page 949, also KS C 5601";
        Iso2022Kr = "iso-2022-kr", "ISO-2022-KR", "Korean with shifts, in old mail (RFC 1557); only decoded, and not on the web";
    }
}

impl Encoding {
    /// Returns the other names that [`FromStr`] parses. They include `utf16` and `utf32`, and the labels of the Encoding
    /// Standard for a [legacy](Self::is_legacy) encoding.
    pub fn aliases(self) -> impl Iterator<Item = &'static str> {
        let labels = legacy_labels().filter(move |&(label, _)| label != self.name());
        ALIASES
            .iter()
            .copied()
            .chain(labels)
            .filter(move |&(_, encoding)| encoding == self)
            .map(|(alias, _)| alias)
    }

    /// Whether text is decoded from this encoding, but not encoded in it: [`Utf7`](Self::Utf7) and
    /// [`Iso2022Kr`](Self::Iso2022Kr). As a target they have only the ASCII characters that represent themselves, and
    /// `+`. All others are [unmappable](utf8_codec::ErrorKind::Unmappable).
    pub const fn is_decoded_only(self) -> bool {
        matches!(self, Self::Utf7 | Self::Iso2022Kr)
    }

    /// Returns the encoding for a `charset` label on the web. It supports the labels of the WHATWG Encoding Standard
    /// for the encodings of this type, and the descriptors of ISO/IEC 10646-1 Annex M, such as `ISO 10646 part-1
    /// utf-8`. Case and ASCII whitespace around the label are ignored. The labels of `replacement` return `None`.
    ///
    /// The label `latin1` is windows-1252 here, as on the web. [`FromStr`] parses it as ISO 8859-1.
    ///
    /// **`unicode-1-1-utf-8`** was registered by RFC 2279 §5 only for text with Hangul syllables at the code points
    /// that they had before Amendment 5 of ISO/IEC 10646. Here it is UTF-8, as on the web. Hangul in such text would
    /// become other characters, but no such text is known.
    pub fn for_label(label: impl AsRef<[u8]>) -> Option<Self> {
        let label = label.as_ref().trim_ascii();
        let own = LABELS.iter().find_map(|&(encoding, labels)| {
            labels.iter().any(|known| label.eq_ignore_ascii_case(known.as_bytes())).then_some(encoding)
        });
        own.or_else(|| legacy_for_label(label))
    }

    /// Returns the BOM with which a stream may start: U+FEFF in this encoding (ISO/IEC 10646-1 Annex F). Returns `None`
    /// if the encoding does not have this character, and for GB 18030, in which no standard defines a BOM.
    pub const fn bom(self) -> Option<&'static [u8]> {
        match self {
            Self::Utf8 | Self::Utf8Ucs4 | Self::Cesu8 | Self::ModifiedUtf8 | Self::Wtf8 | Self::Utf8b => {
                Some(&[0xEF, 0xBB, 0xBF])
            }
            Self::Utf16Le => Some(&[0xFF, 0xFE]),
            Self::Utf16Be => Some(&[0xFE, 0xFF]),
            Self::Utf32Le => Some(&[0xFF, 0xFE, 0, 0]),
            Self::Utf32Be => Some(&[0, 0, 0xFE, 0xFF]),
            _ => None,
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

/// Returns the encoding for a label of the Encoding Standard that is not in [`LABELS`].
fn legacy_for_label(label: &[u8]) -> Option<Encoding> {
    let tables = encoding_rs::Encoding::for_label_no_replacement(label)?;
    Encoding::ALL.iter().copied().find(|encoding| encoding.tables() == tables)
}

/// Returns the names of legacy encodings: the labels of the Encoding Standard, and others that it lacks.
fn legacy_labels() -> impl Iterator<Item = (&'static str, Encoding)> {
    let standard = super::labels::LABELS.iter();
    let standard = standard.filter_map(|label| Some((*label, legacy_for_label(label.as_bytes())?)));
    standard.chain(LEGACY_ALIASES)
}

/// Names of legacy encodings that the Encoding Standard lacks, from IANA's registry, iconv and Python.
#[rustfmt::skip]
const LEGACY_ALIASES: [(&str, Encoding); 95] = [
    ("cp437", Encoding::Ibm437), ("437", Encoding::Ibm437), ("cspc8codepage437", Encoding::Ibm437),
    ("cp850", Encoding::Ibm850), ("850", Encoding::Ibm850), ("cspc850multilingual", Encoding::Ibm850),
    ("cp852", Encoding::Ibm852), ("852", Encoding::Ibm852), ("cspcp852", Encoding::Ibm852),
    ("cp855", Encoding::Ibm855), ("855", Encoding::Ibm855), ("csibm855", Encoding::Ibm855),
    ("cp858", Encoding::Ibm858), ("858", Encoding::Ibm858), ("ibm00858", Encoding::Ibm858),
    ("cp00858", Encoding::Ibm858), ("ccsid00858", Encoding::Ibm858), ("csibm00858", Encoding::Ibm858),
    ("pc-multilingual-850+euro", Encoding::Ibm858), ("cp037", Encoding::Ibm037), ("037", Encoding::Ibm037),
    ("csibm037", Encoding::Ibm037), ("ebcdic-cp-us", Encoding::Ibm037), ("ebcdic-cp-ca", Encoding::Ibm037),
    ("ebcdic-cp-wt", Encoding::Ibm037), ("ebcdic-cp-nl", Encoding::Ibm037), ("cp500", Encoding::Ibm500),
    ("500", Encoding::Ibm500), ("csibm500", Encoding::Ibm500), ("ebcdic-cp-be", Encoding::Ibm500),
    ("ebcdic-cp-ch", Encoding::Ibm500), ("cp1047", Encoding::Ibm1047), ("1047", Encoding::Ibm1047),
    ("csibm1047", Encoding::Ibm1047),
    ("csiso885913", Encoding::Iso8859_13), ("latin7", Encoding::Iso8859_13), ("l7", Encoding::Iso8859_13),
    ("csiso885914", Encoding::Iso8859_14), ("iso-8859-14:1998", Encoding::Iso8859_14),
    ("latin8", Encoding::Iso8859_14), ("l8", Encoding::Iso8859_14), ("iso-celtic", Encoding::Iso8859_14),
    ("iso-ir-199", Encoding::Iso8859_14), ("csiso885915", Encoding::Iso8859_15),
    ("latin9", Encoding::Iso8859_15), ("csiso885916", Encoding::Iso8859_16),
    ("iso-8859-16:2001", Encoding::Iso8859_16), ("latin10", Encoding::Iso8859_16), ("l10", Encoding::Iso8859_16),
    ("iso-ir-226", Encoding::Iso8859_16), ("cskoi8u", Encoding::Koi8U), ("macroman", Encoding::Macintosh),
    ("maccyrillic", Encoding::XMacCyrillic), ("macukraine", Encoding::XMacCyrillic),
    ("cswindows874", Encoding::Windows874), ("cp874", Encoding::Windows874), ("cstis620", Encoding::Windows874),
    ("tis620-0", Encoding::Windows874), ("iso-ir-166", Encoding::Windows874),
    ("cswindows1250", Encoding::Windows1250), ("win1250", Encoding::Windows1250),
    ("cswindows1251", Encoding::Windows1251), ("win1251", Encoding::Windows1251),
    ("cswindows1253", Encoding::Windows1253), ("win1253", Encoding::Windows1253),
    ("cswindows1254", Encoding::Windows1254), ("win1254", Encoding::Windows1254),
    ("cswindows1255", Encoding::Windows1255), ("win1255", Encoding::Windows1255),
    ("cswindows1256", Encoding::Windows1256), ("win1256", Encoding::Windows1256),
    ("cswindows1257", Encoding::Windows1257), ("win1257", Encoding::Windows1257),
    ("cswindows1258", Encoding::Windows1258), ("win1258", Encoding::Windows1258),
    ("cp936", Encoding::Gbk), ("ms936", Encoding::Gbk), ("windows-936", Encoding::Gbk), ("csgbk", Encoding::Gbk),
    ("euc-cn", Encoding::Gbk), ("csgb18030", Encoding::Gb18030), ("cp54936", Encoding::Gb18030),
    ("cp950", Encoding::Big5), ("ms950", Encoding::Big5), ("cp932", Encoding::ShiftJis),
    ("cswindows31j", Encoding::ShiftJis), ("ujis", Encoding::EucJp), ("cp50221", Encoding::Iso2022Jp),
    ("cp949", Encoding::EucKr), ("ms949", Encoding::EucKr), ("uhc", Encoding::EucKr), ("cp51949", Encoding::EucKr),
    ("csiso2022kr", Encoding::Iso2022Kr),
    ("cp51936", Encoding::Gbk), ("extended-unix-code-packed-format-for-japanese", Encoding::EucJp),
];

/// Other names that [`FromStr`] parses, in lowercase and without `-`, `_` and spaces.
const ALIASES: [(&str, Encoding); 31] = [
    ("unicode11utf7", Encoding::Utf7),
    ("csunicode11utf7", Encoding::Utf7),
    ("cp65000", Encoding::Utf7),
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
    /// `utf-32` without a byte order are little-endian, as on the web. UCS-4 is big-endian, as in ISO/IEC 10646-1. The
    /// names of a legacy encoding are the labels of the Encoding Standard, so `iso-8859-9` is windows-1254.
    fn from_str(name: &str) -> Result<Self, UnknownEncoding> {
        let names = Self::ALL.iter().map(|&encoding| (encoding.name(), encoding));
        names
            .chain(ALIASES)
            .chain(legacy_labels())
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
