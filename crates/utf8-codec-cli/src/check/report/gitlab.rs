//! Reports of Code Quality of GitLab: a JSON array of issues, in the format of Code Climate.

use std::path::Path;

use serde_json::{Value, json};

use crate::check::diagnostic::Diagnostic;

/// Returns the issue for an error. The path is one for annotations, and `identity` is unique in the report.
pub(super) fn issue(path: &Path, diagnostic: &Diagnostic, identity: &str) -> Value {
    entry(path, diagnostic.problem.name(), &diagnostic.message, identity, diagnostic.location.line + 1)
}

/// Returns the issue for a file that could not be read or written.
pub(super) fn failure(path: &Path, message: &str) -> Value {
    let identity = format!("failed:{}", path.display());
    entry(path, "failed", message, &identity, 1)
}

fn entry(path: &Path, name: &str, message: &str, identity: &str, line: u64) -> Value {
    let path = path.to_string_lossy();
    let path = if cfg!(windows) { path.replace('\\', "/").into() } else { path };
    json!({
        "type": "issue",
        "check_name": name,
        "description": message,
        "categories": ["Bug Risk"],
        "severity": "major",
        "fingerprint": identity,
        "location": { "path": path, "lines": { "begin": line } },
    })
}
