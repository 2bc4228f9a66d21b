//! Makes the new content of a file, in constant memory.
//!
//! The old content is decoded to text. Each part of the text that ends with a line is checked for declarations that would
//! remain, is changed, and goes to the output, where escapes are replaced and BOMs at the start are removed.

use std::io::{self, Read};

use utf8_codec::{BomPolicy, ErrorPolicy};
use utf8_codec_encodings::{Encoding, Transcoder};

use super::plan::{BUFFER, Failed, FixSource, Plan, is_not};
use crate::charset::NamedEncoding;
use crate::check::escapes::Escapes;
use crate::check::invisible::MARK;
use crate::check::rules::Rule;
use crate::files::read;
use crate::guess::mojibake::{self, first_len, long_segments};
use crate::guess::{binary, declaration};

/// Where the new content is written.
type Write<'w> = dyn FnMut(&[u8]) -> io::Result<()> + 'w;

/// Converts the content of a file.
pub(super) fn apply(plan: Plan<'_>, input: &mut dyn Read, write: &mut Write<'_>) -> Result<(), Failed> {
    let mut buffer = vec![0; BUFFER];
    let mut filled = 0;
    // Declarations are rewritten in the first part of the text.
    while filled < declaration::PREFIX {
        match read(&mut &mut *input, &mut buffer[filled..])? {
            0 => break,
            more => filled += more,
        }
    }
    let mut conversion = Conversion::new(plan, &buffer[..filled], write)?;
    while filled > 0 {
        conversion.feed(&buffer[..filled])?;
        filled = read(&mut &mut *input, &mut buffer)?;
    }
    conversion.finish()
}

/// Decides whether a BOM is written: never before `#!`, and a required one only before text with characters beyond
/// ASCII. Reads no more than is needed for this.
pub(super) fn with_bom_by_content<'c>(plan: Plan<'c>, input: &mut dyn Read) -> Result<Plan<'c>, Failed> {
    let mut start = Vec::<u8>::new();
    let mut is_ascii = true;
    let mut is_known = false;
    let converted = apply(Plan { bom: BomPolicy::Strip, ..plan }, input, &mut |bytes| {
        start.extend(bytes.iter().take(2_usize.saturating_sub(start.len())));
        is_ascii &= bytes.is_ascii();
        let is_decided = plan.bom != BomPolicy::Require || start == b"#!" || !is_ascii;
        is_known = start.len() == 2 && is_decided;
        if is_known { Err(io::Error::other("the rest is not needed")) } else { Ok(()) }
    });
    if !is_known {
        converted?;
    }
    let bom = match plan.bom {
        _ if start == b"#!" => BomPolicy::Reject,
        BomPolicy::Require if is_ascii => BomPolicy::Keep,
        bom => bom,
    };
    Ok(Plan { bom, ..plan })
}

/// The conversion of one file.
struct Conversion<'c> {
    plan: Plan<'c>,
    /// The encoding of the old content.
    charset: NamedEncoding,
    transcoder: Transcoder,
    /// The text that is decoded and not written.
    text: String,
    /// The number of lines that were checked for declarations.
    lines: usize,
    /// Whether nothing was decoded.
    is_start: bool,
    /// Whether the text is at the start of a line.
    is_line_start: bool,
    output: Output<'c>,
}

impl<'c> Conversion<'c> {
    /// `start` is all of the old content, or at least [`declaration::PREFIX`] bytes.
    fn new(plan: Plan<'c>, start: &[u8], write: &'c mut Write<'_>) -> Result<Self, Failed> {
        if plan.is_single_byte() && start.len() < BUFFER && binary::is_noise(start) {
            return Err(Failed::NoFix("most of it is not letters, and is probably binary".to_owned()));
        }
        let charset = match plan.source {
            FixSource::Utf8(_) => Encoding::Utf8.into(),
            FixSource::Other(charset) => charset,
        };
        Ok(Self {
            plan,
            charset,
            transcoder: plan.transcoder(charset, start),
            text: String::new(),
            lines: 0,
            is_start: true,
            is_line_start: true,
            output: Output::new(plan, write)?,
        })
    }

    fn feed(&mut self, bytes: &[u8]) -> Result<(), Failed> {
        self.refuse_nul(bytes)?;
        let before = self.text.len();
        let fed = self.transcoder.feed_into(bytes, &mut self.text);
        fed.map_err(|error| is_not(self.charset, error))?;
        self.refuse_controls(before)?;
        if core::mem::take(&mut self.is_start) {
            self.start()?;
        }
        self.write(complete_lines(&self.text))
    }

    fn finish(mut self) -> Result<(), Failed> {
        let finished = self.transcoder.finish_into(&mut self.text);
        finished.map_err(|error| is_not(self.charset, error))?;
        self.write(self.text.len())?;
        Ok(self.output.finish()?)
    }

    /// Refuses bytes that text in an encoding of one byte does not have.
    fn refuse_nul(&self, bytes: &[u8]) -> Result<(), Failed> {
        let is_repaired = self.plan.source != FixSource::Utf8(ErrorPolicy::Strict);
        if is_repaired && self.charset.unit_len() == 1 && memchr::memchr(0, bytes).is_some() {
            return Err(Failed::NoFix("it contains NUL, and is probably binary".to_owned()));
        }
        Ok(())
    }

    /// Refuses control characters above U+007F in the last part of the text. Legacy text does not have them, so the
    /// declaration is wrong.
    fn refuse_controls(&self, from: usize) -> Result<(), Failed> {
        if !self.plan.is_declared || !has_controls(&self.text[from..]) {
            return Ok(());
        }
        let charset = self.charset;
        let reason =
            format!("some of its bytes are control characters in {charset}: name the encoding with --from");
        Err(Failed::Kept(reason))
    }

    /// Rewrites the declarations in the first part of the text, and removes a mark before it. Refuses a declaration that
    /// remains, because a program that follows it would decode the new content in the old encoding.
    fn start(&mut self) -> Result<(), Failed> {
        let plan = self.plan;
        let old = plan.old_charset();
        declaration::rewrite(plan.kind, old.is_some(), &mut self.text);
        let remaining = old.and_then(|old| declaration::remaining(plan.kind, self.text.as_bytes(), old));
        if let Some((line, label)) = remaining {
            return Err(still_declared(line, &label));
        }
        if plan.removes_marks && plan.bom == BomPolicy::Keep && self.text.starts_with(MARK) {
            self.text.drain(..MARK.len_utf8());
            self.output.write(MARK.encode_utf8(&mut [0; 4]).as_bytes())?;
        }
        Ok(())
    }

    /// Refuses a line of a converted text that declares a legacy encoding in a form that is not rewritten.
    fn refuse_forms(&mut self, len: usize) -> Result<(), Failed> {
        if self.plan.old_charset().is_none_or(|charset| charset.unit_len() > 1) {
            return Ok(());
        }
        let text = &self.text.as_bytes()[..len];
        if let Some((line, label)) = declaration::other_form(text, self.lines == 0) {
            return Err(still_declared(self.lines + line, &label));
        }
        self.lines += memchr::memchr_iter(b'\n', text).count();
        Ok(())
    }

    /// Writes the first part of the text.
    fn write(&mut self, len: usize) -> Result<(), Failed> {
        self.refuse_forms(len)?;
        let text = &self.text[..len];
        let is_kept = self.plan.survey.is_none() && !self.plan.removes_marks;
        if is_kept || text.is_ascii() {
            self.output.write(text.as_bytes())?;
            if !text.is_empty() {
                self.is_line_start = text.ends_with('\n');
            }
        } else {
            for line in text.split_inclusive('\n') {
                self.is_line_start = write_line(self.plan, line, self.is_line_start, &mut self.output)?;
            }
        }
        self.text.drain(..len);
        Ok(())
    }
}

/// Writes a line without what the rules of the plan find in it. Returns whether the text after it is at the start of a
/// line, as `is_line_start` is for this one.
fn write_line(
    plan: Plan<'_>,
    line: &str,
    mut is_line_start: bool,
    output: &mut Output<'_>,
) -> io::Result<bool> {
    let survey = plan.survey.filter(|_| !Rule::Mojibake.is_allowed_by(line.as_bytes()));
    let mut rest = line;
    if plan.removes_marks && is_line_start && !Rule::Invisible.is_allowed_by(line.as_bytes()) {
        rest = line.trim_start_matches(MARK);
    }
    while !rest.is_empty() {
        let (segment, after) = rest.split_at(survey.map_or(rest.len(), |_| first_len(rest)));
        let original = survey.and_then(|survey| mojibake::undo(segment, survey, is_line_start));
        is_line_start = segment.ends_with('\n');
        output.write(original.as_deref().unwrap_or(segment).as_bytes())?;
        rest = after;
    }
    Ok(is_line_start)
}

/// The new content on its way: escapes are replaced, and then BOMs at the start are removed.
struct Output<'w> {
    escapes: Option<Escapes>,
    content: Content<'w>,
}

impl<'w> Output<'w> {
    fn new(plan: Plan<'_>, write: &'w mut Write<'_>) -> io::Result<Self> {
        if plan.bom == BomPolicy::Require {
            write(BOM)?;
        }
        // If a BOM is forbidden, several of them are removed at once: after the first one, the next would be at the start.
        // One that was encoded twice does not follow the required one.
        let may_be_bom = matches!(plan.bom, BomPolicy::Reject | BomPolicy::Require);
        let escapes = plan.replaces_escapes.then(|| Escapes::new(&[], plan.has_comments));
        Ok(Self { escapes, content: Content { may_be_bom, write } })
    }

    fn write(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Self { escapes, content } = self;
        match escapes {
            Some(escapes) => escapes.fix(Some(bytes), &mut |bytes| content.write(bytes)),
            None => content.write(bytes),
        }
    }

    fn finish(self) -> io::Result<()> {
        let Self { escapes, mut content } = self;
        escapes.map_or(Ok(()), |mut escapes| escapes.fix(None, &mut |bytes| content.write(bytes)))
    }
}

/// The BOM of UTF-8.
const BOM: &[u8] = b"\xEF\xBB\xBF";

/// The new content without BOMs at its start.
struct Content<'w> {
    /// Whether the next bytes may be a BOM that is removed.
    may_be_bom: bool,
    write: &'w mut Write<'w>,
}

impl Content<'_> {
    fn write(&mut self, mut bytes: &[u8]) -> io::Result<()> {
        while self.may_be_bom && !bytes.is_empty() {
            match bytes.strip_prefix(BOM) {
                Some(rest) => bytes = rest,
                None => self.may_be_bom = false,
            }
        }
        (self.write)(bytes)
    }
}

fn still_declared(line: usize, label: &str) -> Failed {
    Failed::Kept(format!("line {line} would still declare {label}, in a form that --fix does not rewrite"))
}

fn has_controls(text: &str) -> bool {
    memchr::memchr_iter(0xC2, text.as_bytes())
        .any(|at| matches!(text.as_bytes().get(at + 1), Some(0x80..=0x9F)))
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
