//! `Content-Type` and its `charset`: one room for HTTP and for MIME.
//!
//! The syntax is RFC 9110 §8.3.1: `type/subtype`, then parameters whose values are tokens or quoted strings. Mail
//! (RFC 2045 §5.1) has the same with comments and white space between the tokens, and with the parameters of
//! RFC 2231. Whatever is not in the grammar is an error: two readers that guess differently are how text slips past
//! a filter.

mod rfc2231;

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

/// A media type with its parameters (RFC 9110 §8.3.1, RFC 2045 §5.1), borrowed from the header.
///
/// Names compare without regard to case, as both standards ask. Values are bytes: HTTP allows any above `7F`
/// inside a quoted string.
///
/// ```
/// use utf8_codec::content_type::{Charset, ContentType};
///
/// let json = ContentType::parse(b"application/problem+json; charset=\"UTF\\-8\"")?;
/// assert!(json.is("application", "problem+json"));
/// assert_eq!(json.suffix(), Some("json"));
/// assert_eq!(json.charset(), Charset::Utf8);
///
/// // The first says UTF-8, the last says Latin-1: libraries differ in whom they believe.
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

/// What a media type says about the encoding of its text.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum Charset<'h> {
    /// UTF-8, by any of the labels of the WHATWG Encoding Standard ([`is_utf8_label`]), said once or more often.
    Utf8,
    /// Another charset, by the label that it was given.
    Other(&'h [u8]),
    /// No `charset` parameter.
    Missing,
    /// Several `charset` parameters that do not agree, or in HTTP one in the spelling of mail (`charset*=`, RFC 2231,
    /// which RFC 8187 brings to HTTP for fields that ask for it, and this one does not). Programs differ in which of them they believe, so what one
    /// checks is not what the next one reads.
    Conflicting,
}

/// The bytes of a header value are not a media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ContentTypeError {
    /// Position in the value, in bytes, of the first byte that fits nowhere; its length if it ends too early.
    pub offset: usize,
}

impl fmt::Display for ContentTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed media type at byte {}", self.offset)
    }
}

impl core::error::Error for ContentTypeError {}

impl<'h> ContentType<'h> {
    /// Reads the value of a `Content-Type` field.
    ///
    /// White space is allowed around the value and around `;`, and nowhere else; a parameter may be empty, as in
    /// `text/plain;` (RFC 9110 §5.6.6).
    ///
    /// # Errors
    ///
    /// Where the value leaves the grammar.
    pub fn parse(value: &'h [u8]) -> Result<Self, ContentTypeError> {
        let mut cursor = Cursor { value, at: 0, dialect: Dialect::Http };
        let (top, subtype) = cursor.media_type()?;
        let mut parameters = Vec::new();
        cursor.parameters(&mut parameters)?;
        Ok(Self { top, subtype, parameters })
    }

    /// Reads the value of a `Content-Type` field of a message, folded or not.
    ///
    /// Comments and white space may stand between all tokens (RFC 5322 §3.2.2), a value that is not quoted may hold
    /// what mailers put into boundaries (`=`, `/`, `:` and `?`), and the parameters of RFC 2231 are put together: `boundary*0=a;
    /// boundary*1=b` and `charset*=us-ascii'en'utf%2D8`.
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
    /// Where the value leaves the grammar.
    pub fn parse_mail(value: &'h [u8]) -> Result<Self, ContentTypeError> {
        match Self::parse_mail_prefix(value)? {
            (content_type, None) => Ok(content_type),
            (_, Some(error)) => Err(error),
        }
    }

    /// The same, with what stands before an error in the parameters.
    pub(crate) fn parse_mail_prefix(
        value: &'h [u8],
    ) -> Result<(Self, Option<ContentTypeError>), ContentTypeError> {
        let mut parameters = Vec::new();
        let mut cursor = Cursor { value, at: 0, dialect: Dialect::Mail };
        let (top, subtype) = cursor.media_type()?;
        let error = cursor.parameters(&mut parameters).err();
        Ok((Self { top, subtype, parameters: rfc2231::join(parameters) }, error))
    }

    /// The part before `/`, as it was written.
    pub const fn top(&self) -> &'h str {
        self.top
    }

    /// The part after `/`, as it was written.
    pub const fn subtype(&self) -> &'h str {
        self.subtype
    }

    /// The structured syntax suffix of the subtype (RFC 6838 §4.2.8): what follows its last `+`.
    pub fn suffix(&self) -> Option<&'h str> {
        self.subtype.rsplit_once('+').map(|(_, suffix)| suffix)
    }

    /// Whether it is this type, whatever its parameters.
    pub fn is(&self, top: &str, subtype: &str) -> bool {
        self.top.eq_ignore_ascii_case(top) && self.subtype.eq_ignore_ascii_case(subtype)
    }

    /// The parameters in their order, with unquoted values; nothing keeps a header from naming one twice.
    pub fn parameters(&self) -> impl Iterator<Item = (&'h str, &[u8])> {
        self.parameters.iter().map(|(name, value)| (*name, value.as_ref()))
    }

    /// The value of the first parameter of this name.
    pub fn parameter(&self, name: &str) -> Option<&[u8]> {
        self.parameters().find(|(candidate, _)| candidate.eq_ignore_ascii_case(name)).map(|(_, value)| value)
    }

    /// What all the `charset` parameters together say.
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

    /// What two statements say together.
    fn and(self, next: Self) -> Self {
        match (self, next) {
            (Self::Missing, only) | (only, Self::Missing) => only,
            (Self::Utf8, Self::Utf8) => Self::Utf8,
            (Self::Other(one), Self::Other(two)) if one.eq_ignore_ascii_case(two) => self,
            _ => Self::Conflicting,
        }
    }
}

/// Whether a label names UTF-8 by the [WHATWG Encoding Standard](https://encoding.spec.whatwg.org/#names-and-labels),
/// in any case and with white space around it.
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

/// Whether a parameter is called so, or is a first section of it or its extended form by RFC 2231: some readers take
/// those for it in HTTP too.
pub(crate) fn is_or_extends(name: &str, base: &str) -> bool {
    let own = name.strip_suffix("*").unwrap_or(name);
    let own = own.strip_suffix("*0").unwrap_or(own);
    own.eq_ignore_ascii_case(base)
}

/// A header value that is a token with parameters, as `Content-Disposition` is (RFC 7578 §4.2).
#[cfg_attr(not(feature = "http"), expect(dead_code, reason = "only forms have it"))]
pub(crate) fn token_and_parameters(value: &[u8]) -> Result<(&str, Vec<Parameter<'_>>), ContentTypeError> {
    let mut cursor = Cursor { value, at: 0, dialect: Dialect::Http };
    cursor.white_space();
    let (token, mut parameters) = (cursor.token(is_token)?, Vec::new());
    cursor.parameters(&mut parameters)?;
    Ok((token, parameters))
}

/// Whose header it is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Dialect {
    Http,
    Mail,
}

/// A place in a header value.
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

    /// What may stand between two tokens: nothing in HTTP, comments and white space in mail.
    fn between(&mut self) -> Result<(), ContentTypeError> {
        if self.dialect == Dialect::Mail { self.space() } else { Ok(()) }
    }

    /// White space, and in mail comments (RFC 5322 §3.2.2): they nest.
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

    /// What stands between the quotes, without its escapes (RFC 9110 §5.6.4); copied only if there are any.
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
                // A fold: the line break is no text, the white space after it is.
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
    // Every message has a media type, so a table.
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
