//! Runs of repairs: errors that are close together, and the text between them.
//!
//! [`TextDecoder::feed`] returns two pieces for each error, the text before it and its replacement, and calls a kernel
//! for each text. If errors are a few bytes apart, the calls cost more than the decoding. After an error the bytes are
//! therefore decoded one sequence at a time into the buffer of a [`Run`], until several steps in a row had no error.
//!
//! This is the only code that repairs many errors. Adapters call [`TextDecoder::take_run`]; a transcoder calls
//! [`Run::fill`].

use kernels::grammar::{Kind, Sequence, UTF_8};
use kernels::text_buffer::{CAPACITY, Encoded, ROOM, TextBuffer, TextWriter};
use kernels::words::{STEP, STRETCH};

use super::decoder::TextDecoder;
use super::pieces::TextPiece;
use crate::boundary::floor_boundary;
use crate::decoder::Utf8Decoder;
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::{ErrorPolicy, Policies, log};
use crate::subset::Subset;

/// The text of a run, and its errors.
#[derive(Clone, Debug)]
pub struct Run {
    text: TextBuffer,
    repairs: [Repair; MOST_REPAIRS],
    count: usize,
    /// The offset of the first byte, and the number of bytes.
    start: u64,
    len: usize,
    /// `None` if the next bytes are decoded by a kernel.
    limit: Option<StepLimit>,
    /// The number of steps since the last error.
    clean_steps: usize,
}

/// The maximum number of errors in a run.
const MOST_REPAIRS: usize = 128;

/// The maximum number of bytes that are validated at a time after an error under a subset. The text after the first character
/// outside the subset is validated again.
const WINDOW: usize = 1024;

/// An error of a run, and its replacement. Positions count from the start of the run.
#[derive(Clone, Copy, Debug)]
struct Repair {
    /// The position of the error in the input.
    start: u16,
    /// The positions of its replacement in the text.
    text_start: u16,
    text_end: u16,
    kind: ErrorKind,
    len: u8,
}

impl Repair {
    const NONE: Self = Self { start: 0, text_start: 0, text_end: 0, kind: ErrorKind::Truncated, len: 0 };
}

/// For how many steps sequences are decoded one at a time after an error, where a kernel would be slower.
#[derive(Clone, Copy, Debug)]
struct StepLimit {
    /// The maximum number of steps without an error.
    steps: usize,
    /// The number of additional steps that a non-ASCII character counts for. On non-ASCII text a kernel is many times
    /// faster.
    non_ascii: usize,
}

impl StepLimit {
    /// After long text. The limit is reached at the first non-ASCII character, or after about 300 bytes of ASCII.
    const AFTER_LONG_TEXT: Self = Self { steps: 6, non_ascii: 6 };
    /// After short text, for which a kernel call costs more than it saves.
    const AFTER_SHORT_TEXT: Self = Self { steps: 32, non_ascii: 1 };
    /// The maximum number of bytes of short text.
    const SHORT_TEXT: usize = 24;
    /// Under a subset, where a kernel validates and searches more text than is returned.
    const WITHIN_SUBSET: Self = Self { steps: 24, non_ascii: 0 };

    const fn after(text: usize) -> Self {
        if text > Self::SHORT_TEXT { Self::AFTER_LONG_TEXT } else { Self::AFTER_SHORT_TEXT }
    }
}

/// The next part of a chunk.
#[derive(Debug)]
pub enum Part<'c> {
    Piece(TextPiece<'c>),
    /// The text and the errors are in the run.
    Run,
}

impl Run {
    /// An empty run. What follows it is decoded by a kernel.
    pub const EMPTY: Self = Self {
        text: TextBuffer::EMPTY,
        repairs: [Repair::NONE; MOST_REPAIRS],
        count: 0,
        start: 0,
        len: 0,
        limit: None,
        clean_steps: 0,
    };

    /// Returns an empty run that follows an error.
    #[inline]
    pub const fn after_error() -> Self {
        Self { limit: Some(StepLimit::AFTER_LONG_TEXT), ..Self::EMPTY }
    }

    #[inline]
    pub fn text(&self) -> &str {
        self.text.as_str()
    }

    /// Returns the number of bytes of input.
    #[inline]
    pub const fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    #[inline]
    fn repairs(&self) -> &[Repair] {
        self.repairs.get(..self.count).unwrap_or_default()
    }

    /// Returns the errors in order.
    #[inline]
    pub fn errors(&self) -> impl Iterator<Item = Utf8Error> + '_ {
        let start = self.start;
        self.repairs().iter().map(move |repair| {
            Utf8Error::new(start.wrapping_add(repair.start.into()), repair.kind, repair.len)
        })
    }

    /// Whether the run ends with an error.
    #[inline]
    pub fn ends_with_error(&self) -> bool {
        self.repairs().last().is_some_and(|last| usize::from(last.start) + usize::from(last.len) == self.len)
    }

    /// Returns what is left after the first `taken` bytes of the text: the rest of a replacement, and the position in
    /// the input after it.
    pub fn rest_after(&self, taken: usize) -> (&[u8], usize) {
        let mut text = 0;
        let mut input = 0;
        for repair in self.repairs() {
            if taken <= usize::from(repair.text_start) {
                break;
            }
            (text, input) =
                (usize::from(repair.text_end), usize::from(repair.start) + usize::from(repair.len));
        }
        // Text that is not a replacement has the same length in the input.
        let rest = self.text().as_bytes().get(taken..text).unwrap_or_default();
        (rest, input + taken.saturating_sub(text))
    }

    /// Called before a run that follows text of this length and an error, or before an error.
    #[inline]
    pub const fn follow(&mut self, text: usize) {
        self.limit = Some(StepLimit::after(text));
        self.clean_steps = 0;
    }

    /// Whether the next bytes are close to an error.
    #[inline]
    pub const fn is_near_error(&self) -> bool {
        self.limit.is_some()
    }

    /// Removes the text. The next one starts at `offset`.
    #[inline]
    const fn clear(&mut self, offset: u64) {
        self.text.clear();
        self.count = 0;
        self.start = offset;
        self.len = 0;
    }

    /// Decodes the start of a chunk, which starts between characters at `offset`, and repairs its errors. The policy is
    /// not [`Strict`](ErrorPolicy::Strict), and has been applied to the start of the stream. The text has at most
    /// `room` bytes. The previous run is removed.
    ///
    /// The run ends when the text or the number of errors has reached its limit, at the end of the chunk or an unfinished
    /// sequence there, or when several steps had no error. Returns the number of bytes decoded.
    #[inline(never)]
    pub fn fill(&mut self, policies: &mut Policies, offset: u64, chunk: &[u8], room: usize) -> usize {
        self.clear(offset);
        if room < ROOM {
            return 0;
        }
        // Computed once, because most errors have the same replacement.
        match (policies.subset, policies.only_replacement()) {
            (None, Some(replacement)) => {
                let replacement = Encoded::new(replacement);
                self.decode(None, chunk, room, |text, _, _| text.push_encoded(replacement));
            }
            (subset, _) => self.decode(subset, chunk, room, |text, error, bytes| {
                policies.push_replacement(error, bytes, |character| text.push_char(character));
            }),
        }
        self.count(policies);
        self.len
    }

    /// Decodes the start of a chunk. `replace` appends the replacement of an error and its bytes.
    #[inline(always)]
    fn decode(
        &mut self,
        subset: Option<&Subset>,
        chunk: &[u8],
        room: usize,
        mut replace: impl FnMut(&mut TextWriter<'_>, Utf8Error, &[u8]),
    ) {
        let limit = match (subset, self.limit) {
            (Some(_), _) => StepLimit::WITHIN_SUBSET,
            (None, limit) => limit.unwrap_or(StepLimit::AFTER_SHORT_TEXT),
        };
        let last_start = room.min(CAPACITY).saturating_sub(ROOM);
        let skips_ascii = subset.is_none_or(Subset::has_ascii);
        let offset = self.start;
        let mut text = self.text.writer();
        let mut repairs = self.repairs.iter_mut();
        let mut taken = 0;
        let mut clean_steps = self.clean_steps;
        'steps: while clean_steps < limit.steps && text.len() <= last_start {
            let rest = chunk.get(taken..).unwrap_or_default();
            clean_steps += 1;
            let mut padded = [0; 4];
            let sequence;
            if let Some(window) = rest.first_chunk::<STEP>() {
                let mut ascii = 0;
                // Branches are faster here although some are mispredicted. Without them each step would depend on the
                // previous one.
                if window[0].is_ascii() && skips_ascii {
                    ascii = text.push_ascii(window);
                    taken += ascii;
                    if ascii == STEP {
                        // More ASCII is likely.
                        while text.len() <= last_start && clean_steps < limit.steps {
                            let rest = chunk.get(taken..).unwrap_or_default();
                            let Some(stretch) = rest.first_chunk() else { break };
                            clean_steps += 1;
                            let len = text.push_long_ascii(stretch);
                            if len < STRETCH {
                                taken += len;
                                break;
                            }
                            // As a constant, so that the next step does not depend on this one.
                            taken += STRETCH;
                        }
                        continue;
                    }
                } else if matches!(window[0], 0xC2..=0xDF) && subset.is_none() {
                    let pairs = text.push_pairs(window);
                    if pairs != 0 {
                        taken += pairs;
                        clean_steps += limit.non_ascii;
                        continue;
                    }
                } else if matches!(window, [0xE1..=0xEC | 0xEE | 0xEF, 0x80..=0xBF, ..]) && subset.is_none() {
                    let triples = text.push_triples(window);
                    if triples != 0 {
                        taken += triples;
                        clean_steps += limit.non_ascii;
                        continue;
                    }
                }
                match window.get(ascii..).and_then(|rest| rest.first_chunk()) {
                    Some(whole) => sequence = whole,
                    // The next window contains the whole sequence.
                    None => continue,
                }
            } else if let Some(whole) = rest.first_chunk() {
                sequence = whole;
            } else if rest.is_empty() || UTF_8.walk(rest).1 == Some(Kind::Truncated) {
                break;
            } else {
                padded.iter_mut().zip(rest).for_each(|(to, byte)| *to = *byte);
                sequence = &padded;
            }
            let (mut bytes, kind) = match (UTF_8.rejected_lead(sequence[0]), subset) {
                // The length is a constant, so that the next step does not depend on this one.
                (Some(kind), _) => (1, Some(ErrorKind::of(kind))),
                (None, Some(subset)) => push_within(subset, &mut text, sequence),
                (None, None) => push(&mut text, sequence),
            };
            taken += bytes;
            let Some(mut kind) = kind else {
                if bytes > 1 {
                    clean_steps += limit.non_ascii;
                }
                continue;
            };
            let mut rejected = sequence.get(..bytes).unwrap_or_default();
            loop {
                let start = taken - bytes;
                let text_start = text.len();
                let Some(repair) = repairs.next() else {
                    taken = start;
                    break 'steps;
                };
                let error = Utf8Error::new(offset.wrapping_add(start as u64), kind, bytes as u8);
                replace(&mut text, error, rejected);
                *repair = Repair {
                    start: start as u16,
                    text_start: text_start as u16,
                    text_end: text.len() as u16,
                    kind,
                    len: bytes as u8,
                };
                // A byte that is an error by itself often follows another one.
                let Some(next) = chunk.get(taken..=taken) else { break };
                match UTF_8.rejected_lead(next[0]) {
                    Some(next_kind) if text.len() <= last_start => kind = ErrorKind::of(next_kind),
                    _ => break,
                }
                rejected = next;
                bytes = 1;
                taken += 1;
            }
            clean_steps = 0;
        }
        text.keep();
        self.count = MOST_REPAIRS - repairs.len();
        self.len = taken;
        self.clean_steps = clean_steps;
        if clean_steps >= limit.steps || taken == 0 {
            self.limit = None;
        }
    }

    /// Counts and logs the errors.
    fn count(&self, policies: &mut Policies) {
        // `by_kind` has one byte for each kind of the grammar, which is enough for the errors of a run.
        const { assert!(MOST_REPAIRS <= u8::MAX as usize) };
        let outside = ErrorKind::OutsideSubset;
        let mut by_kind = 0_u64;
        let mut inside = 0;
        for repair in self.repairs() {
            let is_inside = repair.kind != outside;
            by_kind += u64::from(is_inside) << (8 * (repair.kind as u32 % 8));
            inside += u64::from(is_inside);
        }
        for (kind, errors) in ErrorKind::ALL.iter().zip(by_kind.to_le_bytes()) {
            policies.count_logged(*kind, errors.into());
        }
        policies.count_logged(outside, self.count as u64 - inside);
        self.errors().for_each(log);
    }
}

/// [`TextWriter::push_sequence`].
#[inline(always)]
fn push(text: &mut TextWriter<'_>, bytes: &[u8; 4]) -> (usize, Option<ErrorKind>) {
    let (len, kind) = text.push_sequence(bytes);
    (len, kind.map(ErrorKind::of))
}

/// [`TextWriter::push_sequence`] under a subset.
#[inline]
fn push_within(subset: &Subset, text: &mut TextWriter<'_>, bytes: &[u8; 4]) -> (usize, Option<ErrorKind>) {
    match UTF_8.sequence(bytes) {
        Sequence::Whole { value, len } if subset.excludes(value, bytes) => {
            (len, Some(ErrorKind::OutsideSubset))
        }
        _ => push(text, bytes),
    }
}

impl TextDecoder {
    /// Decodes the first part of a chunk. Returns it and the number of bytes decoded. The same run is passed for each part.
    ///
    /// This is [`take_piece`](Self::take_piece), with errors that are close together in one part.
    #[inline]
    pub fn take_run<'c>(&mut self, chunk: &'c [u8], run: &mut Run) -> (Option<Part<'c>>, usize) {
        if !self.repairs_in_runs() {
            return self.take_piece_before(run, chunk);
        }
        let before = self.offset();
        let taken = self.fill(run, chunk);
        if taken > 0 {
            return (Some(Part::Run), taken);
        }
        let text = self.take_text_before(run, chunk);
        if text.is_empty() && run.is_near_error() {
            return self.take_run(chunk, run);
        }
        let taken = self.offset().wrapping_sub(before) as usize;
        ((!text.is_empty()).then_some(Part::Piece(TextPiece::Text(text))), taken)
    }

    /// Whether [`fill`](Self::fill) and [`take_text_before`](Self::take_text_before) can decode the next bytes.
    #[inline]
    pub(super) fn repairs_in_runs(&self) -> bool {
        let is_between = self.pending().is_empty() && !self.policies.is_at_start();
        is_between && self.policies.on_error != ErrorPolicy::Strict
    }

    /// Decodes the start of a chunk into the run if it is near an error. Returns the number of bytes decoded.
    #[inline]
    pub(super) fn fill(&mut self, run: &mut Run, chunk: &[u8]) -> usize {
        if !run.is_near_error() {
            return 0;
        }
        let before = self.offset();
        let taken = run.fill(&mut self.policies, before, chunk, CAPACITY);
        if taken > 0 {
            self.decoder = Utf8Decoder::with_offset(before.wrapping_add(taken as u64));
        }
        taken
    }

    /// Decodes the text at the start of a chunk by a kernel. If an error follows, the next bytes are for the run.
    #[inline]
    pub(super) fn take_text_before<'c>(&mut self, run: &mut Run, chunk: &'c [u8]) -> &'c str {
        let (text, is_before_error) = match self.policies.subset {
            None => self.decoder.take_valid(chunk),
            Some(subset) => self.decoder.take_valid_within(subset, &chunk[..floor_boundary(chunk, WINDOW)]),
        };
        if is_before_error {
            run.follow(text.len());
        }
        text
    }

    /// Takes the error at the start of a chunk. No subset may be set. The next bytes are decoded by a kernel, because
    /// text is likely after the error. Returns `None` if there is no error.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(super) fn take_error(&mut self, run: &mut Run, chunk: &[u8]) -> Option<Utf8Error> {
        let (len, kind) = UTF_8.walk(chunk);
        let error = Utf8Error::new(self.offset(), ErrorKind::of(kind?), len as u8);
        self.policies.count(error);
        self.decoder = Utf8Decoder::with_offset(self.offset().wrapping_add(len as u64));
        run.limit = None;
        Some(error)
    }

    /// [`take_piece`](Self::take_piece), before a run.
    pub(super) fn take_piece_before<'c>(
        &mut self,
        run: &mut Run,
        chunk: &'c [u8],
    ) -> (Option<Part<'c>>, usize) {
        let (piece, taken) = self.take_piece(chunk);
        if let Some(TextPiece::Repaired(..)) = piece {
            run.follow(usize::MAX);
        } else {
            run.limit = None;
        }
        (piece.map(Part::Piece), taken)
    }
}
