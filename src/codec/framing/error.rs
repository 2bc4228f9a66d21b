//! Errors of the codecs for frames.

use core::fmt;
use std::io;

use crate::error::ByteCount;

/// An error of a codec for frames. Offsets are absolute in the stream, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FramingError {
    /// The header of a frame is invalid. It ends the stream.
    InvalidHeader {
        /// The offset of the first byte that is not allowed, or of the invalid header field.
        offset: u64,
    },
    /// A header is longer than the limit. It ends the stream.
    HeaderTooLong {
        /// The offset of the frame.
        offset: u64,
        /// The limit in bytes.
        limit: usize,
    },
    /// The payload of a frame is longer than the limit. The frame is reported once and skipped.
    FrameTooLong {
        /// The offset of the frame: of its header, or of its payload in a format without a header.
        offset: u64,
        /// The limit of the payload in bytes.
        limit: usize,
    },
    /// A line of a container's log is not a record. It is skipped.
    InvalidRecord {
        /// The offset of the line.
        offset: u64,
    },
    /// The stream, or a JSON text before the next one, ended inside a frame, or the start of a JSON text is missing.
    Truncated {
        /// The offset of the frame.
        offset: u64,
    },
    /// The format cannot represent a payload that is to be written. Nothing was written.
    InvalidPayload {
        /// The position in the payload, in bytes, of the byte that is not allowed. It is 0 for an empty payload, if the
        /// format does not allow one.
        position: usize,
    },
}

impl fmt::Display for FramingError {
    #[inline]
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::InvalidHeader { offset } => write!(f, "invalid frame header at byte {offset}"),
            Self::HeaderTooLong { offset, limit } => {
                write!(f, "the header of the frame at byte {offset} is longer than {}", ByteCount(*limit))
            }
            Self::FrameTooLong { offset, limit } => {
                write!(f, "the frame at byte {offset} is longer than {}", ByteCount(*limit))
            }
            Self::InvalidRecord { offset } => write!(f, "invalid record at byte {offset}"),
            Self::Truncated { offset } => write!(f, "the frame at byte {offset} is cut off"),
            Self::InvalidPayload { position } => write!(f, "the payload cannot be framed: byte {position}"),
        }
    }
}

impl core::error::Error for FramingError {}

/// Wraps a truncated frame in an error of kind [`UnexpectedEof`](io::ErrorKind::UnexpectedEof), a payload that cannot be
/// written in one of kind [`InvalidInput`](io::ErrorKind::InvalidInput), and any other framing error in one of kind
/// [`InvalidData`](io::ErrorKind::InvalidData).
impl From<FramingError> for io::Error {
    #[inline]
    fn from(error: FramingError) -> Self {
        let kind = match error {
            FramingError::Truncated { .. } => io::ErrorKind::UnexpectedEof,
            FramingError::InvalidPayload { .. } => io::ErrorKind::InvalidInput,
            _ => io::ErrorKind::InvalidData,
        };
        Self::new(kind, error)
    }
}

/// Returns an error as an item if the next frame can be found, and as an error of the stream otherwise.
#[inline]
pub(super) fn as_item<T>(
    decoded: Result<Option<T>, FramingError>,
) -> io::Result<Option<Result<T, FramingError>>> {
    match decoded {
        Err(error @ (FramingError::InvalidHeader { .. } | FramingError::HeaderTooLong { .. })) => {
            Err(error.into())
        }
        decoded => Ok(decoded.transpose()),
    }
}
