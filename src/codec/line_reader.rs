//! Reads lines from the front of a read buffer, for the codec for lines and the codec for batches of lines.
//!
//! `FramedRead` appends each read to one buffer and asks for an item until there is none. Most lines are complete, well-formed,
//! short enough and returned as they are, so the reader tries that first:
//!
//! 1. [`next`](LineReader::next) searches for the terminator from `searched`, the end of the last search. No byte is
//!    searched twice, however slowly a line arrives.
//! 2. [`end_line`](LineReader::end_line) counts the line and validates it together with its terminator, in one call of the
//!    kernel. It returns the text only if it is the line itself.
//! 3. `held::take_line` then splits the line off the buffer without a copy, and drops the terminator.
//!
//! In any other case nothing was removed, and the decoder is still at the start of the line, so
//! [`cut_changed`](LineReader::cut_changed) starts again with the whole line: it applies the policies, or returns the error
//! with the bytes of the line. A line without a terminator stays in the buffer until it is longer than the limit. Then its
//! start is reported, and the state is `Discard` until a terminator arrives.
//!
//! The result does not depend on the reads, because a decision is made only about a whole line or about its first
//! `max_length` bytes, and the decoder moves only when a line leaves the buffer.
//!
//! Functions that run for each line are `inline(always)`, and so are the functions that they call. At `opt-level = 0`
//! nothing else is inlined, and the calls would take a tenth of the time.

use std::io;

use bytes::{Buf, BytesMut};
use bytestring::ByteString;
use kernels::held;

use super::error::{CodecError, LineStart, ill_formed, line_too_long};
use super::whole_text::{Json, Policed, decode_strict, unchanged};
use crate::error::Utf8Error;
use crate::line_ending::LineEnding;
use crate::text::TextDecoder;

/// The default limit of a line in bytes.
pub(super) const DEFAULT_MAX_LENGTH: usize = 64 * 1024;
/// The limit of a line of [`Utf8LinesCodec::ndjson`](super::Utf8LinesCodec::ndjson) in bytes.
pub(super) const NDJSON_MAX_LENGTH: usize = 1024 * 1024;

/// The state of a codec for lines: its position in the stream and in the current line, and its settings.
#[derive(Clone, Debug)]
pub(super) struct LineReader {
    pub(super) text: TextDecoder,
    /// Set if the lines are JSON.
    pub(super) json: Option<Json>,
    /// Not set if the decoder has no policies.
    policed: Option<&'static Policed>,
    pub(super) ending: LineEnding,
    /// Whether the BOM policy applies to each line.
    pub(super) bom_in_each_line: bool,
    pub(super) max_length: usize,
    /// The limit of the text of a line. A policy may make it longer than the line.
    pub(super) max_text_length: usize,
    /// The number of bytes at the front of the buffer in which no terminator starts. If the caller passes another
    /// buffer, the number is wrong, and the end of a line may be missed. All bytes that are returned are still
    /// validated.
    pub(super) searched: usize,
    /// The number of lines that have ended.
    lines: u64,
    state: LineState,
}

/// The position of a codec for lines in the current line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineState {
    /// In a line that is returned when it is complete.
    Line,
    /// After a CR under [`LineEnding::Any`]: an LF here belongs to the terminator.
    AfterCr,
    /// In the rest of a line that was reported as too long.
    Discard,
}

impl LineReader {
    /// Creates a reader without policies.
    pub(super) const fn strict() -> Self {
        Self { policed: None, ..Self::new(TextDecoder::new()) }
    }

    pub(super) const fn new(text: TextDecoder) -> Self {
        Self {
            text,
            json: None,
            policed: Some(&Policed::FUNCTIONS),
            ending: LineEnding::LfOrCrLf,
            bom_in_each_line: false,
            max_length: DEFAULT_MAX_LENGTH,
            max_text_length: usize::MAX,
            searched: 0,
            lines: 0,
            state: LineState::Line,
        }
    }

    /// Returns the start of the line at the front of the buffer.
    pub(super) fn line(&self) -> LineStart {
        LineStart { number: self.lines.wrapping_add(1), offset: self.text.offset() }
    }

    /// Returns the next line if the buffer contains all of it.
    ///
    /// The line is cut off here, in code that is inlined into the stream. Each adapter that moves a result that a
    /// function has just written waits for its stores: a wide load cannot be forwarded from several narrow stores.
    #[inline]
    pub(super) fn decode(&mut self, src: &mut BytesMut) -> Option<Result<ByteString, CodecError>> {
        if !self.start_line(src) {
            return None;
        }
        let ending = self.ending;
        match held::take_line(src, 0, |line| ending.len_at_end_of(line), |src| self.next(src)) {
            Some(line) => Some(Ok(line)),
            None => self.decode_changed(src),
        }
    }

    /// Finds, validates and ends the next line. Returns it with its terminator if it can be returned unchanged.
    /// Otherwise `searched` is its length, and the line has been counted. If there is no terminator, `searched` is
    /// where the next search starts.
    fn next<'b>(&mut self, src: &'b [u8]) -> Option<&'b str> {
        let Some((length, terminator)) = self.ending.find(src, self.searched) else {
            self.searched = src.len() - self.ending.may_start(src);
            return None;
        };
        let line = self.validate_line(&src[..length + terminator], length);
        if line.is_none() {
            self.searched = length;
        }
        line
    }

    /// [`decode`](Self::decode), if the buffer does not start with a line that can be returned unchanged.
    #[cold]
    fn decode_changed(&mut self, src: &mut BytesMut) -> Option<Result<ByteString, CodecError>> {
        match self.ending.find(src, self.searched) {
            None => self.await_terminator(src).err().map(Err),
            Some((length, terminator)) => Some(self.take_changed_line(src, length, terminator)),
        }
    }

    /// Writes a line and its terminator.
    #[inline(always)]
    pub(super) fn encode(&self, line: &[u8], dst: &mut BytesMut) -> io::Result<()> {
        if self.ending.write_short(line, dst) { Ok(()) } else { self.encode_any(line, dst) }
    }

    #[inline(never)]
    fn encode_any(&self, line: &[u8], dst: &mut BytesMut) -> io::Result<()> {
        let written = self.ending.write(line, dst);
        written.map_err(|position| CodecError::<Utf8Error>::EmbeddedTerminator { position }.into())
    }

    /// Returns the next line of a stream that has ended.
    pub(super) fn decode_eof(&mut self, src: &mut BytesMut) -> Option<Result<ByteString, CodecError>> {
        if let Some(line) = self.decode(src) {
            return Some(line);
        }
        self.end_discarded(src);
        if src.is_empty() {
            let line = Some(self.line());
            // Without policies nothing is pending: an unfinished sequence is in the buffer.
            let end = self.policed.and_then(|functions| (functions.finish)(&mut self.text))?;
            let error = end.text().err()?;
            return Some(Err(ill_formed(error, src.split().freeze(), line)));
        }
        Some(self.take_line(src, src.len(), 0))
    }

    /// Discards the rest of an earlier line. Returns `false` if the end of that line is not in `src`.
    #[inline(always)]
    pub(super) fn start_line(&mut self, src: &mut BytesMut) -> bool {
        matches!(self.state, LineState::Line) || self.end_earlier_line(src)
    }

    #[cold]
    fn end_earlier_line(&mut self, src: &mut BytesMut) -> bool {
        if self.state == LineState::AfterCr && !src.is_empty() {
            self.state = LineState::Line;
            if src.starts_with(b"\n") {
                self.discard(src, 1);
            }
        }
        if self.state == LineState::Discard {
            let Some((length, terminator)) = self.ending.find(src, self.searched) else {
                let kept = self.ending.may_start(src);
                self.discard(src, src.len() - kept);
                return false;
            };
            self.count_lines(&src[..length + terminator], 1);
            self.discard(src, length + terminator);
        }
        true
    }

    /// Ends a line that is being discarded at the end of the stream.
    pub(super) fn end_discarded(&mut self, src: &mut BytesMut) {
        if self.state == LineState::Discard {
            self.count_lines(src, 1);
            self.discard(src, src.len());
        }
    }

    /// Removes and decodes the line at the front of `src`.
    pub(super) fn take_line(
        &mut self,
        src: &mut BytesMut,
        length: usize,
        terminator: usize,
    ) -> Result<ByteString, CodecError> {
        let line = held::take_line(
            src,
            0,
            |_| terminator,
            |src| self.validate_line(&src[..length + terminator], length),
        );
        match line {
            Some(line) => Ok(line),
            None => self.take_changed_line(src, length, terminator),
        }
    }

    /// Returns the length of the line at the front of `src`, and the length of its terminator.
    #[inline]
    pub(super) fn find(&self, src: &[u8]) -> Option<(usize, usize)> {
        self.ending.find(src, self.searched)
    }

    /// Same as [`take_line`](Self::take_line), but skips the first `skipped` bytes of the line, which are ASCII. Returns `None`
    /// and leaves `src` unchanged if the line is too long or ill-formed, or if the BOM policy or a subset may apply to
    /// it.
    #[inline]
    pub(super) fn take_line_after(
        &mut self,
        skipped: usize,
        src: &mut BytesMut,
        length: usize,
        terminator: usize,
    ) -> Option<ByteString> {
        if length > self.max_unchanged_length() {
            return None;
        }
        held::take_line(
            src,
            skipped,
            |_| terminator,
            |src| {
                let line = unchanged(&mut self.text, &src[..length + terminator])?;
                self.count_lines(line.as_bytes(), 1);
                Some(line)
            },
        )
    }

    /// Removes an empty line. Returns `false` and removes nothing if the BOM policy or a subset may apply to it.
    #[inline]
    pub(super) fn take_empty(&mut self, src: &mut BytesMut, terminator: usize) -> bool {
        let is_removed = self.text.is_past_start();
        if is_removed {
            self.count_lines(&src[..terminator], 1);
            src.advance(terminator);
            self.text.skip(terminator);
        }
        is_removed
    }

    /// Returns the limit of a line whose text is the line itself.
    #[inline(always)]
    pub(super) fn max_unchanged_length(&self) -> usize {
        self.max_length.min(self.max_text_length)
    }

    /// Counts `line`, of `length` bytes and a terminator, which is then removed from the buffer. Returns it if it can
    /// be returned unchanged. In this case the decoder is then at the end of the line.
    #[inline(always)]
    fn validate_line<'b>(&mut self, line: &'b [u8], length: usize) -> Option<&'b str> {
        trace!(offset = self.text.offset(), length, terminator = line.len() - length, "decoding line");
        self.count_lines(line, 1);
        if length > self.max_unchanged_length() {
            return None;
        }
        if self.bom_in_each_line {
            self.text.restart_line(line);
        }
        let text = unchanged(&mut self.text, line)?;
        (self.json.is_none() || self.has_only_accepted_escapes(line, length)).then_some(text)
    }

    /// Whether the escapes in a line of JSON are accepted. If not, moves the decoder back to its start.
    fn has_only_accepted_escapes(&mut self, line: &[u8], length: usize) -> bool {
        let is_accepted = self.json.is_none_or(|json| (json.accepts)(json.strings, &line[..length]));
        if !is_accepted {
            self.text.seek(self.text.offset().wrapping_sub(line.len() as u64));
        }
        is_accepted
    }

    /// Removes a line that is too long or ill-formed, or to which the BOM policy or a subset may apply. Returns its
    /// text or the error.
    #[cold]
    fn take_changed_line(
        &mut self,
        src: &mut BytesMut,
        length: usize,
        terminator: usize,
    ) -> Result<ByteString, CodecError> {
        // The line has already been counted, and the decoder is still at its start.
        let line = LineStart { number: self.lines, offset: self.text.offset() };
        self.searched = 0;
        if length > self.max_length {
            let error = line_too_long(line, self.max_length, src);
            self.discard(src, length + terminator);
            return Err(error);
        }
        let frame = src.split_to(length + terminator).freeze();
        let decoded = match (self.json, self.policed) {
            (Some(json), _) => (json.decode)(&mut self.text, json.strings, frame, terminator),
            (None, Some(functions)) => (functions.decode)(&mut self.text, frame, terminator),
            (None, None) => decode_strict(&mut self.text, frame, terminator),
        };
        match decoded {
            Ok(text) if text.len() > self.max_text_length => {
                Err(line_too_long(line, self.max_text_length, text.as_bytes()))
            }
            Ok(text) => Ok(text),
            Err((error, rejected)) => Err(ill_formed(error, rejected, Some(line))),
        }
    }

    /// Called before `bytes`, which contain `count` lines, are removed from the buffer.
    #[inline(always)]
    pub(super) fn count_lines(&mut self, bytes: &[u8], count: usize) {
        self.searched = 0;
        self.lines = self.lines.wrapping_add(count as u64);
        let after_cr = matches!(self.ending, LineEnding::Any) && bytes.ends_with(b"\r");
        self.state = if after_cr { LineState::AfterCr } else { LineState::Line };
    }

    /// Called when there is no terminator in `src`. Returns an error and discards the bytes if they are already longer
    /// than the limit.
    pub(super) fn await_terminator(&mut self, src: &mut BytesMut) -> Result<(), CodecError> {
        let length = src.len() - self.ending.may_start(src);
        if length > self.max_length {
            let error = line_too_long(self.line(), self.max_length, src);
            self.discard(src, length);
            self.state = LineState::Discard;
            return Err(error);
        }
        self.searched = length;
        Ok(())
    }

    fn discard(&mut self, src: &mut BytesMut, bytes: usize) {
        src.advance(bytes);
        self.text.skip(bytes);
        self.searched = 0;
    }
}
