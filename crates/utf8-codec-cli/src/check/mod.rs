//! `utf8-codec check`: reports where and why files are ill-formed.

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
mod scanned;
mod settings;
mod split;
mod times;

use core::cell::RefCell;
use core::num::NonZeroUsize;
use std::collections::{HashMap, HashSet};
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read, Seek, Write};
use std::path::Path;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, mpsc};
use std::thread;

use anstream::AutoStream;
use clap::ValueEnum;
use terminal_size::terminal_size_of;
use utf8_codec::BomPolicy;
use utf8_codec::transcode::Encoding;

use crate::args::{at_least_one, whole_number};
use crate::files::Opened;
use crate::guess::binary::Start;
use crate::guess::mojibake::Survey;
use crate::log::Verbosity;
use crate::outcome::{CommandResult, CommandStatus, cannot_write, print_error};
use crate::progress::{Counted, Progress, Stdout};
use crate::temporary::Scratch;
use crate::walk::{Input, WalkArgs, spawn};
pub(super) use detect::DetectArgs;
use diagnostic::Summary;
use explain::Topic;
use fix::FixArgs;
use order::Turn;
use receiver::{Event, Receiver, unreadable};
use report::{Format, Reporter, Totals};
use rules::Rule;
use scan::{Checks, HISTORY, scan, scan_part};
use scanned::Scanned;
use settings::{Settings, SettingsArgs, Warning};
use split::{FilePart, PART, PartReader, Queue, Work};
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
    /// Report at most N errors of each rule per file, and count the others; 0 is all. Without it human shows 3, and short,
    /// github, gitlab and sarif have one result for a file whose encoding explains its errors
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
    /// The length of the parts into which large files are split, for tests
    #[arg(long, value_name = "BYTES", value_parser = at_least_one, hide = true)]
    part: Option<NonZeroUsize>,
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
        let common = Checks {
            max_errors: self.max_errors(),
            is_verdict: self.is_verdict(),
            wants_context: self.format.has_context() && !self.quiet,
            wants_counts: self.stats,
            ..Checks::new(self.settings.encoding())
        };
        let settings = self.settings.clone().load(&inputs, common)?;
        let inputs: Vec<Input> = inputs.into_iter().filter(|input| self.is_read(input, &settings)).collect();
        let progress = self.progress(&inputs);
        let mut reporter = Reporter::new(Stdout::new(progress.clone()), self.format);
        reporter.is_quiet = self.quiet || self.fix.is_dry_run();
        reporter.has_stats = self.stats;
        reporter.has_color = self.has_color();
        reporter.columns = terminal_size_of(io::stdout()).map_or(COLUMNS, |(width, _)| width.0.into());
        reporter.max_errors = self.max_errors();
        reporter.joins_errors =
            self.max_errors.is_none() && !matches!(self.format, Format::Human | Format::Json);
        reporter.begin().map_err(cannot_write)?;
        let turn = Turn::new(Receiver::new(&inputs, reporter, &progress, &settings, &self.fix, self.quiet));
        let queue = Queue::new(inputs.len());
        // The surveys of files that are split, and the files of which nothing more is read.
        let (surveys, decided) = (Mutex::new(HashMap::new()), Mutex::new(HashSet::new()));
        let times = Times::default();
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
                    (Some(_), _) if lock(&decided).contains(&file) => {
                        Event::Part(Ok(Scanned::default()), is_last)
                    }
                    (Some(part), Some(Ok(opened))) => {
                        let survey = lock(&surveys).get(&file).cloned().unwrap_or_default();
                        let checks = settings.of(&input.path).map_err(io::Error::other);
                        let scanned = checks.and_then(|checks| {
                            let checks = Checks { survey, ..checks };
                            let mut scanned = check_part(part, opened, &checks, &progress, &mut push)?;
                            settings.withhold_command(&input.path, &mut scanned.summary);
                            Ok(scanned)
                        });
                        if self.is_verdict() && scanned.as_ref().is_ok_and(|it| it.summary.errors > 0) {
                            lock(&decided).insert(file);
                        }
                        Event::Part(scanned, is_last)
                    }
                    _ => Event::End(self.check(input, opened, &settings, &times, &progress, &mut push)),
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
        times.keep_order();
        let mut reporter = turn.into_receiver().map_err(cannot_write)?.into_reporter();
        // A hook may name only files that are excluded.
        if reporter.totals.is_empty() && !self.walk.force_exclude() {
            let warning = Warning { file: ".".into(), message: "no file was checked".to_owned() };
            print_error(&format!("warning: {}", warning.message));
            reporter.warning(&warning).map_err(cannot_write)?;
        }
        for warning in settings.into_warnings() {
            print_error(&format!("warning: {}: {}", warning.file.display(), warning.message));
            reporter.warning(&warning).map_err(cannot_write)?;
        }
        reporter.finish().map_err(cannot_write)?;
        Ok(match reporter.totals {
            Totals { unreadable: 1.., .. } | Totals { not_written: 1.., .. } => CommandStatus::Trouble,
            Totals { errors: 1.., .. } => CommandStatus::IllFormed,
            _ => CommandStatus::Success,
        })
    }

    /// Whether an input is read. Warns of rules that its name switches off, if it is named.
    fn is_read(&self, input: &Input, settings: &Settings) -> bool {
        let path = &input.path;
        if input.is_named && !self.walk.force_exclude() {
            settings.warn_of_name(path);
            return true;
        }
        // A named file that is no text would be checked.
        let is_excluded = settings.exclude(input) || input.is_named && settings.is_binary(path);
        !is_excluded
    }

    fn max_errors(&self) -> Option<NonZeroUsize> {
        NonZeroUsize::new(self.max_errors.unwrap_or(self.format.max_errors()))
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
        // By the canonical path, because two threads that fix one file would disturb each other.
        let mut seen = HashSet::new();
        let canonical = |path: &Path| fs::canonicalize(path).unwrap_or_else(|_| path.to_owned());
        Ok(inputs.filter(|input| seen.insert(canonical(&input.path))).collect())
    }

    /// Opens a file. Returns `None` for stdin, and with `--fix`, which opens the file itself.
    fn open(&self, input: &Input) -> Option<io::Result<Opened>> {
        let is_opened = !input.is_stdin && !self.fix.is_on();
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
            settings.of(&input.path).is_ok_and(|it| {
                let needs_bom = it.bom_by_content && it.bom == BomPolicy::Require;
                // A comment in JSON may have many lines.
                let is_binary = it.is_text == Some(false) && !input.is_named;
                it.encoding == Encoding::Utf8.into() && !needs_bom && !it.has_comments && !is_binary
            })
        };
        if !is_large || !is_utf_8() {
            return (Vec::new(), file, Survey::default());
        }
        // Whether wide text is well-formed is known only from its start to its end.
        let start = Start::of(&file);
        let is_text =
            start.is_ok_and(|start| start == Start::Text || (start == Start::Binary && input.is_named));
        // What such a rule, or `json-escapes`, finds in a line depends on the whole line.
        let needs_lines = settings
            .of(&input.path)
            .is_ok_and(|checks| checks.needs_words() || checks.rules.contains(&Rule::JsonEscapes));
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
        times: &Times,
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
                let summary = self.fix.run(input, &checks, settings, times, report, show);
                // A fix reads the file several times.
                progress.advance(if progress.is_on() { len_of(input).unwrap_or(0) } else { 0 });
                summary
            }
            false => {
                content_of(input, opened, &checks).and_then(|(checks, content)| {
                    let mut content = Counted::new(content, progress);
                    let mut summary = scan(&mut content, &checks, !is_named, report)?;
                    settings.withhold_command(path, &mut summary);
                    if !self.quiet && self.format.has_fixable() {
                        self.fix.count_fixable(input, settings, &mut summary);
                    }
                    if progress.is_on() {
                        // The rest of a binary file is not read.
                        content.skip_to(len_of(input).unwrap_or(0));
                    }
                    Ok(summary)
                })
            }
        };
        summary.unwrap_or_else(|error| unreadable(&error))
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
        let is_typed = || inputs.iter().any(|input| input.is_stdin) && io::stdin().is_terminal();
        Progress::new(self.progress == ProgressWhen::Auto && !is_typed())
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
    let mut copy = match opened.transpose()? {
        Some(mut file) if file.metadata()?.is_file() => {
            return Ok((checks.surveyed(&mut file)?, Box::new(file)));
        }
        Some(mut file) => Scratch::of(&mut file)?,
        None => Scratch::of(&mut input.read()?)?,
    };
    Ok((checks.surveyed(&mut copy)?, Box::new(copy)))
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
