//! The rule `json-escapes`, its fix, and the other rules for characters that are escaped.

use std::io;
use std::path::Path;

use utf8_codec::json::{EscapePolicy, JsonDecoder, JsonPieces, JsonStrings};
use utf8_codec::{ErrorKind, Subset, TextPiece};

use super::diagnostic::Message;
use super::rules::Rule;

/// Extensions of files in JSON, or with a text in JSON in each line.
const EXTENSIONS: [&str; 16] = [
    "avsc",
    "code-workspace",
    "geojson",
    "gltf",
    "har",
    "ipynb",
    "json",
    "jsonc",
    "jsonl",
    "jsonld",
    "map",
    "ndjson",
    "sarif",
    "tfstate",
    "topojson",
    "webmanifest",
];

/// Extensions of those with comments.
const WITH_COMMENTS: [&str; 2] = ["code-workspace", "jsonc"];

/// Whether a file is JSON, by its extension.
pub(super) fn is_json(path: &Path) -> bool {
    has_extension(path, &EXTENSIONS)
}

/// Whether a file is JSON with comments, by its extension.
pub(super) fn has_comments(path: &Path) -> bool {
    has_extension(path, &WITH_COMMENTS)
}

fn has_extension(path: &Path, known: &[&str]) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| known.iter().any(|known| extension.eq_ignore_ascii_case(known)))
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
    /// The comments, if the file may have some.
    comments: Option<Comments>,
    /// The other rules that are checked.
    rules: Vec<Rule>,
}

/// An escape that does not encode a character, or what else violates a rule in a text.
#[derive(Clone, Debug)]
pub(super) struct Violation {
    /// The position in the text. 0 if it starts before the text.
    pub(super) at: usize,
    /// The number of its bytes before the text, all in the same line.
    pub(super) before: u64,
    pub(super) len: usize,
    pub(super) message: Message,
}

impl Escapes {
    pub(super) fn new(rules: &[Rule], has_comments: bool) -> Self {
        let mut strings = JsonStrings::new().with_escape_policy(EscapePolicy::Keep);
        let rules: Vec<_> = rules.iter().copied().filter(|rule| *rule != Rule::JsonEscapes).collect();
        if !rules.is_empty() {
            strings = strings.with_subset(&PLAIN);
        }
        let decoder = JsonDecoder::new().with_strings(strings);
        Self { decoder, comments: has_comments.then(Comments::default), rules }
    }

    /// Returns the violations of the rules in the next text. Without a text, an unfinished escape ends.
    pub(super) fn check(&mut self, text: Option<&str>) -> Vec<(Rule, Violation)> {
        let start = self.decoder.offset();
        let mut found = Vec::new();
        // A blank comment has the same length.
        let blank = match (&mut self.comments, text) {
            (Some(comments), Some(text)) => Some(comments.blank(text.as_bytes())),
            _ => None,
        };
        let bytes = blank.as_deref().or(text.map(str::as_bytes));
        for piece in pieces(&mut self.decoder, bytes) {
            let TextPiece::Repaired(escape, error) = piece else { continue };
            let mut put = |rule, message| {
                let violation = Violation {
                    at: error.offset.saturating_sub(start) as usize,
                    before: start.saturating_sub(error.offset),
                    len: error.len.into(),
                    message: Message::Text(message),
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
                _ => put(Rule::JsonEscapes, "a lone surrogate is not a character".to_owned()),
            }
        }
        found
    }

    /// Writes the next bytes, with `\uFFFD` for each lone surrogate. What a `\u` without four digits stands for
    /// is not known, so it is kept. Without bytes, writes an unfinished escape.
    pub(super) fn fix(
        &mut self,
        bytes: Option<&[u8]>,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let (Some(comments), Some(mut rest)) = (&mut self.comments, bytes) else {
            return fix_json(&mut self.decoder, bytes, write);
        };
        while !rest.is_empty() {
            let (is_comment, len) = comments.run(rest);
            let (run, after) = rest.split_at(len);
            rest = after;
            if is_comment {
                // No escape continues in it.
                fix_json(&mut self.decoder, None, write)?;
                write(run)?;
            } else {
                fix_json(&mut self.decoder, Some(run), write)?;
            }
        }
        Ok(())
    }
}

fn fix_json(
    decoder: &mut JsonDecoder,
    bytes: Option<&[u8]>,
    write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
) -> io::Result<()> {
    for piece in pieces(decoder, bytes) {
        match &piece {
            TextPiece::Repaired(_, error) if error.kind == ErrorKind::UnpairedSurrogate => write(br"\uFFFD")?,
            piece => write(piece.text().unwrap_or_default().as_bytes())?,
        }
    }
    Ok(())
}

/// Finds the comments of JSON with comments, in chunks.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum Comments {
    #[default]
    Outside,
    String,
    /// After a backslash in a string.
    Escape,
    Slash,
    Line,
    Block,
    /// After `*` in a block.
    Star,
}

impl Comments {
    fn step(self, byte: u8) -> Self {
        match (self, byte) {
            // A string has no line break, so a missing quotation mark ends with its line.
            (Self::String | Self::Escape | Self::Line, b'\n') => Self::Outside,
            (Self::String, b'\\') => Self::Escape,
            (Self::String, b'"') => Self::Outside,
            (Self::String | Self::Escape, _) => Self::String,
            (Self::Slash, b'/') => Self::Line,
            (Self::Slash, b'*') => Self::Block,
            (Self::Outside | Self::Slash, b'"') => Self::String,
            (Self::Outside, b'/') => Self::Slash,
            (Self::Outside | Self::Slash, _) => Self::Outside,
            (Self::Line, _) => Self::Line,
            (Self::Star, b'/') => Self::Outside,
            (Self::Block | Self::Star, b'*') => Self::Star,
            (Self::Block | Self::Star, _) => Self::Block,
        }
    }

    const fn is_inside(self) -> bool {
        matches!(self, Self::Line | Self::Block | Self::Star)
    }

    /// Returns whether the bytes start inside a comment, and the length of what is inside or outside as well. The first `/`
    /// of a comment is outside, and the last byte inside.
    fn run(&mut self, bytes: &[u8]) -> (bool, usize) {
        let is_comment = self.is_inside();
        for (at, &byte) in bytes.iter().enumerate() {
            *self = self.step(byte);
            if self.is_inside() != is_comment {
                return (is_comment, at + 1);
            }
        }
        (is_comment, bytes.len())
    }

    /// Returns the bytes with spaces in the place of comments.
    fn blank(&mut self, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::with_capacity(bytes.len());
        while out.len() < bytes.len() {
            let (is_comment, len) = self.run(&bytes[out.len()..]);
            let end = out.len() + len;
            if is_comment { out.resize(end, b' ') } else { out.extend_from_slice(&bytes[out.len()..end]) }
        }
        out
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
