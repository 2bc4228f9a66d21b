//! The edits that a filter makes to a slice of a host's buffer.

use core::fmt;
use core::ops::Range;

use crate::error::Utf8Error;
use crate::text::{Sink, TextDecoder, put};

/// A change to the buffer that holds the slice, in the order of the stream.
///
/// Bytes of the slice that no `Pass` covers are not forwarded. They are replaced by the `Insert` at their position,
/// held until the rest of their character or line arrives, or rejected.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Edit<'a> {
    /// The bytes at these positions of the slice are forwarded unchanged. Never empty; ranges ascend.
    Pass(Range<usize>),
    /// These bytes are inserted: the held part of a character or line that the slice completes, or repairs, with short
    /// text between them. Never empty.
    Insert(&'a [u8]),
    /// An ill-formed sequence, repaired or not. It is reported before the `Insert` that contains its repair, and
    /// possibly before text that precedes it. Errors are in order.
    IllFormed(Utf8Error),
    /// A line is rejected. Only a [`LineFilter`](crate::proxy::LineFilter) reports it.
    LineRejected(RejectedLine),
}

/// A rejected line.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RejectedLine {
    /// Its number in the stream; the first is 1.
    pub line: u64,
    /// Why it was rejected.
    pub reason: LineError,
}

/// Why a line was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum LineError {
    /// The first ill-formed sequence in it.
    IllFormed(Utf8Error),
    /// It has more bytes than this before its terminator.
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

impl core::error::Error for RejectedLine {
    fn source(&self) -> Option<&(dyn core::error::Error + 'static)> {
        match &self.reason {
            LineError::IllFormed(error) => Some(error),
            LineError::TooLong(_) => None,
        }
    }
}

/// A consumer of the text of a slice, as positions and bytes.
pub(super) trait Edits: Sink {
    /// Well-formed bytes of the slice; may be empty.
    fn pass(&mut self, range: Range<usize>);

    /// The pending bytes of a character. Its other bytes are at the start of the next range that passes. May be empty.
    fn held(&mut self, bytes: &[u8]);
}

/// Decodes `slice[start..]`. The bytes after an error are not consumed.
pub(super) fn decode(
    decoder: &mut TextDecoder,
    slice: &[u8],
    start: usize,
    edits: &mut impl Edits,
) -> Result<(), Utf8Error> {
    let rest = &slice[start..];
    if !decoder.is_past_start() {
        return decoder.decode_to(rest, edits);
    }
    // One call of the kernel if the slice is well-formed, wherever it was cut.
    let before = *decoder;
    let held = before.pending();
    match decoder.validate(rest) {
        Ok(()) => {
            // Otherwise the slice is part of one character, and the bytes that were pending still are.
            if let Some(complete) = rest.len().checked_sub(decoder.pending().len()) {
                edits.held(held);
                edits.pass(start..start + complete);
            }
            Ok(())
        }
        Err(error) => {
            let taken = decoder.offset().wrapping_sub(before.offset()) as usize;
            // An error that starts before the slice covers all bytes that were pending.
            if let Some(complete) = taken.checked_sub(usize::from(error.len)) {
                edits.held(held);
                edits.pass(start..start + complete);
            }
            let (bytes, len) = last_bytes(held, &rest[..taken]);
            let bytes = &bytes[len.saturating_sub(error.len.into())..len];
            put(decoder.apply_policy(error, bytes), edits)?;
            decoder.decode_to(&rest[taken..], edits)
        }
    }
}

/// Returns the last bytes of both slices in sequence, at most 4, and their number.
fn last_bytes(held: &[u8], slice: &[u8]) -> ([u8; 4], usize) {
    let mut bytes = [0; 4];
    let slice = &slice[slice.len().saturating_sub(bytes.len())..];
    let held = &held[(held.len() + slice.len()).saturating_sub(bytes.len()).min(held.len())..];
    bytes[..held.len()].copy_from_slice(held);
    bytes[held.len()..held.len() + slice.len()].copy_from_slice(slice);
    (bytes, held.len() + slice.len())
}

/// Returns the position of `text`, which is a part of `slice`.
pub(super) fn position(slice: &[u8], text: &str) -> usize {
    text.as_ptr().addr() - slice.as_ptr().addr()
}
