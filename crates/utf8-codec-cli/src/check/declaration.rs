//! Declarations of an encoding inside files: which one a file has, and how it is rewritten together with the text.
//!
//! What a declaration is, is in [`utf8_codec::declared`]. Here is which files have which kind of declaration: by their
//! start (`<?xml`, `@charset "`, `<!doctype html`, `<html`, `#!` with Python or Ruby) and by their extension
//! ([`EXTENSIONS`]). XHTML has two kinds.

use core::ops::Range;
use std::path::Path;

use utf8_codec::declared::{DocumentKind, Search, Source, find};
use utf8_codec::transcode::Encoding;

use crate::charset::NamedEncoding;

/// Extensions of files that declare their encoding in a way that their start does not show. Ruby has the comment of Python.
const EXTENSIONS: [(&str, DocumentKind); 19] = [
    ("htm", DocumentKind::Html),
    ("html", DocumentKind::Html),
    ("shtml", DocumentKind::Html),
    ("xht", DocumentKind::Html),
    ("xhtml", DocumentKind::Html),
    ("gemspec", DocumentKind::Python),
    ("py", DocumentKind::Python),
    ("pxd", DocumentKind::Python),
    ("pxi", DocumentKind::Python),
    ("pyi", DocumentKind::Python),
    ("pyw", DocumentKind::Python),
    ("pyx", DocumentKind::Python),
    ("rake", DocumentKind::Python),
    ("rb", DocumentKind::Python),
    ("ru", DocumentKind::Python),
    ("sage", DocumentKind::Python),
    ("po", DocumentKind::Gettext),
    ("pot", DocumentKind::Gettext),
    ("css", DocumentKind::Css),
];

/// The length of the start of a file in which declarations are searched. Browsers also follow a `<meta>` after the first
/// 1,024 bytes, so all before `<body` are searched.
pub(super) const PREFIX: usize = 64 * 1024;

/// The encoding that a file declares, if it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Declared {
    label: String,
    /// The encoding with which the file can be decoded.
    charset: Option<NamedEncoding>,
}

/// Returns the kind of a file by its extension.
pub(super) fn kind_of(path: &Path) -> Option<DocumentKind> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    EXTENSIONS.into_iter().find(|&(known, _)| known == extension).map(|(_, kind)| kind)
}

impl Declared {
    /// Returns the encoding that a file declares, if it starts with `start`. `kind` is its kind by its extension. A BOM
    /// has precedence.
    pub(super) fn of(kind: Option<DocumentKind>, start: &[u8]) -> Option<Self> {
        if start.starts_with(b"\xEF\xBB\xBF") {
            return None;
        }
        let mut found = declarations(kind, start);
        found.retain(|(kind, range)| charset_of(*kind, &start[range.clone()]) != Some(Encoding::Utf8.into()));
        let (kind, range) = found.first().cloned()?;
        let label = start[range].to_vec();
        let charset = charset_of(kind, &label).filter(|charset| {
            // The declaration was read as an extension of ASCII, and the file has bytes that are not ASCII.
            let is_possible = charset.unit_len() == 1 && !charset.is_ascii();
            // XHTML may have two declarations that contradict each other.
            let is_same = |(kind, range): &(DocumentKind, Range<usize>)| {
                charset_of(*kind, &start[range.clone()]).map(ansi) == Some(ansi(*charset))
            };
            is_possible && found.iter().all(is_same)
        });
        Some(Self { label: String::from_utf8_lossy(&label).into_owned(), charset })
    }

    pub(super) fn charset(&self) -> Option<NamedEncoding> {
        self.charset
    }

    pub(super) fn in_words(&self) -> String {
        format!("{}, as it declares", self.label)
    }

    pub(super) fn label(&self) -> &str {
        &self.label
    }

    /// Whether a user may name this encoding for a file with this declaration.
    pub(super) fn allows(&self, named: NamedEncoding) -> bool {
        self.charset.is_some_and(|charset| ansi(charset) == ansi(named))
    }
}

/// Returns windows-1252 for ISO 8859-1: text in the former is often declared as the latter, which it extends.
fn ansi(charset: NamedEncoding) -> NamedEncoding {
    if charset == Encoding::Latin1.into() { Encoding::Windows1252.into() } else { charset }
}

/// Returns the encoding for a label. HTML and CSS have the labels of the web, on which `latin1` is windows-1252. The other
/// kinds have names of iconv and of Python, possibly with the line ends that Emacs adds.
fn charset_of(kind: DocumentKind, label: &[u8]) -> Option<NamedEncoding> {
    let label = str::from_utf8(label).ok()?;
    if matches!(kind, DocumentKind::Html | DocumentKind::Css) {
        return Encoding::for_label(label).map(Into::into);
    }
    let label = ["-unix", "-dos", "-mac"].iter().find_map(|end| label.strip_suffix(end)).unwrap_or(label);
    if label.eq_ignore_ascii_case("iso-latin-1") {
        return Some(Encoding::Latin1.into());
    }
    let charset: NamedEncoding = label.parse().ok()?;
    Some(if charset.encoding() == Encoding::Utf8 { Encoding::Utf8.into() } else { charset })
}

/// Replaces the label of each declaration in a text by `utf-8`. `text` starts with the start of the file.
pub(super) fn rewrite(kind: Option<DocumentKind>, text: &mut String) {
    let mut found = declarations(kind, text.as_bytes());
    found.sort_by_key(|(_, range)| range.start);
    for (kind, range) in found.into_iter().rev() {
        let is_utf_8 = charset_of(kind, &text.as_bytes()[range.clone()]) == Some(Encoding::Utf8.into());
        // Labels are ASCII in every kind, but a label in quotes may contain any text.
        if !is_utf_8 && text.is_char_boundary(range.start) && text.is_char_boundary(range.end) {
            text.replace_range(range, "utf-8");
        }
    }
}

/// Returns the kinds and the ranges of the labels of all declarations.
fn declarations(kind: Option<DocumentKind>, text: &[u8]) -> Vec<(DocumentKind, Range<usize>)> {
    let bom = if text.starts_with(b"\xEF\xBB\xBF") { 3 } else { 0 };
    let text = &text[bom..];
    let mut found: Vec<(DocumentKind, Range<usize>)> = Vec::new();
    let is_html = kind == Some(DocumentKind::Html) || starts_like_html(text);
    let by_start = match text {
        _ if text.starts_with(b"<?xml") => Some(DocumentKind::Xml),
        _ if text.starts_with(b"@charset \"") => Some(DocumentKind::Css),
        _ if is_script(text) => Some(DocumentKind::Python),
        _ => kind.filter(|_| !is_html),
    };
    found.extend(by_start.and_then(|kind| Some((kind, label(kind, text)?))));
    if is_html {
        found.extend(metas(text).into_iter().map(|range| (DocumentKind::Html, range)));
    }
    found.into_iter().map(|(kind, range)| (kind, range.start + bom..range.end + bom)).collect()
}

fn label(kind: DocumentKind, text: &[u8]) -> Option<Range<usize>> {
    match find(kind, text, true) {
        Search::Found(found) if found.source == Source::Declaration => Some(found.range),
        _ => None,
    }
}

/// Returns the labels in `<meta>` elements before the body. Comments are skipped.
fn metas(text: &[u8]) -> Vec<Range<usize>> {
    let text = text[..text.len().min(PREFIX)].to_ascii_lowercase();
    let end = memchr::memmem::find(&text, b"<body").unwrap_or(text.len());
    let (mut found, mut at) = (Vec::new(), 0);
    while let Some(start) = memchr::memchr(b'<', &text[at..end]).map(|skip| at + skip) {
        at = start + 1;
        let rest = &text[start..];
        if rest.starts_with(b"<!--") {
            at = memchr::memmem::find(&rest[4..], b"-->").map_or(end, |len| (start + 4 + len).min(end));
        } else if rest.starts_with(b"<meta") {
            let len = memchr::memchr(b'>', rest).map_or(rest.len(), |len| len + 1);
            let range = label(DocumentKind::Html, &rest[..len]);
            found.extend(range.map(|range| range.start + start..range.end + start));
        }
    }
    found
}

fn starts_like_html(text: &[u8]) -> bool {
    let start = text[..text.len().min(256)].trim_ascii_start();
    let starts_with = |tag: &[u8]| start.get(..tag.len()).is_some_and(|it| it.eq_ignore_ascii_case(tag));
    starts_with(b"<!doctype html") || starts_with(b"<html")
}

/// Whether the text is a script for Python or Ruby.
fn is_script(text: &[u8]) -> bool {
    let line = text[..text.len().min(256)].split(|&byte| byte == b'\n').next().unwrap_or_default();
    let names = |name: &[u8]| memchr::memmem::find(line, name).is_some();
    line.starts_with(b"#!") && (names(b"python") || names(b"ruby"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn declared(path: &str, start: &[u8]) -> Option<(String, Option<String>)> {
        Declared::of(kind_of(Path::new(path)), start)
            .map(|declared| (declared.label, declared.charset.map(|charset| charset.to_string())))
    }

    #[test]
    fn a_file_declares_an_encoding_by_its_start_or_its_extension() {
        for (path, start, label, charset) in [
            ("a", "<?xml version='1.0' encoding='ISO-8859-1'?>", "ISO-8859-1", Some("latin1")),
            ("a.html", "<meta charset=latin1>", "latin1", Some("windows-1252")),
            ("a", "<!DOCTYPE html><head><meta charset='Latin1'>", "Latin1", Some("windows-1252")),
            ("a.css", "@charset \"iso-8859-1\";", "iso-8859-1", Some("windows-1252")),
            ("a.py", "# -*- coding: latin-1 -*-", "latin-1", Some("latin1")),
            ("a.rb", "# encoding: Windows-1252", "Windows-1252", Some("windows-1252")),
            (
                "a",
                "#!/usr/bin/python\n# vim: set fileencoding=iso-latin-1-unix :\n",
                "iso-latin-1-unix",
                Some("latin1"),
            ),
            (
                "a.po",
                "msgid \"\"\nmsgstr \"\"\n\"Content-Type: text/plain; charset=ISO-8859-1\\n\"\n",
                "ISO-8859-1",
                Some("latin1"),
            ),
            // Encodings that are not known, or impossible.
            ("a", "<?xml version='1.0' encoding='koi8-r'?>", "koi8-r", None),
            ("a", "<?xml version='1.0' encoding='UTF-16'?>", "UTF-16", None),
            ("a.py", "# coding: ascii", "ascii", None),
            (
                "a.xhtml",
                "<?xml version='1.0' encoding='iso-8859-1'?><html><meta charset='koi8-r'/>",
                "iso-8859-1",
                None,
            ),
        ] {
            let expected = Some((label.to_owned(), charset.map(str::to_owned)));
            assert_eq!(declared(path, start.as_bytes()), expected, "{start}");
        }
        for (path, start) in [
            ("a.xml", "<?xml version='1.0' encoding='UTF-8'?>"),
            ("a.xml", "<a encoding='latin1'/>"),
            ("a.py", "# coding: utf8\n"),
            ("a.txt", "# coding: latin-1\n"),
            ("a.html", "<!-- <meta charset=latin1> --><body><meta charset=latin1>"),
            ("a.xml", "\u{FEFF}<?xml version='1.0' encoding='iso-8859-1'?>"),
        ] {
            assert_eq!(declared(path, start.as_bytes()), None, "{start}");
        }
    }

    #[test]
    fn each_declaration_is_rewritten() {
        for (path, text, expected) in [
            (
                "a",
                "<?xml version=\"1.0\" encoding=\"UTF-16\"?><a/>",
                "<?xml version=\"1.0\" encoding=\"utf-8\"?><a/>",
            ),
            (
                "a.xhtml",
                "<?xml encoding='latin1'?><meta http-equiv=content-type content='text/html; charset=latin1'><meta charset=utf-16>",
                "<?xml encoding='utf-8'?><meta http-equiv=content-type content='text/html; charset=utf-8'><meta charset=utf-8>",
            ),
            ("a.py", "\u{FEFF}# coding: latin-1\nx", "\u{FEFF}# coding: utf-8\nx"),
            (
                "a.html",
                "<meta charset=UTF-8><!-- <meta charset=latin1> -->",
                "<meta charset=UTF-8><!-- <meta charset=latin1> -->",
            ),
        ] {
            let mut text = text.to_owned();
            rewrite(kind_of(Path::new(path)), &mut text);
            assert_eq!(text, expected);
        }
    }
}
