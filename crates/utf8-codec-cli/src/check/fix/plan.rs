//! How one file is fixed.

use std::io::{self, BufRead, BufReader, Read, Seek, Write};

use utf8_codec::declared::DocumentKind;
use utf8_codec::transcode::{Encoding, Switches, Transcoder};
use utf8_codec::{BomPolicy, ErrorPolicy, Utf8Error};

use crate::charset::NamedEncoding;
use crate::check::diagnostic::{ILL_FORMED, Summary};
use crate::check::escapes::Escapes;
use crate::check::invisible::MARK;
use crate::check::report::counted;
use crate::check::rules::Rule;
use crate::files::read;
use crate::guess::mojibake::{self, Survey, first_len, long_segments};
use crate::guess::{binary, declaration};
use crate::temporary::Scratch;

/// The size of the read buffer. Mojibake is reversed in whole lines, except in a line that is longer.
const BUFFER: usize = 256 * 1024;

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
    /// Decides whether a BOM is written: never before `#!`, and a required one only before text with characters beyond ASCII.
    pub(super) fn with_bom_by_content(self, input: &mut dyn Read) -> Result<Self, Failed> {
        let (mut start, mut is_ascii) = (Vec::<u8>::new(), true);
        Self { bom: BomPolicy::Strip, ..self }.apply(input, &mut |bytes| {
            start.extend(bytes.iter().take(2_usize.saturating_sub(start.len())));
            is_ascii &= bytes.is_ascii();
            Ok(())
        })?;
        let bom = match self.bom {
            _ if start == b"#!" => BomPolicy::Reject,
            BomPolicy::Require if is_ascii => BomPolicy::Keep,
            bom => bom,
        };
        Ok(Self { bom, ..self })
    }

    /// Converts the content in constant memory.
    pub(super) fn apply(
        self,
        input: &mut dyn Read,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> Result<(), Failed> {
        let mut buffer = vec![0; BUFFER];
        let mut filled = 0;
        // Declarations are rewritten in the first part of the text.
        while filled < declaration::PREFIX {
            match read(&mut &mut *input, &mut buffer[filled..])? {
                0 => break,
                more => filled += more,
            }
        }
        let charset = match self.source {
            FixSource::Utf8(_) => Encoding::Utf8.into(),
            FixSource::Other(charset) => charset,
        };
        let mut transcoder = self.transcoder(charset, &buffer[..filled]);
        let bom = Encoding::Utf8.bom().unwrap_or_default();
        if self.bom == BomPolicy::Require {
            write(bom)?;
        }
        // If a BOM is forbidden, several of them are removed at once: after the first one, the next would be at the start.
        // One that was encoded twice does not follow the required one.
        let mut may_be_bom = matches!(self.bom, BomPolicy::Reject | BomPolicy::Require);
        let write = &mut |mut bytes: &[u8]| {
            while may_be_bom && !bytes.is_empty() {
                match bytes.strip_prefix(bom) {
                    Some(rest) => bytes = rest,
                    None => may_be_bom = false,
                }
            }
            write(bytes)
        };
        let mut escapes = self.replaces_escapes.then(|| Escapes::new(&[], self.has_comments));
        let write_escaped = &mut |bytes: &[u8]| match &mut escapes {
            Some(escapes) => escapes.fix(Some(bytes), write),
            None => write(bytes),
        };
        let mut text = String::new();
        let ill_formed = |error| is_not(charset, error);
        if self.is_single_byte() && filled < BUFFER && binary::is_noise(&buffer[..filled]) {
            return Err(Failed::NoFix("most of it is not letters, and is probably binary".to_owned()));
        }
        let is_repaired = self.source != FixSource::Utf8(ErrorPolicy::Strict) && charset.unit_len() == 1;
        let (mut is_start, mut is_line_start) = (true, true);
        let mut lines = 0;
        while filled > 0 {
            if is_repaired && memchr::memchr(0, &buffer[..filled]).is_some() {
                return Err(Failed::NoFix("it contains NUL, and is probably binary".to_owned()));
            }
            let decoded = text.len();
            transcoder.feed_into(&buffer[..filled], &mut text).map_err(ill_formed)?;
            if self.is_declared && has_controls(&text[decoded..]) {
                let reason = format!(
                    "some of its bytes are control characters in {charset}: name the encoding with --from"
                );
                return Err(Failed::Kept(reason));
            }
            if core::mem::take(&mut is_start) {
                self.declare(&mut text).map_err(Failed::Kept)?;
                if self.removes_marks && self.bom == BomPolicy::Keep && text.starts_with(MARK) {
                    write_escaped(bom)?;
                    text.drain(..bom.len());
                }
            }
            let complete = complete_lines(&text);
            lines += self.refuse_forms(&text[..complete], lines)?;
            self.write(&text[..complete], &mut is_line_start, write_escaped)?;
            text.drain(..complete);
            filled = read(&mut &mut *input, &mut buffer)?;
        }
        transcoder.finish_into(&mut text).map_err(ill_formed)?;
        self.refuse_forms(&text, lines)?;
        self.write(&text, &mut is_line_start, write_escaped)?;
        escapes.map_or(Ok(()), |mut escapes| Ok(escapes.fix(None, write)?))
    }

    /// Returns the number of the first line that is UTF-8 already and would become mojibake, if the encoding has a byte for
    /// each character.
    pub(super) fn line_in_utf8(self, input: &mut dyn Read) -> io::Result<Option<u64>> {
        let FixSource::Other(charset) = self.source else { return Ok(None) };
        if charset.unit_len() > 1 {
            return Ok(None);
        }
        let (mut input, mut line, mut number) = (BufReader::with_capacity(BUFFER, input), Vec::new(), 1);
        while (&mut input).take(BUFFER as u64).read_until(b'\n', &mut line)? > 0 {
            if !line.is_ascii()
                && let Ok(text) = str::from_utf8(&line)
            {
                let mut read = String::new();
                let mut transcoder = self.transcoder(charset, &line);
                let is_read = transcoder.feed_into(&line, &mut read).is_ok()
                    && transcoder.finish_into(&mut read).is_ok();
                if is_read && read.chars().count() == line.len() && mojibake::is_made(text, &read) {
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
        let remedy = match policy_of(charset) {
            Some(_) => format!("--from {charset} keeps such lines"),
            None => {
                format!("convert only the other lines, or the whole file with `convert --from {charset}`")
            }
        };
        format!(
            "line {line} is already UTF-8, but {but}: converting it would turn that line into mojibake; {remedy}"
        )
    }

    /// Returns the text of the old content.
    pub(super) fn decoded(self, input: &mut dyn Read) -> Result<Scratch, Failed> {
        let (mut out, mut text, mut buffer) = (Scratch::new(), String::new(), vec![0; BUFFER]);
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
    fn is_single_byte(self) -> bool {
        self.old_charset().is_some_and(|charset| policy_of(charset).is_some())
    }

    /// Rewrites the declarations in the first part of the text. Returns an error if one remains, because a program that
    /// follows it would decode the new content in the old encoding.
    fn declare(self, text: &mut String) -> Result<(), String> {
        let old = self.old_charset();
        declaration::rewrite(self.kind, old.is_some(), text);
        match old.and_then(|old| declaration::remaining(self.kind, text.as_bytes(), old)) {
            None => Ok(()),
            Some((line, label)) => Err(still_declared(line, &label)),
        }
    }

    /// Returns an error if a line of a converted text declares a legacy encoding in a form that is not rewritten, and otherwise the
    /// number of its lines. `lines` is the number of those before it.
    fn refuse_forms(self, text: &str, lines: usize) -> Result<usize, Failed> {
        if self.old_charset().is_none_or(|charset| charset.unit_len() > 1) {
            return Ok(0);
        }
        match declaration::other_form(text.as_bytes(), lines == 0) {
            Some((line, label)) => Err(Failed::Kept(still_declared(lines + line, &label))),
            None => Ok(memchr::memchr_iter(b'\n', text.as_bytes()).count()),
        }
    }

    fn transcoder(self, charset: NamedEncoding, start: &[u8]) -> Transcoder {
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

    /// `is_line_start` is whether the text is at the start of a line.
    fn write(
        self,
        text: &str,
        is_line_start: &mut bool,
        write: &mut dyn FnMut(&[u8]) -> io::Result<()>,
    ) -> io::Result<()> {
        let is_kept = self.survey.is_none() && !self.removes_marks;
        if is_kept || text.is_ascii() {
            *is_line_start = if text.is_empty() { *is_line_start } else { text.ends_with('\n') };
            return write(text.as_bytes());
        }
        for mut line in text.split_inclusive('\n') {
            let is_allowed = |rule: Rule| rule.is_allowed_by(line.as_bytes());
            let survey = self.survey.filter(|_| !is_allowed(Rule::Mojibake));
            if self.removes_marks && *is_line_start && !is_allowed(Rule::Invisible) {
                line = line.trim_start_matches(MARK);
            }
            while !line.is_empty() {
                let (segment, after) = line.split_at(survey.map_or(line.len(), |_| first_len(line)));
                let original = survey.and_then(|survey| mojibake::undo(segment, survey, *is_line_start));
                *is_line_start = segment.ends_with('\n');
                write(original.as_deref().unwrap_or(segment).as_bytes())?;
                line = after;
            }
        }
        Ok(())
    }
}

fn still_declared(line: usize, label: &str) -> String {
    format!("line {line} would still declare {label}, in a form that --fix does not rewrite")
}

/// Whether the text has control characters above U+007F, which legacy text does not have.
fn has_controls(text: &str) -> bool {
    let is_control = |at: usize| matches!(text.as_bytes().get(at + 1), Some(0x80..=0x9F));
    memchr::memchr_iter(0xC2, text.as_bytes()).any(is_control)
}

fn is_not(charset: NamedEncoding, error: Utf8Error) -> Failed {
    Failed::NoFix(format!("it is not {charset} either: {error}"))
}

/// Returns the length of the prefix that can be written: all complete lines. If there is no line break and the text is
/// at least as long as the buffer, the prefix has complete segments of the line.
fn complete_lines(text: &str) -> usize {
    match memchr::memrchr(b'\n', text.as_bytes()) {
        Some(at) => at + 1,
        None if text.len() < BUFFER => 0,
        None => long_segments(text.as_bytes()),
    }
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
