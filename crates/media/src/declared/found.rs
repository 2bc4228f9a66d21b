//! What a document declares, and the position of the search for it.

use core::ops::Range;

/// What declares the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum DeclarationSource {
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
    /// windows-1252 (HTML §13.2.3.2). The label is then `windows-1252`.
    pub label: &'p [u8],
    /// The range of the label or the BOM in the document. Empty for [`DeclarationSource::ByteOrder`].
    pub range: Range<usize>,
    /// What declares the encoding.
    pub source: DeclarationSource,
}

impl Declaration<'_> {
    /// Returns the declaration of a document whose declaration was read as ASCII. UTF-16 is then UTF-8.
    pub(super) fn read_as_ascii(self) -> Self {
        #[rustfmt::skip]
        const UTF_16: [&[u8]; 9] = [
            b"utf-16", b"utf-16le", b"utf-16be", b"csunicode", b"iso-10646-ucs-2", b"ucs-2", b"unicode",
            b"unicodefeff", b"unicodefffe",
        ];
        let is_utf16 = UTF_16.iter().any(|label| self.label.eq_ignore_ascii_case(label));
        if is_utf16 { Self { label: b"UTF-8", ..self } } else { self }
    }

    /// Returns the declaration of a `<meta>` element, in which `x-user-defined` is windows-1252.
    pub(super) fn read_in_meta(self) -> Self {
        let is_user_defined = self.label.eq_ignore_ascii_case(b"x-user-defined");
        if is_user_defined { Self { label: b"windows-1252", ..self } } else { self }
    }
}

/// Returns the declaration with the label at `range`, without white space around it.
pub(super) fn declaration(prefix: &[u8], range: Range<usize>) -> Declaration<'_> {
    let start = range.end - prefix[range.clone()].trim_ascii_start().len();
    let label = prefix[range].trim_ascii();
    Declaration { label, range: start..start + label.len(), source: DeclarationSource::Declaration }
}

/// The prefix ended before the result was known.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct End;

pub(super) type Found<'p> = Result<Option<Declaration<'p>>, End>;

/// Whether the prefix starts with these bytes.
fn starts_with(prefix: &[u8], start: &[u8]) -> Result<bool, End> {
    Cursor { prefix, position: 0 }.skip_exact(start)
}

/// Returns the label of the first of these starts that the prefix begins with.
pub(super) fn first_start<'p>(
    prefix: &[u8],
    starts: &[(&[u8], &'p [u8])],
) -> Result<Option<(usize, &'p [u8])>, End> {
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

/// A position in the prefix. Methods return [`End`] if they need the byte after it.
pub(super) struct Cursor<'p> {
    pub(super) prefix: &'p [u8],
    pub(super) position: usize,
}

impl Cursor<'_> {
    pub(super) fn byte(&self) -> Result<u8, End> {
        self.prefix.get(self.position).copied().ok_or(End)
    }

    /// Skips bytes while they match, and returns their range.
    pub(super) fn skip(&mut self, matches: impl Fn(u8) -> bool) -> Result<Range<usize>, End> {
        let start = self.position;
        while matches(self.byte()?) {
            self.position += 1;
        }
        Ok(start..self.position)
    }

    /// Skips these bytes if they are next.
    pub(super) fn skip_exact(&mut self, bytes: &[u8]) -> Result<bool, End> {
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
