//! `utf8-codec check`: reports where and why files are ill-formed.

mod binary;
mod config;
mod declaration;
mod detect;
mod diagnostic;
mod diff;
mod escapes;
mod fix;
mod legacy;
mod mojibake;
mod order;
mod report;
mod repository;
mod rules;
mod sarif;
mod scan;
mod scanned;
mod settings;
mod split;
mod wide;
mod words;

use core::cell::RefCell;
use core::fmt::Display;
use core::num::NonZeroUsize;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use anstream::AutoStream;
use clap::ValueEnum;
use utf8_codec::BomPolicy;
use utf8_codec::transcode::Encoding;

use crate::args::at_least_one;
use crate::files::{Opened, is_standard};
use crate::log::Verbosity;
use crate::outcome::{CommandResult, CommandStatus, cannot_write, print_error};
use crate::progress::{Counted, Progress, Stdout};
use crate::walk::{Input, WalkArgs, spawn};
use binary::Start;
pub(super) use detect::DetectArgs;
use diagnostic::{Diagnostic, FileStatus, Fixed, Summary};
use fix::FixArgs;
use mojibake::{Survey, spool};
use order::{Receive, Turn};
use report::{Format, Reporter, Totals};
use repository::Repository;
use rules::Rule;
use sarif::Notifications;
use scan::{Checks, HISTORY, scan, scan_part};
use scanned::Scanned;
use settings::{Settings, SettingsArgs};
use split::{FilePart, PART, PartReader, Queue, Work};

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
    /// When to draw a progress bar on stderr: auto is after a second, if stderr is a terminal
    #[arg(long, value_name = "WHEN", default_value = "auto")]
    progress: ProgressWhen,
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
enum ProgressWhen {
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
        let inputs = self.walk.collect()?;
        let inputs = if self.fix.is_on() { self.fixable(inputs)? } else { inputs };
        let common = Checks {
            encoding: self.settings.encoding(),
            bom: BomPolicy::Keep,
            bom_if_needed: false,
            kind: None,
            bom_rule: Rule::Bom,
            rules: Vec::new(),
            survey: Survey::default(),
            max_errors: self.max_errors,
            wants_context: self.format == Format::Human && !self.quiet,
            wants_counts: self.stats,
        };
        let settings = self.settings.clone().load(&inputs, common)?;
        let progress = self.progress(&inputs);
        let mut reporter = Reporter {
            out: Stdout::new(progress.clone()),
            format: self.format,
            is_quiet: self.quiet || self.fix.is_dry_run(),
            has_stats: self.stats,
            has_color: self.has_color(),
            max_errors: self.max_errors,
            totals: Totals::default(),
            has_result: false,
            repository: Repository::default(),
            notifications: Notifications::default(),
        };
        reporter.begin().map_err(cannot_write)?;
        let turn =
            Turn::new(Receiver { inputs: &inputs, reporter, progress: &progress, split: None, reported: 0 });
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
                                (parts, Some(Ok(Arc::new(opened))))
                            }
                            (_, opened) => {
                                (Vec::new(), opened.map(|opened| opened.map(|it| Arc::new(it.file))))
                            }
                        };
                        let shared = opened.as_ref().and_then(|opened| opened.as_ref().ok());
                        queue.opened(file, parts.get(1..).unwrap_or_default(), shared);
                        (file, parts.first().copied().filter(|first| !first.is_last()), opened)
                    }
                    Work::Part(file, part, opened) => (file, Some(part), Some(Ok(opened))),
                };
                let Some(input) = inputs.get(file).filter(|_| !turn.has_failed()) else { continue };
                let mut lane = turn.lane((file, part.map_or(0, |part| part.number)));
                let is_last = part.is_none_or(|part| part.is_last());
                let mut push = |event| lane.push(event);
                let end = match (part, &opened) {
                    (Some(part), Some(Ok(opened))) => {
                        let survey = lock(&surveys).get(&file).cloned().unwrap_or_default();
                        let checks = settings.of(&input.path).map_err(io::Error::other);
                        let scanned = checks.and_then(|checks| {
                            let checks = Checks { survey, ..checks };
                            check_part(part, opened, &checks, &progress, &mut push)
                        });
                        Event::Part(scanned, is_last)
                    }
                    _ => Event::End(self.check(input, opened, &settings, &progress, &mut push)),
                };
                lane.push(end);
                lane.end(is_last);
            }
        };
        thread::scope(|scope| {
            let (_running, ended) = mpsc::channel();
            if progress.is_on() {
                let (inputs, progress) = (&inputs, &progress);
                scope.spawn(move || progress.appear(&ended, || total_len(inputs)));
            }
            thread::scope(|scope| {
                spawn(scope, jobs, work);
                work();
            });
        });
        progress.finish();
        let Receiver { mut reporter, .. } = turn.into_receiver().map_err(cannot_write)?;
        reporter.finish().map_err(cannot_write)?;
        Ok(match reporter.totals {
            Totals { unreadable: 1.., .. } | Totals { not_written: 1.., .. } => CommandStatus::Trouble,
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

    /// Opens a file. Returns `None` for stdin, and with `--fix`, which opens the file itself.
    fn open(&self, input: &Input) -> Option<io::Result<Opened>> {
        let is_opened = !is_standard(&input.path) && !self.fix.is_on();
        is_opened.then(|| input.open())
    }

    /// Returns the parts of a file, or no parts if it is not split. Also returns the file after rewinding it, and its
    /// survey if it is split.
    fn split(&self, input: &Input, settings: &Settings, opened: Opened) -> (Vec<FilePart>, File, Survey) {
        let len = self.part.map_or(PART, |len| len.get() as u64);
        let Opened { mut file, metadata } = opened;
        let is_large = metadata.is_file() && metadata.len() > 2 * len;
        // In other encodings a character boundary cannot be found without the bytes before it.
        let is_utf_8 = || {
            settings.of(&input.path).is_ok_and(|it| it.encoding == Encoding::Utf8.into() && !it.bom_if_needed)
        };
        if !is_large || !is_utf_8() {
            return (Vec::new(), file, Survey::default());
        }
        // Whether wide text is well-formed is known only from its start to its end.
        let start = Start::of(&file);
        let is_text =
            start.is_ok_and(|start| start == Start::Text || (start == Start::Binary && input.is_named));
        // What the rules `mojibake` and `json-escapes` find in a line depends on the whole line.
        let needs_lines = settings
            .of(&input.path)
            .is_ok_and(|checks| checks.needs_survey() || checks.rules.contains(&Rule::JsonEscapes));
        let parts = if is_text { split::parts(&mut file, len, needs_lines) } else { Ok(Vec::new()) };
        let survey = file.rewind().and_then(|()| match settings.of(&input.path) {
            Ok(checks) => Ok(checks.surveyed(&mut file)?.survey),
            Err(_) => Ok(Survey::default()),
        });
        match survey {
            Ok(survey) => (parts.unwrap_or_default(), file, survey),
            Err(_) => (Vec::new(), file, Survey::default()),
        }
    }

    fn check(
        &self,
        input: &Input,
        opened: Option<io::Result<Arc<File>>>,
        settings: &Settings,
        progress: &Progress,
        push: &mut dyn FnMut(Event),
    ) -> Summary {
        let Input { path, is_named, .. } = input;
        let checks = match settings.of(path) {
            Ok(checks) => checks,
            Err(error) => return unreadable(&error),
        };
        let push = RefCell::new(push);
        let report = &mut |diagnostic| push.borrow_mut()(Event::Diagnostic(diagnostic));
        let summary = match self.fix.is_on() {
            true => {
                let show = &mut |diff| push.borrow_mut()(Event::Diff(diff));
                let summary = self.fix.run(input, &checks, report, show);
                // A fix reads the file several times.
                progress.advance(if progress.is_on() { len_of(input).unwrap_or(0) } else { 0 });
                summary
            }
            false => {
                content_of(input, opened, &checks).and_then(|(checks, content)| {
                    let mut content = Counted::new(content, progress);
                    let summary = scan(&mut content, &checks, !is_named, report);
                    if progress.is_on() {
                        // The rest of a binary file is not read.
                        content.skip_to(len_of(input).unwrap_or(0));
                    }
                    summary
                })
            }
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

    fn progress(&self, inputs: &[Input]) -> Progress {
        // What is typed into a terminal would be in the line of the bar.
        let is_typed = || inputs.iter().any(|input| is_standard(&input.path)) && io::stdin().is_terminal();
        Progress::new(self.progress == ProgressWhen::Auto && !is_typed())
    }
}

/// Returns the length of a file, or `None` if it is not known.
fn len_of(input: &Input) -> Option<u64> {
    let file = if is_standard(&input.path) { None } else { fs::metadata(&input.path).ok() };
    file.filter(fs::Metadata::is_file).map(|file| file.len())
}

/// Returns the length of all files, or `None` if it is not known.
fn total_len(inputs: &[Input]) -> Option<u64> {
    inputs.iter().map(len_of).sum()
}

fn check_part(
    part: FilePart,
    file: &File,
    checks: &Checks,
    progress: &Progress,
    push: &mut dyn FnMut(Event),
) -> io::Result<Scanned> {
    let reader = PartReader::new(file, part, HISTORY as u64);
    let from = reader.at;
    scan_part(&mut Counted::new(reader, progress), from, part, checks, false, &mut |diagnostic| {
        push(Event::Diagnostic(diagnostic))
    })
}

/// Returns the content of a file that is not fixed, and the checks with its survey. What can be read only once is copied
/// if there is a survey.
fn content_of(
    input: &Input,
    opened: Option<io::Result<Arc<File>>>,
    checks: &Checks,
) -> io::Result<(Checks, Box<dyn Read>)> {
    if !checks.needs_survey() {
        let content = match opened {
            Some(file) => Box::new(file?),
            None => input.read()?,
        };
        return Ok((checks.clone(), content));
    }
    let mut file = match opened.transpose()? {
        Some(file) if file.metadata()?.is_file() => file,
        Some(mut file) => Arc::new(spool(&mut file)?),
        None => Arc::new(spool(&mut input.read()?)?),
    };
    Ok((checks.surveyed(&mut file)?, Box::new(file)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

fn unreadable(error: &dyn Display) -> Summary {
    Summary { end: FileStatus::Unreadable(error.to_string()), ..Summary::default() }
}

struct Receiver<'i> {
    inputs: &'i [Input],
    reporter: Reporter<Stdout>,
    progress: &'i Progress,
    /// The result of the parts of the current file so far.
    split: Option<io::Result<Scanned>>,
    /// The number of errors of the current file so far, including those above the limit.
    reported: u64,
}

impl Receiver<'_> {
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
            Event::Diff(diff) => {
                let is_terminal = self.reporter.out.is_terminal();
                self.reporter.diff(&diff, is_terminal)
            }
            Event::End(summary) => {
                self.reported = 0;
                if let FileStatus::Unreadable(error) = &summary.end {
                    self.print_error(&format!("cannot read {}: {error}", path.display()))?;
                }
                match &summary.fixed {
                    Fixed::Failed(reason) => {
                        self.print_error(&format!("cannot fix {}: {reason}", path.display()))?;
                    }
                    // A dry run writes no report, so the reason is printed on stderr.
                    Fixed::Not(reason) if self.reporter.is_quiet => {
                        self.print_error(&format!("{} is not fixed: {reason}", path.display()))?;
                    }
                    _ => {}
                }
                self.reporter.end_of_file(path, &summary)
            }
        }
    }
}
