//! The grammar of a token or a media type with parameters, and its error.

use alloc::borrow::Cow;
use alloc::vec::Vec;
use core::fmt;

use super::rfc2231::{self, Parameter};

/// The error for a header value that is not a media type.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct ContentTypeError {
    /// The position in the value, in bytes, of the first byte that the grammar does not allow, or the length of the
    /// value if it ends too early.
    pub position: usize,
}

impl fmt::Display for ContentTypeError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "malformed media type at byte {}", self.position)
    }
}

impl core::error::Error for ContentTypeError {}

/// The protocol of the header.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Dialect {
    Http,
    Mail,
    /// The header fields of forms as browsers write them (HTML §4.10.21.8): a backslash is not an escape.
    Html,
}

/// A position in the value of a header field.
pub(super) struct Cursor<'h> {
    value: &'h [u8],
    at: usize,
    dialect: Dialect,
}

impl<'h> Cursor<'h> {
    pub(super) const fn new(value: &'h [u8], dialect: Dialect) -> Self {
        Self { value, at: 0, dialect }
    }

    fn peek(&self) -> Option<u8> {
        self.value.get(self.at).copied()
    }

    fn fail<T>(&self) -> Result<T, ContentTypeError> {
        Err(ContentTypeError { position: self.at.min(self.value.len()) })
    }

    fn expect(&mut self, byte: u8) -> Result<(), ContentTypeError> {
        if self.peek() != Some(byte) {
            return self.fail();
        }
        self.at += 1;
        Ok(())
    }

    /// Skips `OWS` (RFC 9110 §5.6.3). In mail, where a field may be folded, line breaks are skipped too.
    pub(super) fn white_space(&mut self) {
        while match self.peek() {
            Some(b' ' | b'\t') => true,
            Some(b'\r' | b'\n') => self.dialect == Dialect::Mail,
            _ => false,
        } {
            self.at += 1;
        }
    }

    /// Skips the bytes that are allowed around `/` and `=`: none in HTTP, comments and white space in mail.
    fn between(&mut self) -> Result<(), ContentTypeError> {
        if self.dialect == Dialect::Mail { self.space() } else { Ok(()) }
    }

    /// Skips white space and, in mail, comments (RFC 5322 §3.2.2), which may be nested.
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

    /// Parses `type "/" subtype`.
    pub(super) fn media_type(&mut self) -> Result<(&'h str, &'h str), ContentTypeError> {
        self.space()?;
        let top = self.token(is_token)?;
        self.between()?;
        self.expect(b'/')?;
        self.between()?;
        Ok((top, self.token(is_token)?))
    }

    /// Parses a type, which may be missing, without a subtype: `[type ["/"]]`.
    pub(super) fn type_without_subtype(&mut self) -> &'h str {
        self.white_space();
        let top = self.token(is_token).unwrap_or_default();
        if !top.is_empty() && self.peek() == Some(b'/') {
            self.at += 1;
        }
        top
    }

    pub(super) fn token(&mut self, allowed: fn(u8) -> bool) -> Result<&'h str, ContentTypeError> {
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

    /// Parses `*( OWS ";" OWS [ parameter ] )` up to the end of the value.
    pub(super) fn parameters(&mut self, parameters: &mut Vec<Parameter<'h>>) -> Result<(), ContentTypeError> {
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
                    _ if self.dialect != Dialect::Mail => Cow::Borrowed(self.token(is_token)?.as_bytes()),
                    next if rfc2231::may_be_empty(name) && !next.is_some_and(is_mail_value) => {
                        Cow::Borrowed(&b""[..])
                    }
                    _ => Cow::Borrowed(self.token(is_mail_value)?.as_bytes()),
                };
                parameters.push((name, value));
            }
        }
    }

    /// Parses a `quoted-string` (RFC 9110 §5.6.4) and removes the quotes and the escapes. The value is copied only if
    /// it contains escapes or, in mail, line breaks.
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
                // A folded line: the line break is not part of the value, but the white space after it is.
                [b'\r' | b'\n', ..] if self.dialect == Dialect::Mail => self.at += 1,
                [b'\\', ..] if self.dialect == Dialect::Html => {
                    self.at += 1;
                    text.to_mut().push(b'\\');
                }
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

/// Whether the byte is a `tchar` (RFC 9110 §5.6.2).
pub(super) fn is_token(byte: u8) -> bool {
    // A table, because a media type is parsed for every message and a lookup is fast.
    const TOKEN: [bool; 256] = {
        let mut table = [false; 256];
        let mut byte = 0;
        while byte < 128 {
            table[byte] = (byte as u8).is_ascii_alphanumeric();
            byte += 1;
        }
        let others = b"!#$%&'*+-.^_`|~";
        let mut at = 0;
        while at < others.len() {
            table[others[at] as usize] = true;
            at += 1;
        }
        table
    };
    TOKEN[usize::from(byte)]
}

/// Whether the byte is allowed in an unquoted value in mail: the characters of `token` in RFC 2045 §5.1, which include
/// braces, and other characters that mailers leave unquoted in boundaries (`=`, `/`, `:`, `?`).
fn is_mail_value(byte: u8) -> bool {
    is_token(byte) || matches!(byte, b'{' | b'}' | b'=' | b'/' | b':' | b'?')
}

/// Whether the byte is `qdtext` (RFC 9110 §5.6.4).
fn is_quoted_text(byte: u8) -> bool {
    matches!(byte, b'\t' | b' '..=b'~' | 0x80..) && !matches!(byte, b'"' | b'\\')
}
