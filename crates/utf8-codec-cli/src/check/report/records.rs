//! The text of one error in each format but that for people.
//!
//! A report may have millions of errors, so they are written without a tree of values: the members of an object in the order
//! that `serde_json` gives them, and the name of the file as it was escaped once.

use std::io::Write;

use serde_json::Value;

use super::digits::push_number;
use super::services::Identity;
use crate::check::diagnostic::{Diagnostic, Message, Problem};
use crate::escape::{self, github_value};

/// Returns an object without its braces, or a string without its quotation marks.
pub(super) fn members(value: &Value) -> String {
    let text = escape::json(value);
    text[1..text.len() - 1].to_owned()
}

/// Whether nothing in a text is escaped, and it has no command of a CI service. Most messages are so.
fn is_plain(text: &str) -> bool {
    // Without an early end, the compiler vectorizes it.
    text.bytes().fold(true, |is_plain, byte| {
        is_plain & matches!(byte, b' '..=b'~') & !matches!(byte, b'"' | b'#' | b'%' | b'\\')
    })
}

/// Appends the message, and lets `escape` replace it if it is not plain.
fn push_message(out: &mut Vec<u8>, diagnostic: &Diagnostic, escape: impl FnOnce(&str) -> String) {
    if let Message::IllFormed(reason) = &diagnostic.message {
        return reason.push_to(out);
    }
    let message = diagnostic.message.to_string();
    let message = if is_plain(&message) { message } else { escape(&message) };
    out.extend_from_slice(message.as_bytes());
}

/// Appends the message as a string of JSON.
fn push_json(out: &mut Vec<u8>, diagnostic: &Diagnostic) {
    out.push(b'"');
    push_message(out, diagnostic, |message| members(&message.into()));
    out.push(b'"');
}

/// Appends parts of an object, each followed by its number. Inlined, so that a part is copied without a call.
#[inline(always)]
fn push_numbers<const N: usize>(out: &mut Vec<u8>, parts: [(&str, u64); N]) {
    for (part, number) in parts {
        out.extend_from_slice(part.as_bytes());
        push_number(out, number);
    }
}

pub(super) fn short(out: &mut Vec<u8>, file: &str, diagnostic: &Diagnostic) {
    let location = diagnostic.location;
    out.extend_from_slice(file.as_bytes());
    push_numbers(out, [(":", location.line + 1), (":", location.columns.characters + 1)]);
    out.extend_from_slice(b": ");
    push_message(out, diagnostic, escape::text);
    out.push(b'\n');
}

/// `file` are the members with the name of the file.
pub(super) fn json(out: &mut Vec<u8>, file: &str, diagnostic: &Diagnostic) {
    let location = diagnostic.location;
    let columns = diagnostic.location.columns;
    push_numbers(out, [("{\"byte_column\":", columns.bytes + 1), (",\"column\":", columns.characters + 1)]);
    out.push(b',');
    out.extend_from_slice(file.as_bytes());
    if let Problem::IllFormed(kind) | Problem::Bom(kind, _) = diagnostic.problem {
        out.extend_from_slice(b",\"kind\":\"");
        out.extend_from_slice(kind.as_str().as_bytes());
        out.push(b'"');
    }
    push_numbers(out, [(",\"len\":", diagnostic.len), (",\"line\":", location.line + 1)]);
    out.extend_from_slice(b",\"message\":");
    push_json(out, diagnostic);
    push_numbers(out, [(",\"offset\":", location.offset)]);
    out.extend_from_slice(b",\"rule\":\"");
    out.extend_from_slice(diagnostic.problem.name().as_bytes());
    push_numbers(out, [("\",\"schema\":", super::json::SCHEMA.into())]);
    push_numbers(out, [(",\"type\":\"error\",\"utf16_column\":", columns.utf16 + 1)]);
    out.extend_from_slice(b"}\n");
}

/// An annotation of GitHub Actions.
pub(super) fn annotation(out: &mut Vec<u8>, file: &str, diagnostic: &Diagnostic) {
    let columns = diagnostic.location.columns;
    let line = diagnostic.location.line + 1;
    let column = columns.characters + 1;
    let end = column + diagnostic.width.characters;
    let title = diagnostic.problem.name();
    let _ = write!(
        out,
        "::error file={file},line={line},endLine={line},col={column},endColumn={end},title={title}::"
    );
    push_message(out, diagnostic, |message| github_value(&escape::text(message), false));
    out.push(b'\n');
}

/// An issue of GitLab, a JSON object in the format of Code Climate. `file` is a string of JSON, and `identity` is unique in
/// the report.
pub(super) fn issue(out: &mut Vec<u8>, file: &str, diagnostic: &Diagnostic, identity: &Identity) {
    out.extend_from_slice(b"{\"categories\":[\"Bug Risk\"],\"check_name\":\"");
    out.extend_from_slice(diagnostic.problem.name().as_bytes());
    out.extend_from_slice(b"\",\"description\":");
    push_json(out, diagnostic);
    out.extend_from_slice(b",\"fingerprint\":\"");
    identity.push_to(out);
    out.extend_from_slice(b"\",\"location\":{\"lines\":{\"begin\":");
    push_number(out, diagnostic.location.line + 1);
    out.extend_from_slice(b"},\"path\":");
    out.extend_from_slice(file.as_bytes());
    out.extend_from_slice(b"},\"severity\":\"major\",\"type\":\"issue\"}");
}

/// A result of SARIF. `file` is its URI, as a string of JSON.
pub(super) fn sarif(out: &mut Vec<u8>, file: &str, diagnostic: &Diagnostic, identity: &Identity) {
    let location = diagnostic.location;
    let column = diagnostic.location.columns.utf16 + 1;
    let line = location.line + 1;
    let end = column + diagnostic.width.utf16;
    let name = diagnostic.problem.name();
    out.extend_from_slice(
        b"{\"level\":\"error\",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":",
    );
    out.extend_from_slice(file.as_bytes());
    out.extend_from_slice(b"},\"region\":{");
    push_numbers(out, [("\"byteLength\":", diagnostic.len), (",\"byteOffset\":", location.offset)]);
    push_numbers(out, [(",\"endColumn\":", end), (",\"endLine\":", line)]);
    push_numbers(out, [(",\"startColumn\":", column), (",\"startLine\":", line)]);
    out.extend_from_slice(b"}}}],\"message\":{\"text\":");
    push_json(out, diagnostic);
    out.extend_from_slice(b"},\"partialFingerprints\":{\"utf8Codec/v1\":\"");
    identity.push_to(out);
    out.extend_from_slice(b"\"},\"ruleId\":\"");
    out.extend_from_slice(name.as_bytes());
    out.extend_from_slice(b"\"}");
}
