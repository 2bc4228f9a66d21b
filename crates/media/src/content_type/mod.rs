//! `Content-Type` and its `charset` parameter, for HTTP and for mail.
//!
//! For programs that use the type of a body to decide whether it is text, and in which charset. The parser is strict:
//! if two programs interpret a malformed header differently, a filter can be bypassed.
//!
//! ```
//! use utf8_codec_media::content_type::{Charset, ContentType};
//!
//! let content_type = ContentType::parse(b"application/json; charset=\"utf-8\"")?;
//! assert!(content_type.is("application", "json"));
//! assert_eq!(content_type.charset(), Charset::Utf8);
//!
//! let error = ContentType::parse(b"text/plain charset=utf-8").unwrap_err();
//! assert_eq!(error.position, 11);
//! # Ok::<(), utf8_codec_media::content_type::ContentTypeError>(())
//! ```
//!
//! | | [`ContentType::parse`] | [`ContentType::parse_mail`] |
//! |---|---|---|
//! | grammar | RFC 9110 §8.3.1 | RFC 2045 §5.1 |
//! | between tokens | nothing; space and tab around `;` | comments, white space, line ends |
//! | a value without quotes | a token | a token, or other characters that mailers leave unquoted in boundaries |
//! | parameters in sections, `charset*=` | ordinary names | RFC 2231 |
//!
//! # Limits
//!
//! The length of a value is not limited here: HTTP servers and the MIME readers of this crate limit it.
//!
//! # Cost
//!
//! The value is read once, and parameters in sections are sorted once. The types borrow from the value; a parameter is
//! copied if it has escapes, folded lines, percent-encoding or sections.

mod disposition;
mod extended;
mod grammar;
pub mod labels;
mod rfc2231;
mod text_types;

use alloc::vec::Vec;

pub use disposition::FormDisposition;
pub use extended::{FieldSyntax, check_extended};
pub use grammar::ContentTypeError;
use grammar::{Cursor, Dialect};
use rfc2231::Parameter;
pub use text_types::{TextKind, text_kind};
pub use text_types::{has_grpc_status, is_length_prefixed_value};
pub use text_types::{is_grpc, is_length_prefixed, is_text_type};

/// A media type with its parameters (RFC 9110 §8.3.1, RFC 2045 §5.1), borrowed from the value of a header field.
///
/// Names are compared without regard to case, as both standards require. The values of parameters are bytes: in HTTP a
/// quoted string may contain any byte above `7F`.
///
/// ```
/// use utf8_codec_media::content_type::{Charset, ContentType};
///
/// let json = ContentType::parse(b"application/problem+json; charset=\"UTF\\-8\"")?;
/// assert!(json.is("application", "problem+json"));
/// assert_eq!(json.suffix(), Some("json"));
/// assert_eq!(json.charset(), Charset::Utf8);
///
/// // Some libraries use the first parameter, others the last.
/// let two = ContentType::parse(b"text/plain; charset=utf-8; charset=latin1")?;
/// assert_eq!(two.charset(), Charset::Conflicting);
/// # Ok::<(), utf8_codec_media::content_type::ContentTypeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentType<'h> {
    top: &'h str,
    subtype: &'h str,
    parameters: Vec<Parameter<'h>>,
}

/// The charset that all `charset` parameters of a media type declare together.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Charset<'h> {
    /// UTF-8 by one or more labels ([`for_label`](Self::for_label)).
    Utf8,
    /// Another charset, with its label.
    Other(&'h [u8]),
    /// No `charset` parameter.
    Missing,
    /// Several `charset` parameters that differ. Programs differ in which one they use. In HTTP also a `charset*=` (RFC
    /// 2231): it is defined for mail, but some HTTP libraries read it too.
    Conflicting,
}

impl<'h> ContentType<'h> {
    /// Parses the value of a `Content-Type` field of HTTP.
    ///
    /// Spaces and tabs are allowed around the value and around `;`, and nowhere else. A parameter may be empty, as in
    /// `text/plain;` (RFC 9110 §5.6.6).
    ///
    /// # Errors
    ///
    /// Returns the position of the first byte that the grammar does not allow.
    pub fn parse(value: &'h [u8]) -> Result<Self, ContentTypeError> {
        let mut cursor = Cursor::new(value, Dialect::Http);
        let (top, subtype) = cursor.media_type()?;
        let mut parameters = Vec::new();
        cursor.parameters(&mut parameters)?;
        Ok(Self { top, subtype, parameters })
    }

    /// Parses the value of a `Content-Type` field of a mail message, folded or not.
    ///
    /// Comments and white space are allowed between all tokens (RFC 5322 §3.2.2). A value without quotes may contain
    /// the characters that mailers use in boundaries (`=`, `/`, `:` and `?`), and the value of `charset` may be empty. The
    /// parameters of RFC 2231 are joined and decoded: `boundary*0=a; boundary*1=b` and
    /// `charset*=us-ascii'en'utf%2D8`.
    ///
    /// ```
    /// use utf8_codec_media::content_type::{Charset, ContentType};
    ///
    /// let field = b"text / plain (as ever);\r\n charset*0=\"ut\"; charset*1*=f%2D8";
    /// assert_eq!(ContentType::parse_mail(field)?.charset(), Charset::Utf8);
    /// # Ok::<(), utf8_codec_media::content_type::ContentTypeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// Returns the position of the first byte that the grammar does not allow.
    pub fn parse_mail(value: &'h [u8]) -> Result<Self, ContentTypeError> {
        match Self::parse_mail_prefix(value)? {
            (content_type, None) => Ok(content_type),
            (_, Some(error)) => Err(error),
        }
    }

    /// Same as [`parse_mail`](Self::parse_mail), but an error in the parameters is returned together with the
    /// parameters before it.
    pub fn parse_mail_prefix(value: &'h [u8]) -> Result<(Self, Option<ContentTypeError>), ContentTypeError> {
        let mut parameters = Vec::new();
        let mut cursor = Cursor::new(value, Dialect::Mail);
        let (top, subtype) = cursor.media_type()?;
        let error = cursor.parameters(&mut parameters).err();
        Ok((Self { top, subtype, parameters: rfc2231::join(parameters) }, error))
    }

    /// Parses a value of mail that is empty or has no subtype, such as `text`, as `text/plain` (RFC 2045 §5.2). Returns
    /// `None` if the value is malformed in another way, or if the type may have parts.
    pub fn parse_mail_incomplete(value: &'h [u8]) -> Option<Self> {
        let mut parameters = Vec::new();
        let mut cursor = Cursor::new(value, Dialect::Mail);
        let top = cursor.type_without_subtype();
        let has_parts = ["multipart", "message"].iter().any(|holder| top.eq_ignore_ascii_case(holder));
        // Some readers ignore the parameters of a value without a type.
        let is_lost = top.is_empty() && !value.trim_ascii().is_empty();
        if has_parts || is_lost || cursor.parameters(&mut parameters).is_err() {
            return None;
        }
        Some(Self { top: "text", subtype: "plain", parameters: rfc2231::join(parameters) })
    }

    /// Returns the part before `/`, in the case of the header.
    pub const fn top(&self) -> &'h str {
        self.top
    }

    /// Returns the part after `/`, in the case of the header.
    pub const fn subtype(&self) -> &'h str {
        self.subtype
    }

    /// Returns the structured syntax suffix of the subtype (RFC 6838 §4.2.8): the part after its last `+`.
    pub fn suffix(&self) -> Option<&'h str> {
        self.subtype.rsplit_once('+').map(|(_, suffix)| suffix)
    }

    /// Whether the type and the subtype are equal to these, ignoring case. Parameters are not compared.
    pub fn is(&self, top: &str, subtype: &str) -> bool {
        self.top.eq_ignore_ascii_case(top) && self.subtype.eq_ignore_ascii_case(subtype)
    }

    /// Returns the parameters in header order, with unquoted values. In mail, parameters that were joined from sections
    /// are last. A name may occur twice.
    pub fn parameters(&self) -> impl Iterator<Item = (&'h str, &[u8])> {
        self.parameters.iter().map(|(name, value)| (*name, value.as_ref()))
    }

    /// Returns the value of the first parameter with this name, ignoring case.
    pub fn parameter(&self, name: &str) -> Option<&[u8]> {
        self.parameters().find(|(candidate, _)| candidate.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// Returns the charset that all `charset` parameters declare together.
    pub fn charset(&self) -> Charset<'_> {
        let mut charset = Charset::Missing;
        for (name, label) in self.parameters() {
            if name.eq_ignore_ascii_case("charset") {
                charset = charset.and(Charset::for_label(label));
            } else if is_or_extends(name, "charset") {
                return Charset::Conflicting;
            }
        }
        charset
    }
}

impl<'h> Charset<'h> {
    /// Returns the charset of a label.
    ///
    /// It is [`Utf8`](Self::Utf8) for the labels of the WHATWG Encoding Standard ([`is_utf8_label`]), the names and
    /// aliases in the IANA registry of character sets, such as `csUTF8`, and those of Python and .NET, such as `cp65001` and
    /// `unicode-2-0-utf-8`, because some reader decodes the text as UTF-8. Case is ignored, and so is punctuation, as in
    /// Python: `utf_8`.
    pub fn for_label(label: &'h [u8]) -> Self {
        if labels::is_utf8(label) { Self::Utf8 } else { Self::Other(label) }
    }

    /// Combines the charsets of two parameters.
    fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::Missing, only) | (only, Self::Missing) => only,
            (Self::Utf8, Self::Utf8) => Self::Utf8,
            (Self::Other(one), Self::Other(two)) if one.eq_ignore_ascii_case(two) => self,
            _ => Self::Conflicting,
        }
    }
}

/// Whether a label means UTF-8 in the [WHATWG Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels).
/// Case and white space around the label are ignored.
///
/// [`Charset::for_label`] also knows the labels of IANA, of Python and of .NET.
///
/// ```
/// use utf8_codec_media::content_type::{Charset, is_utf8_label};
///
/// assert!(is_utf8_label(b"Unicode-1-1-UTF-8"));
/// assert!(!is_utf8_label(b"utf-16"));
/// assert!(!is_utf8_label(b"utf_8"));
/// assert_eq!(Charset::for_label(b"utf_8"), Charset::Utf8);
/// ```
pub fn is_utf8_label(label: &[u8]) -> bool {
    labels::is_whatwg_utf8(label)
}

/// Whether a label means ASCII: `US-ASCII` and its aliases in the IANA registry of character sets, `ascii`, and the aliases
/// of Python, such as `646`. Case is ignored, and so is punctuation, as in Python: `us_ascii`, `ANSI_X3_4_1968`.
///
/// In the WHATWG Encoding Standard most of these labels mean windows-1252.
///
/// ```
/// assert!(utf8_codec_media::content_type::is_ascii_label(b"ANSI_X3.4-1968"));
/// assert!(!utf8_codec_media::content_type::is_ascii_label(b"iso-8859-1"));
/// ```
pub fn is_ascii_label(label: &[u8]) -> bool {
    labels::is_ascii(label)
}

/// Whether `name` is `base`, or one of the names with which RFC 2231 declares `base`: `base*`, `base*0` and `base*0*`.
/// Some HTTP libraries also read these.
pub fn is_or_extends(name: &str, base: &str) -> bool {
    let own = name.strip_suffix("*").unwrap_or(name);
    let own = own.strip_suffix("*0").unwrap_or(own);
    own.eq_ignore_ascii_case(base)
}
