//! The step between a read and a write: applies the filter of a direction to the buffer of its pump.

use core::ops::Range;

use bytes::BytesMut;
use utf8_codec::internal::{Chunk, Joiner};
use utf8_codec::json::JsonStrings;
use utf8_codec::{LineEnding, Utf8Error};

use crate::decoded_lines::DecodedLines;
use crate::edit::{Edit, RejectedLine};
use crate::filter::Filter;
use crate::forward::ForwardPolicy;
use crate::lines::LineFilter;

/// The filter of a direction.
#[derive(Clone, Debug)]
pub(super) enum Stage {
    Untouched,
    Text(Filter),
    Lines(LineFilter),
    DecodedLines(DecodedLines),
}

/// Why a direction is rejected.
#[derive(Clone, Copy, Debug)]
pub(super) enum StageError {
    IllFormed(Utf8Error),
    Line(RejectedLine),
}

/// The length of the pieces in which text is filtered. A direction yields after a piece with many errors.
pub(super) const TEXT_PIECE: usize = 16 * 1024;

/// The length of the pieces in which lines are filtered. It limits the replies to the lines of one piece.
const PIECE: usize = 4 * 1024;

impl Stage {
    pub(super) fn with_json_strings(self, strings: JsonStrings) -> Self {
        match self {
            Self::Untouched => Self::Untouched,
            Self::Text(filter) => Self::Text(filter.with_json_strings(strings)),
            Self::Lines(filter) => Self::Lines(filter.with_json_strings(strings)),
            Self::DecodedLines(lines) => Self::DecodedLines(lines),
        }
    }

    pub(super) fn with_forward_policy(self, forward: ForwardPolicy) -> Self {
        match self {
            Self::Text(filter) => Self::Text(filter.with_forward_policy(forward)),
            other => other,
        }
    }

    /// Returns the length of the first piece of a slice: text of [`TEXT_PIECE`] bytes, or a little less to end between
    /// characters; lines of [`PIECE`] bytes in total, or one longer line.
    pub(super) fn piece_len(&self, slice: &[u8]) -> usize {
        let ending = match self {
            Self::Untouched => return slice.len(),
            Self::Text(_) if slice.len() <= TEXT_PIECE => return slice.len(),
            Self::Text(_) => {
                // A piece that ends inside a character would be copied.
                let start = (TEXT_PIECE - 3..=TEXT_PIECE).rev().find(|&at| slice[at] & 0xC0 != 0x80);
                return start.unwrap_or(TEXT_PIECE);
            }
            Self::Lines(filter) => filter.line_ending(),
            Self::DecodedLines(_) => LineEnding::LfOrCrLf,
        };
        let Some(first) = slice.get(..PIECE) else { return slice.len() };
        if let Some(end) = ending.find_last(first) {
            return end;
        }
        ending.find(slice, PIECE).map_or(slice.len(), |(position, len)| position + len)
    }

    /// Filters the bytes that were read. If `end` is set, ends the stream, and the slice must be empty.
    pub(super) fn take(
        &mut self,
        slice: &[u8],
        end: bool,
        mut edit: impl FnMut(Edit<'_>),
    ) -> Result<(), StageError> {
        match self {
            Self::Untouched => {
                edit(Edit::Pass(0..slice.len()));
                Ok(())
            }
            Self::Text(filter) => if end { filter.finish_with(edit) } else { filter.feed_with(slice, edit) }
                .map_err(StageError::IllFormed),
            Self::Lines(filter) => if end { filter.finish_with(edit) } else { filter.feed_with(slice, edit) }
                .map_err(StageError::Line),
            Self::DecodedLines(lines) => {
                lines.take(slice, end, edit);
                Ok(())
            }
        }
    }

    /// Returns the number of bytes that wait for the rest of their character or line.
    pub(super) fn held(&self) -> usize {
        match self {
            Self::Untouched => 0,
            Self::Text(filter) => filter.held(),
            Self::Lines(filter) => filter.held(),
            Self::DecodedLines(lines) => lines.held(),
        }
    }
}

/// Returns the end of the last line of the text after which no byte can belong to its terminator.
pub(super) fn end_of_lines(ending: LineEnding, text: &[u8]) -> Option<usize> {
    // An LF may follow the CR.
    let text = if ending == LineEnding::Any { text.strip_suffix(b"\r").unwrap_or(text) } else { text };
    ending.find_last(text)
}

/// Whether no byte after the text can belong to its last line or to the terminator of that line.
pub(super) fn ends_line(ending: LineEnding, text: &[u8]) -> bool {
    // No terminator is longer. A search in the whole text would find the end of an earlier line.
    let last = &text[text.len().saturating_sub(2)..];
    end_of_lines(ending, last) == Some(last.len())
}

/// The bytes to write: a part of the buffer if possible, otherwise a copy.
#[derive(Debug)]
pub(super) struct Pending {
    /// Spans are ranges of the whole buffer, including the headroom at its start.
    joiner: Joiner,
    written: usize,
}

/// The whole buffer: the bytes before a slice, and the slice.
struct Parts<'b>(&'b [u8], &'b [u8]);

impl Chunk for Parts<'_> {
    fn size(&self) -> usize {
        self.0.len() + self.1.len()
    }

    fn append_to(&self, copy: &mut BytesMut, Range { start, end }: Range<usize>) {
        let at = self.0.len();
        copy.extend_from_slice(&self.0[start.min(at)..end.min(at)]);
        copy.extend_from_slice(&self.1[start.max(at) - at..end.max(at) - at]);
    }
}

impl Pending {
    pub(super) const fn new() -> Self {
        Self { joiner: Joiner::without_limit(), written: 0 }
    }

    pub(super) fn bytes<'b>(&'b self, buffer: &'b [u8]) -> &'b [u8] {
        &self.joiner.bytes(buffer)[self.written..]
    }

    pub(super) fn len(&self) -> usize {
        self.joiner.held() - self.written
    }

    pub(super) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    pub(super) fn advance(&mut self, written: usize) {
        self.written += written;
    }

    /// Discards the bytes but keeps the memory of the copy.
    pub(super) fn clear(&mut self) {
        self.joiner.clear();
        self.written = 0;
    }

    /// Frees the memory of the copy. There are no bytes to write.
    pub(super) fn release(&mut self) {
        *self = Self::new();
    }

    /// Appends bytes of the slice, which is in the buffer after `head`.
    pub(super) fn pass(&mut self, head: &[u8], slice: &[u8], range: Range<usize>) {
        self.joiner.span(&Parts(head, slice), range.start + head.len()..range.end + head.len());
    }

    /// Appends bytes that are not in the slice. If they are the first bytes to write and are short, they are put in front
    /// of the slice.
    pub(super) fn insert(&mut self, head: &mut [u8], slice: &[u8], bytes: &[u8]) {
        if bytes.len() <= head.len() && self.joiner.held() == 0 {
            let start = head.len() - bytes.len();
            head[start..].copy_from_slice(bytes);
            self.joiner.span(&Parts(head, slice), start..head.len());
        } else {
            self.joiner.copy(&Parts(head, slice), bytes);
        }
    }

    /// Inserts `replies` after the last complete line of the bytes to write. If they contain no end of a line, inserts
    /// it before them, but only if the bytes written before ended a line. Returns the number of bytes inserted: 0 if
    /// there is no position for them. The memory of `replies` is not kept, because most connections never need it again.
    pub(super) fn insert_replies(
        &mut self,
        buffer: &[u8],
        replies: &mut Vec<u8>,
        ending: LineEnding,
        between_lines: bool,
    ) -> usize {
        let text = self.bytes(buffer);
        let at = match end_of_lines(ending, text) {
            Some(end) => end,
            None if between_lines => 0,
            None => return 0,
        };
        let replies = core::mem::take(replies);
        let mut with_replies = Self::new();
        for part in [&text[..at], &replies, &text[at..]] {
            with_replies.joiner.copy(text, part);
        }
        *self = with_replies;
        replies.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_piece_of_text_ends_between_characters() {
        let text = Stage::Text(Filter::new());
        for start in ["", "a", "ab"] {
            let slice = [start, &"日".repeat(TEXT_PIECE)].concat();
            let piece = text.piece_len(slice.as_bytes());
            assert!(
                slice.is_char_boundary(piece) && (TEXT_PIECE - 2..=TEXT_PIECE).contains(&piece),
                "{piece}"
            );
        }
        assert_eq!(text.piece_len(&[b'x'; TEXT_PIECE]), TEXT_PIECE);
        assert_eq!(text.piece_len(&[0x80; 2 * TEXT_PIECE]), TEXT_PIECE);
        assert_eq!(Stage::Untouched.piece_len(&[0x80; 2 * TEXT_PIECE]), 2 * TEXT_PIECE);
    }

    #[test]
    fn the_last_two_bytes_decide_whether_a_line_has_ended() {
        for &ending in LineEnding::ALL {
            for n in 0..4_usize.pow(5) {
                let text: Vec<u8> = (0..5).map(|at| b"\r\n\0a"[n >> (2 * at) & 3]).collect();
                for len in 1..=5 {
                    let expected = end_of_lines(ending, &text[..len]) == Some(len);
                    assert_eq!(ends_line(ending, &text[..len]), expected, "{ending:?} {:?}", &text[..len]);
                }
            }
        }
    }

    #[test]
    fn a_piece_has_lines_of_4_kib_or_one_longer_line() {
        let lines = Stage::Lines(LineFilter::new());
        for (lengths, expected) in [
            (&[4000, 96, 1][..], 4096),
            (&[4000, 97], 4000),
            (&[1, 5000], 1),
            (&[4097, 1], 4097),
            (&[9000, 1], 9000),
            (&[10, 20], 30),
        ] {
            let slice: Vec<_> =
                lengths.iter().flat_map(|&len| [&vec![b'x'; len - 1][..], b"\n"].concat()).collect();
            assert_eq!(lines.piece_len(&slice), expected, "{lengths:?}");
        }
        assert_eq!(lines.piece_len(&[b'x'; 9000]), 9000);
        assert_eq!(Stage::Text(Filter::new()).piece_len(&[b'\n'; 9000]), 9000);
    }

    #[test]
    fn the_memory_of_a_copy_is_kept_until_it_is_released() {
        let mut pending = Pending::new();
        pending.insert(&mut [], b"", b"repaired");
        pending.clear();
        assert!(pending.is_empty() && pending.joiner.capacity() > 0);
        pending.release();
        assert_eq!(pending.joiner.capacity(), 0);
    }
}
