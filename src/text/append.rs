//! Appends text to a `String`, with a fast path for input with many errors.
//!
//! [`TextDecoder::feed`] returns two pieces for each error, the text before it and its replacement, and calls a kernel
//! for each text. If errors are a few bytes apart, the calls cost more than the decoding. After an error the bytes are
//! therefore decoded one sequence at a time, until several steps in a row had no error.
//!
//! The text goes to a [`Sink`]: a `String`, or the edits of a filter.

use alloc::string::String;

use kernels::copy::COPIED_AT_ONCE;
use kernels::text_buffer::{CAPACITY, TextBuffer};
use kernels::words::{STEP, STRETCH};

use super::decoder::{TextDecoder, VALIDATED_FOR_SUBSET};
use super::pieces::{TextPiece, repair};
use crate::boundary::floor_boundary;
use crate::decoder::{Piece, Pieces, Utf8Decoder};
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::{Policies, ShortStr};

/// Receives the text of a chunk in stream order.
pub trait Sink {
    /// Text that is part of the chunk.
    fn borrowed(&mut self, text: &str);

    /// Text that is not part of the chunk: a character whose bytes came in different chunks, a replacement, or short
    /// text between replacements.
    fn made(&mut self, text: &str);

    /// An error. If it is repaired, its replacement follows, possibly after text that precedes the error.
    fn error(&mut self, error: Utf8Error);
}

impl Sink for String {
    #[inline]
    fn borrowed(&mut self, text: &str) {
        if text.len() <= COPIED_AT_ONCE {
            self.push_str(text);
        } else {
            push_in_parts(self, text);
        }
    }

    #[inline]
    fn made(&mut self, text: &str) {
        self.push_str(text);
    }

    #[inline]
    fn error(&mut self, _: Utf8Error) {}
}

/// Appends long text in parts of at most [`COPIED_AT_ONCE`] bytes.
#[inline]
fn push_in_parts(to: &mut String, mut text: &str) {
    to.reserve(text.len());
    while let Some((part, rest)) = text.split_at_checked(floor_boundary(text.as_bytes(), COPIED_AT_ONCE)) {
        to.push_str(part);
        if rest.is_empty() {
            break;
        }
        text = rest;
    }
}

impl TextDecoder {
    /// Decodes the next chunk and appends its text. This is [`feed`](Self::feed) for callers that need a `String`. The
    /// text, the errors and the counters are the same.
    ///
    /// # Errors
    ///
    /// Returns the first error that the policy does not repair. The text before it has been appended. The decoder is
    /// positioned after the error, and the bytes after it are not decoded. To continue, pass them to the next call:
    /// `&chunk[(decoder.offset() - offset_before) as usize..]`.
    ///
    /// ```
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    ///
    /// let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    /// let mut text = String::new();
    /// for chunk in [&b"na\xC3"[..], b"\xAFve \xFF!"] {
    ///     decoder.feed_into(chunk, &mut text)?;
    /// }
    /// assert_eq!(text, "naïve \u{FFFD}!");
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    #[inline]
    pub fn feed_into(&mut self, chunk: &[u8], text: &mut String) -> Result<(), Utf8Error> {
        self.decode_to(chunk, text)
    }

    /// Ends the stream and appends the replacement of an unfinished sequence, if the policy replaces it. The decoder can be
    /// used again; its offset is not reset.
    ///
    /// # Errors
    ///
    /// Returns the error of the end of the stream that the policies do not repair, such as
    /// [`Truncated`](ErrorKind::Truncated). It is returned once.
    #[doc(alias = "flush")]
    #[inline]
    pub fn finish_into(&mut self, text: &mut String) -> Result<(), Utf8Error> {
        match self.finish() {
            None => Ok(()),
            Some(end) => end.text().map(|end| text.push_str(end)),
        }
    }

    /// Same as [`feed_into`](Self::feed_into), but for any sink.
    #[doc(hidden)]
    #[inline]
    pub fn decode_to(&mut self, chunk: &[u8], sink: &mut impl Sink) -> Result<(), Utf8Error> {
        if self.policies.subset.is_some() {
            let mut windows = chunk.chunks(VALIDATED_FOR_SUBSET);
            return windows.try_for_each(|window| self.feed(window).try_for_each(|piece| put(piece, sink)));
        }
        let mut rest = chunk;
        while self.policies.is_at_start() {
            let before = self.offset();
            let Some(piece) = self.feed(rest).next() else { return Ok(()) };
            put(piece, sink)?;
            rest = &rest[self.offset().wrapping_sub(before) as usize..];
        }
        let Self { decoder, policies } = self;
        let mut pieces = decoder.feed(rest);
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text(text) => sink.borrowed(text),
                Piece::Seam(character) => sink.made(character.encode_utf8(&mut [0; 4])),
                Piece::IllFormed(error) => {
                    put(repair(policies, error, pieces.rejected()), sink)?;
                    return after_error(policies, &mut pieces, sink);
                }
            }
        }
        Ok(())
    }
}

/// Passes one piece to the sink.
#[inline]
pub fn put(piece: TextPiece<'_>, sink: &mut impl Sink) -> Result<(), Utf8Error> {
    match piece {
        TextPiece::Text(text) => sink.borrowed(text),
        TextPiece::Seam(character) => sink.made(&character),
        TextPiece::Repaired(repair, error) => {
            sink.error(error);
            sink.made(&repair);
        }
        TextPiece::IllFormed(error) => {
            sink.error(error);
            return Err(error);
        }
    }
    Ok(())
}

/// How long sequences are decoded one at a time after an error, because a kernel would be slower.
#[derive(Clone, Copy)]
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
}

/// Decodes the bytes after an error, alternately one sequence at a time and with a kernel.
#[inline(never)]
fn after_error(
    policies: &mut Policies,
    pieces: &mut Pieces<'_, '_>,
    sink: &mut impl Sink,
) -> Result<(), Utf8Error> {
    let mut buffer = [0; CAPACITY];
    // Computed once, because most errors have the same replacement.
    let replacement = policies.only_replacement();
    let mut limit = StepLimit::AFTER_LONG_TEXT;
    loop {
        let (rest, offset) = (pieces.rest(), pieces.decoder().offset());
        let (taken, error) = one_by_one(policies, &replacement, limit, offset, rest, &mut buffer, sink);
        if taken > 0 {
            pieces.restart(Utf8Decoder::with_offset(offset.wrapping_add(taken as u64)), &rest[taken..]);
        }
        if let Some(error) = error {
            return Err(error);
        }
        limit = StepLimit::AFTER_SHORT_TEXT;
        loop {
            match pieces.next_by_call() {
                None => return Ok(()),
                Some(Piece::Text(text)) => {
                    if text.len() > StepLimit::SHORT_TEXT {
                        limit = StepLimit::AFTER_LONG_TEXT;
                    }
                    sink.borrowed(text);
                }
                // Not reached: there is no unfinished sequence after an error.
                Some(Piece::Seam(character)) => sink.made(character.encode_utf8(&mut [0; 4])),
                Some(Piece::IllFormed(error)) => {
                    put(repair(policies, error, pieces.rejected()), sink)?;
                    break;
                }
            }
        }
    }
}

/// Decodes a chunk one sequence at a time, until several steps in a row had no error or the end of the chunk is near.
/// The chunk starts between characters, at `offset`. Returns the number of bytes decoded, and the error if the policy
/// does not repair it.
#[inline(always)]
fn one_by_one(
    policies: &mut Policies,
    replacement: &Option<ShortStr>,
    limit: StepLimit,
    offset: u64,
    chunk: &[u8],
    buffer: &mut [u8; CAPACITY],
    sink: &mut impl Sink,
) -> (usize, Option<Utf8Error>) {
    let mut buffer = TextBuffer::new(buffer);
    let mut taken = 0;
    let mut clean_steps = 0;
    let mut rejected = None;
    while clean_steps < limit.steps {
        let Some(window) = chunk.get(taken..).and_then(|rest| rest.first_chunk::<STEP>()) else { break };
        if !buffer.has_room() {
            sink.made(buffer.as_str());
            buffer.clear();
        }
        clean_steps += 1;
        let mut ascii = 0;
        // Branches are faster here although some are mispredicted. Without them each step would depend on the previous
        // one.
        if window[0].is_ascii() {
            ascii = buffer.push_ascii(window);
            taken += ascii;
            if ascii == STEP {
                // Only here, where more ASCII is likely.
                if let Some(stretch) = chunk.get(taken..).and_then(|rest| rest.first_chunk::<STRETCH>()) {
                    taken += buffer.push_long_ascii(stretch);
                }
                continue;
            }
        } else if matches!(window[0], 0xC2..=0xDF) {
            let pairs = buffer.push_pairs(window);
            if pairs != 0 {
                taken += pairs;
                clean_steps += limit.non_ascii;
                continue;
            }
        }
        let Some(sequence) = window.get(ascii..).and_then(|rest| rest.first_chunk::<4>()) else {
            // The next window contains the whole sequence.
            continue;
        };
        let (bytes, ill_formed) = buffer.push_sequence(sequence);
        taken += bytes;
        let Some(kind) = ill_formed else {
            clean_steps += limit.non_ascii;
            continue;
        };
        clean_steps = 0;
        let kind = ErrorKind::of(kind);
        let error = Utf8Error::new(offset.wrapping_add((taken - bytes) as u64), kind, bytes as u8);
        policies.count(error);
        sink.error(error);
        if let Some(replacement) = replacement {
            buffer.push_short(replacement);
        } else if let Some(repair) = policies.replace(error, &sequence[..bytes]) {
            buffer.push_short(&repair);
        } else {
            rejected = Some(error);
            break;
        }
    }
    sink.made(buffer.as_str());
    (taken, rejected)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::policy::ErrorPolicy;

    /// The lengths of the borrowed texts and of the copied ones, in order.
    #[derive(Default)]
    struct Lengths {
        borrowed: Vec<usize>,
        copied: Vec<usize>,
    }

    impl Sink for Lengths {
        fn borrowed(&mut self, text: &str) {
            self.borrowed.push(text.len());
        }

        fn made(&mut self, text: &str) {
            self.copied.push(text.len());
        }

        fn error(&mut self, _: Utf8Error) {}
    }

    /// Long text after an error must be borrowed again, because a kernel decodes it faster.
    #[test]
    fn text_after_an_error_is_copied_up_to_the_limit_of_steps_and_then_borrowed() {
        let (ascii, euro) = (|len| "a".repeat(len), |count| "\u{20AC}".repeat(count));
        let pairs = |count| "\u{E9}".repeat(count);
        // The text after each `FF`, and the lengths of the borrowed and of the copied texts. The first replacement has
        // 3 bytes. So have the first step after it, in text of 3-byte sequences, and the next replacement.
        let rows: [(&[String], &[usize], &[usize]); 10] = [
            // After long text, 6 steps of 48 bytes of ASCII. The last step also ends before other characters.
            (&[ascii(400)], &[400 - 6 * 48], &[3, 6 * 48]),
            (&[ascii(5 * 48 + 15) + &euro(9)], &[9 * 3], &[3, 5 * 48 + 15]),
            // The first other character reaches the limit: pairs of bytes in a whole step, or one longer sequence.
            (&[pairs(100)], &[200 - 16], &[3, 16]),
            (&[euro(100)], &[300 - 3], &[3, 3]),
            (&[ascii(7) + &euro(30)], &[90 - 3], &[3, 7 + 3]),
            // After short text, at most 24 bytes, 16 steps with such characters.
            (&[euro(9), pairs(400)], &[24, 800 - 16 * 16], &[3, 3, 3, 16 * 16]),
            (&[euro(9), euro(400)], &[24, 1200 - 16 * 3], &[3, 3, 3, 16 * 3]),
            (&[euro(9) + "a", pairs(400)], &[25, 800 - 16], &[3, 3, 3, 16]),
            // 32 steps with ASCII. Copies are collected up to the length of the buffer.
            (&[euro(9), ascii(2000)], &[24, 2000 - 32 * 48], &[3, 3, 3, 21 * 48, 11 * 48]),
            // Text that is too short to be borrowed is copied with the replacement after it.
            (&[ascii(7), pairs(100)], &[200 - 16], &[3, 7 + 3 + 16]),
        ];
        for (texts, borrowed, copied) in rows {
            let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
            // The first bytes of a stream are decoded by another function.
            decoder.decode_to(b"x", &mut Lengths::default()).expect("ASCII");
            let bytes: Vec<u8> = texts.iter().flat_map(|text| [b"\xFF", text.as_bytes()].concat()).collect();
            let mut found = Lengths::default();
            decoder.decode_to(&bytes, &mut found).expect("every error is repaired");
            found.copied.retain(|&len| len > 0);
            assert_eq!((found.borrowed.as_slice(), found.copied.as_slice()), (borrowed, copied), "{texts:?}");
        }
    }
}
