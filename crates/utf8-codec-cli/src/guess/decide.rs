//! The encoding of an input for `auto`: decided if it can be told apart from all others, otherwise a list of
//! candidates.

use std::path::Path;

use utf8_codec::transcode::Encoding;
use utf8_codec::{ErrorKind, from_utf8};

use super::candidates;
use super::declaration::{self, Declared};
use super::editorconfig::{charset_of, other_encoding};
use super::gitattributes::{GitAttributes, GitText};
use super::languages::Contexts;
use super::wide::Wide;
use crate::charset::NamedEncoding;
use crate::escape;
use crate::files::{directory_of, is_standard};

/// Decides the encoding of an input that starts with `start`, which is all of it if `is_all`. Only UTF-8, UTF-16, UTF-32 and
/// an encoding that the input declares are decided. For all others the error has a line for each candidate, the most
/// plausible one first.
pub(crate) fn decide(path: &Path, start: &[u8], is_all: bool) -> Result<NamedEncoding, String> {
    if let Some(wide) = Wide::of(start) {
        let is_16 = matches!(wide.encoding, Encoding::Utf16Le | Encoding::Utf16Be);
        let named = if is_16 { "utf-16" } else { "utf-32" };
        return if wide.has_bom { named.parse().map_err(str::to_owned) } else { Ok(wide.encoding.into()) };
    }
    match from_utf8(start) {
        Ok(_) => return Ok(Encoding::Utf8.into()),
        Err(error) if error.kind == ErrorKind::Truncated && !is_all => return Ok(Encoding::Utf8.into()),
        Err(_) => {}
    }
    let declared = Declared::of(declaration::kind_of(path), start);
    let mut message = "the encoding is not known: name it with --from".to_owned();
    if let Some(declared) = declared {
        match Contexts::of(start).reading(declared.charset()) {
            Ok(charset) => return Ok(charset),
            Err(doubt) => message = format!("{}: name the encoding with --from", declared.doubted(doubt)),
        }
    } else if let Some(charset) = charset_outside(path) {
        return Ok(charset);
    }
    for (encoding, line) in candidates::of(start, is_all) {
        message.push_str(&format!("\n{encoding}: {}", escape::text(&line)));
    }
    Err(message)
}

/// Returns the encoding of a file that is not UTF-8, if `.gitattributes` or `.editorconfig` declares one.
fn charset_outside(path: &Path) -> Option<NamedEncoding> {
    if is_standard(path) {
        return None;
    }
    let mut git = GitAttributes::default();
    git.load(directory_of(path));
    match git.of(path) {
        Ok(Some(GitText::Encoded { encoding, .. })) => Some(encoding),
        _ => charset_of(path, &mut |_, _| {}).ok().flatten().and_then(other_encoding),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_can_be_told_apart_is_decided() {
        let decide = |name: &str, bytes: &[u8]| decide(Path::new(name), bytes, true).ok();
        let utf_8: NamedEncoding = Encoding::Utf8.into();
        for (name, bytes, expected) in [
            ("a.txt", "grün".as_bytes(), Some(utf_8)),
            ("a.txt", b"plain", Some(utf_8)),
            ("a.txt", b"\xFF\xFEa\0", "utf-16".parse().ok()),
            ("a.txt", b"g\0r\0\xFC\0n\0 \0a\0", Some(Encoding::Utf16Le.into())),
            ("a.xml", b"<?xml version='1.0' encoding='gbk'?>\xD6\xD0\xCE\xC4", Some(Encoding::Gbk.into())),
            ("a.txt", b"gr\xFCn", None),
            // Declarations that are read as ASCII, and are not in EBCDIC.
            ("a.xml", b"<?xml version='1.0' encoding='IBM-1047'?><a>caf\xE9</a>", None),
            ("a.py", b"# coding: cp037\n# caf\xE9\n", None),
            // Declarations that the text contradicts.
            ("a.py", b"# coding: koi8-r\n# \xCF\xF0\xE8\xE2\xE5\xF2, \xEC\xE8\xF0\n", None),
            (
                "a.txt",
                b"\xF3\xDF\xC5\xDB\xD8 \xD6\xC5 \xC5\xDD\xA3 \xDC\xD4\xC9\xC8 \xCD\xD1\xC7\xCB\xC9\xC8",
                None,
            ),
        ] {
            assert_eq!(decide(name, bytes), expected, "{}", bytes.escape_ascii());
        }
        assert_eq!(super::decide(Path::new("-"), b"gr\xC3", false), Ok(utf_8));
    }
}
