//! `--explain`: what a rule is about, why it matters, and what to do about an error. SARIF has the same text as the help of
//! a rule.

use clap::ValueEnum;
use clap::builder::{PossibleValue, PossibleValuesParser, TypedValueParser};

use super::diagnostic::ILL_FORMED;
use super::rules::Rule;

/// The page that explains the rules.
pub(super) const PAGE: &str = concat!(env!("CARGO_PKG_REPOSITORY"), "/blob/main/docs/checking.md");

/// What is explained: a rule, or `None` for ill-formed sequences.
#[derive(Clone, Copy, Debug)]
pub(super) struct Topic(Option<Rule>);

impl Topic {
    pub(super) const ILL_FORMED: Self = Self(None);

    /// Returns all topics.
    pub(super) fn all() -> impl Iterator<Item = Self> {
        [Self::ILL_FORMED].into_iter().chain(Rule::value_variants().iter().map(|&rule| Self(Some(rule))))
    }

    /// Parses the name of a topic.
    pub(super) fn parser() -> impl TypedValueParser<Value = Self> {
        let names = Self::all().map(|topic| PossibleValue::new(topic.name()));
        PossibleValuesParser::new(names)
            .try_map(|name| Self::all().find(|topic| topic.name() == name).ok_or("there is no such rule"))
    }

    pub(super) fn name(self) -> &'static str {
        self.0.map_or(ILL_FORMED, Rule::name)
    }

    /// Returns the summary in one line.
    pub(super) fn summary(self) -> String {
        let Some(rule) = self.0 else {
            return "Bytes that are not UTF-8, or not the encoding that the file should have".to_owned();
        };
        let help = rule.to_possible_value().and_then(|value| value.get_help().map(ToString::to_string));
        help.unwrap_or_default()
    }

    /// Returns the reason for the rule, and what to do about an error.
    pub(super) fn help(self) -> String {
        let name = self.name();
        let allow = format!("The comment `utf8-codec: allow {name}` on a line allows it there.");
        let fix = match self.0 {
            None => {
                "Convert the file: `utf8-codec check FILE` names the probable encoding and the command. `utf8-codec check \
                 --fix` converts files whose encoding is certain, and `--from ENCODING` names it for the others."
                    .to_owned()
            }
            Some(Rule::Bom | Rule::Editorconfig) => format!("`utf8-codec check --fix --rule {name}` fixes it."),
            Some(Rule::JsonEscapes) => {
                format!("`utf8-codec check --fix --rule {name}` replaces halves of pairs by `\\uFFFD`.")
            }
            Some(rule) if rule.has_fix() => {
                format!("`utf8-codec check --fix --rule {name}` fixes what is certain. {allow}")
            }
            Some(_) => format!("Remove it, or write it as an escape of the language. {allow}"),
        };
        format!("{} {fix}", self.reason())
    }

    fn reason(self) -> &'static str {
        match self.0 {
            None => {
                "Programs that read UTF-8 reject such bytes, replace them, or show other characters. Mostly the file is in an \
                 older encoding, such as windows-1252, or in UTF-16, or was cut in the middle of a character."
            }
            Some(Rule::Mojibake) => {
                "A program decoded UTF-8 as another encoding and encoded the result again, so that every reader sees `\u{C3}\u{A9}` \
                 instead of `\u{E9}`. The text is well-formed, so nothing else reports it."
            }
            Some(Rule::ReplacementCharacter) => {
                "A decoder wrote U+FFFD in the place of bytes that it could not decode. They are lost: only the original has \
                 them."
            }
            Some(Rule::Control) => {
                "Control characters are not text. Terminals execute some of them, and many formats forbid them."
            }
            Some(Rule::Bidi) => {
                "These characters change the order in which text is shown, so that a reviewer reads other code than the compiler \
                 (Trojan Source, CVE-2021-42574)."
            }
            Some(Rule::Invisible) => {
                "Nobody sees these characters, but they make two equal names or strings different, and can hide text from \
                 readers. Where a script needs them, they are allowed."
            }
            Some(Rule::Noncharacter) => {
                "Noncharacters are for the internal use of programs. Other programs may reject or remove them."
            }
            Some(Rule::Nul) => "Programs in C end a string at NUL, and PostgreSQL does not store it.",
            Some(Rule::Xml) => {
                "An XML parser rejects a document that contains these characters, also as references."
            }
            Some(Rule::Assignable) => {
                "RFC 9839 recommends this set for protocols and formats: all characters without controls that have no use in \
                 text, and without noncharacters."
            }
            Some(Rule::Bom) => {
                "A BOM before `#!` hides it from the kernel, JSON forbids it (RFC 8259), cmd.exe takes it for a part of the first \
                 command, and PHP sends it before the headers. Windows PowerShell needs one to read a script as UTF-8."
            }
            Some(Rule::JsonEscapes) => {
                "Parsers reject or replace an escape that does not encode a character, each in its own way, so that the same document is \
                 different text for different readers. JSON has no comments that allow it."
            }
            Some(Rule::Editorconfig) => {
                "Editors that read .editorconfig decode and save the file in this encoding."
            }
        }
    }

    /// Returns the text of `--explain`.
    pub(super) fn text(self) -> String {
        let summary = format!("{}: {}", self.name(), self.summary());
        format!("{}\n\n{}\n\n{PAGE}#rules\n", wrapped(&summary), wrapped(&self.help()))
    }
}

/// The width of the text of `--explain`.
const COLUMNS: usize = 80;

/// Returns a text in lines of at most [`COLUMNS`] characters.
fn wrapped(text: &str) -> String {
    let mut out = String::new();
    let mut column = 0;
    for word in text.split(' ') {
        let len = word.chars().count();
        if column > 0 {
            let fits = column + 1 + len <= COLUMNS;
            out.push(if fits { ' ' } else { '\n' });
            column = if fits { column + 1 } else { 0 };
        }
        out.push_str(word);
        column += len;
    }
    out
}
