//! The values of header and trailer fields.

#[cfg(feature = "http")]
use http::{HeaderMap, HeaderName};

use crate::content_type::{FieldSyntax, check_extended};
use crate::decoder::Utf8Decoder;
use crate::error::Utf8Error;

/// Fields whose parameters may have extended values (RFC 8187), and their syntax: RFC 6266 §4.3, RFC 8288
/// §3.4.1, RFC 9652 §2, RFC 7616 §3.4. Some readers also accept them in `Content-Type`.
const EXTENDED: [(&str, FieldSyntax); 6] = [
    ("content-disposition", FieldSyntax::Single),
    ("content-type", FieldSyntax::Single),
    ("link", FieldSyntax::Links),
    ("link-template", FieldSyntax::Links),
    ("authorization", FieldSyntax::List),
    ("proxy-authorization", FieldSyntax::List),
];

/// Checks the value of a header or trailer field, as the layers do if they check fields. Use it in engines that have no
/// `HeaderMap`.
///
/// The value must be well-formed UTF-8, and so must the text of an extended value, such as the `filename*` of
/// `Content-Disposition` in UTF-8 (RFC 8187 §3.2.1). Some readers decode an extended value in quotes or without a charset,
/// so these are checked too. The URIs of `Link` (RFC 8288 §3) are not.
///
/// # Errors
///
/// Returns the first error. Its offset counts from the start of the value. In an extended value it is the position of the
/// first byte of the sequence or of its `%`.
///
/// ```
/// use utf8_codec::http::check_field;
///
/// assert!(check_field("content-disposition", b"attachment; filename*=UTF-8''caf%C3%A9.txt").is_ok());
/// let error = check_field("content-disposition", b"attachment; filename*=UTF-8''caf%E9.txt").unwrap_err();
/// assert_eq!((error.offset, error.len), (32, 1));
/// ```
pub fn check_field(name: &str, value: &[u8]) -> Result<(), Utf8Error> {
    let mut decoder = Utf8Decoder::new();
    decoder.validate(value).and_then(|()| decoder.finish())?;
    match EXTENDED.iter().find(|(known, _)| name.eq_ignore_ascii_case(known)) {
        Some(&(_, syntax)) => check_extended(value, syntax),
        None => Ok(()),
    }
}

/// Checks the values of all fields. Returns the name of the first ill-formed one, and its error.
#[cfg(feature = "http")]
pub(crate) fn check_values(fields: &HeaderMap) -> Result<(), (HeaderName, Utf8Error)> {
    for (name, value) in fields {
        check_field(name.as_str(), value.as_bytes()).map_err(|error| (name.clone(), error))?;
    }
    Ok(())
}
