//! Text that is collected, not lent: the fast way through input that is dense with errors.
//!
//! Lending makes two pieces of each error, the text before it and what takes its place, and calls a kernel for each
//! text. Where errors stand a few octets apart, that costs more than the octets. Behind an error the octets are
//! therefore taken one sequence at a time, until it has been calm for a while.

use alloc::string::String;

use super::{Rules, TextDecoder};
use crate::decoder::{Piece, Utf8Decoder};
use crate::error::{ErrorKind, Utf8Error};
use crate::form::{State, Step, UTF_8};
use crate::policy::{BomPolicy, ErrorPolicy, ShortStr};

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
    /// Up to so many octets it was not.
    const SHORT: usize = 24;
}

/// A subset judges text that was validated before. It goes on from an error by validating anew, which must not reach
/// far.
const VALIDATED_FOR_SUBSET: usize = 4 * 1024;

impl TextDecoder {
    /// Takes the next chunk and appends its text: [`feed`](Self::feed) for callers who want a `String`. The text, the
    /// errors and the counters are the same.
    ///
    /// # Errors
    ///
    /// The first error that the policy does not repair. What comes before it has been appended. The decoder stands
    /// behind the error, the octets after it are not taken, and the next call goes on there:
    /// `&chunk[(decoder.offset() - offset_before) as usize..]`.
    ///
    /// ```
    /// use utf8_codec::{ErrorPolicy, TextDecoder};
    ///
    /// let mut decoder = TextDecoder::new().on_error(ErrorPolicy::REPLACE);
    /// let mut text = String::new();
    /// for chunk in [&b"na\xC3"[..], b"\xAFve \xFF!"] {
    ///     decoder.decode_into(chunk, &mut text)?;
    /// }
    /// assert_eq!(text, "naïve \u{FFFD}!");
    /// # Ok::<(), utf8_codec::Utf8Error>(())
    /// ```
    pub fn decode_into(&mut self, chunk: &[u8], text: &mut String) -> Result<(), Utf8Error> {
        let mut rest = chunk;
        if self.subset.is_some() {
            return chunk.chunks(VALIDATED_FOR_SUBSET).try_for_each(|window| self.lend_into(window, text));
        }
        while self.decoder.valid_up_to() == 0 && self.bom != BomPolicy::Keep {
            let before = self.offset();
            let Some(piece) = self.feed(rest).next() else { return Ok(()) };
            text.push_str(piece.text()?);
            rest = &rest[(self.offset() - before) as usize..];
        }
        let Self { decoder, on_error, bom, counters, .. } = self;
        let mut rules = Rules { on_error: *on_error, bom: *bom, counters };
        let mut pieces = decoder.feed(rest);
        let mut patience = Patience::LITTLE;
        while let Some(piece) = pieces.next() {
            match piece {
                Piece::Text(good) => {
                    patience = if good.len() <= Patience::SHORT { Patience::MUCH } else { Patience::LITTLE };
                    text.push_str(good);
                }
                Piece::Seam(character) => text.push(character),
                Piece::IllFormed(error) => {
                    text.push_str(rules.judge(error, pieces.rejected()).text()?);
                    let (rest, offset) = (pieces.rest(), pieces.decoder().offset());
                    let (taken, refused) = collect(&mut rules, patience, offset, rest, text);
                    if taken > 0 {
                        pieces.restart(Utf8Decoder::at(offset + taken as u64), &rest[taken..]);
                    }
                    if let Some(error) = refused {
                        return Err(error);
                    }
                }
            }
        }
        Ok(())
    }

    fn lend_into(&mut self, chunk: &[u8], text: &mut String) -> Result<(), Utf8Error> {
        self.feed(chunk).try_for_each(|piece| piece.text().map(|good| text.push_str(good)))
    }
}

/// Octets that are looked at together.
const STEP: usize = 16;

/// Takes sequence by sequence until it is calm, or nearly the end of the chunk, which starts between characters at
/// `offset`. Gives how many octets that took, and the error that the policy does not repair, if there is one.
fn collect(
    rules: &mut Rules<'_>,
    patience: Patience,
    offset: u64,
    chunk: &[u8],
    text: &mut String,
) -> (usize, Option<Utf8Error>) {
    let mut staged = Staged { octets: [0; ROOM], len: 0, text };
    let (mut taken, mut calm) = (0, 0);
    // Made once: it is what most errors become.
    let replacement = match rules.on_error {
        ErrorPolicy::Replace(character) => Some(ShortStr::from(character)),
        _ => None,
    };
    while calm < patience.steps
        && let Some(window) = chunk.get(taken..).and_then(|rest| rest.first_chunk::<STEP>())
    {
        let ascii = staged.push_ascii(window);
        taken += ascii;
        calm += 1;
        let Some(sequence) = window.get(ascii..).and_then(|rest| rest.first_chunk::<4>()) else {
            // What may be a sequence is looked at with what follows it.
            continue;
        };
        match judge(sequence) {
            (len, None) => {
                staged.push(sequence, len);
                taken += len;
                calm += patience.character;
            }
            (len, Some(kind)) => {
                let error = Utf8Error::new(offset + taken as u64, kind, len as u8);
                taken += len;
                calm = 0;
                rules.count(error);
                if let Some(replacement) = &replacement {
                    staged.push_repair(replacement);
                } else if let Some(repair) = rules.on_error.repair(&sequence[..len]) {
                    staged.push_repair(&repair);
                } else {
                    return (taken, Some(error));
                }
            }
        }
    }
    (taken, None)
}

/// The sequence at the front: its length if it is a character, otherwise the length of the maximal subpart, and why
/// it is ill-formed.
#[inline]
fn judge(octets: &[u8; 4]) -> (usize, Option<ErrorKind>) {
    let mut state = State::BOUNDARY;
    for (len, &octet) in octets.iter().enumerate() {
        match UTF_8.step(state, octet) {
            Step::To(State::BOUNDARY) => return (len + 1, None),
            Step::To(next) => state = next,
            // An octet that is refused as a lead is itself the subpart; any other is not part of it.
            Step::Refused(kind) => return (len.max(1), Some(kind)),
        }
    }
    // Not reached: no sequence is longer.
    (octets.len(), None)
}

const ROOM: usize = 512;

/// Text on its way, so that a few octets cost a few moves. They are whole characters.
struct Staged<'t> {
    octets: [u8; ROOM],
    len: usize,
    text: &'t mut String,
}

impl Staged<'_> {
    /// Takes the ASCII octets at the front, and gives their number.
    #[inline]
    fn push_ascii(&mut self, window: &[u8; STEP]) -> usize {
        const HIGH: u128 = u128::from_ne_bytes([0x80; STEP]);
        let ascii = (u128::from_le_bytes(*window) & HIGH).trailing_zeros() as usize / 8;
        self.push(window, ascii);
        ascii
    }

    /// Takes the first `len` octets, which are whole characters.
    #[inline]
    fn push<const N: usize>(&mut self, octets: &[u8; N], len: usize) {
        if self.len > ROOM - N {
            self.flush();
        }
        if let Some(room) = self.octets.get_mut(self.len..).and_then(|room| room.first_chunk_mut()) {
            // All of them: to move a few more is faster than to ask how many.
            *room = *octets;
            self.len += len.min(N);
        }
    }

    #[inline]
    fn push_repair(&mut self, repair: &ShortStr) {
        self.push(repair.octets(), repair.len());
    }

    fn flush(&mut self) {
        let octets = &self.octets[..self.len];
        // SAFETY: `push` is given whole characters: ASCII, sequences that the machine found whole, and repairs.
        #[allow(unsafe_code)]
        let text = unsafe { core::str::from_utf8_unchecked(octets) };
        debug_assert!(core::str::from_utf8(octets).is_ok());
        self.text.push_str(text);
        self.len = 0;
    }
}

impl Drop for Staged<'_> {
    fn drop(&mut self) {
        self.flush();
    }
}
