//! Text that is collected, not lent: the fast way through input that is dense with errors.
//!
//! Lending makes two pieces of each error, the text before it and what takes its place, and calls a kernel for each
//! text. Where errors stand a few bytes apart, that costs more than the bytes. After an error the bytes are
//! therefore taken one sequence at a time, until it has been calm for a while.
//!
//! What takes the text is a [`Sink`]: a `String`, or the edits of a filter.

use alloc::string::String;

use super::{Rules, TextDecoder, TextPiece};
use crate::decoder::{Piece, Pieces, Utf8Decoder};
use crate::encoding::{State, Step, UTF_8};
use crate::error::{ErrorKind, Utf8Error};
use crate::policy::{BomPolicy, ShortStr};

/// How long sequences are taken one at a time after an error.
#[derive(Clone, Copy)]
struct Patience {
    /// Steps of ASCII without an error.
    steps: usize,
    /// The steps that a character counts for which is not ASCII: here a kernel is far ahead.
    character: usize,
}

impl Patience {
    /// Where the text before the error was long: while it is ASCII.
    const LITTLE: Self = Self { steps: 12, character: 12 };
    /// Where it was hardly worth a call.
    const MUCH: Self = Self { steps: 32, character: 1 };
    /// Up to so many bytes it was not.
    const SHORT: usize = 24;
}

/// A subset judges text that was validated before. It goes on from an error by validating anew, which must not reach
/// far.
const VALIDATED_FOR_SUBSET: usize = 4 * 1024;

/// What takes the text of a chunk, in the order of the stream.
pub(crate) trait Sink {
    /// Text that is part of the chunk.
    fn borrowed(&mut self, text: &str);

    /// Text that is not part of the chunk: a character that straddled chunks, repairs, and short text between them.
    fn made(&mut self, text: &str);

    /// An error, before the text that holds its repair.
    fn error(&mut self, error: Utf8Error);
}

impl Sink for String {
    fn borrowed(&mut self, text: &str) {
        self.push_str(text);
    }

    fn made(&mut self, text: &str) {
        self.push_str(text);
    }

    fn error(&mut self, _: Utf8Error) {}
}

impl TextDecoder {
    /// Takes the next chunk and appends its text: [`feed`](Self::feed) for callers who want a `String`. The text, the
    /// errors and the counters are the same.
    ///
    /// # Errors
    ///
    /// The first error that the policy does not repair. What comes before it has been appended. The decoder stands
    /// after the error, the bytes after it are not taken, and the next call goes on there:
    /// `&chunk[(decoder.offset() - offset_before) as usize..]`.
    ///
    /// ```
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    ///
    /// let mut decoder = TextDecoder::new().on_error(ErrorPolicy::Replace);
    /// let mut text = String::new();
    /// for chunk in [&b"na\xC3"[..], b"\xAFve \xFF!"] {
    ///     decoder.decode_into(chunk, &mut text)?;
    /// }
    /// assert_eq!(text, "naïve \u{FFFD}!");
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    pub fn decode_into(&mut self, chunk: &[u8], text: &mut String) -> Result<(), Utf8Error> {
        self.decode_to(chunk, text)
    }

    /// [`decode_into`](Self::decode_into) for any sink.
    pub(crate) fn decode_to(&mut self, chunk: &[u8], sink: &mut impl Sink) -> Result<(), Utf8Error> {
        let mut rest = chunk;
        if self.subset.is_some() {
            return chunk.chunks(VALIDATED_FOR_SUBSET).try_for_each(|window| self.lend_to(window, sink));
        }
        while self.decoder.valid_up_to() == 0 && self.bom != BomPolicy::Keep {
            let before = self.offset();
            let Some(piece) = self.feed(rest).next() else { return Ok(()) };
            take(piece, sink)?;
            rest = &rest[self.offset().wrapping_sub(before) as usize..];
        }
        let Self { decoder, on_error, bom, counters, .. } = self;
        let mut rules = Rules { on_error: *on_error, bom: *bom, counters };
        let mut pieces = decoder.feed(rest);
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text(good) => sink.borrowed(good),
                Piece::Seam(character) => sink.made(character.encode_utf8(&mut [0; 4])),
                Piece::IllFormed(error) => {
                    take(rules.judge(error, pieces.rejected()), sink)?;
                    return collect(&mut rules, &mut pieces, sink);
                }
            }
        }
        Ok(())
    }

    fn lend_to(&mut self, chunk: &[u8], sink: &mut impl Sink) -> Result<(), Utf8Error> {
        self.feed(chunk).try_for_each(|piece| take(piece, sink))
    }
}

/// One piece for the sink.
pub(crate) fn take(piece: TextPiece<'_>, sink: &mut impl Sink) -> Result<(), Utf8Error> {
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

/// Bytes that are looked at together.
const STEP: usize = 16;
/// Bytes that are looked at after so many that were ASCII.
const STRETCH: usize = 32;

/// Takes what follows an error.
#[inline(never)]
fn collect(
    rules: &mut Rules<'_>,
    pieces: &mut Pieces<'_, '_>,
    sink: &mut impl Sink,
) -> Result<(), Utf8Error> {
    let mut room = [0; ROOM];
    // Made once: it is what most errors become.
    let replacement = rules.on_error.replacement().map(ShortStr::from);
    let mut patience = Patience::LITTLE;
    loop {
        let (rest, offset) = (pieces.rest(), pieces.decoder().offset());
        let (taken, refused) = step_by_step(rules, &replacement, patience, offset, rest, &mut room, sink);
        if taken > 0 {
            pieces.restart(Utf8Decoder::at(offset.wrapping_add(taken as u64)), &rest[taken..]);
        }
        if let Some(error) = refused {
            return Err(error);
        }
        patience = Patience::MUCH;
        loop {
            match pieces.next() {
                None => return Ok(()),
                Some(Piece::Text(good)) => {
                    if good.len() > Patience::SHORT {
                        patience = Patience::LITTLE;
                    }
                    sink.borrowed(good);
                }
                // Not reached: after an error there is no unfinished sequence.
                Some(Piece::Seam(character)) => sink.made(character.encode_utf8(&mut [0; 4])),
                Some(Piece::IllFormed(error)) => {
                    take(rules.judge(error, pieces.rejected()), sink)?;
                    break;
                }
            }
        }
    }
}

/// Takes sequence by sequence until it is calm, or nearly the end of the chunk, which starts between characters at
/// `offset`. Gives how many bytes that took, and the error that the policy does not repair, if there is one.
#[inline(always)]
fn step_by_step(
    rules: &mut Rules<'_>,
    replacement: &Option<ShortStr>,
    patience: Patience,
    offset: u64,
    chunk: &[u8],
    room: &mut [u8; ROOM],
    sink: &mut impl Sink,
) -> (usize, Option<Utf8Error>) {
    let (mut taken, mut calm, mut len, mut refused) = (0, 0, 0, None);
    while calm < patience.steps
        && let Some(window) = chunk.get(taken..).and_then(|rest| rest.first_chunk::<STEP>())
    {
        if len > ROOM - MOST {
            flush(room, &mut len, sink);
        }
        calm += 1;
        let mut ascii = 0;
        // Branches, though they can be mispredicted: without them each step would wait for the one before.
        if window[0].is_ascii() {
            let not_ascii = u128::from_le_bytes(*window) & HIGH;
            if not_ascii == 0 {
                push(room, &mut len, window, STEP);
                taken += STEP;
                // Only here, where ASCII is likely: anywhere else one more guess costs more than it saves.
                if let Some(stretch) = chunk.get(taken..).and_then(|rest| rest.first_chunk::<STRETCH>())
                    && stretch.is_ascii()
                {
                    push(room, &mut len, stretch, STRETCH);
                    taken += STRETCH;
                }
                continue;
            }
            ascii = not_ascii.trailing_zeros() as usize / 8;
            push(room, &mut len, window, ascii);
            taken += ascii;
        }
        let Some(sequence) = window.get(ascii..).and_then(|rest| rest.first_chunk::<4>()) else {
            // What may be a sequence is looked at with what follows it.
            continue;
        };
        let (bytes, flaw) = judge(sequence);
        taken += bytes;
        let Some(kind) = flaw else {
            push(room, &mut len, sequence, bytes);
            calm += patience.character;
            continue;
        };
        calm = 0;
        let error = Utf8Error::new(offset.wrapping_add((taken - bytes) as u64), kind, bytes as u8);
        rules.count(error);
        sink.error(error);
        if let Some(replacement) = replacement {
            push(room, &mut len, replacement.bytes(), replacement.len());
        } else if let Some(repair) = rules.on_error.repair(&sequence[..bytes]) {
            push(room, &mut len, repair.bytes(), repair.len());
        } else {
            refused = Some(error);
            break;
        }
    }
    flush(room, &mut len, sink);
    (taken, refused)
}

/// The sequence at the front: its length if it is a character, otherwise the length of the maximal subpart, and why
/// it is ill-formed.
#[inline]
fn judge(bytes: &[u8; 4]) -> (usize, Option<ErrorKind>) {
    let mut state = State::BOUNDARY;
    for (len, &byte) in bytes.iter().enumerate() {
        match UTF_8.step(state, byte) {
            Step::To(State::BOUNDARY) => return (len + 1, None),
            Step::To(next) => state = next,
            // A byte that is refused as a lead is itself the subpart; any other is not part of it.
            Step::Refused(kind) => return (len.max(1), Some(kind)),
        }
    }
    // Not reached: no sequence is longer.
    (bytes.len(), None)
}

/// Text on its way, so that a few bytes cost a few moves.
const ROOM: usize = 512;

const HIGH: u128 = u128::from_ne_bytes([0x80; STEP]);

/// What is pushed in one step: ASCII, then more of it, or a sequence or a repair.
const MOST: usize = STEP + STRETCH;

/// Takes the first `count` bytes, which are whole characters. There is room.
#[inline(always)]
fn push<const N: usize>(room: &mut [u8; ROOM], len: &mut usize, bytes: &[u8; N], count: usize) {
    if let Some(room) = room.get_mut(*len..).and_then(|room| room.first_chunk_mut()) {
        // All of them: to move a few more is faster than to ask how many.
        *room = *bytes;
        *len += count;
    }
}

fn flush(room: &[u8; ROOM], len: &mut usize, sink: &mut impl Sink) {
    let bytes = &room[..*len];
    debug_assert!(core::str::from_utf8(bytes).is_ok());
    // SAFETY: `push` was given whole characters: ASCII, sequences that the machine found whole, and repairs.
    #[allow(unsafe_code)]
    sink.made(unsafe { core::str::from_utf8_unchecked(bytes) });
    *len = 0;
}
