//! The setting `protobuf`: the schema, and which type the body of a path has.

use std::collections::HashMap;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde::Deserialize;
use utf8_codec::TextDecoder;
use utf8_codec::http::MessageKind;
use utf8_codec::protobuf::{Schema, StringValidator, UnverifiedStrings};

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
}

/// The full names of the types of a path.
#[derive(Clone, Debug, Default, Deserialize)]
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

/// Which types the messages of protobuf have, by the paths of their requests.
#[derive(Debug)]
pub struct Messages {
    schema: Schema,
    types: HashMap<String, Types>,
    decoder: TextDecoder,
    unverified: UnverifiedStrings,
}

impl Document {
    pub(super) fn messages(&self, decoder: TextDecoder) -> Result<Messages, ConfigError> {
        let invalid = |error: &dyn core::fmt::Display| ConfigError(format!("`descriptor_set`: {error}"));
        let bytes = match self.descriptor_set.strip_prefix("base64:") {
            Some(text) => STANDARD.decode(text).map_err(|error| invalid(&error))?,
            None => std::fs::read(&self.descriptor_set)
                .map_err(|error| ConfigError(format!("`{}`: {error}", self.descriptor_set)))?,
        };
        let schema = Schema::from_descriptor_set(&bytes).map_err(|error| invalid(&error))?;
        let names = self.messages.values().flat_map(|types| types.request.iter().chain(&types.response));
        if let Some(unknown) = names.into_iter().find(|name| !schema.has_message(name)) {
            return Err(ConfigError(format!("`{unknown}` is no message of the `descriptor_set`")));
        }
        let unverified = match self.unverified_strings {
            Unverified::Pass => UnverifiedStrings::Pass,
            Unverified::Check => UnverifiedStrings::Check,
        };
        Ok(Messages { schema, types: self.messages.clone(), decoder, unverified })
    }
}

impl Messages {
    /// Returns the validator for the body of a message. The path is that of the request, possibly with a query: a key of
    /// `messages`, or that of a method of gRPC.
    pub fn validator(&self, path: &str, message: MessageKind) -> Option<StringValidator> {
        let path = path.split('?').next().unwrap_or_default();
        let method = self.schema.method(path);
        let name = match (self.types.get(path), message) {
            (Some(types), MessageKind::Request) => types.request.as_deref()?,
            (Some(types), MessageKind::Response) => types.response.as_deref()?,
            (None, MessageKind::Request) => method?.request(),
            (None, MessageKind::Response) => method?.response(),
        };
        let validator = StringValidator::with_decoder(&self.schema, name, self.decoder).ok()?;
        Some(validator.with_unverified_strings(self.unverified))
    }
}
