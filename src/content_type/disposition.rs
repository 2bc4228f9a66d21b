//! `Content-Disposition` in the parts of a form.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use super::error::ContentTypeError;
use super::grammar::{Cursor, Dialect, is_token};

/// The parameters of a `Content-Disposition` in a form (RFC 7578 §4.2).
#[derive(Debug)]
pub(crate) struct FormDisposition<'h> {
    pub(crate) name: Option<Cow<'h, [u8]>>,
    pub(crate) file_name: Option<Cow<'h, [u8]>>,
}

impl<'h> FormDisposition<'h> {
    /// Parses the value.
    ///
    /// Browsers escape quotes, but not backslashes (HTML §4.10.21.8), so a backslash before a quote is either an escape
    /// (RFC 9110 §5.6.4) or the last character of a value. A value is accepted if one of these readings follows the
    /// grammar, and both find a file name, both an empty one, or both none.
    ///
    /// # Errors
    ///
    /// Returns the position of the first byte that the grammar does not allow, of a backslash that decides whether the part
    /// is a file, or 0 if a parameter occurs twice.
    pub(crate) fn parse(value: &'h [u8]) -> Result<Self, ContentTypeError> {
        let parsed = Self::parse_as(value, Dialect::Http);
        let Some(position) = value.windows(2).position(|pair| pair == b"\\\"") else { return parsed };
        if is_empty_file_name(value, true) != is_empty_file_name(value, false) {
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
        for (name, value) in parameters {
            let place = if name.eq_ignore_ascii_case("name") {
                &mut disposition.name
            } else if name.eq_ignore_ascii_case("filename") {
                &mut disposition.file_name
            } else {
                continue;
            };
            // Readers differ in which one they use.
            if place.replace(value).is_some() {
                return Err(ContentTypeError { position: 0 });
            }
        }
        Ok(disposition)
    }
}

/// Whether the first `filename` is empty, for a reader that ignores what the grammar does not allow. Returns `None` if there
/// is none.
fn is_empty_file_name(value: &[u8], escapes: bool) -> Option<bool> {
    let (mut is_quoted, mut is_escaped) = (false, false);
    let mut is_end = |byte: &u8| {
        if core::mem::take(&mut is_escaped) {
            return false;
        }
        is_quoted ^= *byte == b'"';
        is_escaped = escapes && is_quoted && *byte == b'\\';
        *byte == b';' && !is_quoted
    };
    value.split(|byte| is_end(byte)).find_map(|parameter| {
        let mut parts = parameter.splitn(2, |byte| *byte == b'=').map(<[u8]>::trim_ascii);
        parts.next().filter(|name| name.eq_ignore_ascii_case(b"filename"))?;
        parts.next().map(|value| matches!(value, b"" | b"\"\""))
    })
}
