//! `Content-Type` and its `charset` parameter, for HTTP and for mail.
//!
//! For programs that decide by the type of a body whether, and in which charset, it is text. The parser is strict: two
//! readers that guess differently about a malformed header are a way around a filter.
//!
//! ```
//! use utf8_codec::content_type::{Charset, ContentType};
//!
//! let content_type = ContentType::parse(b"application/json; charset=\"utf-8\"")?;
//! assert!(content_type.is("application", "json"));
//! assert_eq!(content_type.charset(), Charset::Utf8);
//!
//! let error = ContentType::parse(b"text/plain charset=utf-8").unwrap_err();
//! assert_eq!(error.offset, 11);
//! # Ok::<(), utf8_codec::content_type::ContentTypeError>(())
//! ```
//!
//! | | [`ContentType::parse`] | [`ContentType::parse_mail`] |
//! |---|---|---|
//! | grammar | RFC 9110 §8.3.1 | RFC 2045 §5.1 |
//! | between tokens | nothing; space and tab around `;` | comments, white space, line ends |
//! | a value without quotes | a token | a token, or what mailers leave unquoted in boundaries |
//! | parameters in pieces, `charset*=` | ordinary names | RFC 2231 |
//!
//! # Limits and cost
//!
//! One pass over the value, and for parameters in pieces one sort. The types borrow from the value; a parameter is
//! copied if it has escapes or pieces. There is no limit on the length of a value: HTTP servers and the MIME readers of
//! this crate have one.
//!
//! Feature `alloc`.

mod rfc2231;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

/// A media type with its parameters (RFC 9110 §8.3.1, RFC 2045 §5.1), borrowed from the value of a header field.
///
/// Names are compared without regard to case, as both standards demand. The values of parameters are bytes: in HTTP a
/// quoted string may hold any byte above `7F`.
///
/// ```
/// use utf8_codec::content_type::{Charset, ContentType};
///
/// let json = ContentType::parse(b"application/problem+json; charset=\"UTF\\-8\"")?;
/// assert!(json.is("application", "problem+json"));
/// assert_eq!(json.suffix(), Some("json"));
/// assert_eq!(json.charset(), Charset::Utf8);
///
/// // Some libraries take the first parameter, some the last.
/// let two = ContentType::parse(b"text/plain; charset=utf-8; charset=latin1")?;
/// assert_eq!(two.charset(), Charset::Conflicting);
/// # Ok::<(), utf8_codec::content_type::ContentTypeError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ContentType<'h> {
    top: &'h str,
    subtype: &'h str,
    parameters: Vec<Parameter<'h>>,
}

/// The name and the unquoted value of a parameter.
type Parameter<'h> = (&'h str, Cow<'h, [u8]>);

/// What the `charset` parameters of a media type say.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Charset<'h> {
    /// UTF-8, by any of the labels of the WHATWG Encoding Standard ([`is_utf8_label`]), once or more often.
    Utf8,
    /// Another charset: its label.
    Other(&'h [u8]),
    /// No `charset` parameter.
    Missing,
    /// Several `charset` parameters that do not agree, or in HTTP a `charset*=` (RFC 2231): that is a mail parameter,
    /// which some HTTP libraries read too. Programs differ in which parameter they use.
    Conflicting,
}

/// The value of a header field is not a media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ContentTypeError {
    /// Position in the value, in bytes, of the first byte that the grammar does not allow; the length of the value if it
    /// ends too early.
    pub offset: usize,
}

impl fmt::Display for ContentTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed media type at byte {}", self.offset)
    }
}

impl core::error::Error for ContentTypeError {}

impl<'h> ContentType<'h> {
    /// Parses the value of a `Content-Type` field of HTTP.
    ///
    /// Spaces and tabs are allowed around the value and around `;`, and nowhere else. A parameter may be empty, as in
    /// `text/plain;` (RFC 9110 §5.6.6).
    ///
    /// # Errors
    ///
    /// The position of the first byte that the grammar does not allow.
    pub fn parse(value: &'h [u8]) -> Result<Self, ContentTypeError> {
        let mut cursor = Cursor { value, at: 0, dialect: Dialect::Http };
        let (top, subtype) = cursor.media_type()?;
        let mut parameters = Vec::new();
        cursor.parameters(&mut parameters)?;
        Ok(Self { top, subtype, parameters })
    }

    /// Parses the value of a `Content-Type` field of a mail message, folded or not.
    ///
    /// Comments and white space are allowed between all tokens (RFC 5322 §3.2.2). A value without quotes may have the
    /// characters that mailers put into boundaries (`=`, `/`, `:` and `?`). The parameters of RFC 2231 are joined and
    /// decoded: `boundary*0=a; boundary*1=b` and `charset*=us-ascii'en'utf%2D8`.
    ///
    /// ```
    /// use utf8_codec::content_type::{Charset, ContentType};
    ///
    /// let field = b"text / plain (as ever);\r\n charset*0=\"ut\"; charset*1*=f%2D8";
    /// assert_eq!(ContentType::parse_mail(field)?.charset(), Charset::Utf8);
    /// # Ok::<(), utf8_codec::content_type::ContentTypeError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// The position of the first byte that the grammar does not allow.
    pub fn parse_mail(value: &'h [u8]) -> Result<Self, ContentTypeError> {
        match Self::parse_mail_prefix(value)? {
            (content_type, None) => Ok(content_type),
            (_, Some(error)) => Err(error),
        }
    }

    /// As [`parse_mail`](Self::parse_mail); an error in the parameters comes with the parameters before it.
    pub(crate) fn parse_mail_prefix(
        value: &'h [u8],
    ) -> Result<(Self, Option<ContentTypeError>), ContentTypeError> {
        let mut parameters = Vec::new();
        let mut cursor = Cursor { value, at: 0, dialect: Dialect::Mail };
        let (top, subtype) = cursor.media_type()?;
        let error = cursor.parameters(&mut parameters).err();
        Ok((Self { top, subtype, parameters: rfc2231::join(parameters) }, error))
    }

    /// The part before `/`, in the case of the header.
    pub const fn top(&self) -> &'h str {
        self.top
    }

    /// The part after `/`, in the case of the header.
    pub const fn subtype(&self) -> &'h str {
        self.subtype
    }

    /// The structured syntax suffix of the subtype (RFC 6838 §4.2.8): the part after its last `+`.
    pub fn suffix(&self) -> Option<&'h str> {
        self.subtype.rsplit_once('+').map(|(_, suffix)| suffix)
    }

    /// Whether type and subtype are these, in any case. Parameters are not compared.
    pub fn is(&self, top: &str, subtype: &str) -> bool {
        self.top.eq_ignore_ascii_case(top) && self.subtype.eq_ignore_ascii_case(subtype)
    }

    /// The parameters in the order of the header, with unquoted values. A name may occur twice.
    pub fn parameters(&self) -> impl Iterator<Item = (&'h str, &[u8])> {
        self.parameters.iter().map(|(name, value)| (*name, value.as_ref()))
    }

    /// The value of the first parameter with this name, in any case.
    pub fn parameter(&self, name: &str) -> Option<&[u8]> {
        self.parameters().find(|(candidate, _)| candidate.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What all `charset` parameters together say.
    pub fn charset(&self) -> Charset<'_> {
        let mut charset = Charset::Missing;
        for (name, label) in self.parameters() {
            if name.eq_ignore_ascii_case("charset") {
                charset = charset.and(Charset::of_label(label));
            } else if is_or_extends(name, "charset") {
                return Charset::Conflicting;
            }
        }
        charset
    }
}

impl<'h> Charset<'h> {
    /// The charset that a label names.
    pub fn of_label(label: &'h [u8]) -> Self {
        if is_utf8_label(label) { Self::Utf8 } else { Self::Other(label) }
    }

    /// The charset of two parameters.
    fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::Missing, only) | (only, Self::Missing) => only,
            (Self::Utf8, Self::Utf8) => Self::Utf8,
            (Self::Other(one), Self::Other(two)) if one.eq_ignore_ascii_case(two) => self,
            _ => Self::Conflicting,
        }
    }
}

/// Whether a label stands for UTF-8 in the [WHATWG Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels).
/// Case and white space around the label do not matter.
///
/// ```
/// assert!(utf8_codec::content_type::is_utf8_label(b"Unicode-1-1-UTF-8"));
/// assert!(!utf8_codec::content_type::is_utf8_label(b"utf-16"));
/// ```
pub fn is_utf8_label(label: &[u8]) -> bool {
    const LABELS: [&str; 6] =
        ["utf-8", "utf8", "unicode-1-1-utf-8", "unicode11utf8", "unicode20utf8", "x-unicode20utf8"];
    let label = label.trim_ascii();
    LABELS.iter().any(|known| label.eq_ignore_ascii_case(known.as_bytes()))
}

/// Whether a parameter has this name, or the name of its first piece or of its extended form (RFC 2231), which some HTTP
/// libraries read as well.
pub(crate) fn is_or_extends(name: &str, base: &str) -> bool {
    let own = name.strip_suffix("*").unwrap_or(name);
    let own = own.strip_suffix("*0").unwrap_or(own);
    own.eq_ignore_ascii_case(base)
}

/// Parses a value that is a token with parameters, such as `Content-Disposition` (RFC 7578 §4.2).
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only multipart/form-data has such a field"))]
pub(crate) fn token_and_parameters(value: &[u8]) -> Result<(&str, Vec<Parameter<'_>>), ContentTypeError> {
    let mut cursor = Cursor { value, at: 0, dialect: Dialect::Http };
    cursor.white_space();
    let (token, mut parameters) = (cursor.token(is_token)?, Vec::new());
    cursor.parameters(&mut parameters)?;
    Ok((token, parameters))
}

/// The protocol of the header.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Http,
    Mail,
}

/// A position in the value of a header field.
struct Cursor<'h> {
    value: &'h [u8],
    at: usize,
    dialect: Dialect,
}

impl<'h> Cursor<'h> {
    fn peek(&self) -> Option<u8> {
        self.value.get(self.at).copied()
    }

    fn fail<T>(&self) -> Result<T, ContentTypeError> {
        Err(ContentTypeError { offset: self.at.min(self.value.len()) })
    }

    fn expect(&mut self, byte: u8) -> Result<(), ContentTypeError> {
        if self.peek() != Some(byte) {
            return self.fail();
        }
        self.at += 1;
        Ok(())
    }

    /// `OWS` (RFC 9110 §5.6.3); in mail, where a field may be folded, line ends too.
    fn white_space(&mut self) {
        while match self.peek() {
            Some(b' ' | b'\t') => true,
            Some(b'\r' | b'\n') => self.dialect == Dialect::Mail,
            _ => false,
        } {
            self.at += 1;
        }
    }

    /// Skips what is allowed between two tokens: nothing in HTTP, comments and white space in mail.
    fn between(&mut self) -> Result<(), ContentTypeError> {
        if self.dialect == Dialect::Mail { self.space() } else { Ok(()) }
    }

    /// Skips white space, and in mail comments (RFC 5322 §3.2.2), which nest.
    fn space(&mut self) -> Result<(), ContentTypeError> {
        self.white_space();
        while self.dialect == Dialect::Mail && self.peek() == Some(b'(') {
            let mut depth = 0_usize;
            loop {
                match self.peek() {
                    None => return self.fail(),
                    Some(b'(') => depth += 1,
                    Some(b')') => depth -= 1,
                    Some(b'\\') => self.at += 1,
                    Some(_) => {}
                }
                self.at += 1;
                if depth == 0 {
                    break;
                }
            }
            self.white_space();
        }
        Ok(())
    }

    /// `type "/" subtype`.
    fn media_type(&mut self) -> Result<(&'h str, &'h str), ContentTypeError> {
        self.space()?;
        let top = self.token(is_token)?;
        self.between()?;
        self.expect(b'/')?;
        self.between()?;
        Ok((top, self.token(is_token)?))
    }

    fn token(&mut self, allowed: fn(u8) -> bool) -> Result<&'h str, ContentTypeError> {
        let rest = self.value.get(self.at..).unwrap_or_default();
        let len = rest.iter().take_while(|byte| allowed(**byte)).count();
        match core::str::from_utf8(&rest[..len]) {
            Ok(token) if !token.is_empty() => {
                self.at += len;
                Ok(token)
            }
            _ => self.fail(),
        }
    }

    /// `*( OWS ";" OWS [ parameter ] )` up to the end of the value.
    fn parameters(&mut self, parameters: &mut Vec<Parameter<'h>>) -> Result<(), ContentTypeError> {
        loop {
            self.space()?;
            if self.peek().is_none() {
                return Ok(());
            }
            self.expect(b';')?;
            self.space()?;
            if !matches!(self.peek(), None | Some(b';')) {
                let name = self.token(is_token)?;
                self.between()?;
                self.expect(b'=')?;
                self.between()?;
                let value = match self.peek() {
                    Some(b'"') => self.quoted_string()?,
                    _ if self.dialect == Dialect::Http => Cow::Borrowed(self.token(is_token)?.as_bytes()),
                    next if rfc2231::may_be_empty(name) && !next.is_some_and(is_mail_value) => {
                        Cow::Borrowed(&b""[..])
                    }
                    _ => Cow::Borrowed(self.token(is_mail_value)?.as_bytes()),
                };
                parameters.push((name, value));
            }
        }
    }

    /// `quoted-string` (RFC 9110 §5.6.4), without quotes and escapes. It is copied only if there are escapes.
    fn quoted_string(&mut self) -> Result<Cow<'h, [u8]>, ContentTypeError> {
        self.expect(b'"')?;
        let mut text = Cow::Borrowed(&b""[..]);
        loop {
            let rest = self.value.get(self.at..).unwrap_or_default();
            let (run, after) = rest.split_at(rest.iter().take_while(|byte| is_quoted_text(**byte)).count());
            self.at += run.len();
            if text.is_empty() {
                text = Cow::Borrowed(run);
            } else {
                text.to_mut().extend_from_slice(run);
            }
            match *after {
                [b'"', ..] => {
                    self.at += 1;
                    return Ok(text);
                }
                // A fold: the line end is not part of the value, the white space after it is.
                [b'\r' | b'\n', ..] if self.dialect == Dialect::Mail => self.at += 1,
                [b'\\', byte @ (b'\t' | b' '..=b'~' | 0x80..), ..] => {
                    self.at += 2;
                    text.to_mut().push(byte);
                }
                [b'\\', ..] => {
                    self.at += 1;
                    return self.fail();
                }
                _ => return self.fail(),
            }
        }
    }
}

/// `tchar` of RFC 9110 §5.6.2.
fn is_token(byte: u8) -> bool {
    // A table, because every message has a media type.
    const TOKEN: [bool; 256] = {
        let (mut table, mut byte) = ([false; 256], 0);
        while byte < 128 {
            table[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let (others, mut at) = (b"!#$%&'*+-.^_`|~", 0);
        while at < others.len() {
            table[others[at] as usize] = true;
            at += 1;
        }
        table
    };
    TOKEN[usize::from(byte)]
}

/// The characters of a value in mail: `token` of RFC 2045 §5.1, which has braces, and what mailers leave unquoted in
/// boundaries although it is none (`=`, `/`, `:`, `?`).
fn is_mail_value(byte: u8) -> bool {
    is_token(byte) || matches!(byte, b'{' | b'}' | b'=' | b'/' | b':' | b'?')
}

/// `qdtext` of RFC 9110 §5.6.4.
fn is_quoted_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..) && !matches!(byte, b'"' | b'\\')
}
