//! Which bodies are protobuf, and their validators.

use super::options::UncheckablePolicy;
use crate::content_type::ContentType;
use crate::protobuf::{CompressedMessages, GrpcValidator, StringValidator};
use crate::text::TextDecoder;

/// The validator for a body of protobuf.
#[derive(Clone, Debug)]
pub(crate) enum Protobuf {
    Message(StringValidator),
    Grpc(GrpcValidator),
}

impl Protobuf {
    /// Creates the validator for a body with this type. Returns `None` if it is not protobuf.
    pub(crate) fn of(
        given: &ContentType<'_>,
        message: &StringValidator,
        codings: UncheckablePolicy,
    ) -> Option<Self> {
        let is_one_of = |subtypes: [&str; 2]| subtypes.iter().any(|subtype| given.is("application", subtype));
        if is_one_of(["protobuf", "x-protobuf"]) {
            return Some(Self::Message(message.clone()));
        }
        let compressed = match codings {
            UncheckablePolicy::Reject => CompressedMessages::Reject,
            UncheckablePolicy::Pass => CompressedMessages::Pass,
        };
        let validator = || GrpcValidator::new(message.clone()).with_compressed_messages(compressed);
        is_one_of(["grpc", "grpc+proto"]).then(|| Self::Grpc(validator()))
    }

    pub(crate) const fn decoder(&self) -> &TextDecoder {
        match self {
            Self::Message(validator) => validator.decoder(),
            Self::Grpc(validator) => validator.decoder(),
        }
    }
}
