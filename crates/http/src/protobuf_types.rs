//! Which bodies are protobuf, and their filters.

use core::fmt;
use std::collections::HashMap;

use utf8_codec::inflate::Inflater;
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_media::content_type::ContentType;

use super::options::Uncheckable;
use super::rejection::MessageKind;
use crate::protobuf::{GrpcFilter, GrpcProtocol, Schema, StringFilter, UnknownMessage, WebTextFilter};

/// The types of protobuf messages, by the path of their request, for a service with more than one.
///
/// They come from the gRPC methods of the schema, whose paths are `/package.Service/Method`, and from the paths that
/// are [added](Self::with_message).
///
/// ```
/// # // message M { string s = 1; } in a file with the syntax proto3
/// # let bytes = b"\x0A\x1B\x0A\x01f\x22\x0E\x0A\x01M\x12\x09\x0A\x01s\x18\x01\x20\x01\x28\x09b\x06proto3";
/// use utf8_codec_http::{BodyRules, MessageKind, ProtobufTypes};
/// use utf8_codec_http::protobuf::Schema;
///
/// let schema = Schema::from_descriptor_set(bytes)?;
/// let types = ProtobufTypes::new(&schema).with_message("/m", MessageKind::Request, "M")?;
/// assert!(types.filter("/m?query", MessageKind::Request).is_some());
/// assert!(types.filter("/m", MessageKind::Response).is_none());
/// let rules = BodyRules::new().with_protobuf_types(types);
/// # drop(rules);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
#[derive(Clone)]
pub struct ProtobufTypes {
    schema: Schema,
    decoder: TextDecoder,
    checks_unverified: bool,
    /// The full names of the types of the request and of the response.
    paths: HashMap<Box<str>, [Option<Box<str>>; 2]>,
}

impl ProtobufTypes {
    /// Creates the types of the methods of a schema, for strict filters.
    pub fn new(schema: &Schema) -> Self {
        Self::with_decoder(schema, TextDecoder::new())
    }

    /// Creates the types of the methods of a schema, for filters with the policy and the subset of a decoder
    /// ([`StringFilter::with_decoder`]).
    pub fn with_decoder(schema: &Schema, decoder: TextDecoder) -> Self {
        Self { schema: schema.clone(), decoder, checks_unverified: false, paths: HashMap::new() }
    }

    /// Same as [`StringFilter::with_unverified_strings`].
    #[must_use]
    pub const fn with_unverified_strings(mut self, check: bool) -> Self {
        self.checks_unverified = check;
        self
    }

    /// Sets the type of the messages of a path, given by its full name: `package.Message`. If the path belongs to a
    /// method, only the types that are set here apply to it.
    ///
    /// # Errors
    ///
    /// Returns an error if the schema has no such message.
    pub fn with_message(
        mut self,
        path: &str,
        message: MessageKind,
        name: &str,
    ) -> Result<Self, UnknownMessage> {
        StringFilter::new(&self.schema, name)?;
        self.paths.entry(path.into()).or_default()[message as usize] = Some(name.into());
        Ok(self)
    }

    /// Returns the filter for a message. `path` is the path of its request, and may have a query.
    pub fn filter(&self, path: &str, message: MessageKind) -> Option<StringFilter> {
        let path = path.split('?').next().unwrap_or_default();
        let method = self.schema.method(path);
        let name = match (self.paths.get(path), message) {
            (Some(names), message) => names[message as usize].as_deref()?,
            (None, MessageKind::Request) => method?.request(),
            (None, MessageKind::Response) => method?.response(),
        };
        let filter = StringFilter::with_decoder(&self.schema, name, self.decoder.clone()).ok()?;
        Some(filter.with_unverified_strings(self.checks_unverified))
    }
}

impl fmt::Debug for ProtobufTypes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ProtobufTypes").field("schema", &self.schema).finish_non_exhaustive()
    }
}

/// The filter for a body of protobuf.
#[derive(Clone, Debug)]
pub(crate) enum Protobuf {
    Message(StringFilter),
    Grpc(GrpcFilter),
    GrpcWebText(WebTextFilter),
}

/// Subtypes of `application` whose body is one message: protobuf itself, Connect ("Unary-Request"), and Prometheus.
const MESSAGES: [&str; 4] = ["protobuf", "x-protobuf", "proto", "vnd.google.protobuf"];

/// Subtypes of `application` whose body is a stream of messages: gRPC over HTTP/2 ("Content-Type"), gRPC-Web, and Connect
/// ("Streaming-Request").
const STREAMS: [(&str, GrpcProtocol); 5] = [
    ("grpc", GrpcProtocol::Grpc),
    ("grpc+proto", GrpcProtocol::Grpc),
    ("grpc-web", GrpcProtocol::GrpcWeb),
    ("grpc-web+proto", GrpcProtocol::GrpcWeb),
    ("connect+proto", GrpcProtocol::Connect),
];

/// Subtypes of `application` whose body is a gRPC-Web body in base64.
const WEB_TEXT: [&str; 2] = ["grpc-web-text", "grpc-web-text+proto"];

impl Protobuf {
    /// Creates the filter for a body with this type. Returns `None` if it is not protobuf.
    pub(crate) fn of(
        given: &ContentType<'_>,
        message: &StringFilter,
        codings: Uncheckable,
        inflater: Option<Inflater>,
    ) -> Option<Self> {
        if MESSAGES.iter().any(|subtype| given.is("application", subtype)) {
            // Prometheus also has messages with a length before each, and a text format.
            let is_binary = given.parameter("encoding").is_none_or(|it| it.eq_ignore_ascii_case(b"binary"));
            return is_binary.then(|| Self::Message(message.clone()));
        }
        let is_web_text = WEB_TEXT.iter().any(|subtype| given.is("application", subtype));
        let protocol = if is_web_text {
            GrpcProtocol::GrpcWeb
        } else {
            STREAMS.iter().find(|(subtype, _)| given.is("application", subtype))?.1
        };
        // In base64, a message cannot change its length.
        let is_inflated = !is_web_text || message.decoder().error_policy() == ErrorPolicy::Strict;
        let mut filter =
            GrpcFilter::new(message.clone()).with_protocol(protocol).with_compressed_messages(codings);
        if let Some(inflater) = inflater.filter(|_| is_inflated) {
            filter = filter.with_inflater(inflater);
        }
        Some(match is_web_text {
            true => Self::GrpcWebText(WebTextFilter::new(filter)),
            false => Self::Grpc(filter),
        })
    }

    /// Whether a repair may change the length, also in a body that is not held.
    pub(crate) fn may_change_length(&self) -> bool {
        matches!(self, Self::Grpc(filter) if filter.may_change_length())
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        match self {
            Self::Message(filter) => filter.decoder(),
            Self::Grpc(filter) => filter.decoder(),
            Self::GrpcWebText(filter) => filter.decoder(),
        }
    }

    /// Changes the filter to one that repairs nothing.
    pub(crate) fn into_strict(self) -> Self {
        match self {
            Self::Message(filter) => Self::Message(filter.into_strict()),
            Self::Grpc(filter) => Self::Grpc(filter.into_strict()),
            Self::GrpcWebText(filter) => Self::GrpcWebText(filter.into_strict()),
        }
    }
}
