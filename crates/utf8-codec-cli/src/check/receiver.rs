//! The report of a check while it runs.

use std::io::{self, Write};

use super::diagnostic::{Event, FileStatus, Fixed};
use super::fix::FixArgs;
use super::order::Receive;
use super::report::Reporter;
use crate::outcome::print_error;
use crate::progress::{Progress, Stdout};
use crate::walk::Input;

/// Passes the events of each file to the reporter, in the order of the files.
pub(super) struct Receiver<'i> {
    inputs: &'i [Input],
    reporter: Reporter<Stdout>,
    progress: &'i Progress,
    fix: &'i FixArgs,
    /// Whether there is no diff either.
    is_quiet: bool,
}

impl<'i> Receiver<'i> {
    pub(super) fn new(
        inputs: &'i [Input],
        reporter: Reporter<Stdout>,
        progress: &'i Progress,
        fix: &'i FixArgs,
        is_quiet: bool,
    ) -> Self {
        Self { inputs, reporter, progress, fix, is_quiet }
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
            Event::Diagnostic(diagnostic) => self.reporter.diagnostic(path, &diagnostic),
            Event::Diff(_) if self.is_quiet => Ok(()),
            Event::Diff(diff) => {
                let is_escaped = self.fix.is_diff() || self.reporter.out.is_terminal();
                self.reporter.diff(&diff, is_escaped)
            }
            Event::End(summary) => {
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
