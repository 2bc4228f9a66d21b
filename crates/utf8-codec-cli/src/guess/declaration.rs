//! Declarations of an encoding inside files: which one a file has, and how it is rewritten together with the text.
//!
//! What a declaration is, is in [`utf8_codec_media::declared`]. Here is which files have which kind of declaration: by their
//! start (`<?xml`, `@charset "`, `<!doctype html`, `<html`, `#!` with Python or Ruby) and by their extension
//! ([`EXTENSIONS`]). XHTML has two kinds.

mod remaining;

use core::ops::Range;
use std::path::Path;

use utf8_codec::ErrorPolicy;
use utf8_codec_encodings::{Encoding, Transcoder};
use utf8_codec_media::declared::{DeclarationSearch, DeclarationSource, DocumentKind, find};

use super::binary;
use super::languages::{Doubt, windows_page};
use crate::charset::NamedEncoding;
pub(crate) use remaining::{other_form, remaining};

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
pub(crate) const PREFIX: usize = 64 * 1024;

/// The encoding that a file declares, if it is not UTF-8.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Declared {
    label: String,
    /// The label of another declaration, which contradicts it.
    other: Option<String>,
    /// The encoding with which the file can be decoded.
    charset: Option<NamedEncoding>,
    is_ascii: bool,
}

/// Returns the kind of a file by its extension.
pub(crate) fn kind_of(path: &Path) -> Option<DocumentKind> {
    let extension = path.extension()?.to_str()?.to_ascii_lowercase();
    EXTENSIONS.into_iter().find(|&(known, _)| known == extension).map(|(_, kind)| kind)
}

impl Declared {
    /// Returns the encoding that a file declares, if it starts with `start`. `kind` is its kind by its extension. A BOM
    /// has precedence.
    pub(crate) fn of(kind: Option<DocumentKind>, start: &[u8]) -> Option<Self> {
        if start.starts_with(b"\xEF\xBB\xBF") {
            return None;
        }
        let found = declarations(kind, start);
        let first = found.iter().find(|each| charset_in(start, each) != Some(Encoding::Utf8.into()))?;
        let charset = charset_in(start, first);
        // XHTML may have two declarations that contradict each other.
        let other = found.iter().find(|other| match (charset_in(start, other), charset) {
            (Some(one), Some(other)) => !agree(one, other),
            (one, other) => one != other,
        });
        let other = other.map(|other| label_of(start, other));
        let is_ascii = charset.is_some_and(NamedEncoding::is_ascii);
        let charset = charset.filter(|&charset| {
            other.is_none() && !charset.is_ascii() && reads_itself(kind, start, &found, charset)
        });
        Some(Self { label: label_of(start, first), other, charset, is_ascii })
    }

    pub(crate) fn charset(&self) -> Option<NamedEncoding> {
        self.charset
    }

    /// Whether the file declares ASCII, which every other declaration extends.
    pub(crate) fn is_ascii(&self) -> bool {
        self.is_ascii
    }

    pub(crate) fn in_words(&self) -> String {
        format!("{}, as it declares", self.label)
    }

    pub(crate) fn label(&self) -> &str {
        &self.label
    }

    /// Returns what the file declares, in words.
    pub(crate) fn in_full(&self) -> String {
        match &self.other {
            Some(other) => format!("it declares {} and {other}", self.label),
            None => format!("it declares {}", self.label),
        }
    }

    /// Returns why the declaration does not decide.
    pub(crate) fn doubted(&self, doubt: Doubt) -> String {
        let reason = match doubt {
            Doubt::Unknown if self.other.is_some() => return self.in_full(),
            Doubt::Unknown => ", which cannot be its encoding or is not known",
            Doubt::Letters => ", and does not look like it",
            Doubt::Undefined => {
                ", which does not define some of its bytes or has control characters for them"
            }
        };
        self.in_full() + reason
    }

    /// Whether the declaration is the same in an encoding.
    pub(crate) fn is_ascii_in(&self, charset: NamedEncoding) -> bool {
        decoded(charset, self.label.as_bytes()) == self.label
    }

    /// Whether a user may name this encoding for a file with this declaration.
    pub(crate) fn allows(&self, named: NamedEncoding) -> bool {
        self.is_ascii || self.charset.is_some_and(|charset| agree(charset, named))
    }
}

/// Decodes a text. What is ill-formed is replaced.
fn decoded(charset: NamedEncoding, bytes: &[u8]) -> String {
    let mut text = String::new();
    let mut transcoder =
        Transcoder::new(charset.encoding(), Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
    // With a replacement, every input has a text.
    let _ = transcoder.feed_into(bytes, &mut text);
    text
}

/// Whether two names may mean the same encoding: text in a code page of Windows is often declared as the ISO 8859 encoding of
/// its script.
fn agree(one: NamedEncoding, other: NamedEncoding) -> bool {
    one == other || page_of(one) == Some(other) || page_of(other) == Some(one)
}

fn page_of(charset: NamedEncoding) -> Option<NamedEncoding> {
    windows_page(charset.encoding()).map(NamedEncoding::from)
}

/// Whether the start of a file, decoded with the encoding that it declares, has the same declarations. They were read
/// as ASCII, so the encoding has ASCII for their bytes.
fn reads_itself(
    kind: Option<DocumentKind>,
    start: &[u8],
    found: &[(DocumentKind, Range<usize>)],
    charset: NamedEncoding,
) -> bool {
    let text = decoded(charset, start);
    let decoded = declarations(kind, text.as_bytes());
    let labels = decoded.iter().map(|(_, range)| &text.as_bytes()[range.clone()]);
    labels.eq(found.iter().map(|(_, range)| &start[range.clone()]))
}

fn label_of(start: &[u8], (_, range): &(DocumentKind, Range<usize>)) -> String {
    String::from_utf8_lossy(&start[range.clone()]).into_owned()
}

fn charset_in(start: &[u8], (kind, range): &(DocumentKind, Range<usize>)) -> Option<NamedEncoding> {
    charset_of(*kind, &start[range.clone()])
}

/// Returns the encoding that a declaration in ASCII means. UTF-16 in HTML and CSS means UTF-8, and `x-user-defined` in
/// `<meta>` windows-1252 (HTML 13.2.3.2, CSS Syntax 3.2).
fn charset_of(kind: DocumentKind, label: &[u8]) -> Option<NamedEncoding> {
    let charset = charset_named(kind, label)?;
    Some(match kind {
        DocumentKind::Html | DocumentKind::Css if charset.unit_len() > 1 => Encoding::Utf8.into(),
        DocumentKind::Html if charset == Encoding::XUserDefined.into() => Encoding::Windows1252.into(),
        _ => charset,
    })
}

/// Returns the encoding for a label. HTML and CSS have the labels of the web, on which `latin1` is windows-1252. The other
/// kinds have names of iconv and of Python, possibly with the line ends that Emacs adds.
fn charset_named(kind: DocumentKind, label: &[u8]) -> Option<NamedEncoding> {
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

/// Returns the number of bytes at the start of a file that decide about its declaration, at least [`binary::PREFIX`].
/// `start` has that many.
pub(crate) fn needed(kind: Option<DocumentKind>, start: &[u8]) -> usize {
    match kind {
        Some(DocumentKind::Html) => PREFIX,
        _ if starts_like_html(start) => PREFIX,
        Some(DocumentKind::Gettext) => DocumentKind::Gettext.max_prefix(),
        _ => binary::PREFIX,
    }
}

/// Replaces the label of each declaration in a text by `utf-8`. `text` starts with the start of the file.
/// `is_converted` is whether the text was in another encoding. Otherwise a declaration that allows UTF-8 is kept.
pub(crate) fn rewrite(kind: Option<DocumentKind>, is_converted: bool, text: &mut String) {
    let mut found = declarations(kind, text.as_bytes());
    found.sort_by_key(|(_, range)| range.start);
    for (kind, range) in found.into_iter().rev() {
        let label = &text.as_bytes()[range.clone()];
        let charset = if is_converted { charset_named(kind, label) } else { charset_of(kind, label) };
        let is_kept = charset
            .is_some_and(|charset| charset == Encoding::Utf8.into() || (!is_converted && charset.is_ascii()));
        // Labels are ASCII in every kind, but a label in quotes may contain any text.
        if !is_kept && text.is_char_boundary(range.start) && text.is_char_boundary(range.end) {
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
        found.extend(metas(text).0.into_iter().map(|range| (DocumentKind::Html, range)));
    }
    found.into_iter().map(|(kind, range)| (kind, range.start + bom..range.end + bom)).collect()
}

fn label(kind: DocumentKind, text: &[u8]) -> Option<Range<usize>> {
    match find(kind, text, true) {
        DeclarationSearch::Found(found) if found.source == DeclarationSource::Declaration => {
            Some(found.range)
        }
        _ => None,
    }
}

/// Elements whose content is text (HTML 13.1.2, raw text and escapable raw text elements).
const RAW: [&[u8]; 8] =
    [b"script", b"style", b"title", b"textarea", b"xmp", b"iframe", b"noembed", b"noframes"];

/// Returns the labels in `<meta>` elements before the body, and the position of the body. Comments and elements whose
/// content is text are skipped.
fn metas(text: &[u8]) -> (Vec<Range<usize>>, usize) {
    let text = text[..text.len().min(PREFIX)].to_ascii_lowercase();
    let is_xml = text.starts_with(b"<?xml");
    let mut found = Vec::new();
    let mut at = 0;
    while let Some(start) = memchr::memchr(b'<', &text[at..]).map(|skip| at + skip) {
        at = start + 1;
        let rest = &text[start..];
        if rest.starts_with(b"<!--") {
            // The dashes of `<!--` may be those of `-->`.
            at = memchr::memmem::find(&rest[2..], b"-->").map_or(text.len(), |len| start + 2 + len + 3);
            continue;
        }
        let name = &rest[1..];
        let name = &name[..name.iter().take_while(|byte| byte.is_ascii_alphanumeric()).count()];
        let after = &rest[1 + name.len()..];
        if !after.first().is_some_and(|&byte| byte.is_ascii_whitespace() || matches!(byte, b'/' | b'>')) {
            continue;
        }
        let tag = &rest[..memchr::memchr(b'>', rest).map_or(rest.len(), |len| len + 1)];
        match name {
            b"body" | b"plaintext" => return (found, start),
            b"meta" => {
                let range = label(DocumentKind::Html, tag);
                found.extend(range.map(|range| range.start + start..range.end + start));
            }
            _ if RAW.contains(&name) && !(is_xml && tag.ends_with(b"/>")) => {
                let end = memchr::memmem::find(after, &[b"</", name].concat());
                at = end.map_or(text.len(), |len| start + 1 + name.len() + len);
            }
            _ => {}
        }
    }
    (found, text.len())
}

/// Whether the text starts with a document type or an element of HTML, after white space, comments and an XML
/// declaration.
fn starts_like_html(text: &[u8]) -> bool {
    let mut rest = &text[..text.len().min(binary::PREFIX)];
    loop {
        rest = rest.trim_ascii_start();
        let end: &[u8] = match rest {
            _ if rest.starts_with(b"<!--") => b"-->",
            _ if rest.starts_with(b"<?xml") => b"?>",
            _ => break,
        };
        let Some(at) = memchr::memmem::find(rest, end) else { return false };
        rest = &rest[at + end.len()..];
    }
    starts_with(rest, b"<!doctype html") || starts_with(rest, b"<html")
}

fn starts_with(text: &[u8], tag: &[u8]) -> bool {
    text.get(..tag.len()).is_some_and(|start| start.eq_ignore_ascii_case(tag))
}

/// Whether the text is a script for Python or Ruby.
fn is_script(text: &[u8]) -> bool {
    let line = text[..text.len().min(256)].split(|&byte| byte == b'\n').next().unwrap_or_default();
    line.starts_with(b"#!") && (contains(line, b"python") || contains(line, b"ruby"))
}

fn contains(line: &[u8], word: &[u8]) -> bool {
    memchr::memmem::find(line, word).is_some()
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
            ("a", "<?xml version='1.0' encoding='hp-roman8'?>", "hp-roman8", None),
            // A legacy encoding.
            ("a", "<?xml version='1.0' encoding='x-gbk'?>", "x-gbk", Some("gbk")),
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
            rewrite(kind_of(Path::new(path)), true, &mut text);
            assert_eq!(text, expected);
        }
    }
}
