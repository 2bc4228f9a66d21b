//! The report for people.

use core::fmt::Write as _;
use std::io::{self, Write};

use super::Reporter;
use super::command::{command_for, shell_word};
use super::excerpt::Excerpt;
use super::totals::{Totals, counted};
use crate::check::diagnostic::{Context, Diagnostic, Fixed, Summary};
use crate::escape;
use crate::files::name_of;
use crate::guess::languages::Doubt;
use crate::walk::Input;

/// The number of encodings that are shown if it is not known.
const CANDIDATES: usize = 5;

impl<W: Write> Reporter<W> {
    fn style(&self, code: &str) -> (String, &'static str) {
        if self.has_color { (format!("\x1B[{code}m"), "\x1B[0m") } else { (String::new(), "") }
    }

    /// Appends the lines about a place. `file` is the name of the file.
    pub(super) fn human(&self, out: &mut Vec<u8>, file: &str, diagnostic: &Diagnostic) {
        let ((red, end), (blue, _)) = (self.style("1;31"), self.style("34"));
        let location = diagnostic.location;
        let (line, column) = (location.line + 1, location.columns.characters + 1);
        let message = escape::text(&diagnostic.message.to_string());
        let name = diagnostic.problem.name();
        let number = line.to_string();
        let indent = number.len();
        let _ = write!(out, "{red}error{end}: {message} [{name}]\n{:indent$}{blue}-->{end} ", "");
        let _ = writeln!(out, "{file}:{line}:{column} (byte {})", location.offset);
        if let Some(context) = &diagnostic.context {
            let columns = self.columns.saturating_sub(indent + 3);
            if let Some(Excerpt { line, carets }) = Excerpt::of(context, columns) {
                let _ = writeln!(out, "{:indent$} {blue}|{end}", "");
                let _ = writeln!(out, "{blue}{number} |{end} {line}");
                let _ = writeln!(out, "{:indent$} {blue}|{end} {red}{carets}{end}", "");
            }
            let from = (location.offset - context.row.offset) as usize;
            let row = hex_row(context, from, diagnostic.len as usize);
            let _ = writeln!(out, "{:indent$} {blue}={end} {row}", "");
        }
        out.push(b'\n');
    }

    /// Writes what is known about a file as a whole, and the command that fixes it.
    pub(super) fn human_diagnosis(&mut self, input: &Input, summary: &Summary) -> io::Result<()> {
        let (bold, end) = self.style("1");
        let name = name_of(&input.path);
        let mut out = String::new();
        if let Some(diagnosis) = summary.diagnosis() {
            let _ = writeln!(out, "{bold}{name}{end} is {}", escape::text(&diagnosis));
            for (encoding, line) in summary.candidates.iter().take(CANDIDATES) {
                let _ = writeln!(out, "  in {encoding}: {}", escape::text(line));
            }
            // `--from` has no effect on a file whose declaration cannot be true.
            let has_command =
                !summary.has_no_command && !matches!(summary.reading, Some(Err(Doubt::Unknown)));
            if !summary.candidates.is_empty() && has_command {
                let command = match input.is_stdin {
                    true => "convert --from ENCODING".to_owned(),
                    false => format!("check --fix --from ENCODING {}", shell_word(&input.path)),
                };
                let _ = writeln!(out, "  if it is one of these: utf8-codec {command}");
            }
            if let Some(command) = command_for(input, summary) {
                let _ = writeln!(out, "  to fix it: utf8-codec {command}");
            }
        }
        match &summary.fixed {
            Fixed::Nothing | Fixed::Failed(_) => {}
            Fixed::Rewritten(errors, changes) => {
                let _ = writeln!(out, "{name}: {} fixed: {}", counted(*errors, "error"), changes.join(", "));
            }
            Fixed::Not(reason) => {
                let _ = writeln!(out, "{name} is not fixed: {}", escape::text(reason));
            }
        }
        if !out.is_empty() {
            writeln!(self.out, "{out}")?;
        }
        Ok(())
    }

    pub(super) fn human_totals(&mut self) -> io::Result<()> {
        let Totals { files, bad_files, binary, unreadable, errors, fixed, fixed_files, fixable, .. } =
            self.totals;
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
        if fixable > 0 {
            line.push_str(&format!(", {fixable} fixable with --fix"));
        }
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
        if self.has_stats { self.stats() } else { Ok(()) }
    }

    pub(super) fn stats(&mut self) -> io::Result<()> {
        let Totals { bytes, lines, characters, longest_line, .. } = self.totals;
        writeln!(
            self.out,
            "bytes         {bytes}\nlines         {lines}\ncharacters    {characters}\nlongest line  {longest_line} characters"
        )
    }
}

/// Returns a row of a hex dump, `000010: 61 62[C3] 28`, with brackets around the error.
fn hex_row(context: &Context, from: usize, len: usize) -> String {
    let (mut row, mut is_open) = (format!("{:06X}:", context.row.offset), false);
    for (at, byte) in context.row.bytes().iter().enumerate() {
        let open = if at == from && len > 0 { '[' } else { ' ' };
        let _ = write!(row, "{open}{byte:02X}");
        is_open |= at == from && len > 0;
        if is_open && at + 1 == (from + len).min(context.row.bytes().len()) {
            row.push(']');
            is_open = false;
        }
    }
    row
}
