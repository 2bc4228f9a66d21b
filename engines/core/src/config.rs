//! The settings of a filter, from JSON.
//!
//! ```
//! use utf8_codec_engines::config::{FilterKind, Settings};
//!
//! let settings = Settings::parse(br#"{"on_error": "replace", "mode": "buffered"}"#, FilterKind::Http)?;
//! assert!(settings.is_buffered());
//!
//! let error = Settings::parse(br#"{"on_eror": "replace"}"#, FilterKind::Http).unwrap_err();
//! assert!(error.to_string().starts_with("unknown field `on_eror`, expected one of `on_error`"));
//! # Ok::<(), utf8_codec_engines::config::ConfigError>(())
//! ```

mod error;
mod protobuf;
mod subset;
mod types;

use core::fmt;
use core::str::FromStr;
use std::sync::Arc;

use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
use utf8_codec_http::{
    BodyRules, MessageKind, MissingCharset, MissingContentType, ProtobufTypes, Uncheckable,
};
use utf8_codec_proxy::ForwardPolicy;
use utf8_codec_proxy::websocket::CompressionPolicy;

pub use self::error::ConfigError;
use self::protobuf::Document as ProtobufDocument;
use self::subset::subset;
use self::types::TypePattern;

/// The filter that a configuration is for. Settings of HTTP are an error in a configuration of the network filter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FilterKind {
    /// The filter of TCP connections.
    Network,
    /// The filter of HTTP messages.
    Http,
}

/// The settings of a filter.
#[derive(Clone, Debug)]
pub struct Settings {
    decoder: TextDecoder,
    json_strings: Option<JsonStrings>,
    forward: ForwardPolicy,
    direction: Sides,
    headers: Sides,
    trailers: Sides,
    is_buffered: bool,
    only_reports: bool,
    request_rules: BodyRules,
    response_rules: BodyRules,
    protobuf: Option<Arc<ProtobufTypes>>,
    max_websocket_message: Option<u64>,
    compression: CompressionPolicy,
}

/// The JSON document. A missing key has its default.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Document {
    #[serde(deserialize_with = "name")]
    on_error: ErrorPolicy,
    #[serde(deserialize_with = "name")]
    bom: BomPolicy,
    subset: Option<String>,
    #[serde(deserialize_with = "some_name")]
    json_strings: Option<EscapePolicy>,
    json_subset: Option<String>,
    #[serde(deserialize_with = "some_name")]
    forward: Option<ForwardPolicy>,
    direction: Option<Sides>,
    action: Action,
    // Settings of the HTTP filter.
    mode: Option<Mode>,
    headers: Option<Sides>,
    trailers: Option<Sides>,
    content_types: Option<Vec<String>>,
    missing_content_type: Option<Missing>,
    missing_charset: Option<Missing>,
    other_charset: Option<Other>,
    content_codings: Option<Other>,
    content_ranges: Option<Other>,
    length_prefixed: Option<Other>,
    form_data: Option<bool>,
    json_event_streams: Option<bool>,
    protobuf: Option<ProtobufDocument>,
    websocket: Option<WebSocketAction>,
    websocket_compression: Option<Compression>,
    max_websocket_message: Option<u64>,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Sides {
    #[default]
    Both,
    Request,
    Response,
    None,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Action {
    #[default]
    Enforce,
    Report,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Mode {
    Streaming,
    Buffered,
}

/// How a body without a declared type or charset is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Missing {
    Check,
    Pass,
    Reject,
}

/// Whether the frames of WebSocket connections are checked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum WebSocketAction {
    Check,
    Pass,
}

/// Whether the offer of compression is removed from the handshake of WebSocket, and if not, whether compressed messages are
/// inflated for the check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Compression {
    Remove,
    Pass,
    Inflate,
}

/// How a body that cannot be checked is handled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "kebab-case")]
enum Other {
    Pass,
    Reject,
}

impl From<Other> for Uncheckable {
    fn from(other: Other) -> Self {
        match other {
            Other::Pass => Self::Pass,
            Other::Reject => Self::Reject,
        }
    }
}

/// The default of `max_websocket_message`: 64 MiB.
const MAX_WEBSOCKET_MESSAGE: u64 = 64 << 20;

impl Settings {
    /// Parses the settings of a filter. An empty document results in the defaults.
    ///
    /// # Errors
    ///
    /// Returns an error for text that is not a JSON object, for an unknown key or value, and for a key of the HTTP
    /// filter in settings of the network filter.
    pub fn parse(json: &[u8], kind: FilterKind) -> Result<Self, ConfigError> {
        let document: Document = match json.trim_ascii() {
            [] => Document::default(),
            // serde would also accept an array of the values in the order of the keys.
            [b'[', ..] => return Err(ConfigError("the configuration is not a JSON object".into())),
            json => serde_json::from_slice(json).map_err(|error| ConfigError(error.to_string()))?,
        };
        if kind == FilterKind::Network
            && let Some(key) = document.http_key()
        {
            return Err(ConfigError(format!("`{key}` is a setting of the HTTP filter")));
        }
        document.settings(kind)
    }

    /// Whether a direction is checked.
    pub fn covers(&self, message: MessageKind) -> bool {
        self.direction.covers(message)
    }

    /// Whether the values of header fields are checked.
    pub fn checks_headers(&self, message: MessageKind) -> bool {
        self.covers(message) && self.headers.covers(message)
    }

    /// Whether the values of trailer fields are checked.
    pub fn checks_trailers(&self, message: MessageKind) -> bool {
        self.covers(message) && self.trailers.covers(message)
    }

    /// Whether a message is held until its end has been checked.
    pub const fn is_buffered(&self) -> bool {
        self.is_buffered
    }

    /// Whether errors are only counted and logged.
    pub const fn only_reports(&self) -> bool {
        self.only_reports
    }

    /// Returns a decoder with the policies for ill-formed text and the BOM. It is strict if errors are only reported.
    pub fn decoder(&self) -> TextDecoder {
        self.decoder.clone()
    }

    /// Returns which escapes are accepted in the strings of JSON, if they are checked. For connections; the rules for
    /// bodies have the same.
    pub const fn json_strings(&self) -> Option<JsonStrings> {
        self.json_strings
    }

    /// Returns what is forwarded of a character that is not complete. By default bytes in HTTP, where a rejected message is
    /// reset, and characters otherwise.
    pub const fn forward_policy(&self) -> ForwardPolicy {
        self.forward
    }

    /// Returns which types the messages of protobuf have, if their strings are checked.
    pub fn protobuf(&self) -> Option<&ProtobufTypes> {
        self.protobuf.as_deref()
    }

    /// Returns the maximum length of a message of WebSocket, in bytes, or `None` if the frames are not checked.
    pub const fn max_websocket_message(&self) -> Option<u64> {
        self.max_websocket_message
    }

    /// Returns what happens to compression in the handshake of WebSocket.
    pub const fn compression(&self) -> CompressionPolicy {
        self.compression
    }

    /// Returns the rules for bodies.
    pub const fn rules(&self, message: MessageKind) -> &BodyRules {
        match message {
            MessageKind::Request => &self.request_rules,
            MessageKind::Response => &self.response_rules,
        }
    }
}

impl Sides {
    fn covers(self, message: MessageKind) -> bool {
        match self {
            Self::Both => true,
            Self::None => false,
            Self::Request => message == MessageKind::Request,
            Self::Response => message == MessageKind::Response,
        }
    }
}

impl Document {
    /// Returns a key that only the HTTP filter has.
    fn http_key(&self) -> Option<&'static str> {
        [
            ("mode", self.mode.is_some()),
            ("headers", self.headers.is_some()),
            ("trailers", self.trailers.is_some()),
            ("content_types", self.content_types.is_some()),
            ("missing_content_type", self.missing_content_type.is_some()),
            ("missing_charset", self.missing_charset.is_some()),
            ("other_charset", self.other_charset.is_some()),
            ("content_codings", self.content_codings.is_some()),
            ("content_ranges", self.content_ranges.is_some()),
            ("length_prefixed", self.length_prefixed.is_some()),
            ("form_data", self.form_data.is_some()),
            ("json_event_streams", self.json_event_streams.is_some()),
            ("protobuf", self.protobuf.is_some()),
            ("websocket", self.websocket.is_some()),
            ("websocket_compression", self.websocket_compression.is_some()),
            ("max_websocket_message", self.max_websocket_message.is_some()),
        ]
        .into_iter()
        .find_map(|(key, is_set)| is_set.then_some(key))
    }

    fn settings(self, kind: FilterKind) -> Result<Settings, ConfigError> {
        // A repair is not an error, so a repairing policy would report nothing.
        let policy = match self.action {
            Action::Enforce => self.on_error,
            Action::Report => ErrorPolicy::Strict,
        };
        let mut decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(self.bom);
        if let Some(name) = &self.subset {
            decoder = decoder.with_subset(subset(name)?);
        }
        let json_strings = self.json_strings()?;
        if self.forward == Some(ForwardPolicy::Bytes) && policy != ErrorPolicy::Strict {
            return Err(ConfigError("`forward` is `bytes` only if `on_error` is `strict`".into()));
        }
        let forward = self.forward.unwrap_or(match kind {
            FilterKind::Network => ForwardPolicy::Characters,
            FilterKind::Http => ForwardPolicy::Bytes,
        });
        let direction = match self.direction {
            Some(Sides::None) => {
                return Err(ConfigError("`direction` is `request`, `response` or `both`".into()));
            }
            direction => direction.unwrap_or_default(),
        };
        let types = match &self.content_types {
            Some(patterns) => {
                Some(patterns.iter().map(|p| TypePattern::parse(p)).collect::<Result<Vec<_>, _>>()?)
            }
            None => None,
        };
        let protobuf = match &self.protobuf {
            Some(document) => Some(Arc::new(document.messages(decoder.clone())?)),
            None => None,
        };
        let max_websocket_message = match self.websocket {
            Some(WebSocketAction::Pass) => None,
            _ => Some(self.max_websocket_message.unwrap_or(MAX_WEBSOCKET_MESSAGE)),
        };
        Ok(Settings {
            protobuf,
            max_websocket_message,
            compression: match self.websocket_compression {
                Some(Compression::Inflate) => CompressionPolicy::Inflate,
                Some(Compression::Pass) => CompressionPolicy::Pass,
                Some(Compression::Remove) | None => CompressionPolicy::Remove,
            },
            json_strings,
            forward,
            direction,
            headers: self.headers.unwrap_or(Sides::Request),
            trailers: self.trailers.unwrap_or(Sides::Request),
            is_buffered: self.mode == Some(Mode::Buffered),
            only_reports: self.action == Action::Report,
            request_rules: self.rules(BodyRules::new(), &decoder, json_strings, types.as_deref()),
            response_rules: self.rules(BodyRules::for_responses(), &decoder, json_strings, types.as_deref()),
            decoder,
        })
    }

    /// Returns which escapes are accepted. As for bytes, errors that are only reported are not repaired.
    fn json_strings(&self) -> Result<Option<JsonStrings>, ConfigError> {
        let Some(policy) = self.json_strings else {
            return match self.json_subset {
                Some(_) => Err(ConfigError("`json_subset` needs `json_strings`".into())),
                None => Ok(None),
            };
        };
        let policy = if self.action == Action::Report { EscapePolicy::Strict } else { policy };
        let mut strings = JsonStrings::new().with_escape_policy(policy);
        if let Some(name) = &self.json_subset {
            strings = strings.with_subset(subset(name)?);
        }
        Ok(Some(strings))
    }

    /// Returns the rules with the settings of the document.
    fn rules(
        &self,
        rules: BodyRules,
        decoder: &TextDecoder,
        json_strings: Option<JsonStrings>,
        types: Option<&[TypePattern]>,
    ) -> BodyRules {
        let mut rules = rules
            .with_decoder(decoder.clone())
            .with_json_event_streams(self.json_event_streams.unwrap_or_default())
            .with_form_data(self.form_data.unwrap_or_default());
        if let Some(strings) = json_strings {
            rules = rules.with_json_strings(strings);
        }
        if let Some(types) = types {
            let types = types.to_vec();
            rules = rules.with_text_types(move |given| types.iter().any(|pattern| pattern.matches(given)));
        }
        if let Some(missing) = self.missing_content_type {
            rules = rules.with_missing_content_type(match missing {
                Missing::Check => MissingContentType::Check,
                Missing::Pass => MissingContentType::Pass,
                Missing::Reject => MissingContentType::Reject,
            });
        }
        if let Some(missing) = self.missing_charset {
            rules = rules.with_missing_charset(match missing {
                Missing::Check => MissingCharset::Utf8,
                Missing::Pass => MissingCharset::Pass,
                Missing::Reject => MissingCharset::Reject,
            });
        }
        if let Some(other) = self.other_charset {
            rules = rules.with_other_charset(other.into());
        }
        if let Some(other) = self.content_codings {
            rules = rules.with_content_codings(other.into());
        }
        if let Some(other) = self.content_ranges {
            rules = rules.with_content_ranges(other.into());
        }
        if let Some(other) = self.length_prefixed {
            rules = rules.with_length_prefixed(other.into());
        }
        if let Some(limit) = self.protobuf.as_ref().and_then(|messages| messages.max_inflated_message) {
            rules = rules.with_inflated_messages(limit);
        }
        rules
    }
}

/// Parses a value with the names that the library has for it.
fn name<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(deserializer: D) -> Result<T, D::Error> {
    let name = String::deserialize(deserializer)?;
    name.parse().map_err(|error| D::Error::custom(format_args!("`{name}`: {error}")))
}

/// Same for a key that may be missing.
fn some_name<'de, D: Deserializer<'de>, T: FromStr<Err: fmt::Display>>(
    deserializer: D,
) -> Result<Option<T>, D::Error> {
    name(deserializer).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn error(json: &str, kind: FilterKind) -> String {
        Settings::parse(json.as_bytes(), kind).unwrap_err().to_string()
    }

    #[test]
    fn an_empty_document_has_the_defaults() {
        for json in ["", "  ", "{}"] {
            let settings = Settings::parse(json.as_bytes(), FilterKind::Http).unwrap();
            assert!(!settings.is_buffered() && !settings.only_reports());
            assert!(settings.covers(MessageKind::Request) && settings.covers(MessageKind::Response));
            assert!(
                settings.checks_headers(MessageKind::Request)
                    && !settings.checks_headers(MessageKind::Response)
            );
            assert_eq!(settings.decoder().error_policy(), ErrorPolicy::Strict);
        }
    }

    #[test]
    fn every_wrong_key_or_value_is_an_error_that_names_it() {
        for (json, part) in [
            (r#"{"on_eror": "strict"}"#, "unknown field `on_eror`"),
            (r#"{"on_error": "strct"}"#, "`strct`: unknown policy; known are strict, replace, "),
            (r#"{"bom": "kep"}"#, "`kep`: unknown policy; known are keep, "),
            (r#"{"on_error": 1}"#, "expected"),
            (r#"{"subset": "klingon"}"#, "unknown `subset`, expected one of ascii"),
            (r#"{"json_strings": "skip"}"#, "`skip`: unknown policy for escapes; known are strict, "),
            (r#"{"json_strings": "keep", "json_subset": "nul"}"#, "unknown `subset`"),
            (r#"{"json_subset": "no-nul"}"#, "`json_subset` needs `json_strings`"),
            (r#"{"forward": "lines"}"#, "`lines`: unknown forward policy; known are characters, bytes"),
            (r#"{"forward": "bytes", "on_error": "replace"}"#, "`forward` is `bytes` only if"),
            (r#"{"protobuf": {}}"#, "missing field `descriptor_set`"),
            (r#"{"protobuf": {"descriptor_set": "/none"}}"#, "`/none`: "),
            (r#"{"protobuf": {"descriptor_set": "base64:?"}}"#, "`descriptor_set`: "),
            (r#"{"protobuf": {"descriptor_set": "base64:", "messages": {"/": {"request": "M"}}}}"#, "`M`"),
            (r#"{"websocket": "no"}"#, "unknown variant `no`"),
            (r#"{"direction": "none"}"#, "`direction` is"),
            (r#"{"content_types": ["text"]}"#, "`content_types`"),
            (r#"{"mode": "fast"}"#, "unknown variant `fast`"),
            (r#"{"bom": "keep", "bom": "strip"}"#, "duplicate field `bom`"),
            (r#"["strict"]"#, "not a JSON object"),
            ("true", "invalid type"),
            ("{} x", "trailing"),
            ("{", "EOF"),
        ] {
            assert!(
                error(json, FilterKind::Http).contains(part),
                "{json}: {}",
                error(json, FilterKind::Http)
            );
        }
        assert_eq!(
            error(r#"{"mode": "streaming"}"#, FilterKind::Network),
            "`mode` is a setting of the HTTP filter"
        );
    }
}
