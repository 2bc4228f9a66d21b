//! The objects of the format `json`.

use core::num::NonZeroUsize;
use std::path::Path;

use serde_json::{Value, json};

use super::totals::Totals;
use crate::check::diagnostic::{FileStatus, Fixed, Summary};
use crate::files::file_members;
use crate::guess::Guess;

/// The version of the objects. A member that is renamed, removed or means something else increases it; a new member does
/// not.
pub(super) const SCHEMA: u32 = 1;

pub(super) fn summary_object(
    path: &Path,
    summary: &Summary,
    unreported: u64,
    max_errors: Option<NonZeroUsize>,
) -> Value {
    let mut object = file_members(path);
    object["schema"] = json!(SCHEMA);
    object["type"] = json!("summary");
    match &summary.end {
        FileStatus::Checked => {
            object["ok"] = json!(summary.errors == 0);
            object["errors"] = json!(summary.errors);
            object["fixable"] = json!(summary.fixable);
            object["unreported"] = json!(unreported);
            object["max_errors"] = json!(max_errors.map_or(0, NonZeroUsize::get));
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
