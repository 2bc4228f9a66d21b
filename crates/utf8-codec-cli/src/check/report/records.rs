//! The text of one error in each format but that for people.
//!
//! A report may have millions of errors, so they are written without a tree of values: the members of an object in the order
//! that `serde_json` gives them, and the name of the file as it was escaped once.

use core::fmt::Write;

use serde_json::Value;

use crate::check::diagnostic::{Diagnostic, Problem};
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
fn push_message(out: &mut String, diagnostic: &Diagnostic, escape: impl FnOnce(&str) -> String) {
    let start = out.len();
    let _ = write!(out, "{}", diagnostic.message);
    if !is_plain(&out[start..]) {
        let escaped = escape(&out[start..]);
        out.truncate(start);
        out.push_str(&escaped);
    }
}

/// Appends the message as a string of JSON.
fn push_json(out: &mut String, diagnostic: &Diagnostic) {
    out.push('"');
    push_message(out, diagnostic, |message| members(&message.into()));
    out.push('"');
}

/// Appends a number. The formatting functions of std take several times as long.
fn push_number(out: &mut String, mut number: u64) {
    let mut digits = [0; 20];
    let mut start = digits.len();
    loop {
        start -= 1;
        digits[start] = b'0' + (number % 10) as u8;
        number /= 10;
        if number == 0 {
            break;
        }
    }
    out.push_str(str::from_utf8(&digits[start..]).unwrap_or_default());
}

/// Appends parts of an object, each of them and then a number.
fn push_numbers<const N: usize>(out: &mut String, parts: [(&str, u64); N]) {
    for (part, number) in parts {
        out.push_str(part);
        push_number(out, number);
    }
}

pub(super) fn short(out: &mut String, file: &str, diagnostic: &Diagnostic) {
    let location = diagnostic.location;
    out.push_str(file);
    push_numbers(out, [(":", location.line + 1), (":", location.columns.characters + 1)]);
    out.push_str(": ");
    push_message(out, diagnostic, escape::text);
    out.push('\n');
}

/// `file` are the members with the name of the file.
pub(super) fn json(out: &mut String, file: &str, diagnostic: &Diagnostic) {
    let location = diagnostic.location;
    let columns = diagnostic.location.columns;
    push_numbers(out, [("{\"byte_column\":", columns.bytes + 1), (",\"column\":", columns.characters + 1)]);
    out.push(',');
    out.push_str(file);
    if let Problem::IllFormed(kind) | Problem::Bom(kind, _) = diagnostic.problem {
        out.push_str(",\"kind\":\"");
        out.push_str(kind.as_str());
        out.push('"');
    }
    push_numbers(out, [(",\"len\":", diagnostic.len), (",\"line\":", location.line + 1)]);
    out.push_str(",\"message\":");
    push_json(out, diagnostic);
    push_numbers(out, [(",\"offset\":", location.offset)]);
    out.push_str(",\"rule\":\"");
    out.push_str(diagnostic.problem.name());
    push_numbers(out, [("\",\"schema\":", super::json::SCHEMA.into())]);
    push_numbers(out, [(",\"type\":\"error\",\"utf16_column\":", columns.utf16 + 1)]);
    out.push_str("}\n");
}

/// An annotation of GitHub Actions.
pub(super) fn annotation(out: &mut String, file: &str, diagnostic: &Diagnostic) {
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
    out.push('\n');
}

/// An issue of GitLab, a JSON object in the format of Code Climate. `file` is a string of JSON, and `identity` is unique in
/// the report.
pub(super) fn issue(out: &mut String, file: &str, diagnostic: &Diagnostic, identity: &str) {
    out.push_str("{\"categories\":[\"Bug Risk\"],\"check_name\":\"");
    out.push_str(diagnostic.problem.name());
    out.push_str("\",\"description\":");
    push_json(out, diagnostic);
    out.push_str(",\"fingerprint\":\"");
    out.push_str(identity);
    out.push_str("\",\"location\":{\"lines\":{\"begin\":");
    push_number(out, diagnostic.location.line + 1);
    out.push_str("},\"path\":");
    out.push_str(file);
    out.push_str("},\"severity\":\"major\",\"type\":\"issue\"}");
}

/// A result of SARIF. `file` is its URI, as a string of JSON.
pub(super) fn sarif(out: &mut String, file: &str, diagnostic: &Diagnostic, identity: &str) {
    let location = diagnostic.location;
    let column = diagnostic.location.columns.utf16 + 1;
    let line = location.line + 1;
    let end = column + diagnostic.width.utf16;
    let name = diagnostic.problem.name();
    out.push_str("{\"level\":\"error\",\"locations\":[{\"physicalLocation\":{\"artifactLocation\":{\"uri\":");
    out.push_str(file);
    out.push_str("},\"region\":{");
    push_numbers(out, [("\"byteLength\":", diagnostic.len), (",\"byteOffset\":", location.offset)]);
    push_numbers(out, [(",\"endColumn\":", end), (",\"endLine\":", line)]);
    push_numbers(out, [(",\"startColumn\":", column), (",\"startLine\":", line)]);
    out.push_str("}}}],\"message\":{\"text\":");
    push_json(out, diagnostic);
    out.push_str("},\"partialFingerprints\":{\"utf8Codec/v1\":\"");
    out.push_str(identity);
    out.push_str("\"},\"ruleId\":\"");
    out.push_str(name);
    out.push_str("\"}");
}
