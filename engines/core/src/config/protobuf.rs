//! The setting `protobuf`: the schema, and which type the body of a path has.

use core::fmt::Display;
use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use utf8_codec::TextDecoder;
use utf8_codec_http::protobuf::Schema;
use utf8_codec_http::{MessageKind, ProtobufTypes};

use super::error::ConfigError;

/// The value in JSON.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Document {
    descriptor_set: String,
    #[serde(default)]
    messages: HashMap<String, Types>,
    #[serde(default)]
    unverified_strings: Unverified,
    /// The maximum length of a compressed message, if these are inflated.
    pub(super) max_inflated_message: Option<u64>,
}

/// The full names of the types of a path.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Types {
    request: Option<String>,
    response: Option<String>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Unverified {
    #[default]
    Pass,
    Check,
}

fn invalid(error: impl Display) -> ConfigError {
    ConfigError(format!("`descriptor_set`: {error}"))
}

impl Document {
    pub(super) fn messages(&self, decoder: TextDecoder) -> Result<ProtobufTypes, ConfigError> {
        let bytes = match self.descriptor_set.strip_prefix("base64:") {
            Some(text) => STANDARD.decode(text).map_err(invalid)?,
            None => std::fs::read(&self.descriptor_set)
                .map_err(|error| ConfigError(format!("`{}`: {error}", self.descriptor_set)))?,
        };
        let schema = Schema::from_descriptor_set(&bytes).map_err(invalid)?;
        let mut types = ProtobufTypes::with_decoder(&schema, decoder)
            .with_unverified_strings(self.unverified_strings == Unverified::Check);
        for (path, names) in &self.messages {
            let names = [(MessageKind::Request, &names.request), (MessageKind::Response, &names.response)];
            for (message, name) in names {
                let Some(name) = name else { continue };
                types = types
                    .with_message(path, message, name)
                    .map_err(|_| ConfigError(format!("`{name}` is not a message of the `descriptor_set`")))?;
            }
        }
        Ok(types)
    }
}
