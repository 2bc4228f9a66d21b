//! `utf8-codec.toml`: the settings of the files in a directory and its subdirectories.

use core::fmt::Display;
use core::str::FromStr;
use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use clap::ValueEnum;
use ignore::gitignore::{Gitignore, GitignoreBuilder};
use serde::de::{Deserialize, Deserializer, Error};
use utf8_codec::BomPolicy;

use super::rules::Rule;
use crate::charset::NamedEncoding;
use crate::exclude::Exclude;
use crate::files::{directory_of, open_regular, read_config, resolved};

/// The name of a configuration file.
const NAME: &str = "utf8-codec.toml";

/// The settings for one file, from a configuration file. `None` means the default.
#[derive(Clone, Debug, Default, serde::Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Options {
    #[serde(default, deserialize_with = "rules")]
    pub(super) rules: Option<Vec<Rule>>,
    #[serde(default, deserialize_with = "charset")]
    pub(super) encoding: Option<NamedEncoding>,
    #[serde(default, deserialize_with = "bom")]
    pub(super) bom: Option<BomPolicy>,
}

/// The parsed content of a configuration file.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Content {
    #[serde(default, deserialize_with = "globs")]
    exclude: Vec<String>,
    #[serde(default, deserialize_with = "rules")]
    rules: Option<Vec<Rule>>,
    #[serde(default, deserialize_with = "charset")]
    encoding: Option<NamedEncoding>,
    #[serde(default, deserialize_with = "bom")]
    bom: Option<BomPolicy>,
    #[serde(default)]
    files: Vec<Section>,
}

/// A `[[files]]` section. It repeats the keys of [`Options`], because serde cannot reject unknown keys of a flattened
/// struct.
#[derive(Debug, serde::Deserialize)]
#[serde(deny_unknown_fields)]
struct Section {
    #[serde(deserialize_with = "globs")]
    glob: Vec<String>,
    #[serde(default, deserialize_with = "rules")]
    rules: Option<Vec<Rule>>,
    #[serde(default, deserialize_with = "charset")]
    encoding: Option<NamedEncoding>,
    #[serde(default, deserialize_with = "bom")]
    bom: Option<BomPolicy>,
}

fn rules<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<Vec<Rule>>, D::Error> {
    let names = Vec::<String>::deserialize(deserializer)?;
    let mut rules = Vec::new();
    for name in names {
        rules.push(Rule::from_str(&name, false).map_err(|_| {
            let known: Vec<_> = Rule::value_variants().iter().map(|rule| rule.name()).collect();
            D::Error::custom(format_args!("unknown rule `{name}`, expected one of {}", known.join(", ")))
        })?);
    }
    Ok(Some(rules))
}

fn charset<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<NamedEncoding>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let charset = <NamedEncoding as FromStr>::from_str(&name);
    charset.map(Some).map_err(|error| D::Error::custom(format_args!("`{name}`: {error}")))
}

fn bom<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<BomPolicy>, D::Error> {
    let name = String::deserialize(deserializer)?;
    let bom = <BomPolicy as FromStr>::from_str(&name);
    bom.map(Some).map_err(|error| D::Error::custom(format_args!("`{name}`: {error}")))
}

/// One glob, or a list of globs.
fn globs<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Vec<String>, D::Error> {
    #[derive(serde::Deserialize)]
    #[serde(untagged, expecting = "expected a glob or a list of globs")]
    enum Globs {
        One(String),
        Many(Vec<String>),
    }

    Ok(match Globs::deserialize(deserializer)? {
        Globs::One(glob) => vec![glob],
        Globs::Many(globs) => globs,
    })
}

/// A configuration file.
#[derive(Debug)]
pub(super) struct Config {
    /// The canonical directory to which the globs are relative.
    root: PathBuf,
    /// The files that are not read.
    exclude: Exclude,
    options: Options,
    /// The globs of each section, and the options for files that match them. The sections are in file order.
    sections: Vec<(Gitignore, Options)>,
}

impl Config {
    /// Reads the configuration file `path`. Its globs are relative to `root`.
    pub(super) fn read(path: &Path, file: io::Result<File>, root: &Path) -> Result<Self, String> {
        let content = file.and_then(read_config).map_err(|error| cannot_read(path, &error))?;
        let text = str::from_utf8(&content).map_err(|error| cannot_read(path, &error))?;
        Self::parse(text, root).map_err(|error| cannot_read(path, &error))
    }

    /// Parses the content of a configuration file. An error contains the line, if it is not about a glob.
    pub(super) fn parse(text: &str, root: &Path) -> Result<Self, String> {
        let Content { exclude, rules, encoding, bom, files } = toml::from_str(text).map_err(|error| {
            let at = error.span().map_or(0, |span| span.start);
            let line = text.bytes().take(at).filter(|&byte| byte == b'\n').count() + 1;
            format!("line {line}: {}", error.message())
        })?;
        let mut sections = Vec::new();
        for Section { glob, rules, encoding, bom } in files {
            let mut globs = GitignoreBuilder::new("");
            for glob in &glob {
                globs.add_line(None, glob).map_err(|error| error.to_string())?;
            }
            let globs = globs.build().map_err(|error| error.to_string())?;
            sections.push((globs, Options { rules, encoding, bom }));
        }
        let exclude = Exclude::new(root, &exclude)?;
        Ok(Self { root: root.to_owned(), exclude, options: Options { rules, encoding, bom }, sections })
    }

    /// Returns the options for a file in the canonical directory `directory`. A key of a later section overrides that
    /// of an earlier one.
    pub(super) fn options_for(&self, directory: &Path, path: &Path) -> Options {
        let Options { mut rules, mut encoding, mut bom } = self.options.clone();
        let below = directory.strip_prefix(&self.root).unwrap_or(Path::new(""));
        let path = path.file_name().map_or_else(PathBuf::new, |name| below.join(name));
        for (globs, options) in &self.sections {
            if globs.matched_path_or_any_parents(&path, false).is_ignore() {
                rules = options.rules.clone().or(rules);
                encoding = options.encoding.or(encoding);
                bom = options.bom.or(bom);
            }
        }
        Options { rules, encoding, bom }
    }
}

fn cannot_read(path: &Path, error: &dyn Display) -> String {
    format!("cannot read {}: {error}", path.display())
}

/// Finds the configuration file of each directory: the nearest one in it or in a parent directory. What is in a directory
/// that another one excludes is not read.
#[derive(Debug, Default)]
pub(super) struct Configs {
    /// The only configuration file, if it was given on the command line.
    only: Option<Arc<Config>>,
    /// The canonical path of each directory of an input, and its configuration.
    directories: HashMap<PathBuf, (PathBuf, Option<Arc<Config>>)>,
    /// The nearest configuration for each canonical directory: in it or in a parent directory.
    found: HashMap<PathBuf, Option<Arc<Config>>>,
}

impl Configs {
    /// Creates a value that uses this configuration for every file.
    pub(super) fn only(config: Config) -> Self {
        Self { only: Some(Arc::new(config)), ..Self::default() }
    }

    /// Reads the configuration of a directory, unless it has been read before.
    pub(super) fn load(&mut self, directory: &Path) -> Result<(), String> {
        if self.directories.contains_key(directory) {
            return Ok(());
        }
        let Ok(canonical) = resolved(directory) else { return Ok(()) };
        let config = match &self.only {
            Some(only) => Some(Arc::clone(only)),
            None => self.find(&canonical)?,
        };
        self.directories.insert(directory.to_owned(), (canonical, config));
        Ok(())
    }

    fn find(&mut self, directory: &Path) -> Result<Option<Arc<Config>>, String> {
        if let Some(known) = self.found.get(directory) {
            return Ok(known.clone());
        }
        let above = directory.parent().map_or(Ok(None), |parent| self.find(parent));
        let own = match &above {
            Ok(Some(config)) if config.exclude.matches_resolved(directory, true) => None,
            _ => read_own(directory)?,
        };
        let config = if own.is_some() { own } else { above? };
        self.found.insert(directory.to_owned(), config.clone());
        Ok(config)
    }

    /// Whether a file or a directory, whose own directory was loaded, is not read.
    pub(super) fn exclude(&self, path: &Path, is_directory: bool) -> bool {
        match (self.directories.get(directory_of(path)), path.file_name()) {
            (Some((directory, Some(config))), Some(name)) => {
                config.exclude.matches_resolved(&directory.join(name), is_directory)
            }
            _ => false,
        }
    }

    /// Returns the options for a file whose directory was loaded.
    pub(super) fn options_for(&self, path: &Path) -> Options {
        match self.directories.get(directory_of(path)) {
            Some((directory, Some(config))) => config.options_for(directory, path),
            _ => Options::default(),
        }
    }
}

/// Reads the configuration file in a directory, if it has one.
fn read_own(directory: &Path) -> Result<Option<Arc<Config>>, String> {
    let file = directory.join(NAME);
    if fs::symlink_metadata(&file).is_err_and(|error| is_without_files(&error)) {
        return Ok(None);
    }
    match fs::metadata(&file) {
        Ok(metadata) if metadata.is_file() => {
            let opened = open_regular(&file).map(|opened| opened.file);
            Ok(Some(Arc::new(Config::read(&file, opened, directory)?)))
        }
        Err(error) if error.kind() != io::ErrorKind::NotFound => {
            Err(format!("cannot read {}: {error}", file.display()))
        }
        _ => Ok(None),
    }
}

/// Whether an error for a name in a directory means that none of its files can be read: it is not a directory, or it may
/// not be searched. Such files are reported when they are opened.
fn is_without_files(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::NotADirectory | io::ErrorKind::PermissionDenied)
}

#[cfg(test)]
mod schema;

#[cfg(test)]
mod tests {
    use super::*;

    const VALID: &str = r#"# All keys.
exclude = ["/vendor/", "*.min.js"]
rules = ["control", "bom"]
encoding = "utf-8"
bom = "reject"

[[files]]
glob = "legacy/**/*.txt"
encoding = "windows-1252"
rules = []

[[files]]
glob = ["*.ps1", "!keep.ps1", "a[0-9]?\\*"]
bom = "require"
"#;

    /// Whatever is in the file, `parse` and `options_for` return, and an error names a line of the file.
    #[test]
    fn any_change_of_a_file_is_parsed_or_has_an_error_with_its_line() {
        const PARTS: [&str; 16] = [
            "",
            "\n",
            "\"",
            "'",
            "\"\"\"",
            "[[files]]\n",
            "[",
            "]",
            "{",
            "}",
            "=",
            "**",
            "\\",
            "\u{E9}",
            "\0",
            "9e9",
        ];
        let root = Path::new("/root");
        let mut state = 1_u64;
        let mut below = |end: usize| {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
            (state >> 33) as usize % end
        };
        let mut parsed = 0;
        for _ in 0..5_000 {
            let mut text = VALID.to_owned();
            for _ in 0..=below(3) {
                let mut at = below(text.len() + 1);
                let mut end = (at + below(6)).min(text.len());
                while !text.is_char_boundary(at) {
                    at -= 1;
                }
                while !text.is_char_boundary(end) {
                    end += 1;
                }
                text.replace_range(at..end, PARTS[below(PARTS.len())]);
            }
            match Config::parse(&text, root) {
                Ok(config) => {
                    parsed += 1;
                    config.options_for(Path::new("/root/legacy/deep"), Path::new("deep/a.txt"));
                    config.options_for(Path::new("/elsewhere"), Path::new(".."));
                }
                Err(error) => {
                    let line = error.strip_prefix("line ").and_then(|rest| rest.split_once(": "));
                    let line = line.map(|(line, why)| (line.parse::<usize>(), why));
                    assert!(
                        matches!(line, Some((Ok(1..), why)) if !why.is_empty()) || error.contains("glob"),
                        "{error}\n{text}"
                    );
                    let lines = text.bytes().filter(|&byte| byte == b'\n').count() + 1;
                    assert!(
                        line.is_none_or(|(line, _)| line.is_ok_and(|line| line <= lines)),
                        "{error}\n{text}"
                    );
                }
            }
        }
        // Both happen often.
        assert!((250..4_750).contains(&parsed), "{parsed}");
    }
}
