//! `utf8-codec mail`: checks whether the text of each part of a message is UTF-8.

use std::io::{self, BufWriter, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use memchr::memchr;
use serde_json::{Value, json};
use utf8_codec_mail::{MessageValidator, MessageVerdict, MimeError, MimeSettings, PartKind, PartVerdict};

use crate::escape;
use crate::files::{BUFFER, file_members, name_of, read, write_object};
use crate::log::Verbosity;
use crate::outcome::{CommandResult, CommandStatus, cannot_write, print_error};
use crate::walk::{Input, WalkArgs};

/// Report for each part of mail messages whether its text is UTF-8, and where it is not
///
/// Reads messages (.eml), mailboxes (mbox: the first line starts with `From `) and directories, such as a Maildir, with
/// their hidden files; files with NUL and the `tmp` of a Maildir are skipped there. In a mailbox messages are counted
/// from 1, and offsets from the start of each message: the report has its line and its offset in the file.
///
/// Exit status 0: no errors. 1: some text is not UTF-8, or a message is ambiguous. 2: some files could not be read.
/// Warnings, such as white space before the colon of a field, do not change the exit status.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files and directories to read; `-` is stdin [default: -, which must not be empty]
    #[arg(value_name = "PATH")]
    files: Vec<PathBuf>,
    /// Report format: text is a tree; json is one object per line, for each message
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Accept base64 without padding, with unused bits that are not zero, or concatenated from several bodies
    #[arg(long)]
    lenient: bool,
    /// Also check text in other charsets: bodies and encoded words with a label of the web, except UTF-16
    #[arg(long)]
    charsets: bool,
    /// Print no report; only the exit status
    #[arg(long, short)]
    quiet: bool,
    #[command(flatten)]
    verbosity: Verbosity,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Format {
    Text,
    Json,
}

impl Args {
    pub(super) fn run(self) -> CommandResult {
        self.verbosity.start()?;
        let files = if self.files.is_empty() { vec!["-".into()] } else { self.files.clone() };
        let mut inputs = WalkArgs::all(files).collect()?;
        inputs.retain(|input| input.is_named || !is_incomplete(&input.path));
        for_each(&inputs, |input, out| self.check(input, out))
    }

    /// Checks a file. Returns whether none of its messages has an error.
    fn check(&self, input: &Input, out: &mut dyn Write) -> Result<bool, Failed> {
        let file = &*input.path;
        let is_named = input.is_named;
        let mut input = input.read().map_err(Failed::Read)?;
        let mut settings = MimeSettings::default();
        (settings.lenient, settings.other_charsets) = (self.lenient, self.charsets);
        let mut mailbox = Mailbox::new(MessageValidator::with_settings(settings));
        let mut buffer = vec![0; BUFFER];
        let mut kept = 0;
        let mut good = true;
        loop {
            let read = read(&mut input, &mut buffer[kept..]).map_err(Failed::Read)?;
            let len = kept + read;
            let end = read == 0;
            if !is_named && mailbox.is_empty() && memchr(0, &buffer[..len]).is_some() {
                return Ok(true);
            }
            if end && self.files.is_empty() && mailbox.is_empty() && len == 0 {
                // A call without a file, as from a script that forgot it, would have no errors.
                return Err(Failed::Read(io::Error::other("there is no FILE, and standard input is empty")));
            }
            let taken = mailbox.feed(&buffer[..len], end, |message, verdict| {
                good &= verdict.is_ok();
                self.write(file, message, &verdict, out).map_err(Failed::Write)
            })?;
            if end {
                return Ok(good);
            }
            buffer.copy_within(taken..len, 0);
            kept = len - taken;
        }
    }

    fn write(
        &self,
        file: &Path,
        message: Option<Start>,
        verdict: &MessageVerdict,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self.format {
            _ if self.quiet => Ok(()),
            Format::Text => tree(file, message, verdict, out),
            Format::Json => write_object(out, &object(file, message, verdict)),
        }
    }
}

/// The reason why a command stopped before the end of a file.
enum Failed {
    /// The file could not be read. The command continues with the next file.
    Read(io::Error),
    /// The report could not be written. The command ends.
    Write(io::Error),
}

/// Reads the files one after the other and writes a report to stdout. `report` returns whether the file has no errors.
///
/// A file that cannot be read is reported in one line on stderr, and the next file is read.
fn for_each(
    files: &[Input],
    mut report: impl FnMut(&Input, &mut dyn Write) -> Result<bool, Failed>,
) -> CommandResult {
    let mut out = BufWriter::new(io::stdout().lock());
    let mut status = CommandStatus::Success;
    for file in files {
        match report(file, &mut out) {
            Ok(true) => {}
            Ok(false) => status = status.max(CommandStatus::IllFormed),
            Err(Failed::Read(error)) => {
                status = CommandStatus::Trouble;
                print_error(&format!("cannot read {}: {error}", file.path.display()));
            }
            Err(Failed::Write(error)) => return Err(cannot_write(error)),
        }
    }
    out.flush().map_err(cannot_write)?;
    Ok(status)
}

/// Whether a file is in the directory of a Maildir for messages that are being delivered.
fn is_incomplete(path: &Path) -> bool {
    let directory = path.parent().filter(|parent| parent.ends_with("tmp"));
    directory.and_then(Path::parent).is_some_and(|maildir| maildir.join("cur").is_dir())
}

/// The start of a line that separates the messages of an mbox file. An empty line before it is optional, and is not
/// part of a message.
const SEPARATOR: &[u8] = b"From ";

/// The number of bytes that determine whether a file is an mbox: a BOM, a separator and the byte after it.
const MAX_START: usize = 3 + SEPARATOR.len() + 1;

/// Whether a file that starts with these bytes is an mbox. It may start with a BOM, which is a warning in its first
/// message. `From :` is a field.
fn starts_mailbox(file: &[u8]) -> bool {
    let start = file.strip_prefix("\u{feff}".as_bytes()).unwrap_or(file);
    start.strip_prefix(SEPARATOR).is_some_and(|after| !after.starts_with(b":"))
}

/// Splits a file into messages.
struct Mailbox {
    validator: MessageValidator,
    state: State,
    /// The start of the current message.
    start: Start,
    /// The number of bytes consumed before this call.
    offset: u64,
    /// The number of lines that have ended.
    lines: u64,
}

/// The start of a message in an mbox: the line of its separator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Start {
    /// The number of the message, counted from 1.
    number: u64,
    /// The offset in the file in bytes.
    offset: u64,
    /// The line in the file, counted from 1.
    line: u64,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// Before the first line, which determines the type of the file.
    New,
    Message,
    /// In an mbox, at the start of a line.
    LineStart,
    /// In an mbox, inside a line.
    Line,
}

impl Mailbox {
    const fn new(validator: MessageValidator) -> Self {
        let start = Start { number: 1, offset: 0, line: 1 };
        Self { validator, state: State::New, start, offset: 0, lines: 0 }
    }

    /// Whether nothing was consumed.
    const fn is_empty(&self) -> bool {
        self.offset == 0
    }

    /// Reads bytes of the file. Calls `each` for every message that ends in them, with its verdict and, in an mbox, its
    /// start. Returns the number of bytes consumed. The rest, a few bytes at most, must be passed again with more
    /// bytes, unless `end` is set.
    fn feed<E>(
        &mut self,
        data: &[u8],
        end: bool,
        mut each: impl FnMut(Option<Start>, MessageVerdict) -> Result<(), E>,
    ) -> Result<usize, E> {
        if self.state == State::New {
            if data.len() < MAX_START && !end {
                return Ok(0);
            }
            self.state = if starts_mailbox(data) { State::Line } else { State::Message };
        }
        let mut from = 0;
        let mut at = 0;
        while self.state != State::Message && at < data.len() {
            let rest = &data[at..];
            if self.state == State::Line {
                let line = memchr(b'\n', rest).map(|end| end + 1);
                at += line.unwrap_or(rest.len());
                self.lines += u64::from(line.is_some());
                self.state = if line.is_some() { State::LineStart } else { State::Line };
                continue;
            }
            let blank =
                [&b"\r\n"[..], b"\n"].into_iter().find(|blank| rest.starts_with(blank)).unwrap_or_default();
            let next = &rest[blank.len()..];
            if next.starts_with(SEPARATOR) {
                self.validator.push(&data[from..at]);
                each(Some(self.start), self.validator.finish())?;
                at += blank.len();
                from = at;
                self.lines += u64::from(!blank.is_empty());
                let number = self.start.number + 1;
                let offset = self.offset + at as u64;
                self.start = Start { number, offset, line: self.lines + 1 };
            } else if !end && (SEPARATOR.starts_with(next) || rest == b"\r") {
                break;
            }
            self.state = State::Line;
        }
        let taken = if self.state == State::Message { data.len() } else { at };
        self.validator.push(&data[from..taken]);
        if end {
            let message = (self.state != State::Message).then_some(self.start);
            each(message, self.validator.finish())?;
        }
        self.offset += taken as u64;
        Ok(taken)
    }
}

fn object(file: &Path, message: Option<Start>, verdict: &MessageVerdict) -> Value {
    let mut object = file_members(file);
    object["ok"] = json!(verdict.is_ok());
    let is_alone = verdict.parts.len() == 1;
    let shown = verdict
        .parts
        .iter()
        .filter(|part| is_alone || part.is_text() || part.error_count() + part.warning_count() > 0);
    object["parts"] = shown.map(part_object).collect();
    if let Some(Start { number, offset, line }) = message {
        object["message"] = json!(number);
        object["message_offset"] = json!(offset);
        object["message_line"] = json!(line);
    }
    object
}

fn part_object(part: &PartVerdict) -> Value {
    json!({
        "path": part.path.to_string(),
        "type": part.content_type,
        "charset": part.charset,
        "encoding": part.encoding.map(|encoding| encoding.as_str()),
        "ok": part.is_ok(),
        "characters": part.characters,
        "errors": part.errors().iter().map(error_object).collect::<Vec<_>>(),
        "warnings": part.warnings().iter().map(error_object).collect::<Vec<_>>(),
    })
}

fn error_object(error: &MimeError) -> Value {
    json!({
        "offset": error.offset,
        "decoded_offset": error.decoded_offset,
        "kind": error.kind.as_str(),
        "len": error.len,
        "layer": error.kind.layer().as_str(),
    })
}

/// Writes a line for the message and a line for each part, indented by its depth. After a part there is a line for each
/// of its errors and warnings.
fn tree(
    file: &Path,
    message: Option<Start>,
    verdict: &MessageVerdict,
    out: &mut dyn Write,
) -> io::Result<()> {
    let errors: u64 = verdict.parts.iter().map(PartVerdict::error_count).sum();
    write!(out, "{}", name_of(file))?;
    if let Some(Start { number, offset, line }) = message {
        // `FILE:LINE:`, which editors and terminals open.
        write!(out, ":{line}: message {number} at byte {offset}")?;
    }
    match errors {
        0 => writeln!(out, ": good")?,
        _ => writeln!(out, ": {}", counted(errors, "error"))?,
    }
    for part in &verdict.parts {
        let indent = 2 * part.path.numbers().len().max(1);
        write!(out, "{:indent$}{} {}", "", part.path, escape::text(&part.content_type))?;
        if part.is_text() {
            let charset = part.charset.as_deref().unwrap_or("no charset");
            let encoding = part.encoding.map_or("unknown encoding", |encoding| encoding.as_str());
            write!(out, ", {}, {encoding}", escape::text(charset))?;
        }
        match (part.kind, part.characters) {
            (_, Some(characters)) => {
                write!(out, ": {}, {}", counted(part.lines, "line"), counted(characters, "character"))?;
            }
            (PartKind::OtherText, None) => write!(out, ": {}, not checked", counted(part.bytes, "byte"))?,
            _ => {}
        }
        writeln!(out)?;
        let indent = indent + 2;
        for error in part.errors().iter().chain(part.warnings()) {
            let word = if error.kind.is_warning() { "warning" } else { "error" };
            write!(out, "{:indent$}{word}: byte {}", "", error.offset)?;
            if let Some(decoded) = error.decoded_offset {
                write!(out, ", decoded byte {decoded}")?;
            }
            writeln!(out, ": {} ({})", error.kind, error.kind.layer())?;
        }
        let shown = part.errors().len() + part.warnings().len();
        let more = part.error_count() + part.warning_count() - shown as u64;
        if more > 0 {
            writeln!(out, "{:indent$}and {more} more", "")?;
        }
    }
    Ok(())
}

/// Returns a number with its noun: `1 line`, `2 lines`.
fn counted(number: u64, noun: &str) -> String {
    format!("{number} {noun}{}", if number == 1 { "" } else { "s" })
}

#[cfg(test)]
mod tests {
    use core::convert::Infallible;

    use super::*;

    /// Returns the number and the size of each message. Asserts that they do not depend on how the file is split into
    /// chunks, and that each message starts at its line and offset.
    fn messages(file: &[u8]) -> Vec<(Option<u64>, u64)> {
        let split = |size: usize| {
            let mut mailbox = Mailbox::new(MessageValidator::new());
            let mut messages = Vec::new();
            let mut data = Vec::new();
            let mut chunks = file.chunks(size);
            loop {
                let chunk = chunks.next();
                data.extend_from_slice(chunk.unwrap_or_default());
                let taken = mailbox.feed(&data, chunk.is_none(), |start, verdict| {
                    if let Some(Start { offset, line, .. }) = start {
                        let (before, message) = file.split_at(offset as usize);
                        assert!(starts_mailbox(message));
                        assert_eq!(line, 1 + before.iter().filter(|&&byte| byte == b'\n').count() as u64);
                    }
                    messages.push((start.map(|start| start.number), verdict.bytes));
                    Ok::<_, Infallible>(())
                });
                data.drain(..taken.unwrap_or_else(|never| match never {}));
                assert!(data.len() < MAX_START, "only what may be a separator is kept");
                if chunk.is_none() {
                    return messages;
                }
            }
        };
        let whole = split(file.len().max(1));
        (1..file.len()).for_each(|size| assert_eq!(split(size), whole, "{size}"));
        whole
    }

    #[test]
    fn the_messages_of_an_mbox_are_separated() {
        assert_eq!(messages(b""), [(None, 0)]);
        assert_eq!(messages(b"Fro"), [(None, 3)]);
        assert_eq!(messages(b"From: me\n\nhi\n\nFrom you\n"), [(None, 23)]);
        assert_eq!(messages(b"From a\nA: b\n\nhi\n"), [(Some(1), 16)]);
        assert_eq!(messages("\u{feff}From a\nA: b\n\nhi\n".as_bytes()), [(Some(1), 19)]);
        assert_eq!(messages("\u{feff}From: a\n\nhi\n".as_bytes()), [(None, 15)]);
        assert_eq!(messages(b"From : a\n\nhi\n"), [(None, 13)]);
        // The empty line before a separator belongs to the separator.
        assert_eq!(
            messages(b"From a\n\nhi\n\nFrom b\n\nho\nFrom c\n"),
            [(Some(1), 11), (Some(2), 11), (Some(3), 7)]
        );
        assert_eq!(
            messages(b"From a\r\n\r\nhi\r\n\r\nFrom b\r\n\r\n From c\r\n\r\r\n"),
            [(Some(1), 14), (Some(2), 22)]
        );
    }
}
