//! The errors and the summary of a check.

use core::fmt::{self, Display, Formatter};
use core::num::NonZeroUsize;

use utf8_codec::ErrorKind;
use utf8_codec::locate::{Columns, Location};
use utf8_codec_encodings::Encoding;

use super::describe::Reason;
use super::rules::Rule;
use crate::charset::NamedEncoding;
use crate::guess::Guess;
use crate::guess::declaration::Declared;
use crate::guess::iso2022::Iso2022Counter;
use crate::guess::languages::Doubt;
use crate::guess::mojibake::Found;

/// An ill-formed sequence, or text that violates a rule.
#[derive(Clone, Debug)]
pub(super) struct Diagnostic {
    pub(super) problem: Problem,
    pub(super) location: Location,
    /// The length in bytes.
    pub(super) len: u64,
    /// The length in columns.
    pub(super) width: Columns,
    pub(super) message: Message,
    pub(super) context: Option<Context>,
}

/// The reason for an error. Its text is made when it is written, because most errors of a file that is not text are only
/// counted.
#[derive(Clone, Debug)]
pub(super) enum Message {
    /// The ill-formed sequence at the start of some bytes.
    IllFormed(Reason),
    /// A character that a rule forbids.
    Character(Rule, char),
    /// Text that was encoded twice.
    EncodedTwice(Found),
    Text(String),
}

impl Display for Message {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        match self {
            Self::IllFormed(reason) => reason.fmt(f),
            Self::Character(rule, character) => f.write_str(&rule.message(*character)),
            Self::EncodedTwice(found) => f.write_str(&found.message()),
            Self::Text(text) => f.write_str(text),
        }
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The input is ill-formed.
    IllFormed(ErrorKind),
    /// A BOM is missing or not expected, in violation of this rule.
    Bom(ErrorKind, Rule),
    /// The input violates a rule.
    Rule(Rule),
}

/// The name of an error that does not come from a rule.
pub(super) const ILL_FORMED: &str = "ill-formed";

impl Problem {
    /// Returns the name for reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::IllFormed(_) => ILL_FORMED,
            Self::Bom(_, rule) | Self::Rule(rule) => rule.name(),
        }
    }
}

/// The bytes around an error.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// The line, or the part of it that fits on a screen. If the input is not UTF-8: the part of the line before the
    /// error, converted to UTF-8, and U+FFFD for the error.
    pub(super) line: Vec<u8>,
    /// The position of the error in `line`.
    pub(super) at: usize,
    /// The length of the error in `line`.
    pub(super) covered: usize,
    /// Whether `line` is truncated at its start and at its end.
    pub(super) is_cut: (bool, bool),
    pub(super) row: Row,
}

/// The row of a hex dump that contains the start of an error. It allocates nothing, because each error has one.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Row {
    /// A multiple of [`Row::MAX`].
    pub(super) offset: u64,
    bytes: [u8; Self::MAX],
    len: u8,
}

impl Row {
    const MAX: usize = 16;

    /// The row at a position of some bytes, which has this offset in the input.
    pub(super) fn of(bytes: &[u8], at: usize, offset: u64) -> Self {
        let before = (offset % Self::MAX as u64).min(at as u64) as usize;
        let own = &bytes[at - before..bytes.len().min(at - before + Self::MAX)];
        let mut row =
            Self { offset: offset - offset % Self::MAX as u64, len: own.len() as u8, ..Self::default() };
        row.bytes[..own.len()].copy_from_slice(own);
        row
    }

    pub(super) fn bytes(&self) -> &[u8] {
        &self.bytes[..self.len.into()]
    }
}

/// An event of the check of one file, in this order.
pub(super) enum Event {
    Diagnostic(Diagnostic),
    /// The changes that a fix would make.
    Diff(Vec<u8>),
    /// Boxed, because most events are errors, which are smaller.
    End(Box<Summary>),
}

/// The summary of a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) characters: u64,
    pub(super) longest_line: u64,
    /// The same in the family of ISO/IEC 2022, if they are counted and there is an escape sequence. Meaningless if not all of
    /// the file is ASCII.
    pub(super) iso_2022: Option<Iso2022Counter>,
    /// Ill-formed sequences and violations of rules.
    pub(super) errors: u64,
    pub(super) kinds: Vec<(&'static str, u64)>,
    pub(super) end: FileStatus,
    pub(super) guess: Option<Guess>,
    /// The encoding that the file declares, if it is not UTF-8.
    pub(super) declared: Option<Declared>,
    /// The encoding of its text if it has a declaration, or why the declaration does not decide.
    pub(super) reading: Option<Result<NamedEncoding, Doubt>>,
    /// The encodings that it may have if it is ill-formed and none is probable, with a line of its text in each.
    pub(super) candidates: Vec<(Encoding, String)>,
    /// Whether the file has characters of UTF-8 beyond ASCII.
    pub(super) has_utf_8: bool,
    /// Whether much of the file is UTF-8, although it declares another encoding.
    pub(super) is_mixed: bool,
    /// Whether the file should be UTF-8.
    pub(super) is_utf_8: bool,
    /// Whether the file as a whole is not UTF-8: little of it beyond ASCII is.
    pub(super) is_foreign: bool,
    /// The number of errors that `--fix` would remove, if it is counted.
    pub(super) fixable: u64,
    pub(super) fixed: Fixed,
    /// Whether its start is that of a patch.
    pub(super) is_patch: bool,
    /// Whether the command that converts the file would damage it.
    pub(super) has_no_command: bool,
}

/// The result of `--fix`.
#[derive(Clone, Debug, Default)]
pub(super) enum Fixed {
    /// No fix was necessary or requested, or the run was a dry run.
    #[default]
    Nothing,
    /// The file was rewritten, which removed this number of errors. What was changed in it.
    Rewritten(u64, Vec<String>),
    /// The file was not fixed, for this reason: there is no fix, or it would be a guess.
    Not(String),
    /// The file could not be rewritten, for this reason.
    Failed(String),
}

#[derive(Clone, Debug, Default)]
pub(super) enum FileStatus {
    #[default]
    Checked,
    Binary,
    Unreadable(String),
}

impl Summary {
    /// Returns the summary of a file that could not be read.
    pub(super) fn unreadable(error: &dyn Display) -> Self {
        Self { end: FileStatus::Unreadable(error.to_string()), ..Self::default() }
    }

    /// Counts errors with a name.
    pub(super) fn count(&mut self, name: &'static str, number: u64) {
        self.errors += number;
        match self.kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += number,
            None => self.kinds.push((name, number)),
        }
    }

    /// Whether there is an error with this name.
    pub(super) fn has(&self, name: &str) -> bool {
        self.number(name) > 0
    }

    /// Returns the number of errors with this name.
    pub(super) fn number(&self, name: &str) -> u64 {
        self.kinds.iter().find(|(known, _)| *known == name).map_or(0, |&(_, count)| count)
    }

    /// Returns the message if the file could not be read or rewritten.
    pub(super) fn failed(&self) -> Option<String> {
        match (&self.end, &self.fixed) {
            (FileStatus::Unreadable(error), _) => Some(format!("cannot be read: {error}")),
            (_, Fixed::Failed(reason)) => Some(format!("cannot be fixed: {reason}")),
            _ => None,
        }
    }

    /// Whether this number of errors with a name is above the limit.
    pub(super) fn is_above(&self, name: &str, max_errors: Option<NonZeroUsize>) -> bool {
        max_errors.is_some_and(|max| self.number(name) > max.get() as u64)
    }

    /// Returns the number of errors that are not reported because of `max_errors`, without those that are explained.
    pub(super) fn unreported(&self, max_errors: Option<NonZeroUsize>, explained: Explained) -> u64 {
        let max = max_errors.map_or(u64::MAX, |max| max.get() as u64);
        let left = self.kinds.iter().filter(|(name, _)| !explained.has(name));
        left.map(|(_, count)| count.saturating_sub(max)).sum()
    }

    /// Returns the errors that have one cause: the encoding of the file.
    pub(super) fn explained(&self) -> Explained {
        match &self.guess {
            Some(Guess::Wide { .. } | Guess::Binary) if self.has(ILL_FORMED) && self.errors > 1 => {
                Explained::All
            }
            Some(Guess::Declared(..) | Guess::Cesu8 | Guess::Java) if self.number(ILL_FORMED) > 1 => {
                Explained::IllFormed
            }
            _ if self.is_foreign && self.number(ILL_FORMED) > 1 => Explained::IllFormed,
            _ => Explained::Nothing,
        }
    }

    /// Returns what is known about the encoding of a file that should be UTF-8 and is not, or is binary.
    pub(super) fn diagnosis(&self) -> Option<String> {
        match &self.guess {
            Some(Guess::Binary) => Some("binary".to_owned()),
            Some(guess) => Some(format!("probably {}", guess.in_words())),
            None if !self.is_utf_8 || !self.has(ILL_FORMED) => None,
            None if self.is_foreign => Some("in an unknown encoding".to_owned()),
            None => Some("UTF-8, except for some sequences".to_owned()),
        }
    }

    /// Returns the arguments of the command that converts the file, if there is one. `file` is its name, quoted for a shell,
    /// or `None` for stdin.
    pub(super) fn command(&self, file: Option<&str>) -> Option<String> {
        // What prevents `--fix` from replacing the file, such as a hard link, is also a reason against `-o`.
        let has_command = !self.has_no_command && !matches!(self.fixed, Fixed::Failed(_));
        self.guess.as_ref().filter(|_| has_command)?.command(file)
    }
}

/// Which errors of a file have one cause.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Explained {
    Nothing,
    /// The ill-formed sequences.
    IllFormed,
    /// Also violations of rules: what they are about is not the text.
    All,
}

impl Explained {
    /// Whether errors with this name are explained.
    pub(super) fn has(self, name: &str) -> bool {
        match self {
            Self::Nothing => false,
            Self::IllFormed => name == ILL_FORMED,
            Self::All => true,
        }
    }
}
