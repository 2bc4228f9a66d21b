//! The directives: their names, their values, and what a location inherits. The values become the JSON settings of the
//! other engines, so that names and meaning are the same.

use std::sync::Arc;

use serde_json::{Map, Value};
use utf8_codec_engines::config::{FilterKind, Settings};

/// The limit of a response that is held, if none is set.
const BUFFER_SIZE: usize = 1 << 20;

/// How many arguments a directive has.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Arguments {
    /// One of several names.
    One,
    /// `on` or `off`.
    Flag,
    /// One or more.
    Many,
    /// A JSON document.
    Json,
}

/// A directive of `http` only, or of `stream` too.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Directive {
    /// The name with its terminator.
    pub(crate) name: &'static core::ffi::CStr,
    /// The key in the settings of the other engines.
    key: &'static str,
    pub(crate) arguments: Arguments,
}

const fn directive(name: &'static core::ffi::CStr, key: &'static str, arguments: Arguments) -> Directive {
    Directive { name, key, arguments }
}

/// The number of directives that `stream` has: the first ones.
pub(crate) const OF_STREAM: usize = 8;

pub(crate) const DIRECTIVES: [Directive; 22] = [
    directive(c"utf8_validate", "action", Arguments::One),
    directive(c"utf8_on_error", "on_error", Arguments::One),
    directive(c"utf8_bom", "bom", Arguments::One),
    directive(c"utf8_subset", "subset", Arguments::One),
    directive(c"utf8_json_strings", "json_strings", Arguments::One),
    directive(c"utf8_json_subset", "json_subset", Arguments::One),
    directive(c"utf8_forward", "forward", Arguments::One),
    directive(c"utf8_direction", "direction", Arguments::One),
    directive(c"utf8_mode", "mode", Arguments::One),
    directive(c"utf8_headers", "headers", Arguments::One),
    directive(c"utf8_trailers", "trailers", Arguments::One),
    directive(c"utf8_types", "content_types", Arguments::Many),
    directive(c"utf8_missing_content_type", "missing_content_type", Arguments::One),
    directive(c"utf8_missing_charset", "missing_charset", Arguments::One),
    directive(c"utf8_other_charset", "other_charset", Arguments::One),
    directive(c"utf8_content_codings", "content_codings", Arguments::One),
    directive(c"utf8_content_ranges", "content_ranges", Arguments::One),
    directive(c"utf8_length_prefixed", "length_prefixed", Arguments::One),
    directive(c"utf8_form_data", "form_data", Arguments::Flag),
    directive(c"utf8_json_event_streams", "json_event_streams", Arguments::Flag),
    directive(c"utf8_protobuf", "protobuf", Arguments::Json),
    directive(c"utf8_buffer_size", "", Arguments::One),
];

/// The directives of a block of the configuration.
#[derive(Debug, Default)]
pub(crate) struct Block {
    /// The value of `utf8_validate`: `off`, or the value of the setting `action`.
    validate: Option<&'static str>,
    buffer_size: Option<usize>,
    /// `null` removes an inherited value.
    values: Map<String, Value>,
    /// `None` if nothing is checked.
    pub(crate) settings: Option<Arc<Checked>>,
}

/// The settings of a location where text is checked.
#[derive(Debug)]
pub(crate) struct Checked {
    pub(crate) settings: Settings,
    /// The limit of a response that is held until its end.
    pub(crate) buffer_size: usize,
}

impl Block {
    /// Sets the value of a directive.
    ///
    /// # Errors
    ///
    /// Returns the message for a second value, and for one that the directive does not have.
    pub(crate) fn set(
        &mut self,
        kind: FilterKind,
        directive: Directive,
        arguments: &[&str],
    ) -> Result<(), String> {
        let first = arguments.first().copied().unwrap_or_default();
        let key = directive.key;
        if directive.name == c"utf8_validate" {
            let action = match first {
                "off" => "off",
                "on" => "enforce",
                "report" => "report",
                _ => return Err("is `on`, `report` or `off`".into()),
            };
            return replace(&mut self.validate, action);
        }
        if key.is_empty() {
            let size = size(first).ok_or("is a size in bytes, such as `64k` or `1m`")?;
            return replace(&mut self.buffer_size, size);
        }
        if self.values.contains_key(key) {
            return Err(DUPLICATE.into());
        }
        let value = match directive.arguments {
            Arguments::Many => Value::from(arguments.to_vec()),
            Arguments::Flag => Value::from(match first {
                "on" => true,
                "off" => false,
                _ => return Err("is `on` or `off`".into()),
            }),
            Arguments::Json => serde_json::from_str(first).map_err(|error| error.to_string())?,
            Arguments::One if first == "off" && matches!(key, "subset" | "json_strings" | "json_subset") => {
                Value::Null
            }
            Arguments::One => Value::from(first),
        };
        // An error is reported with the line of the directive. `json_subset` needs another one.
        if key != "json_subset" {
            parse(&Map::from_iter([(key.to_owned(), value.clone())]), kind)?;
        }
        self.values.insert(key.to_owned(), value);
        Ok(())
    }

    /// Adds what only the outer block has, and parses the settings.
    ///
    /// # Errors
    ///
    /// Returns the message for values that contradict each other.
    pub(crate) fn inherit(&mut self, outer: &Self, kind: FilterKind) -> Result<(), String> {
        self.validate = self.validate.or(outer.validate);
        self.buffer_size = self.buffer_size.or(outer.buffer_size);
        for (key, value) in &outer.values {
            if !self.values.contains_key(key) {
                self.values.insert(key.clone(), value.clone());
            }
        }
        let action = self.validate.unwrap_or("off");
        if action != "off" {
            let mut values = self.values.clone();
            values.insert("action".into(), action.into());
            let settings = parse(&values, kind)?;
            let buffer_size = self.buffer_size.unwrap_or(BUFFER_SIZE);
            self.settings = Some(Arc::new(Checked { settings, buffer_size }));
        }
        Ok(())
    }
}

const DUPLICATE: &str = "is duplicate";

fn replace<T>(place: &mut Option<T>, value: T) -> Result<(), String> {
    match place.replace(value) {
        Some(_) => Err(DUPLICATE.into()),
        None => Ok(()),
    }
}

fn parse(values: &Map<String, Value>, kind: FilterKind) -> Result<Settings, String> {
    let values: Map<_, _> = values.clone().into_iter().filter(|(_, value)| !value.is_null()).collect();
    let json = Value::Object(values).to_string();
    Settings::parse(json.as_bytes(), kind).map_err(|error| error.to_string())
}

/// Parses a size as nginx writes it.
fn size(text: &str) -> Option<usize> {
    let (digits, unit) = match text.as_bytes().last()? {
        b'k' | b'K' => (&text[..text.len() - 1], 1 << 10),
        b'm' | b'M' => (&text[..text.len() - 1], 1 << 20),
        _ => (text, 1),
    };
    digits.parse::<usize>().ok()?.checked_mul(unit)
}
