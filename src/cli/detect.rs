//! `utf8-codec detect`: reports the encoding of files.

use std::io::{self, Write};
use std::path::{Path, PathBuf};

use clap::ValueEnum;
use serde_json::json;
use utf8_codec::detect::{Detection, Detector};

use super::files::{BUFFER, Failed, for_each, name_of, open, read};
use super::log::Verbosity;
use super::outcome::Outcome;

/// Report the encoding of files: ASCII, UTF-8, UTF-16, UTF-32 or unknown
///
/// Exit status 0: all encodings were detected. 1: some are unknown. 2: some files could not be read.
#[derive(Debug, clap::Args)]
pub(super) struct Args {
    /// Files to read; `-` is stdin
    #[arg(value_name = "FILE", default_value = "-")]
    files: Vec<PathBuf>,
    /// text is `FILE: WHAT`; json is one object per line
    #[arg(long, value_name = "FORMAT", default_value = "text")]
    format: Format,
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
        for_each(&self.files, |file, out| {
            let detection = detect(file).map_err(Failed::Read)?;
            self.tell(file, detection, out).map_err(Failed::Write)?;
            Ok(detection.encoding().is_some())
        })
    }

    fn tell(&self, file: &Path, detection: Detection, out: &mut dyn Write) -> io::Result<()> {
        match self.format {
            Format::Text => writeln!(out, "{}: {}", name_of(file), in_words(detection)),
            Format::Json => {
                let (sequences, bom) = match detection {
                    Detection::Ascii => (Some(0), false),
                    Detection::Utf8 { sequences } => (Some(sequences), false),
                    Detection::Utf8WithBom { sequences } => (Some(sequences), true),
                    Detection::Utf16(_) | Detection::Utf32(_) => (None, true),
                    _ => (None, false),
                };
                let mut finding = json!({
                    "file": file.to_string_lossy(),
                    "encoding": detection.encoding().map(|encoding| encoding.name()),
                    "ascii": detection == Detection::Ascii,
                    "bom": bom,
                    "sequences": sequences,
                    "coincidence": detection.coincidence(),
                });
                if let Detection::NotUtf8 { first } = detection {
                    finding["offset"] = json!(first.offset);
                    finding["kind"] = json!(first.kind.as_str());
                    finding["len"] = json!(first.len);
                }
                writeln!(out, "{finding}")
            }
        }
    }
}

fn in_words(detection: Detection) -> String {
    let count = |sequences: u64| match sequences {
        1 => "1 multi-byte sequence".to_owned(),
        _ => format!("{sequences} multi-byte sequences"),
    };
    match detection {
        Detection::Ascii => "ascii".to_owned(),
        Detection::Utf8 { sequences } => format!("utf-8, {}", count(sequences)),
        Detection::Utf8WithBom { sequences } => format!("utf-8 with BOM, {}", count(sequences)),
        Detection::Utf16(encoding) | Detection::Utf32(encoding) => format!("{encoding} with BOM"),
        Detection::LooksLikeUtf16 { encoding, units, evidence } => {
            format!(
                "looks like {encoding} without BOM, {evidence} of {units} code units are ASCII or CJK punctuation"
            )
        }
        Detection::NotUtf8 { first } => format!("not utf-8: byte {}: {}", first.offset, first.kind),
        _ => "unknown".to_owned(),
    }
}

/// Reads until no further byte can change the verdict.
fn detect(file: &Path) -> io::Result<Detection> {
    let mut input = open(file)?;
    let mut detector = Detector::new();
    let mut buffer = vec![0; BUFFER];
    loop {
        match read(&mut input, &mut buffer)? {
            0 => return Ok(detector.finish()),
            read => {
                let detection = detector.feed(&buffer[..read]);
                if detector.is_final() {
                    return Ok(detection);
                }
            }
        }
    }
}
