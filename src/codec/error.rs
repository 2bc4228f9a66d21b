//! Errors of the codecs.

use core::fmt;
use std::io;

use bytes::Bytes;
use bytestring::ByteString;

use crate::boundary::floor_boundary;
use crate::error::{ByteCount, Utf8Error};

/// An error of a codec. The codec has consumed the reported bytes, and the next call continues after them.
///
/// Neither `Display` nor `Debug` shows payload bytes; they are in [`RejectedText`].
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum CodecError<E = Utf8Error> {
    /// Ill-formed text.
    IllFormed {
        /// The kind and the offset of the error. For a line, this is its first error.
        error: E,
        /// The text that was removed from the stream. It is boxed to keep the results of the codecs small: they are
        /// moved several times for each item, and without optimizations each move is a copy.
        rejected: Box<RejectedText>,
    },
    /// A line with more bytes than the limit. It is reported once; its bytes are discarded.
    LineTooLong {
        /// The limit in bytes, without the terminator: `with_max_length`, or `with_max_text_length` if only the text is
        /// longer.
        limit: usize,
        /// A copy of the start of the line, or of its text if only the text is longer: at most
        /// [`RejectedText::MAX_START`] bytes, and never more than the limit.
        rejected: Box<RejectedText>,
    },
    /// A server-sent event with more bytes than the limit. It is reported once; its bytes are discarded.
    EventTooLong {
        /// The first line of the event.
        event: LineStart,
        /// The limit in bytes, for the type and the data, or for the ID.
        limit: usize,
    },
    /// The type of a server-sent event to be encoded contains CR or LF, or its ID contains CR, LF or NUL. Nothing was
    /// written.
    InvalidField {
        /// The name of the field: `event` or `id`.
        field: &'static str,
        /// The position in the value of the field, in bytes.
        position: usize,
    },
    /// A text to be encoded as one line contains a terminator, so a peer would read two lines, or ends with a CR that
    /// would be read as a part of the terminator. Nothing was written.
    EmbeddedTerminator {
        /// The position in the text, in bytes.
        position: usize,
    },
}

const _: () = assert!(size_of::<io::Result<Option<Result<ByteString, CodecError>>>>() <= 40);

/// The text that a codec removed from the stream because it is ill-formed or too long.
///
/// `Debug` shows the number of bytes, not the bytes.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedText {
    /// The ill-formed sequence, the whole line without its terminator, or the start of a line that is too long.
    pub bytes: Bytes,
    /// The line that was rejected, from a codec for lines.
    pub line: Option<LineStart>,
}

impl RejectedText {
    /// The number of bytes that are kept of a line that is too long: 1 KiB.
    pub const MAX_START: usize = 1024;
}

/// The start of a line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub struct LineStart {
    /// The number of the line, counted from 1 since the codec was created.
    pub number: u64,
    /// Absolute offset in the stream, in bytes, of the first byte of the line.
    pub offset: u64,
}

/// Creates the start of a line.
pub const fn line_start(number: u64, offset: u64) -> LineStart {
    LineStart { number, offset }
}

impl fmt::Debug for RejectedText {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("RejectedText")
            .field("bytes", &format_args!("{}", ByteCount(self.bytes.len())))
            .field("line", &self.line)
            .finish()
    }
}

/// An error with an absolute offset.
pub trait ErrorOffset {
    /// Returns the offset in bytes.
    fn offset(&self) -> u64;
}

impl ErrorOffset for Utf8Error {
    fn offset(&self) -> u64 {
        self.offset
    }
}

impl CodecError {
    /// Returns the error in the text, for [`IllFormed`](Self::IllFormed).
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::IllFormed { error, .. } => Some(*error),
            _ => None,
        }
    }
}

/// Returns the error of text that was removed from a stream.
pub fn ill_formed<E>(error: E, bytes: Bytes, line: Option<LineStart>) -> CodecError<E> {
    CodecError::IllFormed { error, rejected: Box::new(RejectedText { bytes, line }) }
}

/// Returns the error for a line that is too long. `line` is its first bytes, at least one more than the limit.
#[cold]
pub fn line_too_long<E>(start: LineStart, limit: usize, line: &[u8]) -> CodecError<E> {
    debug!(offset = start.offset, limit, "line too long");
    // `line` may be text, which must not be cut inside a character.
    let kept = floor_boundary(line, limit.min(RejectedText::MAX_START));
    let bytes = Bytes::copy_from_slice(&line[..kept]);
    CodecError::LineTooLong { limit, rejected: Box::new(RejectedText { bytes, line: Some(start) }) }
}

impl<E> CodecError<E> {
    /// Returns the line of the error, if a codec for lines or events returned it. For an event that is too long it is
    /// the first line.
    pub const fn line(&self) -> Option<LineStart> {
        match self {
            Self::IllFormed { rejected, .. } | Self::LineTooLong { rejected, .. } => rejected.line,
            Self::EventTooLong { event, .. } => Some(*event),
            _ => None,
        }
    }

    /// Returns the column of the ill-formed sequence in its line, in bytes, counted from 1.
    pub fn column(&self) -> Option<u64>
    where
        E: ErrorOffset,
    {
        match self {
            Self::IllFormed { error, rejected } => {
                let line = rejected.line?;
                Some(error.offset().wrapping_sub(line.offset).wrapping_add(1))
            }
            _ => None,
        }
    }
}

impl<E: fmt::Display + ErrorOffset> fmt::Display for CodecError<E> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed { error, .. } => {
                if let (Some(line), Some(column)) = (self.line(), self.column()) {
                    write!(f, "line {}, column {column}: ", line.number)?;
                }
                error.fmt(f)
            }
            Self::LineTooLong { limit, rejected } => {
                if let Some(LineStart { number, offset }) = rejected.line {
                    write!(f, "line {number} at byte {offset} ")?;
                }
                write!(f, "is longer than {}", ByteCount(*limit))
            }
            Self::EventTooLong { event: LineStart { number, offset }, limit } => {
                write!(
                    f,
                    "event at line {number}, byte {offset}, or its ID, is longer than {}",
                    ByteCount(*limit)
                )
            }
            Self::InvalidField { field, position } => {
                write!(f, "line terminator or NUL in the field `{field}` at byte {position}")
            }
            Self::EmbeddedTerminator { position } => {
                write!(f, "line terminator inside the text at byte {position}")
            }
        }
    }
}

impl<E: core::error::Error + ErrorOffset + 'static> core::error::Error for CodecError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            // `Display` already shows the message of `error`, so its source comes next.
            Self::IllFormed { error, .. } => error.source(),
            _ => None,
        }
    }
}

/// Creates an error that wraps the `CodecError`. Its kind is [`InvalidInput`](io::ErrorKind::InvalidInput) for an item
/// that cannot be written, and [`InvalidData`](io::ErrorKind::InvalidData) for ill-formed text.
impl<E: core::error::Error + ErrorOffset + Send + Sync + 'static> From<CodecError<E>> for io::Error {
    fn from(error: CodecError<E>) -> Self {
        let kind = match error {
            CodecError::InvalidField { .. } | CodecError::EmbeddedTerminator { .. } => {
                io::ErrorKind::InvalidInput
            }
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}
