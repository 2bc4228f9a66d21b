//! `utf8-codec convert`: from one encoding to another.

use core::error::Error;
use std::fs::File;
use std::io::{self, IsTerminal, Read};
use std::path::PathBuf;

use clap::ValueEnum;
use indicatif::{ProgressBar, ProgressStyle};
use utf8_codec::Utf8Error;
use utf8_codec::transcode::{Encoding, Switches, Transcoder};

use super::args::Policies;
use super::atomic::Output;
use super::files::{BUFFER, ClosedPipe, is_standard, read};
use super::{Outcome, Status, complain};

/// Convert from one encoding to another
///
/// Forms: utf-8, utf-8-ucs4 (RFC 2279), cesu-8, modified-utf-8 (Java), wtf-8, utf-8b (surrogateescape), utf-16le,
/// utf-16be, utf-32le, utf-32be, latin1, windows-1252, and the names that iconv has for them.
///
/// Exit status 0: converted. 1: the input was ill-formed, or held a character that the target cannot; what was good
/// before it is on stdout, and its offset on stderr. 2: something could not be read or written.
///
/// An OUTPUT file appears under its name when it is whole, and not before; if the conversion fails, it does not
/// appear, and one that was there stays as it was, also when SIGINT or SIGTERM ends the program. What is no regular file (a pipe, a device) is written as it goes.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// The encoding of the input
    #[arg(long, short, value_name = "FORM", default_value = "utf-8")]
    from: Encoding,
    /// The encoding of the output
    #[arg(long, short, value_name = "FORM", default_value = "utf-8")]
    to: Encoding,
    /// Read the encoding that a BOM at the start names, if there is one, in the place of --from
    #[arg(long)]
    sniff: bool,
    /// Decide what the texts of the encodings leave open; may be given again
    #[arg(long = "switch", value_name = "SWITCH")]
    switches: Vec<Switch>,
    #[command(flatten)]
    policies: Policies,
    /// File to read; `-` is stdin
    #[arg(value_name = "INPUT", default_value = "-")]
    input: PathBuf,
    /// File to write; `-` is stdout
    #[arg(long, short, value_name = "OUTPUT", default_value = "-")]
    output: PathBuf,
}

/// [`Switches`] on the command line.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Switch {
    /// Unpaired surrogates are code points, as with Python's surrogatepass
    Surrogates,
    /// FFFE and FFFF are ill-formed in utf-8-ucs4 (Annex R, Note 3)
    NoFffeFfff,
    /// modified-utf-8 may hold raw NUL and sequences of four bytes
    LenientJava,
    /// A pair of surrogates is ill-formed in wtf-8, as it is within one string
    NoPairs,
}

impl Args {
    pub(super) fn run(self) -> Outcome {
        let cannot_read = |error| format!("cannot read {}: {error}", self.input.display());
        let cannot_write = |error: io::Error| -> Box<dyn Error> {
            match error.kind() {
                io::ErrorKind::BrokenPipe => ClosedPipe.into(),
                _ => format!("cannot write {}: {error}", self.output.display()).into(),
            }
        };
        let (mut input, len): (Box<dyn Read>, _) = if is_standard(&self.input) {
            (Box::new(io::stdin().lock()), None)
        } else {
            let file = File::open(&self.input).map_err(cannot_read)?;
            let len = file.metadata().ok().filter(|it| it.is_file()).map(|it| it.len());
            (Box::new(file), len)
        };
        let mut output = Output::open(&self.output).map_err(cannot_write)?;
        let progress = progress(len, &output);
        let mut transcoder = self.transcoder();
        let (mut buffer, mut converted) = (vec![0; BUFFER], Vec::new());
        let refused: Option<Utf8Error> = loop {
            let read = read(&mut input, &mut buffer).map_err(cannot_read)?;
            let told = match read {
                0 => transcoder.finish(&mut converted),
                _ => transcoder.feed(&buffer[..read], &mut converted),
            };
            output.write(&converted).map_err(cannot_write)?;
            converted.clear();
            progress.inc(read as u64);
            match told {
                Err(error) => break Some(error),
                Ok(()) if read == 0 => break None,
                Ok(()) => {}
            }
        };
        progress.finish_and_clear();
        if let Some(error) = refused {
            complain(&format!("{}: {}", self.input.display(), error));
            return Ok(Status::IllFormed);
        }
        output.commit().map_err(cannot_write)?;
        Ok(Status::Success)
    }

    fn transcoder(&self) -> Transcoder {
        let switches = self.switches.iter().fold(Switches::STRICT, |switches, switch| match switch {
            Switch::Surrogates => switches.allow_surrogates(),
            Switch::NoFffeFfff => switches.refuse_fffe_ffff(),
            Switch::LenientJava => switches.lenient_java(),
            Switch::NoPairs => switches.refuse_pairs(),
        });
        let transcoder = Transcoder::new(self.from, self.to)
            .on_error(self.policies.on_error())
            .bom(self.policies.bom())
            .switches(switches);
        if self.sniff { transcoder.sniff() } else { transcoder }
    }
}

/// A bar on a terminal that the output does not go to; hidden anywhere else.
fn progress(len: Option<u64>, output: &Output) -> ProgressBar {
    let drawn_over = output.is_stdout() && io::stdout().is_terminal();
    if drawn_over || !io::stderr().is_terminal() {
        return ProgressBar::hidden();
    }
    let template = match len {
        Some(_) => "{bytes}/{total_bytes} {wide_bar} {bytes_per_sec} {eta}",
        None => "{bytes} {bytes_per_sec} {elapsed}",
    };
    let bar = ProgressBar::no_length();
    bar.set_style(ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar()));
    if let Some(len) = len {
        bar.set_length(len);
    }
    bar
}
