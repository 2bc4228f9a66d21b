//! The text of a syslog message.

use core::fmt;
use core::ops::RangeInclusive;

use crate::decoder::from_utf8;
use crate::error::Utf8Error;

/// Checks which parts of a message of the syslog protocol (RFC 5424 §6) are text: a frame of
/// [`OctetCountingCodec`](super::OctetCountingCodec), or a datagram.
///
/// | part | is |
/// |---|---|
/// | the header | ASCII |
/// | the structured data | UTF-8 in the values of parameters (`PARAM-VALUE`), ASCII elsewhere |
/// | MSG with a BOM | UTF-8 |
/// | MSG without a BOM | in any encoding, or UTF-8 if [`with_utf8_required`](Self::with_utf8_required) is set |
///
/// The characters and delimiters of the grammar are checked, because they determine where MSG starts, but not the
/// meaning or the length of a field. In a value `"`, `\` and `]` must be escaped, as the RFC requires: readers disagree
/// about where an element ends if a value in it contains `]`.
///
/// ```
/// use utf8_codec::codec::framing::{SyslogText, SyslogValidator};
///
/// let message = b"<34>1 2026-11-28T20:00:00Z host su - ID47 [a@1 user=\"gr\xC3\xBCn\"] caf\xE9";
/// let checked = SyslogValidator::new().validate(message)?;
/// assert_eq!(checked.head, "<34>1 2026-11-28T20:00:00Z host su - ID47 [a@1 user=\"grün\"]");
/// assert_eq!(checked.text, SyslogText::Undeclared(b"caf\xE9"));
///
/// let error = SyslogValidator::new().with_utf8_required(true).validate(message).unwrap_err();
/// assert_eq!(error.to_string(), "MSG: ill-formed UTF-8 at byte 64 (Truncated, 1 byte)");
/// # Ok::<(), utf8_codec::codec::framing::SyslogError>(())
/// ```
#[derive(Clone, Copy, Debug, Default)]
pub struct SyslogValidator {
    requires_utf8: bool,
}

/// A message that was checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct SyslogMessage<'m> {
    /// The header and the structured data, without the space before MSG.
    pub head: &'m str,
    /// MSG.
    pub text: SyslogText<'m>,
}

/// The part MSG of a syslog message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SyslogText<'m> {
    /// The message has no MSG.
    Absent,
    /// UTF-8, without its BOM: MSG has one, or the setting requires UTF-8.
    Utf8(&'m str),
    /// MSG without a BOM. Its encoding is not known.
    Undeclared(&'m [u8]),
}

/// An error in a syslog message. Offsets count from the start of the message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum SyslogError {
    /// The header does not follow the grammar. A message in the format of RFC 3164 has no version, so the error is at
    /// the position of the version.
    InvalidHeader {
        /// The offset of the first byte that is not allowed, or the length of a message that ends there.
        offset: u64,
    },
    /// The structured data does not follow the grammar.
    InvalidStructuredData {
        /// The offset of the first byte that is not allowed, or the length of a message that ends there.
        offset: u64,
    },
    /// The value of a parameter is ill-formed.
    IllFormedValue(Utf8Error),
    /// MSG has a BOM, or must be UTF-8, and is ill-formed.
    IllFormedText(Utf8Error),
}

const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The bytes of `PRINTUSASCII`.
const PRINTABLE: RangeInclusive<u8> = 33..=126;

impl SyslogValidator {
    /// Creates a validator that accepts any encoding in a MSG without a BOM.
    pub const fn new() -> Self {
        Self { requires_utf8: false }
    }

    /// Sets whether MSG must also be UTF-8 if it has no BOM. By default it need not, as in the RFC. Most senders write UTF-8
    /// without a BOM.
    #[must_use]
    pub const fn with_utf8_required(self, required: bool) -> Self {
        Self { requires_utf8: required }
    }

    /// Checks a whole message.
    ///
    /// # Errors
    ///
    /// Returns the first error.
    pub fn validate<'m>(&self, message: &'m [u8]) -> Result<SyslogMessage<'m>, SyslogError> {
        let mut scan = Scan { message, at: 0 };
        scan.header().map_err(|at| SyslogError::InvalidHeader { offset: at as u64 })?;
        let structured = scan.structured_data();
        let end = structured.unwrap_or_else(|at| at);
        // Before `end`, only values can have bytes above 7F. The byte at `end` is included, to end an unfinished character.
        let head = match from_utf8(&message[..message.len().min(end + 1)]) {
            Ok(head) => head.get(..end).unwrap_or_default(),
            Err(error) if error.offset < end as u64 => return Err(SyslogError::IllFormedValue(error)),
            Err(_) => "",
        };
        structured.map_err(|at| SyslogError::InvalidStructuredData { offset: at as u64 })?;
        let text = match &message[end..] {
            [] => SyslogText::Absent,
            [_, text @ ..] => self.text(text, end as u64 + 1)?,
        };
        Ok(SyslogMessage { head, text })
    }

    /// Checks MSG, which starts at `offset`.
    fn text<'m>(&self, text: &'m [u8], offset: u64) -> Result<SyslogText<'m>, SyslogError> {
        let rest = text.strip_prefix(BOM);
        if rest.is_none() && !self.requires_utf8 {
            return Ok(SyslogText::Undeclared(text));
        }
        let utf8 = rest.unwrap_or(text);
        let start = offset + (text.len() - utf8.len()) as u64;
        from_utf8(utf8).map(SyslogText::Utf8).map_err(|error| {
            SyslogError::IllFormedText(Utf8Error::new(start + error.offset, error.kind, error.len))
        })
    }
}

/// The position in a message. A method moves past what it reads, or returns the offset of the first byte that is not allowed.
struct Scan<'m> {
    message: &'m [u8],
    at: usize,
}

impl Scan<'_> {
    fn next(&self) -> Option<u8> {
        self.message.get(self.at).copied()
    }

    fn one(&mut self, byte: u8) -> Result<(), usize> {
        if self.next() != Some(byte) {
            return Err(self.at);
        }
        self.at += 1;
        Ok(())
    }

    /// Reads at least one byte for which `is_allowed` is true.
    fn some(&mut self, is_allowed: impl Fn(u8) -> bool) -> Result<usize, usize> {
        let length = self.message[self.at..].iter().take_while(|&&byte| is_allowed(byte)).count();
        self.at += length;
        if length > 0 { Ok(length) } else { Err(self.at) }
    }

    /// Reads a number without a sign of 1 to 3 digits.
    fn number(&mut self) -> Result<(), usize> {
        let start = self.at;
        let digits = self.some(|byte| byte.is_ascii_digit())?;
        if digits <= 3 { Ok(()) } else { Err(start + 3) }
    }

    /// Reads `HEADER`, up to the space after MSGID.
    fn header(&mut self) -> Result<(), usize> {
        self.one(b'<')?;
        self.number()?;
        self.one(b'>')?;
        if self.next() == Some(b'0') {
            return Err(self.at);
        }
        self.number()?;
        // TIMESTAMP, HOSTNAME, APP-NAME, PROCID and MSGID.
        for _ in 0..5 {
            self.one(b' ')?;
            self.some(|byte| PRINTABLE.contains(&byte))?;
        }
        self.one(b' ')
    }

    /// Reads `STRUCTURED-DATA`. Returns its end, where the message ends or MSG follows after a space.
    fn structured_data(&mut self) -> Result<usize, usize> {
        if self.next() == Some(b'-') {
            self.at += 1;
        } else {
            self.element()?;
            while self.next() == Some(b'[') {
                self.element()?;
            }
        }
        match self.next() {
            None | Some(b' ') => Ok(self.at),
            Some(_) => Err(self.at),
        }
    }

    fn element(&mut self) -> Result<(), usize> {
        self.one(b'[')?;
        self.some(is_name)?;
        while self.next() == Some(b' ') {
            self.at += 1;
            self.some(is_name)?;
            self.one(b'=')?;
            self.one(b'"')?;
            self.value()?;
        }
        self.one(b']')
    }

    /// Reads `PARAM-VALUE` and the quotation mark after it.
    fn value(&mut self) -> Result<(), usize> {
        loop {
            match self.next() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(());
                }
                None | Some(b']') => return Err(self.at),
                // Before any other character a backslash represents itself (RFC 5424 §6.3.3).
                Some(b'\\') if matches!(self.message.get(self.at + 1), Some(b'"' | b'\\' | b']')) => {
                    self.at += 2
                }
                Some(_) => self.at += 1,
            }
        }
    }
}

/// Whether a byte may be in an SD-NAME (RFC 5424 §6).
fn is_name(byte: u8) -> bool {
    PRINTABLE.contains(&byte) && !matches!(byte, b'=' | b']' | b'"')
}

impl SyslogError {
    /// Returns the offset in the message.
    pub const fn offset(&self) -> u64 {
        match self {
            Self::InvalidHeader { offset } | Self::InvalidStructuredData { offset } => *offset,
            Self::IllFormedValue(error) | Self::IllFormedText(error) => error.offset,
        }
    }
}

impl fmt::Display for SyslogError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidHeader { offset } => write!(f, "invalid syslog header at byte {offset}"),
            Self::InvalidStructuredData { offset } => write!(f, "invalid structured data at byte {offset}"),
            Self::IllFormedValue(error) => write!(f, "structured data: {error}"),
            Self::IllFormedText(error) => write!(f, "MSG: {error}"),
        }
    }
}

impl core::error::Error for SyslogError {}
