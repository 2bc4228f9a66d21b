//! The header fields that determine how a body is checked, and the values of header and trailer fields.

use http::HeaderMap;
#[cfg(feature = "http")]
use http::HeaderName;
use http::header::{CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE};

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
/// so these are checked too. The URIs of `Link` (RFC 8288 §3) are not. Neither is `grpc-message`, whose readers "MUST NOT error
/// or throw away the message" (gRPC over HTTP/2, "Status-Message"): without its field the client would lose the status of the
/// call.
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
    if name.eq_ignore_ascii_case("grpc-message") {
        return Ok(());
    }
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

/// The header fields that [`BodyRules`](super::BodyRules) use: every `Content-Type`, `Content-Encoding` and
/// `Content-Range` of a message.
///
/// Create it from a `HeaderMap`, or add the fields one by one in an engine without that type.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContentFields<'h> {
    content_type: Option<&'h [u8]>,
    has_conflicting_types: bool,
    is_coded: bool,
    is_range: bool,
}

impl<'h> ContentFields<'h> {
    /// Creates an empty set, for a message without any of the three fields.
    pub const fn new() -> Self {
        Self { content_type: None, has_conflicting_types: false, is_coded: false, is_range: false }
    }

    /// Adds a field of the message. Fields with other names are ignored.
    pub fn add(&mut self, name: &str, value: &'h [u8]) {
        if name.eq_ignore_ascii_case("content-type") {
            self.add_type(value);
        } else if name.eq_ignore_ascii_case("content-encoding") {
            self.is_coded |= is_coded(value);
        } else if name.eq_ignore_ascii_case("content-range") {
            self.is_range |= is_range(value);
        }
    }

    fn add_type(&mut self, value: &'h [u8]) {
        self.has_conflicting_types |= self.content_type.is_some_and(|before| before != value);
        self.content_type.get_or_insert(value);
    }

    /// Returns the value of the first `Content-Type`.
    pub(crate) const fn content_type(&self) -> Option<&'h [u8]> {
        self.content_type
    }

    /// Whether there are several `Content-Type` fields that differ.
    pub(crate) const fn has_conflicting_types(&self) -> bool {
        self.has_conflicting_types
    }

    /// Whether there is a content coding other than `identity`, known or not.
    pub(crate) const fn is_coded(&self) -> bool {
        self.is_coded
    }

    /// Whether the body is a range of a representation, or has a `Content-Range` that cannot be parsed.
    pub(crate) const fn is_range(&self) -> bool {
        self.is_range
    }
}

impl<'h> From<&'h HeaderMap> for ContentFields<'h> {
    fn from(headers: &'h HeaderMap) -> Self {
        let mut fields = Self::new();
        headers.get_all(CONTENT_TYPE).iter().for_each(|value| fields.add_type(value.as_bytes()));
        fields.is_coded = headers.get_all(CONTENT_ENCODING).iter().any(|value| is_coded(value.as_bytes()));
        fields.is_range = headers.get_all(CONTENT_RANGE).iter().any(|value| is_range(value.as_bytes()));
        fields
    }
}

fn is_coded(value: &[u8]) -> bool {
    let mut codings = value.split(|byte| *byte == b',').map(<[u8]>::trim_ascii);
    codings.any(|coding| !coding.is_empty() && !coding.eq_ignore_ascii_case(b"identity"))
}

/// Whether the value is a range. `bytes */9` means that there is no range (RFC 9110 §14.4) and the body is complete.
fn is_range(value: &[u8]) -> bool {
    value.splitn(2, |byte| *byte == b' ').nth(1).is_none_or(|range| !range.starts_with(b"*/"))
}
