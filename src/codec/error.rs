//! Errors of the codecs.

use core::fmt;
use std::io;

use bytes::Bytes;
use bytestring::ByteString;

use crate::error::{ByteCount, Utf8Error};

/// An error of a codec. The codec has consumed the reported bytes, and the next call continues after them.
///
/// Neither `Display` nor `Debug` shows payload bytes; they are in [`RejectedText`].
#[derive(Debug)]
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
        /// The line.
        line: LineStart,
        /// The limit in bytes, without the terminator: `with_max_length`, or `with_max_text_length` if only the text is
        /// longer.
        limit: usize,
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
    /// The transport failed.
    Io(io::Error),
}

const _: () = assert!(size_of::<Result<Option<ByteString>, CodecError>>() <= 40);

/// The text that a codec removed from the stream because it is ill-formed.
///
/// `Debug` shows the number of bytes, not the bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct RejectedText {
    /// The ill-formed sequence, or the whole line without its terminator.
    pub bytes: Bytes,
    /// The line that was rejected, from a codec for lines.
    pub line: Option<LineStart>,
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

impl LineStart {
    #[doc(hidden)]
    pub const fn new(number: u64, offset: u64) -> Self {
        Self { number, offset }
    }
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

impl<E> CodecError<E> {
    #[doc(hidden)]
    pub fn ill_formed(error: E, bytes: Bytes, line: Option<LineStart>) -> Self {
        Self::IllFormed { error, rejected: Box::new(RejectedText { bytes, line }) }
    }

    /// Returns the line of the error, if a codec for lines or events returned it. For an event that is too long it is
    /// the first line.
    pub const fn line(&self) -> Option<LineStart> {
        match self {
            Self::IllFormed { rejected, .. } => rejected.line,
            Self::LineTooLong { line, .. } | Self::EventTooLong { event: line, .. } => Some(*line),
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
        if let (Some(line), Some(column)) = (self.line(), self.column()) {
            write!(f, "line {}, column {column}: ", line.number)?;
        }
        match self {
            Self::IllFormed { error, .. } => error.fmt(f),
            Self::LineTooLong { line: LineStart { number, offset }, limit } => {
                write!(f, "line {number} at byte {offset} is longer than {}", ByteCount(*limit))
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
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl<E: core::error::Error + ErrorOffset + 'static> core::error::Error for CodecError<E> {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::IllFormed { error, .. } => Some(error),
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl<E> From<io::Error> for CodecError<E> {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Converts into an error of kind [`InvalidData`](io::ErrorKind::InvalidData) that wraps the error, for readers such as
/// `StreamReader` over a stream of decoded items. An error of the transport is returned unchanged.
impl<E: core::error::Error + ErrorOffset + Send + Sync + 'static> From<CodecError<E>> for io::Error {
    fn from(error: CodecError<E>) -> Self {
        match error {
            CodecError::Io(error) => error,
            error => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// An error after which a codec may be able to continue. [`ErrorsAsItems`](crate::codec::ErrorsAsItems) requires it.
pub trait Recoverable {
    /// Whether the codec has consumed the reported bytes and can decode the next item.
    fn is_recoverable(&self) -> bool;
}

impl<E> Recoverable for CodecError<E> {
    fn is_recoverable(&self) -> bool {
        !matches!(self, Self::Io(_))
    }
}
