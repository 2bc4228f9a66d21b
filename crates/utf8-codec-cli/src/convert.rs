//! `utf8-codec convert`: converts from one encoding to another.

use core::error::Error;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;
use std::sync::mpsc;
use std::thread;

use clap::ValueEnum;
use utf8_codec::transcode::{Switches, Transcoder};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, Utf8Error};

use crate::args::PolicyArgs;
use crate::charset::NamedEncoding;
use crate::files::{BUFFER, Opened, is_standard, read, stdin};
use crate::fingerprint::Fingerprinted;
use crate::log::Verbosity;
use crate::outcome::{ClosedPipe, CommandResult, CommandStatus, cannot_write, print_error};
use crate::output::OutputFile;
use crate::progress::Progress;

/// The help of `--bom`, which has another default than that of the other commands.
const BOM_HELP: &str = concat!(
    "What to do with a BOM at the start of the input ",
    "[default: keep, but strip if the BOM indicates the encoding]",
);

/// Convert from one encoding to another
///
/// Encodings have their iconv names; --list prints them. `utf-16` and `utf-32` have a BOM: it is stripped from the
/// input (input without a BOM is little-endian) and written to the output. The same applies to `utf-8-bom`.
///
/// Exit status 0: converted. 1: the input is ill-formed, or contains a character that the output encoding does not
/// have; the text before it is on stdout, and its offset is on stderr. 2: a file could not be read or written.
///
/// An output file is replaced when the conversion is complete. If the conversion fails or is interrupted by a signal,
/// the file does not change. Pipes and devices are written to while the input is read.
#[derive(Debug, clap::Args)]
#[command(mut_arg("bom", |bom| bom.help(BOM_HELP)))]
pub(super) struct Args {
    /// The encoding of the input
    #[arg(long, short, value_name = "ENCODING", default_value = "utf-8")]
    from: NamedEncoding,
    /// The encoding of the output
    #[arg(long, short, value_name = "ENCODING", default_value = "utf-8")]
    to: NamedEncoding,
    /// If the input starts with a BOM, strip it and use its encoding instead of --from. The BOM of UTF-8 is also that of
    /// CESU-8, WTF-8 and other dialects, and does not change them
    #[arg(long)]
    sniff: bool,
    /// Discard input that cannot be converted, as iconv does: same as --on-error skip
    #[arg(short = 'c', conflicts_with = "on_error")]
    discard: bool,
    /// Change a detail of an encoding; can be repeated
    #[arg(long = "switch", value_name = "SWITCH")]
    switches: Vec<Switch>,
    #[command(flatten)]
    policies: PolicyArgs,
    /// Print the names of the encodings: one per line, followed by its aliases
    #[arg(long, short, exclusive = true)]
    list: bool,
    /// File to read; `-` is stdin
    #[arg(value_name = "INPUT", default_value = "-")]
    input: PathBuf,
    /// File to write; `-` is stdout
    #[arg(long, short, value_name = "OUTPUT", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// [`Switches`] as command line options.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// Accept unpaired surrogates as code points, as Python's surrogatepass does
    Surrogates,
    /// Reject FFFE and FFFF in utf-8-ucs4 (ISO/IEC 10646-1 Annex R, Note 3)
    NoFffeFfff,
    /// Accept raw NUL and sequences of 4 bytes in modified-utf-8
    LenientJava,
    /// Reject surrogate pairs in wtf-8, which a single well-formed string does not contain
    NoPairs,
}

impl Args {
    pub(super) fn run(self) -> CommandResult {
        self.verbosity.start()?;
        if self.list {
            NamedEncoding::list(&mut io::stdout().lock()).map_err(cannot_write)?;
            return Ok(CommandStatus::Success);
        }
        let cannot_read = |error| format!("cannot read {}: {error}", self.input.display());
        let cannot_write_output = |error: io::Error| -> Box<dyn Error> {
            match error.kind() {
                _ if is_standard(&self.output) => cannot_write(error),
                io::ErrorKind::BrokenPipe => ClosedPipe.into(),
                _ => format!("cannot write {}: {error}", self.output.display()).into(),
            }
        };
        let opened = match is_standard(&self.input) {
            true => None,
            false => Some(File::open(&self.input).and_then(Opened::of).map_err(cannot_read)?),
        };
        let mut output = OutputFile::open(&self.output).map_err(cannot_write_output)?;
        let len = opened.as_ref().map(|it| &it.metadata).filter(|it| it.is_file()).map(|it| it.len());
        // A bar would be drawn into the converted text.
        let progress = Progress::new(!(output.is_stdout() && io::stdout().is_terminal()));
        let (_running, ended) = mpsc::channel();
        if progress.is_on() {
            let progress = progress.clone();
            thread::spawn(move || progress.appear(&ended, || len));
        }
        // The input may be the file that is replaced.
        let mut replaced = opened
            .as_ref()
            .filter(|input| output.replaces(&input.metadata))
            .map(|input| Fingerprinted::new(&input.file));
        let (mut standard, mut file) = (None, opened.as_ref().map(|input| &input.file));
        let mut input: &mut dyn Read = match (&mut replaced, &mut file) {
            (Some(input), _) => input,
            (None, Some(input)) => input,
            (None, None) => standard.get_or_insert_with(stdin),
        };
        let mut buffer = vec![0; BUFFER];
        let mut filled = 0;
        while filled < self.from.look_ahead() {
            match read(&mut input, &mut buffer[filled..]).map_err(cannot_read)? {
                0 => break,
                more => filled += more,
            }
        }
        let mut transcoder = self.transcoder(&buffer[..filled])?;
        let mut converted = Vec::new();
        let mut bom = self.to.encoding().bom().filter(|_| self.to.has_bom());
        let error = loop {
            if filled == 0 {
                filled = read(&mut input, &mut buffer).map_err(cannot_read)?;
            }
            // As in iconv, empty input gets no BOM.
            if filled > 0
                && let Some(bom) = bom.take()
            {
                converted.extend_from_slice(bom);
            }
            let result = match filled {
                0 => transcoder.finish_into(&mut converted),
                _ => transcoder.feed_into(&buffer[..filled], &mut converted),
            };
            output.write(&converted).map_err(cannot_write_output)?;
            converted.clear();
            progress.advance(filled as u64);
            match result {
                Err(error) => break Some(error),
                Ok(()) if filled == 0 => break None,
                Ok(()) => filled = 0,
            }
        };
        progress.finish();
        if let Some(error) = error {
            print_error(&format!("{}: {}", self.input.display(), self.describe(error)));
            return Ok(CommandStatus::IllFormed);
        }
        let read = replaced.map(|input| input.fingerprint());
        output.commit(read).map_err(cannot_write_output)?;
        Ok(CommandStatus::Success)
    }

    /// Creates the transcoder for an input that starts with these bytes.
    fn transcoder(&self, start: &[u8]) -> Result<Transcoder, &'static str> {
        let switches = self.switches.iter().fold(Switches::STRICT, |switches, switch| match switch {
            Switch::Surrogates => switches.with_surrogates(true),
            Switch::NoFffeFfff => switches.with_reject_fffe_ffff(true),
            Switch::LenientJava => switches.with_lenient_java(true),
            Switch::NoPairs => switches.with_reject_pairs(true),
        });
        let on_error = if self.discard { ErrorPolicy::Skip } else { self.policies.on_error() };
        if self.to.is_ascii() && matches!(on_error, ErrorPolicy::Latin1 | ErrorPolicy::Windows1252) {
            return Err("--to ascii does not have the characters that this --on-error policy writes");
        }
        // A BOM that indicates the encoding is not text. It is stripped, so that the output does not get two BOMs.
        let is_no_text = self.from.has_bom() || self.to.has_bom() || self.sniff;
        let bom = if is_no_text { BomPolicy::Strip } else { BomPolicy::Keep };
        let transcoder = Transcoder::new(self.from.encoding_of(start), self.to.encoding());
        let transcoder = if self.sniff { transcoder.with_sniffing(true) } else { transcoder };
        let transcoder = transcoder
            .with_error_policy(on_error)
            .with_bom_policy(self.policies.bom().unwrap_or(bom))
            .with_switches(switches);
        Ok(self.to.restrict(self.from.restrict(transcoder)))
    }

    /// Describes an error. The transcoder implements ASCII as a subset of another encoding, so its errors do not
    /// mention ASCII.
    fn describe(&self, error: Utf8Error) -> String {
        let Utf8Error { offset, kind, len, .. } = error;
        let bytes = if len == 1 { "1 byte".to_owned() } else { format!("{len} bytes") };
        match kind {
            ErrorKind::OutsideSubset if self.from.is_ascii() => {
                format!("ill-formed ASCII at byte {offset} ({}, {bytes})", ErrorKind::InvalidLead)
            }
            ErrorKind::OutsideSubset | ErrorKind::Unmappable if self.to.is_ascii() => {
                format!("character not in ASCII at byte {offset} ({}, {bytes})", ErrorKind::Unmappable)
            }
            _ => error.to_string(),
        }
    }
}
