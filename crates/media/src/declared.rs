//! Encodings that a document declares inside itself: XML, HTML, CSS, Python and gettext catalogs.
//!
//! For programs that decide how to decode a document whose encoding neither a protocol nor a user names. [`find`] reads the
//! start of a document and returns the declaration. It does not decode anything. In HTML and CSS a declaration with a
//! label that the WHATWG Encoding Standard does not have is ignored, as these standards require. In the other kinds the
//! decoder has to know which labels exist.
//!
//! ```
//! use utf8_codec_media::declared::{DocumentKind, DeclarationSearch, find};
//!
//! let document = b"<?xml version=\"1.0\" encoding=\"iso-8859-1\"?><a/>";
//! let DeclarationSearch::Found(declaration) = find(DocumentKind::Xml, document, true) else { panic!() };
//! assert_eq!(declaration.label, b"iso-8859-1");
//! assert_eq!(&document[declaration.range], b"iso-8859-1");
//!
//! // A document that arrives in chunks: call `find` again with a longer start.
//! assert_eq!(find(DocumentKind::Xml, b"<?xml version=\"1.0\" enc", false), DeclarationSearch::NeedMore);
//! assert_eq!(find(DocumentKind::Xml, b"<a>", false), DeclarationSearch::Missing);
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

mod found;
mod html;
mod lines;
mod xml;

use utf8_codec_encodings::is_label;

use found::{Cursor, End, Found, declaration, first_start};
pub use found::{Declaration, DeclarationSource};
use xml::{xml, xml_byte_order};

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
    /// Returns the number of bytes at the start of a document in which a declaration is searched for. [`find`] ignores
    /// the bytes after them.
    ///
    /// HTML and CSS prescribe 1,024. The header entry of a catalog follows comments, so it may be later: 16,384.
    pub const fn max_prefix(self) -> usize {
        match self {
            Self::Xml | Self::Html | Self::Css | Self::Python => 1024,
            Self::Gettext => 16 * 1024,
        }
    }
}

/// The result of [`find`].
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub enum DeclarationSearch<'p> {
    /// The document declares an encoding.
    Found(Declaration<'p>),
    /// The document declares none.
    Missing,
    /// More bytes are needed.
    NeedMore,
}

/// Searches for the declaration of a document that starts with `prefix`. `is_end` is whether the document ends there.
///
/// At the end the result is never [`DeclarationSearch::NeedMore`]. If the result of a prefix is not [`DeclarationSearch::NeedMore`], it is
/// the same for every longer prefix. So it does not depend on where the chunks of a document end.
pub fn find(kind: DocumentKind, prefix: &[u8], is_end: bool) -> DeclarationSearch<'_> {
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
        Ok(Some(declaration)) => DeclarationSearch::Found(declaration),
        Ok(None) => DeclarationSearch::Missing,
        Err(End) if is_whole => DeclarationSearch::Missing,
        Err(End) => DeclarationSearch::NeedMore,
    }
}

fn or_else<'p>(found: Option<Declaration<'p>>, other: impl FnOnce() -> Found<'p>) -> Found<'p> {
    if found.is_some() { Ok(found) } else { other() }
}

fn bom<'p>(prefix: &'p [u8]) -> Found<'p> {
    let starts: [(&[u8], &'p [u8]); 3] =
        [(b"\xEF\xBB\xBF", b"UTF-8"), (b"\xFE\xFF", b"UTF-16BE"), (b"\xFF\xFE", b"UTF-16LE")];
    let found = first_start(prefix, &starts)?;
    Ok(found.map(|(len, label)| Declaration { label, range: 0..len, source: DeclarationSource::Bom }))
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
