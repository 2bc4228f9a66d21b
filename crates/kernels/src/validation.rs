//! Validation: where a stream becomes ill-formed.

use super::arch;
use super::class_search::{self, Class};
use super::dispatch::{self, Kernel};
use super::formula;
use super::functions::{Index, MAX_VECTOR};
use super::short::{self, Few, SHORT, SHORT_CHUNK};
use super::state::{AtBoundary, Prediction, SMALL, ScanState};

/// The reason why the text of a chunk ends.
#[derive(Clone, Copy, Debug)]
pub enum TextEnd<'c> {
    /// The end of the chunk, or an unfinished sequence that is in the carry of this state.
    Unfinished(ScanState),
    /// The rest of the chunk. It starts with an ill-formed sequence.
    IllFormed(&'c [u8]),
}

/// Validates the next chunk of a stream. After `Ok`, `state` is the state at the end of the chunk.
///
/// `Err(index)` means that `chunk[index]` makes the stream ill-formed. A byte that well-formed text never contains
/// (`C0`, `C1`, `F5..=FF`) may instead be reported at the index of the byte after it. The carry is unchanged.
///
/// An ill-formed last byte is reported by this call, not by the next one.
#[inline(always)]
pub fn validate(state: &mut ScanState, chunk: &[u8]) -> Result<(), Index> {
    if cfg!(utf8_codec_unoptimized) {
        return arch::validate_by_std(chunk, state);
    }
    let [byte] = *chunk else {
        if likely_text_up_to::<SHORT_CHUNK>(state, chunk).is_some() {
            return Ok(());
        }
        return validate_any(state, chunk);
    };
    // For a chunk of 1 byte two tables are fastest. A call would cost more.
    // ASCII is not predicted, because the byte may start a sequence.
    let after = state.after_byte(byte);
    if !formula::ends_well_formed(after.carry().word()) {
        return Err(Index::new(0));
    }
    *state = after;
    Ok(())
}

/// Returns the bytes as text if all of them are well-formed.
#[inline]
pub fn text(bytes: &[u8]) -> Option<&str> {
    if cfg!(utf8_codec_unoptimized) {
        return core::str::from_utf8(bytes).ok();
    }
    let is_text = if is_short_ascii(bytes) {
        true
    } else if bytes.len() < 4 {
        is_few_text(bytes)
    } else {
        // SAFETY: there are at least 4 bytes.
        unsafe { dispatch::is_text(bytes) }
    };
    if !is_text {
        return None;
    }
    // SAFETY: all bytes were validated.
    Some(unsafe { core::str::from_utf8_unchecked(bytes) })
}

/// Whether there are at most [`SHORT`] bytes and all of them are ASCII.
#[inline(always)]
fn is_short_ascii(bytes: &[u8]) -> bool {
    bytes.len() <= SHORT && short::is_ascii(bytes)
}

/// Validates fewer than 4 bytes. It is not inlined, because ASCII has been tested before and other text is less frequent.
#[inline(never)]
fn is_few_text(bytes: &[u8]) -> bool {
    Few::new(bytes).is_none_or(Few::is_text)
}

/// Returns a small chunk as text if ASCII is likely and all of it is text. `state` becomes the state at its end. This
/// takes fewer instructions than [`prefix`].
#[inline(always)]
pub fn likely_text<'c>(state: &mut ScanState, chunk: &'c [u8]) -> Option<&'c str> {
    likely_text_up_to::<SMALL>(state, chunk)
}

#[inline(always)]
fn likely_text_up_to<'c, const MAX: usize>(state: &mut ScanState, chunk: &'c [u8]) -> Option<&'c str> {
    if cfg!(utf8_codec_unoptimized) || chunk.len() > MAX || !state.expects_ascii() {
        return None;
    }
    let is_text = if chunk.len() <= SHORT_CHUNK {
        short::is_ascii_chunk(chunk)
    } else {
        // SAFETY: there are at least 4 bytes.
        unsafe { dispatch::is_text(chunk) }
    };
    if !is_text {
        return None;
    }
    *state = ScanState::AFTER_ASCII;
    // SAFETY: ASCII is well-formed, and other bytes were validated. If ASCII is likely, no sequence is unfinished.
    Some(unsafe { core::str::from_utf8_unchecked(chunk) })
}

/// Calls the kernel if the chunk is long enough for it.
#[inline(always)]
fn validate_any(state: &mut ScanState, chunk: &[u8]) -> Result<(), Index> {
    if chunk.len() < 4 {
        let (after, result) = validate_few(*state, chunk);
        *state = ScanState::from_bits(after);
        result
    } else {
        // SAFETY: the chunk has at least 4 bytes.
        unsafe { Kernel::in_use().validate(state, chunk) }
    }
}

/// [`Validate`](super::functions::Validate) for fewer than 4 bytes.
#[inline(never)]
pub(crate) fn validate_few(state: ScanState, chunk: &[u8]) -> (u64, Result<(), Index>) {
    let [.., last] = *chunk else { return (state.bits(), Ok(())) };
    let carry = state.carry();
    let few = Few::new(chunk).filter(|few| carry.pending_len() == 0 && few.is_text());
    if let Some(few) = few {
        let end = carry.after_few(few.word(), chunk.len());
        let before = state.prediction();
        let before = if state.expects_ascii() { before.mispredicted() } else { before };
        return (ScanState::new(end, before.after_chunk(end)).bits(), Ok(()));
    }
    if let Some(index) = formula::first_ill_formed(carry.word(), chunk) {
        return (state.bits(), Err(Index::new(index)));
    }
    if formula::is_never_a_lead(last) {
        return (state.bits(), Err(Index::new(chunk.len() - 1)));
    }
    (ScanState::new(carry.after(chunk), Prediction::NONE).bits(), Ok(()))
}

/// Returns the longest text at the start of a chunk, and why it ends.
#[inline(always)]
pub fn prefix(start: AtBoundary, chunk: &[u8]) -> (&str, TextEnd<'_>) {
    prefix_by(start, chunk, validate_any)
}

/// Same as [`prefix`], for bytes that are not expected to be text. A program that calls only [`text`] and this function
/// does not contain the functions for the chunks of a stream.
#[inline]
pub fn prefix_of_text(bytes: &[u8]) -> (&str, TextEnd<'_>) {
    prefix_by(AtBoundary::START, bytes, |state, bytes| {
        if bytes.len() > MAX_VECTOR {
            // SAFETY: there are more bytes than in a vector.
            unsafe { Kernel::in_use().validate_large(state, bytes) }
        } else {
            arch::validate_portable(bytes, state)
        }
    })
}

/// [`prefix`] by `validate`, a function with the same results as [`validate_any`].
#[inline(always)]
fn prefix_by<'c>(
    start: AtBoundary,
    chunk: &'c [u8],
    validate: impl FnOnce(&mut ScanState, &[u8]) -> Result<(), Index>,
) -> (&'c str, TextEnd<'c>) {
    if cfg!(utf8_codec_unoptimized) {
        return prefix_by_std(chunk);
    }
    let mut state = start.state();
    // Both values of `len` are at most the length of the chunk. `saturating_sub` and `unwrap_or_default` only show the
    // compiler that nothing panics.
    let (text, end) = match validate(&mut state, chunk) {
        Ok(()) => {
            let len = chunk.len().saturating_sub(usize::from(state.pending_len()));
            (&chunk[..len], TextEnd::Unfinished(state))
        }
        Err(index) => {
            let len = well_formed_len(state, chunk, index.get());
            let (text, rest) = chunk.split_at_checked(len).unwrap_or_default();
            (text, TextEnd::IllFormed(rest))
        }
    };
    // SAFETY: the chunk starts between characters. It is well-formed up to the unfinished sequence, or up to the
    // sequence that contains the byte at `index` or ends before it. `text` excludes that sequence.
    (unsafe { core::str::from_utf8_unchecked(text) }, end)
}

/// [`prefix`], and the number of bytes at the start of the text that have no character of the class. This number may be
/// less than possible. The bytes that it counts are read only once.
#[inline]
pub fn prefix_within<'c>(start: AtBoundary, chunk: &'c [u8], class: &Class) -> (&'c str, TextEnd<'c>, usize) {
    let inside = class_search::ascii_without(chunk, class);
    let start = if inside == 0 { start } else { AtBoundary::START };
    let (text, end) = prefix(start, chunk.get(inside..).unwrap_or_default());
    let text = chunk.get(..inside + text.len()).unwrap_or_default();
    // SAFETY: the bytes up to `inside` are ASCII, and `prefix` returned the text after them.
    (unsafe { core::str::from_utf8_unchecked(text) }, end, inside)
}

/// The number of bytes that [`plain_prefix`] searches first, and the number after which it stops. That many bytes are
/// still in the L1 cache when they are validated after the search.
const FIRST_PLAIN: usize = 512;
const MAX_PLAIN: usize = 16 * 1024;

/// Returns text at the start of a chunk that has no backslash, and the state after it. The text may be shorter than
/// possible. An unfinished sequence that is in the carry of the state ends the chunk.
#[inline]
pub fn plain_prefix(start: AtBoundary, chunk: &[u8]) -> (&str, ScanState) {
    let plain = chunk.get(..plain_len(chunk)).unwrap_or_default();
    let (text, end) = prefix_by(start, plain, validate_any);
    match end {
        TextEnd::Unfinished(state) if state.pending_len() == 0 || plain.len() == chunk.len() => (text, state),
        // The sequence that ends the text continues in the chunk, or is ill-formed.
        _ => (text, start.state()),
    }
}

/// Returns a number of bytes at the start of a chunk without a backslash: at least half of those before the first one,
/// unless there are few or very many.
fn plain_len(chunk: &[u8]) -> usize {
    let mut len = 0;
    while !cfg!(utf8_codec_unoptimized) && len < MAX_PLAIN.min(chunk.len()) {
        let end = chunk.len().min(len + len.max(FIRST_PLAIN));
        if Kernel::in_use().count(chunk.get(len..end).unwrap_or_default(), b'\\') > 0 {
            break;
        }
        len = end;
    }
    len
}

/// [`prefix`] by the standard library.
#[inline]
fn prefix_by_std(chunk: &[u8]) -> (&str, TextEnd<'_>) {
    let error = match core::str::from_utf8(chunk) {
        Ok(text) => return (text, TextEnd::Unfinished(ScanState::START)),
        Err(error) => error,
    };
    let (text, rest) = chunk.split_at_checked(error.valid_up_to()).unwrap_or_default();
    let end = match error.error_len() {
        None => TextEnd::Unfinished(ScanState::START.after(rest)),
        Some(_) => TextEnd::IllFormed(rest),
    };
    // SAFETY: the standard library validated the bytes before the error.
    (unsafe { core::str::from_utf8_unchecked(text) }, end)
}

/// Returns the start of the sequence that contains the byte at `index` or ends before it. The chunk starts between
/// characters.
#[inline(never)]
fn well_formed_len(state: ScanState, chunk: &[u8], index: usize) -> usize {
    let begun = state.after(chunk.get(..index).unwrap_or(chunk)).pending_len();
    // `saturating_sub` shows the compiler that slicing cannot panic.
    index.saturating_sub(usize::from(begun))
}
