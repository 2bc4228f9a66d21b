//! `utf8-codec check --fix`: rewrites files that have errors.
//!
//! The complete new content is scanned and then replaces the old content. The file is opened once. Before it is
//! replaced, it is compared with its metadata when it was opened, so what one read found is true for the next. Memory
//! is constant, so a file is read several times:
//!
//! | read | if |
//! |---|---|
//! | survey, and once more for each time that text was encoded | the rule `mojibake` is checked |
//! | scan, which finds the errors | always |
//! | decoding, and the survey of the text | the rule `mojibake` is checked, and the file is in another encoding |
//! | up to the first character beyond ASCII | the content decides about a BOM (rule `bom`) |
//! | search for lines that are UTF-8 | it is in another encoding of one or two bytes, and has characters of UTF-8 |
//! | conversion | there is a fix |
//! | scan of the new content | there is a fix |
//! | another scan, of what remains | it has more than [`MAX`](few::MAX) errors |
//! | comparison of what was replaced ([`Replacement`]) | the names of the files were exchanged |

mod apply;
mod few;
mod plan;
mod watched;

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::{Path, PathBuf};
use std::thread;

use clap::ValueEnum;
use utf8_codec::{BomPolicy, ErrorPolicy};
use utf8_codec_encodings::Encoding;

use super::checks::Checks;
use super::diagnostic::{Event, FileStatus, Fixed, ILL_FORMED, Summary};
use super::diff::{self, DiffLines};
use super::kept::PATCH;
use super::rules::Rule;
use super::scan::scan;
use super::settings::Settings;
use super::times::Times;
use crate::charset::FromArg;
use crate::files::Opened;
use crate::fingerprint::Fingerprinted;
use crate::guess::Guess;
use crate::guess::languages::Doubt;
use crate::guess::mojibake::Survey;
use crate::identity::{Expected, check_unchanged};
use crate::replacement::Replacement;
use crate::temporary::Scratch;
use crate::walk::Input;
use apply::{apply, with_bom_by_content};
use few::Few;
use plan::{Failed, FixSource, Plan, policy_of, remedy, source_of};
use watched::Watched;

/// The options of `--fix`.
#[derive(Clone, Debug, clap::Args)]
#[command(group = clap::ArgGroup::new("fixing").multiple(true))]
pub(super) struct FixArgs {
    /// Rewrite files that have errors, as UTF-8. A file whose encoding is a guess is only rewritten with --from
    #[arg(long, group = "fixing")]
    fix: bool,
    /// Show what --fix would change, without changing files. Special characters are escaped, and text in another
    /// encoding is shown as its characters
    #[arg(long, group = "fixing")]
    diff: bool,
    /// The encoding of text that is not UTF-8. `auto`: also UTF-16 without a BOM; other files whose encoding is a guess
    /// are not changed. Data that is not text is not converted: a control character that text does not contain in most
    /// files, and in files without a space and a line end many bytes above 7F
    #[arg(long, value_name = "ENCODING", requires = "fixing")]
    from: Option<FromArg>,
    /// Keep the old file under its name with SUFFIX appended
    #[arg(long, value_name = "SUFFIX", requires = "fix", value_parser = suffix, conflicts_with_all = ["diff", "dry_run"])]
    backup: Option<OsString>,
    /// Print the changes as a unified diff, for `patch -p1` or `git apply`, without changing files
    #[arg(long, requires = "fix", conflicts_with = "diff")]
    dry_run: bool,
}

fn suffix(value: &str) -> Result<OsString, &'static str> {
    if value.is_empty() || value.contains(std::path::is_separator) {
        return Err("a suffix must not be empty or contain a path separator");
    }
    Ok(value.into())
}

/// Returns why a file must not be converted, if it must not. `kept` is the reason that follows from its name.
fn kept(kept: Option<String>, path: &Path, settings: &Settings, summary: &Summary) -> Option<String> {
    match kept {
        Some(reason) => Some(reason),
        None if summary.is_patch => Some(PATCH.to_owned()),
        None => settings.other_charset(path),
    }
}

impl FixArgs {
    pub(super) fn is_on(&self) -> bool {
        self.fix || self.diff
    }

    /// Whether the changes are printed, and not made.
    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run || self.diff
    }

    /// Whether the changes are printed for people.
    pub(super) fn is_diff(&self) -> bool {
        self.diff
    }

    /// Returns the path under which `--backup` keeps a file.
    pub(super) fn backup_of(&self, path: &Path) -> Option<PathBuf> {
        let mut path = path.as_os_str().to_owned();
        path.push(self.backup.as_ref()?);
        Some(path.into())
    }

    /// Checks a file and fixes it, then reports each remaining error. A dry run instead reports the diff, and does not change
    /// the file.
    pub(super) fn run(
        &self,
        input: &Input,
        checks: Checks,
        settings: &Settings,
        times: &Times,
        report: &mut dyn FnMut(Event),
    ) -> io::Result<Summary> {
        // The content of a pipe would be lost after the first read.
        let mut opened = input.open_regular()?;
        let mut checks = checks.surveyed(&mut opened.file)?;
        let mut content = Watched::new(&opened.file, self.names_escapes());
        let mut errors = Few::default();
        let mut summary = scan(&mut content, &checks, !input.is_named, &mut |error| errors.push(error))?;
        if !matches!(summary.end, FileStatus::Checked) {
            return Ok(summary);
        }
        let is_escaped = content.finish() && summary.errors == 0;
        if summary.errors == 0 && !is_escaped {
            // The user expects a change of this file.
            if input.is_named && self.is_named() && checks.encoding == Encoding::Utf8.into() {
                summary.fixed = Fixed::Not("it is UTF-8 already".to_owned());
            }
            return Ok(summary);
        }
        checks.kept = kept(checks.kept, &input.path, settings, &summary);
        if self.survey_text(&mut opened.file, &summary, &mut checks, is_escaped)? {
            errors = Few::unknown();
        }
        let plan = self.plan_of(&mut opened.file, &summary, &checks, is_escaped)?;
        let new = plan.and_then(|plan| {
            if self.is_dry_run() {
                report(Event::Diff(self.preview(&input.path, &opened, plan)?));
                return Ok(None);
            }
            self.rewrite(input, &opened, plan, &summary, &checks).map(Some)
        });
        match new {
            Ok(None) => {}
            Ok(Some(new)) => {
                summary = new.summary;
                let new_time = new.replacement.new_content().and_then(|file| file.metadata()?.modified());
                if let (Ok(old_time), Ok(new_time)) = (opened.metadata.modified(), new_time) {
                    times.add(input, old_time, new_time);
                }
                if summary.errors > 0 {
                    let mut content = new.replacement.new_content()?;
                    new.errors.report(&mut content, &after_fix(&checks), false, report)?;
                }
            }
            Err(failed) => {
                not_fixed(&mut summary, failed);
                if !self.is_dry_run() && summary.errors > 0 {
                    opened.file.rewind()?;
                    errors.report(&mut opened.file, &checks, !input.is_named, report)?;
                }
            }
        }
        Ok(summary)
    }

    /// Sets the number of errors that `--fix` would remove from a file, and whether the command in the hint would be
    /// refused. A file that cannot be read again has none. `checks` are those of the scan, with the survey of the file.
    pub(super) fn count_fixable(
        &self,
        input: &Input,
        mut checks: Checks,
        settings: &Settings,
        summary: &mut Summary,
    ) {
        if summary.errors == 0 || !matches!(summary.end, FileStatus::Checked) || input.is_stdin {
            return;
        }
        checks.kept = kept(checks.kept, &input.path, settings, summary);
        match self.left(input, summary, checks) {
            Ok(left) => summary.fixable = summary.errors.saturating_sub(left.errors),
            Err(Failed::Kept(_)) => summary.has_no_command = true,
            // The command is this fix.
            Err(Failed::NoFix(_)) if matches!(summary.guess, Some(Guess::Declared(..))) => {
                summary.has_no_command = true;
            }
            Err(Failed::NoFix(_) | Failed::Io(_)) => {}
        }
    }

    /// Returns the summary of a file as `--fix` would leave it. Nothing is stored: the new content is scanned while it is
    /// created.
    fn left(&self, input: &Input, summary: &Summary, checks: Checks) -> Result<Summary, Failed> {
        // Without a plan the file is not opened again.
        self.plan(summary, &checks, false)?;
        let mut file = input.open_regular()?.file;
        let mut checks = checks;
        self.survey_text(&mut file, summary, &mut checks, false)?;
        let plan = self.plan_of(&mut file, summary, &checks, false)??;
        let (mut new, mut writer) = io::pipe()?;
        let after = after_fix(&checks);
        thread::scope(|scope| {
            let scanning = thread::Builder::new()
                .spawn_scoped(scope, move || scan(&mut new, &after, false, &mut |_| {}))?;
            let applied = apply(plan, &mut file, &mut |bytes| writer.write_all(bytes));
            drop(writer);
            let left = scanning.join().unwrap_or_else(|_| Err(io::Error::other("the scan failed")));
            applied?;
            Ok(left?)
        })
    }

    /// Surveys the decoded text instead of the bytes if the file is in another encoding, because its bytes prove nothing.
    /// Returns whether it did. Rewinds the file.
    fn survey_text(
        &self,
        file: &mut File,
        summary: &Summary,
        checks: &mut Checks,
        is_escaped: bool,
    ) -> io::Result<bool> {
        file.rewind()?;
        if !checks.needs_survey() {
            return Ok(false);
        }
        let decoded = match self.plan(summary, checks, is_escaped) {
            Ok(plan) if plan.old_charset().is_some() => plan.decoded(file),
            _ => return Ok(false),
        };
        file.rewind()?;
        match decoded {
            Ok(mut text) => checks.survey = Survey::of(&mut text)?,
            Err(Failed::Io(error)) => return Err(error),
            // The plan fails in the same way.
            Err(_) => return Ok(false),
        }
        Ok(true)
    }

    /// Returns the plan to fix a file with this content. Rewinds it.
    fn plan_of<'c>(
        &self,
        file: &mut File,
        summary: &Summary,
        checks: &'c Checks,
        is_escaped: bool,
    ) -> io::Result<Result<Plan<'c>, Failed>> {
        let mut plan = self.plan(summary, checks, is_escaped);
        if checks.bom_by_content && (summary.has(Rule::Bom.name()) || checks.bom == BomPolicy::Require) {
            plan = plan.and_then(|plan| with_bom_by_content(plan, file));
            file.rewind()?;
        }
        if let Ok(own) = &plan
            && summary.has_utf_8
            && let Some(line) = own.line_in_utf8(file, !summary.is_foreign)?
        {
            let label = summary.declared.as_ref().map(|declared| declared.label());
            plan = Err(Failed::Kept(own.refusal(line, label.filter(|_| own.is_declared))));
        }
        file.rewind()?;
        Ok(plan)
    }

    /// Returns the plan to fix a file with these errors, or why it cannot be fixed.
    /// `is_escaped` is whether it is ISO-2022-JP, whose bytes are those of ASCII.
    fn plan<'c>(&self, summary: &Summary, checks: &'c Checks, is_escaped: bool) -> Result<Plan<'c>, Failed> {
        if let Some(reason) = &checks.kept {
            return Err(Failed::Kept(reason.clone()));
        }
        if checks.encoding != Encoding::Utf8.into() {
            return Err(Failed::NoFix(format!("it should be {}, and --fix writes UTF-8", checks.encoding)));
        }
        if summary.guess == Some(Guess::Binary) {
            return Err(Failed::NoFix("it is binary".to_owned()));
        }
        let is_ill_formed = summary.has(ILL_FORMED) || is_escaped;
        let has_fix = Rule::value_variants().iter().any(|rule| rule.has_fix() && summary.has(rule.name()));
        if !is_ill_formed && !has_fix {
            return Err(Failed::NoFix("none of the violated rules has a fix".to_owned()));
        }
        let source = match (&summary.declared, is_ill_formed) {
            (_, true) => self.source(summary).map_err(Failed::NoFix)?,
            (None, false) => FixSource::Utf8(ErrorPolicy::Strict),
            // The text is ASCII for the program that reads the declaration, or an error.
            (Some(declared), false) if declared.is_ascii() => FixSource::Utf8(ErrorPolicy::Strict),
            (Some(declared), false) => {
                return Err(Failed::NoFix(format!("it is UTF-8, and declares {}", declared.label())));
            }
        };
        let survey = checks.needs_survey().then_some(&checks.survey);
        let is_declared = summary.declared.is_some() && is_ill_formed && !self.is_named();
        let removes_marks = checks.rules.contains(&Rule::Invisible);
        let replaces_escapes = checks.rules.contains(&Rule::JsonEscapes);
        Ok(Plan {
            source,
            is_declared,
            bom: checks.bom,
            kind: checks.kind,
            survey,
            removes_marks,
            replaces_escapes,
            has_comments: checks.has_comments,
        })
    }

    /// Returns how to decode a file that is not UTF-8, or why that cannot be decided.
    fn source(&self, summary: &Summary) -> Result<FixSource, String> {
        let named = match self.from {
            Some(FromArg::Charset(charset)) => Some(charset),
            Some(FromArg::Auto) | None => None,
        };
        if let Some(declared) = &summary.declared {
            let label = declared.label();
            // Evidence against a declaration allows another encoding.
            let is_doubted = matches!(summary.reading, Some(Err(Doubt::Letters | Doubt::Undefined)));
            return match (named, &summary.reading) {
                (Some(named), _)
                    if !(declared.allows(named) || is_doubted && declared.is_ascii_in(named)) =>
                {
                    Err(format!("{}, and --from is {named}", declared.in_full()))
                }
                (Some(named), _) => Ok(source_of(named)),
                (None, Some(Err(Doubt::Unknown)) | None) => Err(declared.doubted(Doubt::Unknown)),
                (None, Some(reading)) if summary.is_mixed => {
                    let remedy = match reading {
                        Ok(charset) => remedy(*charset, "that part"),
                        Err(_) => "name the encoding of the other part with --from".to_owned(),
                    };
                    Err(format!("it declares {label}, and part of it is UTF-8: {remedy}"))
                }
                (None, Some(Err(doubt))) => {
                    Err(format!("{}: name the encoding with --from", declared.doubted(*doubt)))
                }
                (None, Some(Ok(charset))) => Ok(FixSource::Other(*charset)),
            };
        }
        let guess = summary.guess.as_ref();
        let is_auto = self.from == Some(FromArg::Auto);
        // The encoding follows from a BOM or from sequences that no other encoding has, so `--from` is not used.
        if let Some(charset) = guess.and_then(|guess| guess.decided(is_auto)) {
            return Ok(FixSource::Other(charset));
        }
        match (named, guess) {
            (Some(named), Some(guess @ Guess::Wide { .. })) if policy_of(named).is_some() => {
                Err(format!("it is probably {}, and not {named}", guess.in_words()))
            }
            (Some(named), _) => Ok(source_of(named)),
            (None, Some(Guess::Java)) => Err(
                "C0 80 is NUL in Java's modified UTF-8, and text has no NUL: name the encoding with --from"
                    .to_owned(),
            ),
            (None, Some(Guess::Cut)) => Err("its last character is incomplete".to_owned()),
            (None, Some(guess)) if is_auto => {
                Err(format!("the encoding is not known: {} is a guess", guess.in_words()))
            }
            (None, Some(guess)) => {
                Err(format!("its encoding is a guess ({}), and --from is missing", guess.in_words()))
            }
            (None, None) if is_auto => Err("the encoding is not known".to_owned()),
            (None, None) => Err("the encoding is not known, and --from is missing".to_owned()),
        }
    }

    /// Whether the user named the encoding.
    fn is_named(&self) -> bool {
        matches!(self.from, Some(FromArg::Charset(_)))
    }

    /// Whether the user named ISO-2022-JP.
    fn names_escapes(&self) -> bool {
        self.from == Some(FromArg::Charset(Encoding::Iso2022Jp.into()))
    }

    /// Returns the diff of a fix.
    fn preview(&self, path: &Path, opened: &Opened, plan: Plan<'_>) -> Result<Vec<u8>, Failed> {
        let mut file = &opened.file;
        let mut new = Scratch::new();
        apply(plan, &mut file, &mut |bytes| new.write_all(bytes))?;
        file.rewind()?;
        new.rewind()?;
        let mut lines = DiffLines::Same;
        let mut encoding = None;
        let mut old: Box<dyn Read> = Box::new(file);
        if let FixSource::Other(charset) = plan.source {
            if self.diff {
                old = Box::new(plan.decoded(&mut file)?);
                encoding = Some(charset);
            } else if charset.unit_len() > 1 {
                lines = DiffLines::Replaced;
            }
        }
        let names = diff::names(path, encoding);
        let diff = diff::unified(&names, &mut BufReader::new(old), &mut BufReader::new(new), lines)?;
        check_unchanged(&opened.metadata, opened.file.metadata(), Expected::Untouched)?;
        if diff.is_empty() {
            return Err(nothing_is_certain());
        }
        Ok(diff)
    }

    /// Rewrites a file with this summary.
    fn rewrite(
        &self,
        input: &Input,
        opened: &Opened,
        plan: Plan<'_>,
        old: &Summary,
        checks: &Checks,
    ) -> Result<NewContent, Failed> {
        let mut replacement = Replacement::of_input(input, opened)?;
        let mut content = Fingerprinted::new(&opened.file);
        apply(plan, &mut content, &mut |bytes| replacement.write(bytes))?;
        let mut new = Fingerprinted::new(replacement.new_content()?);
        let mut errors = Few::default();
        let mut summary = scan(&mut new, &after_fix(checks), false, &mut |error| errors.push(error))?;
        if new.fingerprint() == content.fingerprint() {
            return Err(nothing_is_certain());
        }
        replacement.commit_content(content.fingerprint(), self.backup.as_deref())?;
        let changes = plan.changes(old, &summary);
        summary.fixed = Fixed::Rewritten(old.errors.saturating_sub(summary.errors), changes);
        Ok(NewContent { summary, errors, replacement })
    }
}

/// The new content of a file, with its remaining errors.
struct NewContent {
    summary: Summary,
    errors: Few,
    replacement: Replacement,
}

/// Returns the checks of the new content: what a fix left is reported.
fn after_fix(checks: &Checks) -> Checks {
    Checks { survey: checks.survey.after_fix(), ..checks.clone() }
}

/// The result if a fix would not change the file.
fn nothing_is_certain() -> Failed {
    Failed::NoFix("none of its errors has a fix that is certain".to_owned())
}

/// Records why a file was not fixed.
fn not_fixed(summary: &mut Summary, failed: Failed) {
    summary.fixed = match failed {
        Failed::NoFix(reason) => Fixed::Not(reason),
        Failed::Kept(reason) => {
            summary.has_no_command = true;
            Fixed::Not(reason)
        }
        Failed::Io(error) => Fixed::Failed(error.to_string()),
    };
}
