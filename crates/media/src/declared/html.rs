//! The prescan of HTML (HTML §13.2.3.2, "prescan a byte stream to determine its encoding").

use core::ops::Range;

use utf8_codec_encodings::is_label;

use super::found::{Cursor, End, Found, declaration};
use super::xml::{xml, xml_byte_order};

/// Searches for `<meta>` elements in the prefix, and then for the XML declaration. `is_whole` is whether no more bytes
/// are read.
///
/// A declaration with a label that the WHATWG Encoding Standard does not have is ignored: the next one counts.
pub(super) fn find(prefix: &[u8], is_whole: bool) -> Found<'_> {
    let byte_order = xml_byte_order(prefix)?;
    if byte_order.is_some() {
        return Ok(byte_order);
    }
    match prescan(prefix) {
        Ok(range) => Ok(Some(declaration(prefix, range).read_as_ascii().read_in_meta())),
        Err(End) if is_whole => {
            Ok(xml(prefix)?.filter(|found| is_label(found.label)).map(|found| found.read_as_ascii()))
        }
        Err(End) => Err(End),
    }
}

/// Returns the label of the first `<meta>` element with a known one.
fn prescan(prefix: &[u8]) -> Result<Range<usize>, End> {
    let mut cursor = Cursor { prefix, position: 0 };
    loop {
        cursor.skip(|byte| byte != b'<')?;
        let rest = &prefix[cursor.position..];
        if rest.starts_with(b"<!--") {
            // The dashes of `<!--` may also belong to `-->`.
            let end = rest[2..].windows(3).position(|window| window == b"-->").ok_or(End)?;
            cursor.position += 2 + end + 3;
            continue;
        }
        // The longest start that is compared. A shorter rest may become any of the cases.
        if rest.len() < 6 {
            return Err(End);
        }
        if rest[..5].eq_ignore_ascii_case(b"<meta") && is_space_or_slash(rest[5]) {
            cursor.position += 5;
            if let Some(label) = meta(&mut cursor)? {
                return Ok(label);
            }
        } else if rest[1].is_ascii_alphabetic() || (rest[1] == b'/' && rest[2].is_ascii_alphabetic()) {
            cursor.skip(|byte| !is_space(byte) && byte != b'>')?;
            while attribute(&mut cursor)?.is_some() {}
        } else if matches!(rest[1], b'!' | b'/' | b'?') {
            cursor.skip(|byte| byte != b'>')?;
        }
        // Skips the `>` that ended this tag, or a `<` that starts no tag.
        cursor.position += 1;
    }
}

fn is_space(byte: u8) -> bool {
    matches!(byte, b'\t' | b'\n' | b'\x0C' | b'\r' | b' ')
}

fn is_space_or_slash(byte: u8) -> bool {
    is_space(byte) || byte == b'/'
}

/// Reads the attributes of a `<meta>` element, and returns the label of the encoding that they declare. An unknown label in
/// `charset` is not replaced by the one in `content`.
fn meta(cursor: &mut Cursor<'_>) -> Result<Option<Range<usize>>, End> {
    let prefix = cursor.prefix;
    let mut http_equiv = None;
    let mut content = None;
    let mut charset = None;
    while let Some((name, value)) = attribute(cursor)? {
        let first = match &prefix[name] {
            name if name.eq_ignore_ascii_case(b"http-equiv") => &mut http_equiv,
            name if name.eq_ignore_ascii_case(b"content") => &mut content,
            name if name.eq_ignore_ascii_case(b"charset") => &mut charset,
            _ => continue,
        };
        // Of two attributes with one name, the first counts.
        first.get_or_insert(value);
    }
    let is_pragma = http_equiv.is_some_and(|value| prefix[value].eq_ignore_ascii_case(b"content-type"));
    let label = match charset {
        None if is_pragma => content.and_then(|value| charset_in(prefix, value)),
        charset => charset,
    };
    Ok(label.filter(|label| is_label(prefix[label.clone()].trim_ascii())))
}

/// The name and the value of an attribute.
type Attribute = (Range<usize>, Range<usize>);

/// Reads an attribute. Returns `None` at the end of the tag.
fn attribute(cursor: &mut Cursor<'_>) -> Result<Option<Attribute>, End> {
    cursor.skip(is_space_or_slash)?;
    if cursor.byte()? == b'>' {
        return Ok(None);
    }
    let start = cursor.position;
    // A `=` at the start is part of the name.
    cursor.position += 1;
    cursor.skip(|byte| !is_space_or_slash(byte) && byte != b'>' && byte != b'=')?;
    let name = start..cursor.position;
    let without_value = name.end..name.end;
    if matches!(cursor.byte()?, b'/' | b'>') {
        return Ok(Some((name, without_value)));
    }
    cursor.skip(is_space)?;
    if cursor.byte()? != b'=' {
        return Ok(Some((name, without_value)));
    }
    cursor.position += 1;
    cursor.skip(is_space)?;
    let value = match cursor.byte()? {
        quote @ (b'"' | b'\'') => {
            cursor.position += 1;
            let value = cursor.skip(|byte| byte != quote)?;
            cursor.position += 1;
            value
        }
        _ => cursor.skip(|byte| !is_space(byte) && byte != b'>')?,
    };
    Ok(Some((name, value)))
}

/// Returns the label in the value of `content` (HTML, "extracting a character encoding from a meta element").
fn charset_in(prefix: &[u8], value: Range<usize>) -> Option<Range<usize>> {
    let value_and_before = &prefix[..value.end];
    let mut position = value.start;
    loop {
        let text = &value_and_before[position..];
        let found = text.windows(7).position(|window| window.eq_ignore_ascii_case(b"charset"))?;
        position = skip_spaces(value_and_before, position + found + 7);
        if value_and_before.get(position) == Some(&b'=') {
            break;
        }
    }
    let start = skip_spaces(value_and_before, position + 1);
    let text = &value_and_before[start..];
    match text.first()? {
        quote @ (b'"' | b'\'') => {
            let len = text[1..].iter().position(|byte| byte == quote)?;
            Some(start + 1..start + 1 + len)
        }
        _ => {
            let len = text.iter().position(|&byte| is_space(byte) || byte == b';').unwrap_or(text.len());
            Some(start..start + len)
        }
    }
}

/// Returns the position after the spaces at `position`.
fn skip_spaces(text: &[u8], position: usize) -> usize {
    position + text[position..].iter().take_while(|byte| is_space(**byte)).count()
}
