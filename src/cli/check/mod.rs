//! `utf8-codec check`: reports where and why files are ill-formed.

mod config;
mod detect;
mod diagnostic;
mod diff;
mod fix;
mod mojibake;
mod order;
mod report;
mod rules;
mod scan;
mod scanned;
mod settings;
mod split;
mod words;

use core::cell::RefCell;
use core::fmt::Display;
use core::num::NonZeroUsize;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, BufWriter, IsTerminal, Seek, Write};
use std::path::Path;
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::thread;

use anstream::AutoStream;
use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use utf8_codec::BomPolicy;
use utf8_codec::transcode::Encoding;

use super::args::at_least_one;
use super::files::{is_standard, open};
use super::log::Verbosity;
use super::outcome::{CommandResult, CommandStatus, cannot_write, print_error};
use super::walk::{Input, WalkArgs, spawn};
pub(super) use detect::DetectArgs;
use diagnostic::{Diagnostic, FileStatus, Fixed, Summary};
use fix::FixArgs;
use mojibake::{Survey, spool};
use order::{Receive, Turn};
use report::{Format, Reporter, Totals};
use rules::Rule;
use scan::{Checks, HISTORY, scan, scan_part, starts_binary};
use scanned::Scanned;
use settings::{Settings, SettingsArgs};
use split::{FilePart, PART, Queue, Work, open_part};

/// Report where files are not UTF-8, and why
///
/// Lines and columns count from 1. A column is a character or an ill-formed sequence. The comment `utf8-codec: allow
/// RULE` switches a rule off for its line.
///
/// With --fix, these files are rewritten: UTF-16 or UTF-32 with a BOM, CESU-8 or Java's UTF-8; files with a BOM that is
/// not allowed, or without a BOM that is required; and text that was encoded twice (--rule mojibake). The report
/// contains the remaining errors. Other files are rewritten only with --from.
///
/// Exit status 0: no errors, or all were fixed. 1: errors. 2: some files could not be read or written.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    #[command(flatten)]
    walk: WalkArgs,
    #[command(flatten)]
    settings: SettingsArgs,
    /// Report at most N errors per file, and count the others [default: all]
    #[arg(long, value_name = "N", value_parser = at_least_one)]
    max_errors: Option<NonZeroUsize>,
    #[command(flatten)]
    fix: FixArgs,
    #[arg(long, value_name = "FORMAT", default_value = "human")]
    format: Format,
    /// Count bytes, lines and characters, and measure the longest line
    #[arg(long)]
    stats: bool,
    /// When to use colors; NO_COLOR and CLICOLOR_FORCE are respected
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    color: When,
    /// When to draw a progress bar; never if stderr is not a terminal
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: Progress,
    /// The length of the parts into which large files are split, for tests
    #[arg(long, value_name = "BYTES", value_parser = at_least_one, hide = true)]
    part: Option<NonZeroUsize>,
    /// Print no report; only the exit status
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    verbosity: Verbosity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum When {
    Auto,
    Always,
    Never,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Progress {
    Auto,
    Never,
}

/// An event of the check of one file.
enum Event {
    Diagnostic(Diagnostic),
    /// The changes that a fix would make.
    Diff(Vec<u8>),
    End(Summary),
    /// The result of a part of a split file, and whether it is the last part.
    Part(io::Result<Scanned>, bool),
}

impl Args {
    pub(super) fn run(self) -> CommandResult {
        self.verbosity.start()?;
        let mut is_complete = true;
        let inputs = self.walk.collect(|error| {
            is_complete = false;
            print_error(&error);
        })?;
        let inputs = if self.fix.is_on() { self.fixable(inputs)? } else { inputs };
        let common = Checks {
            encoding: self.settings.encoding(),
            bom: BomPolicy::Keep,
            bom_rule: Rule::Bom,
            rules: Vec::new(),
            survey: Survey::default(),
            max_errors: self.max_errors,
            wants_context: self.format == Format::Human && !self.quiet,
            wants_counts: self.stats,
        };
        let settings = self.settings.clone().load(&inputs, common)?;
        let mut reporter = Reporter {
            out: BufWriter::new(io::stdout()),
            format: self.format,
            is_quiet: self.quiet || self.fix.is_dry_run(),
            has_stats: self.stats,
            has_color: self.has_color(),
            max_errors: self.max_errors,
            totals: Totals::default(),
            has_result: false,
        };
        reporter.begin().map_err(cannot_write)?;
        let progress = self.progress(inputs.len());
        let turn = Turn::new(Receiver { inputs: &inputs, reporter, progress, split: None, reported: 0 });
        let queue = Queue::new(inputs.len());
        // The surveys of files that are split.
        let surveys = Mutex::new(HashMap::new());
        let jobs = self.walk.jobs().get();
        let work = || {
            while let Some(work) = queue.next() {
                let (file, part, opened) = match work {
                    Work::File(file) => {
                        let opened = inputs.get(file).and_then(|input| self.open(input));
                        let (parts, opened) = match (inputs.get(file), opened) {
                            (Some(input), Some(Ok(opened))) => {
                                let (parts, opened, survey) = self.split(input, &settings, opened);
                                if !parts.is_empty() {
                                    lock(&surveys).insert(file, survey);
                                }
                                (parts, Some(Ok(opened)))
                            }
                            (_, opened) => (Vec::new(), opened),
                        };
                        queue.opened(file, parts.get(1..).unwrap_or_default());
                        (file, parts.first().copied().filter(|first| !first.is_last()), opened)
                    }
                    Work::Part(file, part) => (file, Some(part), None),
                };
                let Some(input) = inputs.get(file).filter(|_| !turn.has_failed()) else { continue };
                let mut lane = turn.lane((file, part.map_or(0, |part| part.number)));
                let is_last = part.is_none_or(|part| part.is_last());
                let mut push = |event| lane.push(event);
                let end = match part {
                    Some(part) => {
                        let survey = lock(&surveys).get(&file).cloned().unwrap_or_default();
                        Event::Part(self.check_part(input, part, survey, &settings, &mut push), is_last)
                    }
                    None => Event::End(self.check(input, opened, &settings, &mut push)),
                };
                lane.push(end);
                lane.end(is_last);
            }
        };
        thread::scope(|scope| {
            spawn(scope, jobs, work);
            work();
        });
        let Receiver { mut reporter, progress, .. } = turn.into_receiver().map_err(cannot_write)?;
        progress.finish_and_clear();
        reporter.finish().map_err(cannot_write)?;
        Ok(match reporter.totals {
            Totals { unreadable: 1.., .. } | Totals { not_written: 1.., .. } => CommandStatus::Trouble,
            _ if !is_complete => CommandStatus::Trouble,
            Totals { errors: 1.., .. } => CommandStatus::IllFormed,
            _ => CommandStatus::Success,
        })
    }

    /// Returns the inputs of `--fix`: each file once, without stdin.
    fn fixable(&self, inputs: Vec<Input>) -> Result<Vec<Input>, &'static str> {
        if self.settings.encoding() != Encoding::Utf8.into() {
            return Err("--fix writes UTF-8, and --encoding is another encoding");
        }
        if inputs.iter().any(|input| is_standard(&input.path)) {
            return Err("--fix cannot rewrite stdin; `utf8-codec convert` writes its result to stdout");
        }
        // By the canonical path, because two threads that fix one file would disturb each other.
        let mut seen = HashSet::new();
        let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(inputs.into_iter().filter(|input| seen.insert(canonical(&input.path))).collect())
    }

    /// Opens a file. Returns `None` for stdin, and with `--fix`, which opens the file several times itself.
    fn open(&self, input: &Input) -> Option<io::Result<File>> {
        let is_opened = !is_standard(&input.path) && !self.fix.is_on();
        is_opened.then(|| File::open(&input.path))
    }

    /// Returns the parts of a file, or no parts if it is not split. Also returns the file after rewinding it, and its
    /// survey if it is split.
    fn split(&self, input: &Input, settings: &Settings, mut file: File) -> (Vec<FilePart>, File, Survey) {
        let len = self.part.map_or(PART, |len| len.get() as u64);
        let is_large = file.metadata().is_ok_and(|file| file.is_file() && file.len() > 2 * len);
        // In other encodings a character boundary cannot be found without the bytes before it.
        let is_utf_8 =
            || settings.of(&input.path).is_ok_and(|checks| checks.encoding == Encoding::Utf8.into());
        if !is_large || !is_utf_8() {
            return (Vec::new(), file, Survey::default());
        }
        let is_text = input.is_named || starts_binary(&mut file).is_ok_and(|is_binary| !is_binary);
        let parts = if is_text { split::parts(&mut file, len) } else { Ok(Vec::new()) };
        let survey = file.rewind().and_then(|()| match settings.of(&input.path) {
            Ok(checks) => Ok(checks.surveyed(&mut file)?.survey),
            Err(_) => Ok(Survey::default()),
        });
        match survey {
            Ok(survey) => (parts.unwrap_or_default(), file, survey),
            Err(_) => (Vec::new(), file, Survey::default()),
        }
    }

    fn check_part(
        &self,
        input: &Input,
        part: FilePart,
        survey: Survey,
        settings: &Settings,
        push: &mut dyn FnMut(Event),
    ) -> io::Result<Scanned> {
        let checks = Checks { survey, ..settings.of(&input.path).map_err(io::Error::other)? };
        let (from, mut file) = open_part(File::open(&input.path)?, part, HISTORY as u64)?;
        scan_part(&mut file, from, part, &checks, false, &mut |diagnostic| {
            push(Event::Diagnostic(diagnostic))
        })
    }

    fn check(
        &self,
        input: &Input,
        opened: Option<io::Result<File>>,
        settings: &Settings,
        push: &mut dyn FnMut(Event),
    ) -> Summary {
        let Input { path, is_named } = input;
        let checks = match settings.of(path) {
            Ok(checks) => checks,
            Err(error) => return unreadable(&error),
        };
        let push = RefCell::new(push);
        let report = &mut |diagnostic| push.borrow_mut()(Event::Diagnostic(diagnostic));
        let summary = match self.fix.is_on() {
            true => {
                let show = &mut |diff| push.borrow_mut()(Event::Diff(diff));
                self.fix.run(path, &checks, !is_named, report, show)
            }
            false => match opened {
                Some(file) => file.and_then(|mut file| scan_whole(&mut file, &checks, !is_named, report)),
                None => open(path).and_then(|mut input| match checks.needs_survey() {
                    true => scan_whole(&mut spool(&mut input)?, &checks, !is_named, report),
                    false => scan(&mut input, &checks, !is_named, report),
                }),
            },
        };
        summary.unwrap_or_else(|error| Summary {
            end: FileStatus::Unreadable(error.to_string()),
            ..Summary::default()
        })
    }

    fn has_color(&self) -> bool {
        match self.color {
            When::Always => true,
            When::Never => false,
            When::Auto => AutoStream::choice(&io::stdout()) != anstream::ColorChoice::Never,
        }
    }

    fn progress(&self, files: usize) -> ProgressBar {
        let is_shown =
            self.progress == Progress::Auto && io::stderr().is_terminal() && !io::stdout().is_terminal();
        if !is_shown {
            return ProgressBar::hidden();
        }
        let bar = ProgressBar::with_draw_target(Some(files as u64), ProgressDrawTarget::stderr());
        let style = ProgressStyle::with_template("{pos}/{len} files {wide_bar} {eta}");
        bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        bar
    }
}

/// Scans a file after its survey. Copies a file that can be read only once.
fn scan_whole(
    file: &mut File,
    checks: &Checks,
    skip_binary: bool,
    report: &mut dyn FnMut(Diagnostic),
) -> io::Result<Summary> {
    if !checks.needs_survey() {
        return scan(file, checks, skip_binary, report);
    }
    if !file.metadata()?.is_file() {
        let mut copy = spool(file)?;
        let checks = checks.surveyed(&mut copy)?;
        return scan(&mut copy, &checks, skip_binary, report);
    }
    let checks = checks.surveyed(file)?;
    scan(file, &checks, skip_binary, report)
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unreadable(error: &dyn Display) -> Summary {
    Summary { end: FileStatus::Unreadable(error.to_string()), ..Summary::default() }
}

struct Receiver<'i> {
    inputs: &'i [Input],
    reporter: Reporter<BufWriter<io::Stdout>>,
    progress: ProgressBar,
    /// The result of the parts of the current file so far.
    split: Option<io::Result<Scanned>>,
    /// The number of errors of the current file so far, including those above the limit.
    reported: u64,
}

impl Receive<Event> for Receiver<'_> {
    fn size(event: &Event) -> usize {
        match event {
            Event::Diff(diff) => 1 + diff.len() / 512,
            _ => 1,
        }
    }

    fn receive(&mut self, file: usize, event: Event) -> io::Result<()> {
        let path: &Path = self.inputs.get(file).map_or(Path::new(""), |input| &input.path);
        match event {
            Event::Diagnostic(mut diagnostic) => {
                if let Some(Ok(before)) = &self.split {
                    before.locate(&mut diagnostic);
                }
                self.reported += 1;
                // Each part limits only its own errors, so the limit of the file is applied here.
                let is_above = |max: NonZeroUsize| self.reported > max.get() as u64;
                if self.reporter.max_errors.is_some_and(is_above) {
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
                let summary = joined.map(Scanned::finish).unwrap_or_else(|error| unreadable(&error));
                self.receive(file, Event::End(summary))
            }
            Event::Diff(diff) => self.reporter.diff(&diff, io::stdout().is_terminal()),
            Event::End(summary) => {
                self.reported = 0;
                if let FileStatus::Unreadable(error) = &summary.end {
                    // Flushed first, so that messages on a terminal are in the order of the files.
                    self.reporter.out.flush()?;
                    print_error(&format!("cannot read {}: {error}", path.display()));
                }
                match &summary.fixed {
                    Fixed::Failed(reason) => {
                        self.reporter.out.flush()?;
                        print_error(&format!("cannot fix {}: {reason}", path.display()));
                    }
                    // A dry run writes no report, so the reason is printed on stderr.
                    Fixed::Not(reason) if self.reporter.is_quiet => {
                        self.reporter.out.flush()?;
                        print_error(&format!("{} is not fixed: {reason}", path.display()));
                    }
                    _ => {}
                }
                self.progress.inc(1);
                self.reporter.end_of_file(path, &summary)
            }
        }
    }
}
