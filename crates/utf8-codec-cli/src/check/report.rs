//! Writes reports to stdout, in all formats.

use core::fmt::Write as _;
use core::num::NonZeroUsize;
use std::io::{self, Write};
use std::path::Path;

use clap::ValueEnum;
use serde_json::{Value, json};
use utf8_codec::locate::Columns;

use super::diagnostic::{Context, Diagnostic, FileStatus, Fixed, ILL_FORMED, Problem, Summary};
use super::repository::Repository;
use super::sarif::{Notifications, sarif_end, sarif_result, sarif_start};
use super::words::Guess;
use crate::escape;
use crate::files::{file_members, is_standard, name_of, write_object};

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
}

/// The totals over all files.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Totals {
    pub(super) files: u64,
    pub(super) bad_files: u64,
    pub(super) binary: u64,
    pub(super) unreadable: u64,
    pub(super) errors: u64,
    pub(super) fixed: u64,
    pub(super) fixed_files: u64,
    pub(super) not_fixed: u64,
    /// Files that could not be rewritten.
    pub(super) not_written: u64,
    pub(super) bytes: u64,
    pub(super) lines: u64,
    pub(super) characters: u64,
    pub(super) longest_line: u64,
    /// The length of stdin, if it was checked.
    stdin: Option<u64>,
}

impl Totals {
    fn add(&mut self, path: &Path, summary: &Summary) {
        match summary.end {
            FileStatus::Checked => {
                if is_standard(path) {
                    self.stdin = Some(summary.bytes);
                }
                self.files += 1;
                self.bad_files += u64::from(summary.errors > 0);
                self.errors += summary.errors;
                match summary.fixed {
                    Fixed::Nothing => {}
                    Fixed::Rewritten(errors) => {
                        self.fixed += errors;
                        self.fixed_files += 1;
                    }
                    Fixed::Not(_) => self.not_fixed += 1,
                    Fixed::Failed(_) => {
                        self.not_fixed += 1;
                        self.not_written += 1;
                    }
                }
                self.bytes += summary.bytes;
                self.lines += summary.lines;
                self.characters += summary.characters;
                self.longest_line = self.longest_line.max(summary.longest_line);
            }
            FileStatus::Binary => self.binary += 1,
            FileStatus::Unreadable(_) => self.unreadable += 1,
        }
    }

    /// Returns what was checked. An empty stdin is named, because a caller that forgets the path, or a pipe whose first
    /// command fails, also has no errors.
    fn checked(&self) -> String {
        let stdin = match self.stdin {
            None => return counted(self.files, "file"),
            Some(0) => "empty standard input",
            Some(_) => "standard input",
        };
        match self.files - 1 {
            0 => stdin.to_owned(),
            files => format!("{} and {stdin}", counted(files, "file")),
        }
    }
}

/// Writes the reports of all files.
pub(super) struct Reporter<W> {
    pub(super) out: W,
    pub(super) format: Format,
    pub(super) is_quiet: bool,
    pub(super) has_stats: bool,
    pub(super) has_color: bool,
    pub(super) max_errors: Option<NonZeroUsize>,
    pub(super) totals: Totals,
    /// Whether a SARIF result has been written, so that the next one needs a comma.
    pub(super) has_result: bool,
    pub(super) repository: Repository,
    pub(super) notifications: Notifications,
}

impl<W: Write> Reporter<W> {
    pub(super) fn begin(&mut self) -> io::Result<()> {
        if self.format != Format::Sarif || self.is_quiet {
            return Ok(());
        }
        sarif_start(&mut self.out)
    }

    pub(super) fn diagnostic(&mut self, path: &Path, diagnostic: &Diagnostic) -> io::Result<()> {
        match self.format {
            _ if self.is_quiet => Ok(()),
            Format::Human => self.human(path, diagnostic),
            Format::Short => {
                let Columns { characters, .. } = diagnostic.location.columns;
                let (line, column) = (diagnostic.location.line + 1, characters + 1);
                writeln!(self.out, "{}:{line}:{column}: {}", name_of(path), escape::text(&diagnostic.message))
            }
            Format::Json => write_object(&mut self.out, &object(path, diagnostic)),
            Format::Sarif => {
                let comma = if core::mem::replace(&mut self.has_result, true) { "," } else { "" };
                let path = self.repository.relative(path);
                write!(self.out, "{comma}\n{}", sarif_result(path, diagnostic))
            }
            Format::Github => {
                let columns = diagnostic.location.columns;
                let (line, column) = (diagnostic.location.line + 1, columns.characters + 1);
                writeln!(
                    self.out,
                    "::error file={},line={line},endLine={line},col={column},endColumn={},title={}::{}",
                    github_path(self.repository.relative(path)),
                    column + diagnostic.width.characters,
                    diagnostic.problem.name(),
                    github_value(&escape::text(&diagnostic.message), false),
                )
            }
        }
    }

    pub(super) fn end_of_file(&mut self, path: &Path, summary: &Summary) -> io::Result<()> {
        self.totals.add(path, summary);
        let unreported = summary.unreported(self.max_errors);
        let failed = summary.failed();
        match self.format {
            _ if self.is_quiet => Ok(()),
            Format::Human if summary.errors > 0 || !matches!(summary.fixed, Fixed::Nothing) => {
                if unreported > 0 {
                    writeln!(self.out, "{}: and {unreported} more errors\n", name_of(path))?;
                }
                match &summary.fixed {
                    Fixed::Nothing | Fixed::Failed(_) => {}
                    Fixed::Rewritten(errors) => {
                        writeln!(self.out, "{}: {} fixed\n", name_of(path), counted(*errors, "error"))?;
                    }
                    Fixed::Not(reason) => {
                        writeln!(self.out, "{} is not fixed: {}\n", name_of(path), escape::text(reason))?;
                    }
                }
                let (bold, end) = self.style("1");
                let name = format!("{bold}{}{end}", name_of(path));
                match &summary.guess {
                    Some(Guess::Binary) => writeln!(self.out, "{name} is binary")?,
                    Some(guess) => writeln!(self.out, "{name} is probably {}", guess.in_words())?,
                    None if summary.has(ILL_FORMED) => {
                        writeln!(self.out, "{name} is in an unknown encoding")?
                    }
                    None => return Ok(()),
                }
                let file = shell_word(path);
                let file = Some(file.as_str()).filter(|_| !is_standard(path));
                // What prevents `--fix` from replacing the file, such as a hard link, is also a reason against `-o`.
                let has_command = !summary.has_no_command && !matches!(summary.fixed, Fixed::Failed(_));
                let guess = summary.guess.as_ref().filter(|_| has_command);
                if let Some(command) = guess.and_then(|guess| guess.command(file)) {
                    writeln!(self.out, "  to fix it: utf8-codec {command}")?;
                }
                writeln!(self.out)
            }
            Format::Short if unreported > 0 => {
                writeln!(self.out, "{}: and {unreported} more errors", name_of(path))
            }
            Format::Github => {
                let file = github_path(self.repository.relative(path));
                if let Some(failed) = failed {
                    writeln!(self.out, "::error file={file}::{}", github_value(&failed, false))?;
                }
                if unreported > 0 {
                    writeln!(self.out, "::notice file={file}::and {unreported} more errors")?;
                }
                Ok(())
            }
            Format::Sarif => {
                if let Some(failed) = failed {
                    self.notifications.push(self.repository.relative(path), &failed);
                }
                Ok(())
            }
            Format::Json => write_object(&mut self.out, &summary_object(path, summary, unreported)),
            _ => Ok(()),
        }
    }

    /// Writes a diff unchanged, or escaped for a terminal.
    pub(super) fn diff(&mut self, diff: &[u8], is_terminal: bool) -> io::Result<()> {
        if !is_terminal {
            return self.out.write_all(diff);
        }
        for line in diff.split_inclusive(|&byte| byte == b'\n') {
            writeln!(self.out, "{}", escape::bytes(line.strip_suffix(b"\n").unwrap_or(line)))?;
        }
        Ok(())
    }

    pub(super) fn finish(&mut self) -> io::Result<()> {
        let Totals { files, bad_files, binary, unreadable, errors, fixed, fixed_files, not_fixed, .. } =
            self.totals;
        let Totals { bytes, lines, characters, longest_line, .. } = self.totals;
        if self.is_quiet {
            return self.out.flush();
        }
        match self.format {
            Format::Human => {
                let (green, red, end) = (self.style("32").0, self.style("31").0, self.style("0").1);
                let mut line = format!("{} checked: ", self.totals.checked());
                match errors {
                    0 => write!(line, "{green}no errors{end}"),
                    _ if files == 1 && self.totals.stdin.is_some() => {
                        write!(line, "{red}{}{end}", counted(errors, "error"))
                    }
                    _ => write!(
                        line,
                        "{red}{} in {}{end}",
                        counted(errors, "error"),
                        counted(bad_files, "file")
                    ),
                }
                .map_err(io::Error::other)?;
                if fixed_files > 0 {
                    let (errors, files) = (counted(fixed, "error"), counted(fixed_files, "file"));
                    line.push_str(&format!(", {errors} fixed in {files}"));
                }
                if binary > 0 {
                    line.push_str(&format!(", {} skipped", counted(binary, "binary file")));
                }
                if unreadable > 0 {
                    line.push_str(&format!(", {} could not be read", counted(unreadable, "path")));
                }
                writeln!(self.out, "{line}")?;
                if self.has_stats {
                    writeln!(
                        self.out,
                        "bytes         {bytes}\nlines         {lines}\ncharacters    {characters}\nlongest line  {longest_line} characters"
                    )?;
                }
            }
            Format::Sarif => sarif_end(&mut self.out, &self.notifications)?,
            Format::Json if self.has_stats => {
                let stats = json!({
                    "type": "stats", "files": files, "bad_files": bad_files, "binary_files": binary,
                    "unreadable_files": unreadable, "errors": errors, "fixed": fixed, "fixed_files": fixed_files,
                    "files_not_fixed": not_fixed, "bytes": bytes, "lines": lines,
                    "characters": characters, "longest_line": longest_line,
                });
                write_object(&mut self.out, &stats)?;
            }
            Format::Json | Format::Short | Format::Github => {}
        }
        self.out.flush()
    }

    fn style(&self, code: &str) -> (String, &'static str) {
        if self.has_color { (format!("\x1B[{code}m"), "\x1B[0m") } else { (String::new(), "") }
    }

    fn human(&mut self, path: &Path, diagnostic: &Diagnostic) -> io::Result<()> {
        let ((red, end), (blue, _)) = (self.style("1;31"), self.style("34"));
        let location = diagnostic.location;
        let (line, column) = (location.line + 1, location.columns.characters + 1);
        writeln!(
            self.out,
            "{red}error{end}: {} [{}]",
            escape::text(&diagnostic.message),
            diagnostic.problem.name()
        )?;
        let number = line.to_string();
        let indent = number.len();
        writeln!(
            self.out,
            "{:indent$}{blue}-->{end} {}:{line}:{column} (byte {})",
            "",
            name_of(path),
            location.offset
        )?;
        if let Some(context) = &diagnostic.context {
            let (shown, carets) = excerpt(context);
            writeln!(self.out, "{:indent$} {blue}|{end}", "")?;
            writeln!(self.out, "{blue}{number} |{end} {shown}")?;
            writeln!(self.out, "{:indent$} {blue}|{end} {red}{carets}{end}", "")?;
            let from = (location.offset - context.row_offset) as usize;
            writeln!(
                self.out,
                "{:indent$} {blue}={end} {}",
                "",
                hex_row(context, from, diagnostic.len as usize)
            )?;
        }
        writeln!(self.out)
    }
}

/// Returns the line, and a second line with carets under the error.
fn excerpt(context: &Context) -> (String, String) {
    let (before, rest) = context.line.split_at(context.at.min(context.line.len()));
    let (covered, after) = rest.split_at(context.covered.min(rest.len()));
    let dots = |is_cut: bool| if is_cut { "..." } else { "" };
    let before = format!("{}{}", dots(context.is_cut.0), escape::bytes(before));
    let covered = escape::bytes(covered);
    let shown = format!("{before}{covered}{}{}", escape::bytes(after), dots(context.is_cut.1));
    let (indent, width) = (before.chars().count(), covered.chars().count().max(1));
    (shown, format!("{:indent$}{}", "", "^".repeat(width)))
}

/// Returns a row of a hex dump, `000010: 61 62[C3] 28`, with brackets around the error.
fn hex_row(context: &Context, from: usize, len: usize) -> String {
    let (mut row, mut is_open) = (format!("{:06X}:", context.row_offset), false);
    for (at, byte) in context.row.iter().enumerate() {
        let open = if at == from && len > 0 { '[' } else { ' ' };
        let _ = write!(row, "{open}{byte:02X}");
        is_open |= at == from && len > 0;
        if is_open && at + 1 == (from + len).min(context.row.len()) {
            row.push(']');
            is_open = false;
        }
    }
    row
}

pub(super) fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

/// Returns a file name quoted for a shell. A name that cannot be printed becomes `FILE`. A name that starts with `-` would
/// be an option.
fn shell_word(path: &Path) -> String {
    match path.to_str() {
        Some(name) if name.starts_with('-') && name != "-" => shell_word(&Path::new(".").join(name)),
        Some(name) if escape::text(name) != name => "FILE".to_owned(),
        Some(name) if name.chars().all(|c| c.is_alphanumeric() || "./_-+@%:,=".contains(c)) => {
            name.to_owned()
        }
        Some(name) => format!("'{}'", name.replace('\'', r"'\''")),
        None => "FILE".to_owned(),
    }
}

/// Escapes a path for the property `file` of a GitHub workflow command.
pub(super) fn github_path(path: &Path) -> String {
    let path = path.to_string_lossy();
    github_value(&if cfg!(windows) { path.replace('\\', "/").into() } else { path }, true)
}

/// Escapes a value of a GitHub workflow command (`escapeProperty` and `escapeData` of `@actions/core`): `%`, CR and LF, and
/// in a property `:` and `,`. TAB is kept. A command has no notation for the other control characters.
pub(super) fn github_value(value: &str, is_property: bool) -> String {
    let mut out = String::with_capacity(value.len());
    for character in value.chars() {
        match character {
            '%' => out.push_str("%25"),
            '\r' => out.push_str("%0D"),
            '\n' => out.push_str("%0A"),
            ':' if is_property => out.push_str("%3A"),
            ',' if is_property => out.push_str("%2C"),
            _ if character.is_control() && character != '\t' => escape::push_code_point(&mut out, character),
            _ => out.push(character),
        }
    }
    out
}

fn object(path: &Path, diagnostic: &Diagnostic) -> Value {
    let (location, columns) = (diagnostic.location, diagnostic.location.columns);
    let mut object = file_members(path);
    object["type"] = json!("error");
    object["rule"] = json!(diagnostic.problem.name());
    if let Problem::IllFormed(kind) | Problem::Bom(kind, _) = diagnostic.problem {
        object["kind"] = json!(kind.as_str());
    }
    object["message"] = json!(diagnostic.message);
    object["offset"] = json!(location.offset);
    object["len"] = json!(diagnostic.len);
    object["line"] = json!(location.line + 1);
    object["column"] = json!(columns.characters + 1);
    object["byte_column"] = json!(columns.bytes + 1);
    object["utf16_column"] = json!(columns.utf16 + 1);
    object
}

fn summary_object(path: &Path, summary: &Summary, unreported: u64) -> Value {
    let mut object = file_members(path);
    object["type"] = json!("summary");
    match &summary.end {
        FileStatus::Checked => {
            object["ok"] = json!(summary.errors == 0);
            object["errors"] = json!(summary.errors);
            object["unreported"] = json!(unreported);
            object["bytes"] = json!(summary.bytes);
            object["lines"] = json!(summary.lines);
            match &summary.fixed {
                Fixed::Nothing => {}
                Fixed::Rewritten(errors) => object["fixed"] = json!(errors),
                Fixed::Not(reason) | Fixed::Failed(reason) => object["not_fixed"] = json!(reason),
            }
            match &summary.guess {
                Some(Guess::Binary) => object["binary"] = json!(true),
                Some(guess) => object["probably"] = json!(guess.in_words()),
                None => {}
            }
        }
        FileStatus::Binary => object["binary"] = json!(true),
        FileStatus::Unreadable(error) => object["unreadable"] = json!(error),
    }
    object
}
