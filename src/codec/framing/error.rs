//! Errors of the codecs for frames.

use core::fmt;
use std::io;

use crate::codec::error::Recoverable;
use crate::error::ByteCount;

/// An error of a codec for frames. Offsets are absolute in the stream, in bytes.
#[derive(Debug)]
#[non_exhaustive]
pub enum FramingError {
    /// The header of a frame is invalid. The rest of the stream is discarded.
    InvalidHeader {
        /// The offset of the first byte that is not allowed, or of the invalid header field.
        offset: u64,
    },
    /// A header is longer than the limit. The rest of the stream is discarded.
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
    /// The transport failed.
    Io(io::Error),
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
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl core::error::Error for FramingError {
    #[inline]
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for FramingError {
    #[inline]
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// Wraps a truncated frame in an error of kind [`UnexpectedEof`](io::ErrorKind::UnexpectedEof), and any other framing
/// error in one of kind [`InvalidData`](io::ErrorKind::InvalidData). An error of the transport is returned unchanged.
impl From<FramingError> for io::Error {
    #[inline]
    fn from(error: FramingError) -> Self {
        match error {
            FramingError::Io(error) => error,
            error @ FramingError::Truncated { .. } => Self::new(io::ErrorKind::UnexpectedEof, error),
            error => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

impl Recoverable for FramingError {
    /// Whether the codec can find the next frame.
    #[inline]
    fn is_recoverable(&self) -> bool {
        matches!(
            self,
            Self::FrameTooLong { .. }
                | Self::InvalidRecord { .. }
                | Self::Truncated { .. }
                | Self::InvalidPayload { .. }
        )
    }
}
