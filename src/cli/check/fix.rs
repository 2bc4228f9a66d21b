//! `utf8-codec check --fix`: rewrites files that have errors.
//!
//! A file is read twice: to find its errors, and to create the new content. The complete new content is scanned and
//! then replaces the old content. If it still has errors, it is scanned again to report them.

use core::str::FromStr;
use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, BufReader, Read, Seek, Write};
use std::path::Path;

use utf8_codec::transcode::{Encoding, Switches, Transcoder};
use utf8_codec::{BomPolicy, ErrorPolicy, Utf8Error};

use super::super::atomic::Replacement;
use super::super::charset::NamedEncoding;
use super::super::files::read;
use super::diagnostic::{Diagnostic, FileStatus, Fixed, Summary};
use super::diff::{self, DiffLines};
use super::mojibake::{self, Survey, first_len, long_segments};
use super::rules::Rule;
use super::scan::{Checks, scan, starts_binary};
use super::words::Guess;

/// The size of the read buffer. Mojibake is reversed in whole lines, except in a line that is longer.
const BUFFER: usize = 256 * 1024;

/// The options of `--fix`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct FixArgs {
    /// Rewrite files that have errors, as UTF-8. A file whose encoding is a guess is only rewritten with --from
    #[arg(long, conflicts_with = "quiet")]
    fix: bool,
    /// The encoding of text that is not UTF-8; `auto` is the probable encoding of each file
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
    bom: BomPolicy,
    /// The evidence for text that was encoded twice. `None` if it is kept.
    survey: Option<&'c Survey>,
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
        path: &Path,
        checks: &Checks,
        skip_binary: bool,
        report: &mut dyn FnMut(Diagnostic),
        show: &mut dyn FnMut(Vec<u8>),
    ) -> io::Result<Summary> {
        // A fix reads the file several times. The content of a pipe would be lost.
        if !fs::metadata(path)?.is_file() {
            return Err(io::Error::other("it is not a regular file"));
        }
        let surveyed = checks.surveyed(&mut File::open(path)?)?;
        let mut summary = scan(&mut File::open(path)?, &surveyed, skip_binary, &mut |_| {})?;
        if summary.errors == 0 || !matches!(summary.end, FileStatus::Checked) {
            return Ok(summary);
        }
        let is_binary = starts_binary(&mut File::open(path)?)?;
        let fixed = match self.plan(&summary, &surveyed, is_binary) {
            Ok(plan) if self.dry_run => preview(path, plan, show).map(|()| None),
            Ok(plan) => self.rewrite(path, plan, &surveyed).map(Some),
            Err(reason) => Err(Failed::NoFix(reason)),
        };
        let (errors, mut checks) = (summary.errors, surveyed.clone());
        if matches!(fixed, Ok(Some(_))) {
            checks.survey = surveyed.survey.after_fix();
        }
        match fixed {
            Ok(None) => {}
            Ok(Some(left)) => {
                summary = left;
                summary.fixed = Fixed::Rewritten(errors.saturating_sub(summary.errors));
            }
            Err(Failed::NoFix(reason)) => summary.fixed = Fixed::Not(reason),
            Err(Failed::Io(error)) => summary.fixed = Fixed::Failed(error.to_string()),
        }
        if !self.dry_run && summary.errors > 0 {
            scan(&mut File::open(path)?, &checks, skip_binary, report)?;
        }
        Ok(summary)
    }

    /// Returns the plan to fix a file with these errors, or why it cannot be fixed.
    fn plan<'c>(&self, summary: &Summary, checks: &'c Checks, is_binary: bool) -> Result<Plan<'c>, String> {
        if checks.encoding != Encoding::Utf8.into() {
            return Err(format!("it should be {}, and --fix writes UTF-8", checks.encoding));
        }
        let source = match summary.guess {
            None => FixSource::Utf8(ErrorPolicy::Strict),
            Some(Guess::Windows1252 | Guess::Latin1 | Guess::Cut) if is_binary => {
                return Err("it contains NUL, and is probably binary".to_owned());
            }
            Some(guess) => self.source(guess)?,
        };
        let survey = checks.needs_survey().then_some(&checks.survey);
        let is_fixable = summary.guess.is_some()
            || [Rule::Bom, Rule::Editorconfig, Rule::Mojibake].iter().any(|rule| summary.has(rule.name()));
        match is_fixable {
            true => Ok(Plan { source, bom: checks.bom, survey }),
            false => Err("none of the violated rules has a fix".to_owned()),
        }
    }

    /// Returns how to decode a file with this probable encoding.
    fn source(&self, guess: Guess) -> Result<FixSource, String> {
        let probable = match guess {
            Guess::Utf16 { has_bom: true, .. } => Some("utf-16"),
            Guess::Utf16 { is_little: true, .. } => Some("utf-16le"),
            Guess::Utf16 { .. } => Some("utf-16be"),
            Guess::Utf32 { .. } => Some("utf-32"),
            Guess::Cesu8 => Some("cesu-8"),
            Guess::Java => Some("modified-utf-8"),
            Guess::Windows1252 => Some("windows-1252"),
            Guess::Latin1 => Some("latin1"),
            Guess::Cut => None,
        };
        let is_wide = matches!(guess, Guess::Utf16 { .. });
        let charset = match self.from {
            // The encoding follows from a BOM or from sequences that no other encoding has, so `--from` is not used.
            _ if guess.is_certain() => probable.and_then(|name| name.parse().ok()),
            Some(From::Charset(charset)) if is_wide && policy_of(charset).is_some() => {
                return Err(format!("it is probably {}, and not {charset}", guess.in_words()));
            }
            Some(From::Charset(charset)) => Some(charset),
            Some(From::Auto) => probable.and_then(|name| name.parse().ok()),
            None if guess == Guess::Cut => None,
            None => {
                return Err(format!("its encoding is a guess ({}), and --from is missing", guess.in_words()));
            }
        };
        let charset = charset.ok_or("its last character is incomplete")?;
        Ok(policy_of(charset).map_or(FixSource::Other(charset), FixSource::Utf8))
    }

    /// Rewrites a file. Returns the summary of the new content.
    fn rewrite(&self, path: &Path, plan: Plan<'_>, checks: &Checks) -> Result<Summary, Failed> {
        let (mut content, replacement) = Replacement::of_content(path)?;
        plan.apply(&mut content, &mut |bytes| replacement.write(bytes))?;
        let checks = &Checks { survey: checks.survey.after_fix(), ..checks.clone() };
        let left = scan(&mut replacement.new_content()?, checks, false, &mut |_| {})?;
        replacement.commit_content(self.backup.as_deref())?;
        Ok(left)
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

/// Shows the diff of a fix. The new content is in an unnamed file in the directory for temporary files.
fn preview(path: &Path, plan: Plan<'_>, show: &mut dyn FnMut(Vec<u8>)) -> Result<(), Failed> {
    let (mut old, mut new) = (File::open(path)?, tempfile::tempfile()?);
    plan.apply(&mut old, &mut |bytes| new.write_all(bytes))?;
    old.rewind()?;
    new.rewind()?;
    let lines = match plan.source {
        FixSource::Other(charset) if charset.unit_len() > 1 => DiffLines::Replaced,
        _ => DiffLines::Same,
    };
    show(diff::unified(path, &mut BufReader::new(old), &mut BufReader::new(new), lines)?);
    Ok(())
}

impl Plan<'_> {
    /// Converts the content in constant memory.
    fn apply(
        self,
        input: &mut dyn Read,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Failed> {
        let mut buffer = vec![0; BUFFER];
        let mut filled = 0;
        while filled < 4 {
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
        let mut text = String::new();
        let ill_formed = |error: Utf8Error| Failed::NoFix(format!("it is not {charset} either: {error}"));
        while filled > 0 {
            transcoder.feed(&buffer[..filled], &mut text).map_err(ill_formed)?;
            let complete = complete_lines(&text);
            self.write(&text[..complete], write)?;
            text.drain(..complete);
            filled = read(&mut &mut *input, &mut buffer)?;
        }
        transcoder.finish(&mut text).map_err(ill_formed)?;
        self.write(&text, write)?;
        Ok(())
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
            .on_error(on_error)
            .bom(bom)
            .switches(Switches::STRICT.lenient_java());
        charset.restrict(transcoder)
    }

    fn write(self, text: &str, write: &mut dyn FnMut(&[u8]) -> io::Result<()>) -> io::Result<()> {
        let Some(survey) = self.survey.filter(|_| !text.is_ascii()) else { return write(text.as_bytes()) };
        for line in text.split_inclusive('\n') {
            if Rule::Mojibake.is_allowed_by(line.as_bytes()) {
                write(line.as_bytes())?;
                continue;
            }
            let mut rest = line;
            while !rest.is_empty() {
                let (segment, after) = rest.split_at(first_len(rest));
                let original = mojibake::undo(segment, survey);
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
