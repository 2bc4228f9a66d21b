//! Logs in SARIF 2.1.0.

use std::io::{self, Write};
use std::path::Path;

use serde_json::{Value, json};

use super::diagnostic::Diagnostic;

/// What could not be read or written, for the end of a SARIF log.
#[derive(Debug, Default)]
pub(super) struct Notifications(Vec<Value>);

impl Notifications {
    /// Adds a file. `path` is its path for annotations.
    pub(super) fn push(&mut self, path: &Path, message: &str) {
        self.0.push(json!({
            "level": "error",
            "message": { "text": message },
            "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(path) } } }],
        }));
    }
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
pub(super) fn sarif_start(out: &mut impl Write) -> io::Result<()> {
    let driver = json!({ "name": "utf8-codec", "version": env!("CARGO_PKG_VERSION") });
    write!(
        out,
        "{{\"$schema\":\"https://json.schemastore.org/sarif-2.1.0.json\",\"version\":\"2.1.0\",\"runs\":[{{\
         \"tool\":{{\"driver\":{driver}}},\"columnKind\":\"utf16CodeUnits\",\"results\":["
    )
}

/// Ends a SARIF log after its results.
pub(super) fn sarif_end(out: &mut impl Write, notifications: &Notifications) -> io::Result<()> {
    let invocation = match notifications.0.is_empty() {
        true => json!({ "executionSuccessful": true }),
        false => json!({
            "executionSuccessful": false,
            "toolExecutionNotifications": notifications.0,
        }),
    };
    writeln!(out, "],\"invocations\":[{invocation}]}}]}}")
}

/// Returns the result for an error. The path is one for annotations.
pub(super) fn sarif_result(path: &Path, diagnostic: &Diagnostic) -> Value {
    let (location, columns) = (diagnostic.location, diagnostic.location.columns);
    let (line, column) = (location.line + 1, columns.utf16 + 1);
    json!({
        "ruleId": diagnostic.problem.name(),
        "level": "error",
        "message": { "text": diagnostic.message },
        "locations": [{ "physicalLocation": {
            "artifactLocation": { "uri": uri(path) },
            "region": {
                "startLine": line,
                "startColumn": column,
                "endLine": line,
                "endColumn": column + diagnostic.width.utf16,
                "byteOffset": location.offset,
                "byteLength": diagnostic.len,
            },
        }}],
    })
}
