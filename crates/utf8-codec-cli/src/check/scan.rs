//! Scanner for one input: finds ill-formed sequences and violations of rules, in constant memory.
//!
//! There are four speeds, and the report is the same with each. Text of ASCII is validated and its lines are counted in one pass
//! of a kernel. Other text is decoded in blocks that stay in the L1 cache, so that the rules and the count of lines read it
//! again from there. After an error the rest of a block is decoded sequence by sequence (`Findings::mixed`), because more
//! errors are likely. And a position is only computed for an error that is reported: the others are counted.
//!
//! The input goes through a [`Window`], whole lines at a time, because a rule may depend on the rest of the line and a report
//! shows it. A decoder turns the lines into text and errors, which [`Findings`] receives in the order of the input, together
//! with the window for the bytes around them.

mod findings;
mod window;

use std::io::{self, Read};

use utf8_codec::{Piece, Utf8Decoder};
use utf8_codec_encodings::{Encoding, TranscodeStatus, Transcoder};

use super::checks::Checks;
use super::diagnostic::{Diagnostic, FileStatus, Summary};
use crate::guess::binary::PREFIX;
use crate::guess::declaration;
use findings::Findings;
use window::Window;

/// The number of bytes that are decoded and counted at a time if there are no rules.
const BLOCK: usize = 16 * 1024;

/// Scans an input. `report` is called for each error up to the limit, in input order.
pub(super) fn scan(
    input: &mut dyn Read,
    checks: &Checks,
    skip_binary: bool,
    report: &mut dyn FnMut(Diagnostic),
) -> io::Result<Summary> {
    let mut window = Window::new();
    let mut findings = Findings::new(checks, report);
    // What the start of the file decides depends on a fixed number of bytes, and not on the length of a read.
    let mut needed = PREFIX;
    while window.bytes().len() < needed && !window.is_at_end() {
        window.read(input)?;
        if let Some(start) = window.bytes().get(..PREFIX) {
            needed = declaration::needed(checks.kind, start);
        }
    }
    findings.start(&window);
    if skip_binary && findings.is_binary() {
        return Ok(findings.finish(&window, FileStatus::Binary));
    }
    findings.check_bom(&window);
    findings.check_wide(&window);
    let mut decoder = Decoder::new(findings.encoding(), checks);
    loop {
        let chunk = window.unscanned(checks.needs_words());
        findings.start_chunk(chunk, &window);
        decoder.feed(chunk, &window, &mut findings);
        let len = chunk.len();
        window.advance(len);
        if findings.is_decided() {
            break;
        }
        if window.is_at_end() {
            decoder.finish(&window, &mut findings);
            findings.end(&window);
            break;
        }
        window.make_room();
        window.read(input)?;
    }
    Ok(findings.finish(&window, FileStatus::Checked))
}

/// The decoder of the input.
enum Decoder {
    Utf8(Utf8Decoder),
    Other(Box<Transcoder>),
}

impl Decoder {
    /// `encoding` is the one of the checks, with its byte order.
    fn new(encoding: Encoding, checks: &Checks) -> Self {
        match encoding {
            Encoding::Utf8 => Self::Utf8(Utf8Decoder::new()),
            other => {
                let transcoder = Transcoder::new(other, Encoding::Utf8);
                Self::Other(Box::new(checks.encoding.restrict(transcoder)))
            }
        }
    }

    /// Decodes the next bytes.
    fn feed(&mut self, chunk: &[u8], window: &Window, findings: &mut Findings<'_>) {
        match self {
            Self::Utf8(decoder) => feed_utf_8(decoder, chunk, window, findings),
            Self::Other(transcoder) => transcode(transcoder, Some(chunk), window, findings),
        }
    }

    /// Ends the input, which may be inside a character.
    fn finish(&mut self, window: &Window, findings: &mut Findings<'_>) {
        match self {
            Self::Utf8(decoder) => {
                if let Err(error) = decoder.finish() {
                    findings.error(error, window);
                }
            }
            Self::Other(transcoder) => transcode(transcoder, None, window, findings),
        }
    }
}

fn feed_utf_8(decoder: &mut Utf8Decoder, chunk: &[u8], window: &Window, findings: &mut Findings<'_>) {
    let mut rest = chunk;
    while !rest.is_empty() && !findings.is_decided() {
        if !findings.needs_lines() && decoder.pending().is_empty() {
            let ascii = findings.ascii(rest);
            rest = &rest[ascii..];
        }
        // Processed in blocks, so that text is searched and lines are counted while it is in the L1 cache.
        let len = if findings.needs_chunks() { rest.len() } else { block_len(rest, findings.needs_lines()) };
        let block = &rest[..len];
        let start = decoder.offset();
        for piece in decoder.feed(block) {
            match piece {
                Piece::Text(text) => findings.text(text, window),
                Piece::Seam(character) => findings.text(character.encode_utf8(&mut [0; 4]), window),
                Piece::IllFormed(error) => {
                    findings.error(error, window);
                    // Others are probably near.
                    if findings.is_mixed() {
                        break;
                    }
                }
            }
        }
        let decoded = (decoder.offset() - start) as usize;
        let mixed = findings.mixed(&block[decoded..], window);
        rest = &rest[decoded + mixed..];
    }
}

/// Returns the length of the next block. It ends with a line if there is one, and otherwise, if it must, with the text.
fn block_len(text: &[u8], ends_with_line: bool) -> usize {
    match text.get(..BLOCK) {
        None => text.len(),
        Some(_) if !ends_with_line => BLOCK,
        Some(block) => {
            let last = memchr::memrchr(b'\n', block);
            let end = last.or_else(|| memchr::memchr(b'\n', &text[BLOCK..]).map(|at| BLOCK + at));
            end.map_or(text.len(), |end| end + 1)
        }
    }
}

/// Decodes text in another encoding. Lines and columns are those of the converted text. The offset of an ill-formed
/// sequence is that in the input.
fn transcode(
    transcoder: &mut Transcoder,
    chunk: Option<&[u8]>,
    window: &Window,
    findings: &mut Findings<'_>,
) {
    let mut room = [0; 8 * 1024];
    let mut rest = chunk.unwrap_or_default();
    loop {
        let progress = match chunk {
            Some(_) => transcoder.feed_into_slice(rest, &mut room),
            None => transcoder.finish_into_slice(&mut room),
        };
        rest = &rest[progress.read..];
        if let Ok(text) = str::from_utf8(&room[..progress.written]) {
            findings.text(text, window);
            findings.remember(text);
        }
        match progress.status {
            TranscodeStatus::InputEmpty => return,
            TranscodeStatus::OutputFull => {}
            TranscodeStatus::IllFormed(error) => findings.error(error.utf8_error(), window),
        }
    }
}

#[cfg(test)]
mod tests;
