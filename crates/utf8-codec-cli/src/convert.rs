//! `utf8-codec convert`: converts from one encoding to another.

use core::error::Error;
use std::fs::{self, File};
use std::io::{self, IsTerminal, Read};
use std::path::{Path, PathBuf};
use std::sync::mpsc;
use std::thread;

use clap::ValueEnum;
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy};
use utf8_codec_encodings::{
    Encoding, Switches, TranscodeError, TranscodeStatus, Transcoder, UnmappablePolicy,
};

use crate::args::PolicyArgs;
use crate::charset::{FromArg, NamedEncoding};
use crate::fallback::{FallbackReader, Source};
use crate::files::{BUFFER, Opened, is_standard, read, read_stdin_once, stdin};
use crate::fingerprint::{Fingerprint, Fingerprinted};
use crate::guess::decide;
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
/// Encodings have their iconv names and the labels of the web; --list prints them. `utf-16` and `utf-32` have a BOM: it is
/// stripped from the input (input without a BOM is little-endian) and written to the output. The same applies to
/// `utf-8-bom`. As in browsers, `gb2312` is GBK, `shift_jis` is code page 932, `euc-kr` code page 949, `iso-8859-9`
/// windows-1254, and `big5` has the characters of HKSCS.
///
/// Several inputs are converted one after the other, each from its start, into one output.
///
/// Exit status 0: converted. 1: the input is ill-formed, or contains a character that the output encoding does not
/// have; the text before it is on stdout, and its offset is on stderr. 2: a file could not be read or written.
///
/// An output file is replaced when the conversion is complete. If the conversion fails or is interrupted by a signal,
/// the file does not change. A file with other hard links is not replaced. Pipes and devices are written to while the input
/// is read.
#[derive(Debug, clap::Args)]
#[command(mut_arg("bom", |bom| bom.help(BOM_HELP)))]
pub(super) struct Args {
    /// The encoding of the input. `auto`: UTF-8, UTF-16 and UTF-32, and what the input, .gitattributes or .editorconfig
    /// declares. Any other input is an error with a list of candidates, the most plausible one first. `utf-8,ENCODING`: lines
    /// that are not UTF-8 are in that encoding, as in the output of programs that start others
    #[arg(long, short, value_name = "ENCODING", default_value = "utf-8")]
    from: Source,
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
    /// What to write for characters that the output encoding does not have [default: what --on-error says]
    #[arg(long, value_name = "POLICY")]
    unmappable: Option<Unmappable>,
    /// Change a detail of an encoding; can be repeated
    #[arg(long = "switch", value_name = "SWITCH")]
    switches: Vec<Switch>,
    #[command(flatten)]
    policies: PolicyArgs,
    /// Print the names of the encodings: one per line, followed by its aliases
    #[arg(long, short, exclusive = true)]
    list: bool,
    /// Files to read; `-` is stdin
    #[arg(value_name = "INPUT", default_value = "-")]
    inputs: Vec<PathBuf>,
    /// File to write; `-` is stdout
    #[arg(long, short, value_name = "OUTPUT", default_value = "-")]
    output: PathBuf,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// What several inputs share.
struct Run {
    /// The BOM of the output, until it is written.
    bom: Option<&'static [u8]>,
    /// The content of the input that the output replaces.
    replaced: Option<Fingerprint>,
    buffer: Vec<u8>,
    converted: Vec<u8>,
}

/// [`UnmappablePolicy`] as a command line option.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
enum Unmappable {
    /// Write `?`
    Question,
    /// Write a numeric character reference of HTML and XML, such as `&#8364;`
    Reference,
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
        read_stdin_once(&self.inputs)?;
        let mut output = OutputFile::open(&self.output).map_err(|error| self.cannot_write(error))?;
        let len = self.inputs.iter().map(|input| {
            let metadata = fs::metadata(input).ok()?;
            metadata.is_file().then_some(metadata.len())
        });
        let len = len.sum::<Option<u64>>();
        // A bar would be drawn into the converted text.
        let progress = Progress::new(!(output.is_stdout() && io::stdout().is_terminal()));
        let (_running, ended) = mpsc::channel();
        if progress.is_on() {
            let progress = progress.clone();
            thread::spawn(move || progress.appear(&ended, || len));
        }
        let mut run = Run {
            bom: self.to.encoding().bom().filter(|_| self.to.has_bom()),
            replaced: None,
            buffer: vec![0; BUFFER],
            converted: vec![0; 4 * BUFFER],
        };
        for input in &self.inputs {
            let error = self.convert(input, &mut output, &progress, &mut run)?;
            if let Some(error) = error {
                progress.finish();
                let (first, candidates) = error.split_once('\n').unwrap_or((&error, ""));
                print_error(&format!("{}: {first}", input.display()));
                candidates.lines().for_each(|line| print_error(&format!("  {line}")));
                return Ok(CommandStatus::IllFormed);
            }
        }
        progress.finish();
        output.commit(run.replaced).map_err(|error| self.cannot_write(error))?;
        Ok(CommandStatus::Success)
    }

    fn cannot_write(&self, error: io::Error) -> Box<dyn Error> {
        match error.kind() {
            _ if is_standard(&self.output) => cannot_write(error),
            io::ErrorKind::BrokenPipe => ClosedPipe.into(),
            _ => format!("cannot write {}: {error}", self.output.display()).into(),
        }
    }

    /// Converts one input. Returns the message about its text if that is not converted.
    fn convert(
        &self,
        path: &Path,
        output: &mut OutputFile,
        progress: &Progress,
        run: &mut Run,
    ) -> Result<Option<String>, Box<dyn Error>> {
        let cannot_read = |error| format!("cannot read {}: {error}", path.display());
        let opened = match is_standard(path) {
            true => None,
            false => Some(File::open(path).and_then(Opened::of).map_err(cannot_read)?),
        };
        // The input may be the file that is replaced.
        let mut replaced = opened
            .as_ref()
            .filter(|input| output.replaces(&input.metadata))
            .map(|input| Fingerprinted::new(&input.file));
        let mut standard = None;
        let mut file = opened.as_ref().map(|input| &input.file);
        let mut input: &mut dyn Read = match (&mut replaced, &mut file) {
            (Some(input), _) => input,
            (None, Some(input)) => input,
            (None, None) => standard.get_or_insert_with(stdin),
        };
        let mut fallback = None;
        if let Source::Fallback(decoder) = &self.from {
            input = fallback.insert(FallbackReader::new(input, (**decoder).clone(), progress));
        }
        let Run { bom, buffer, converted, .. } = run;
        let mut filled = 0;
        let look_ahead = match self.from {
            Source::One(FromArg::Auto) => BUFFER,
            Source::One(FromArg::Charset(from)) => from.look_ahead(),
            Source::Fallback(_) => 0,
        };
        while filled < look_ahead {
            match read(&mut input, &mut buffer[filled..]).map_err(cannot_read)? {
                0 => break,
                more => filled += more,
            }
        }
        let from = match self.from {
            Source::One(FromArg::Charset(from)) => from,
            Source::Fallback(_) => Encoding::Utf8.into(),
            Source::One(FromArg::Auto) => match decide(path, &buffer[..filled], filled < look_ahead) {
                Ok(from) => from,
                Err(message) => return Ok(Some(message)),
            },
        };
        let mut transcoder = self.transcoder(from, &buffer[..filled])?;
        let error = loop {
            if filled == 0 {
                filled = read(&mut input, buffer).map_err(cannot_read)?;
            }
            // As in iconv, empty input gets no BOM.
            if filled > 0
                && let Some(bom) = bom.take()
            {
                output.write(bom).map_err(|error| self.cannot_write(error))?;
            }
            let mut rest = &buffer[..filled];
            let result = loop {
                let step = match filled {
                    0 => transcoder.finish_into_slice(converted),
                    _ => transcoder.feed_into_slice(rest, converted),
                };
                rest = &rest[step.read..];
                output.write(&converted[..step.written]).map_err(|error| self.cannot_write(error))?;
                match step.status {
                    TranscodeStatus::InputEmpty => break Ok(()),
                    TranscodeStatus::OutputFull => {}
                    TranscodeStatus::IllFormed(error) => break Err(error),
                }
            };
            if let Source::One(_) = self.from {
                progress.advance(filled as u64);
            }
            match result {
                Err(error) => break Some(self.describe(from, error)),
                Ok(()) if filled == 0 => break None,
                Ok(()) => filled = 0,
            }
        };
        run.replaced = replaced.map(|input| input.fingerprint()).or(run.replaced);
        Ok(error)
    }

    /// Creates the transcoder for an input that starts with these bytes.
    fn transcoder(&self, from: NamedEncoding, start: &[u8]) -> Result<Transcoder, &'static str> {
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
        if self.to.encoding().is_decoded_only() {
            return Err("this encoding is only decoded: use it with --from");
        }
        if self.sniff && matches!(self.from, Source::Fallback(_)) {
            return Err("--sniff is not for two encodings");
        }
        // A BOM that indicates the encoding is not text. It is stripped, so that the output does not get two BOMs.
        let is_no_text = from.has_bom() || self.to.has_bom() || self.sniff;
        let bom = if is_no_text { BomPolicy::Strip } else { BomPolicy::Keep };
        let transcoder = Transcoder::new(from.encoding_of(start), self.to.encoding());
        let transcoder = if self.sniff { transcoder.with_sniffing(true) } else { transcoder };
        let transcoder = transcoder
            .with_error_policy(on_error)
            .with_bom_policy(self.policies.bom().unwrap_or(bom))
            .with_switches(switches);
        let transcoder = transcoder.with_unmappable_policy(match self.unmappable {
            None => UnmappablePolicy::AsIllFormed,
            Some(Unmappable::Question) => UnmappablePolicy::QuestionMark,
            Some(Unmappable::Reference) => UnmappablePolicy::Reference,
        });
        Ok(self.to.restrict(from.restrict(transcoder)))
    }

    /// Describes an error. The transcoder implements ASCII as a subset of another encoding, so its errors do not
    /// mention ASCII.
    fn describe(&self, from: NamedEncoding, error: TranscodeError) -> String {
        let TranscodeError { offset, kind, len, .. } = error;
        let bytes = if len == 1 { "1 byte".to_owned() } else { format!("{len} bytes") };
        match kind {
            ErrorKind::OutsideSubset if from.is_ascii() => {
                format!("ill-formed ASCII at byte {offset} ({}, {bytes})", ErrorKind::InvalidLead)
            }
            ErrorKind::OutsideSubset | ErrorKind::Unmappable if self.to.is_ascii() => {
                format!("character not in ASCII at byte {offset} ({}, {bytes})", ErrorKind::Unmappable)
            }
            _ if matches!(self.from, Source::Fallback(_)) => format!("in the text as UTF-8: {error}"),
            _ => error.to_string(),
        }
    }
}
