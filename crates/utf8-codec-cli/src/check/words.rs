//! Texts of messages: the reason for an error, the probable encoding of the file, and the command that converts it.

use core::fmt::Display;

use utf8_codec::declared::DocumentKind;
use utf8_codec::transcode::{Encoding, Transcoder};
use utf8_codec::{ErrorKind, Utf8Error};

use super::binary::{self, Controls};
use super::candidates;
use super::declaration::Declared;
use super::languages::{Contexts, Doubt};
use super::legacy::Western;
use super::utf8_evidence::{Utf8Evidence, count};
use super::wide::{Trial, Wide};
use crate::charset::NamedEncoding;

/// Describes the ill-formed sequence at the start of `bytes`, whose maximal subpart has `len` bytes. `bytes` also
/// contains the input after it, if there is any.
pub(super) fn describe(kind: ErrorKind, bytes: &[u8], len: usize) -> String {
    let [a, b, c, d] = core::array::from_fn(|at| bytes.get(at).copied().unwrap_or(0));
    let tail = |byte: u8| u32::from(byte & 0x3F);
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
                format!("overlong encoding of U+{value:04X}")
            } else {
                format!("{a:02X} {b:02X} starts an overlong encoding")
            }
        }
        ErrorKind::Surrogate => {
            format!("surrogate U+{:04X}: half of a UTF-16 pair", 0xD000 | tail(b) << 6 | tail(c))
        }
        ErrorKind::AboveMax if a == 0xF4 => {
            let value = 0x10_0000 | tail(b) << 12 | tail(c) << 6 | tail(d);
            format!("U+{value:X} is above U+10FFFF, the last code point")
        }
        ErrorKind::AboveMax => format!("{a:02X} starts a code point above U+10FFFF, the last one"),
        ErrorKind::InvalidLead => format!("{a:02X} is never part of UTF-8"),
        ErrorKind::UnexpectedContinuation => format!("continuation byte {a:02X} without a first byte"),
        ErrorKind::MissingContinuation => {
            let next = bytes.get(len).copied().unwrap_or(0);
            let position = ["second", "third", "fourth"][(len - 1).min(2)];
            let (low, high) = match (len, a) {
                (1, 0xE0) => (0xA0, 0xBF),
                (1, 0xED) => (0x80, 0x9F),
                (1, 0xF0) => (0x90, 0xBF),
                (1, 0xF4) => (0x80, 0x8F),
                _ => (0x80, 0xBF),
            };
            let before: Vec<String> = bytes[..len].iter().map(|byte| format!("{byte:02X}")).collect();
            format!(
                "the {position} byte after {} must be {low:02X}..{high:02X}, but is {next:02X}",
                before.join(" ")
            )
        }
        ErrorKind::Truncated => "the input ends inside a character".to_owned(),
        ErrorKind::MissingBom => "there is no BOM".to_owned(),
        ErrorKind::UnexpectedBom => "there is a BOM".to_owned(),
        kind => format!("ill-formed: {kind}"),
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
        _ if encoding.is_legacy() => {
            let bytes: Vec<String> = sequence.iter().map(|byte| format!("{byte:02X}")).collect();
            format!("{} is ill-formed {name}: {kind}", bytes.join(" "))
        }
        _ if is_wide => format!("{value:04X} is ill-formed {name}: {kind}"),
        _ => describe(kind, bytes, len),
    }
}

/// The encoding in which CESU-8 is decoded. It joins the halves of a pair, too, and has sequences of four bytes: programs that
/// know no better append them to the same file.
const CESU_8: Encoding = Encoding::Wtf8;

/// The probable encoding of a file with errors.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum Guess {
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
    pub(super) fn in_words(&self) -> String {
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
    pub(super) fn decided(&self, auto: bool) -> Option<NamedEncoding> {
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
    pub(super) fn command(&self, file: Option<&str>) -> Option<String> {
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

/// The number of characters that are counted at most, so that a long text costs nothing. With twice as many errors nobody
/// reads the places.
const ENOUGH: u64 = 1 << 16;

/// The evidence for the encoding of a file: its first bytes, and statistics of its errors.
#[derive(Clone, Debug, Default)]
pub(super) struct WordEvidence {
    wide: Option<Wide>,
    /// Decodes the file as wide text.
    trial: Option<Box<Trial>>,
    starts_binary: bool,
    pub(super) declared: Option<Declared>,
    /// Whether this is not the start of the file, so that its declaration is not known.
    is_later_part: bool,
    /// The text that is UTF-8, if the file declares another encoding or its declaration is not known.
    utf8: Utf8Evidence,
    errors: u64,
    /// The number of well-formed characters beyond ASCII, up to [`ENOUGH`].
    characters: u64,
    pairs: u64,
    java_nuls: u64,
    is_cut: bool,
    /// The number of errors that start with a byte 80 to 9F. These bytes are control characters in ISO 8859-1, and most
    /// are letters or signs in windows-1252.
    windows: u64,
    western: Western,
    contexts: Contexts,
    sample: Sample,
    controls: Controls,
}

/// The first lines with errors, for candidates.
#[derive(Clone, Debug, Default)]
struct Sample(Vec<u8>);

impl Sample {
    const LIMIT: usize = 1024;
    /// The length of the part of a line before and after its first error. The scanner has so many bytes of every line.
    const AROUND: usize = 200;

    /// Adds the line around an error.
    fn error(&mut self, bytes: &[u8], position: usize) {
        if self.0.len() >= Self::LIMIT {
            return;
        }
        // A character of several bytes in a long line is not cut.
        let is_border = |byte: &u8| *byte < 0x40;
        let window = &bytes[position.saturating_sub(Self::AROUND)..position];
        let start = match memchr::memrchr(b'\n', window) {
            Some(end) => position - window.len() + end + 1,
            None if window.len() == position => 0,
            None => position - window.len() + window.iter().position(is_border).unwrap_or(window.len()),
        };
        let window = &bytes[position..bytes.len().min(position + Self::AROUND)];
        let end = match memchr::memchr(b'\n', window) {
            Some(end) => end,
            None if position + window.len() == bytes.len() => window.len(),
            None => window.iter().rposition(is_border).unwrap_or(window.len()),
        };
        let line = &bytes[start..position + end];
        if !self.0.strip_suffix(b"\n").is_some_and(|lines| lines.ends_with(line)) {
            self.0.extend_from_slice(line);
            self.0.push(b'\n');
        }
    }

    fn join(&mut self, next: &Self) {
        if self.0.len() < Self::LIMIT {
            self.0.extend_from_slice(&next.0);
        }
    }
}

impl WordEvidence {
    /// Records the first bytes of the file. `kind` is its kind by its extension.
    pub(super) fn start(&mut self, bytes: &[u8], kind: Option<DocumentKind>) {
        self.wide = Wide::of(&bytes[..bytes.len().min(binary::PREFIX)]);
        self.trial = self.wide.map(|wide| Box::new(Trial::new(wide.encoding)));
        self.starts_binary = self.wide.is_none() && binary::is_binary(bytes);
        self.declared = if self.wide.is_none() { Declared::of(kind, bytes) } else { None };
    }

    /// Returns the encoding if the start of the file is UTF-16 without a BOM and well-formed UTF-8, because its text is ASCII.
    pub(super) fn wide_ascii(&self, start: &[u8]) -> Option<Encoding> {
        let Wide { encoding, .. } = self.wide.filter(|wide| !wide.has_bom && start.is_ascii())?;
        let mut text = String::new();
        Transcoder::new(encoding, Encoding::Utf8).feed_into(start, &mut text).ok()?;
        let is_text = |character: char| !character.is_control() || "\t\n\r\u{C}".contains(character);
        text.chars().all(is_text).then_some(encoding)
    }

    /// Returns the evidence of a part that is not the first one.
    pub(super) fn of_later_part() -> Self {
        Self { is_later_part: true, ..Self::default() }
    }

    /// Records the bytes of the file, from its start.
    pub(super) fn bytes(&mut self, bytes: &[u8]) {
        if let Some(trial) = &mut self.trial {
            trial.feed(bytes);
        }
    }

    pub(super) fn end(&mut self) {
        self.utf8.end_line();
        if let Some(trial) = &mut self.trial {
            trial.finish();
        }
    }

    /// Records well-formed text.
    pub(super) fn text(&mut self, text: &str) {
        if self.characters < ENOUGH && !text.is_ascii() {
            // Each character beyond ASCII has one of these bytes.
            self.characters = ENOUGH.min(self.characters + count(text.as_bytes(), |byte| byte >= 0xC0));
        }
        if self.declared.is_some() || self.is_later_part {
            self.utf8.text(text);
        }
    }

    /// Adds the evidence of the next part of the file.
    pub(super) fn join(&mut self, next: &Self) {
        self.utf8.join(&next.utf8);
        self.errors += next.errors;
        self.characters = ENOUGH.min(self.characters + next.characters);
        self.pairs += next.pairs;
        self.java_nuls += next.java_nuls;
        self.is_cut |= next.is_cut;
        self.windows += next.windows;
        self.western.join(&next.western);
        self.contexts.join(&next.contexts);
        self.sample.join(&next.sample);
        self.controls.join(&next.controls);
    }

    /// Whether the file starts with a signature of a binary format, contains NUL near its start, or has control
    /// characters like compressed data.
    pub(super) fn is_binary(&self) -> bool {
        self.starts_binary
    }

    /// Records an error at a position of `bytes`, with some bytes around it.
    pub(super) fn error(&mut self, error: Utf8Error, bytes: &[u8], position: usize) {
        self.errors += 1;
        self.utf8.error();
        let rest = &bytes[position..bytes.len().min(position + 8)];
        self.controls.look_at(rest);
        match (error.kind, rest) {
            (ErrorKind::Surrogate, [0xED, 0xA0..=0xAF, _, 0xED, 0xB0..=0xBF, ..]) => self.pairs += 1,
            (ErrorKind::Overlong, [0xC0, 0x80, ..]) => self.java_nuls += 1,
            (ErrorKind::Truncated, _) => self.is_cut = true,
            (_, [0x80..=0x9F, ..]) => self.windows += 1,
            _ => {}
        }
        self.western.error(bytes, position);
        self.contexts.error(bytes, position, error.len.into());
        self.sample.error(bytes, position);
    }

    /// Returns the encoding of the text of a file with this declaration, or why it is probably another one.
    pub(super) fn reading(&self, declared: &Declared) -> Result<NamedEncoding, Doubt> {
        self.contexts.reading(declared.charset())
    }

    /// Returns the encodings that the text may have if it is not known, the most plausible one first, with a line of it.
    pub(super) fn candidates(&self) -> Vec<(Encoding, String)> {
        candidates::of(&self.sample.0, true)
    }

    /// Whether the file declares another encoding, and some or most of it is UTF-8.
    pub(super) fn contradicts_declaration(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| {
            self.utf8.contradicts(declared.charset().map(NamedEncoding::encoding), self.errors)
        })
    }

    /// Whether the errors are those of a file in another encoding, and not of some places in UTF-8. In GBK and similar
    /// encodings, one letter of five is a well-formed sequence by chance, and the others are one or two errors each.
    pub(super) fn is_foreign(&self) -> bool {
        self.errors >= 2 * self.characters
    }

    /// `reading` is that of its declaration.
    pub(super) fn guess(&self, reading: Option<Result<NamedEncoding, Doubt>>) -> Option<Guess> {
        let is_readable = self.trial.as_ref().is_none_or(|trial| trial.is_text());
        if let Some(wide) = self.wide.filter(|_| is_readable) {
            let is_broken = self.trial.as_ref().is_some_and(|trial| !trial.is_well_formed());
            let has_ascii = self.trial.as_ref().is_some_and(|trial| trial.has_ascii());
            return Some(Guess::Wide { wide, is_broken, has_ascii });
        }
        if self.starts_binary || self.controls.are_binary() || !is_readable {
            return Some(Guess::Binary);
        }
        if let Some(declared) = &self.declared
            && self.errors > 0
        {
            let charset = reading.and_then(Result::ok).filter(|_| !self.contradicts_declaration());
            return charset.map(|charset| Guess::Declared(declared.clone(), charset));
        }
        // A surrogate pair causes six errors, because each byte of ED A0 80 ED B0 80 is ill-formed. C0 80 causes two.
        match self.errors {
            0 => None,
            1 if self.is_cut => Some(Guess::Cut),
            errors if errors == 6 * self.pairs + 2 * self.java_nuls => {
                Some(if self.java_nuls > 0 { Guess::Java } else { Guess::Cesu8 })
            }
            _ if !self.western.is_probable() && !self.contexts.is_western() => None,
            _ if self.windows > 0 => Some(Guess::Windows1252),
            _ => Some(Guess::Latin1),
        }
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
            assert_eq!(describe(kind, bytes, len), words);
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
