//! `utf8-codec check`: reports where and why files are ill-formed.

mod characters;
mod checks;
mod config;
mod describe;
mod detect;
mod diagnostic;
mod diff;
mod escapes;
mod explain;
mod fix;
mod invisible;
mod kept;
mod order;
mod receiver;
mod report;
mod repository;
mod rules;
mod sarif;
mod scan;
mod settings;
mod times;

use core::num::NonZeroUsize;
use std::collections::HashSet;
use std::fs;
use std::io::{self, IsTerminal, Read, Write};
use std::path::{Path, PathBuf};

use anstream::AutoStream;
use clap::ValueEnum;
use terminal_size::terminal_size_of;
use utf8_codec_encodings::Encoding;

use crate::args::whole_number;
use crate::files::Opened;
use crate::log::Verbosity;
use crate::outcome::{CommandResult, CommandStatus, cannot_write, print_error};
use crate::progress::{Counted, Progress, Stdout};
use crate::temporary::Scratch;
use crate::walk::{Input, WalkArgs};
use checks::Checks;
pub(super) use detect::DetectArgs;
use diagnostic::{Event, Explained, Summary};
use explain::Topic;
use fix::FixArgs;
use order::{Lane, Turn};
use receiver::Receiver;
use report::{Format, MAX_SHOWN, Reporter, Totals};
use scan::scan;
use settings::{Settings, SettingsArgs, Warning};
use times::Times;

/// Report where files are not UTF-8, and why
///
/// Lines and columns count from 1. A column is a character or an ill-formed sequence. The comment `utf8-codec: allow
/// RULE` switches a rule off for its line.
///
/// With --fix, these files are rewritten: UTF-16 or UTF-32 with a BOM, CESU-8 or Java's UTF-8; files that declare their
/// encoding, with the declaration; files with a BOM that is not allowed, or without a BOM that is required; and text that
/// was encoded twice (--rule mojibake). The report contains the remaining errors. Other text is rewritten only with
/// --from, and binary files never.
///
/// Exit status 0: no errors, or all were fixed. 1: errors. 2: some files could not be read or written.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    walk: WalkArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Report at most N errors of each rule per file, and count the others; 0 is all. Without it N is 3, and short, github,
    /// gitlab and sarif have one result for a file whose encoding explains its errors
    #[arg(long, value_name = "N", value_parser = whole_number::<usize>)]
    max_errors: Option<usize>,
    #[command(flatten)]
    fix: FixArgs,
    #[arg(long, value_name = "FORMAT", default_value = "human", conflicts_with_all = ["diff", "dry_run"])]
    format: Format,
    /// Print what a rule is about, why, and what to do about its errors; `ill-formed` is for bytes that are not UTF-8
    #[arg(long, value_name = "RULE", hide_possible_values = true, value_parser = Topic::parser())]
    explain: Option<Topic>,
    /// Count bytes, lines and characters, and measure the longest line, in the formats human, short and json
    #[arg(long, conflicts_with_all = ["diff", "dry_run"])]
    stats: bool,
    /// When to use colors; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: When,
    /// When to draw a progress bar on stderr: auto is after a second, if stderr is a terminal
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: ProgressWhen,
    /// Print no report; only the exit status. A file is read to its first error
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// The width of a report that is not for a terminal, as in rustc.
const COLUMNS: usize = 140;

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum ProgressWhen {
    Auto,
    Never,
}

impl Args {
    pub(super) fn run(self) -> CommandResult {
        self.verbosity.start()?;
        if let Some(topic) = self.explain {
            let written = write!(io::stdout(), "{}", topic.text());
            return written.map(|()| CommandStatus::Success).map_err(cannot_write);
        }
        if self.stats && !self.format.has_stats() {
            return Err("--stats has the formats human, short and json".into());
        }
        let inputs = self.walk.collect()?;
        let inputs = if self.fix.is_on() { self.fixable(inputs)? } else { inputs };
        let settings = self.settings.clone().load(&inputs, self.checks())?;
        let inputs: Vec<Input> = inputs.into_iter().filter(|input| self.is_read(input, &settings)).collect();
        let progress = self.progress(&inputs);
        let mut reporter = self.reporter(&progress);
        reporter.begin().map_err(cannot_write)?;
        let turn = Turn::new(Receiver::new(&inputs, reporter, &progress, &self.fix, self.quiet));
        let run = Run { args: &self, settings: &settings, progress: &progress, times: Times::default() };
        progress.during(
            || total_len(&inputs),
            || turn.run(self.walk.jobs().get(), &inputs, |input, lane| run.input(input, lane)),
        );
        run.times.keep_order();
        let mut reporter = turn.into_receiver().map_err(cannot_write)?.into_reporter();
        for warning in self.warnings(&reporter.totals, settings) {
            print_error(&format!("warning: {}", warning.in_words()));
            reporter.warning(&warning).map_err(cannot_write)?;
        }
        reporter.finish().map_err(cannot_write)?;
        Ok(match reporter.totals {
            Totals { unreadable: 1.., .. } | Totals { not_written: 1.., .. } => CommandStatus::Trouble,
            Totals { errors: 1.., .. } => CommandStatus::IllFormed,
            _ => CommandStatus::Success,
        })
    }

    /// Returns the settings that do not depend on a file.
    fn checks(&self) -> Checks {
        Checks {
            max_errors: self.max_errors(),
            is_verdict: self.is_verdict(),
            wants_context: self.format.has_context() && !self.quiet,
            wants_counts: self.stats,
            ..Checks::new(self.settings.encoding())
        }
    }

    fn reporter(&self, progress: &Progress) -> Reporter<Stdout> {
        let mut reporter = Reporter::new(Stdout::new(progress.clone()), self.format);
        reporter.is_quiet = self.quiet || self.fix.is_dry_run();
        reporter.has_stats = self.stats;
        reporter.has_color = self.has_color();
        reporter.columns = terminal_size_of(io::stdout()).map_or(COLUMNS, |(width, _)| width.0.into());
        reporter.max_errors = self.max_errors();
        reporter.joins_errors = self.joins_errors();
        reporter
    }

    /// Whether errors with one cause are one result.
    fn joins_errors(&self) -> bool {
        self.max_errors.is_none() && !matches!(self.format, Format::Human | Format::Json)
    }

    /// Whether the report of a file depends on what `--fix` would do: it has the number of errors, or a command for the file.
    fn reports_fixes_of(&self, summary: &Summary) -> bool {
        let is_joined = self.joins_errors() && summary.explained() != Explained::Nothing;
        let has_command = is_joined && summary.command(Some("")).is_some();
        !self.quiet && (self.format.has_fixable() || has_command)
    }

    /// Returns the warnings after all files were checked.
    fn warnings(&self, totals: &Totals, settings: Settings) -> Vec<Warning> {
        let mut warnings = settings.into_warnings();
        // A hook may name only files that are excluded.
        if totals.is_empty() && !self.walk.force_exclude() {
            warnings.insert(0, Warning { file: None, message: "no file was checked".to_owned() });
        }
        warnings
    }

    /// Whether an input is read. Warns of rules that its name switches off, if it is named.
    fn is_read(&self, input: &Input, settings: &Settings) -> bool {
        let path = &input.path;
        if input.is_named && !self.walk.force_exclude() {
            settings.warn_of_name(path);
            return true;
        }
        // A named file that is not text would be checked.
        let is_excluded = settings.exclude(input) || input.is_named && settings.is_binary(path);
        !is_excluded
    }

    fn max_errors(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.max_errors.unwrap_or(MAX_SHOWN))
    }

    /// Whether only the exit status is wanted. A fix needs all errors.
    fn is_verdict(&self) -> bool {
        self.quiet && !self.fix.is_on()
    }

    /// Returns the inputs of `--fix`: each file once, without stdin.
    fn fixable(&self, inputs: Vec<Input>) -> Result<Vec<Input>, &'static str> {
        if self.settings.encoding() != Encoding::Utf8.into() {
            return Err("--fix writes UTF-8, and --encoding is another encoding");
        }
        if inputs.iter().any(|input| input.is_stdin) {
            return Err("--fix cannot rewrite stdin; `utf8-codec convert` writes its result to stdout");
        }
        // An earlier fix kept them.
        let backups: HashSet<_> = inputs.iter().filter_map(|input| self.fix.backup_of(&input.path)).collect();
        let inputs = inputs.into_iter().filter(|input| input.is_named || !backups.contains(&input.path));
        // Two threads must not rewrite the same file.
        let mut seen = HashSet::new();
        Ok(inputs.filter(|input| seen.insert(canonical(&input.path))).collect())
    }

    fn has_color(&self) -> bool {
        match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto => AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
        }
    }

    fn progress(&self, inputs: &[Input]) -> Progress {
        // What is typed into a terminal would be in the line of the bar.
        let is_typed = inputs.iter().any(|input| input.is_stdin) && io::stdin().is_terminal();
        Progress::new(self.progress == ProgressWhen::Auto && !is_typed)
    }
}

/// Returns the length of a file, or `None` if it is not known.
fn len_of(input: &Input) -> Option<u64> {
    let file = if input.is_stdin { None } else { fs::metadata(&input.path).ok() };
    file.filter(fs::Metadata::is_file).map(|file| file.len())
}

/// Returns the length of all files, or `None` if it is not known.
fn total_len(inputs: &[Input]) -> Option<u64> {
    inputs.iter().map(len_of).sum()
}

fn canonical(path: &Path) -> PathBuf {
    fs::canonicalize(path).unwrap_or_else(|_| path.to_owned())
}

/// What the threads share. Each file is read by one of them.
struct Run<'r> {
    args: &'r Args,
    settings: &'r Settings,
    progress: &'r Progress,
    times: Times,
}

impl Run<'_> {
    /// Checks or fixes a file and reports it.
    fn input(&self, input: &Input, lane: &mut Lane<'_, Event, Receiver<'_>>) {
        let report = &mut |event| lane.push(event);
        let summary = match self.args.fix.is_on() {
            true => self.fix(input, report),
            false => self.check(input, report),
        };
        let summary = summary.unwrap_or_else(|error| Summary::unreadable(&error));
        lane.push(Event::End(Box::new(summary)));
    }

    fn check(&self, input: &Input, report: &mut dyn FnMut(Event)) -> io::Result<Summary> {
        let checks = self.settings.of(&input.path).map_err(io::Error::other)?;
        let (checks, content) = content_of(input, checks)?;
        let mut content = Counted::new(content, self.progress);
        let found = &mut |diagnostic| report(Event::Diagnostic(diagnostic));
        let mut summary = scan(&mut content, &checks, !input.is_named, found)?;
        self.settings.withhold_command(&input.path, &mut summary);
        if self.args.reports_fixes_of(&summary) {
            self.args.fix.count_fixable(input, checks, self.settings, &mut summary);
        }
        if self.progress.is_on() {
            // The rest of a binary file is not read.
            content.skip_to(len_of(input).unwrap_or(0));
        }
        Ok(summary)
    }

    fn fix(&self, input: &Input, report: &mut dyn FnMut(Event)) -> io::Result<Summary> {
        let checks = self.settings.of(&input.path).map_err(io::Error::other)?;
        let summary = self.args.fix.run(input, checks, self.settings, &self.times, report);
        // A fix reads the file several times.
        self.progress.advance(if self.progress.is_on() { len_of(input).unwrap_or(0) } else { 0 });
        summary
    }
}

/// Returns the content of a file, and the checks with its survey. What can be read only once is copied if there is a survey.
fn content_of(input: &Input, checks: Checks) -> io::Result<(Checks, Box<dyn Read>)> {
    if !checks.needs_survey() {
        return Ok((checks, input.read()?));
    }
    let mut copy = match input.is_stdin {
        true => Scratch::of(&mut input.read()?)?,
        false => {
            let Opened { mut file, metadata } = input.open()?;
            if metadata.is_file() {
                return Ok((checks.surveyed(&mut file)?, Box::new(file)));
            }
            Scratch::of(&mut file)?
        }
    };
    Ok((checks.surveyed(&mut copy)?, Box::new(copy)))
}
