//! `utf8-codec detect`: reports the encoding of files.

use core::num::NonZeroUsize;
use std::io::{self, BufWriter, Read, Write};
use std::path::Path;

use serde_json::json;
use utf8_codec_encodings::Encoding;
use utf8_codec_encodings::detect::{Detection, Detector};
use utf8_codec_media::declared::DocumentKind;

use super::checks::Checks;
use super::diagnostic::{FileStatus, Summary};
use super::order::{Receive, Turn};
use super::report::{Format, counted, github_path};
use super::repository::Repository;
use super::sarif::{Notifications, rule, sarif_end, sarif_start, uri};
use super::scan::scan;
use crate::escape::{self, github_value};
use crate::files::{file_members, name_of, write_object};
use crate::guess::{binary, candidates, declaration};
use crate::log::Verbosity;
use crate::outcome::{CommandResult, CommandStatus, cannot_write, print_error};
use crate::walk::{Input, WalkArgs};

/// The number of bytes from which the encoding for decoding is determined. UTF-16 and UTF-32 are detected in the first
/// 4 KiB; every other file is decoded as UTF-8.
const PREFIX: u64 = 8 * 1024;

/// Report the encoding of files: UTF-8, UTF-16, UTF-32 or unknown
///
/// For each file: the encoding, whether it starts with a BOM, how certain this is and why, the number of characters,
/// and the length of the longest line in characters. An ill-formed sequence and a BOM count as characters.
///
/// Exit status 0: all encodings were detected. 1: some are unknown. 2: some files could not be read.
#[derive(Debug, clap::Args)]
pub(crate) struct DetectArgs {
    #[command(flatten)]
    walk: WalkArgs,
    /// Report format: human and short are one line for each file, json is one object for each file, sarif (2.1.0) and
    /// github are one note for each file [possible values: human, short, json, sarif, github]
    #[arg(long, value_name = "FORMAT", default_value = "human", hide_possible_values = true)]
    format: Format,
    #[command(flatten)]
    verbosity: Verbosity,
}

/// How certain a detection is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Confidence {
    /// The bytes are plausible in no other encoding.
    High,
    /// The bytes may be well-formed by accident.
    Medium,
    /// Some bytes are ill-formed in the encoding.
    Low,
    /// The encoding is unknown.
    None,
}

/// The result for a file.
struct Report {
    detection: Detection,
    summary: Summary,
    /// The number of control characters at the start of the file that text does not contain.
    controls: u64,
    /// Encodings that the file may have, the most plausible one first, if it is not known.
    candidates: Vec<Encoding>,
}

impl DetectArgs {
    pub(crate) fn run(self) -> CommandResult {
        self.verbosity.start()?;
        if self.format == Format::Gitlab {
            return Err("--format gitlab is for errors: `utf8-codec check` has it".into());
        }
        let inputs = self.walk.collect()?;
        if inputs.is_empty() {
            print_error("warning: no file was read");
        }
        let mut out = BufWriter::new(io::stdout());
        if self.format == Format::Sarif {
            let rules = [rule("encoding", "none", "The encoding of a file", "Informational, not an error.")];
            sarif_start(&mut out, &rules.into_iter().collect()).map_err(cannot_write)?;
        }
        let turn = Turn::new(ReportWriter {
            inputs: &inputs,
            out,
            format: self.format,
            status: CommandStatus::Success,
            has_result: false,
            repository: Repository::default(),
            notifications: Notifications::default(),
        });
        turn.run(self.walk.jobs().get(), &inputs, |input, lane| {
            lane.push(input.read().and_then(|mut content| {
                detect(&mut content, declaration::kind_of(&input.path), !input.is_named)
            }));
        });
        let ReportWriter { mut out, status, notifications, .. } =
            turn.into_receiver().map_err(cannot_write)?;
        if self.format == Format::Sarif {
            sarif_end(&mut out, &notifications, 0).map_err(cannot_write)?;
        }
        out.flush().map_err(cannot_write)?;
        Ok(status)
    }
}

/// A reader that also feeds the bytes to a detector.
struct Tee<'t> {
    input: &'t mut dyn Read,
    detector: &'t mut Detector,
}

impl Read for Tee<'_> {
    fn read(&mut self, buffer: &mut [u8]) -> io::Result<usize> {
        let read = self.input.read(buffer)?;
        self.detector.push(&buffer[..read]);
        Ok(read)
    }
}

/// Detects the encoding of a file, and decodes the file with it.
fn detect(input: &mut dyn Read, kind: Option<DocumentKind>, skip_binary: bool) -> io::Result<Report> {
    let mut detector = Detector::new();
    let mut start = Vec::new();
    (&mut *input).take(PREFIX).read_to_end(&mut start)?;
    detector.push(&start);
    let is_all = (start.len() as u64) < PREFIX;
    if is_all {
        detector.finish();
    }
    let controls = start.iter().filter(|&&byte| binary::is_control(byte)).count() as u64;
    let candidates = match detector.detection() {
        Detection::NotUtf8 { .. } => candidates::of(&start, is_all),
        _ => Vec::new(),
    };
    let candidates = candidates.into_iter().map(|(encoding, _)| encoding).collect();
    let encoding = detector.detection().encoding().unwrap_or(Encoding::Utf8);
    // The errors are counted, and not described.
    let max_errors = NonZeroUsize::new(1);
    let checks = Checks {
        kind,
        wants_counts: true,
        counts_iso_2022: true,
        max_errors,
        ..Checks::new(encoding.into())
    };
    // After the end, a terminal would wait for more input.
    let tee = Tee { input, detector: &mut detector };
    let mut rest = tee.take(if is_all { 0 } else { u64::MAX });
    let mut summary = scan(&mut start.chain(&mut rest), &checks, skip_binary, &mut |_| {})?;
    let detection = detector.finish();
    if let (Detection::Iso2022 { .. }, Some(counter)) = (detection, summary.iso_2022) {
        (summary.characters, summary.longest_line) = (counter.characters(), counter.longest_line());
    }
    Ok(Report { detection, summary, controls, candidates })
}

struct ReportWriter<'i> {
    inputs: &'i [Input],
    out: BufWriter<io::Stdout>,
    format: Format,
    status: CommandStatus,
    /// Whether a SARIF result has been written.
    has_result: bool,
    repository: Repository,
    notifications: Notifications,
}

impl Receive<io::Result<Report>> for ReportWriter<'_> {
    fn receive(&mut self, file: usize, report: io::Result<Report>) -> io::Result<()> {
        let path: &Path = self.inputs.get(file).map_or(Path::new(""), |input| &input.path);
        match report {
            Ok(report) if matches!(report.summary.end, FileStatus::Checked) => {
                if report.encoding().is_none() {
                    self.status = self.status.max(CommandStatus::IllFormed);
                }
                self.write(path, &report)
            }
            // A binary file in a directory is skipped.
            Ok(_) => Ok(()),
            Err(error) => {
                self.status = CommandStatus::Trouble;
                // Flushed first, so that messages on a terminal are in the order of the files.
                self.out.flush()?;
                print_error(&format!("cannot read {}: {error}", path.display()));
                self.unreadable(path, &error)
            }
        }
    }
}

impl ReportWriter<'_> {
    fn write(&mut self, path: &Path, report: &Report) -> io::Result<()> {
        match self.format {
            Format::Human => writeln!(self.out, "{}: {}", name_of(path), escape::text(&report.in_words())),
            Format::Short | Format::Gitlab => writeln!(self.out, "{}: {}", name_of(path), report.name()),
            Format::Json => write_object(&mut self.out, &report.object(path)),
            Format::Sarif => {
                let comma = if core::mem::replace(&mut self.has_result, true) { "," } else { "" };
                let result = json!({
                    "ruleId": "encoding",
                    "kind": "informational",
                    "level": "none",
                    "message": { "text": report.in_words() },
                    "locations": [{ "physicalLocation": { "artifactLocation": { "uri": uri(self.repository.relative(path)) } } }],
                });
                write!(self.out, "{comma}\n{}", escape::json(&result))
            }
            Format::Github => writeln!(
                self.out,
                "::notice file={},title=encoding::{}",
                github_path(self.repository.relative(path)),
                github_value(&escape::text(&report.in_words()), false),
            ),
        }
    }

    fn unreadable(&mut self, path: &Path, error: &io::Error) -> io::Result<()> {
        match self.format {
            Format::Human | Format::Short | Format::Gitlab => Ok(()),
            Format::Json => {
                let mut object = file_members(path);
                object["unreadable"] = json!(error.to_string());
                write_object(&mut self.out, &object)
            }
            Format::Sarif => {
                let message = format!("cannot be read: {error}");
                self.notifications.push(self.repository.relative(path), &message);
                Ok(())
            }
            Format::Github => {
                let file = github_path(self.repository.relative(path));
                let error = github_value(&error.to_string(), false);
                writeln!(self.out, "::error file={file}::cannot be read: {error}")
            }
        }
    }
}

impl Report {
    fn has_bom(&self) -> bool {
        matches!(self.detection, Detection::Utf8WithBom { .. } | Detection::Utf16(_) | Detection::Utf32(_))
    }

    /// Returns the name of the encoding.
    fn encoding(&self) -> Option<String> {
        match self.detection {
            Detection::Iso2022 { label } => Some(label.to_ascii_lowercase()),
            detection => detection.encoding().map(|encoding| encoding.name().to_owned()),
        }
    }

    /// Returns the name of the encoding, and whether there is a BOM.
    fn name(&self) -> String {
        let bom = if self.has_bom() { " with BOM" } else { "" };
        match self.detection {
            Detection::Ascii => "ascii".to_owned(),
            _ => self.encoding().map_or("unknown".to_owned(), |encoding| encoding + bom),
        }
    }

    fn in_words(&self) -> String {
        let Summary { characters, longest_line, .. } = self.summary;
        let (confidence, reason) = self.confidence();
        let name = self.name();
        let certainty = match confidence {
            Confidence::None => reason,
            _ => format!("{} confidence: {reason}", confidence.name()),
        };
        format!("{name}, {}, longest line {longest_line}; {certainty}", counted(characters, "character"))
    }

    /// Returns the confidence of the detection and the reason for it.
    fn confidence(&self) -> (Confidence, String) {
        const MULTI_BYTE: &str = "multi-byte sequence";
        const ILL_FORMED_SEQUENCE: &str = "ill-formed sequence";

        let errors = self.summary.errors;
        match self.detection {
            // Control characters in otherwise clean ASCII can be UTF-16 whose bytes all happen to be below 80: Cyrillic
            // or Thai without spaces.
            Detection::Ascii | Detection::Utf8 { .. } if self.controls > 0 => (
                Confidence::Medium,
                format!("well-formed, but {}", counted(self.controls, "control character")),
            ),
            Detection::Ascii => (Confidence::High, "no byte above 7F".to_owned()),
            Detection::Utf8 { sequences } => {
                // In text that is not UTF-8, the probability of 3 well-formed sequences and no other ones is below 1 in
                // 10,000.
                let level = if sequences > 2 { Confidence::High } else { Confidence::Medium };
                (level, format!("well-formed, {}", counted(sequences, MULTI_BYTE)))
            }
            Detection::Utf8WithBom { sequences } => {
                (Confidence::High, format!("a BOM, well-formed, {}", counted(sequences, MULTI_BYTE)))
            }
            Detection::Utf16(_) | Detection::Utf32(_) if errors == 0 => {
                (Confidence::High, "a BOM, well-formed".to_owned())
            }
            Detection::Utf16(_) | Detection::Utf32(_) => {
                (Confidence::Low, format!("a BOM, but {}", counted(errors, ILL_FORMED_SEQUENCE)))
            }
            Detection::LooksLikeUtf16 { units, evidence, .. } => {
                let reason = format!("{evidence} of {units} code units are ASCII or CJK punctuation");
                match errors {
                    0 => (Confidence::Medium, format!("{reason}, well-formed")),
                    _ => (Confidence::Low, format!("{reason}, but {}", counted(errors, ILL_FORMED_SEQUENCE))),
                }
            }
            Detection::Iso2022 { .. } => (Confidence::High, "its escape sequences".to_owned()),
            Detection::NotUtf8 { first } => {
                let probably =
                    self.summary.guess.as_ref().map(|guess| format!("; probably {}", guess.in_words()));
                let reason = format!("not utf-8 at byte {}: {}", first.offset, first.kind);
                let names: Vec<&str> = self.candidates.iter().map(|encoding| encoding.name()).collect();
                let candidates = if names.is_empty() {
                    String::new()
                } else {
                    format!("; candidates: {}", names.join(", "))
                };
                (Confidence::None, reason + &probably.unwrap_or_default() + &candidates)
            }
            _ => (Confidence::None, "no encoding was recognized".to_owned()),
        }
    }

    fn object(&self, path: &Path) -> serde_json::Value {
        let Summary { bytes, lines, characters, longest_line, .. } = self.summary;
        let (confidence, reason) = self.confidence();
        let sequences = match self.detection {
            Detection::Ascii => Some(0),
            Detection::Utf8 { sequences } | Detection::Utf8WithBom { sequences } => Some(sequences),
            _ => None,
        };
        let mut object = file_members(path);
        object["encoding"] = json!(self.encoding());
        object["ascii"] = json!(self.detection == Detection::Ascii);
        object["bom"] = json!(self.has_bom());
        object["confidence"] = json!(confidence.name());
        object["reason"] = json!(reason);
        object["sequences"] = json!(sequences);
        object["bytes"] = json!(bytes);
        object["lines"] = json!(lines);
        object["characters"] = json!(characters);
        object["longest_line"] = json!(longest_line);
        object["errors"] = json!(self.summary.errors);
        if let Detection::NotUtf8 { first } = self.detection {
            object["offset"] = json!(first.offset);
            object["kind"] = json!(first.kind.as_str());
            object["len"] = json!(first.len);
            object["candidates"] =
                json!(self.candidates.iter().map(|encoding| encoding.name()).collect::<Vec<_>>());
            object["probably"] = json!(self.summary.guess.as_ref().map(|guess| guess.in_words()));
        }
        object
    }
}

impl Confidence {
    fn name(self) -> &'static str {
        match self {
            Self::High => "high",
            Self::Medium => "medium",
            Self::Low => "low",
            Self::None => "none",
        }
    }
}
