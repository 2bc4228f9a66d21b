//! What a check finds.

use core::num::NonZeroUsize;

use utf8_codec::ErrorKind;
use utf8_codec::locate::{Columns, Location};

use super::rules::Rule;

/// A place in a file that is not as it should be.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    pub(super) problem: Problem,
    pub(super) location: Location,
    /// Bytes that it covers.
    pub(super) len: u64,
    /// What it covers, as columns.
    pub(super) width: Columns,
    pub(super) message: String,
    pub(super) context: Option<Context>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Problem {
    /// The input is not in its encoding.
    IllFormed(ErrorKind),
    /// The input breaks a rule.
    Rule(Rule),
}

impl Problem {
    /// The name in reports.
    pub(super) fn name(self) -> &'static str {
        match self {
            Self::IllFormed(_) => "ill-formed",
            Self::Rule(rule) => rule.name(),
        }
    }
}

/// The bytes around a finding.
#[derive(Clone, Debug)]
pub(super) struct Context {
    /// Of the line, as many as fit on a screen.
    pub(super) line: Vec<u8>,
    /// Where the finding is in them.
    pub(super) at: usize,
    /// Whether the line has more before and after them.
    pub(super) is_cut: (bool, bool),
    /// 16 bytes in which the finding is, and the offset of the first one.
    pub(super) row: Vec<u8>,
    pub(super) row_offset: u64,
    /// Whether `line` is text in the encoding that is checked, and can be shown.
    pub(super) is_text: bool,
}

/// What was found out about a file.
#[derive(Clone, Debug, Default)]
pub(super) struct Summary {
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) characters: u64,
    pub(super) longest_line: u64,
    /// Ill-formed sequences, and places that break a rule.
    pub(super) errors: u64,
    pub(super) kinds: Vec<(&'static str, u64)>,
    pub(super) end: End,
    pub(super) guess: Option<super::words::Guess>,
}

#[derive(Clone, Debug, Default)]
pub(super) enum End {
    #[default]
    Checked,
    Binary,
    Unreadable(String),
}

impl Summary {
    pub(super) fn count(&mut self, name: &'static str) {
        self.errors += 1;
        match self.kinds.iter_mut().find(|(known, _)| *known == name) {
            Some((_, count)) => *count += 1,
            None => self.kinds.push((name, 1)),
        }
    }

    /// Errors that are not reported one by one.
    pub(super) fn unreported(&self, max_errors: Option<NonZeroUsize>) -> u64 {
        max_errors.map_or(0, |max| self.errors.saturating_sub(max.get() as u64))
    }
}
