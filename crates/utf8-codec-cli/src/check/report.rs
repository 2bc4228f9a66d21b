//! Writes reports to stdout, in all formats.

mod command;
mod digits;
mod excerpt;
mod human;
mod json;
mod records;
mod services;
mod totals;

use core::num::NonZeroUsize;
use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;

use super::diagnostic::{Diagnostic, Explained, Fixed, ILL_FORMED, Message, Summary};
use super::repository::Repository;
use super::sarif::{MAX_RESULTS, Notifications, rules, sarif_end, sarif_start, uri};
use super::settings::Warning;
use crate::escape::{self, github_value};
use crate::files::{file_members, name_of, write_object};
use crate::walk::Input;
use command::command_for;
use services::Identities;
pub(super) use services::github_path;
pub(super) use totals::{Totals, counted};

/// The default number of errors of each rule that a report has for a file.
pub(super) const MAX_SHOWN: usize = 3;

/// The size of the report of a file that waits for its end, where the probable encoding is known.
const MAX_HELD: usize = 16 << 20;

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
    /// Whether a report has the number of errors that can be fixed.
    pub(super) fn has_fixable(self) -> bool {
        matches!(self, Self::Human | Self::Json)
    }

    /// Whether a report needs the text around each error.
    pub(super) fn has_context(self) -> bool {
        matches!(self, Self::Human | Self::Sarif | Self::Gitlab)
    }

    /// Whether a report may have statistics.
    pub(super) fn has_stats(self) -> bool {
        matches!(self, Self::Human | Self::Short | Self::Json)
    }
}

/// The report of a file until its end.
#[derive(Debug, Default)]
struct Held {
    /// The name of the file as it is in the text of each error.
    file: Option<String>,
    /// The texts of the errors.
    text: Vec<u8>,
    /// The name of each error, and where its text ends.
    entries: Vec<(&'static str, usize)>,
    /// The first ill-formed sequence.
    first: Option<Diagnostic>,
    /// The number of errors that were written.
    written: u64,
    /// Whether the report became too large, and nothing waits.
    is_over: bool,
}

/// Writes the reports of all files.
pub(super) struct Reporter<W> {
    pub(super) out: W,
    pub(super) format: Format,
    pub(super) is_quiet: bool,
    pub(super) has_stats: bool,
    pub(super) has_color: bool,
    /// The width of the screen.
    pub(super) columns: usize,
    pub(super) max_errors: Option<NonZeroUsize>,
    /// Whether errors with one cause are one result.
    pub(super) joins_errors: bool,
    pub(super) totals: Totals,
    /// The number of objects in a SARIF log or an array. The first one is written without a comma.
    results: u64,
    /// The number of errors that are not in the SARIF log because it has as many results as possible, and because of
    /// `max_errors`.
    left_out: u64,
    unreported: u64,
    held: Held,
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
            columns: usize::MAX,
            max_errors: None,
            joins_errors: false,
            totals: Totals::default(),
            results: 0,
            left_out: 0,
            unreported: 0,
            held: Held::default(),
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

    /// Writes the text of an error, in SARIF and for GitLab as an element of an array.
    fn put(&mut self, text: &[u8]) -> io::Result<()> {
        match self.format {
            Format::Sarif if self.results >= MAX_RESULTS => {
                self.left_out += 1;
                Ok(())
            }
            Format::Sarif | Format::Gitlab => {
                self.out.write_all(if self.results > 0 { b",\n" } else { b"\n" })?;
                self.results += 1;
                self.out.write_all(text)
            }
            _ => self.out.write_all(text),
        }
    }

    /// Appends the text of an error.
    fn push_entry(&mut self, out: &mut Vec<u8>, path: &Path, diagnostic: &Diagnostic) {
        let file = self.held.file.take().unwrap_or_else(|| self.file_of(path));
        match self.format {
            Format::Human => self.human(out, &file, diagnostic),
            Format::Short => records::short(out, &file, diagnostic),
            Format::Json => records::json(out, &file, diagnostic),
            Format::Github => records::annotation(out, &file, diagnostic),
            Format::Sarif | Format::Gitlab => {
                let identity = self.identities.of(self.repository.relative(path), diagnostic);
                let record = if self.format == Format::Sarif { records::sarif } else { records::issue };
                record(out, &file, diagnostic, &identity);
            }
        }
        self.held.file = Some(file);
    }

    /// Returns the name of a file as it is in the text of an error: escaped once for all of them.
    fn file_of(&mut self, path: &Path) -> String {
        match self.format {
            Format::Human | Format::Short => name_of(path),
            Format::Json => records::members(&file_members(path)),
            Format::Github => github_path(self.repository.relative(path)),
            Format::Sarif => escape::json(&uri(self.repository.relative(path)).into()),
            Format::Gitlab => escape::json(&services::path_of(self.repository.relative(path)).into()),
        }
    }

    /// Adds an error to the report of the current file.
    pub(super) fn diagnostic(&mut self, path: &Path, diagnostic: &Diagnostic) -> io::Result<()> {
        if self.is_quiet {
            return Ok(());
        }
        let name = diagnostic.problem.name();
        if name == ILL_FORMED && self.joins_errors && self.held.first.is_none() {
            self.held.first = Some(diagnostic.clone());
        }
        let mut text = core::mem::take(&mut self.held.text);
        self.push_entry(&mut text, path, diagnostic);
        if self.held.is_over || self.format == Format::Json {
            self.held.written += 1;
            self.put(&text)?;
            text.clear();
            self.held.text = text;
            return Ok(());
        }
        self.held.entries.push((name, text.len()));
        self.held.text = text;
        if self.held.text.len() > MAX_HELD {
            self.held.is_over = true;
            self.put_held(|_| true)?;
        }
        Ok(())
    }

    /// Writes the errors that waited and have such names.
    fn put_held(&mut self, is_written: impl Fn(&str) -> bool) -> io::Result<()> {
        let text = core::mem::take(&mut self.held.text);
        let entries = core::mem::take(&mut self.held.entries);
        let mut start = 0;
        for (name, end) in entries {
            if is_written(name) {
                self.held.written += 1;
                self.put(&text[start..end])?;
            }
            start = end;
        }
        Ok(())
    }

    /// Writes the errors of a file that waited. Those with one cause become one result, at the first ill-formed sequence.
    /// Returns the number of errors that are not in the report.
    fn put_file(&mut self, input: &Input, summary: &Summary) -> io::Result<u64> {
        if self.format == Format::Human {
            // What other rules find in bytes that are not text means nothing.
            let is_all = summary.explained() == Explained::All;
            self.put_held(|name| !is_all || name == ILL_FORMED)?;
            return Ok(summary.errors.saturating_sub(self.held.written));
        }
        let first = self.held.first.take().filter(|_| !self.held.is_over);
        let explained = if first.is_some() { summary.explained() } else { Explained::Nothing };
        if let Some(mut first) = first.filter(|_| explained != Explained::Nothing) {
            let diagnosis = summary.diagnosis().unwrap_or_default();
            let sequences = counted(summary.number(ILL_FORMED), "ill-formed sequence");
            let mut message = format!("not UTF-8: {diagnosis}; {sequences}, the first one is here");
            if let Some(command) = command_for(input, summary) {
                message.push_str(&format!("; to fix it: utf8-codec {command}"));
            }
            first.message = Message::Text(message);
            // Its identity does not depend on the number of the errors that it stands for.
            self.identities = Identities::default();
            let mut text = Vec::new();
            self.push_entry(&mut text, &input.path, &first);
            self.put(&text)?;
        }
        self.put_held(|name| !explained.has(name))?;
        Ok(summary.unreported(self.max_errors, explained))
    }

    /// Writes a warning. It is also printed on stderr.
    pub(super) fn warning(&mut self, warning: &Warning) -> io::Result<()> {
        let file = warning.file.as_deref().unwrap_or(Path::new("."));
        let (path, message) = (self.repository.relative(file), &warning.message);
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
        if self.is_quiet {
            return Ok(());
        }
        if self.format == Format::Human && (summary.errors > 0 || !matches!(summary.fixed, Fixed::Nothing)) {
            self.human_diagnosis(input, summary)?;
        }
        let unreported = self.put_file(input, summary)?;
        self.held = Held::default();
        let more = format!("and {}: --max-errors 0 shows all", counted(unreported, "more error"));
        let failed = summary.failed();
        match self.format {
            Format::Human if unreported > 0 => {
                writeln!(self.out, "{}: {more}\n", name_of(path))
            }
            Format::Short if unreported > 0 => {
                writeln!(self.out, "{}: {more}", name_of(path))
            }
            Format::Github => {
                let file = github_path(self.repository.relative(path));
                if let Some(failed) = failed {
                    writeln!(self.out, "::error file={file}::{}", github_value(&failed, false))?;
                }
                if unreported > 0 {
                    writeln!(self.out, "::notice file={file}::{more}")?;
                }
                Ok(())
            }
            Format::Sarif => {
                self.unreported += unreported;
                if let Some(failed) = failed {
                    self.notifications.push(self.repository.relative(path), &failed);
                }
                Ok(())
            }
            Format::Gitlab => {
                let path = self.repository.relative(path);
                let failed = failed.map(|failed| services::about_file(path, "failed", &failed));
                let more = (unreported > 0).then(|| services::about_file(path, "unreported", &more));
                let texts: Vec<String> = failed.iter().chain(&more).map(escape::json).collect();
                texts.iter().try_for_each(|text| self.put(text.as_bytes()))
            }
            Format::Json => {
                write_object(&mut self.out, &json::summary_object(path, summary, unreported, self.max_errors))
            }
            Format::Human | Format::Short => Ok(()),
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
                if self.unreported > 0 && self.left_out == 0 {
                    let more = counted(self.unreported, "more error");
                    let is = if self.unreported == 1 { "is" } else { "are" };
                    self.notifications
                        .note(&format!("{more} {is} not in this log: --max-errors 0 shows all"));
                }
                let left_out = if self.left_out == 0 { 0 } else { self.left_out + self.unreported };
                sarif_end(&mut self.out, &self.notifications, left_out)?;
            }
            Format::Gitlab => writeln!(self.out, "\n]")?,
            Format::Json if self.has_stats => {
                write_object(&mut self.out, &json::stats_object(&self.totals))?;
            }
            Format::Short if self.has_stats => self.stats()?,
            Format::Json | Format::Short | Format::Github => {}
        }
        self.out.flush()
    }
}
