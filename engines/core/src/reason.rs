//! Why a message or a WebSocket connection is rejected, and the document for its sender.

use core::fmt;

use http::StatusCode;
use utf8_codec::Utf8Error;
use utf8_codec_http::{MessageKind, RejectReason as MessageReason, Rejection as RejectedMessage};
use utf8_codec_proxy::websocket::FrameError;

/// Why a message or a WebSocket connection is rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Reason {
    /// The header fields or the body of a message.
    Message(MessageReason),
    /// A frame of a WebSocket connection, or the text of its message. The offset counts from the start of that message.
    Frame(FrameError),
}

impl Reason {
    /// Returns the error if the reason is ill-formed UTF-8.
    pub const fn utf8_error(&self) -> Option<Utf8Error> {
        match self {
            Self::Message(reason) => reason.utf8_error(),
            Self::Frame(error) => error.utf8_error(),
        }
    }

    /// Returns one word for logs and responses: the name of an [`ErrorKind`](crate::ErrorKind) or of the reason.
    pub const fn kind(&self) -> &'static str {
        match self {
            Self::Message(reason) => reason.kind(),
            Self::Frame(error) => match error.utf8_error() {
                Some(error) => error.kind.as_str(),
                None => "Frame",
            },
        }
    }

    /// Returns the offset and the length of the error in bytes, for a reason with a position.
    pub const fn offset_and_len(&self) -> Option<(u64, u64)> {
        match self {
            Self::Message(reason) => reason.offset_and_len(),
            Self::Frame(error) => Some(position(error)),
        }
    }
}

/// Returns the offset in the message and the length, which is that of an ill-formed sequence.
const fn position(error: &FrameError) -> (u64, u64) {
    match error.utf8_error() {
        Some(text) => (error.message_offset, text.len as u64),
        None => (error.message_offset, 0),
    }
}

impl From<MessageReason> for Reason {
    fn from(reason: MessageReason) -> Self {
        Self::Message(reason)
    }
}

impl fmt::Display for Reason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Message(reason) => reason.fmt(f),
            Self::Frame(error) => error.fmt(f),
        }
    }
}

/// A rejected message or WebSocket connection. The response to a message is that of `utf8-codec-http`.
#[derive(Clone, Debug)]
pub enum Rejection {
    /// A message.
    Message(RejectedMessage),
    /// A connection, by a frame that is sent in this direction.
    Frame(MessageKind, FrameError),
}

impl Rejection {
    /// Creates a rejection.
    pub fn new(message: MessageKind, reason: Reason) -> Self {
        match reason {
            Reason::Message(reason) => Self::Message(RejectedMessage::new(message, reason)),
            Reason::Frame(error) => Self::Frame(message, error),
        }
    }

    /// Returns the kind of the message, or the direction of the frame.
    pub const fn message(&self) -> MessageKind {
        match self {
            Self::Message(rejection) => rejection.message_kind,
            Self::Frame(message, _) => *message,
        }
    }

    /// Returns the status code: `400`, `413` or `415` for a request, `502` for a response.
    pub const fn status(&self) -> StatusCode {
        match self {
            Self::Message(rejection) => rejection.status(),
            Self::Frame(MessageKind::Request, _) => StatusCode::BAD_REQUEST,
            Self::Frame(MessageKind::Response, _) => StatusCode::BAD_GATEWAY,
        }
    }

    /// Returns the value of the `Accept-Encoding` field of the response, if it needs one.
    pub const fn accept_encoding(&self) -> Option<&'static str> {
        match self {
            Self::Message(rejection) => rejection.accept_encoding(),
            Self::Frame(..) => None,
        }
    }

    /// Returns the header fields of the response to a client of gRPC, besides the status `200`.
    pub fn grpc_fields(&self) -> [(&'static str, String); 3] {
        match self {
            Self::Message(rejection) => rejection.grpc_fields(),
            Self::Frame(message, error) => {
                let status = if *message == MessageKind::Request { "3" } else { "13" };
                [
                    ("content-type", "application/grpc".into()),
                    ("grpc-status", status.into()),
                    ("grpc-message", error.to_string()),
                ]
            }
        }
    }

    /// Returns the problem document (RFC 9457).
    pub fn problem_json(&self) -> String {
        match self {
            Self::Message(rejection) => rejection.problem_json(),
            Self::Frame(_, error) => {
                let status = self.status();
                let (offset, len) = position(error);
                format!(
                    r#"{{"type":"about:blank","title":"{}","status":{},"detail":"{error}","kind":"{}","offset":{offset},"len":{len}}}"#,
                    status.canonical_reason().unwrap_or_default(),
                    status.as_u16(),
                    Reason::Frame(*error).kind(),
                )
            }
        }
    }
}
