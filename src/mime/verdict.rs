//! The verdict on a message and on its parts.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::error::MimeError;
use super::transfer::TransferEncoding;

/// The limits of a [`MessageValidator`](crate::mime::MessageValidator). Each of them bounds the cost of an attack.
///
/// The type is `#[non_exhaustive]`: start from [`Default`] and assign the fields.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MimeLimits {
    /// Levels of parts within parts. The default is 32.
    ///
    /// Each level costs memory, and a comparison at every possible delimiter. A message of deeply nested multiparts
    /// overflows the stack of recursive readers.
    pub depth: usize,
    /// Parts in a message, including those that contain others. The default is 1,000.
    ///
    /// A part can have only a few bytes on the wire, and needs a few hundred in a verdict.
    pub parts: usize,
    /// Bytes in one header. The default is 256 KiB.
    ///
    /// A field is kept until it is complete: without a limit, a peer that never ends it could fill the memory.
    pub header_bytes: usize,
    /// Bytes in one line, without its line break, in headers and in bodies other than `base64` and `binary`. The
    /// default is 998 (RFC 5322 §2.1.1).
    ///
    /// Programs with buffers of that size split longer lines. The rest of a line then becomes a field or a delimiter
    /// that earlier programs did not parse as such.
    pub line_bytes: usize,
    /// Errors kept for each part, and warnings as well. The default is 16. All of them are counted.
    ///
    /// A body of only ill-formed bytes has an error for each byte.
    pub errors: usize,
}

impl Default for MimeLimits {
    fn default() -> Self {
        Self { depth: 32, parts: 1_000, header_bytes: 256 * 1024, line_bytes: 998, errors: 16 }
    }
}

/// The path of a part in a message: `1.2` is the second part of the first one, counted as in IMAP (RFC 3501 §6.4.5).
///
/// A message that is not multipart has only part `1`. `0` is the header and the delimiters of a multipart message.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartPath(pub(super) Vec<u32>);

impl PartPath {
    /// Returns the numbers, the outermost first; empty for the message itself.
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
    /// Text that is checked: in UTF-8 by any of its labels, in `us-ascii`, or without a declared charset.
    Text,
    /// Text in another charset, or in an unknown transfer encoding: its bytes are counted, the text is not checked.
    OtherText,
    /// Anything else without parts.
    Other,
    /// `multipart/*`.
    Multipart,
    /// `message/rfc822`, `message/global` or `message/news`.
    Message,
}

/// The first errors and warnings of a part, and how many there are.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Reports {
    errors: Vec<MimeError>,
    warnings: Vec<MimeError>,
    error_count: u64,
    warning_count: u64,
}

impl Reports {
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
    /// Its path.
    pub path: PartPath,
    /// How it was treated.
    pub kind: PartKind,
    /// Its type in lower case, without parameters: `text/plain`.
    pub content_type: String,
    /// Its charset in lower case, `utf-8` for every label of UTF-8; `None` if none is declared.
    pub charset: Option<String>,
    /// Its transfer encoding: `7bit` if none is declared, `None` if the declared one is unknown.
    pub encoding: Option<TransferEncoding>,
    /// Offset of its body in the message, in bytes.
    pub offset: u64,
    /// Length of its body in the message, in bytes; `0` if it contains parts.
    pub bytes: u64,
    /// Length of its decoded text, in bytes; `0` if it is not text.
    pub decoded_bytes: u64,
    /// Lines of its text: line feeds and, if the text was checked, a last line without one.
    pub lines: u64,
    /// Well-formed characters of its text; `None` if it was not checked.
    pub characters: Option<u64>,
    pub(super) reports: Reports,
}

impl PartVerdict {
    /// Whether it has no error. Warnings do not count.
    pub const fn is_ok(&self) -> bool {
        self.reports.error_count == 0
    }

    /// Whether it is text, checked or not.
    pub const fn is_text(&self) -> bool {
        matches!(self.kind, PartKind::Text | PartKind::OtherText)
    }

    /// Returns the first errors of its header and its body, in the order in which they were found: at most
    /// [`MimeLimits::errors`].
    pub fn errors(&self) -> &[MimeError] {
        &self.reports.errors
    }

    /// How many errors there are.
    pub const fn error_count(&self) -> u64 {
        self.reports.error_count
    }

    /// Returns the first warnings: violations of rules for writers that do not change the text for any reader. At most
    /// [`MimeLimits::errors`].
    pub fn warnings(&self) -> &[MimeError] {
        &self.reports.warnings
    }

    /// How many warnings there are.
    pub const fn warning_count(&self) -> u64 {
        self.reports.warning_count
    }
}

/// The verdict on a message, from [`MessageValidator::finish`](crate::mime::MessageValidator::finish).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageVerdict {
    /// Every part in the order of the message, including those that are not text or that contain others.
    pub parts: Vec<PartVerdict>,
    /// Length of the message, in bytes.
    pub bytes: u64,
}

impl MessageVerdict {
    /// Whether no part has an error.
    pub fn is_ok(&self) -> bool {
        self.parts.iter().all(PartVerdict::is_ok)
    }

    /// The parts that are text or have errors; of a message with one part, that part.
    pub fn notable(&self) -> impl Iterator<Item = &PartVerdict> {
        let is_alone = self.parts.len() == 1;
        self.parts.iter().filter(move |part| part.is_text() || !part.is_ok() || is_alone)
    }

    /// The first error of the first part that has one, with that part.
    pub fn first_error(&self) -> Option<(&PartVerdict, &MimeError)> {
        self.parts.iter().find_map(|part| Some((part, part.errors().first()?)))
    }
}
