//! Writes reports to stdout, in all formats.

mod human;
mod json;
mod services;

use core::num::NonZeroUsize;
use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use serde_json::Value;
use utf8_codec::locate::Columns;

use super::diagnostic::{Diagnostic, FileStatus, Fixed, Summary};
use super::repository::Repository;
use super::sarif::{MAX_RESULTS, Notifications, rules, sarif_end, sarif_result, sarif_start};
use super::settings::Warning;
use crate::escape::{self, github_value};
use crate::files::{name_of, write_object};
use crate::walk::Input;
use services::Identities;
pub(super) use services::github_path;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub(super) enum Format {
    /// For people: the line, the bytes, and the probable encoding of the file
    Human,
    /// `FILE:LINE:COLUMN: MESSAGE`, the column in characters
    Short,
    /// One JSON object per line: one for each error and one for each file
    Json,
    /// SARIF 2.1.0, for code scanning
    Sarif,
    /// Annotations of GitHub Actions
    Github,
    /// Code Quality of GitLab
    Gitlab,
}

impl Format {
    /// Whether a report needs the text around each error.
    pub(super) fn has_context(self) -> bool {
        matches!(self, Self::Human | Self::Sarif | Self::Gitlab)
    }
}

/// The totals over all files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) files: u64,
    pub(super) bad_files: u64,
    pub(super) binary: u64,
    pub(super) unreadable: u64,
    pub(super) errors: u64,
    pub(super) fixed: u64,
    pub(super) fixed_files: u64,
    pub(super) not_fixed: u64,
    /// Files that could not be rewritten.
    pub(super) not_written: u64,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) characters: u64,
    pub(super) longest_line: u64,
    /// The length of stdin, if it was checked.
    stdin: Option<u64>,
}

impl Totals {
    fn add(&mut self, is_stdin: bool, summary: &Summary) {
        match summary.end {
            FileStatus::Checked => {
                if is_stdin {
                    self.stdin = Some(summary.bytes);
                }
                self.files += 1;
                self.bad_files += u64::from(summary.errors > 0);
                self.errors += summary.errors;
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

    /// Returns what was checked. An empty stdin is named, because a caller that forgets the path, or a pipe whose first
    /// command fails, also has no errors.
    fn checked(&self) -> String {
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

/// Writes the reports of all files.
pub(super) struct Reporter<W> {
    pub(super) out: W,
    pub(super) format: Format,
    pub(super) is_quiet: bool,
    pub(super) has_stats: bool,
    pub(super) has_color: bool,
    pub(super) max_errors: Option<NonZeroUsize>,
    pub(super) totals: Totals,
    /// The number of objects in a SARIF log or an array. The first one is written without a comma.
    results: u64,
    identities: Identities,
    repository: Repository,
    notifications: Notifications,
}

impl<W: Write> Reporter<W> {
    /// Creates a report that prints everything.
    pub(super) fn new(out: W, format: Format) -> Self {
        Self {
            out,
            format,
            is_quiet: false,
            has_stats: false,
            has_color: false,
            max_errors: None,
            totals: Totals::default(),
            results: 0,
            identities: Identities::default(),
            repository: Repository::default(),
            notifications: Notifications::default(),
        }
    }

    pub(super) fn begin(&mut self) -> io::Result<()> {
        match self.format {
            _ if self.is_quiet => Ok(()),
            Format::Sarif => sarif_start(&mut self.out, &rules()),
            Format::Gitlab => write!(self.out, "["),
            _ => Ok(()),
        }
    }

    /// Writes an element of an array.
    fn element(&mut self, value: &Value) -> io::Result<()> {
        let comma = if self.results > 0 { "," } else { "" };
        self.results += 1;
        write!(self.out, "{comma}\n{}", escape::json(value))
    }

    pub(super) fn diagnostic(&mut self, path: &Path, diagnostic: &Diagnostic) -> io::Result<()> {
        match self.format {
            _ if self.is_quiet => Ok(()),
            Format::Human => self.human(path, diagnostic),
            Format::Short => {
                let Columns { characters, .. } = diagnostic.location.columns;
                let (line, column) = (diagnostic.location.line + 1, characters + 1);
                writeln!(self.out, "{}:{line}:{column}: {}", name_of(path), escape::text(&diagnostic.message))
            }
            Format::Json => write_object(&mut self.out, &json::object(path, diagnostic)),
            Format::Sarif if self.results >= MAX_RESULTS => Ok(()),
            Format::Sarif | Format::Gitlab => {
                let path = self.repository.relative(path);
                let identity = self.identities.of(path, diagnostic);
                let value = match self.format {
                    Format::Sarif => sarif_result(path, diagnostic, &identity),
                    _ => services::issue(path, diagnostic, &identity),
                };
                self.element(&value)
            }
            Format::Github => {
                let path = self.repository.relative(path);
                writeln!(self.out, "{}", services::annotation(path, diagnostic))
            }
        }
    }

    /// Writes a warning. It is also printed on stderr.
    pub(super) fn warning(&mut self, warning: &Warning) -> io::Result<()> {
        let (path, message) = (self.repository.relative(&warning.file), &warning.message);
        match self.format {
            Format::Github if !self.is_quiet => {
                let (file, message) = (github_path(path), github_value(message, false));
                writeln!(self.out, "::warning file={file}::{message}")
            }
            Format::Sarif => {
                self.notifications.warn(path, message);
                Ok(())
            }
            _ => Ok(()),
        }
    }

    pub(super) fn end_of_file(&mut self, input: &Input, summary: &Summary) -> io::Result<()> {
        let path = &*input.path;
        self.totals.add(input.is_stdin, summary);
        let unreported = summary.unreported(self.max_errors);
        let failed = summary.failed();
        match self.format {
            _ if self.is_quiet => Ok(()),
            Format::Human if summary.errors > 0 || !matches!(summary.fixed, Fixed::Nothing) => {
                self.human_end_of_file(input, summary, unreported)
            }
            Format::Short if unreported > 0 => {
                writeln!(self.out, "{}: and {unreported} more errors", name_of(path))
            }
            Format::Github => {
                let file = github_path(self.repository.relative(path));
                if let Some(failed) = failed {
                    writeln!(self.out, "::error file={file}::{}", github_value(&failed, false))?;
                }
                if unreported > 0 {
                    writeln!(self.out, "::notice file={file}::and {unreported} more errors")?;
                }
                Ok(())
            }
            Format::Sarif => {
                if let Some(failed) = failed {
                    self.notifications.push(self.repository.relative(path), &failed);
                }
                Ok(())
            }
            Format::Gitlab => match failed {
                Some(failed) => {
                    let value = services::failure(self.repository.relative(path), &failed);
                    self.element(&value)
                }
                None => Ok(()),
            },
            Format::Json => write_object(&mut self.out, &json::summary_object(path, summary, unreported)),
            _ => Ok(()),
        }
    }

    /// Writes a diff unchanged, or escaped for people.
    pub(super) fn diff(&mut self, diff: &[u8], is_escaped: bool) -> io::Result<()> {
        if !is_escaped {
            return self.out.write_all(diff);
        }
        for line in diff.split_inclusive(|&byte| byte == b'\n') {
            writeln!(self.out, "{}", escape::line(line.strip_suffix(b"\n").unwrap_or(line)))?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        if self.is_quiet {
            return self.out.flush();
        }
        match self.format {
            Format::Human => self.human_totals()?,
            Format::Sarif => {
                let left_out = self.totals.errors.saturating_sub(self.results);
                sarif_end(&mut self.out, &self.notifications, left_out)?;
            }
            Format::Gitlab => writeln!(self.out, "\n]")?,
            Format::Json if self.has_stats => {
                write_object(&mut self.out, &json::stats_object(&self.totals))?;
            }
            Format::Json | Format::Short | Format::Github => {}
        }
        self.out.flush()
    }
}

pub(super) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}
