//! The settings of each file: from the command line, from `utf8-codec.toml`, from `.gitattributes`, from `.editorconfig`
//! and from the type of the file, in this order of precedence.

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, File};
use std::path::{Path, PathBuf};
use std::sync::{Mutex, PoisonError};

use ec4rs::property::Charset as EditorConfigCharset;
use utf8_codec::BomPolicy;
use utf8_codec_encodings::Encoding;

use super::checks::Checks;
use super::config::{Config, Configs, Options};
use super::diagnostic::{ILL_FORMED, Summary};
use super::escapes::{has_comments, is_json};
use super::kept::{PATCH, is_patch};
use super::rules::Rule;
use crate::args::bom_policy;
use crate::charset::NamedEncoding;
use crate::files::directory_of;
use crate::guess::declaration::kind_of;
use crate::guess::editorconfig::{charset_of, other_encoding};
use crate::guess::gitattributes::{GitAttributes, GitText};
use crate::walk::Input;

/// Extensions of files that need a BOM if they contain characters beyond ASCII: Windows PowerShell decodes scripts without
/// a BOM with the ANSI code page of the machine. A script with `#!` is for PowerShell 7, and the kernel does not find `#!`
/// after a BOM.
const BOM_REQUIRED: [&str; 3] = ["ps1", "psd1", "psm1"];

/// Extensions of files that must not start with a BOM, beside those in JSON (RFC 8259 §8.1). In scripts the kernel does not
/// find `#!` after a BOM, `cmd.exe` takes it for a part of the first command, and PHP sends it before the headers.
const BOM_FORBIDDEN: [&str; 8] = ["bash", "bat", "cmd", "fish", "ksh", "php", "sh", "zsh"];

/// The options that determine what is an error.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct SettingsArgs {
    /// The encoding that the files should have [default: utf-8]
    #[arg(long, value_name = "ENCODING")]
    encoding: Option<NamedEncoding>,
    /// Whether files must start with a BOM (require), must not (reject), or may (keep, strip) [default: keep]
    #[arg(long, value_name = "POLICY", hide_possible_values = true, value_parser = bom_policy())]
    bom: Option<BomPolicy>,
    /// Check an additional rule; can be repeated. Replaces the rules of utf8-codec.toml
    #[arg(long = "rule", value_name = "RULE")]
    rules: Vec<Rule>,
    /// Read this file instead of the nearest utf8-codec.toml in the directory of each file or a parent directory
    #[arg(long, value_name = "FILE")]
    config: Option<PathBuf>,
    /// Read no utf8-codec.toml
    #[arg(long, conflicts_with = "config")]
    no_config: bool,
}

/// The settings of all files.
#[derive(Debug)]
pub(super) struct Settings {
    args: SettingsArgs,
    configs: Configs,
    git: GitAttributes,
    /// The settings that are the same for all files, and defaults for the others.
    common: Checks,
    /// The files of each warning.
    warnings: Mutex<BTreeMap<String, BTreeSet<PathBuf>>>,
}

/// A setting that has no effect, and its file.
#[derive(Clone, Debug)]
pub(super) struct Warning {
    pub(super) file: Option<PathBuf>,
    pub(super) message: String,
}

impl Warning {
    pub(super) fn in_words(&self) -> String {
        match &self.file {
            Some(file) => format!("{}: {}", file.display(), self.message),
            None => self.message.clone(),
        }
    }
}

impl SettingsArgs {
    pub(super) fn encoding(&self) -> NamedEncoding {
        self.encoding.unwrap_or(Encoding::Utf8.into())
    }

    /// Reads the configuration files for all inputs.
    pub(super) fn load(self, inputs: &[Input], common: Checks) -> Result<Settings, String> {
        if self.encoding() != Encoding::Utf8.into()
            && let Some(rule) = self.rules.iter().find(|rule| rule.needs_utf_8())
        {
            return Err(format!(
                "--rule {} only supports UTF-8, and --encoding is another encoding",
                rule.name()
            ));
        }
        let mut configs = match &self.config {
            Some(file) => {
                let here = fs::canonicalize(".").map_err(|error| format!("cannot read .: {error}"))?;
                Configs::only(Config::read(file, File::open(file), &here)?)
            }
            None => Configs::default(),
        };
        let mut git = GitAttributes::default();
        let mut last = None;
        for input in inputs {
            let directory = directory_of(&input.path);
            // The files of a directory are listed one after the other.
            if last.replace(directory.as_os_str()) == Some(directory.as_os_str()) {
                continue;
            }
            if !self.no_config {
                configs.load(directory)?;
            }
            git.load(directory);
        }
        Ok(Settings { args: self, configs, git, common, warnings: Mutex::default() })
    }
}

impl Settings {
    /// Returns the warnings about the files whose settings were used, in a fixed order.
    pub(super) fn into_warnings(self) -> Vec<Warning> {
        let warnings = self.warnings.into_inner().unwrap_or_else(PoisonError::into_inner);
        warnings
            .into_iter()
            .filter_map(|(mut message, mut files)| {
                let file = files.pop_first()?;
                match files.len() {
                    0 => {}
                    1 => message.push_str(" (and 1 other file)"),
                    more => message.push_str(&format!(" (and {more} other files)")),
                }
                Some(Warning { file: Some(file), message })
            })
            .collect()
    }

    fn warn(&self, file: &Path, message: String) {
        let mut warnings = self.warnings.lock().unwrap_or_else(PoisonError::into_inner);
        warnings.entry(message).or_default().insert(file.to_owned());
    }

    /// Whether the configuration excludes an input.
    pub(super) fn exclude(&self, input: &Input) -> bool {
        self.configs.exclude(&input.path, input.is_unread())
    }

    /// Whether `.gitattributes` says that a file is not text.
    pub(super) fn is_binary(&self, path: &Path) -> bool {
        matches!(self.git.of(path), Ok(Some(GitText::Binary)))
    }

    /// Warns if the name of a file switches off a rule of the command line.
    pub(super) fn warn_of_name(&self, path: &Path) {
        if self.args.rules.contains(&Rule::JsonEscapes) && !is_json(path) {
            let message = "--rule json-escapes is not checked, because its name is not that of JSON";
            self.warn(path, message.to_owned());
        }
    }

    /// Withholds the command that converts an ill-formed file, if it must not be converted.
    pub(super) fn withhold_command(&self, path: &Path, summary: &mut Summary) {
        summary.has_no_command |= summary.has(ILL_FORMED) && self.other_charset(path).is_some();
    }

    /// Returns why a file must not be converted, if its `.editorconfig` names another encoding, in which editors would read
    /// the new content.
    pub(super) fn other_charset(&self, path: &Path) -> Option<String> {
        match charset_of(path, &mut |_, _| {}) {
            Ok(charset) => charset.and_then(other_encoding).map(|encoding| {
                format!("its charset in .editorconfig is {encoding}, which --fix does not change")
            }),
            Err(error) => Some(error),
        }
    }

    /// Returns the settings of a file, or why its `.gitattributes` or its `.editorconfig` could not be read.
    pub(super) fn of(&self, path: &Path) -> Result<Checks, String> {
        let Options { rules, encoding, bom } = self.configs.options_for(path);
        let mut checks = self.common.clone();
        checks.rules = match (self.args.rules.is_empty(), rules) {
            (true, Some(rules)) => rules,
            _ => self.args.rules.clone(),
        };
        if !is_json(path) {
            checks.rules.retain(|rule| *rule != Rule::JsonEscapes);
        }
        let mut expected = Encoding::Utf8.into();
        let mut policy = BomPolicy::Keep;
        if checks.rules.contains(&Rule::Bom) {
            policy = by_type(path);
            checks.bom_by_content = true;
        }
        if checks.rules.contains(&Rule::Editorconfig)
            && let Some(charset) = charset_of(path, &mut |file, message| self.warn(file, message))?
        {
            checks.bom_rule = Rule::Editorconfig;
            checks.bom_by_content = false;
            expected = other_encoding(charset).unwrap_or(expected);
            policy = match charset {
                EditorConfigCharset::Utf8 => BomPolicy::Reject,
                EditorConfigCharset::Utf8Bom => BomPolicy::Require,
                _ => BomPolicy::Keep,
            };
        }
        if let Some(bom) = self.args.bom.or(bom) {
            (checks.bom_rule, policy) = (Rule::Bom, bom);
            checks.bom_by_content = false;
        }
        if is_patch(path) {
            checks.kept = Some(PATCH.to_owned());
        }
        let explicit = self.args.encoding.or(encoding);
        match self.git.of(path)? {
            None => {}
            Some(GitText::Binary) => {
                checks.is_text = Some(false);
                checks.kept = Some("it is not text, as .gitattributes says".to_owned());
            }
            Some(GitText::Encoded { label, encoding, bom }) => {
                checks.is_text = Some(true);
                checks.kept = Some(format!("git converts it to {label} itself, as .gitattributes says"));
                if explicit.is_none() {
                    checks.bom_rule = Rule::Bom;
                    checks.bom_by_content = false;
                    (expected, policy) = (encoding, bom);
                }
            }
            Some(GitText::Unknown(label)) => {
                checks.kept = Some(format!("its working-tree-encoding {label} is not known"));
                if explicit.is_none() {
                    checks.is_text = Some(false);
                    self.warn(path, format!("the working-tree-encoding {label} is not known"));
                }
            }
        }
        checks.kind = kind_of(path);
        checks.has_comments = checks.rules.contains(&Rule::JsonEscapes) && has_comments(path);
        // What a reader strips is allowed, and a fix of something else keeps it.
        checks.bom = if policy == BomPolicy::Strip { BomPolicy::Keep } else { policy };
        checks.encoding = explicit.unwrap_or(expected);
        if checks.encoding.encoding() != Encoding::Utf8 {
            let switched_off =
                checks.rules.iter().find(|rule| rule.needs_utf_8() && self.args.rules.contains(rule));
            if let Some(rule) = switched_off {
                let message = format!(
                    "--rule {} is not checked, because it only supports UTF-8, and the encoding is {}",
                    rule.name(),
                    checks.encoding
                );
                self.warn(path, message);
            }
            checks.rules.clear();
        }
        Ok(checks)
    }
}

/// Returns the BOM policy that the rule `bom` requires for a file of this type.
fn by_type(path: &Path) -> BomPolicy {
    let extension = path.extension().unwrap_or_default().to_ascii_lowercase();
    if BOM_REQUIRED.iter().any(|known| extension == *known) {
        BomPolicy::Require
    } else if BOM_FORBIDDEN.iter().any(|known| extension == *known) || is_json(path) {
        BomPolicy::Reject
    } else {
        BomPolicy::Keep
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_bom_policy_depends_on_the_type_of_a_file() {
        for (path, policy) in [
            ("a/x.PS1", BomPolicy::Require),
            ("x.json", BomPolicy::Reject),
            ("x.sarif", BomPolicy::Reject),
            ("x.jsonc", BomPolicy::Reject),
            ("x.sh", BomPolicy::Reject),
            ("X.CMD", BomPolicy::Reject),
            ("x.rs", BomPolicy::Keep),
            ("json", BomPolicy::Keep),
        ] {
            assert_eq!(by_type(Path::new(path)), policy, "{path}");
        }
    }
}
