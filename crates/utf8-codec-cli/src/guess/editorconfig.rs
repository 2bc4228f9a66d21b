//! `.editorconfig`: the encoding in which editors read and write a file.

use std::io;
use std::path::Path;

use ec4rs::property::Charset as EditorConfigCharset;
use ec4rs::{ConfigParser, Properties, PropertiesSource};
use utf8_codec_encodings::Encoding;

use crate::charset::NamedEncoding;
use crate::files::{open_regular, read_config};

/// Returns the encoding of a charset other than UTF-8.
pub(crate) fn other_encoding(charset: EditorConfigCharset) -> Option<NamedEncoding> {
    match charset {
        EditorConfigCharset::Utf8 | EditorConfigCharset::Utf8Bom => None,
        EditorConfigCharset::Utf16Le => Some(Encoding::Utf16Le.into()),
        EditorConfigCharset::Utf16Be => Some(Encoding::Utf16Be.into()),
        EditorConfigCharset::Latin1 => Some(Encoding::Latin1.into()),
    }
}

/// Returns the `charset` of `.editorconfig` for a file. An unknown value is ignored, as the EditorConfig specification
/// requires, and passed to `warn`.
pub(crate) fn charset_of(
    path: &Path,
    warn: &mut dyn FnMut(&Path, String),
) -> Result<Option<EditorConfigCharset>, String> {
    let path = std::path::absolute(path).map_err(|error| error.to_string())?;
    let mut files = Vec::new();
    for directory in path.ancestors().skip(1) {
        let file = directory.join(".editorconfig");
        // `ec4rs::properties_of` would open any file, and would read a line of any length.
        let Ok(opened) = open_regular(&file) else { continue };
        let content = read_config(opened.file).map_err(|error| format!("{}: {error}", file.display()))?;
        let Ok(parser) = ConfigParser::new(io::Cursor::new(content)) else { continue };
        let is_root = parser.is_root;
        files.push((directory, parser));
        if is_root {
            break;
        }
    }
    let mut properties = Properties::new();
    let mut source = None;
    for (directory, parser) in files.iter_mut().rev() {
        // The globs are relative to the directory.
        let below = path.strip_prefix(*directory).unwrap_or(&path);
        let file = directory.join(".editorconfig");
        let before = properties.get_raw::<EditorConfigCharset>().clone();
        parser
            .apply_to(&mut properties, below)
            .map_err(|error| format!("{}:{}: {error}", file.display(), parser.line_no()))?;
        if *properties.get_raw::<EditorConfigCharset>() != before {
            source = Some(file);
        }
    }
    match properties.get::<EditorConfigCharset>() {
        Ok(charset) => Ok(Some(charset)),
        Err(unknown) => {
            let value = unknown.into_option().filter(|value| !value.eq_ignore_ascii_case("unset"));
            if let (Some(value), Some(file)) = (value, source) {
                warn(&file, format!("unknown charset {value}: its files are checked as utf-8"));
            }
            Ok(None)
        }
    }
}
