//! Character boundaries.

use super::grammar::is_continuation;

/// The maximum number of continuation bytes of a character.
pub const MAX_CONTINUATIONS: usize = 3;

/// Returns the last character boundary at or before `index`, at most 3 bytes before it. An `index` after the end counts
/// as the end.
#[inline]
pub fn floor(bytes: &[u8], index: usize) -> usize {
    let index = index.min(bytes.len());
    let inside = (0..MAX_CONTINUATIONS).take_while(|&back| {
        let byte = index.checked_sub(back).and_then(|at| bytes.get(at));
        byte.is_some_and(|&byte| is_continuation(byte))
    });
    index.saturating_sub(inside.count())
}

/// Returns the longest prefix of `text` that has at most `max` bytes and ends between characters.
#[inline]
pub fn truncate(text: &str, max: usize) -> &str {
    // `floor` returns a character boundary of the text, so the fallback is never used. Indexing would compile code that
    // panics.
    text.get(..floor(text.as_bytes(), max)).unwrap_or_default()
}
