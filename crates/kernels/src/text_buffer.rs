//! A buffer for short texts that are passed on together.

use core::fmt;

use crate::grammar::{Kind, UTF_8};
use crate::words::{self, STEP, STRETCH};

/// Short texts, one after the other.
#[derive(Clone)]
pub struct TextBuffer {
    bytes: [u8; CAPACITY],
    len: usize,
}

/// The number of bytes of a [`TextBuffer`].
pub const CAPACITY: usize = 1024;

/// The room that a step needs at most: ASCII and a stretch of it, or ASCII and one sequence or replacement.
pub const ROOM: usize = STEP + STRETCH;

impl TextBuffer {
    /// An empty buffer.
    pub const EMPTY: Self = Self { bytes: [0; CAPACITY], len: 0 };

    /// Returns the text.
    #[inline(always)]
    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(..self.len).unwrap_or_default();
        debug_assert!(core::str::from_utf8(text).is_ok());
        // SAFETY: only `TextWriter::push` changes the bytes. Each caller passes the length of whole, well-formed
        // characters at the start of its bytes: ASCII, pairs, triples, a sequence that the grammar accepts, or a `str`.
        // The bytes before `len` are not changed.
        unsafe { core::str::from_utf8_unchecked(text) }
    }

    /// Removes the text.
    #[inline(always)]
    pub const fn clear(&mut self) {
        self.len = 0;
    }

    /// Returns a writer that appends to the text.
    #[inline(always)]
    pub const fn writer(&mut self) -> TextWriter<'_> {
        TextWriter { bytes: &mut self.bytes, len: self.len, end: &mut self.len }
    }
}

impl fmt::Debug for TextBuffer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("TextBuffer").field("len", &self.len).finish_non_exhaustive()
    }
}

/// A character in UTF-8.
#[derive(Clone, Copy, Debug)]
pub struct Encoded {
    bytes: [u8; 4],
    len: usize,
}

impl Encoded {
    /// Encodes a character.
    #[inline(always)]
    pub const fn new(character: char) -> Self {
        let mut bytes = [0; 4];
        let len = character.encode_utf8(&mut bytes).len();
        Self { bytes, len }
    }
}

/// Appends to a [`TextBuffer`], so that each text costs only a few moves.
///
/// Every method appends whole characters. It copies its whole argument, because a copy of fixed length is faster than a
/// copy of the text alone, and appends nothing if that does not fit. [`ROOM`] bytes are enough for a step.
#[derive(Debug)]
pub struct TextWriter<'b> {
    bytes: &'b mut [u8; CAPACITY],
    /// The length of the text. Beside the reference, not behind it, so that it can stay in a register.
    len: usize,
    end: &'b mut usize,
}

impl TextWriter<'_> {
    /// Returns the length of the text.
    #[inline(always)]
    pub const fn len(&self) -> usize {
        self.len
    }

    /// Whether there is no text.
    #[inline(always)]
    pub const fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Appends the ASCII at the start of the window. Returns its length.
    #[inline(always)]
    pub fn push_ascii(&mut self, window: &[u8; STEP]) -> usize {
        self.push(window, words::ascii_len(window))
    }

    /// Appends the ASCII at the start of the stretch. Returns its length.
    #[inline(always)]
    pub fn push_long_ascii(&mut self, stretch: &[u8; STRETCH]) -> usize {
        self.push(stretch, words::long_ascii_len(stretch))
    }

    /// Appends the well-formed sequences of 2 bytes at the start of the window. Returns their length.
    #[inline(always)]
    pub fn push_pairs(&mut self, window: &[u8; STEP]) -> usize {
        self.push(window, words::pairs_len(window))
    }

    /// Appends the sequences that [`triples_len`](words::triples_len) counts. Returns their length.
    #[inline(always)]
    pub fn push_triples(&mut self, window: &[u8; STEP]) -> usize {
        self.push(window, words::triples_len(window))
    }

    /// Appends the sequence at the start of the bytes if it is well-formed. Returns its length, and why it is ill-formed.
    #[inline(always)]
    pub fn push_sequence(&mut self, bytes: &[u8; 4]) -> (usize, Option<Kind>) {
        let (len, kind) = UTF_8.walk(bytes);
        if kind.is_none() {
            self.push(bytes, len);
        }
        (len, kind)
    }

    /// Appends a character.
    #[inline(always)]
    pub fn push_char(&mut self, character: char) {
        self.push_encoded(Encoded::new(character));
    }

    /// Appends a character that is encoded already.
    #[inline(always)]
    pub fn push_encoded(&mut self, character: Encoded) {
        self.push(&character.bytes, character.len);
    }

    /// Appends the first `count` bytes, which are whole characters. Returns `count`, or 0 if there is no room.
    #[inline(always)]
    fn push<const N: usize>(&mut self, bytes: &[u8; N], count: usize) -> usize {
        let Some(room) = self.bytes.get_mut(self.len..).and_then(|room| room.first_chunk_mut()) else {
            return 0;
        };
        *room = *bytes;
        self.len += count;
        count
    }

    /// Keeps what was appended. Without this call the text is the one from before.
    #[inline(always)]
    pub const fn keep(self) {
        *self.end = self.len;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls every method with bytes of which it must append only a part, or none, with and without room.
    #[test]
    fn the_buffer_contains_only_whole_characters() {
        let windows = [
            *b"ab\xC3\xA9\xC3\xA9\xE2\x82\xAC\xFF\xF0\x9F\xC3\xC3\xA9\xC3",
            [0xC3; STEP],
            [0xA9; STEP],
            [b'a'; STEP],
            *b"\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3\xA9\xC3a",
            *b"\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2\x82\xAC\xE2",
            *b"\xE2\x82\xAC\xED\xA0\x80\xE0\x80\x80\xE2\x82\xAC\xE2\x82aa",
        ];
        let mut buffer = TextBuffer::EMPTY;
        let mut was_full = false;
        for round in 0..200 {
            let window = &windows[round % windows.len()];
            let before = String::from(buffer.as_str());
            let mut writer = buffer.writer();
            let mut pushed =
                writer.push_ascii(window) + writer.push_pairs(window) + writer.push_triples(window);
            let mut stretch = [b'z'; STRETCH];
            stretch[round % STRETCH] = 0xE9;
            pushed += writer.push_long_ascii(&stretch);
            assert_eq!(writer.len(), before.len() + pushed);
            for sequence in window.windows(4) {
                let (len, kind) = writer.push_sequence(sequence.first_chunk().expect("4 bytes"));
                assert_eq!(kind.is_none(), core::str::from_utf8(&sequence[..len]).is_ok());
            }
            for character in ['a', '\u{E9}', '\u{20AC}', '\u{1F980}'] {
                writer.push_char(character);
            }
            was_full |= writer.len() > CAPACITY - ROOM;
            if round % 3 == 0 {
                assert_eq!(buffer.as_str(), before, "nothing was kept");
                continue;
            }
            writer.keep();
            let text = buffer.as_str().as_bytes();
            assert!(core::str::from_utf8(text).is_ok());
            assert!(text.starts_with(before.as_bytes()));
            if round % 50 == 49 {
                buffer.clear();
                assert_eq!(buffer.as_str(), "");
            }
        }
        assert!(was_full);
    }
}
