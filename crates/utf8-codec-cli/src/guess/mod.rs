//! Which encoding is this: for the hints of `check`, for its fixes, for `detect`, and for `convert --from auto`.
//!
//! Nothing here reports or writes anything. `check` scans a file as UTF-8 and passes what it finds to an [`evidence`], many
//! errors at a time ([`ill_formed`]); the result is a [`Guess`]. Its sources are:
//!
//! - the bytes of the start: a BOM, UTF-16 and UTF-32 ([`wide`]), signatures of formats that are not text ([`binary`]);
//! - what the file says ([`declaration`]), and what is said about it elsewhere ([`gitattributes`], [`editorconfig`]);
//! - the letters of its words ([`languages`], [`legacy`]), which also contradict declarations;
//! - lines that are UTF-8 in a file that declares something else ([`utf8_evidence`]);
//! - text that was decoded with the wrong encoding and encoded again ([`mojibake`]).
//!
//! What remains is a list ([`candidates`]), in the order of chardetng.

pub(super) mod binary;
pub(super) mod candidates;
mod decide;
pub(super) mod declaration;
pub(super) mod editorconfig;
pub(super) mod evidence;
pub(super) mod gitattributes;
pub(super) mod ill_formed;
pub(super) mod iso2022;
pub(super) mod languages;
mod legacy;
pub(super) mod mojibake;
pub(super) mod utf8_evidence;
mod wide;

use utf8_codec_encodings::Encoding;

use crate::charset::NamedEncoding;
pub(super) use decide::decide;
use declaration::Declared;
use wide::Wide;

/// The encoding in which CESU-8 is decoded. It joins the halves of a pair, too, and has sequences of four bytes:
/// programs that know no better append them to the same file.
const CESU_8: Encoding = Encoding::Wtf8;

/// The probable encoding of a file with errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Guess {
    Binary,
    /// UTF-16 or UTF-32. `is_broken` is whether some of it is ill-formed, and `has_ascii` whether some of it is rather ASCII.
    Wide {
        wide: Wide,
        is_broken: bool,
        has_ascii: bool,
    },
    /// What the file declares, and the encoding with which it is decoded.
    Declared(Declared, NamedEncoding),
    Cesu8,
    Java,
    Cut,
    Windows1252,
    Latin1,
}

impl Guess {
    pub(crate) fn in_words(&self) -> String {
        match self {
            Self::Binary => "binary".to_owned(),
            Self::Wide { wide: Wide { encoding, has_bom }, is_broken, has_ascii } => {
                let with = if *has_bom { "with" } else { "without" };
                let broken = if *is_broken { ", with errors" } else { "" };
                let ascii = if *has_ascii { ", with text in ASCII" } else { "" };
                format!("{} {with} a BOM{broken}{ascii}", encoding.name().to_uppercase())
            }
            Self::Declared(declared, charset) if declared.charset() != Some(*charset) => {
                format!("{charset}, which extends {} that it declares", declared.label())
            }
            Self::Declared(declared, _) => declared.in_words(),
            Self::Cesu8 => "CESU-8: UTF-16 pairs, each half encoded separately".to_owned(),
            Self::Java => "Java's modified UTF-8: C0 80 is its NUL".to_owned(),
            Self::Cut => "UTF-8 that was cut in the middle of a character".to_owned(),
            Self::Windows1252 => "windows-1252 text, or UTF-8 with some of it".to_owned(),
            Self::Latin1 => "ISO 8859-1 text, or UTF-8 with some of it".to_owned(),
        }
    }

    /// Returns the encoding if it can be decided. It follows from a BOM, from a declaration in the file, or from sequences
    /// that no other encoding has. `auto` is whether UTF-16 without a BOM is also decided.
    pub(crate) fn decided(&self, auto: bool) -> Option<NamedEncoding> {
        match self {
            Self::Wide { has_ascii: true, .. } => None,
            Self::Wide { wide, .. } if wide.has_bom => {
                let is_16 = matches!(wide.encoding, Encoding::Utf16Le | Encoding::Utf16Be);
                if is_16 { "utf-16" } else { "utf-32" }.parse().ok()
            }
            Self::Wide { wide, .. } => auto.then(|| wide.encoding.into()),
            Self::Cesu8 => Some(CESU_8.into()),
            // `C0 80` becomes a NUL, and the file would be binary.
            Self::Java | Self::Binary | Self::Cut | Self::Windows1252 | Self::Latin1 => None,
            // `--fix` asks for a declaration first.
            Self::Declared(..) => None,
        }
    }

    /// Returns the arguments of the command that converts a file to UTF-8, or `None` if no conversion repairs it. `file`
    /// is its name, quoted for a shell, or `None` for stdin.
    pub(crate) fn command(&self, file: Option<&str>) -> Option<String> {
        let convert = |options: &str| {
            let file = file.map_or(String::new(), |file| format!(" {file} -o {file}"));
            Some(format!("convert {options}{file}"))
        };
        match self {
            // `--fix` rewrites a declaration as well, which `convert` does not.
            Self::Wide { has_ascii: true, .. } => None,
            Self::Wide { wide, is_broken: false, .. } if file.is_some() => {
                let from =
                    if wide.has_bom { String::new() } else { format!(" --from {}", wide.encoding.name()) };
                file.map(|file| format!("check --fix{from} {file}"))
            }
            Self::Wide { wide: Wide { encoding, has_bom }, is_broken, .. } => {
                let name = match encoding {
                    Encoding::Utf32Le | Encoding::Utf32Be => "utf-32",
                    _ if *has_bom => "utf-16",
                    other => other.name(),
                };
                let replace = if *is_broken { " --on-error replace" } else { "" };
                convert(&format!("--from {name}{replace}"))
            }
            // The declaration is rewritten as well.
            Self::Declared(..) => Some(format!("check --fix {}", file?)),
            Self::Cesu8 => convert(&format!("--from {CESU_8}")),
            Self::Java => convert("--from modified-utf-8 --switch lenient-java"),
            Self::Windows1252 => convert("--on-error windows-1252"),
            Self::Latin1 => convert("--on-error latin1"),
            Self::Binary | Self::Cut => None,
        }
    }
}
