//! Errors of a stream of frames.

use core::fmt;

use utf8_codec::Utf8Error;
use utf8_codec::inflate::InflateError;

/// Why a connection fails, and where.
///
/// Neither `Display` nor `Debug` shows bytes of the payload.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct FrameError {
    /// The offset on the wire, counted from the first frame, of the byte that cannot be part of a frame. For ill-formed
    /// text it is the first byte of the ill-formed sequence, even if that byte came in an earlier frame. For a close code it
    /// is the first byte of the code, for a limit the second byte of the header, for a truncated stream its length. For the
    /// text of a compressed message, and for its data, it is the first byte of the frame whose data shows the error.
    pub offset: u64,
    /// The offset in the message: the number of bytes of its payload before the error. It is 0 between messages. For the
    /// text of a compressed message, and for its data, it is the number of inflated bytes.
    pub message_offset: u64,
    /// Why the connection fails.
    pub kind: FrameErrorKind,
}

/// Why a connection fails.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum FrameErrorKind {
    /// RSV1, RSV2 or RSV3 is set, and no extension gives it a meaning.
    ReservedBit,
    /// An opcode from 3 to 7 or from 11 to 15.
    ReservedOpcode,
    /// A frame of a client without a mask.
    MissingMask,
    /// A frame of a server with a mask.
    UnexpectedMask,
    /// The length is above 2^63 - 1 or not in its shortest form.
    Length,
    /// A control frame that is not final.
    FragmentedControl,
    /// A control frame with more than 125 bytes.
    LongControl,
    /// A continuation frame outside a message.
    UnexpectedContinuation,
    /// A text or binary frame before the end of the message.
    UnfinishedMessage,
    /// A close frame with 1 byte: a code has 2.
    CloseWithoutCode,
    /// The code of a close frame must not be sent (RFC 6455 §7.4). `None` if the first byte alone rules out every valid
    /// code, so the second was not awaited.
    CloseCode(Option<u16>),
    /// The reason of a close frame is ill-formed. The offset of this error counts from the start of the reason.
    Reason(Utf8Error),
    /// The text of a message is ill-formed. The offset of this error counts from the start of the message.
    Text(Utf8Error),
    /// A frame has more bytes than this limit.
    FrameTooLong(u64),
    /// The frames of a message have more bytes than this limit.
    MessageTooLong(u64),
    /// A compressed message cannot be inflated, or only beyond a limit of the inflater.
    Inflate(InflateError),
    /// The stream ended inside a frame or a message.
    Truncated,
}

impl FrameError {
    /// Returns the code with which the connection is closed (RFC 6455 §7.4.1): 1007 for ill-formed text and compressed data,
    /// 1009 for a limit, 1002 for the others.
    pub const fn close_code(&self) -> u16 {
        match self.kind {
            FrameErrorKind::Text(_)
            | FrameErrorKind::Reason(_)
            | FrameErrorKind::Inflate(InflateError::Corrupt | InflateError::Truncated) => 1007,
            FrameErrorKind::FrameTooLong(_)
            | FrameErrorKind::MessageTooLong(_)
            | FrameErrorKind::Inflate(_) => 1009,
            _ => 1002,
        }
    }

    /// Returns the error in the text, with its offset in the message or in the reason.
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self.kind {
            FrameErrorKind::Text(error) | FrameErrorKind::Reason(error) => Some(error),
            _ => None,
        }
    }
}

impl From<InflateError> for FrameErrorKind {
    fn from(error: InflateError) -> Self {
        Self::Inflate(error)
    }
}

impl fmt::Display for FrameErrorKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::ReservedBit => "reserved bit",
            Self::ReservedOpcode => "reserved opcode",
            Self::MissingMask => "missing mask",
            Self::UnexpectedMask => "unexpected mask",
            Self::Length => "invalid length",
            Self::FragmentedControl => "fragmented control frame",
            Self::LongControl => "control frame longer than 125 bytes",
            Self::UnexpectedContinuation => "continuation outside a message",
            Self::UnfinishedMessage => "new message inside a message",
            Self::CloseWithoutCode => "close frame of 1 byte",
            Self::CloseCode(Some(code)) => return write!(f, "invalid close code {code}"),
            Self::CloseCode(None) => "invalid first byte of a close code",
            Self::Reason(error) => return write!(f, "close reason: {error}"),
            Self::Text(error) => return error.fmt(f),
            Self::FrameTooLong(limit) => return write!(f, "frame longer than {limit} bytes"),
            Self::MessageTooLong(limit) => return write!(f, "message longer than {limit} bytes"),
            Self::Inflate(error) => return error.fmt(f),
            Self::Truncated => "truncated stream",
        })
    }
}

impl fmt::Display for FrameError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "frame error at byte {}: {}", self.offset, self.kind)
    }
}

impl core::error::Error for FrameError {}
