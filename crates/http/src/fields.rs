//! The header fields that determine how a body is checked, and the values of header and trailer fields.

use http::HeaderMap;
#[cfg(feature = "body")]
use http::HeaderName;
use http::header::{CACHE_CONTROL, CONTENT_ENCODING, CONTENT_RANGE, CONTENT_TYPE};
use utf8_codec::{Utf8Decoder, Utf8Error};
use utf8_codec_media::content_type::{FieldSyntax, check_extended, labels};

#[cfg(feature = "tower")]
use utf8_codec_media::content_type::has_grpc_status;

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
/// `Content-Disposition` in UTF-8 (RFC 8187 §3.2.1). Some readers decode an extended value in quotes or without a
/// charset, so these are checked too. Sections such as `filename*0*` and `filename*1*` are joined (RFC 2231 §3). The
/// URIs of `Link` (RFC 8288 §3) are not checked. Neither is `grpc-message`, whose readers "MUST NOT error or throw away
/// the message" (gRPC over HTTP/2, "Status-Message"): without its field the client would lose the status of the call.
///
/// # Errors
///
/// Returns the first error. Its offset counts from the start of the value. In an extended value it is the position of the
/// first byte of the sequence or of its `%`.
///
/// ```
/// use utf8_codec_http::check_field;
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
#[cfg(feature = "body")]
pub(crate) fn check_values(fields: &HeaderMap) -> Result<(), (HeaderName, Utf8Error)> {
    for (name, value) in fields {
        check_field(name.as_str(), value.as_bytes()).map_err(|error| (name.clone(), error))?;
    }
    Ok(())
}

/// Checks the values of the header fields of a response. In a gRPC or gRPC-Web response without a body they are also the
/// fields that [end](check_end) it. Returns the number of removed fields; `Content-Type` is never removed.
#[cfg(feature = "tower")]
pub(crate) fn check_head(fields: &mut HeaderMap) -> Result<u64, (HeaderName, Utf8Error)> {
    let may_end = fields.get_all(CONTENT_TYPE).iter().all(|value| {
        let value = value.as_bytes();
        has_grpc_status(value) && check_field("content-type", value).is_ok()
    });
    if may_end && fields.contains_key(CONTENT_TYPE) {
        check_end(fields)
    } else {
        check_values(fields).map(|()| 0)
    }
}

/// Checks the values of the fields that end a response. If one of them is the status of gRPC, the fields with an ill-formed
/// value are removed instead, because the client would lose the status. Trailers may be removed anywhere on the way (RFC
/// 9110 §6.5.1). Returns the number of removed fields.
#[cfg(feature = "body")]
pub(crate) fn check_end(fields: &mut HeaderMap) -> Result<u64, (HeaderName, Utf8Error)> {
    let first = match check_values(fields) {
        Ok(()) => return Ok(0),
        Err(error) => error,
    };
    let has_status = fields.get("grpc-status").is_some_and(|status| status.to_str().is_ok());
    if !has_status {
        return Err(first);
    }
    let ill_formed: Vec<_> = fields
        .iter()
        .filter(|(name, value)| check_field(name.as_str(), value.as_bytes()).is_err())
        .map(|(name, _)| name.clone())
        .collect();
    for name in &ill_formed {
        fields.remove(name);
    }
    Ok(ill_formed.len() as u64)
}

/// The header fields that [`BodyRules`](super::BodyRules) use: every `Content-Type`, `Content-Encoding`, `Content-Range`,
/// `Cache-Control`, `grpc-encoding` and `connect-content-encoding` of a message.
///
/// Create it from a `HeaderMap`, or add the fields one by one in an engine without that type.
#[derive(Clone, Copy, Debug, Default)]
pub struct ContentFields<'h> {
    content_type: Option<&'h [u8]>,
    has_conflicting_types: bool,
    coding: Coding,
    is_range: bool,
    is_fixed: bool,
    #[cfg(feature = "inflate")]
    message_encoding: Option<MessageEncoding>,
}

/// The encoding of compressed messages in a stream: `grpc-encoding` ("gRPC over HTTP/2", Message-Encoding), or
/// `connect-content-encoding` (Connect, Streaming-Content-Encoding).
#[cfg(feature = "inflate")]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum MessageEncoding {
    /// The field is absent or `identity`. No message is compressed.
    #[default]
    Identity,
    Gzip,
    /// `deflate`, which is the format of zlib.
    Zlib,
    /// Another one, or several.
    Other,
}

/// The names of the fields of [`MessageEncoding`].
#[cfg(feature = "inflate")]
const MESSAGE_ENCODINGS: [&str; 2] = ["grpc-encoding", "connect-content-encoding"];

/// What the content codings of a message do to its bytes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) enum Coding {
    /// There is none, or only `identity`.
    #[default]
    Identity,
    /// Only names that clients ignore ([`IGNORED_CODINGS`]).
    Ignored,
    /// A coding that may change the bytes, known or not.
    Other,
}

/// Names in `Content-Encoding` that are not content codings. Services send them by mistake, and clients read the body
/// as it is, as the Fetch Standard requires for an unknown coding ("handle content codings"). They are the settings of
/// servers for no compression and the transfer encodings of mail (RFC 2045 §6.2). The labels of UTF-8 and of US-ASCII
/// are ignored too.
const IGNORED_CODINGS: [&str; 4] = ["none", "7bit", "8bit", "binary"];

impl<'h> ContentFields<'h> {
    /// Creates an empty set, for a message without any of these fields.
    pub const fn new() -> Self {
        Self {
            content_type: None,
            has_conflicting_types: false,
            coding: Coding::Identity,
            is_range: false,
            is_fixed: false,
            #[cfg(feature = "inflate")]
            message_encoding: None,
        }
    }

    /// Adds a field of the message. Fields with other names are ignored.
    pub fn add(&mut self, name: &str, value: &'h [u8]) {
        if name.eq_ignore_ascii_case("content-type") {
            self.add_type(value);
        } else if name.eq_ignore_ascii_case("content-encoding") {
            self.coding = self.coding.max(coding(value));
        } else if name.eq_ignore_ascii_case("content-range") {
            self.is_range |= is_range(value);
        } else if name.eq_ignore_ascii_case("cache-control") {
            self.is_fixed |= has_no_transform(value);
        }
        #[cfg(feature = "inflate")]
        if MESSAGE_ENCODINGS.iter().any(|other| name.eq_ignore_ascii_case(other)) {
            self.add_message_encoding(value);
        }
    }

    #[cfg(feature = "inflate")]
    fn add_message_encoding(&mut self, value: &[u8]) {
        let name = value.trim_ascii();
        let given = if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
            MessageEncoding::Identity
        } else if name.eq_ignore_ascii_case(b"gzip") {
            MessageEncoding::Gzip
        } else if name.eq_ignore_ascii_case(b"deflate") {
            MessageEncoding::Zlib
        } else {
            MessageEncoding::Other
        };
        let is_same = self.message_encoding.is_none_or(|before| before == given);
        self.message_encoding = Some(if is_same { given } else { MessageEncoding::Other });
    }

    /// Returns the encoding of the compressed messages of a stream.
    #[cfg(feature = "inflate")]
    pub(crate) fn message_encoding(&self) -> MessageEncoding {
        self.message_encoding.unwrap_or_default()
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

    /// Returns what the content codings do to the bytes.
    pub(crate) const fn coding(&self) -> Coding {
        self.coding
    }

    /// Whether the body is a range of a representation, or has a `Content-Range` that cannot be parsed.
    pub(crate) const fn is_range(&self) -> bool {
        self.is_range
    }

    /// Whether the body must not be changed: `Cache-Control: no-transform`.
    pub(crate) const fn is_fixed(&self) -> bool {
        self.is_fixed
    }
}

impl<'h> From<&'h HeaderMap> for ContentFields<'h> {
    fn from(headers: &'h HeaderMap) -> Self {
        let mut fields = Self::new();
        headers.get_all(CONTENT_TYPE).iter().for_each(|value| fields.add_type(value.as_bytes()));
        let codings = headers.get_all(CONTENT_ENCODING).iter().map(|value| coding(value.as_bytes()));
        fields.coding = codings.max().unwrap_or_default();
        fields.is_range = headers.get_all(CONTENT_RANGE).iter().any(|value| is_range(value.as_bytes()));
        fields.is_fixed =
            headers.get_all(CACHE_CONTROL).iter().any(|value| has_no_transform(value.as_bytes()));
        #[cfg(feature = "inflate")]
        MESSAGE_ENCODINGS
            .iter()
            .flat_map(|name| headers.get_all(*name))
            .for_each(|value| fields.add_message_encoding(value.as_bytes()));
        fields
    }
}

/// Returns what the codings of a field do to the bytes.
fn coding(value: &[u8]) -> Coding {
    value.split(|byte| *byte == b',').map(|name| coding_of(name.trim_ascii())).max().unwrap_or_default()
}

fn coding_of(name: &[u8]) -> Coding {
    let is_ignored = IGNORED_CODINGS.iter().any(|other| name.eq_ignore_ascii_case(other.as_bytes()));
    if name.is_empty() || name.eq_ignore_ascii_case(b"identity") {
        Coding::Identity
    } else if is_ignored || labels::is_utf8(name) || labels::is_ascii(name) {
        Coding::Ignored
    } else {
        Coding::Other
    }
}

/// Whether the value is a range. `bytes */9` means that there is no range (RFC 9110 §14.4) and the body is complete.
fn is_range(value: &[u8]) -> bool {
    value.splitn(2, |byte| *byte == b' ').nth(1).is_none_or(|range| !range.starts_with(b"*/"))
}

/// Whether `no-transform` is one of the directives. A comma in quotes, as in `private="a, b"`, does not end a directive.
fn has_no_transform(value: &[u8]) -> bool {
    let mut is_quoted = false;
    let mut is_escaped = false;
    let mut directives = value.split(|&byte| {
        let is_literal = is_escaped;
        is_escaped = is_quoted && !is_literal && byte == b'\\';
        is_quoted ^= byte == b'"' && !is_literal;
        byte == b',' && !is_quoted
    });
    directives.any(|directive| {
        let name = directive.split(|&byte| byte == b'=').next().unwrap_or_default();
        name.trim_ascii().eq_ignore_ascii_case(b"no-transform")
    })
}
