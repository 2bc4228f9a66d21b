//! The report of a check while it runs.

use core::fmt::Display;
use std::io::{self, Write};

use super::diagnostic::{Diagnostic, FileStatus, Fixed, Summary};
use super::fix::FixArgs;
use super::order::Receive;
use super::report::Reporter;
use super::scanned::Scanned;
use super::settings::Settings;
use crate::outcome::print_error;
use crate::progress::{Progress, Stdout};
use crate::walk::Input;

/// An event of the check of one file.
pub(super) enum Event {
    Diagnostic(Diagnostic),
    /// The changes that a fix would make.
    Diff(Vec<u8>),
    End(Summary),
    /// The result of a part of a split file, and whether it is the last part.
    Part(io::Result<Scanned>, bool),
}

/// Returns the summary of a file that could not be read.
pub(super) fn unreadable(error: &dyn Display) -> Summary {
    Summary { end: FileStatus::Unreadable(error.to_string()), ..Summary::default() }
}

/// Passes the events of each file to the reporter, in the order of the files.
pub(super) struct Receiver<'i> {
    inputs: &'i [Input],
    reporter: Reporter<Stdout>,
    progress: &'i Progress,
    /// The result of the parts of the current file so far.
    split: Option<io::Result<Scanned>>,
    /// The errors of the current file so far, including those above the limit.
    reported: Summary,
    settings: &'i Settings,
    fix: &'i FixArgs,
    /// Whether there is no diff either.
    is_quiet: bool,
}

impl<'i> Receiver<'i> {
    pub(super) fn new(
        inputs: &'i [Input],
        reporter: Reporter<Stdout>,
        progress: &'i Progress,
        settings: &'i Settings,
        fix: &'i FixArgs,
        is_quiet: bool,
    ) -> Self {
        Self {
            inputs,
            reporter,
            progress,
            split: None,
            reported: Summary::default(),
            settings,
            fix,
            is_quiet,
        }
    }

    pub(super) fn into_reporter(self) -> Reporter<Stdout> {
        self.reporter
    }

    /// Prints an error. The report is flushed first, so that on a terminal both are in the order of the files.
    fn print_error(&mut self, message: &str) -> io::Result<()> {
        self.reporter.out.flush()?;
        self.progress.suspend(|| print_error(message));
        Ok(())
    }
}

impl Receive<Event> for Receiver<'_> {
    fn size(event: &Event) -> usize {
        match event {
            Event::Diff(diff) => 1 + diff.len() / 512,
            _ => 1,
        }
    }

    fn receive(&mut self, file: usize, event: Event) -> io::Result<()> {
        let Some(input) = self.inputs.get(file) else { return Ok(()) };
        let path = &input.path;
        match event {
            Event::Diagnostic(mut diagnostic) => {
                if let Some(Ok(before)) = &self.split {
                    before.locate(&mut diagnostic);
                }
                let name = diagnostic.problem.name();
                self.reported.count(name);
                // Each part limits only its own errors, so the limit of the file is applied here.
                if self.reported.is_above(name, self.reporter.max_errors) {
                    return Ok(());
                }
                self.reporter.diagnostic(path, &diagnostic)
            }
            Event::Part(part, is_last) => {
                let joined = match (self.split.take(), part) {
                    (Some(Ok(mut before)), Ok(part)) => {
                        before.join(&part);
                        Ok(before)
                    }
                    (Some(Err(error)), _) | (_, Err(error)) => Err(error),
                    (None, Ok(part)) => Ok(part),
                };
                if !is_last {
                    self.split = Some(joined);
                    return Ok(());
                }
                let mut summary = joined.map(Scanned::finish).unwrap_or_else(|error| unreadable(&error));
                if !self.reporter.is_quiet && self.reporter.format.has_fixable() {
                    self.fix.count_fixable(input, self.settings, &mut summary);
                }
                self.receive(file, Event::End(summary))
            }
            Event::Diff(_) if self.is_quiet => Ok(()),
            Event::Diff(diff) => {
                let is_escaped = self.fix.is_diff() || self.reporter.out.is_terminal();
                self.reporter.diff(&diff, is_escaped)
            }
            Event::End(summary) => {
                self.reported = Summary::default();
                if let FileStatus::Unreadable(error) = &summary.end {
                    self.print_error(&format!("cannot read {}: {error}", path.display()))?;
                }
                match &summary.fixed {
                    Fixed::Failed(reason) => {
                        self.print_error(&format!("cannot fix {}: {reason}", path.display()))?;
                    }
                    // A dry run writes no report, so the reason is printed on stderr.
                    Fixed::Not(reason) if self.fix.is_dry_run() && !self.is_quiet => {
                        self.print_error(&format!("{} is not fixed: {reason}", path.display()))?;
                    }
                    _ => {}
                }
                self.reporter.end_of_file(input, &summary)
            }
        }
    }
}
