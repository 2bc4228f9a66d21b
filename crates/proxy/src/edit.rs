//! Edits of a filter to a slice of the engine's buffer.

use core::fmt;
use core::ops::Range;

use utf8_codec::boundary::unfinished_len;
use utf8_codec::internal::{Escapes, Sink, put};
use utf8_codec::json::JsonPieces;
use utf8_codec::{TextDecoder, Utf8Error};

/// A change to the buffer that contains the slice. Edits are in stream order.
///
/// Bytes of the slice that no `Pass` covers are not forwarded. They are replaced by the `Insert` at their position,
/// held until the rest of their character or line arrives, or rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edit<'a> {
    /// The bytes at these positions of the slice are forwarded unchanged. The range is never empty, and ranges ascend.
    Pass(Range<usize>),
    /// These bytes are inserted: the held part of a character or line that the slice completes, or replacements of
    /// ill-formed sequences with short text between them. Never empty.
    Insert(&'a [u8]),
    /// An ill-formed sequence, repaired or not. It is reported before the `Insert` that contains its replacement, and
    /// possibly before text that precedes it. Errors are in order.
    IllFormed(Utf8Error),
    /// A line is rejected. Only a [`LineFilter`](crate::LineFilter) reports it.
    LineRejected(RejectedLine),
}

/// A rejected line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct RejectedLine {
    /// The number of the line in the stream, counted from 1.
    pub line: u64,
    /// Why the line was rejected.
    pub reason: LineError,
}

/// Why a line was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineError {
    /// The first ill-formed sequence of the line.
    IllFormed(Utf8Error),
    /// The line has more bytes than this limit before its terminator.
    TooLong(usize),
}

impl fmt::Display for RejectedLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: ", self.line)?;
        match self.reason {
            LineError::IllFormed(error) => error.fmt(f),
            LineError::TooLong(limit) => write!(f, "longer than {limit} bytes"),
        }
    }
}

impl core::error::Error for RejectedLine {}

/// A consumer of the text of a slice, in the form of positions and bytes.
pub(super) trait Edits: Sink {
    /// Well-formed bytes of the slice. The range may be empty.
    fn pass(&mut self, range: Range<usize>);

    /// The pending bytes of a character, possibly none. The other bytes of the character are at the start of the next
    /// range that passes.
    fn held(&mut self, bytes: &[u8]);

    /// Whether text may end the stream. No error after that text is reported.
    fn may_end(&self) -> bool {
        false
    }
}

/// Decodes `slice[start..]`, and its escapes if it is JSON. If the policy does not repair an error, returns it, and the
/// bytes after it are not consumed.
pub(super) fn decode(
    decoder: &mut TextDecoder,
    escapes: Option<&mut Escapes>,
    slice: &[u8],
    start: usize,
    edits: &mut impl Edits,
) -> Result<(), Utf8Error> {
    let rest = &slice[start..];
    if let Some(escapes) = escapes {
        let mut pieces = JsonPieces::new(decoder, escapes, rest, false);
        return if edits.may_end() {
            pieces.try_for_each(|piece| put(piece, edits))
        } else {
            pieces.decode_to(edits)
        };
    }
    if !decoder.is_past_start() {
        return decode_rest(decoder, rest, edits);
    }
    // If the slice is well-formed, one call of the kernel is enough, wherever the slice starts and ends.
    let before = decoder.clone();
    let held = before.pending();
    match decoder.validate(rest) {
        Ok(()) => {
            // If this is `None`, the slice only continues a character that is still incomplete, and nothing can be
            // forwarded.
            if let Some(complete) = rest.len().checked_sub(decoder.pending().len()) {
                edits.held(held);
                edits.pass(start..start + complete);
            }
            Ok(())
        }
        Err(error) => {
            let taken = decoder.offset().wrapping_sub(before.offset()) as usize;
            // If this is `None`, the ill-formed sequence starts before the slice and includes all bytes of `held`.
            if let Some(complete) = taken.checked_sub(usize::from(error.len)) {
                edits.held(held);
                edits.pass(start..start + complete);
            }
            let (bytes, len) = last_bytes(held, &rest[..taken]);
            let bytes = &bytes[len.saturating_sub(error.len.into())..len];
            put(decoder.apply_policy(error, bytes), edits)?;
            decode_rest(decoder, &rest[taken..], edits)
        }
    }
}

/// Validates the slice. The bytes of an unfinished character pass too, and so do the bytes of a character that ends
/// with an error. Only the first byte that cannot be part of a character, and the bytes after it, do not pass.
///
/// May only be called [past the start](TextDecoder::is_past_start) of a strict decoder.
pub(super) fn validate(
    decoder: &mut TextDecoder,
    slice: &[u8],
    edits: &mut impl Edits,
) -> Result<(), Utf8Error> {
    let before = decoder.clone();
    let Err(error) = decoder.validate(slice) else {
        edits.pass(0..slice.len());
        return Ok(());
    };
    let taken = decoder.offset().wrapping_sub(before.offset()) as usize;
    let (bytes, len) = last_bytes(before.pending(), &slice[..taken]);
    let bytes = &bytes[len.saturating_sub(error.len.into())..len];
    // The first byte after the sequence is the impossible one, unless the sequence is a byte that starts no character.
    let starts_character = unfinished_len(bytes) > 0;
    edits.pass(0..if starts_character { taken } else { taken.saturating_sub(1) });
    put(decoder.apply_policy(error, bytes), edits)
}

/// Ends the stream.
pub(super) fn finish(
    decoder: &mut TextDecoder,
    escapes: Option<&mut Escapes>,
    edits: &mut impl Edits,
) -> Result<(), Utf8Error> {
    match escapes {
        Some(escapes) => JsonPieces::new(decoder, escapes, &[], true).try_for_each(|piece| put(piece, edits)),
        None => decoder.finish().map_or(Ok(()), |piece| put(piece, edits)),
    }
}

/// Moves to the end of an error that ends the stream. The character after an escape, or the start of one where a BOM is
/// required, may have been decoded with it.
pub(super) fn stop(decoder: &mut TextDecoder, escapes: Option<&mut Escapes>, error: Utf8Error) {
    decoder.seek(error.offset.wrapping_add(error.len.into()));
    escapes.map(Escapes::clear);
}

fn decode_rest(decoder: &mut TextDecoder, rest: &[u8], edits: &mut impl Edits) -> Result<(), Utf8Error> {
    if edits.may_end() {
        // `decode_to` reports some errors before the text that precedes them.
        decoder.feed(rest).try_for_each(|piece| put(piece, edits))
    } else {
        decoder.decode_to(rest, edits)
    }
}

/// Returns the last bytes of the concatenation of both slices, at most 4, and their number.
fn last_bytes(held: &[u8], slice: &[u8]) -> ([u8; 4], usize) {
    let mut bytes = [0; 4];
    let slice = &slice[slice.len().saturating_sub(bytes.len())..];
    let held = &held[(held.len() + slice.len()).saturating_sub(bytes.len()).min(held.len())..];
    bytes[..held.len()].copy_from_slice(held);
    bytes[held.len()..held.len() + slice.len()].copy_from_slice(slice);
    (bytes, held.len() + slice.len())
}

/// Returns the position of `text` in `slice`, which contains it.
pub(super) fn position(slice: &[u8], text: &str) -> usize {
    text.as_ptr().addr() - slice.as_ptr().addr()
}
