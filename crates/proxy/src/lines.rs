//! The filter of one direction of a line protocol, without I/O.
//!
//! The decoder validates or repairs a slice as one text, and reports edits: ranges of the slice that pass, and inserted
//! text. [`LineEdits`] splits them into lines.

mod edits;

use alloc::boxed::Box;

use utf8_codec::internal::Escapes;
use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{ErrorKind, ErrorPolicy, LineEnding, TextDecoder};

use self::edits::{Line, LineEdits};
use crate::edit;
use crate::edit::{Edit, RejectedLine};

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
            line: Line::FIRST,
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
        let escape_policy = self.escapes.as_deref().map(|escapes| escapes.strings().escape_policy());
        self.decoder.error_policy() == ErrorPolicy::Strict || escape_policy == Some(EscapePolicy::Strict)
    }

    /// Returns the number of bytes consumed so far, including held bytes. After an error that ended the stream it is the end
    /// of the ill-formed sequence; if the line was too long, it depends on the slices.
    pub const fn offset(&self) -> u64 {
        self.decoder.offset()
    }
}
