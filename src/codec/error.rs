//! What a codec refuses.

use core::fmt;
use std::io;

use bytes::Bytes;

use crate::error::{ByteCount, Utf8Error};

/// An error of a codec. The codec has consumed what it reports, and goes on after it if it is asked.
///
/// Neither `Display` nor `Debug` shows payload bytes; whoever wants them takes `rejected`.
#[non_exhaustive]
pub enum CodecError {
    /// Ill-formed text.
    IllFormed {
        /// Where and why; for a frame or a line its first error.
        error: Utf8Error,
        /// The bytes that left the stream with it: the ill-formed sequence, or the whole frame or line.
        rejected: Bytes,
    },
    /// A line with more bytes than the limit. It is told once for the line, whose bytes are not kept.
    LineTooLong {
        /// Absolute position in the stream, in bytes, of the start of the line.
        offset: u64,
        /// Bytes that the line may have, its terminator not counted.
        limit: usize,
    },
    /// A text to encode as one line holds a terminator, and a peer would read two lines. Nothing was written.
    EmbeddedTerminator {
        /// Position in the text, in bytes.
        at: usize,
    },
    /// The transport failed.
    Io(io::Error),
}

impl CodecError {
    /// Where and why the text was ill-formed, if that is the error.
    pub fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::IllFormed { error, .. } => Some(*error),
            _ => None,
        }
    }
}

impl fmt::Display for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed { error, .. } => error.fmt(f),
            Self::LineTooLong { offset, limit } => {
                write!(f, "line at byte {offset} is longer than {limit} bytes")
            }
            Self::EmbeddedTerminator { at } => write!(f, "line terminator inside the text at byte {at}"),
            Self::Io(error) => error.fmt(f),
        }
    }
}

impl fmt::Debug for CodecError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed { error, rejected } => {
                let rejected = ByteCount(rejected.len());
                f.debug_struct("IllFormed")
                    .field("error", error)
                    .field("rejected", &format_args!("{rejected}"))
                    .finish()
            }
            Self::LineTooLong { offset, limit } => {
                f.debug_struct("LineTooLong").field("offset", offset).field("limit", limit).finish()
            }
            Self::EmbeddedTerminator { at } => f.debug_struct("EmbeddedTerminator").field("at", at).finish(),
            Self::Io(error) => f.debug_tuple("Io").field(error).finish(),
        }
    }
}

impl core::error::Error for CodecError {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match self {
            Self::IllFormed { error, .. } => Some(error),
            Self::Io(error) => Some(error),
            _ => None,
        }
    }
}

impl From<io::Error> for CodecError {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

/// For readers over a codec, such as `StreamReader`: [`InvalidData`](io::ErrorKind::InvalidData) with the error inside, or
/// the error of the transport as it was.
impl From<CodecError> for io::Error {
    fn from(error: CodecError) -> Self {
        match error {
            CodecError::Io(error) => error,
            error => Self::new(io::ErrorKind::InvalidData, error),
        }
    }
}

/// An error that may leave its codec able to go on: what [`ErrorsAsItems`](crate::codec::ErrorsAsItems) asks.
pub trait Recoverable {
    /// Whether the codec has consumed what it reports, and the next frame can be asked for.
    fn is_recoverable(&self) -> bool;
}

impl Recoverable for CodecError {
    fn is_recoverable(&self) -> bool {
        !matches!(self, Self::Io(_))
    }
}
