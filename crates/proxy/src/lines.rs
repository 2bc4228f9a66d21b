//! The filter of one direction of a line protocol, without I/O.
//!
//! The decoder validates or repairs a slice as one text, and reports edits: ranges of the slice that pass, and inserted
//! text. [`LineEdits`] splits these edits into lines. It forwards a line only when its terminator arrives, so until then
//! the line is in two parts: `held`, a copy of the bytes of earlier slices and of repairs, and `tail`, a range of the
//! current slice that follows it. A line that starts and ends in one slice is never copied, and neither are the lines between
//! the first and the last terminator of a slice, which are forwarded as one range if none of them can be too long.
//!
//! Three things can depend on where a slice ends, and are stored in [`Line`] instead:
//!
//! - a CR at the end may be the start of CRLF (`after_cr`), so it does not count towards the limit, and an LF after it
//!   belongs to the line before (`skipped_before`);
//! - an unfinished character is in the decoder, and an unfinished escape of JSON in `escapes`;
//! - the rest of a rejected line is dropped up to its terminator (`skipped`).

use alloc::boxed::Box;
use alloc::vec::Vec;
use core::ops::Range;

use utf8_codec::internal::{Escapes, Sink};
use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{ErrorKind, ErrorPolicy, LineEnding, TextDecoder, Utf8Error};

use crate::edit;
use crate::edit::{Edit, Edits, LineError, RejectedLine, position};

/// A [`Filter`](crate::Filter) for line protocols, such as IRC, syslog, NDJSON or SMTP. Only whole lines are
/// forwarded, and an ill-formed line does not end the stream.
///
/// A line ends with LF or CRLF, unless [`with_line_ending`](Self::with_line_ending) is set, and the terminator is
/// forwarded unchanged. The bytes of an incomplete line are held, up to [`with_max_length`](Self::with_max_length). An
/// ill-formed line is dropped completely ([`Edit::LineRejected`]), or ends the stream if
/// [`with_stop_at_error`](Self::with_stop_at_error) is set. No part of it is forwarded, so a command that is truncated by
/// an ill-formed byte is never executed. Under a policy that repairs, only a line that is too long is rejected.
///
/// The same bytes give the same lines and errors, however the stream is split into slices.
///
/// ```
/// use utf8_codec_proxy::{Edit, LineFilter};
///
/// let mut filter = LineFilter::new();
/// let (mut forwarded, mut rejected) = (Vec::new(), Vec::new());
/// for slice in [&b"NICK a\nUSER \xC3"[..], b"\xA9\nPRIVMSG \xFF", b" :x\nQUIT\n"] {
///     filter.feed_with(slice, |edit| match edit {
///         Edit::Pass(range) => forwarded.extend_from_slice(&slice[range]),
///         Edit::Insert(bytes) => forwarded.extend_from_slice(bytes),
///         Edit::LineRejected(line) => rejected.push(line.to_string()),
///         _ => {}
///     })?;
/// }
/// assert_eq!(forwarded, "NICK a\nUSER é\nQUIT\n".as_bytes());
/// assert_eq!(rejected, ["line 3: ill-formed UTF-8 at byte 23 (InvalidLead, 1 byte)"]);
/// # Ok::<(), utf8_codec_proxy::RejectedLine>(())
/// ```
#[derive(Clone, Debug)]
pub struct LineFilter {
    decoder: TextDecoder,
    escapes: Option<Box<Escapes>>,
    ending: LineEnding,
    max_length: usize,
    stops: bool,
    line: Line,
    rejected: Option<RejectedLine>,
}

/// The maximum memory, in bytes, that is kept allocated for the next incomplete line.
const KEPT: usize = 1024;

/// The incomplete line.
#[derive(Clone, Debug)]
struct Line {
    /// The line number, counted from 1.
    number: u64,
    /// The start of the line: the part from earlier slices, after repair, and any part of the current slice that must
    /// be copied.
    held: Vec<u8>,
    /// Whether the line was rejected. The rest of it is dropped.
    skipped: bool,
    /// Whether the last byte is a CR.
    after_cr: bool,
    /// Whether the line before this one, whose terminator is that CR, was rejected.
    skipped_before: bool,
}

utf8_codec::default_is_new!(LineFilter);

impl LineFilter {
    /// The default of [`with_max_length`](Self::with_max_length).
    pub const DEFAULT_MAX_LENGTH: usize = 64 * 1024;

    /// Creates a filter that rejects ill-formed lines and keeps the BOM.
    pub const fn new() -> Self {
        Self::with_decoder(TextDecoder::new())
    }

    /// Returns a new filter with the same settings, for the start of another stream.
    #[cfg(feature = "relay")]
    pub(super) fn restarted(self) -> Self {
        let Self { decoder, escapes, ending, max_length, stops, .. } = self;
        let escapes = escapes.map(|escapes| Box::new(escapes.restarted()));
        Self { escapes, ending, max_length, stops, ..Self::with_decoder(decoder.restarted_at(0)) }
    }

    /// Creates a filter with the policies of this decoder.
    pub const fn with_decoder(decoder: TextDecoder) -> Self {
        Self {
            decoder,
            escapes: None,
            ending: LineEnding::LfOrCrLf,
            max_length: Self::DEFAULT_MAX_LENGTH,
            stops: false,
            line: Line {
                number: 1,
                held: Vec::new(),
                skipped: false,
                after_cr: false,
                skipped_before: false,
            },
            rejected: None,
        }
    }

    /// Sets the terminator of a line. The default is LF or CRLF.
    ///
    /// Use the terminator that the receiver uses: otherwise the receiver reads different lines from this filter. Under
    /// [`LineEnding::Any`] a line is forwarded at its CR. An LF after it belongs to the same terminator.
    #[must_use]
    pub fn with_line_ending(self, ending: LineEnding) -> Self {
        Self { ending, ..self }
    }

    /// Returns the terminator of a line.
    pub const fn line_ending(&self) -> LineEnding {
        self.ending
    }

    /// Also checks the escapes in the strings of [JSON](utf8_codec::json), in lines (NDJSON).
    #[must_use]
    pub fn with_json_strings(self, strings: JsonStrings) -> Self {
        Self { escapes: Some(Box::new(Escapes::new(strings))), ..self }
    }

    /// Sets the maximum number of bytes of a line before its terminator, after a policy was applied to them. Without a limit
    /// a peer that sends no terminator could exhaust the memory.
    #[must_use]
    pub fn with_max_length(self, bytes: usize) -> Self {
        Self { max_length: bytes, ..self }
    }

    /// Sets whether the stream ends at the first line that is rejected. By default only the line is dropped.
    #[must_use]
    pub fn with_stop_at_error(self, stop: bool) -> Self {
        Self { stops: stop, ..self }
    }

    /// Filters the next slice of the stream and calls `edit` for each edit.
    ///
    /// # Errors
    ///
    /// Returns the line that ended the stream if [`with_stop_at_error`](Self::with_stop_at_error) is set. The edits
    /// before it are valid. Every later call returns the same error.
    pub fn feed_with(&mut self, slice: &[u8], edit: impl FnMut(Edit<'_>)) -> Result<(), RejectedLine> {
        let mut taken = 0;
        let first_error_only = self.first_error_only();
        let mut edits = LineEdits {
            slice,
            edit,
            line: &mut self.line,
            ending: self.ending,
            max_length: self.max_length,
            first_error_only,
            stops: self.stops,
            tail: 0..0,
            rejected: None,
        };
        while taken < slice.len() && self.rejected.is_none() {
            if edits.line.skipped && self.decoder.error_policy() == ErrorPolicy::Strict {
                // The rest of a rejected line is not decoded, because each line has at most one error. Under another policy
                // a repair can change where the line ends.
                let escape = self.escapes.as_deref().map_or(&[][..], Escapes::pending);
                edits.line.after_cr &= self.decoder.pending().is_empty() && escape.is_empty();
                let end = edits.first_end(slice, taken);
                let skip = end.map_or(slice.len(), |end| end.after) - taken;
                self.decoder.skip(skip);
                self.escapes.as_deref_mut().map(Escapes::clear);
                taken += skip;
                edits.line.after_cr = slice[taken - 1] == b'\r';
                if end.is_some() {
                    edits.line.next(1);
                }
                edits.tail = taken..taken;
                continue;
            }
            let start = self.decoder.offset();
            let result =
                edit::decode(&mut self.decoder, self.escapes.as_deref_mut(), slice, taken, &mut edits);
            taken += self.decoder.offset().wrapping_sub(start) as usize;
            if let Err(error) = result {
                if edits.line.skipped
                    && !self.stops
                    && error.len == 1
                    && error.kind == ErrorKind::OutsideSubset
                    && self.decoder.offset() == error.offset.wrapping_add(1)
                {
                    // The character outside the subset is in the rest of a line that was too long, and may be the
                    // terminator of the line. The rest is not decoded under a strict policy.
                    taken -= 1;
                    self.decoder.seek(error.offset);
                    edits.tail = taken..taken;
                    continue;
                }
                edits.reject_ill_formed(error);
                edits.tail = taken..taken;
                if self.stops {
                    edit::stop(&mut self.decoder, self.escapes.as_deref_mut(), error);
                }
            }
            if self.stops {
                self.rejected = edits.rejected;
            }
        }
        edits.hold();
        self.rejected.map_or(Ok(()), Err)
    }

    /// Ends the stream. A last line without a terminator is forwarded if it is well-formed. The filter can then be used for
    /// another stream; the numbers of its lines and its offset continue.
    ///
    /// # Errors
    ///
    /// Same as for [`feed_with`](Self::feed_with).
    pub fn finish_with(&mut self, edit: impl FnMut(Edit<'_>)) -> Result<(), RejectedLine> {
        if let Some(rejected) = self.rejected {
            return Err(rejected);
        }
        let first_error_only = self.first_error_only();
        let mut edits = LineEdits {
            slice: &[],
            edit,
            line: &mut self.line,
            ending: self.ending,
            max_length: self.max_length,
            first_error_only,
            stops: self.stops,
            tail: 0..0,
            rejected: None,
        };
        if edits.line.skipped && first_error_only {
            // The rest of a rejected line is not decoded, so a character that it cuts off is not an error.
            let _ = self.decoder.finish();
        } else if let Err(error) = edit::finish(&mut self.decoder, self.escapes.as_deref_mut(), &mut edits) {
            edits.reject_ill_formed(error);
        }
        edits.end();
        self.escapes.as_deref_mut().map(Escapes::clear);
        if self.stops {
            self.rejected = edits.rejected;
        }
        self.rejected.map_or(Ok(()), Err)
    }

    /// Returns the number of held bytes of the incomplete line.
    pub fn held(&self) -> usize {
        let escape = self.escapes.as_ref().map_or(0, |escapes| escapes.pending().len());
        self.line.held.len() + escape + self.decoder.pending().len()
    }

    /// Whether a line has at most one error, because the rest of it is not decoded.
    fn first_error_only(&self) -> bool {
        let is_strict = |escapes: &Escapes| escapes.strings().escape_policy() == EscapePolicy::Strict;
        self.decoder.error_policy() == ErrorPolicy::Strict || self.escapes.as_deref().is_some_and(is_strict)
    }

    /// Returns the number of bytes consumed so far, including held bytes. After an error that ended the stream it is the end
    /// of the ill-formed sequence; if the line was too long, it depends on the slices.
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }
}

impl Line {
    /// Starts the next line, after `lines` lines were completed.
    fn next(&mut self, lines: u64) {
        self.number += lines;
        self.skipped_before = self.skipped;
        self.skipped = false;
    }
}

/// Splits the edits of a slice into lines and forwards them to the caller.
struct LineEdits<'s, F> {
    slice: &'s [u8],
    edit: F,
    line: &'s mut Line,
    ending: LineEnding,
    max_length: usize,
    first_error_only: bool,
    stops: bool,
    /// The part of the line in the slice that follows the bytes in `held`.
    tail: Range<usize>,
    /// The first line that was rejected.
    rejected: Option<RejectedLine>,
}

/// The first terminator in a part of a slice.
#[derive(Clone, Copy)]
struct End {
    /// The position after the bytes in that part which are not a terminator. It may include the CR of a CRLF.
    content: usize,
    /// The position after the terminator.
    after: usize,
}

impl<F: FnMut(Edit<'_>)> LineEdits<'_, F> {
    /// Returns the first terminator that ends in `bytes[from..]`.
    fn first_end(&self, bytes: &[u8], from: usize) -> Option<End> {
        // The CR was in another piece.
        if self.ending == LineEnding::CrLf && self.line.after_cr && bytes.get(from) == Some(&b'\n') {
            return Some(End { content: from, after: from + 1 });
        }
        let (content, len) = self.ending.find(bytes, from)?;
        let after = content + len;
        // A CR before `from` is content that was already processed.
        Some(End { content: content.max(from), after })
    }

    /// Whether the bytes start with the LF of a terminator whose CR has already ended a line.
    fn continues_terminator(&self, bytes: &[u8]) -> bool {
        self.ending == LineEnding::Any && self.line.after_cr && bytes.first() == Some(&b'\n')
    }

    /// Whether the stream has ended because a line was rejected.
    fn over(&self) -> bool {
        self.stops && self.rejected.is_some()
    }

    fn reject(&mut self, reason: LineError) {
        if !self.line.skipped && !self.over() {
            let rejected = RejectedLine { line: self.line.number, reason };
            self.rejected.get_or_insert(rejected);
            (self.edit)(Edit::LineRejected(rejected));
        }
        self.line.skipped = true;
        self.line.held = Vec::new();
    }

    /// Rejects the line because of an ill-formed sequence, which is after all bytes so far.
    fn reject_ill_formed(&mut self, error: Utf8Error) {
        self.reject(LineError::IllFormed(error));
        self.line.after_cr = false;
    }

    /// Copies the part of the line in `tail` to `held`.
    fn hold(&mut self) {
        let tail = core::mem::take(&mut self.tail);
        if !self.line.skipped {
            self.line.held.extend_from_slice(&self.slice[tail]);
        }
    }

    /// Rejects the line if its `len` bytes so far are too long. `last` is the last of them. A CR that may be part of the
    /// terminator is not counted.
    fn measure(&mut self, len: usize, last: u8) {
        let may_have_cr = matches!(self.ending, LineEnding::LfOrCrLf | LineEnding::CrLf);
        let terminator = usize::from(may_have_cr && last == b'\r');
        if len > self.max_length.saturating_add(terminator) {
            self.reject(LineError::TooLong(self.max_length));
        }
    }

    /// Adds bytes to the line, without a terminator.
    fn grow(&mut self, range: Range<usize>) {
        if self.line.skipped || range.is_empty() {
            return;
        }
        if self.tail.end != range.start {
            self.hold();
        }
        let start = if self.tail.is_empty() { range.start } else { self.tail.start };
        self.tail = start..range.end;
        self.measure(self.line.held.len() + self.tail.len(), self.slice[range.end - 1]);
    }

    /// Processes well-formed text of the slice.
    fn text(&mut self, Range { start: mut at, end }: Range<usize>) {
        let slice = self.slice;
        let Some(&last_byte) = slice[at..end].last() else { return };
        if self.continues_terminator(&slice[at..end]) && !self.over() {
            if !self.line.skipped_before {
                (self.edit)(Edit::Pass(at..at + 1));
            }
            at += 1;
            self.tail = at..at;
        }
        while at < end && !self.over() {
            let Some(first) = self.first_end(&slice[..end], at) else {
                self.grow(at..end);
                break;
            };
            self.line.after_cr = false;
            // The CR of a CRLF is measured as a part of the line, because it may have come in an earlier slice.
            let content = if self.ending == LineEnding::Any { first.content } else { first.after - 1 };
            self.grow(at..content);
            if self.line.skipped {
                self.line.next(1);
                at = first.after;
                self.tail = at..at;
                continue;
            }
            // If at most `max_length` bytes follow this line, no line in them is too long.
            let others = &slice[first.after..end];
            let all_short = others.len() <= self.max_length;
            let len = if all_short { self.ending.find_last(others).unwrap_or(0) } else { 0 };
            self.complete(at, first.after + len);
            self.line.next(1 + self.ending.count(&others[..len]) as u64);
            at = first.after + len;
            self.tail = at..at;
        }
        self.line.after_cr = last_byte == b'\r';
    }

    /// Forwards the line, and the complete lines after it up to `end`. `at` is the start of the line in the slice if
    /// `tail` is empty.
    fn complete(&mut self, at: usize, end: usize) {
        self.insert_held();
        let start = if self.tail.is_empty() { at } else { self.tail.start };
        (self.edit)(Edit::Pass(start..end));
    }

    /// Ends the stream.
    fn end(&mut self) {
        if !self.line.skipped && self.line.held.len() > self.max_length {
            self.reject(LineError::TooLong(self.max_length));
        }
        let is_line = self.line.skipped || !self.line.held.is_empty();
        self.insert_held();
        self.line.next(u64::from(is_line));
        self.line.after_cr = false;
    }

    /// Forwards the held bytes. Their memory is kept for the next line, unless it is more than most lines need.
    fn insert_held(&mut self) {
        let mut held = core::mem::take(&mut self.line.held);
        if !held.is_empty() {
            (self.edit)(Edit::Insert(&held));
        }
        if held.capacity() <= KEPT {
            held.clear();
            self.line.held = held;
        }
    }
}

impl<F: FnMut(Edit<'_>)> Edits for LineEdits<'_, F> {
    fn pass(&mut self, range: Range<usize>) {
        self.text(range);
    }

    fn may_end(&self) -> bool {
        self.stops
    }

    fn held(&mut self, bytes: &[u8]) {
        self.hold();
        self.line.after_cr &= bytes.is_empty();
        if !self.line.skipped {
            self.line.held.extend_from_slice(bytes);
        }
    }
}

impl<F: FnMut(Edit<'_>)> Sink for LineEdits<'_, F> {
    fn borrowed(&mut self, text: &str) {
        let start = position(self.slice, text);
        self.text(start..start + text.len());
    }

    fn made(&mut self, text: &str) {
        self.hold();
        let bytes = text.as_bytes();
        let Some(&last_byte) = bytes.last() else { return };
        let mut at = 0;
        if self.continues_terminator(bytes) && !self.over() {
            if !self.line.skipped_before {
                (self.edit)(Edit::Insert(&bytes[..1]));
            }
            at = 1;
        }
        while at < bytes.len() && !self.over() {
            let end = self.first_end(bytes, at);
            self.line.after_cr = false;
            let content = match end {
                Some(end) if self.ending == LineEnding::Any => end.content,
                Some(end) => end.after - 1,
                None => bytes.len(),
            };
            if !self.line.skipped {
                self.line.held.extend_from_slice(&bytes[at..content]);
                let last = self.line.held.last().copied().unwrap_or_default();
                self.measure(self.line.held.len(), last);
            }
            let Some(end) = end else { break };
            if !self.line.skipped {
                self.line.held.extend_from_slice(&bytes[content..end.after]);
                self.insert_held();
            }
            self.line.next(1);
            at = end.after;
        }
        self.line.after_cr = last_byte == b'\r';
    }

    fn error(&mut self, error: Utf8Error) {
        let known = self.line.skipped && self.first_error_only;
        if !known && !self.over() {
            (self.edit)(Edit::IllFormed(error));
        }
    }
}
