//! Declarations that are not rewritten: after a conversion to UTF-8 they are false, and programs that follow them
//! decode the new text in the old encoding.

use utf8_codec_encodings::Encoding;
use utf8_codec_media::declared::DocumentKind;

use super::{PREFIX, agree, charset_named, contains, is_script, metas, starts_like_html};
use crate::charset::NamedEncoding;

/// Returns the line and the label of what looks like a declaration of the old encoding, after all declarations were
/// rewritten: `charset=`, `encoding=` or `coding:` before a label of it, in the head of the text.
pub(crate) fn remaining(
    kind: Option<DocumentKind>,
    text: &[u8],
    old: NamedEncoding,
) -> Option<(usize, String)> {
    let head = head_len(kind, text);
    let lower = text[..text.len().min(PREFIX)].to_ascii_lowercase();
    let mut places: Vec<usize> = ["charset", "coding"]
        .iter()
        .flat_map(|word| memchr::memmem::find_iter(&lower, word).map(|at| at + word.len()))
        .collect();
    places.sort_unstable();
    for place in places {
        let mut at = place + count(&lower[place..], u8::is_ascii_whitespace);
        match lower.get(at) {
            Some(b'=' | b':') => at += 1,
            _ if lower[..place].ends_with(b"@charset") => {}
            _ => continue,
        }
        at += count(&lower[at..], |byte| byte.is_ascii_whitespace() || matches!(byte, b'"' | b'\'' | b'\\'));
        let len = count(&lower[at..], |byte| byte.is_ascii_alphanumeric() || b"-_.:".contains(byte));
        let label = &lower[at..at + len];
        let is_old = [DocumentKind::Html, DocumentKind::Python].into_iter().any(|kind| {
            charset_named(kind, label).is_some_and(|charset| match old.unit_len() {
                1 => agree(charset, old),
                len => charset.unit_len() == len,
            })
        });
        let start = lower[..at].iter().rposition(|&byte| byte == b'\n').map_or(0, |end| end + 1);
        let line = &lower[start..place];
        if is_old && (at < head || contains(line, b"<meta") || contains(line, b"vim:")) {
            let number = memchr::memchr_iter(b'\n', &lower[..at]).count() + 1;
            return Some((number, String::from_utf8_lossy(label).into_owned()));
        }
    }
    None
}

/// Returns the number of bytes at the start that match.
fn count(bytes: &[u8], matches: fn(&u8) -> bool) -> usize {
    bytes.iter().take_while(|byte| matches(byte)).count()
}

/// Returns the length of the part of a text in which programs search declarations.
fn head_len(kind: Option<DocumentKind>, text: &[u8]) -> usize {
    /// The lines in which editors search comments with settings.
    const LINES: usize = 5;

    if kind == Some(DocumentKind::Html) || starts_like_html(text) {
        return metas(text).1;
    }
    match kind {
        _ if kind == Some(DocumentKind::Python) || is_script(text) => {
            memchr::memchr_iter(b'\n', text).nth(LINES - 1).unwrap_or(text.len())
        }
        // The header entry ends where the next `msgid` starts.
        Some(DocumentKind::Gettext) => {
            let header = memchr::memmem::find(text, b"\nmsgstr").unwrap_or(text.len());
            memchr::memmem::find(&text[header..], b"\nmsgid").map_or(text.len(), |len| header + len)
        }
        // What HTML and CSS prescribe.
        _ => DocumentKind::Html.max_prefix(),
    }
}

/// A declaration in the text of a kind of file, in lower case.
struct Form {
    /// The text before the label.
    before: &'static str,
    /// The text after it.
    after: &'static str,
    /// Whether nothing else is before it in its line.
    is_first: bool,
    /// Whether the form is a declaration with every label, and not only with the label of a known encoding.
    is_certain: bool,
}

/// The forms of LaTeX, Texinfo, Vim, POD, affix files of Hunspell, vCard and SQL.
const FORMS: [Form; 12] = [
    Form { before: "usepackage[", after: "]{inputenc}", is_first: false, is_certain: true },
    Form { before: "requirepackage[", after: "]{inputenc}", is_first: false, is_certain: true },
    Form { before: "\\inputencoding{", after: "}", is_first: false, is_certain: true },
    Form { before: "@documentencoding ", after: "", is_first: true, is_certain: true },
    Form { before: "scriptencoding ", after: "", is_first: true, is_certain: true },
    Form { before: "=encoding ", after: "", is_first: true, is_certain: true },
    Form { before: "set ", after: "\n", is_first: true, is_certain: false },
    Form { before: ";charset=", after: ":", is_first: false, is_certain: true },
    Form { before: ";charset=", after: ";", is_first: false, is_certain: true },
    Form { before: "set names ", after: "", is_first: false, is_certain: false },
    Form { before: "character set ", after: "", is_first: false, is_certain: false },
    Form { before: "default charset", after: "", is_first: false, is_certain: false },
];

/// The variable of PostgreSQL is set in several ways.
const CLIENT: &str = "client_encoding";

/// The number of bytes after the variable in which its value is searched.
const CLIENT_VALUE: usize = 256;

/// Returns the line and the label of a declaration of a legacy encoding in a text of whole lines, in a form that
/// [`super::declarations`] does not know. `is_start` is whether it is the start of the file.
pub(crate) fn other_form(text: &[u8], is_start: bool) -> Option<(usize, String)> {
    let lower = text.to_ascii_lowercase();
    if is_start && lower.starts_with(b"{\\rtf") {
        // Bytes above 7F are in the code page, and other characters are escaped.
        return Some((1, "the code page of RTF".to_owned()));
    }
    let found = FORMS.iter().flat_map(|form| {
        let ends = memchr::memmem::find_iter(&lower, form.before).map(|at| (at, at + form.before.len()));
        ends.filter_map(|(at, end)| Some((at, form.label(&lower, at, end)?))).take(1)
    });
    let client = memchr::memmem::find_iter(&lower, CLIENT).filter_map(|at| {
        let rest = &lower[at + CLIENT.len()..];
        let rest = &rest[..rest.len().min(CLIENT_VALUE)];
        let line = &rest[..memchr::memchr(b'\n', rest).unwrap_or(rest.len())];
        let mut words = line.split(|byte| !is_label(*byte)).filter(|word| !word.is_empty());
        let label = words.find(|word| *word != b"to")?;
        is_legacy(label).then_some((at, label))
    });
    let (at, label) = found.chain(client.take(1)).min_by_key(|&(at, _)| at)?;
    let line = memchr::memchr_iter(b'\n', &lower[..at]).count() + 1;
    Some((line, String::from_utf8_lossy(label).into_owned()))
}

impl Form {
    /// Returns the label if there is such a declaration at the position, whose label starts after `end`.
    fn label<'t>(&self, lower: &'t [u8], at: usize, end: usize) -> Option<&'t [u8]> {
        // Only the white space before it is read, because a long line may have it many times.
        let before = lower[..at].iter().rev();
        let indent = before.take_while(|&&byte| byte != b'\n' && byte.is_ascii_whitespace()).count();
        if self.is_first && lower[..at - indent].last().is_some_and(|&byte| byte != b'\n') {
            return None;
        }
        let start = end + count(&lower[end..], |byte| matches!(byte, b' ' | b'=' | b'"' | b'\'' | b'`'));
        // The last option of a package counts.
        let is_list = self.after.starts_with(']');
        let inside = lower[start..].iter();
        let len = inside.take_while(|&&byte| is_label(byte) || is_list && b", ".contains(&byte)).count();
        let label = lower[start..start + len].rsplit(|byte| b", ".contains(byte)).next()?;
        let rest = &lower[start + len..];
        let is_end = match self.after {
            "\n" => {
                rest.is_empty() || rest.trim_ascii_start().len() < rest.len() && rest.first() != Some(&b' ')
            }
            after => rest.starts_with(after.as_bytes()),
        };
        let is_old = if self.is_certain { !is_utf_8(label) } else { is_legacy(label) };
        (!label.is_empty() && is_end && is_old).then_some(label)
    }
}

fn is_label(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-_.".contains(&byte)
}

/// Whether this is a name of UTF-8, such as `utf8mb4` of MySQL and `utf8x` of LaTeX.
fn is_utf_8(label: &[u8]) -> bool {
    label.iter().filter(|byte| !b"-_".contains(byte)).take(4).eq(b"utf8")
}

/// Whether this is a name of another encoding.
fn is_legacy(label: &[u8]) -> bool {
    let charset = charset_named(DocumentKind::Python, label).filter(|_| !is_utf_8(label));
    charset.is_some_and(|charset| charset.unit_len() == 1 && charset != Encoding::Utf8.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// With a search for the start of the line at each of them, it would take minutes.
    #[test]
    fn a_long_line_of_beginnings_of_declarations_takes_linear_time() {
        for before in ["set ", "set latin1\t"] {
            let text = "x ".to_owned() + &before.repeat((8 << 20) / before.len());
            assert_eq!(other_form(text.as_bytes(), true), None, "{before}");
        }
    }

    #[test]
    fn other_forms_of_declarations_are_found() {
        for (text, expected) in [
            ("\\documentclass{a}\n\\usepackage[latin1]{inputenc}\n", Some((2, "latin1"))),
            ("\\usepackage[utf8,ansinew]{inputenc}\n", Some((1, "ansinew"))),
            ("\\usepackage[utf8x]{inputenc}\n\\usepackage[T1]{fontenc}\n", None),
            ("\\inputencoding{latin9}", Some((1, "latin9"))),
            ("\\input texinfo\n@documentencoding ISO-8859-1\n", Some((2, "iso-8859-1"))),
            ("{\\rtf1\\ansi\\ansicpg1252 x}", Some((1, "the code page of RTF"))),
            ("BEGIN:VCARD\nN;CHARSET=ISO-8859-1:M\n", Some((2, "iso-8859-1"))),
            ("BEGIN:VCARD\nN;CHARSET=windows-1252;LANGUAGE=de:M\n", Some((2, "windows-1252"))),
            ("BEGIN:VCARD\nN;CHARSET=UTF-8:M\n", None),
            ("\" a\n  scriptencoding latin1\n", Some((2, "latin1"))),
            ("scriptencoding utf-8\n", None),
            ("x\n\n=encoding iso-8859-1\n", Some((3, "iso-8859-1"))),
            ("/*!40101 SET NAMES latin1 */;\n", Some((1, "latin1"))),
            ("SET NAMES 'cp1251';\n", Some((1, "cp1251"))),
            ("SET NAMES utf8mb4;\n", None),
            (") ENGINE=InnoDB DEFAULT CHARSET=latin1;\n", Some((1, "latin1"))),
            ("name CHAR(9) CHARACTER SET koi8r\n", Some((1, "koi8r"))),
            ("SET client_encoding = 'WIN1252';\n", Some((1, "win1252"))),
            ("SET client_encoding TO 'UTF8';\n", None),
            ("SET ISO8859-1\nTRY esianrt\n", Some((1, "iso8859-1"))),
            ("SET UTF-8\n", None),
            ("set noexpandtab\n", None),
            ("the character set of this file, set latin1 aside\n", None),
        ] {
            let expected = expected.map(|(line, label)| (line, label.to_owned()));
            assert_eq!(other_form(text.as_bytes(), true), expected, "{text}");
        }
    }
}
