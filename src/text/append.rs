//! Appends text to a `String`, or to another [`Sink`]: the edits of a filter.
//!
//! [`TextDecoder::feed`] returns a piece for each text and each error. That is the right shape for a caller that looks at the
//! errors, and a slow one for a caller that wants the text: a piece is moved through several functions, and a kernel is
//! called for each text. So a chunk is decoded by pieces only up to its first error. After it,
//! [`decode_runs_to`](TextDecoder::decode_runs_to) expects more:
//!
//! 1. A [`Run`] decodes sequence by sequence into a buffer, text and replacements together, and passes the buffer on when it
//!    is full.
//! 2. When several sequences in a row had no error, a kernel takes over and finds the end of the text, which is passed on
//!    without a copy.
//! 3. After very long text an error is likely to be alone. Its replacement is passed on by itself, and the kernel continues.
//!
//! Text and errors are the same as from `feed` (a test and a fuzz target compare them); only the places where the text is split
//! differ.

use alloc::string::String;

use kernels::copy::COPIED_AT_ONCE;

use super::decoder::{TextDecoder, VALIDATED_FOR_SUBSET};
use super::pieces::{TextPiece, repair};
use super::run::{Part, Run};
use crate::boundary::floor_boundary;
use crate::decoder::Piece;
use crate::error::Utf8Error;

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
    /// [`Truncated`](crate::ErrorKind::Truncated). It is returned once.
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
            return self.decode_within_subset_to(chunk, sink);
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
                    let rest = pieces.rest();
                    return self.decode_runs_to(rest, sink, Run::after_error());
                }
            }
        }
        Ok(())
    }

    /// Decodes a chunk piece by piece up to the first error.
    fn decode_within_subset_to(&mut self, chunk: &[u8], sink: &mut impl Sink) -> Result<(), Utf8Error> {
        let start = self.offset();
        for window in chunk.chunks(VALIDATED_FOR_SUBSET) {
            for piece in self.feed(window) {
                put(piece, sink)?;
                if let TextPiece::Repaired(..) = piece {
                    let taken = self.offset().wrapping_sub(start) as usize;
                    return self.decode_runs_to(&chunk[taken..], sink, Run::after_error());
                }
            }
        }
        Ok(())
    }

    /// Decodes the rest of a chunk part by part, as [`take_run`](Self::take_run) returns them. Here no part is moved: a
    /// move of a value that was just written by narrow stores waits for them.
    #[inline(never)]
    fn decode_runs_to(
        &mut self,
        mut rest: &[u8],
        sink: &mut impl Sink,
        mut run: Run,
    ) -> Result<(), Utf8Error> {
        let mut encoded = [0; 4];
        let without_subset = self.policies.subset.is_none();
        let replacement = self.policies.only_replacement().filter(|_| without_subset);
        let replacement = replacement.map(|character| &*character.encode_utf8(&mut encoded));
        while !rest.is_empty() {
            if !self.repairs_in_runs() {
                let (piece, taken) = self.take_piece_before(&mut run, rest);
                rest = &rest[taken..];
                if let Some(Part::Piece(piece)) = piece {
                    put(piece, sink)?;
                }
                continue;
            }
            let taken = self.fill(&mut run, rest);
            rest = &rest[taken..];
            if taken > 0 {
                put_run(&run, sink);
                continue;
            }
            let before = self.offset();
            let text = self.take_text_before(&mut run, rest);
            rest = &rest[self.offset().wrapping_sub(before) as usize..];
            if !text.is_empty() {
                sink.borrowed(text);
            }
            if text.len() > VERY_LONG_TEXT && run.is_near_error() {
                if let Some(replacement) = replacement {
                    let Some(error) = self.take_error(&mut run, rest) else { continue };
                    rest = &rest[usize::from(error.len)..];
                    sink.error(error);
                    sink.made(replacement);
                }
            }
        }
        Ok(())
    }
}

/// After more bytes of text than this an error is repaired by itself, because the next one is likely to follow as much
/// text, which a run would copy twice.
const VERY_LONG_TEXT: usize = 64;

/// Passes a run to the sink.
#[inline]
pub fn put_run(run: &Run, sink: &mut impl Sink) {
    run.errors().for_each(|error| sink.error(error));
    sink.made(run.text());
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

#[cfg(test)]
mod tests {
    use kernels::words::{STEP, STRETCH};

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
        let ascii = |len| "a".repeat(len);
        let euro = |count| "\u{20AC}".repeat(count);
        let pairs = |count| "\u{E9}".repeat(count);
        // The text after each `FF`, and the lengths of the borrowed and of the copied texts. A replacement has 3 bytes, and a
        // step of 3-byte sequences 15.
        // Six steps of ASCII.
        let long = STEP + 5 * STRETCH;
        let rows: [(&[String], &[usize], &[usize]); 10] = [
            // After long text, 6 steps of ASCII. The last step also ends before other characters.
            (&[ascii(400)], &[400 - long], &[3, long]),
            (&[ascii(long - 1) + &euro(9)], &[9 * 3], &[3, long - 1]),
            // The first other character reaches the limit: pairs of bytes in a whole step, or one longer sequence.
            (&[pairs(100)], &[200 - 16], &[3, 16]),
            (&[euro(100)], &[300 - 15], &[3, 15]),
            (&[ascii(7) + &euro(30)], &[90 - 3], &[3, 7 + 3]),
            // After short text, at most 24 bytes, 16 steps with such characters.
            (&[euro(13), pairs(400)], &[24, 800 - 16 * 16], &[3, 15, 3 + 16 * 16]),
            (&[euro(13), euro(400)], &[24, 1200 - 16 * 15], &[3, 15, 3 + 16 * 15]),
            (&[euro(13) + "a", pairs(400)], &[25, 800 - 16], &[3, 15, 3 + 16]),
            // After very long text, the replacement alone.
            (&[ascii(long + 65), ascii(400)], &[65, 400], &[3, long, 3]),
            // Text that is too short to be borrowed is copied with the replacement after it.
            (&[ascii(7), pairs(100)], &[200 - 16], &[3, 7 + 3 + 16]),
        ];
        let decode = |bytes: &[u8]| {
            let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
            // The first bytes of a stream are decoded by another function.
            decoder.decode_to(b"x", &mut Lengths::default()).expect("ASCII");
            let mut found = Lengths::default();
            decoder.decode_to(bytes, &mut found).expect("every error is repaired");
            found.copied.retain(|&len| len > 0);
            found
        };
        for (texts, borrowed, copied) in rows {
            let bytes: Vec<u8> = texts.iter().flat_map(|text| [b"\xFF", text.as_bytes()].concat()).collect();
            let found = decode(&bytes);
            assert_eq!((found.borrowed.as_slice(), found.copied.as_slice()), (borrowed, copied), "{texts:?}");
        }
        // The limit is that of all copies after an error, of which each has the length of the buffer.
        let found = decode(&[b"\xFF", euro(13).as_bytes(), b"\xFF", &[b'a'; 10_000]].concat());
        assert!(found.copied.iter().sum::<usize>() <= 3 + 15 + 3 + 32 * STRETCH, "{:?}", found.copied);
        assert_eq!(found.borrowed.len(), 2);
    }
}
