//! The encoding of XML: the byte order of its first characters, and its declaration.

use super::found::{Cursor, Declaration, DeclarationSource, Found, declaration, first_start};

/// Returns the byte order of a document that starts with `<?x` in UTF-16. XML 1.0 Appendix F requires the declaration in
/// such a document.
pub(super) fn xml_byte_order<'p>(prefix: &'p [u8]) -> Found<'p> {
    let starts: [(&[u8], &'p [u8]); 2] = [(b"<\0?\0x\0", b"UTF-16LE"), (b"\0<\0?\0x", b"UTF-16BE")];
    let found = first_start(prefix, &starts)?;
    Ok(found.map(|(_, label)| Declaration { label, range: 0..0, source: DeclarationSource::ByteOrder }))
}

/// Returns the encoding of an XML declaration. A declaration that XML does not allow declares nothing: XML readers do not
/// accept such a document.
pub(super) fn xml(prefix: &[u8]) -> Found<'_> {
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
