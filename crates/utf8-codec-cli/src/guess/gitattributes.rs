//! `.gitattributes`: which files git does not store as the text that they contain.
//!
//! The rules are those of gitattributes(5). For each attribute a later line overrides an earlier one, the file of a
//! directory overrides those of the directories above it up to the root of the working tree, and `.git/info/attributes`
//! overrides all. Macros are defined at the root. The files of a user and of a system are not read, so that a report is the
//! same on every machine. Without a `.git`, the files of all directories apply, as with `.gitignore`.

use std::collections::HashMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};

use globset::{GlobBuilder, GlobSet, GlobSetBuilder};
use utf8_codec::BomPolicy;
use utf8_codec_encodings::Encoding;

use crate::charset::NamedEncoding;
use crate::files::{directory_of, open_regular, read_config, resolved};

const NAME: &str = ".gitattributes";

/// Git ignores longer lines.
const MAX_LINE: usize = 2048;

/// What the attributes of a file say about its text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum GitText {
    /// `-text`, or the macro `binary`.
    Binary,
    /// `working-tree-encoding`: git stores the file as UTF-8, and writes it to the working tree in this encoding.
    Encoded { label: String, encoding: NamedEncoding, bom: BomPolicy },
    /// A `working-tree-encoding` that is not known.
    Unknown(String),
}

/// The attributes of the files in all directories of the inputs.
#[derive(Debug, Default)]
pub(crate) struct GitAttributes {
    /// By the directory of an input.
    directories: HashMap<PathBuf, Arc<Level>>,
    /// By the canonical directory.
    levels: HashMap<PathBuf, Arc<Level>>,
    /// Whether a file has attributes.
    has_lines: bool,
}

/// A directory with the attributes of its files, and the one above it.
#[derive(Debug)]
struct Level {
    directory: PathBuf,
    own: Result<Attributes, String>,
    /// `.git/info/attributes`, if this is the root of a working tree.
    info: Option<Result<Attributes, String>>,
    above: Option<Arc<Self>>,
    /// Whether no file has attributes.
    is_empty: bool,
}

/// The parsed content of a file.
#[derive(Debug, Default)]
struct Attributes {
    globs: GlobSet,
    /// The attributes of the line of each glob.
    lines: Vec<Vec<Attribute>>,
    macros: HashMap<String, Vec<Attribute>>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
struct Attribute {
    name: String,
    state: State,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum State {
    Set,
    Unset,
    Unspecified,
    Value(String),
}

impl GitAttributes {
    /// Reads the attributes of the files in a directory, unless they have been read before.
    pub(crate) fn load(&mut self, directory: &Path) {
        if !self.directories.contains_key(directory)
            && let Ok(canonical) = resolved(directory)
        {
            let level = self.level(&canonical);
            self.has_lines |= !level.is_empty;
            self.directories.insert(directory.to_owned(), level);
        }
    }

    fn level(&mut self, directory: &Path) -> Arc<Level> {
        if let Some(known) = self.levels.get(directory) {
            return Arc::clone(known);
        }
        let git = git_directory(directory);
        let above = directory.parent().filter(|_| git.is_none()).map(|parent| self.level(parent));
        let own = read(&directory.join(NAME));
        let info = git.map(|git| read(&git.join("info/attributes")));
        let is_empty = [Some(&own), info.as_ref()].into_iter().flatten().all(has_no_lines)
            && above.as_ref().is_none_or(|it| it.is_empty);
        let level = Arc::new(Level { directory: directory.to_owned(), own, info, above, is_empty });
        self.levels.insert(directory.to_owned(), Arc::clone(&level));
        level
    }

    /// Returns what the attributes of a file say, whose directory was loaded, or which file of attributes could not be
    /// read.
    pub(crate) fn of(&self, path: &Path) -> Result<Option<GitText>, String> {
        if !self.has_lines {
            return Ok(None);
        }
        match (self.directories.get(directory_of(path)), path.file_name()) {
            (Some(level), Some(name)) if !level.is_empty => level.of(&level.directory.join(name)),
            _ => Ok(None),
        }
    }
}

fn has_no_lines(attributes: &Result<Attributes, String>) -> bool {
    attributes.as_ref().is_ok_and(|attributes| attributes.lines.is_empty())
}

impl Level {
    /// Returns this level and those above it.
    fn levels(&self) -> impl Iterator<Item = &Self> {
        core::iter::successors(Some(self), |level| level.above.as_deref())
    }

    fn of(&self, path: &Path) -> Result<Option<GitText>, String> {
        let Some(root) = self.levels().last() else { return Ok(None) };
        let own = self.levels().map(|level| (level.directory.as_path(), &level.own));
        let info = root.info.iter().map(|info| (root.directory.as_path(), info));
        let mut files = Vec::new();
        for (directory, attributes) in info.chain(own) {
            files.push((directory, attributes.as_ref().map_err(Clone::clone)?));
        }
        let defining =
            files.iter().filter(|(directory, _)| root.info.is_none() || *directory == root.directory);
        let macros = Macros(defining.map(|&(_, attributes)| attributes).collect());
        let mut known = HashMap::new();
        for (directory, attributes) in &files {
            let Ok(below) = path.strip_prefix(directory) else { continue };
            for line in attributes.globs.matches(below).into_iter().rev() {
                macros.assign(&attributes.lines[line], &mut known);
            }
        }
        Ok(text_of(&known))
    }
}

/// The files that may define macros, the one with precedence first.
struct Macros<'a>(Vec<&'a Attributes>);

/// The macro that git defines.
static BINARY: LazyLock<Vec<Attribute>> = LazyLock::new(|| {
    ["diff", "merge", "text"].map(|name| Attribute { name: name.to_owned(), state: State::Unset }).to_vec()
});

impl<'a> Macros<'a> {
    /// Adds the attributes of a line, of which the last one has precedence. Those of a macro come before it.
    fn assign(&self, line: &'a [Attribute], known: &mut HashMap<&'a str, &'a State>) {
        let mut waiting: Vec<&Attribute> = line.iter().collect();
        while let Some(Attribute { name, state }) = waiting.pop() {
            if known.contains_key(name.as_str()) {
                continue;
            }
            known.insert(name, state);
            if *state == State::Set {
                waiting.extend(self.expand(name));
            }
        }
    }

    fn expand(&self, name: &str) -> &'a [Attribute] {
        match self.0.iter().find_map(|attributes| attributes.macros.get(name)) {
            Some(own) => own,
            None if name == "binary" => &BINARY,
            None => &[],
        }
    }
}

fn text_of(known: &HashMap<&str, &State>) -> Option<GitText> {
    let encoded = match known.get("working-tree-encoding") {
        Some(State::Value(label)) => encoded(label),
        // Git does not accept the others.
        _ => None,
    };
    encoded.or_else(|| matches!(known.get("text"), Some(State::Unset)).then_some(GitText::Binary))
}

/// Returns the encoding with this label. Git requires a BOM in UTF-16 and UTF-32, and forbids it if the label has the byte
/// order (`validate_encoding` in its `convert.c`).
fn encoded(label: &str) -> Option<GitText> {
    let upper = label.to_ascii_uppercase();
    let width = upper.strip_prefix("UTF").map(|rest| rest.strip_prefix('-').unwrap_or(rest));
    let (name, bom) = match width {
        // What git stores is what the file contains.
        Some("8") => return None,
        Some("16" | "32") => (label, BomPolicy::Require),
        Some("16LE-BOM") => ("utf-16le", BomPolicy::Require),
        Some("16BE-BOM") => ("utf-16be", BomPolicy::Require),
        Some("16LE" | "16BE" | "32LE" | "32BE") => (label, BomPolicy::Reject),
        _ if label.is_empty() => return None,
        _ => (label, BomPolicy::Keep),
    };
    let label = label.to_owned();
    match name.parse::<NamedEncoding>() {
        Ok(encoding) if encoding.encoding() == Encoding::Utf8 => None,
        Ok(encoding) => Some(GitText::Encoded { label, encoding, bom }),
        Err(_) => Some(GitText::Unknown(label)),
    }
}

/// Returns the directory with the file `info/attributes` of the working tree whose root this is.
fn git_directory(root: &Path) -> Option<PathBuf> {
    let git = root.join(".git");
    let found = fs::metadata(&git).ok()?;
    if found.is_dir() {
        return Some(git);
    }
    // In a submodule and in a linked working tree it is a file with the path.
    let git = root.join(line_of(&git)?.strip_prefix("gitdir: ")?);
    Some(line_of(&git.join("commondir")).map_or_else(|| git.clone(), |common| git.join(common)))
}

fn line_of(file: &Path) -> Option<String> {
    let content = read_config(open_regular(file).ok()?.file).ok()?;
    String::from_utf8(content).ok().map(|text| text.trim_end().to_owned())
}

/// Reads a file of attributes. As in git, a symbolic link is not followed.
fn read(file: &Path) -> Result<Attributes, String> {
    if !fs::symlink_metadata(file).is_ok_and(|found| found.is_file()) {
        return Ok(Attributes::default());
    }
    let content = open_regular(file).and_then(|opened| read_config(opened.file));
    let content = content.map_err(|error| format!("{}: {error}", file.display()))?;
    parse(&String::from_utf8_lossy(&content)).map_err(|error| format!("{}: {error}", file.display()))
}

fn parse(text: &str) -> Result<Attributes, globset::Error> {
    let mut globs = GlobSetBuilder::new();
    let mut lines = Vec::new();
    let mut macros = HashMap::new();
    for line in text.trim_start_matches('\u{FEFF}').lines() {
        let line = line.trim_matches([' ', '\t', '\r']);
        if line.is_empty() || line.starts_with('#') || line.len() > MAX_LINE {
            continue;
        }
        let (pattern, rest) = match unquoted(line) {
            Some((pattern, rest)) => (pattern, rest),
            None => {
                let (pattern, rest) = line.split_once([' ', '\t']).unwrap_or((line, ""));
                (pattern.to_owned(), rest)
            }
        };
        let Some(mut attributes) = rest.split_ascii_whitespace().map(attribute).collect::<Option<Vec<_>>>()
        else {
            continue;
        };
        if let Some(name) = pattern.strip_prefix("[attr]") {
            macros.insert(name.to_owned(), attributes);
            continue;
        }
        if matches!(&*pattern, "*" | "**") {
            // `* -text` is about line endings. It does not mean that every file is binary.
            attributes.retain(|it| it.name != "text" || it.state != State::Unset);
        }
        if let Some(glob) = glob_of(&pattern) {
            globs.add(glob);
            lines.push(attributes);
        }
    }
    Ok(Attributes { globs: globs.build()?, lines, macros })
}

fn attribute(text: &str) -> Option<Attribute> {
    let (name, state) = match (text.as_bytes().first()?, text.split_once('=')) {
        (b'-', _) => (&text[1..], State::Unset),
        (b'!', _) => (&text[1..], State::Unspecified),
        (_, Some((name, value))) => (name, State::Value(value.to_owned())),
        (_, None) => (text, State::Set),
    };
    let is_valid = !name.is_empty()
        && !name.starts_with('-')
        && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte));
    is_valid.then(|| Attribute { name: name.to_owned(), state })
}

/// Returns the glob of a pattern, which matches files only: that of a directory does not apply to what is in it. Patterns
/// are not negated.
fn glob_of(pattern: &str) -> Option<globset::Glob> {
    if pattern.starts_with('!') || pattern.ends_with('/') {
        return None;
    }
    let mut glob = if pattern.contains('/') { String::new() } else { "**/".to_owned() };
    let mut is_class = false;
    let mut is_escaped = false;
    for character in pattern.strip_prefix('/').unwrap_or(pattern).chars() {
        // Braces are characters in git.
        if matches!(character, '{' | '}') && !is_class && !is_escaped {
            glob.push('\\');
        }
        is_class = !is_escaped && character == '[' || is_class && (is_escaped || character != ']');
        is_escaped = !is_escaped && character == '\\';
        glob.push(character);
    }
    if glob.ends_with("/**") {
        glob.push_str("/*");
    }
    GlobBuilder::new(&glob).literal_separator(true).backslash_escape(true).build().ok()
}

/// Splits a line after its pattern, if that is in quotes, with the escapes of C.
fn unquoted(line: &str) -> Option<(String, &str)> {
    let mut rest = line.strip_prefix('"')?.bytes();
    let mut pattern = Vec::new();
    loop {
        match rest.next()? {
            b'"' => break,
            b'\\' => pattern.push(match rest.next()? {
                b'a' => 0x07,
                b'b' => 0x08,
                b'f' => 0x0C,
                b'n' => b'\n',
                b'r' => b'\r',
                b't' => b'\t',
                b'v' => 0x0B,
                high @ b'0'..=b'3' => {
                    let digits = [high, rest.next()?, rest.next()?];
                    u8::from_str_radix(str::from_utf8(&digits).ok()?, 8).ok()?
                }
                quoted @ (b'"' | b'\\') => quoted,
                _ => return None,
            }),
            byte => pattern.push(byte),
        }
    }
    Some((String::from_utf8_lossy(&pattern).into_owned(), &line[line.len() - rest.len()..]))
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Returns the state of an attribute of a file that these lines are about.
    fn state(text: &str, path: &str, name: &str) -> Option<State> {
        let attributes = parse(text).expect("valid globs");
        let mut known = HashMap::new();
        for line in attributes.globs.matches(path).into_iter().rev() {
            Macros(vec![&attributes]).assign(&attributes.lines[line], &mut known);
        }
        known.get(name).map(|state| (*state).clone())
    }

    #[test]
    fn patterns_match_as_in_git() {
        for (pattern, path, is_matched) in [
            ("*.rc", "a.rc", true),
            ("*.rc", "sub/deep/a.rc", true),
            ("/a.rc", "sub/a.rc", false),
            ("sub/*.rc", "sub/a.rc", true),
            ("sub/*.rc", "sub/deep/a.rc", false),
            ("sub/**", "sub/deep/a.rc", true),
            ("sub/**/a.rc", "sub/a.rc", true),
            ("**/deep/a.rc", "sub/deep/a.rc", true),
            // What is in a directory does not match its pattern.
            ("sub", "sub/a.rc", false),
            ("sub/", "sub/a.rc", false),
            ("!*.rc", "a.rc", false),
            ("\\!a", "!a", true),
            ("{a,b}", "a", false),
            ("{a,b}", "{a,b}", true),
            ("[{]", "{", true),
            ("[a-c].rc", "b.rc", true),
            ("\"a b\\t\\303\\251\"", "a b\té", true),
            ("\"a", "\"a", true),
        ] {
            assert_eq!(state(&format!("{pattern} x"), path, "x").is_some(), is_matched, "{pattern} {path}");
        }
    }

    #[test]
    fn later_lines_and_attributes_have_precedence() {
        let value = |text: &str| Some(State::Value(text.to_owned()));
        for (text, name, expected) in [
            ("* x\n*.a -x", "x", Some(State::Unset)),
            ("*.a -x\n* x", "x", Some(State::Set)),
            ("* x\n*.a !x", "x", Some(State::Unspecified)),
            ("* x=1 x=2", "x", value("2")),
            ("# * x\n\n  *.a\tx=1 # y", "x", None),
            ("* x=1\r\n*.b x=2", "x", value("1")),
            ("[attr]m -x y=1\n* m", "x", Some(State::Unset)),
            ("[attr]m -x y=1\n* m x", "x", Some(State::Set)),
            ("[attr]m -x y=1\n* x m", "x", Some(State::Unset)),
            ("[attr]m -x y=1\n* -m", "x", None),
            ("[attr]m n\n[attr]n m x\n* m", "x", Some(State::Set)),
            ("* binary", "text", Some(State::Unset)),
            ("* binary text", "text", Some(State::Set)),
            ("[attr]binary x\n* binary", "text", None),
            ("* x.y_z-1=ü", "x.y_z-1", value("ü")),
            ("* --x", "x", None),
            ("* -text", "text", None),
        ] {
            assert_eq!(state(text, "sub/f.a", name), expected, "{text}");
        }
        let long = format!("* {}", "x ".repeat(MAX_LINE));
        assert_eq!(state(&long, "f", "x"), None);
        // A chain of macros is not recursion.
        let chain: String = (0..20_000).map(|number| format!("[attr]m{number} m{}\n", number + 1)).collect();
        assert_eq!(state(&format!("{chain}* m0"), "f", "m20000"), Some(State::Set));
    }

    #[test]
    fn encodings_have_the_bom_that_git_requires() {
        for (label, name, bom) in [
            ("UTF-16", "utf-16", BomPolicy::Require),
            ("utf16", "utf-16", BomPolicy::Require),
            ("UTF-32", "utf-32", BomPolicy::Require),
            ("UTF-16LE-BOM", "utf-16le", BomPolicy::Require),
            ("UTF16BE-BOM", "utf-16be", BomPolicy::Require),
            ("UTF-16BE", "utf-16be", BomPolicy::Reject),
            ("utf-32le", "utf-32le", BomPolicy::Reject),
            ("ISO-8859-1", "latin1", BomPolicy::Keep),
            ("SHIFT-JIS", "shift_jis", BomPolicy::Keep),
        ] {
            let encoding = name.parse().expect("a name");
            assert_eq!(encoded(label), Some(GitText::Encoded { label: label.to_owned(), encoding, bom }));
        }
        for label in ["", "UTF-8", "utf8"] {
            assert_eq!(encoded(label), None);
        }
        assert_eq!(encoded("UTF-9"), Some(GitText::Unknown("UTF-9".to_owned())));
    }
}
