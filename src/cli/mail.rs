//! `utf8-codec mail`: checks whether the text of each part of a message is UTF-8.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use memchr::memchr;
use serde_json::{Value, json};
use utf8_codec::mime::{MessageValidator, MessageVerdict, MimeError, PartKind, PartVerdict};

use super::files::{BUFFER, Failed, for_each, name_of, open, read, read_stdin_once};
use super::log::Verbosity;
use super::outcome::CommandResult;

/// Report for each part of mail messages whether its text is UTF-8, and where it is not
///
/// Reads messages (.eml) and mailboxes (mbox: the first line starts with `From `). In a mailbox messages are counted
/// from 1, and offsets from the start of each message.
///
/// Exit status 0: no errors. 1: some text is not UTF-8, or a message is ambiguous. 2: some files could not be read.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files to read; `-` is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
    /// Report format: text is a tree; json is one object per line, for each message
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Accept base64 without padding, with unused bits that are not zero, or concatenated from several bodies
    #[arg(long)]
    lenient: bool,
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
        read_stdin_once(&self.files)?;
        for_each(&self.files, |file, out| self.check(file, out))
    }

    /// Checks a file. Returns whether none of its messages has an error.
    fn check(&self, file: &Path, out: &mut dyn Write) -> Result<bool, Failed> {
        let mut input = open(file).map_err(Failed::Read)?;
        let validator = MessageValidator::new();
        let validator = if self.lenient { validator.lenient() } else { validator };
        let mut mailbox = Mailbox::new(validator);
        let mut buffer = vec![0; BUFFER];
        let (mut kept, mut good) = (0, true);
        loop {
            let read = read(&mut input, &mut buffer[kept..]).map_err(Failed::Read)?;
            let (len, end) = (kept + read, read == 0);
            let taken = mailbox.feed(&buffer[..len], end, |number, verdict| {
                good &= verdict.is_ok();
                self.write(file, number, &verdict, out).map_err(Failed::Write)
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
        number: Option<u64>,
        verdict: &MessageVerdict,
        out: &mut dyn Write,
    ) -> io::Result<()> {
        match self.format {
            _ if self.quiet => Ok(()),
            Format::Text => tree(file, number, verdict, out),
            Format::Json => writeln!(out, "{}", object(file, number, verdict)),
        }
    }
}

/// The start of a line that separates the messages of an mbox file. An empty line before it is optional, and is not
/// part of a message.
const SEPARATOR: &[u8] = b"From ";

/// Splits a file into messages.
struct Mailbox {
    validator: MessageValidator,
    state: State,
    /// The number of messages so far.
    number: u64,
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
        Self { validator, state: State::New, number: 0 }
    }

    /// Reads bytes of the file. Calls `each` for every message that ends in them, with its verdict and, in an mbox, its
    /// number. Returns the number of bytes consumed. The rest, a few bytes at most, must be passed again with more
    /// bytes, unless `end` is set.
    fn feed<E>(
        &mut self,
        data: &[u8],
        end: bool,
        mut each: impl FnMut(Option<u64>, MessageVerdict) -> Result<(), E>,
    ) -> Result<usize, E> {
        if self.state == State::New {
            if data.len() < SEPARATOR.len() && SEPARATOR.starts_with(data) && !end {
                return Ok(0);
            }
            self.state = if data.starts_with(SEPARATOR) { State::Line } else { State::Message };
            self.number = 1;
        }
        let (mut from, mut at) = (0, 0);
        while self.state != State::Message && at < data.len() {
            let rest = &data[at..];
            if self.state == State::Line {
                let line = memchr(b'\n', rest).map(|end| end + 1);
                at += line.unwrap_or(rest.len());
                self.state = if line.is_some() { State::LineStart } else { State::Line };
                continue;
            }
            let blank =
                [&b"\r\n"[..], b"\n"].into_iter().find(|blank| rest.starts_with(blank)).unwrap_or_default();
            let next = &rest[blank.len()..];
            if next.starts_with(SEPARATOR) {
                self.validator.feed(&data[from..at]);
                each(Some(self.number), self.validator.finish())?;
                self.number += 1;
                at += blank.len();
                from = at;
            } else if !end && (SEPARATOR.starts_with(next) || rest == b"\r") {
                break;
            }
            self.state = State::Line;
        }
        let taken = if self.state == State::Message { data.len() } else { at };
        self.validator.feed(&data[from..taken]);
        if end {
            let number = (self.state != State::Message).then_some(self.number);
            each(number, self.validator.finish())?;
        }
        Ok(taken)
    }
}

fn object(file: &Path, number: Option<u64>, verdict: &MessageVerdict) -> Value {
    let error = |error: &MimeError| {
        json!({
            "offset": error.offset,
            "decoded_offset": error.decoded_offset,
            "kind": error.kind.as_str(),
            "len": error.len,
            "layer": error.kind.layer().as_str(),
        })
    };
    let part = |part: &PartVerdict| {
        json!({
            "path": part.path.to_string(),
            "type": part.content_type,
            "charset": part.charset,
            "encoding": part.encoding.map(|encoding| encoding.as_str()),
            "ok": part.is_ok(),
            "characters": part.characters,
            "errors": part.errors().iter().map(error).collect::<Vec<_>>(),
        })
    };
    let mut object = json!({
        "file": file.display().to_string(),
        "ok": verdict.is_ok(),
        "parts": verdict.notable().map(part).collect::<Vec<_>>(),
    });
    if let Some(number) = number {
        object["message"] = json!(number);
    }
    object
}

/// Writes a line for the message and a line for each part, indented by its depth. After a part there is a line for each
/// of its errors and warnings.
fn tree(file: &Path, number: Option<u64>, verdict: &MessageVerdict, out: &mut dyn Write) -> io::Result<()> {
    let errors: u64 = verdict.parts.iter().map(PartVerdict::error_count).sum();
    write!(out, "{}", name_of(file))?;
    if let Some(number) = number {
        write!(out, ": message {number}")?;
    }
    match errors {
        0 => writeln!(out, ": good")?,
        _ => writeln!(out, ": {}", counted(errors, "error"))?,
    }
    for part in &verdict.parts {
        let indent = 2 * part.path.numbers().len().max(1);
        write!(out, "{:indent$}{} {}", "", part.path, part.content_type)?;
        if part.is_text() {
            let charset = part.charset.as_deref().unwrap_or("no charset");
            let encoding = part.encoding.map_or("unknown encoding", |encoding| encoding.as_str());
            write!(out, ", {}, {encoding}", charset.escape_debug())?;
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
                write!(out, ", {decoded} decoded")?;
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
    /// chunks.
    fn messages(file: &[u8]) -> Vec<(Option<u64>, u64)> {
        let split = |size: usize| {
            let mut mailbox = Mailbox::new(MessageValidator::new());
            let (mut messages, mut data, mut chunks) = (Vec::new(), Vec::new(), file.chunks(size));
            loop {
                let chunk = chunks.next();
                data.extend_from_slice(chunk.unwrap_or_default());
                let taken = mailbox.feed(&data, chunk.is_none(), |number, verdict| {
                    messages.push((number, verdict.bytes));
                    Ok::<_, Infallible>(())
                });
                data.drain(..taken.unwrap_or_else(|never| match never {}));
                assert!(data.len() < 8, "only what may be a separator is kept");
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
