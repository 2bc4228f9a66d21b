//! How one file is fixed.

use std::io::{self, BufRead, BufReader, Read, Seek, Write};

use utf8_codec::{BomPolicy, ErrorPolicy};
use utf8_codec_encodings::{Encoding, Switches, TranscodeError, Transcoder};
use utf8_codec_media::declared::DocumentKind;

use crate::charset::NamedEncoding;
use crate::check::diagnostic::{ILL_FORMED, Summary};
use crate::check::report::counted;
use crate::check::rules::Rule;
use crate::files::read;
use crate::guess::mojibake::{self, Survey};
use crate::guess::utf8_evidence;
use crate::temporary::Scratch;

/// The size of the read buffer. Mojibake is reversed in whole lines, except in a line that is longer.
pub(super) const BUFFER: usize = 256 * 1024;

/// The plan to fix one file.
#[derive(Clone, Copy, Debug)]
pub(super) struct Plan<'c> {
    pub(super) source: FixSource,
    /// Whether the declaration in the file names the encoding, and no user.
    pub(super) is_declared: bool,
    pub(super) bom: BomPolicy,
    /// The kind of the file by its extension, for its declaration of an encoding.
    pub(super) kind: Option<DocumentKind>,
    /// The evidence for text that was encoded twice. `None` if it is kept.
    pub(super) survey: Option<&'c Survey>,
    /// Whether U+FEFF at the start of a line is removed.
    pub(super) removes_marks: bool,
    /// Whether halves of surrogate pairs are replaced in the escapes of JSON.
    pub(super) replaces_escapes: bool,
    /// Whether the file is JSON with comments.
    pub(super) has_comments: bool,
}

/// How the old content is decoded.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum FixSource {
    /// As UTF-8. Ill-formed sequences are decoded by the policy.
    Utf8(ErrorPolicy),
    /// As another encoding. An error ends the fix.
    Other(NamedEncoding),
}

/// Why the content was not rewritten.
pub(super) enum Failed {
    Io(io::Error),
    /// There is no fix, or it would be a guess.
    NoFix(String),
    /// The file must not be converted, so the report must not suggest a command that would: the declaration contradicts the
    /// text, a declaration of the old encoding would remain, or other programs read the file in its current encoding.
    Kept(String),
}

impl From<io::Error> for Failed {
    fn from(error: io::Error) -> Self {
        Self::Io(error)
    }
}

impl Plan<'_> {
    /// Returns the number of the first line that is UTF-8 already and would become mojibake. `is_mostly_utf_8` is
    /// whether most of the file is UTF-8.
    pub(super) fn line_in_utf8(self, input: &mut dyn Read, is_mostly_utf_8: bool) -> io::Result<Option<u64>> {
        let FixSource::Other(charset) = self.source else { return Ok(None) };
        if charset.unit_len() > 1 {
            return Ok(None);
        }
        let mut input = BufReader::with_capacity(BUFFER, input);
        let mut line = Vec::new();
        let mut number = 1;
        while (&mut input).take(BUFFER as u64).read_until(b'\n', &mut line)? > 0 {
            if !line.is_ascii()
                && let Ok(text) = str::from_utf8(&line)
            {
                let mut read = String::new();
                let mut transcoder = self.transcoder(charset, &line);
                let is_read = transcoder.feed_into(&line, &mut read).is_ok()
                    && transcoder.finish_into(&mut read).is_ok();
                let has_single_bytes = read.chars().count() == line.len();
                let is_utf_8 = is_read
                    && match has_single_bytes {
                        true => mojibake::is_made(text, &read),
                        false => utf8_evidence::is_utf_8(text, is_mostly_utf_8),
                    };
                if is_utf_8 {
                    return Ok(Some(number));
                }
            }
            number += u64::from(line.ends_with(b"\n"));
            line.clear();
        }
        Ok(None)
    }

    /// Returns why a file is not converted that has such a line. `label` is that of its declaration, if that decides the
    /// encoding.
    pub(super) fn refusal(self, line: u64, label: Option<&str>) -> String {
        let charset = self.old_charset().unwrap_or(Encoding::Utf8.into());
        let but = match label {
            Some(label) => format!("the file declares {label}"),
            None => format!("--from is {charset}"),
        };
        let remedy = remedy(charset, "such lines");
        format!(
            "line {line} is already UTF-8, but {but}: converting it would turn that line into mojibake; {remedy}"
        )
    }

    /// Returns the text of the old content.
    pub(super) fn decoded(self, input: &mut dyn Read) -> Result<Scratch, Failed> {
        let mut out = Scratch::new();
        let mut text = String::new();
        let mut buffer = vec![0; BUFFER];
        let mut transcoder = None;
        loop {
            let len = read(&mut &mut *input, &mut buffer)?;
            let charset = self.old_charset().unwrap_or(Encoding::Utf8.into());
            let transcoder = transcoder.get_or_insert_with(|| self.transcoder(charset, &buffer[..len]));
            let fed = match len {
                0 => transcoder.finish_into(&mut text),
                _ => transcoder.feed_into(&buffer[..len], &mut text),
            };
            fed.map_err(|error| is_not(charset, error))?;
            out.write_all(text.as_bytes())?;
            text.clear();
            if len == 0 {
                out.rewind()?;
                return Ok(out);
            }
        }
    }

    /// Describes what was changed, by the errors before and after.
    pub(super) fn changes(self, before: &Summary, after: &Summary) -> Vec<String> {
        let fixed = |name: &str| before.number(name).saturating_sub(after.number(name));
        let mut changes = Vec::new();
        match (self.source, self.old_charset()) {
            (FixSource::Other(charset), _) => changes.push(format!("converted from {charset}")),
            (FixSource::Utf8(_), Some(charset)) => {
                changes.push(format!("{} decoded as {charset}", counted(fixed(ILL_FORMED), "sequence")));
            }
            _ => {}
        }
        if fixed(Rule::Bom.name()) + fixed(Rule::Editorconfig.name()) > 0 {
            changes.push(if self.bom == BomPolicy::Require { "BOM added" } else { "BOM removed" }.to_owned());
        }
        for (rule, noun) in [
            (Rule::Mojibake, "text encoded twice"),
            (Rule::Invisible, "U+FEFF removed"),
            (Rule::JsonEscapes, "half of a surrogate pair replaced"),
        ] {
            match fixed(rule.name()) {
                0 => {}
                1 => changes.push(noun.to_owned()),
                count => changes.push(format!("{noun}, {count} times")),
            }
        }
        changes
    }

    /// The encoding of text that is not UTF-8.
    pub(super) fn old_charset(self) -> Option<NamedEncoding> {
        match self.source {
            FixSource::Utf8(ErrorPolicy::Windows1252) => Some(Encoding::Windows1252.into()),
            FixSource::Utf8(ErrorPolicy::Latin1) => Some(Encoding::Latin1.into()),
            FixSource::Utf8(_) => None,
            FixSource::Other(charset) => Some(charset),
        }
    }

    /// Whether every byte is a character of the old encoding.
    pub(super) fn is_single_byte(self) -> bool {
        self.old_charset().is_some_and(|charset| policy_of(charset).is_some())
    }

    pub(super) fn transcoder(self, charset: NamedEncoding, start: &[u8]) -> Transcoder {
        let on_error = match self.source {
            FixSource::Utf8(policy) => policy,
            FixSource::Other(_) => ErrorPolicy::Strict,
        };
        // A BOM that only indicates the encoding is removed. If the policy requires a BOM, it was written before the
        // text.
        let bom = match self.bom {
            BomPolicy::Keep if !charset.has_bom() => BomPolicy::Keep,
            _ => BomPolicy::Strip,
        };
        let transcoder = Transcoder::new(charset.encoding_of(start), Encoding::Utf8)
            .with_error_policy(on_error)
            .with_bom_policy(bom)
            .with_switches(Switches::STRICT.with_lenient_java(true));
        charset.restrict(transcoder)
    }
}

pub(super) fn is_not(charset: NamedEncoding, error: TranscodeError) -> Failed {
    Failed::NoFix(format!("it is not {charset} either: {error}"))
}

/// Returns the policy that decodes ill-formed sequences as this encoding, if there is one. Well-formed UTF-8 sequences
/// are kept: files that mix UTF-8 and a legacy encoding are common, but legacy text that is also well-formed UTF-8 is
/// rare.
pub(super) fn policy_of(charset: NamedEncoding) -> Option<ErrorPolicy> {
    if charset == Encoding::Windows1252.into() {
        Some(ErrorPolicy::Windows1252)
    } else if charset == Encoding::Latin1.into() {
        Some(ErrorPolicy::Latin1)
    } else {
        None
    }
}

pub(super) fn source_of(charset: NamedEncoding) -> FixSource {
    policy_of(charset).map_or(FixSource::Other(charset), FixSource::Utf8)
}

/// Returns what to do with a file of which some is UTF-8 and the rest in this encoding.
pub(super) fn remedy(charset: NamedEncoding, kept: &str) -> String {
    match policy_of(charset) {
        Some(_) => format!("--from {charset} keeps {kept}"),
        None => format!("convert only the other lines, or the whole file with `convert --from {charset}`"),
    }
}
