//! The report for people.

use core::fmt::Write as _;
use std::io::{self, Write};
use std::path::Path;

use super::{Reporter, Totals, counted};
use crate::check::diagnostic::{Context, Diagnostic, Fixed, ILL_FORMED, Summary};
use crate::check::languages::Doubt;
use crate::check::words::Guess;
use crate::escape;
use crate::files::name_of;
use crate::walk::Input;

/// The number of encodings that are shown if it is not known.
const CANDIDATES: usize = 5;

impl<W: Write> Reporter<W> {
    fn style(&self, code: &str) -> (String, &'static str) {
        if self.has_color { (format!("\x1B[{code}m"), "\x1B[0m") } else { (String::new(), "") }
    }

    pub(super) fn human(&mut self, path: &Path, diagnostic: &Diagnostic) -> io::Result<()> {
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

    pub(super) fn human_end_of_file(
        &mut self,
        input: &Input,
        summary: &Summary,
        unreported: u64,
    ) -> io::Result<()> {
        let path = &*input.path;
        if unreported > 0 {
            writeln!(self.out, "{}: and {unreported} more errors\n", name_of(path))?;
        }
        match &summary.fixed {
            Fixed::Nothing | Fixed::Failed(_) => {}
            Fixed::Rewritten(errors, changes) => {
                let (errors, changes) = (counted(*errors, "error"), changes.join(", "));
                writeln!(self.out, "{}: {errors} fixed: {changes}\n", name_of(path))?;
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
            None if summary.has(ILL_FORMED) => writeln!(self.out, "{name} is in an unknown encoding")?,
            None => return Ok(()),
        }
        let file = shell_word(path);
        let file = Some(file.as_str()).filter(|_| !input.is_stdin);
        for (encoding, line) in summary.candidates.iter().take(CANDIDATES) {
            writeln!(self.out, "  in {encoding}: {}", escape::text(line))?;
        }
        // `--from` has no effect on a file whose declaration cannot be true.
        if !summary.candidates.is_empty() && !matches!(summary.reading, Some(Err(Doubt::Unknown))) {
            let command = match file {
                Some(file) => format!("check --fix --from ENCODING {file}"),
                None => "convert --from ENCODING".to_owned(),
            };
            writeln!(self.out, "  if it is one of these: utf8-codec {command}")?;
        }
        // What prevents `--fix` from replacing the file, such as a hard link, is also a reason against `-o`.
        let has_command = !summary.has_no_command && !matches!(summary.fixed, Fixed::Failed(_));
        let guess = summary.guess.as_ref().filter(|_| has_command);
        if let Some(command) = guess.and_then(|guess| guess.command(file)) {
            writeln!(self.out, "  to fix it: utf8-codec {command}")?;
        }
        writeln!(self.out)
    }

    pub(super) fn human_totals(&mut self) -> io::Result<()> {
        let Totals { files, bad_files, binary, unreadable, errors, fixed, fixed_files, .. } = self.totals;
        let Totals { bytes, lines, characters, longest_line, .. } = self.totals;
        let (green, red, end) = (self.style("32").0, self.style("31").0, self.style("0").1);
        let mut line = format!("{} checked: ", self.totals.checked());
        match errors {
            0 => write!(line, "{green}no errors{end}"),
            _ if files == 1 && self.totals.stdin.is_some() => {
                write!(line, "{red}{}{end}", counted(errors, "error"))
            }
            _ => write!(line, "{red}{} in {}{end}", counted(errors, "error"), counted(bad_files, "file")),
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
        Ok(())
    }
}

/// Returns the line, and a second line with carets under the error.
fn excerpt(context: &Context) -> (String, String) {
    let (before, rest) = context.line.split_at(context.at.min(context.line.len()));
    let (covered, after) = rest.split_at(context.covered.min(rest.len()));
    let dots = |is_cut: bool| if is_cut { "..." } else { "" };
    let before = format!("{}{}", dots(context.is_cut.0), escape::bytes(before));
    let covered = escape::error_bytes(covered);
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
