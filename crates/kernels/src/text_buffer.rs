//! A buffer for short texts that are passed on together.

use crate::ShortStr;
use crate::grammar::{Kind, UTF_8};
use crate::words::{self, STEP, STRETCH};

/// Collects short texts, so that each of them costs only a few moves.
///
/// Every method appends whole characters. It copies its whole argument, because a copy of fixed length is faster than a copy of
/// the text alone, and appends nothing if that does not fit: see [`has_room`](Self::has_room).
#[derive(Debug)]
pub struct TextBuffer<'b> {
    bytes: &'b mut [u8; CAPACITY],
    /// The length of the text. Beside the reference, not behind it, so that it can stay in a register.
    len: usize,
}

/// The number of bytes of a [`TextBuffer`].
pub const CAPACITY: usize = 1024;

impl<'b> TextBuffer<'b> {
    /// Creates an empty buffer. The content of the array has no meaning.
    #[inline(always)]
    pub const fn new(bytes: &'b mut [u8; CAPACITY]) -> Self {
        Self { bytes, len: 0 }
    }

    /// Whether the arguments of one step fit: ASCII and a stretch of it, or ASCII and one sequence or replacement.
    #[inline(always)]
    pub const fn has_room(&self) -> bool {
        self.len <= CAPACITY - STEP - STRETCH
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

    /// Appends the sequence at the start of the bytes if it is well-formed. Returns its length, and why it is ill-formed.
    #[inline(always)]
    pub fn push_sequence(&mut self, bytes: &[u8; 4]) -> (usize, Option<Kind>) {
        let (len, kind) = UTF_8.walk(bytes);
        if kind.is_none() {
            self.push(bytes, len);
        }
        (len, kind)
    }

    /// Appends a short text.
    #[inline(always)]
    pub fn push_short(&mut self, text: &ShortStr) {
        self.push(text.bytes(), text.len());
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

    /// Returns the text.
    #[inline(always)]
    pub fn as_str(&self) -> &str {
        let text = self.bytes.get(..self.len).unwrap_or_default();
        debug_assert!(core::str::from_utf8(text).is_ok());
        // SAFETY: only `push` changes the buffer. Each caller passes the length of whole, well-formed characters at the start of
        // the bytes: ASCII, pairs, a sequence that the grammar accepts, or a `str`.
        unsafe { core::str::from_utf8_unchecked(text) }
    }

    /// Removes the text.
    #[inline(always)]
    pub const fn clear(&mut self) {
        self.len = 0;
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
        ];
        let mut bytes = [0xFF; CAPACITY];
        let mut buffer = TextBuffer::new(&mut bytes);
        let short = ShortStr::from('\u{20AC}').followed_by("\u{1F980}");
        let mut was_full = false;
        for round in 0..200 {
            let window = &windows[round % windows.len()];
            let before = String::from(buffer.as_str());
            let mut pushed = buffer.push_ascii(window) + buffer.push_pairs(window);
            let mut stretch = [b'z'; STRETCH];
            stretch[round % STRETCH] = 0xE9;
            pushed += buffer.push_long_ascii(&stretch);
            assert_eq!(buffer.as_str().len(), before.len() + pushed);
            for sequence in window.windows(4) {
                let (len, kind) = buffer.push_sequence(sequence.first_chunk().expect("4 bytes"));
                assert_eq!(kind.is_none(), core::str::from_utf8(&sequence[..len]).is_ok());
            }
            buffer.push_short(&short);
            let text = buffer.as_str().as_bytes();
            assert!(core::str::from_utf8(text).is_ok());
            assert!(text.starts_with(before.as_bytes()));
            was_full |= !buffer.has_room();
            if round % 50 == 49 {
                buffer.clear();
                assert_eq!(buffer.as_str(), "");
            }
        }
        assert!(was_full);
    }
}
