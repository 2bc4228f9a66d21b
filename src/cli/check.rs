//! `utf8-codec check`: is it UTF-8, and if not, where.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use utf8_codec::{ErrorKind, Piece, Utf8Decoder, Utf8Error};

use super::files::{BUFFER, Failed, for_each, name_of, open, read};
use super::log::Verbosity;
use super::outcome::Outcome;

/// Say whether files are UTF-8, and where they are not
///
/// Exit status 0: all of them are. 1: some are not. 2: some could not be read.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files to read; `-` is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
    /// text is `FILE:LINE:COLUMN: byte OFFSET: KIND`; json is one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
    /// Tell every ill-formed sequence, not only the first one of a file
    #[arg(long)]
    all: bool,
    /// Tell nothing: only the exit status
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
    pub(super) fn run(self) -> Outcome {
        self.verbosity.start()?;
        for_each(&self.files, |file, out| self.check(file, out))
    }

    /// Whether the file is well-formed.
    fn check(&self, file: &Path, out: &mut dyn Write) -> Result<bool, Failed> {
        let mut input = open(file).map_err(Failed::Read)?;
        let (mut decoder, mut position, mut well_formed) = (Utf8Decoder::new(), Position::START, true);
        let mut buffer = vec![0; BUFFER];
        loop {
            let read = read(&mut input, &mut buffer).map_err(Failed::Read)?;
            let mut errors = Vec::new();
            for piece in decoder.feed(&buffer[..read]) {
                match piece {
                    Piece::Text(text) => position.advance(text),
                    Piece::Seam(character) => position.advance(character.encode_utf8(&mut [0; 4])),
                    Piece::IllFormed(error) => {
                        errors.push((position, error));
                        position.column += 1;
                        if !self.all {
                            break;
                        }
                    }
                }
            }
            if read == 0 {
                errors.extend(decoder.finish().map_err(|error| (position, error)).err());
            }
            for (position, error) in errors {
                well_formed = false;
                self.tell(file, position, error, out).map_err(Failed::Write)?;
            }
            if read == 0 || !(well_formed || self.all) {
                return Ok(well_formed);
            }
        }
    }

    fn tell(&self, file: &Path, at: Position, error: Utf8Error, out: &mut dyn Write) -> io::Result<()> {
        let Utf8Error { offset, kind, len, .. } = error;
        let Position { line, column } = at;
        tracing::debug!(offset, %kind, len, "ill-formed");
        match self.format {
            _ if self.quiet => Ok(()),
            Format::Text => writeln!(out, "{}:{line}:{column}: byte {offset}: {kind}", name_of(file)),
            Format::Json => {
                let finding = serde_json::json!({
                    "file": file.to_string_lossy(),
                    "line": line,
                    "column": column,
                    "offset": offset,
                    "kind": ErrorKind::as_str(kind),
                    "len": len,
                });
                writeln!(out, "{finding}")
            }
        }
    }
}

/// Line and column of the next character, both from 1. A line ends with LF; an ill-formed sequence is one column.
#[derive(Clone, Copy, Debug)]
struct Position {
    line: u64,
    column: u64,
}

impl Position {
    const START: Self = Self { line: 1, column: 1 };

    fn advance(&mut self, text: &str) {
        let last_line = match text.rfind('\n') {
            Some(end) => {
                self.line += memchr::memchr_iter(b'\n', text.as_bytes()).count() as u64;
                self.column = 1;
                &text[end + 1..]
            }
            None => text,
        };
        self.column += last_line.chars().count() as u64;
    }
}
