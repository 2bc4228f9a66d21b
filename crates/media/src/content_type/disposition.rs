//! `Content-Disposition` in the parts of a form.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::grammar::{ContentTypeError, Cursor, Dialect, is_token};

/// The parameters of a `Content-Disposition` in a form (RFC 7578 §4.2).
#[derive(Debug)]
#[non_exhaustive]
pub struct FormDisposition<'h> {
    /// The name of the field.
    pub name: Option<Cow<'h, [u8]>>,
    /// The `filename`, or the `filename*` if that is the only one.
    pub file_name: Option<Cow<'h, [u8]>>,
}

impl<'h> FormDisposition<'h> {
    /// Parses the value.
    ///
    /// Browsers escape quotes, but not backslashes (HTML §4.10.21.8), so a backslash before a quote is either an escape
    /// (RFC 9110 §5.6.4) or the last character of a value. Django, which uses Python's `email` package, reads it as an escape
    /// even after an escaped backslash. A value is accepted if one of the first two readings follows the grammar, and all
    /// three find a file name, an empty one, or none.
    ///
    /// Some readers use an extended `filename*` (RFC 8187), which RFC 7578 §4.2 forbids, instead of `filename`. If
    /// `filename` is a name, the extended one may not be empty, in another charset or continued. Without a `filename`
    /// it makes the part a file, because python-requests sends it alone, unless it may be empty, in another charset or
    /// continued: then the content is checked.
    ///
    /// # Errors
    ///
    /// Returns the position of the first byte that the grammar does not allow, of a backslash that decides whether the part
    /// is a file, or 0 if a parameter occurs twice or an extended value decides it.
    pub fn parse(value: &'h [u8]) -> Result<Self, ContentTypeError> {
        let parsed = Self::parse_as(value, Dialect::Http);
        let Some(position) = value.windows(2).position(|pair| pair == b"\\\"") else { return parsed };
        let found = file_name(value, Backslash::Escapes);
        if [Backslash::IsText, Backslash::EscapesQuote].iter().any(|other| file_name(value, *other) != found)
        {
            return Err(ContentTypeError { position });
        }
        parsed.or_else(|error| Self::parse_as(value, Dialect::Html).map_err(|_| error))
    }

    fn parse_as(value: &'h [u8], dialect: Dialect) -> Result<Self, ContentTypeError> {
        let mut cursor = Cursor::new(value, dialect);
        cursor.white_space();
        cursor.token(is_token)?;
        let mut parameters = Vec::new();
        cursor.parameters(&mut parameters)?;
        let mut disposition = Self { name: None, file_name: None };
        let may_be_empty = parameters.iter().any(|(name, value)| may_empty_file_name(name, value));
        let mut extended = None;
        for (name, value) in parameters {
            if name.eq_ignore_ascii_case("filename*") {
                extended = Some(value);
                continue;
            }
            let place = if name.eq_ignore_ascii_case("name") {
                &mut disposition.name
            } else if name.eq_ignore_ascii_case("filename") {
                &mut disposition.file_name
            } else {
                continue;
            };
            // Some readers use the first value, others the last.
            if place.replace(value).is_some() {
                return Err(ContentTypeError { position: 0 });
            }
        }
        if may_be_empty && disposition.file_name.as_deref().is_some_and(|name| !name.is_empty()) {
            return Err(ContentTypeError { position: 0 });
        }
        disposition.file_name = disposition.file_name.or(extended.filter(|_| !may_be_empty));
        Ok(disposition)
    }
}

/// Whether the parameter is a `filename*` or a continuation such as `filename*0` (RFC 2231 §3) in which a reader may
/// find an empty name.
fn may_empty_file_name(name: &str, value: &[u8]) -> bool {
    let Some((base, rest)) = name.split_once('*') else { return false };
    let mut parts = value.splitn(3, |byte| *byte == b'\'');
    let is_name = rest.is_empty()
        && parts.next().is_some_and(is_supported_charset)
        && parts.nth(1).is_some_and(|text| !text.is_empty());
    base.eq_ignore_ascii_case("filename") && !is_name
}

/// Whether all readers support the charset.
fn is_supported_charset(label: &[u8]) -> bool {
    label.eq_ignore_ascii_case(b"UTF-8") || label.eq_ignore_ascii_case(b"ISO-8859-1")
}

/// How a reader reads a backslash.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Backslash {
    /// In a quoted string it escapes the next character (RFC 9110 §5.6.4).
    Escapes,
    /// It is a character like others (HTML §4.10.21.8).
    IsText,
    /// It escapes a quote, even after another backslash and outside of a quoted string (Python, `email`).
    EscapesQuote,
}

/// The `filename` found by a reader that ignores what the grammar does not allow.
#[derive(PartialEq, Eq)]
enum FileName {
    Missing,
    Empty,
    Present,
    Repeated,
}

/// Returns the `filename`, and whether there is a `filename*`.
fn file_name(value: &[u8], backslash: Backslash) -> (FileName, bool) {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let mut is_end = |byte: &u8| {
        let was_escaped = core::mem::take(&mut is_escaped);
        is_escaped = *byte == b'\\'
            && match backslash {
                Backslash::Escapes => is_quoted && !was_escaped,
                Backslash::IsText => false,
                Backslash::EscapesQuote => true,
            };
        is_quoted ^= *byte == b'"' && !was_escaped;
        *byte == b';' && !is_quoted
    };
    let mut found = FileName::Missing;
    let mut is_extended = false;
    for parameter in value.split(|byte| is_end(byte)) {
        let mut parts = parameter.splitn(2, |byte| *byte == b'=').map(<[u8]>::trim_ascii);
        let name = parts.next().unwrap_or_default();
        is_extended |= name.eq_ignore_ascii_case(b"filename*");
        if !name.eq_ignore_ascii_case(b"filename") {
            continue;
        }
        found = match (found, parts.next()) {
            (found, None) => found,
            (FileName::Missing, Some(b"" | b"\"\"")) => FileName::Empty,
            (FileName::Missing, Some(_)) => FileName::Present,
            _ => FileName::Repeated,
        };
    }
    (found, is_extended)
}
