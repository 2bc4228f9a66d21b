//! The totals over all files.

use crate::check::diagnostic::{FileStatus, Fixed, Summary};

/// The totals over all files.
#[derive(Clone, Copy, Debug, Default)]
pub(in crate::check) struct Totals {
    pub(in crate::check) files: u64,
    pub(in crate::check) bad_files: u64,
    pub(in crate::check) binary: u64,
    pub(in crate::check) unreadable: u64,
    pub(in crate::check) errors: u64,
    pub(in crate::check) fixable: u64,
    pub(in crate::check) fixed: u64,
    pub(in crate::check) fixed_files: u64,
    pub(in crate::check) not_fixed: u64,
    /// Files that could not be rewritten.
    pub(in crate::check) not_written: u64,
    pub(in crate::check) bytes: u64,
    pub(in crate::check) lines: u64,
    pub(in crate::check) characters: u64,
    pub(in crate::check) longest_line: u64,
    /// The length of stdin, if it was checked.
    pub(super) stdin: Option<u64>,
}

impl Totals {
    pub(super) fn add(&mut self, is_stdin: bool, summary: &Summary) {
        match summary.end {
            FileStatus::Checked => {
                if is_stdin {
                    self.stdin = Some(summary.bytes);
                }
                self.files += 1;
                self.bad_files += u64::from(summary.errors > 0);
                self.errors += summary.errors;
                self.fixable += summary.fixable;
                match summary.fixed {
                    Fixed::Nothing => {}
                    Fixed::Rewritten(errors, _) => {
                        self.fixed += errors;
                        self.fixed_files += 1;
                    }
                    Fixed::Not(_) => self.not_fixed += 1,
                    Fixed::Failed(_) => {
                        self.not_fixed += 1;
                        self.not_written += 1;
                    }
                }
                self.bytes += summary.bytes;
                self.lines += summary.lines;
                self.characters += summary.characters;
                self.longest_line = self.longest_line.max(summary.longest_line);
            }
            FileStatus::Binary => self.binary += 1,
            FileStatus::Unreadable(_) => self.unreadable += 1,
        }
    }

    /// Whether no file was checked or failed.
    pub(in crate::check) fn is_empty(&self) -> bool {
        self.files + self.unreadable == 0
    }

    /// Returns what was checked. An empty stdin is named, because a caller that forgets the path, or a pipe whose first
    /// command fails, also has no errors.
    pub(super) fn checked(&self) -> String {
        let stdin = match self.stdin {
            None => return counted(self.files, "file"),
            Some(0) => "empty standard input",
            Some(_) => "standard input",
        };
        match self.files - 1 {
            0 => stdin.to_owned(),
            files => format!("{} and {stdin}", counted(files, "file")),
        }
    }
}

pub(in crate::check) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
