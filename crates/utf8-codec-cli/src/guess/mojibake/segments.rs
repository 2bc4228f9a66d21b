//! Splits text into segments for which the rule is applied, in constant memory. The split depends only on the text, not
//! on the boundaries of reads.

use super::sequence::byte_of;

/// The length of the longest segment. A line that is not longer is one segment.
pub(super) const SEGMENT: usize = 64 * 1024;

/// Returns the length of the first segment of `text`: a line, or the start of a longer line. `text` is the rest of the
/// input, or has at least [`SEGMENT`] bytes.
pub(crate) fn first_len(text: &str) -> usize {
    let window = &text.as_bytes()[..text.len().min(SEGMENT)];
    if let Some(at) = memchr::memchr(b'\n', window) {
        return at + 1;
    }
    if text.len() < SEGMENT {
        return text.len();
    }
    // A sequence has no ASCII. What is before and after such a byte has no effect on the other.
    let last = &window[SEGMENT / 2..];
    let at = last.iter().rposition(|&byte| is_neutral(byte)).or_else(|| last.iter().rposition(u8::is_ascii));
    if let Some(at) = at {
        return SEGMENT / 2 + at + 1;
    }
    // The first character of a sequence is never one of the others.
    let characters = text.char_indices().take_while(|&(at, _)| at <= SEGMENT - 4);
    let starts = characters
        .clone()
        .filter(|&(at, character)| at > 0 && !matches!(byte_of(character), Some(0x80..=0xBF)));
    starts.last().or_else(|| characters.last()).map_or(text.len(), |(at, _)| at)
}

/// Returns the segments of a text.
pub(super) fn segments(text: &str) -> impl Iterator<Item = &str> {
    let mut rest = text;
    core::iter::from_fn(move || {
        let (segment, after) = rest.split_at(first_len(rest));
        rest = after;
        (!segment.is_empty()).then_some(segment)
    })
}

/// Whether a sequence after this byte is judged as if it started a line. This holds for white space, and for some
/// punctuation, but not for quotation marks.
fn is_neutral(byte: u8) -> bool {
    byte.is_ascii_whitespace() || matches!(byte, b',' | b';' | b':' | b'.' | b'=' | b'/' | b'+' | b'-' | b'&')
}

/// Whether a segment is a part of a line that is longer than a segment. `is_line_start` is whether it is at the start of
/// a line.
pub(crate) fn is_long(segment: &str, is_line_start: bool) -> bool {
    !is_line_start || segment.len() > SEGMENT / 2 && !segment.ends_with('\n')
}

/// Returns the length of the segments at the start of a line that is longer than `bytes`, up to the last one that is
/// certainly complete. It is not 0 if `bytes` has at least twice [`SEGMENT`] bytes.
pub(crate) fn long_segments(bytes: &[u8]) -> usize {
    let mut at = 0;
    // An ill-formed sequence separates segments.
    while bytes.len() - at > SEGMENT + 4 {
        let Some(chunk) = bytes[at..].utf8_chunks().next() else { break };
        at += match chunk.valid() {
            valid if valid.len() >= SEGMENT => first_len(valid),
            valid => valid.len() + chunk.invalid().len(),
        };
    }
    at
}

/// Whether a sequence may contain the character after its first one.
pub(crate) fn is_inside(character: char) -> bool {
    matches!(byte_of(character), Some(0x80..=0xBF))
}
