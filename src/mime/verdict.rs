//! What is said about a message and its parts.

use alloc::string::String;
use alloc::vec::Vec;
use core::fmt;

use super::error::MimeError;
use super::transfer::TransferEncoding;

/// The bounds of a [`MessageValidator`](crate::mime::MessageValidator). Each of them stands against an attack.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct MimeLimits {
    /// Parts within parts; 32 unless said otherwise.
    ///
    /// Each level costs memory and a comparison for every line that may be a boundary: a message of nothing but
    /// nested multiparts makes recursive readers run out of stack, and others out of time.
    pub depth: usize,
    /// Parts of a message, those that hold others counted, too; 1,000 unless said otherwise.
    ///
    /// A part takes a few bytes on the wire and a few hundred in a verdict: a message of a million empty parts is
    /// small to send and large to keep.
    pub parts: usize,
    /// Bytes of one header; 256 KiB unless said otherwise.
    ///
    /// A header has no end but an empty line, and a field is held until it is whole: without a bound a peer that
    /// never sends the empty line takes all memory.
    pub header_bytes: usize,
    /// Bytes of one line, without its line break, in headers and in bodies other than `base64` and `binary`; 998
    /// unless said otherwise (RFC 5322 §2.1.1).
    ///
    /// Programs with buffers of that size split longer lines, and the rest of the line becomes a field or a boundary
    /// that no one before them saw.
    pub line_bytes: usize,
    /// Errors, and as many warnings, that are kept for each part; 16 unless said otherwise. All are counted.
    ///
    /// A body of nothing but ill-formed bytes has an error for each.
    pub errors: usize,
}

impl Default for MimeLimits {
    fn default() -> Self {
        Self { depth: 32, parts: 1_000, header_bytes: 256 * 1024, line_bytes: 998, errors: 16 }
    }
}

/// Where a part stands in a message: `1.2` is the second part of the first one, counted as IMAP does (RFC 3501
/// §6.4.5).
///
/// A message that is not multipart has the one part `1`. The header and the boundaries of a message that is multipart
/// are `0`, as no part has that number.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartPath(pub(super) Vec<u32>);

impl PartPath {
    /// The numbers, the outermost first; none for the message itself.
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

/// What a part is to a validator.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum PartKind {
    /// Text that was judged: UTF-8, by any of its labels, `us-ascii`, which is a part of it, or no charset at all.
    Text,
    /// Text in another charset, or in no known transfer encoding: its bytes were counted, its text was not judged.
    OtherText,
    /// Anything else that holds no parts.
    Other,
    /// `multipart/*`.
    Multipart,
    /// `message/rfc822` and its like.
    Message,
}

/// The faults of a part: the first ones, and how many there were.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Findings {
    errors: Vec<MimeError>,
    warnings: Vec<MimeError>,
    error_count: u64,
    warning_count: u64,
}

impl Findings {
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

/// What is said about one part.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct PartVerdict {
    /// Where it stands.
    pub path: PartPath,
    /// What it is.
    pub kind: PartKind,
    /// Its type in lower case, without parameters: `text/plain`.
    pub content_type: String,
    /// Its charset in lower case, `utf-8` for every label of that; `None` where none is said.
    pub charset: Option<String>,
    /// Its transfer encoding; `7bit` where none is said, `None` for one that is not known.
    pub encoding: Option<TransferEncoding>,
    /// Position of the first byte of its body in the message.
    pub offset: u64,
    /// Bytes of its body, as they stand in the message.
    pub bytes: u64,
    /// Bytes of its text, decoded; `0` for what is not text.
    pub decoded_bytes: u64,
    /// Lines of its text: line feeds, and, where it was judged, a last line without one.
    pub lines: u64,
    /// Characters of its text that are well-formed; `None` where it was not judged.
    pub characters: Option<u64>,
    pub(super) findings: Findings,
}

impl PartVerdict {
    /// Whether it has no error. Warnings do not count.
    pub const fn is_ok(&self) -> bool {
        self.findings.error_count == 0
    }

    /// Whether it is text, judged or not.
    pub const fn is_text(&self) -> bool {
        matches!(self.kind, PartKind::Text | PartKind::OtherText)
    }

    /// The first errors of its header and its body, in the order in which they were found.
    pub fn errors(&self) -> &[MimeError] {
        &self.findings.errors
    }

    /// How many errors there are.
    pub const fn error_count(&self) -> u64 {
        self.findings.error_count
    }

    /// The first warnings: rules for writers that were broken at no cost for readers.
    pub fn warnings(&self) -> &[MimeError] {
        &self.findings.warnings
    }

    /// How many warnings there are.
    pub const fn warning_count(&self) -> u64 {
        self.findings.warning_count
    }
}

/// What is said about a message, by [`MessageValidator::finish`](crate::mime::MessageValidator::finish).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct MessageVerdict {
    /// Every part, also those that are not text or hold others, in the order in which they start.
    pub parts: Vec<PartVerdict>,
    /// Bytes of the message.
    pub bytes: u64,
}

impl MessageVerdict {
    /// Whether no part has an error.
    pub fn is_ok(&self) -> bool {
        self.parts.iter().all(PartVerdict::is_ok)
    }

    /// The parts that are text, and of the others those with errors: what a reader of the text wants to know. The one
    /// part of a message that has no others is always told.
    pub fn notable(&self) -> impl Iterator<Item = &PartVerdict> {
        let is_alone = self.parts.len() == 1;
        self.parts.iter().filter(move |part| part.is_text() || !part.is_ok() || is_alone)
    }

    /// The first error, with the part that it is in.
    pub fn first_error(&self) -> Option<(&PartVerdict, &MimeError)> {
        self.parts.iter().find_map(|part| Some((part, part.errors().first()?)))
    }
}
