//! Annotations of GitHub Actions.

use std::path::Path;

use crate::check::diagnostic::Diagnostic;
use crate::escape;

/// Returns the annotation of an error. The path is one for annotations.
pub(super) fn annotation(path: &Path, diagnostic: &Diagnostic) -> String {
    let columns = diagnostic.location.columns;
    let (line, column) = (diagnostic.location.line + 1, columns.characters + 1);
    format!(
        "::error file={},line={line},endLine={line},col={column},endColumn={},title={}::{}",
        github_path(path),
        column + diagnostic.width.characters,
        diagnostic.problem.name(),
        github_value(&escape::text(&diagnostic.message), false),
    )
}

/// Escapes a path for the property `file` of a GitHub workflow command.
pub(in crate::check) fn github_path(path: &Path) -> String {
    let path = path.to_string_lossy();
    github_value(&if cfg!(windows) { path.replace('\\', "/").into() } else { path }, true)
}

/// Escapes a value of a GitHub workflow command (`escapeProperty` and `escapeData` of `@actions/core`): `%`, CR and LF, and
/// in a property `:` and `,`. TAB is kept. A command has no notation for the other control characters.
pub(in crate::check) fn github_value(value: &str, is_property: bool) -> String {
    let mut out = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            ':' if is_property => out.push_str("%3A"),
            ',' if is_property => out.push_str("%2C"),
            _ if character.is_control() && character != '\t' => escape::push_code_point(&mut out, character),
            _ => out.push(character),
        }
    }
    out
}
