//! The evidence for the encoding of a file, collected while it is scanned as UTF-8.

use utf8_codec_encodings::{Encoding, Transcoder};
use utf8_codec_media::declared::DocumentKind;

use super::binary::{self, Controls};
use super::declaration::Declared;
use super::ill_formed::{STEP, Step, positions};
use super::languages::{Contexts, Doubt};
use super::legacy::Western;
use super::utf8_evidence::{Utf8Evidence, count};
use super::wide::{Trial, Wide};
use super::{Guess, candidates};
use crate::charset::NamedEncoding;

/// The number of characters that are counted at most, so that a long text costs nothing. With twice as many errors nobody
/// reads the places.
const ENOUGH: u64 = 1 << 16;

/// The number of bytes from the start of an error on that are searched for control characters.
const AFTER: usize = 8;

/// The evidence for the encoding of a file: its first bytes, and statistics of its errors.
#[derive(Clone, Debug, Default)]
pub(crate) struct EncodingEvidence {
    wide: Option<Wide>,
    /// Decodes the file as wide text.
    trial: Option<Box<Trial>>,
    starts_binary: bool,
    pub(crate) declared: Option<Declared>,
    /// The text that is UTF-8, if the file declares another encoding.
    utf8: Utf8Evidence,
    errors: u64,
    /// The number of well-formed characters beyond ASCII, up to [`ENOUGH`].
    characters: u64,
    pairs: u64,
    java_nuls: u64,
    is_cut: bool,
    /// Whether an error starts with a byte 80 to 9F. These bytes are control characters in ISO 8859-1, and most are letters
    /// or signs in windows-1252.
    has_windows: bool,
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
    /// The length of the part of a line before and after its first error. The scanner has at least that many bytes of
    /// every line.
    const AROUND: usize = 200;

    fn is_full(&self) -> bool {
        self.0.len() >= Self::LIMIT
    }

    /// Adds the line around an error. Returns the position up to which other errors would add the same.
    fn error(&mut self, bytes: &[u8], position: usize) -> usize {
        if self.is_full() {
            return bytes.len();
        }
        let before = &bytes[position.saturating_sub(Self::AROUND)..position];
        let start = match memchr::memrchr(b'\n', before) {
            Some(end) => Some(position - before.len() + end + 1),
            None if before.len() == position => Some(0),
            None => None,
        };
        let after = &bytes[position..bytes.len().min(position + Self::AROUND)];
        let end = match memchr::memchr(b'\n', after) {
            Some(end) => Some(position + end),
            None if position + after.len() == bytes.len() => Some(bytes.len()),
            None => None,
        };
        let from = start.unwrap_or_else(|| {
            position - before.len() + before.iter().position(is_border).unwrap_or(before.len())
        });
        let to = end.unwrap_or_else(|| position + after.iter().rposition(is_border).unwrap_or(after.len()));
        let line = &bytes[from..to];
        if !self.0.strip_suffix(b"\n").is_some_and(|lines| lines.ends_with(line)) {
            self.0.extend_from_slice(line);
            self.0.push(b'\n');
        }
        match (start, end) {
            (Some(start), Some(end)) => end.min(start + Self::AROUND),
            _ => position,
        }
    }
}

/// Whether a long line can be cut at a byte, without cutting a character of several bytes.
fn is_border(byte: &u8) -> bool {
    *byte < 0x40
}

/// Returns the bytes from the start of an error on that are searched for control characters.
fn after(bytes: &[u8], position: usize) -> &[u8] {
    &bytes[position..bytes.len().min(position + AFTER)]
}

impl EncodingEvidence {
    /// Records the first bytes of the file. `kind` is its kind by its extension.
    pub(crate) fn start(&mut self, bytes: &[u8], kind: Option<DocumentKind>) {
        self.wide = Wide::of(&bytes[..bytes.len().min(binary::PREFIX)]);
        self.trial = self.wide.map(|wide| Box::new(Trial::new(wide.encoding)));
        self.starts_binary = self.wide.is_none() && binary::is_binary(bytes);
        self.declared = if self.wide.is_none() { Declared::of(kind, bytes) } else { None };
    }

    /// Returns the encoding if the start of the file is UTF-16 without a BOM and well-formed UTF-8, because its text is
    /// ASCII.
    pub(crate) fn wide_ascii(&self, start: &[u8]) -> Option<Encoding> {
        let Wide { encoding, .. } = self.wide.filter(|wide| !wide.has_bom && start.is_ascii())?;
        let mut text = String::new();
        Transcoder::new(encoding, Encoding::Utf8).feed_into(start, &mut text).ok()?;
        let is_text =
            text.chars().all(|character| !character.is_control() || "\t\n\r\u{C}".contains(character));
        is_text.then_some(encoding)
    }

    /// Records the bytes of the file, from its start.
    pub(crate) fn bytes(&mut self, bytes: &[u8]) {
        if let Some(trial) = &mut self.trial {
            trial.feed(bytes);
        }
    }

    pub(crate) fn end(&mut self) {
        self.utf8.end_line();
        if let Some(trial) = &mut self.trial {
            trial.finish();
        }
    }

    /// Records well-formed text.
    pub(crate) fn text(&mut self, text: &str) {
        // Each character beyond ASCII has one of these bytes.
        self.characters(|| if text.is_ascii() { 0 } else { count(text.as_bytes(), |byte| byte >= 0xC0) });
        if self.declared.is_some() {
            self.utf8.text(text);
        }
    }

    /// Whether the file starts with a signature of a binary format, contains NUL near its start, or has control
    /// characters like compressed data.
    pub(crate) fn is_binary(&self) -> bool {
        self.starts_binary
    }

    /// Records an error of `len` bytes at a position of `bytes`, with some bytes around it.
    pub(crate) fn error(&mut self, bytes: &[u8], position: usize, len: usize) {
        self.errors += 1;
        self.utf8.error();
        self.controls.look_at(after(bytes, position));
        self.has_windows |= matches!(bytes[position..], [0x80..=0x9F, ..]);
        self.impossible(&bytes[position..]);
        self.western.error(bytes, position);
        self.contexts.error(bytes, position, len);
        self.sample.error(bytes, position);
    }

    /// Counts halves of surrogate pairs and the NUL of Java at the start of some bytes.
    fn impossible(&mut self, bytes: &[u8]) {
        match bytes {
            [0xED, 0xA0..=0xAF, _, 0xED, 0xB0..=0xBF, ..] => self.pairs += 1,
            [0xC0, 0x80, ..] => self.java_nuls += 1,
            _ => {}
        }
    }

    /// Records that the last error is the incomplete character at the end of the file.
    pub(crate) fn cut(&mut self) {
        self.is_cut = true;
    }

    /// Records the characters and the errors of a step at a position of `bytes`.
    pub(crate) fn step(&mut self, bytes: &[u8], position: usize, step: &Step) {
        self.characters(|| step.characters.count_ones().into());
        if step.errors == 0 {
            return;
        }
        let errors = || positions(step.errors).map(|at| (position + at as usize, step.len(at)));
        let number = u64::from(step.errors.count_ones());
        self.errors += number;
        self.utf8.error();
        match bytes[position..].first_chunk::<{ STEP + AFTER }>() {
            Some(around) if !binary::has_control(around) => self.controls.pass(number * AFTER as u64),
            _ => errors().for_each(|(at, _)| self.controls.look_at(after(bytes, at))),
        }
        self.has_windows |= step.errors & step.low != 0;
        for at in positions(step.errors & step.impossible) {
            self.impossible(&bytes[position + at as usize..]);
        }
        self.western.step(bytes, position, step);
        if !self.contexts.is_full() {
            errors().for_each(|(at, len)| self.contexts.error(bytes, at, len));
        }
        if !self.sample.is_full() {
            let mut sampled = 0;
            for (at, _) in errors() {
                if at >= sampled {
                    sampled = self.sample.error(bytes, at);
                }
            }
        }
    }

    /// Ends a line of ASCII.
    pub(crate) fn end_line(&mut self) {
        self.utf8.end_line();
    }

    /// Whether the evidence depends on the lines of the text.
    pub(crate) fn needs_text(&self) -> bool {
        self.declared.is_some()
    }

    /// Adds a number of well-formed characters beyond ASCII, which is computed if it matters.
    pub(crate) fn characters(&mut self, number: impl FnOnce() -> u64) {
        if self.characters < ENOUGH {
            self.characters = ENOUGH.min(self.characters + number());
        }
    }

    /// Whether there are well-formed characters beyond ASCII.
    pub(crate) fn has_utf_8(&self) -> bool {
        self.characters > 0
    }

    /// Returns the encoding of the text of a file with this declaration, or why it is probably another one.
    pub(crate) fn reading(&self, declared: &Declared) -> Result<NamedEncoding, Doubt> {
        self.contexts.reading(declared.charset())
    }

    /// Returns the encodings that the text may have, for when its encoding is not known. The most plausible one is
    /// first. Each has a line of the text.
    pub(crate) fn candidates(&self) -> Vec<(Encoding, String)> {
        candidates::of(&self.sample.0, true)
    }

    /// Whether the file declares another encoding, and some or most of it is UTF-8.
    pub(crate) fn contradicts_declaration(&self) -> bool {
        self.declared.as_ref().is_some_and(|declared| {
            self.utf8.contradicts(declared.charset().map(NamedEncoding::encoding), self.errors)
        })
    }

    /// Whether the errors are those of a file in another encoding, and not of some places in UTF-8. In GBK and similar
    /// encodings, one letter of five is a well-formed sequence by chance, and the others are one or two errors each.
    pub(crate) fn is_foreign(&self) -> bool {
        self.errors >= 2 * self.characters
    }

    /// `reading` is that of its declaration.
    pub(crate) fn guess(&self, reading: Option<Result<NamedEncoding, Doubt>>) -> Option<Guess> {
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
            _ if self.has_windows => Some(Guess::Windows1252),
            _ => Some(Guess::Latin1),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::ill_formed::steps;
    use super::*;

    #[test]
    fn a_step_is_the_same_as_each_of_its_errors() {
        let words =
            b"\xC0\x80\xD0\xE9\xC1\x85\xFF \xE9\xC8\n\xF6\xE7\xE8\xD1\x01b\xED\xA0\x80\xED\xB0\x80\xE2\x82c"
                .repeat(50 << 10);
        let mut at_once = EncodingEvidence::default();
        let mut each = EncodingEvidence::default();
        steps(&words, |position, step| {
            at_once.step(&words, position, step);
            for at in positions(step.errors) {
                each.error(&words, position + at as usize, step.len(at));
            }
        });
        assert!(each.contexts.is_full());
        assert_eq!(format!("{at_once:?}"), format!("{each:?}"));
    }
}
