//! Encodings that a document declares inside itself: XML, HTML, CSS, Python and gettext catalogs.
//!
//! For programs that decide how to decode a document whose encoding no protocol and no user names. [`find`] reads the
//! start of a document and returns the declaration. It does not decode anything. In HTML and CSS a declaration with a
//! label that the WHATWG Encoding Standard does not have is ignored, as these standards require. In the other kinds the
//! decoder has to know which labels exist.
//!
//! ```
//! use utf8_codec_media::declared::{DocumentKind, Search, find};
//!
//! let document = b"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a/>";
//! let Search::Found(declaration) = find(DocumentKind::Xml, document, true) else { panic!() };
//! assert_eq!(declaration.label, b"iso-8859-1");
//! assert_eq!(&document[declaration.range], b"iso-8859-1");
//!
//! // A document that arrives in chunks: call `find` again with a longer start.
//! assert_eq!(find(DocumentKind::Xml, b"<?xml version=\"1.0\" enc", false), Search::NeedMore);
//! assert_eq!(find(DocumentKind::Xml, b"<a>", false), Search::Missing);
//! ```
//!
//! | kind | declaration | source |
//! |---|---|---|
//! | all | `EF BB BF`, `FE FF` or `FF FE` at the start; it has precedence | RFC 7303 §3.2, WHATWG Encoding §6 |
//! | XML, HTML | `<?x` in UTF-16 | XML 1.0 Appendix F, HTML §13.2.3.2 |
//! | XML | `encoding` in `<?xml ... ?>` | XML 1.0 §4.3.3 |
//! | HTML | `<meta charset>`, `<meta http-equiv="content-type" content>`, `<?xml ... ?>` | HTML §13.2.3.2 |
//! | CSS | `@charset "...";`, in this form alone | CSS Syntax Level 3 §3.2 |
//! | Python | `coding:` or `coding=` in a comment of the first two lines | Python reference §2.1.4 (PEP 263) |
//! | gettext | `charset=` in the header entry | GNU gettext, "Filling in the Header Entry" |
//!
//! # Limits
//!
//! At most [`DocumentKind::max_prefix`] bytes are read.
//!
//! # Cost
//!
//! Each byte is read a bounded number of times. Nothing is allocated.

mod html;
mod lines;

use core::ops::Range;

use utf8_codec_encodings::is_label;

/// The kind of a document, which determines how it declares its encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DocumentKind {
    /// An XML document or external entity.
    Xml,
    /// An HTML document.
    Html,
    /// A CSS style sheet.
    Css,
    /// A Python source file.
    Python,
    /// A gettext catalog (`.po`, `.pot`).
    Gettext,
}

impl DocumentKind {
    /// Returns the number of bytes at the start of a document in which a declaration is searched. [`find`] ignores the
    /// bytes after them.
    ///
    /// HTML and CSS prescribe 1,024. The header entry of a catalog follows comments, so it may be later: 16,384.
    pub const fn max_prefix(self) -> usize {
        match self {
            Self::Xml | Self::Html | Self::Css | Self::Python => 1024,
            Self::Gettext => 16 * 1024,
        }
    }
}

/// What declares the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Source {
    /// A BOM.
    Bom,
    /// The characters `<?x` in UTF-16, without a BOM.
    ByteOrder,
    /// A declaration in ASCII.
    Declaration,
}

/// A declaration of an encoding.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct Declaration<'p> {
    /// The label of the encoding: `UTF-8`, `UTF-16LE` or `UTF-16BE` for a BOM and a byte order, otherwise the label as
    /// it is in the document, without white space around it. It may be unknown, except in HTML and CSS.
    ///
    /// A declaration of UTF-16 in an HTML document or a style sheet means UTF-8, because the declaration could be read
    /// as ASCII (HTML §13.2.3.2, CSS Syntax §3.2). The label is then `UTF-8`. `x-user-defined` in a `<meta>` element means
    /// windows-1252 (HTML §13.2.3.2), and the label is then that.
    pub label: &'p [u8],
    /// Where the label or the BOM is in the document. Empty for [`Source::ByteOrder`].
    pub range: Range<usize>,
    /// What declares the encoding.
    pub source: Source,
}

/// The result of [`find`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum Search<'p> {
    /// The document declares an encoding.
    Found(Declaration<'p>),
    /// The document declares none.
    Missing,
    /// More bytes are needed.
    NeedMore,
}

/// Searches the declaration of a document that starts with `prefix`. `is_end` is whether the document ends there.
///
/// At the end the result is never [`Search::NeedMore`]. If the result of a prefix is not [`Search::NeedMore`], it is
/// the same for every longer prefix. So it does not depend on where the chunks of a document end.
pub fn find(kind: DocumentKind, prefix: &[u8], is_end: bool) -> Search<'_> {
    let is_whole = is_end || prefix.len() >= kind.max_prefix();
    let prefix = &prefix[..prefix.len().min(kind.max_prefix())];
    let found = match bom(prefix) {
        Err(End) if is_whole => Ok(None),
        found => found,
    };
    let found = match found {
        Ok(Some(found)) => Ok(Some(found)),
        Ok(None) => match kind {
            DocumentKind::Xml => xml_byte_order(prefix).and_then(|found| or_else(found, || xml(prefix))),
            DocumentKind::Html => html::find(prefix, is_whole),
            DocumentKind::Css => css(prefix),
            DocumentKind::Python => lines::python(prefix, is_whole),
            DocumentKind::Gettext => lines::gettext(prefix, is_whole),
        },
        Err(End) => Err(End),
    };
    match found {
        Ok(Some(declaration)) => Search::Found(declaration),
        Ok(None) => Search::Missing,
        Err(End) if is_whole => Search::Missing,
        Err(End) => Search::NeedMore,
    }
}

/// The prefix ended before the result was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct End;

type Found<'p> = Result<Option<Declaration<'p>>, End>;

fn or_else<'p>(found: Option<Declaration<'p>>, other: impl FnOnce() -> Found<'p>) -> Found<'p> {
    if found.is_some() { Ok(found) } else { other() }
}

/// Whether the prefix starts with these bytes.
fn starts_with(prefix: &[u8], start: &[u8]) -> Result<bool, End> {
    Cursor { prefix, position: 0 }.skip_exact(start)
}

/// Returns the first of these starts that the prefix has, with its label.
fn first_start<'p>(prefix: &[u8], starts: &[(&[u8], &'p [u8])]) -> Result<Option<(usize, &'p [u8])>, End> {
    let mut result = Ok(None);
    for &(start, label) in starts {
        match starts_with(prefix, start) {
            Ok(true) => return Ok(Some((start.len(), label))),
            Ok(false) => {}
            Err(End) => result = Err(End),
        }
    }
    result
}

fn bom<'p>(prefix: &'p [u8]) -> Found<'p> {
    let starts: [(&[u8], &'p [u8]); 3] =
        [(b"\xEF\xBB\xBF", b"UTF-8"), (b"\xFE\xFF", b"UTF-16BE"), (b"\xFF\xFE", b"UTF-16LE")];
    let found = first_start(prefix, &starts)?;
    Ok(found.map(|(len, label)| Declaration { label, range: 0..len, source: Source::Bom }))
}

/// Returns the byte order of a document that starts with `<?x` in UTF-16. XML 1.0 Appendix F requires the declaration in
/// such a document.
fn xml_byte_order<'p>(prefix: &'p [u8]) -> Found<'p> {
    let starts: [(&[u8], &'p [u8]); 2] = [(b"<\0?\0x\0", b"UTF-16LE"), (b"\0<\0?\0x", b"UTF-16BE")];
    let found = first_start(prefix, &starts)?;
    Ok(found.map(|(_, label)| Declaration { label, range: 0..0, source: Source::ByteOrder }))
}

/// Returns the encoding of an XML declaration. A declaration that XML does not allow declares nothing: XML readers do not
/// accept such a document.
fn xml(prefix: &[u8]) -> Found<'_> {
    let mut cursor = Cursor { prefix, position: 0 };
    if !cursor.skip_exact(b"<?xml")? {
        return Ok(None);
    }
    loop {
        let spaces = cursor.skip(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))?;
        let name = cursor.skip(|byte| byte.is_ascii_lowercase())?;
        if spaces.is_empty() || name.is_empty() {
            return Ok(None);
        }
        cursor.skip(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))?;
        if !cursor.skip_exact(b"=")? {
            return Ok(None);
        }
        cursor.skip(|byte| matches!(byte, b' ' | b'\t' | b'\r' | b'\n'))?;
        let quote = cursor.byte()?;
        if !matches!(quote, b'"' | b'\'') {
            return Ok(None);
        }
        cursor.position += 1;
        // Every value is a name or a number.
        let value = cursor.skip(|byte| byte.is_ascii_alphanumeric() || b"-._:".contains(&byte))?;
        if value.is_empty() || cursor.byte()? != quote {
            return Ok(None);
        }
        cursor.position += 1;
        if &prefix[name] == b"encoding" {
            return Ok(Some(declaration(prefix, value)));
        }
    }
}

/// Returns the encoding of a style sheet. Other quotes, other white space, upper case and unknown labels do not declare an
/// encoding.
fn css(prefix: &[u8]) -> Found<'_> {
    let mut cursor = Cursor { prefix, position: 0 };
    if !cursor.skip_exact(b"@charset \"")? {
        return Ok(None);
    }
    let label = cursor.skip(|byte| byte != b'"')?;
    let found = cursor.skip_exact(b"\";")?.then(|| declaration(prefix, label));
    Ok(found.filter(|found| is_label(found.label)).map(|found| found.read_as_ascii()))
}

/// Returns the declaration with the label at `range`, without white space around it.
fn declaration(prefix: &[u8], range: Range<usize>) -> Declaration<'_> {
    let start = range.end - prefix[range.clone()].trim_ascii_start().len();
    let label = prefix[range].trim_ascii();
    Declaration { label, range: start..start + label.len(), source: Source::Declaration }
}

impl Declaration<'_> {
    /// Returns the declaration of a document whose declaration was read as ASCII. UTF-16 is then UTF-8.
    fn read_as_ascii(self) -> Self {
        #[rustfmt::skip]
        const UTF_16: [&[u8]; 9] = [
            b"utf-16", b"utf-16le", b"utf-16be", b"csunicode", b"iso-10646-ucs-2", b"ucs-2", b"unicode",
            b"unicodefeff", b"unicodefffe",
        ];
        let is_utf16 = UTF_16.iter().any(|label| self.label.eq_ignore_ascii_case(label));
        if is_utf16 { Self { label: b"UTF-8", ..self } } else { self }
    }

    /// Returns the declaration of a `<meta>` element, in which `x-user-defined` is windows-1252.
    fn read_in_meta(self) -> Self {
        let is_user_defined = self.label.eq_ignore_ascii_case(b"x-user-defined");
        if is_user_defined { Self { label: b"windows-1252", ..self } } else { self }
    }
}

/// A position in the prefix. Methods return [`End`] if they need the byte after it.
struct Cursor<'p> {
    prefix: &'p [u8],
    position: usize,
}

impl Cursor<'_> {
    fn byte(&self) -> Result<u8, End> {
        self.prefix.get(self.position).copied().ok_or(End)
    }

    /// Skips bytes while they match, and returns their range.
    fn skip(&mut self, matches: impl Fn(u8) -> bool) -> Result<Range<usize>, End> {
        let start = self.position;
        while matches(self.byte()?) {
            self.position += 1;
        }
        Ok(start..self.position)
    }

    /// Skips these bytes if they are next.
    fn skip_exact(&mut self, bytes: &[u8]) -> Result<bool, End> {
        for (index, &expected) in bytes.iter().enumerate() {
            match self.prefix.get(self.position + index) {
                None => return Err(End),
                Some(&byte) if byte != expected => return Ok(false),
                Some(_) => {}
            }
        }
        self.position += bytes.len();
        Ok(true)
    }
}
