//! The extended values of header fields in HTTP (RFC 8187).

use super::rfc2231::without_charset;
use super::{is_ascii_label, is_utf8_label};
use crate::error::{ErrorKind, Utf8Error};
use crate::percent;

/// The charsets in which the text of an extended value is checked.
#[derive(Clone, Copy)]
enum Checked {
    Utf8,
    Ascii,
}

/// Checks the extended values of a header field of HTTP: `name*=charset'language'text` (RFC 8187 §3.2.1), where `text` is
/// percent-encoded. A value in UTF-8, in ASCII or without a charset must encode well-formed text. Other charsets are not
/// checked.
///
/// A value in quotes is not allowed by RFC 8187, but many readers decode it, so it is checked too. So is each section
/// of a parameter (`name*1*=text`, RFC 2231 §3) on its own, as it is decoded. An extended value is found wherever one
/// starts, also inside a quoted string, because readers differ in where a quoted string ends after a backslash. In a
/// field that is a list it ends with a comma.
///
/// # Errors
///
/// Returns the first error. Its offset is the position in the field of the first byte of the sequence or of its `%`.
pub(crate) fn check_extended(field: &[u8], is_list: bool) -> Result<(), Utf8Error> {
    let (mut at, mut charset_before) = (0, None);
    while let Some(distance) = field[at..].iter().position(|byte| *byte == b'=') {
        let equals = at + distance;
        let name = field[at..equals].trim_ascii_end();
        at = equals + 1;
        let Some(name) = name.strip_suffix(b"*") else { continue };
        at += field[at..].iter().take_while(|byte| matches!(byte, b' ' | b'\t')).count();
        let is_quoted = field[at..].starts_with(b"\"");
        at += usize::from(is_quoted);
        let mut is_escaped = false;
        let is_end = |byte: &u8| {
            let was_escaped = core::mem::replace(&mut is_escaped, is_quoted && *byte == b'\\');
            !was_escaped && *byte == b'"' || !is_quoted && (*byte == b';' || is_list && *byte == b',')
        };
        let end = field[at..].iter().position(is_end).map_or(field.len(), |len| at + len);
        let value = &field[at..end];
        let text = without_charset(value);
        let start = end - text.len();
        let has_charset = start > at;
        at = end;
        if has_charset {
            charset_before = match value.split(|byte| *byte == b'\'').next().unwrap_or_default() {
                b"" => Some(Checked::Utf8),
                label if is_utf8_label(label) => Some(Checked::Utf8),
                label if is_ascii_label(label) => Some(Checked::Ascii),
                _ => None,
            };
        } else if !is_later_section(name) {
            continue;
        }
        let Some(charset) = charset_before else { continue };
        let in_field = |error: Utf8Error| Utf8Error { offset: start as u64 + error.offset, ..error };
        percent::check(text).map_err(in_field)?;
        if matches!(charset, Checked::Ascii)
            && let Some(position) = first_above_ascii(text)
        {
            return Err(in_field(Utf8Error::new(position as u64, ErrorKind::OutsideSubset, 1)));
        }
    }
    Ok(())
}

/// Whether a name without its last `*` is that of a section after the first, which has no charset of its own.
fn is_later_section(name: &[u8]) -> bool {
    let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
    let (base, number) = name.split_at(name.len() - digits);
    base.ends_with(b"*") && !number.is_empty() && number != b"0"
}

/// Returns the position of the first byte above `7F`, escaped or not.
fn first_above_ascii(text: &[u8]) -> Option<usize> {
    let mut at = 0;
    while let Some((byte, len)) = percent::first_byte(&text[at..]) {
        if !byte.is_ascii() {
            return Some(at);
        }
        at += len;
    }
    None
}
