//! The rule `json-escapes`, and its fix.

use std::io;
use std::path::Path;

use utf8_codec::json::{EscapePolicy, JsonDecoder, JsonPieces, JsonStrings};
use utf8_codec::{ErrorKind, TextPiece};

/// Extensions of files in JSON, or with a text in JSON in each line.
const EXTENSIONS: [&str; 9] =
    ["geojson", "har", "ipynb", "json", "jsonc", "jsonl", "map", "ndjson", "webmanifest"];

/// Whether a file is JSON, by its extension.
pub(super) fn is_json(path: &Path) -> bool {
    let extension = path.extension().and_then(|extension| extension.to_str());
    extension.is_some_and(|extension| EXTENSIONS.iter().any(|known| extension.eq_ignore_ascii_case(known)))
}

/// The escapes of a file.
#[derive(Clone, Debug)]
pub(super) struct Escapes(JsonDecoder);

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
    pub(super) fn new() -> Self {
        Self(JsonDecoder::new().with_strings(JsonStrings::new().with_escape_policy(EscapePolicy::Keep)))
    }

    /// Returns the errors in the next text. Without a text, an unfinished escape ends.
    pub(super) fn check(&mut self, text: Option<&str>) -> Vec<Violation> {
        let start = self.0.offset();
        let errors = |pieces: JsonPieces<'_, '_>| {
            let error_of = |piece| if let TextPiece::Repaired(_, error) = piece { Some(error) } else { None };
            pieces.filter_map(error_of).collect::<Vec<_>>()
        };
        let errors = match text {
            Some(text) => errors(self.0.feed(text.as_bytes())),
            None => errors(self.0.finish()),
        };
        let wrong = |error: utf8_codec::Utf8Error| Violation {
            at: error.offset.saturating_sub(start) as usize,
            before: start.saturating_sub(error.offset),
            len: error.len.into(),
            message: match error.kind {
                ErrorKind::IncompleteEscape => r"`\u` without four hexadecimal digits".to_owned(),
                _ => "half of a surrogate pair is no character".to_owned(),
            },
        };
        errors.into_iter().map(wrong).collect()
    }

    /// Writes the next bytes, with `\uFFFD` for each half of a surrogate pair. What a `\u` without four digits stands for
    /// is not known, so it is kept. Without bytes, writes an unfinished escape.
    pub(super) fn fix(
        &mut self,
        bytes: Option<&[u8]>,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let pieces = match bytes {
            Some(bytes) => self.0.feed(bytes),
            None => self.0.finish(),
        };
        for piece in pieces {
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
