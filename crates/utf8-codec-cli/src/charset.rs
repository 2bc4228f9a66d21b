//! Encodings and their iconv names.

use core::fmt;
use core::str::FromStr;
use std::io::{self, Write};

use utf8_codec::Subset;
use utf8_codec_encodings::{Encoding, Transcoder};

/// An encoding as a command line option: an encoding of the library, possibly with an additional rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct NamedEncoding {
    encoding: Encoding,
    rule: Rule,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Rule {
    None,
    /// Only bytes up to `7F`.
    Ascii,
    /// The BOM is part of the encoding. It is written to the output, and stripped from input that has one. For UTF-16
    /// and UTF-32 it also determines the byte order of the input.
    Bom,
}

/// The names of encodings that the library does not have. UTF-16 and UTF-32 without a BOM are little-endian, as in
/// glibc on little-endian platforms.
const NAMES: [(&str, &[&str], Encoding, Rule); 4] = [
    ("ascii", &["us-ascii", "ansi_x3.4-1968", "iso646-us"], Encoding::Latin1, Rule::Ascii),
    ("utf-8-bom", &["utf-8-sig"], Encoding::Utf8, Rule::Bom),
    ("utf-16", &[], Encoding::Utf16Le, Rule::Bom),
    ("utf-32", &[], Encoding::Utf32Le, Rule::Bom),
];

impl NamedEncoding {
    /// Returns the number of bytes at the start of the input that [`encoding_of`](Self::encoding_of) needs.
    pub(super) fn look_ahead(self) -> usize {
        match self.rule {
            Rule::Bom => self.encoding.bom().map_or(0, <[u8]>::len),
            Rule::None | Rule::Ascii => 0,
        }
    }

    /// Returns the encoding of an input that starts with these bytes.
    pub(super) fn encoding_of(self, start: &[u8]) -> Encoding {
        let other = match self.encoding {
            Encoding::Utf16Le => Encoding::Utf16Be,
            Encoding::Utf32Le => Encoding::Utf32Be,
            encoding => encoding,
        };
        let other_is_named = self.rule == Rule::Bom && other.bom().is_some_and(|bom| start.starts_with(bom));
        if other_is_named { other } else { self.encoding }
    }

    /// Returns the encoding; little-endian if the name leaves the byte order to the BOM.
    pub(super) const fn encoding(self) -> Encoding {
        self.encoding
    }

    pub(super) fn is_ascii(self) -> bool {
        self.rule == Rule::Ascii
    }

    /// Whether a BOM is part of the encoding and not of the text.
    pub(super) fn has_bom(self) -> bool {
        self.rule == Rule::Bom
    }

    /// Returns the length of a code unit in bytes.
    pub(super) const fn unit_len(self) -> usize {
        match self.encoding {
            Encoding::Utf16Le | Encoding::Utf16Be => 2,
            Encoding::Utf32Le | Encoding::Utf32Be => 4,
            _ => 1,
        }
    }

    /// Restricts the input or the output to the characters of this encoding.
    pub(super) fn restrict(self, transcoder: Transcoder) -> Transcoder {
        if self.is_ascii() { transcoder.with_subset(&Subset::ASCII) } else { transcoder }
    }

    /// Writes one line for each encoding: its name and its aliases.
    pub(super) fn list(out: &mut impl Write) -> io::Result<()> {
        for &encoding in Encoding::ALL {
            // Omits the aliases of the library that have another meaning on the command line, such as `utf16`: there it
            // is `utf-16`, which has a BOM.
            let aliases = encoding.aliases().filter(|alias| alias.parse() == Ok(Self::from(encoding)));
            write_names(out, encoding.name(), aliases)?;
        }
        for (name, aliases, ..) in NAMES {
            write_names(out, name, aliases.iter().copied())?;
        }
        Ok(())
    }
}

/// The argument of `--from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FromArg {
    Auto,
    Charset(NamedEncoding),
}

impl FromStr for FromArg {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "auto" { Ok(Self::Auto) } else { name.parse().map(Self::Charset) }
    }
}

fn write_names<'a>(
    out: &mut impl Write,
    name: &str,
    aliases: impl Iterator<Item = &'a str>,
) -> io::Result<()> {
    write!(out, "{name}")?;
    for alias in aliases {
        write!(out, " {alias}")?;
    }
    writeln!(out)
}

impl From<Encoding> for NamedEncoding {
    fn from(encoding: Encoding) -> Self {
        Self { encoding, rule: Rule::None }
    }
}

impl FromStr for NamedEncoding {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        let own = NAMES.into_iter().find(|(main, aliases, ..)| {
            [main].into_iter().chain(*aliases).any(|known| plain(known).eq(plain(name)))
        });
        match own {
            Some((_, _, encoding, rule)) => Ok(Self { encoding, rule }),
            None if name.contains("//") => {
                Err("`//` after an encoding is not supported: use -c, or --unmappable question or reference")
            }
            None => match name.parse::<Encoding>() {
                Ok(encoding) => Ok(encoding.into()),
                Err(_) => Err("unknown encoding; `utf8-codec convert --list` prints the known names"),
            },
        }
    }
}

/// Returns a name in its form for comparison: in lower case, without `-`, `_` and spaces.
fn plain(name: &str) -> impl Iterator<Item = u8> + '_ {
    name.bytes().filter(|byte| !b"-_ ".contains(byte)).map(|byte| byte.to_ascii_lowercase())
}

impl fmt::Display for NamedEncoding {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match NAMES.iter().find(|(_, _, encoding, rule)| (*encoding, *rule) == (self.encoding, self.rule)) {
            Some((name, ..)) => f.pad(name),
            None => self.encoding.fmt(f),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bom_names_the_byte_order() {
        let utf_16: NamedEncoding = "UTF-16".parse().expect("a name");
        assert_eq!(utf_16.look_ahead(), 2);
        for (start, encoding) in [
            (&b"\xFE\xFF\0a"[..], Encoding::Utf16Be),
            (b"\xFF\xFEa\0", Encoding::Utf16Le),
            // This is also the start of the BOM of UTF-32LE.
            (b"\xFF\xFE\0\0", Encoding::Utf16Le),
            (b"a\0", Encoding::Utf16Le),
            (b"", Encoding::Utf16Le),
        ] {
            assert_eq!(utf_16.encoding_of(start), encoding, "{start:02X?}");
        }
        let utf_32: NamedEncoding = "utf32".parse().expect("a name");
        assert_eq!(utf_32.encoding_of(b"\0\0\xFE\xFF"), Encoding::Utf32Be);
        let utf_16be: NamedEncoding = "utf-16be".parse().expect("a name");
        assert_eq!(utf_16be.encoding_of(b"\xFF\xFE"), Encoding::Utf16Be);
    }

    #[test]
    fn every_listed_name_is_accepted() {
        let mut list = Vec::new();
        NamedEncoding::list(&mut list).expect("a vector");
        let list = String::from_utf8(list).expect("UTF-8");
        for line in list.lines() {
            let (name, aliases) = line.split_once(' ').unwrap_or((line, ""));
            let charset: NamedEncoding = name.parse().expect(name);
            assert_eq!(charset.to_string(), name);
            for alias in aliases.split(' ').filter(|alias| !alias.is_empty()) {
                assert_eq!(alias.parse(), Ok(charset), "{alias}");
            }
        }
        assert_eq!(list.lines().count(), Encoding::ALL.len() + NAMES.len());
        assert!("utf-9".parse::<NamedEncoding>().is_err());
    }
}
