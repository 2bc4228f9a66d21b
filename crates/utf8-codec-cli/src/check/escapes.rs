//! The rule `json-escapes`, its fix, and the other rules for characters that are escaped.

use std::io;
use std::path::Path;

use utf8_codec::json::{EscapePolicy, JsonDecoder, JsonPieces, JsonStrings};
use utf8_codec::{ErrorKind, Subset, TextPiece};

use super::rules::Rule;

/// Extensions of files in JSON, or with a text in JSON in each line.
const EXTENSIONS: [&str; 9] =
    ["geojson", "har", "ipynb", "json", "jsonc", "jsonl", "map", "ndjson", "webmanifest"];

/// Whether a file is JSON, by its extension.
pub(super) fn is_json(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The characters that violate no rule.
static PLAIN: Subset = Subset::all_of(&[
    Subset::UNICODE_ASSIGNABLES,
    // Without U+FFFD.
    Subset::new(&[0..=0xFFFC, 0xFFFE..=0x10_FFFF]),
]);

/// The escapes of a file.
#[derive(Clone, Debug)]
pub(super) struct Escapes {
    decoder: JsonDecoder,
    /// The other rules that are checked.
    rules: Vec<Rule>,
}

/// An escape that is no character, or what else violates a rule in a text.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    /// The position in the text. 0 if it starts before the text.
    pub(super) at: usize,
    /// The number of its bytes before the text, all in the same line.
    pub(super) before: u64,
    pub(super) len: usize,
    pub(super) message: String,
}

impl Escapes {
    pub(super) fn new(rules: &[Rule]) -> Self {
        let mut strings = JsonStrings::new().with_escape_policy(EscapePolicy::Keep);
        let rules: Vec<_> = rules.iter().copied().filter(|rule| *rule != Rule::JsonEscapes).collect();
        if !rules.is_empty() {
            strings = strings.with_subset(&PLAIN);
        }
        Self { decoder: JsonDecoder::new().with_strings(strings), rules }
    }

    /// Returns the violations of the rules in the next text. Without a text, an unfinished escape ends.
    pub(super) fn check(&mut self, text: Option<&str>) -> Vec<(Rule, Violation)> {
        let start = self.decoder.offset();
        let mut found = Vec::new();
        for piece in pieces(&mut self.decoder, text.map(str::as_bytes)) {
            let TextPiece::Repaired(escape, error) = piece else { continue };
            let mut put = |rule, message| {
                let violation = Violation {
                    at: error.offset.saturating_sub(start) as usize,
                    before: start.saturating_sub(error.offset),
                    len: error.len.into(),
                    message,
                };
                found.push((rule, violation));
            };
            match error.kind {
                ErrorKind::OutsideSubset => {
                    let Some(character) = character(escape.as_str()) else { continue };
                    for &rule in &self.rules {
                        if let Some(message) = rule.violation_as_escape(character) {
                            put(rule, message);
                        }
                    }
                }
                ErrorKind::IncompleteEscape => {
                    put(Rule::JsonEscapes, r"`\u` without four hexadecimal digits".to_owned());
                }
                _ => put(Rule::JsonEscapes, "half of a surrogate pair is no character".to_owned()),
            }
        }
        found
    }

    /// Writes the next bytes, with `\uFFFD` for each half of a surrogate pair. What a `\u` without four digits stands for
    /// is not known, so it is kept. Without bytes, writes an unfinished escape.
    pub(super) fn fix(
        &mut self,
        bytes: Option<&[u8]>,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        for piece in pieces(&mut self.decoder, bytes) {
            match &piece {
                TextPiece::Repaired(_, error) if error.kind == ErrorKind::UnpairedSurrogate => {
                    write(br"\uFFFD")?
                }
                piece => write(piece.text().unwrap_or_default().as_bytes())?,
            }
        }
        Ok(())
    }
}

/// Returns the pieces of the next bytes. Without bytes, the stream ends.
fn pieces<'d, 'c>(decoder: &'d mut JsonDecoder, bytes: Option<&'c [u8]>) -> JsonPieces<'d, 'c> {
    match bytes {
        Some(bytes) => decoder.feed(bytes),
        None => decoder.finish(),
    }
}

/// Returns the character of an escape, or of two for a surrogate pair.
fn character(escape: &str) -> Option<char> {
    let units = escape.split(r"\u").filter_map(|digits| u16::from_str_radix(digits, 16).ok());
    char::decode_utf16(units).next()?.ok()
}
