//! The objects of the format `json`.

use std::path::Path;

use serde_json::{Value, json};

use super::totals::Totals;
use crate::check::diagnostic::{Diagnostic, FileStatus, Fixed, Problem, Summary};
use crate::files::file_members;
use crate::guess::Guess;

/// The version of the objects. A member that is renamed, removed or means something else increases it; a new member does
/// not.
const SCHEMA: u32 = 1;

pub(super) fn object(path: &Path, diagnostic: &Diagnostic) -> Value {
    let (location, columns) = (diagnostic.location, diagnostic.location.columns);
    let mut object = file_members(path);
    object["schema"] = json!(SCHEMA);
    object["type"] = json!("error");
    object["rule"] = json!(diagnostic.problem.name());
    if let Problem::IllFormed(kind) | Problem::Bom(kind, _) = diagnostic.problem {
        object["kind"] = json!(kind.as_str());
    }
    object["message"] = json!(diagnostic.message);
    object["offset"] = json!(location.offset);
    object["len"] = json!(diagnostic.len);
    object["line"] = json!(location.line + 1);
    object["column"] = json!(columns.characters + 1);
    object["byte_column"] = json!(columns.bytes + 1);
    object["utf16_column"] = json!(columns.utf16 + 1);
    object
}

pub(super) fn summary_object(path: &Path, summary: &Summary, unreported: u64) -> Value {
    let mut object = file_members(path);
    object["schema"] = json!(SCHEMA);
    object["type"] = json!("summary");
    match &summary.end {
        FileStatus::Checked => {
            object["ok"] = json!(summary.errors == 0);
            object["errors"] = json!(summary.errors);
            object["fixable"] = json!(summary.fixable);
            object["unreported"] = json!(unreported);
            object["bytes"] = json!(summary.bytes);
            object["lines"] = json!(summary.lines);
            match &summary.fixed {
                Fixed::Nothing => {}
                Fixed::Rewritten(errors, changes) => {
                    object["fixed"] = json!(errors);
                    object["changes"] = json!(changes);
                }
                Fixed::Not(reason) | Fixed::Failed(reason) => object["not_fixed"] = json!(reason),
            }
            match &summary.guess {
                Some(Guess::Binary) => object["binary"] = json!(true),
                Some(guess) => object["probably"] = json!(guess.in_words()),
                None => {}
            }
            if !summary.candidates.is_empty() {
                let names = summary.candidates.iter().map(|(encoding, _)| encoding.name());
                object["candidates"] = json!(names.collect::<Vec<_>>());
            }
        }
        FileStatus::Binary => object["binary"] = json!(true),
        FileStatus::Unreadable(error) => object["unreadable"] = json!(error),
    }
    object
}

pub(super) fn stats_object(totals: &Totals) -> Value {
    json!({
        "schema": SCHEMA, "type": "stats", "files": totals.files, "bad_files": totals.bad_files, "binary_files": totals.binary,
        "unreadable_files": totals.unreadable, "errors": totals.errors, "fixable": totals.fixable, "fixed": totals.fixed,
        "fixed_files": totals.fixed_files, "files_not_fixed": totals.not_fixed, "bytes": totals.bytes,
        "lines": totals.lines, "characters": totals.characters, "longest_line": totals.longest_line,
    })
}
