//! The verdict on a message and on its parts.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::error::MimeError;
use super::transfer::TransferEncoding;

/// The settings of a [`MessageValidator`](crate::MessageValidator). Each limit bounds the cost of an attack.
///
/// The type is `#[non_exhaustive]`: start from [`Default`] and assign the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MimeSettings {
    /// The maximum nesting of parts. The default is 32.
    ///
    /// Each level costs memory, and a comparison at every possible delimiter. A message with deeply nested multiparts
    /// overflows the stack of recursive readers.
    pub max_depth: usize,
    /// The maximum number of parts in a message, including those that contain others. The default is 1,000.
    ///
    /// A part may have only a few bytes on the wire, but needs a few hundred in a verdict.
    pub max_parts: usize,
    /// The maximum number of bytes in one header. The default is 256 KiB.
    ///
    /// A field is stored until it is complete. Without a limit a peer that never ends it could exhaust the memory.
    pub max_header_length: usize,
    /// The maximum number of bytes in one line, without its line break, in headers and in bodies other than `base64`
    /// and `binary`. The default is 998 (RFC 5322 §2.1.1).
    ///
    /// Programs with buffers of that size split longer lines. The rest of a line may then become a field or a delimiter
    /// that other programs did not find.
    pub max_line_length: usize,
    /// The maximum number of errors, and the maximum number of warnings, that are stored for each part. The default is
    /// 16. All of them are counted.
    ///
    /// A body of only ill-formed bytes has an error for each byte.
    pub max_errors: usize,
    /// Whether errors in `base64` are accepted, as by
    /// [`TransferDecoder::with_lenient`](crate::TransferDecoder::with_lenient). The default is `false`.
    pub lenient: bool,
    /// Whether text in other charsets is checked: bodies, encoded words and percent-encoded parameters with a label of
    /// [`Encoding::for_label`](utf8_codec_encodings::Encoding::for_label) or another name that
    /// [`Encoding`](utf8_codec_encodings::Encoding) parses, such as `MS949` or `ibm850`, except UTF-16 and UTF-32. The
    /// default is `false`.
    ///
    /// Such a part is [`PartKind::Text`], and its offsets count bytes in its charset. Without this setting it is
    /// [`PartKind::OtherText`].
    pub other_charsets: bool,
}

impl Default for MimeSettings {
    fn default() -> Self {
        Self {
            max_depth: 32,
            max_parts: 1_000,
            max_header_length: 256 * 1024,
            max_line_length: 998,
            max_errors: 16,
            lenient: false,
            other_charsets: false,
        }
    }
}

/// The path of a part in a message: `1.2` is the second part of the first part, numbered as in IMAP (RFC 3501 §6.4.5).
///
/// A message that is not multipart has only part `1`. `0` is the header and the delimiters of a multipart message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartPath(pub(super) Vec<u32>);

impl PartPath {
    /// Returns the numbers of the path, the outermost first. The path of the message itself is empty.
    pub fn numbers(&self) -> &[u32] {
        &self.0
    }

    pub(super) fn child(&self, number: u32) -> Self {
        let mut numbers = self.0.clone();
        numbers.push(number);
        Self(numbers)
    }
}

impl fmt::Display for PartPath {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Some((first, rest)) = self.0.split_first() else {
            return f.write_str("0");
        };
        write!(f, "{first}")?;
        rest.iter().try_for_each(|number| write!(f, ".{number}"))
    }
}

/// How a validator treats a part.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// Text that is checked: with any label of UTF-8 or of US-ASCII that a mail reader knows, or without a declared
    /// charset.
    Text,
    /// Text in another charset or in an unknown transfer encoding. Its bytes are counted, but the text is not checked.
    OtherText,
    /// Any other content without parts.
    Other,
    /// `multipart/*`.
    Multipart,
    /// `message/rfc822`, `message/global` or `message/news`.
    Message,
}

/// The first errors and warnings of a part, and their numbers.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct MimeReports {
    errors: Vec<MimeError>,
    warnings: Vec<MimeError>,
    error_count: u64,
    warning_count: u64,
}

impl MimeReports {
    pub(super) fn push(&mut self, error: MimeError, max: usize) {
        let (kept, count) = if error.kind.is_warning() {
            (&mut self.warnings, &mut self.warning_count)
        } else {
            (&mut self.errors, &mut self.error_count)
        };
        *count += 1;
        if kept.len() < max {
            kept.push(error);
        }
    }
}

/// The verdict on one part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartVerdict {
    /// The path of the part.
    pub path: PartPath,
    /// How the part was treated.
    pub kind: PartKind,
    /// The type in lower case, without parameters: `text/plain`.
    pub content_type: String,
    /// The charset in lower case, `utf-8` for every label of UTF-8. `None` if none is declared, or if it is empty.
    pub charset: Option<String>,
    /// The transfer encoding: `7bit` if none is declared. `None` if the declared one is unknown.
    pub encoding: Option<TransferEncoding>,
    /// The offset of the body in the message, in bytes.
    pub offset: u64,
    /// The length of the body in the message, in bytes. `0` if it contains parts.
    pub bytes: u64,
    /// The length of the decoded text, in bytes. `0` if the body is not text or its transfer encoding is unknown.
    pub decoded_bytes: u64,
    /// The number of lines of the text: line feeds and, if the text was checked, a last line without one.
    pub lines: u64,
    /// The number of well-formed characters of the text. `None` if it was not checked.
    pub characters: Option<u64>,
    pub(super) reports: MimeReports,
}

impl PartVerdict {
    /// Whether the part has no error. Warnings do not count.
    pub const fn is_ok(&self) -> bool {
        self.reports.error_count == 0
    }

    /// Whether the part is text, checked or not.
    pub const fn is_text(&self) -> bool {
        matches!(self.kind, PartKind::Text | PartKind::OtherText)
    }

    /// Returns the first errors of the header and the body, in the order in which they were found. At most
    /// [`MimeSettings::max_errors`] are stored.
    pub fn errors(&self) -> &[MimeError] {
        &self.reports.errors
    }

    /// Returns the number of errors.
    pub const fn error_count(&self) -> u64 {
        self.reports.error_count
    }

    /// Returns the first warnings: violations of rules for writers, after which no reader shows text that was not
    /// checked. At most [`MimeSettings::max_errors`] are stored.
    pub fn warnings(&self) -> &[MimeError] {
        &self.reports.warnings
    }

    /// Returns the number of warnings.
    pub const fn warning_count(&self) -> u64 {
        self.reports.warning_count
    }
}

/// The verdict on a message, from [`MessageValidator::finish`](crate::MessageValidator::finish).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageVerdict {
    /// Every part in message order, including parts that are not text and parts that contain others.
    pub parts: Vec<PartVerdict>,
    /// The length of the message, in bytes.
    pub bytes: u64,
}

impl MessageVerdict {
    /// Whether no part has an error.
    pub fn is_ok(&self) -> bool {
        self.parts.iter().all(PartVerdict::is_ok)
    }

    /// Returns the parts that are text or have errors. If the message has only one part, it is also returned.
    pub fn notable(&self) -> impl Iterator<Item = &PartVerdict> {
        let is_alone = self.parts.len() == 1;
        self.parts.iter().filter(move |part| part.is_text() || !part.is_ok() || is_alone)
    }

    /// Returns the first part with an error, and its first error.
    pub fn first_error(&self) -> Option<(&PartVerdict, &MimeError)> {
        self.parts.iter().find_map(|part| Some((part, part.errors().first()?)))
    }
}
