//! The extended values of header fields in HTTP (RFC 8187).

use super::labels;
use super::rfc2231::without_charset;
use crate::error::{ErrorKind, Utf8Error};
use crate::percent;

/// The syntax of a field that may have extended values.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FieldSyntax {
    /// One value with parameters.
    Single,
    /// A list, possibly after the name of a scheme (RFC 9110 §11.4). A comma ends an unquoted value.
    List,
    /// A list of links: each element starts with a URI in `<>` (RFC 8288 §3).
    Links,
}

/// The charset of an extended value, in the order of how much is checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Declared {
    Other,
    Utf8,
    Ascii,
}

/// Checks the extended values of a header field of HTTP: `name*=charset'language'text` (RFC 8187 §3.2.1), where `text` is
/// percent-encoded. A value in UTF-8, in ASCII or without a charset must encode well-formed text. Other charsets are not
/// checked. A label is known if a reader knows it ([`labels`]).
///
/// A value in quotes is not allowed by RFC 8187, but many readers decode it, so it is checked too. An extended value is
/// found wherever one starts, also inside a quoted string, because readers differ in where a quoted string ends after a
/// backslash. Without a charset it is found only where a parameter can start, because quoted strings and URIs may
/// contain `*=` too. In a field that is a list it ends with a comma. The URI of a link is skipped.
///
/// Each section of a parameter (`name*1*=text`, RFC 2231 §3) is checked on its own, as it is decoded, in the charset of the
/// first section of that parameter. If no charset is known, it is checked as UTF-8. It is also checked as UTF-8 if the
/// extended value before it in the field was checked: Werkzeug decodes it in the charset of that value.
///
/// # Errors
///
/// Returns the first error. Its offset is the position in the field of the first byte of the sequence or of its `%`.
pub(crate) fn check_extended(field: &[u8], syntax: FieldSyntax) -> Result<(), Utf8Error> {
    let (mut at, mut before, mut sections) = (0, Declared::Other, Sections::default());
    while let Some(equals) = next_equals(field, at, syntax) {
        let name = Name::before(field, at, equals);
        at = equals + 1;
        let Some(name) = name else { continue };
        at += field[at..].iter().take_while(|byte| is_space(**byte)).count();
        let is_quoted = field[at..].starts_with(b"\"");
        at += usize::from(is_quoted);
        let mut is_escaped = false;
        let is_end = |byte: &u8| {
            let was_escaped = core::mem::replace(&mut is_escaped, is_quoted && *byte == b'\\');
            let ends = *byte == b';' || syntax != FieldSyntax::Single && *byte == b',';
            !was_escaped && *byte == b'"' || !is_quoted && ends
        };
        let end = field[at..].iter().position(is_end).map_or(field.len(), |len| at + len);
        let value = &field[at..end];
        let text = without_charset(value);
        let start = end - text.len();
        let has_charset = start > at;
        at = end;
        let charset = if has_charset {
            let charset = Declared::of(value);
            before = charset;
            if name.section.is_some() {
                sections.declare(name.base, charset);
            }
            charset
        } else {
            let is_later = name.section.is_some_and(|number| number != b"0");
            let own = if is_later { sections.charset(name.base) } else { None };
            let unknown = if name.starts_parameter(field, syntax) { Declared::Utf8 } else { Declared::Other };
            let inherited = if is_later { before.min(Declared::Utf8) } else { Declared::Other };
            own.unwrap_or(unknown).max(inherited)
        };
        if charset == Declared::Other {
            continue;
        }
        let in_field = |error: Utf8Error| Utf8Error { offset: start as u64 + error.offset, ..error };
        percent::check(text).map_err(in_field)?;
        if charset == Declared::Ascii
            && let Some(position) = first_above_ascii(text)
        {
            return Err(in_field(Utf8Error::new(position as u64, ErrorKind::OutsideSubset, 1)));
        }
    }
    Ok(())
}

impl Declared {
    /// Returns the charset of a value that has one. An empty charset is none.
    fn of(value: &[u8]) -> Self {
        match value.split(|byte| *byte == b'\'').next().unwrap_or_default() {
            b"" => Self::Utf8,
            label if labels::is_utf8(label) => Self::Utf8,
            label if labels::is_ascii(label) => Self::Ascii,
            _ => Self::Other,
        }
    }
}

/// Returns the position of the next `=` that is not in the URI of a link.
fn next_equals(field: &[u8], mut at: usize, syntax: FieldSyntax) -> Option<usize> {
    loop {
        let rest = &field[at..];
        let stop = rest
            .iter()
            .position(|byte| *byte == b'=' || *byte == b'<' && syntax == FieldSyntax::Links)
            .map(|distance| at + distance)?;
        if field[stop] == b'=' {
            return Some(stop);
        }
        at = stop + 1;
        let starts_link = matches!(field[..stop].trim_ascii_end().last(), None | Some(b','));
        // No URI contains these. Without a quote, no reader finds the end of a quoted string inside.
        let end = field[at..].iter().position(|byte| matches!(byte, b'>' | b'<' | b'"')).map(|len| at + len);
        if let Some(end) = end
            && starts_link
            && field[end] == b'>'
        {
            at = end + 1;
        }
    }
}

/// The name of an extended parameter: `base*` or `base*number*`.
struct Name<'f> {
    base: &'f [u8],
    /// The number of the section.
    section: Option<&'f [u8]>,
    start: usize,
}

impl<'f> Name<'f> {
    /// Returns the name that ends before `equals` and starts at `from` or later. Returns `None` if it is not that of an
    /// extended parameter.
    fn before(field: &'f [u8], from: usize, equals: usize) -> Option<Self> {
        let before = field[from..equals].trim_ascii_end();
        let len = before.iter().rev().take_while(|byte| is_token(**byte)).count();
        let start = from + before.len() - len;
        let name = before[before.len() - len..].strip_suffix(b"*")?;
        let digits = name.iter().rev().take_while(|byte| byte.is_ascii_digit()).count();
        let (base, number) = name.split_at(name.len() - digits);
        Some(match base.strip_suffix(b"*") {
            Some(base) if !number.is_empty() => Self { base, section: Some(number), start },
            _ => Self { base: name, section: None, start },
        })
    }

    /// Whether a parameter can start here: after a `;`, in a list after a comma, and in `Authorization` after its scheme.
    fn starts_parameter(&self, field: &[u8], syntax: FieldSyntax) -> bool {
        let before = &field[..self.start];
        match before.trim_ascii_end().last() {
            None | Some(b';') => true,
            Some(b',') => syntax != FieldSyntax::Single,
            Some(_) => syntax == FieldSyntax::List && before.ends_with(b" "),
        }
    }
}

/// The charsets of the parameters in sections. Only the first few names are stored: text in the others is checked, as
/// text in UTF-8 is.
#[derive(Default)]
struct Sections<'f> {
    known: [Option<(&'f [u8], Declared)>; 8],
}

impl<'f> Sections<'f> {
    /// Stores the charset of a section. Of several the strictest counts, because readers differ in which one they use.
    fn declare(&mut self, base: &'f [u8], charset: Declared) {
        for known in &mut self.known {
            match known {
                Some((name, strictest)) if name.eq_ignore_ascii_case(base) => {
                    *strictest = charset.max(*strictest);
                    return;
                }
                Some(_) => {}
                None => {
                    *known = Some((base, charset));
                    return;
                }
            }
        }
    }

    fn charset(&self, base: &[u8]) -> Option<Declared> {
        let known = self.known.iter().flatten().find(|(name, _)| name.eq_ignore_ascii_case(base));
        known.map(|(_, charset)| *charset)
    }
}

const fn is_space(byte: u8) -> bool {
    matches!(byte, b' ' | b'\t')
}

/// Whether a byte may be in a name (RFC 9110 §5.6.2).
fn is_token(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&byte)
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
