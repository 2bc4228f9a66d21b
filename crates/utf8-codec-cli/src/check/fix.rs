//! `utf8-codec check --fix`: rewrites files that have errors.
//!
//! A file is read twice: to find its errors, and to create the new content. The complete new content is scanned and
//! then replaces the old content. If it still has errors, it is scanned again to report them. The file is opened once, so
//! that all this is about the same file.

use core::str::FromStr;
use std::ffi::OsString;
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use utf8_codec::declared::DocumentKind;
use utf8_codec::transcode::{Encoding, Switches, Transcoder};
use utf8_codec::{BomPolicy, ErrorPolicy, Utf8Error};

use super::binary;
use super::declaration;
use super::diagnostic::{Diagnostic, FileStatus, Fixed, ILL_FORMED, Summary};
use super::diff::{self, DiffLines};
use super::escapes::Escapes;
use super::mojibake::{self, Survey, first_len, long_segments};
use super::rules::Rule;
use super::scan::{Checks, scan};
use super::words::{Doubt, Guess};
use crate::charset::NamedEncoding;
use crate::files::{Opened, read};
use crate::fingerprint::Fingerprinted;
use crate::identity::{Expected, check_unchanged};
use crate::replacement::Replacement;
use crate::walk::Input;

/// The size of the read buffer. Mojibake is reversed in whole lines, except in a line that is longer.
const BUFFER: usize = 256 * 1024;

/// The options of `--fix`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FixArgs {
    /// Rewrite files that have errors, as UTF-8. A file whose encoding is a guess is only rewritten with --from
    #[arg(long, conflicts_with = "quiet")]
    fix: bool,
    /// The encoding of text that is not UTF-8. `auto`: also UTF-16 without a BOM; other files whose encoding is a guess
    /// are not changed. Data that is not text is not converted: a control character that text does not contain in most
    /// files, and in files without a space and a line end many bytes above 7F
    #[arg(long, value_name = "ENCODING", requires = "fix")]
    from: Option<From>,
    /// Keep the old file under its name with SUFFIX appended
    #[arg(long, value_name = "SUFFIX", requires = "fix", value_parser = suffix, conflicts_with = "dry_run")]
    backup: Option<OsString>,
    /// Print the changes as a unified diff, for `patch -p1` or `git apply`, without changing files
    #[arg(long, requires = "fix")]
    dry_run: bool,
}

/// The argument of `--from`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum From {
    Auto,
    Charset(NamedEncoding),
}

impl FromStr for From {
    type Err = &'static str;

    fn from_str(name: &str) -> Result<Self, Self::Err> {
        if name == "auto" { Ok(Self::Auto) } else { name.parse().map(Self::Charset) }
    }
}

fn suffix(value: &str) -> Result<OsString, &'static str> {
    if value.is_empty() || value.contains(std::path::is_separator) {
        return Err("a suffix must not be empty or contain a path separator");
    }
    Ok(value.into())
}

/// The plan to fix one file.
#[derive(Clone, Copy, Debug)]
struct Plan<'c> {
    source: FixSource,
    /// Whether the declaration in the file names the encoding, and no user.
    is_declared: bool,
    bom: BomPolicy,
    /// The kind of the file by its extension, for its declaration of an encoding.
    kind: Option<DocumentKind>,
    /// The evidence for text that was encoded twice. `None` if it is kept.
    survey: Option<&'c Survey>,
    /// Whether halves of surrogate pairs are replaced in the escapes of JSON.
    replaces_escapes: bool,
}

/// How the old content is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum FixSource {
    /// As UTF-8. Ill-formed sequences are decoded by the policy.
    Utf8(ErrorPolicy),
    /// As another encoding. An error ends the fix.
    Other(NamedEncoding),
}

/// Why the content was not rewritten.
enum Failed {
    Io(io::Error),
    /// There is no fix, or it would be a guess.
    NoFix(String),
    /// The declaration is not that of the text, or one of the old encoding would remain, as after the command in the hint.
    Declared(String),
}

impl core::convert::From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl FixArgs {
    pub(super) fn is_on(&self) -> bool {
        self.fix
    }

    pub(super) fn is_dry_run(&self) -> bool {
        self.dry_run
    }

    /// Checks a file and fixes it, then calls `report` for each remaining error. A dry run instead calls `show` with
    /// the diff, and does not change the file.
    pub(super) fn run(
        &self,
        input: &Input,
        checks: &Checks,
        report: &mut dyn FnMut(Diagnostic),
        show: &mut dyn FnMut(Vec<u8>),
    ) -> io::Result<Summary> {
        // A fix reads the file several times. The content of a pipe would be lost.
        let mut opened = input.open_regular()?;
        let skip_binary = !input.is_named;
        let mut checks = checks.surveyed(&mut opened.file)?;
        let mut summary = scan(&mut opened.file, &checks, skip_binary, &mut |_| {})?;
        if summary.errors == 0 || !matches!(summary.end, FileStatus::Checked) {
            return Ok(summary);
        }
        let mut plan = self.plan(&summary, &checks);
        if checks.bom_if_needed {
            opened.file.rewind()?;
            plan = plan.and_then(|plan| plan.with_needed_bom(&mut opened.file));
        }
        opened.file.rewind()?;
        let fixed = match plan {
            Ok(plan) if self.dry_run => preview(&input.path, &opened, plan, show).map(|()| None),
            Ok(plan) => self.rewrite(input, &opened, plan, &checks, summary.errors).map(Some),
            Err(failed) => Err(failed),
        };
        if matches!(fixed, Ok(Some(_))) {
            checks.survey = checks.survey.after_fix();
        }
        let errors = summary.errors;
        let mut new = None;
        match fixed {
            Ok(None) => {}
            Ok(Some((left, replacement))) => {
                summary = left;
                summary.fixed = Fixed::Rewritten(errors.saturating_sub(summary.errors));
                new = Some(replacement);
            }
            Err(Failed::NoFix(reason)) => summary.fixed = Fixed::Not(reason),
            Err(Failed::Declared(reason)) => {
                summary.fixed = Fixed::Not(reason);
                summary.has_no_command = true;
            }
            Err(Failed::Io(error)) => summary.fixed = Fixed::Failed(error.to_string()),
        }
        if !self.dry_run && summary.errors > 0 {
            opened.file.rewind()?;
            let mut content = new.as_ref().map_or(Ok(&opened.file), Replacement::new_content)?;
            scan(&mut content, &checks, skip_binary, report)?;
        }
        Ok(summary)
    }

    /// Returns the plan to fix a file with these errors, or why it cannot be fixed.
    fn plan<'c>(&self, summary: &Summary, checks: &'c Checks) -> Result<Plan<'c>, Failed> {
        if checks.encoding != Encoding::Utf8.into() {
            return Err(Failed::NoFix(format!("it should be {}, and --fix writes UTF-8", checks.encoding)));
        }
        if summary.guess == Some(Guess::Binary) {
            return Err(Failed::NoFix("it is binary".to_owned()));
        }
        let is_ill_formed = summary.has(ILL_FORMED);
        let has_fix = |rule: &Rule| summary.has(rule.name());
        if !is_ill_formed
            && ![Rule::Bom, Rule::Editorconfig, Rule::JsonEscapes, Rule::Mojibake].iter().any(has_fix)
        {
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
        let is_named = matches!(self.from, Some(From::Charset(_)));
        let is_declared = summary.declared.is_some() && is_ill_formed && !is_named;
        let replaces_escapes = checks.rules.contains(&Rule::JsonEscapes);
        Ok(Plan { source, is_declared, bom: checks.bom, kind: checks.kind, survey, replaces_escapes })
    }

    /// Returns how to decode a file that is not UTF-8, or why that cannot be decided.
    fn source(&self, summary: &Summary) -> Result<FixSource, String> {
        let named = match self.from {
            Some(From::Charset(charset)) => Some(charset),
            Some(From::Auto) | None => None,
        };
        if let Some(declared) = &summary.declared {
            let label = declared.label();
            return match (named, declared.charset()) {
                (Some(named), _) if !declared.allows(named) => {
                    Err(format!("it declares {label}, and --from is {named}"))
                }
                // UTF-8 sequences are kept if the user named the encoding.
                (Some(named), _) if summary.is_mixed => Ok(source_of(named)),
                (Some(named), _) => Ok(FixSource::Other(named)),
                (None, Some(_)) if summary.is_mixed => {
                    Err(format!("it declares {label}, and parts of it are UTF-8"))
                }
                (None, Some(_)) if summary.doubt == Some(Doubt::Letters) => Err(format!(
                    "it declares {label}, and does not look like it: name the encoding with --from"
                )),
                (None, Some(charset)) => Ok(FixSource::Other(charset)),
                (None, None) => {
                    Err(format!("it declares {label}, which cannot be its encoding or is not known"))
                }
            };
        }
        let guess = summary.guess.as_ref();
        let is_auto = self.from == Some(From::Auto);
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

    /// Rewrites a file with this number of errors. Returns the new content and its summary.
    fn rewrite(
        &self,
        input: &Input,
        opened: &Opened,
        plan: Plan<'_>,
        checks: &Checks,
        errors: u64,
    ) -> Result<(Summary, Replacement), Failed> {
        let mut replacement = Replacement::of_input(input, opened)?;
        let mut content = Fingerprinted::new(&opened.file);
        plan.apply(&mut content, &mut |bytes| replacement.write(bytes))?;
        let checks = &Checks { survey: checks.survey.after_fix(), ..checks.clone() };
        let left = scan(&mut replacement.new_content()?, checks, false, &mut |_| {})?;
        if plan.replaces_escapes && left.errors == errors {
            return Err(Failed::NoFix(r"what a `\u` without four digits stands for is not known".to_owned()));
        }
        replacement.commit_content(content.fingerprint(), self.backup.as_deref())?;
        Ok((left, replacement))
    }
}

/// Returns the policy that decodes ill-formed sequences as this encoding, if there is one. Well-formed UTF-8 sequences
/// are kept: files that mix UTF-8 and a legacy encoding are common, but legacy text that is also well-formed UTF-8 is
/// rare.
fn policy_of(charset: NamedEncoding) -> Option<ErrorPolicy> {
    if charset == Encoding::Windows1252.into() {
        Some(ErrorPolicy::Windows1252)
    } else if charset == Encoding::Latin1.into() {
        Some(ErrorPolicy::Latin1)
    } else {
        None
    }
}

fn source_of(charset: NamedEncoding) -> FixSource {
    policy_of(charset).map_or(FixSource::Other(charset), FixSource::Utf8)
}

/// Shows the diff of a fix. The new content is in an unnamed file in the directory for temporary files.
fn preview(
    path: &Path,
    opened: &Opened,
    plan: Plan<'_>,
    show: &mut dyn FnMut(Vec<u8>),
) -> Result<(), Failed> {
    let (mut old, mut new) = (&opened.file, tempfile::tempfile()?);
    plan.apply(&mut old, &mut |bytes| new.write_all(bytes))?;
    old.rewind()?;
    new.rewind()?;
    let lines = match plan.source {
        FixSource::Other(charset) if charset.unit_len() > 1 => DiffLines::Replaced,
        _ => DiffLines::Same,
    };
    let diff = diff::unified(path, &mut BufReader::new(old), &mut BufReader::new(new), lines)?;
    check_unchanged(&opened.metadata, opened.file.metadata(), Expected::Untouched)?;
    show(diff);
    Ok(())
}

impl Plan<'_> {
    /// Decides whether a BOM is written: only before text with characters beyond ASCII, and never before `#!`.
    fn with_needed_bom(self, input: &mut dyn Read) -> Result<Self, Failed> {
        let (mut start, mut is_ascii) = (Vec::<u8>::new(), true);
        Self { bom: BomPolicy::Strip, ..self }.apply(input, &mut |bytes| {
            start.extend(bytes.iter().take(2_usize.saturating_sub(start.len())));
            is_ascii &= bytes.is_ascii();
            Ok(())
        })?;
        let bom = if is_ascii || start == b"#!" { BomPolicy::Keep } else { BomPolicy::Require };
        Ok(Self { bom, ..self })
    }

    /// Converts the content in constant memory.
    fn apply(
        self,
        input: &mut dyn Read,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Failed> {
        let mut buffer = vec![0; BUFFER];
        let mut filled = 0;
        // Declarations are rewritten in the first part of the text.
        while filled < declaration::PREFIX {
            match read(&mut &mut *input, &mut buffer[filled..])? {
                0 => break,
                more => filled += more,
            }
        }
        let charset = match self.source {
            FixSource::Utf8(_) => Encoding::Utf8.into(),
            FixSource::Other(charset) => charset,
        };
        let mut transcoder = self.transcoder(charset, &buffer[..filled]);
        let bom = Encoding::Utf8.bom().unwrap_or_default();
        if self.bom == BomPolicy::Require {
            write(bom)?;
        }
        // If a BOM is forbidden, several of them are removed at once: after the first one, the next would be at the start.
        let mut may_be_bom = self.bom == BomPolicy::Reject;
        let write = &mut |mut bytes: &[u8]| {
            while may_be_bom && !bytes.is_empty() {
                match bytes.strip_prefix(bom) {
                    Some(rest) => bytes = rest,
                    None => may_be_bom = false,
                }
            }
            write(bytes)
        };
        let mut escapes = self.replaces_escapes.then(Escapes::new);
        let write_escaped = &mut |bytes: &[u8]| match &mut escapes {
            Some(escapes) => escapes.fix(Some(bytes), write),
            None => write(bytes),
        };
        let mut text = String::new();
        let ill_formed = |error: Utf8Error| Failed::NoFix(format!("it is not {charset} either: {error}"));
        if self.is_single_byte() && filled < BUFFER && binary::is_noise(&buffer[..filled]) {
            return Err(Failed::NoFix("most of it is not letters, and is probably binary".to_owned()));
        }
        let is_repaired = self.source != FixSource::Utf8(ErrorPolicy::Strict) && charset.unit_len() == 1;
        let (mut is_start, mut is_line_start) = (true, true);
        while filled > 0 {
            if is_repaired && memchr::memchr(0, &buffer[..filled]).is_some() {
                return Err(Failed::NoFix("it contains NUL, and is probably binary".to_owned()));
            }
            let has_controls = || buffer[..filled].iter().any(|byte| (0x80..0xA0).contains(byte));
            if self.is_declared && charset == Encoding::Latin1.into() && has_controls() {
                let reason = "it declares ISO 8859-1, in which the bytes 80 to 9F are control characters: \
                              name the encoding with --from, latin1 or windows-1252";
                return Err(Failed::Declared(reason.to_owned()));
            }
            transcoder.feed_into(&buffer[..filled], &mut text).map_err(ill_formed)?;
            if core::mem::take(&mut is_start) {
                self.declare(&mut text).map_err(Failed::Declared)?;
            }
            let complete = complete_lines(&text);
            self.write(&text[..complete], &mut is_line_start, write_escaped)?;
            text.drain(..complete);
            filled = read(&mut &mut *input, &mut buffer)?;
        }
        transcoder.finish_into(&mut text).map_err(ill_formed)?;
        self.write(&text, &mut is_line_start, write_escaped)?;
        escapes.map_or(Ok(()), |mut escapes| Ok(escapes.fix(None, write)?))
    }

    /// The encoding of text that is not UTF-8.
    fn old_charset(self) -> Option<NamedEncoding> {
        match self.source {
            FixSource::Utf8(ErrorPolicy::Windows1252) => Some(Encoding::Windows1252.into()),
            FixSource::Utf8(ErrorPolicy::Latin1) => Some(Encoding::Latin1.into()),
            FixSource::Utf8(_) => None,
            FixSource::Other(charset) => Some(charset),
        }
    }

    /// Whether every byte is a character of the old encoding.
    fn is_single_byte(self) -> bool {
        self.old_charset().is_some_and(|charset| policy_of(charset).is_some())
    }

    /// Rewrites the declarations in the first part of the text. Returns an error if one remains, because a program that
    /// follows it would decode the new content in the old encoding.
    fn declare(self, text: &mut String) -> Result<(), String> {
        let old = self.old_charset();
        declaration::rewrite(self.kind, old.is_some(), text);
        match old.and_then(|old| declaration::remaining(self.kind, text.as_bytes(), old)) {
            None => Ok(()),
            Some((line, label)) => {
                Err(format!("line {line} would still declare {label}, in a form that --fix does not rewrite"))
            }
        }
    }

    fn transcoder(self, charset: NamedEncoding, start: &[u8]) -> Transcoder {
        let on_error = match self.source {
            FixSource::Utf8(policy) => policy,
            FixSource::Other(_) => ErrorPolicy::Strict,
        };
        // A BOM that only indicates the encoding is removed. If the policy requires a BOM, it was written before the
        // text.
        let bom = match self.bom {
            BomPolicy::Keep if !charset.has_bom() => BomPolicy::Keep,
            _ => BomPolicy::Strip,
        };
        let transcoder = Transcoder::new(charset.encoding_of(start), Encoding::Utf8)
            .with_error_policy(on_error)
            .with_bom_policy(bom)
            .with_switches(Switches::STRICT.with_lenient_java(true));
        charset.restrict(transcoder)
    }

    /// `is_line_start` is whether the text is at the start of a line.
    fn write(
        self,
        text: &str,
        is_line_start: &mut bool,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let Some(survey) = self.survey.filter(|_| !text.is_ascii()) else {
            *is_line_start = if text.is_empty() { *is_line_start } else { text.ends_with('\n') };
            return write(text.as_bytes());
        };
        for line in text.split_inclusive('\n') {
            if Rule::Mojibake.is_allowed_by(line.as_bytes()) {
                write(line.as_bytes())?;
                *is_line_start = line.ends_with('\n');
                continue;
            }
            let mut rest = line;
            while !rest.is_empty() {
                let (segment, after) = rest.split_at(first_len(rest));
                let original = mojibake::undo(segment, survey, *is_line_start);
                *is_line_start = segment.ends_with('\n');
                write(original.as_deref().unwrap_or(segment).as_bytes())?;
                rest = after;
            }
        }
        Ok(())
    }
}

/// Returns the length of the prefix that can be written: all complete lines. If there is no line break and the text is
/// at least as long as the buffer, the prefix has complete segments of the line.
fn complete_lines(text: &str) -> usize {
    match memchr::memrchr(b'\n', text.as_bytes()) {
        Some(at) => at + 1,
        None if text.len() < BUFFER => 0,
        None => long_segments(text.as_bytes()),
    }
}
