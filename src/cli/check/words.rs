//! Texts of messages: the reason for an error, the probable encoding of the file, and the command that converts it.

use core::fmt::Display;

use utf8_codec::ErrorKind;
use utf8_codec::transcode::Encoding;

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
        _ if is_wide => format!("{value:04X} is ill-formed {name}: {kind}"),
        _ => describe(kind, bytes, len),
    }
}

/// The probable encoding of a file with errors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Guess {
    Utf16 { is_little: bool, has_bom: bool },
    Utf32 { is_little: bool },
    Cesu8,
    Java,
    Cut,
    Windows1252,
    Latin1,
}

impl Guess {
    pub(super) fn in_words(self) -> String {
        match self {
            Self::Utf16 { is_little, has_bom } => {
                let order = if is_little { "LE" } else { "BE" };
                format!("UTF-16{order} with{} a BOM", if has_bom { "" } else { "out" })
            }
            Self::Utf32 { is_little } => format!("UTF-32{} with a BOM", if is_little { "LE" } else { "BE" }),
            Self::Cesu8 => "CESU-8: UTF-16 pairs, each half encoded separately".to_owned(),
            Self::Java => "Java's modified UTF-8: C0 80 is its NUL".to_owned(),
            Self::Cut => "UTF-8 that was cut in the middle of a character".to_owned(),
            Self::Windows1252 => "windows-1252 text, or UTF-8 with some of it".to_owned(),
            Self::Latin1 => "ISO 8859-1 text, or UTF-8 with some of it".to_owned(),
        }
    }

    /// Whether the encoding is certain: it follows from a BOM or from sequences that no other encoding has.
    pub(super) fn is_certain(self) -> bool {
        matches!(self, Self::Utf16 { has_bom: true, .. } | Self::Utf32 { .. } | Self::Cesu8 | Self::Java)
    }

    /// Returns the options of `utf8-codec convert` that convert the file to UTF-8, or `None` if no conversion repairs
    /// it.
    pub(super) fn conversion(self) -> Option<&'static str> {
        Some(match self {
            Self::Utf16 { has_bom: true, .. } => "--from utf-16",
            Self::Utf16 { is_little: true, .. } => "--from utf-16le",
            Self::Utf16 { .. } => "--from utf-16be",
            Self::Utf32 { .. } => "--from utf-32",
            Self::Cesu8 => "--from cesu-8",
            Self::Java => "--from modified-utf-8 --switch lenient-java",
            Self::Windows1252 => "--on-error windows-1252",
            Self::Latin1 => "--on-error latin1",
            Self::Cut => return None,
        })
    }
}

/// The evidence for the encoding of a file: its first bytes, and statistics of its errors.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct WordEvidence {
    start: [u8; 4],
    /// The number of NULs at even and at odd offsets of the first `looked_at` bytes.
    nuls: [u32; 2],
    looked_at: u32,
    errors: u64,
    pairs: u64,
    java_nuls: u64,
    is_cut: bool,
    /// The number of errors that start with a byte 80 to 9F. These bytes are control characters in ISO 8859-1, and most
    /// are letters or signs in windows-1252.
    windows: u64,
}

impl WordEvidence {
    /// Records the first bytes of the file.
    pub(super) fn start(&mut self, bytes: &[u8]) {
        let len = bytes.len().min(4);
        self.start[..len].copy_from_slice(&bytes[..len]);
        let bytes = &bytes[..bytes.len().min(4096)];
        self.looked_at = bytes.len() as u32;
        for at in memchr::memchr_iter(0, bytes) {
            self.nuls[at % 2] += 1;
        }
    }

    /// Adds the evidence of the next part of the file.
    pub(super) fn join(&mut self, next: &Self) {
        self.errors += next.errors;
        self.pairs += next.pairs;
        self.java_nuls += next.java_nuls;
        self.is_cut |= next.is_cut;
        self.windows += next.windows;
    }

    /// Whether the file starts with a BOM of UTF-16 or UTF-32, or most bytes at even or at odd offsets are NUL, as in
    /// UTF-16 text of a Latin script.
    pub(super) fn is_wide_text(&self) -> bool {
        self.wide().is_some()
    }

    /// Records an error. `bytes` starts with the ill-formed sequence and contains some bytes after it.
    pub(super) fn error(&mut self, kind: ErrorKind, bytes: &[u8]) {
        self.errors += 1;
        match (kind, bytes) {
            (ErrorKind::Surrogate, [0xED, 0xA0..=0xAF, _, 0xED, 0xB0..=0xBF, ..]) => self.pairs += 1,
            (ErrorKind::Overlong, [0xC0, 0x80, ..]) => self.java_nuls += 1,
            (ErrorKind::Truncated, _) => self.is_cut = true,
            (_, [0x80..=0x9F, ..]) => self.windows += 1,
            _ => {}
        }
    }

    fn wide(&self) -> Option<Guess> {
        match self.start {
            [0xFF, 0xFE, 0, 0] => return Some(Guess::Utf32 { is_little: true }),
            [0, 0, 0xFE, 0xFF] => return Some(Guess::Utf32 { is_little: false }),
            [0xFF, 0xFE, ..] => return Some(Guess::Utf16 { is_little: true, has_bom: true }),
            [0xFE, 0xFF, ..] => return Some(Guess::Utf16 { is_little: false, has_bom: true }),
            _ => {}
        }
        let [even, odd] = self.nuls;
        let half = self.looked_at / 2;
        let is_most = |nuls: u32| half > 1 && nuls * 10 >= half * 7;
        match (is_most(even), is_most(odd)) {
            (false, true) if even * 20 <= half => Some(Guess::Utf16 { is_little: true, has_bom: false }),
            (true, false) if odd * 20 <= half => Some(Guess::Utf16 { is_little: false, has_bom: false }),
            _ => None,
        }
    }

    pub(super) fn guess(&self) -> Option<Guess> {
        if let Some(wide) = self.wide() {
            return Some(wide);
        }
        // A surrogate pair causes six errors, because each byte of ED A0 80 ED B0 80 is ill-formed. C0 80 causes two.
        // Up to two other errors are tolerated.
        Some(match self.errors {
            0 => return None,
            1 if self.is_cut => Guess::Cut,
            errors
                if self.pairs + self.java_nuls > 0 && errors <= 6 * self.pairs + 2 * self.java_nuls + 2 =>
            {
                if self.java_nuls > 0 {
                    Guess::Java
                } else {
                    Guess::Cesu8
                }
            }
            _ if self.windows > 0 => Guess::Windows1252,
            _ => Guess::Latin1,
        })
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

    #[test]
    fn utf_16_is_detected_by_its_nuls() {
        let mut evidence = WordEvidence::default();
        evidence.start(b"h\0e\0l\0l\0o\0 \0\x34\x12");
        assert_eq!(evidence.guess(), Some(Guess::Utf16 { is_little: true, has_bom: false }));
        let mut evidence = WordEvidence::default();
        evidence.start(b"plain text, and a NUL\0");
        assert!(!evidence.is_wide_text());
    }
}
