//! A rejected message, and the problem document for its sender.

use core::fmt::{self, Write as _};

use http::{HeaderValue, StatusCode};
use utf8_codec_media::content_type::is_grpc;

use super::error::MultipartError;
use super::reason::RejectReason;

/// The kind of a message.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum MessageKind {
    /// A request. Ill-formed text in it is an error of the client, `4xx`.
    Request,
    /// A response. Ill-formed text in it is an error of the service, `502`.
    Response,
}

/// A rejected message. It is an error whose `Display` and `Debug` show no byte of the message, except the name of a header
/// or trailer field.
#[derive(Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct Rejection {
    /// The kind of the message.
    pub message_kind: MessageKind,
    /// Why the message is rejected.
    pub reason: RejectReason,
    /// The `Content-Type` of the message as sent. It is untrusted input.
    pub content_type: Option<HeaderValue>,
}

impl fmt::Display for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.reason.fmt(f)
    }
}

impl fmt::Debug for Rejection {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { message_kind, reason, content_type } = self;
        f.debug_struct("Rejection")
            .field("message_kind", message_kind)
            .field("reason", reason)
            .field("content_type_len", &content_type.as_ref().map(HeaderValue::len))
            .finish()
    }
}

impl core::error::Error for Rejection {}

impl Rejection {
    /// Creates a rejection without the `Content-Type` of the message.
    pub const fn new(message_kind: MessageKind, reason: RejectReason) -> Self {
        Self { message_kind, reason, content_type: None }
    }

    /// Returns the rejection for an error of a checked request body that a handler received, even if it is wrapped in
    /// other errors. Returns `None` if the body failed for another reason.
    ///
    /// Use it in handlers that read the body themselves, to respond in the same way as the layer:
    /// `Rejection::from_error(&*error).map(|rejection| rejection.to_response())`. Set
    /// [`content_type`](Self::content_type) if the request may be a gRPC request.
    pub fn from_error(error: &(dyn core::error::Error + 'static)) -> Option<Self> {
        RejectReason::find(error).map(|reason| Self::new(MessageKind::Request, reason.clone()))
    }

    /// Returns the status code: `400`, `413` or `415` for a request, `502` for a response.
    pub const fn status(&self) -> StatusCode {
        match (self.message_kind, &self.reason) {
            (MessageKind::Response, _) => StatusCode::BAD_GATEWAY,
            (_, RejectReason::TooLong { .. }) => StatusCode::PAYLOAD_TOO_LARGE,
            (
                _,
                RejectReason::MissingContentType
                | RejectReason::MissingCharset
                | RejectReason::UnsupportedCharset
                | RejectReason::DeclaredCharset { .. }
                | RejectReason::ContentCoding
                | RejectReason::LengthPrefixed
                | RejectReason::Multipart(MultipartError::Charset { .. }),
            ) => StatusCode::UNSUPPORTED_MEDIA_TYPE,
            _ => StatusCode::BAD_REQUEST,
        }
    }

    /// Returns the value of the `Accept-Encoding` field of the response, if it needs one. On a `415` it tells the client that
    /// the content coding, not the media type, was the problem (RFC 9110 §12.5.3).
    /// [`to_response`](Self::to_response) adds it.
    pub const fn accept_encoding(&self) -> Option<&'static str> {
        match (self.message_kind, &self.reason) {
            (MessageKind::Request, RejectReason::ContentCoding) => Some("identity"),
            _ => None,
        }
    }

    /// Whether this is a gRPC message, by its `Content-Type`. A client of gRPC reads the status from the header fields
    /// of the response and not from a problem document ([`grpc_fields`](Self::grpc_fields)).
    pub fn is_grpc(&self) -> bool {
        self.content_type.as_ref().is_some_and(|value| is_grpc(value.as_bytes()))
    }

    /// Returns the gRPC status: `3` (`INVALID_ARGUMENT`) for a request, `13` (`INTERNAL`) for a response.
    pub const fn grpc_status(&self) -> u8 {
        match self.message_kind {
            MessageKind::Request => 3,
            MessageKind::Response => 13,
        }
    }

    /// Returns the header fields of the response to a client of gRPC, besides the status `200`: its form without a body,
    /// which gRPC over HTTP/2 calls `Trailers-Only`. They are `content-type`, `grpc-status` and `grpc-message`.
    pub fn grpc_fields(&self) -> [(&'static str, String); 3] {
        [
            ("content-type", "application/grpc".into()),
            ("grpc-status", self.grpc_status().to_string()),
            // The reason is ASCII. The name of a header field may contain a `%`, which starts an escape here.
            ("grpc-message", self.reason.to_string().replace('%', "%25")),
        ]
    }

    /// Returns the problem document (RFC 9457), which has the type `application/problem+json`.
    ///
    /// Its members are `type` (`about:blank`), `title` (the reason phrase of the status), `status`, `detail` (a
    /// sentence), `kind` ([`RejectReason::kind`]) and, for an error with a position, `offset` and `len` in bytes. For
    /// an error in the text of a field of a form, `field` is the name of the field, and `field_offset` the [position in
    /// its content](crate::FormField::offset). For an error in a protobuf message, `field` is its path by the names of the
    /// schema, and for one in a compressed message `offset` is that of its frame, and `inflated_offset` the position in the
    /// inflated message. The document contains nothing of the message except the name of a header field or form field. The name
    /// of a form field is left out if it is ill-formed, and truncated if it is long.
    ///
    /// ```
    /// use utf8_codec_http::{MessageKind, RejectReason, Rejection};
    ///
    /// let rejection = Rejection::new(MessageKind::Request, RejectReason::ContentCoding);
    /// assert!(rejection.problem_json().starts_with(r#"{"type":"about:blank","title":"Unsupported Media Type""#));
    /// ```
    pub fn problem_json(&self) -> String {
        let status = self.status();
        let mut json = format!(
            r#"{{"type":"about:blank","title":"{}","status":{},"detail":"{}","kind":"{}""#,
            status.canonical_reason().unwrap_or_default(),
            status.as_u16(),
            self.reason,
            self.reason.kind(),
        );
        if let Some((offset, len)) = self.reason.offset_and_len() {
            // Writing to a `String` does not fail.
            let _ = write!(json, r#","offset":{offset},"len":{len}"#);
        }
        if let RejectReason::Field(field, _) = &self.reason {
            if let Some(name) = &field.name {
                let _ = write!(json, r#","field":"{}""#, Escaped(name));
            }
            let _ = write!(json, r#","field_offset":{}"#, field.offset);
        }
        if let RejectReason::Protobuf(error) = &self.reason {
            let _ = write!(json, r#","field":"{}""#, error.names());
            if let Some(offset) = error.inflated_offset {
                let _ = write!(json, r#","inflated_offset":{offset}"#);
            }
        }
        json.push('}');
        json
    }
}

/// Displays a text as the content of a JSON string. Characters that a terminal, a page or a log may interpret are escaped.
struct Escaped<'t>(&'t str);

impl fmt::Display for Escaped<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for character in self.0.chars() {
            let is_safe =
                matches!(character, ' '..='~') && !matches!(character, '"' | '\\' | '<' | '>' | '&');
            if is_safe || character.is_alphanumeric() {
                f.write_char(character)?;
            } else {
                for unit in character.encode_utf16(&mut [0; 2]) {
                    write!(f, "\\u{unit:04x}")?;
                }
            }
        }
        Ok(())
    }
}
