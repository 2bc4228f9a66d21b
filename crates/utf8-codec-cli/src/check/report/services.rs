//! What services need: paths in their notation, issues about whole files, and the identities of errors.

use std::collections::HashMap;
use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use super::digits::push_number;
use crate::check::diagnostic::Diagnostic;
use crate::escape::github_value;

/// Escapes a path for the property `file` of a GitHub workflow command.
pub(crate) fn github_path(path: &Path) -> String {
    let path = path.to_string_lossy();
    github_value(&if cfg!(windows) { path.replace('\\', "/").into() } else { path }, true)
}

/// Returns a path for GitLab. It is one for annotations.
pub(super) fn path_of(path: &Path) -> String {
    let path = path.to_string_lossy();
    if cfg!(windows) { path.replace('\\', "/") } else { path.into_owned() }
}

/// Returns an issue of GitLab (a JSON object in the format of Code Climate) about a file as a whole: it could not be
/// read or written, or has more errors.
pub(super) fn about_file(path: &Path, name: &str, message: &str) -> Value {
    json!({
        "type": "issue",
        "check_name": name,
        "description": message,
        "categories": ["Bug Risk"],
        "severity": "major",
        "fingerprint": format!("{name}:{}", path.display()),
        "location": { "path": path_of(path), "lines": { "begin": 1 } },
    })
}

/// The maximum number of texts of a file that are counted, in 2 MiB. The identities of the errors after them have the offset
/// and change with it.
const MAX_COUNTED: usize = 64 * 1024;

/// The identities of the errors of one file at a time. By them services recognize an error after the file has changed
/// elsewhere.
#[derive(Debug, Default)]
pub(super) struct Identities {
    path: PathBuf,
    /// The name of the last error, and the hash of it and of the path.
    name: (&'static str, u64),
    /// The line of the last error, and its hash.
    line: (Vec<u8>, u64),
    /// How often each value occurred.
    seen: HashMap<u64, u32>,
}

/// A hash of the rule, the path and the text around an error, and what tells it apart from others with this hash.
#[derive(Debug)]
pub(super) enum Identity {
    /// The number of the error among those with the hash.
    Number(u64, u32),
    Offset(u64, u64),
}

impl Identity {
    pub(super) fn push_to(&self, out: &mut Vec<u8>) {
        let (hash, sign, number) = match *self {
            Self::Number(hash, number) => (hash, b':', number.into()),
            Self::Offset(hash, offset) => (hash, b'@', offset),
        };
        out.extend(
            hash.to_be_bytes()
                .into_iter()
                .flat_map(|byte| [byte >> 4, byte & 0xF])
                .map(|digit| b"0123456789abcdef"[usize::from(digit)]),
        );
        out.push(sign);
        push_number(out, number);
    }
}

impl Identities {
    /// Returns the identity of an error. It does not depend on the number of the line.
    pub(super) fn of(&mut self, path: &Path, diagnostic: &Diagnostic) -> Identity {
        if self.path.as_os_str() != path.as_os_str() {
            *self = Self { path: path.to_owned(), ..Self::default() };
        }
        let line = diagnostic.context.as_ref().map_or(&[][..], |context| &context.line).trim_ascii();
        let name = diagnostic.problem.name();
        if self.name.0 != name {
            let parts = [name.as_bytes(), b"\0", path.as_os_str().as_encoded_bytes(), b"\0"];
            let hash = parts.into_iter().flatten().copied().fold(0xCBF2_9CE4_8422_2325, fnv);
            self.name = (name, hash);
            self.line = (Vec::new(), hash);
        }
        // A line may have many errors.
        if self.line.0 != line {
            self.line.0.clear();
            self.line.0.extend_from_slice(line);
            self.line.1 = line.iter().copied().fold(self.name.1, fnv);
        }
        let hash = self.line.1;
        if self.seen.len() >= MAX_COUNTED && !self.seen.contains_key(&hash) {
            return Identity::Offset(hash, diagnostic.location.offset);
        }
        let number = self.seen.entry(hash).or_insert(0);
        *number += 1;
        Identity::Number(hash, *number)
    }
}

/// A step of FNV-1a. The hashes of std may change between versions.
fn fnv(hash: u64, byte: u8) -> u64 {
    (hash ^ u64::from(byte)).wrapping_mul(0x100_0000_01B3)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use utf8_codec::ErrorKind;
    use utf8_codec::locate::{Columns, Location};

    use super::*;
    use crate::check::diagnostic::{Context, Message, Problem, Row};

    /// The memory does not depend on the number of errors.
    #[test]
    fn identities_are_different_and_limited() {
        let mut identities = Identities::default();
        let mut of = |number: usize, offset: u64| {
            let context = Context {
                line: number.to_string().into(),
                at: 0,
                covered: 1,
                is_cut: (false, false),
                row: Row::default(),
            };
            let mut location = Location::default();
            location.offset = offset;
            let diagnostic = Diagnostic {
                problem: Problem::IllFormed(ErrorKind::InvalidLead),
                location,
                len: 1,
                width: Columns::of(" "),
                message: Message::Text(String::new()),
                context: Some(context),
            };
            let mut identity = Vec::new();
            identities.of(Path::new("file"), &diagnostic).push_to(&mut identity);
            String::from_utf8(identity).expect("ASCII")
        };
        let number = MAX_COUNTED + 1000;
        let first: Vec<String> = (0..number).map(|number| of(number, number as u64)).collect();
        let again: Vec<String> = (0..number).map(|number| of(number, 2 * number as u64)).collect();
        // Before a text is one too many, the identity does not depend on the offset.
        assert_eq!(of(0, 7), first[0].replace(":1", ":3"));
        let last = number - 1;
        assert!(first[last].ends_with(&format!("@{last}")), "{}", first[last]);
        let all: HashSet<_> = first.iter().chain(&again).collect();
        assert_eq!(all.len(), 2 * number);
        assert_eq!(identities.seen.len(), MAX_COUNTED);
    }
}
