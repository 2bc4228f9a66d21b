//! Logs in SARIF 2.1.0.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::explain::{PAGE, Topic};
use crate::escape;

/// The maximum number of results in a run. GitHub rejects a log with more.
pub(super) const MAX_RESULTS: u64 = 25_000;

/// What could not be read or written, and warnings, for the end of a SARIF log.
#[derive(Debug, Default)]
pub(super) struct Notifications {
    has_failed: bool,
    list: Vec<Value>,
}

impl Notifications {
    /// Adds a file that could not be read or written. `path` is its path for annotations.
    pub(super) fn push(&mut self, path: &Path, message: &str) {
        self.has_failed = true;
        self.add("error", path, message);
    }

    pub(super) fn warn(&mut self, path: &Path, message: &str) {
        self.add("warning", path, message);
    }

    /// Adds what is about no file.
    pub(super) fn note(&mut self, message: &str) {
        self.list.push(json!({ "level": "warning", "message": { "text": message } }));
    }

    fn add(&mut self, level: &str, path: &Path, message: &str) {
        self.list.push(json!({
            "level": level,
            "message": { "text": message },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(path) } } }],
        }));
    }
}

/// Returns the description of a rule.
pub(super) fn rule(name: &str, level: &str, summary: &str, help: &str) -> Value {
    json!({
        "id": name,
        "name": name,
        "shortDescription": { "text": summary },
        "fullDescription": { "text": summary },
        "help": { "text": help, "markdown": help },
        "helpUri": format!("{PAGE}#rules"),
        "defaultConfiguration": { "level": level },
        "properties": { "tags": ["encoding"], "precision": "very-high" },
    })
}

/// Returns the descriptions of all rules of `check`.
pub(super) fn rules() -> Value {
    Topic::all().map(|topic| rule(topic.name(), "error", &topic.summary(), &topic.help())).collect()
}

/// Returns the URI of a path for annotations. Everything except `/` and unreserved characters is percent-encoded; on
/// Windows `\` becomes `/`.
pub(super) fn uri(path: &Path) -> String {
    let mut uri = String::new();
    for &byte in path.as_os_str().as_encoded_bytes() {
        match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'/' | b'.' | b'-' | b'_' | b'~' => {
                uri.push(byte.into())
            }
            b'\\' if cfg!(windows) => uri.push('/'),
            _ => uri.push_str(&format!("%{byte:02X}")),
        }
    }
    match path.is_absolute() {
        true => format!("file://{}{uri}", if uri.starts_with('/') { "" } else { "/" }),
        false => uri,
    }
}

/// Starts a SARIF log, up to its results.
pub(super) fn sarif_start(out: &mut impl Write, rules: &Value) -> io::Result<()> {
    let version = env!("CARGO_PKG_VERSION");
    let driver = json!({
        "name": "utf8-codec", "version": version, "semanticVersion": version, "informationUri": PAGE, "rules": rules,
    });
    write!(
        out,
        "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{{\
         \"tool\":{{\"driver\":{driver}}},\"columnKind\":\"utf16CodeUnits\",\"results\":["
    )
}

/// Ends a SARIF log after its results. `left_out` is the number of errors that are not in it.
pub(super) fn sarif_end(
    out: &mut impl Write,
    notifications: &Notifications,
    left_out: u64,
) -> io::Result<()> {
    let mut list = notifications.list.clone();
    if left_out > 0 {
        let text = format!("{left_out} more errors are not in this log");
        list.push(json!({ "level": "warning", "message": { "text": text } }));
    }
    let mut invocation = json!({ "executionSuccessful": !notifications.has_failed });
    if !list.is_empty() {
        invocation["toolExecutionNotifications"] = list.into();
    }
    writeln!(out, "],\"invocations\":[{}]}}]}}", escape::json(&invocation))
}
