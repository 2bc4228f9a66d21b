//! A `String` to which bytes are appended that are validated afterwards.

use alloc::string::String;
use alloc::vec::Vec;
use core::mem;

/// A `String` during an append.
///
/// Dropping it moves the text up to the last [`commit`](Self::commit) back into the `String`, even during a panic.
/// Until then the `String` is empty, so it never contains bytes that were not validated.
#[derive(Debug)]
pub struct GrowingString<'s> {
    string: &'s mut String,
    /// Text up to `end`. Unused space follows.
    bytes: Vec<u8>,
    end: usize,
    /// A character boundary at or before `end`.
    committed: usize,
}

impl<'s> GrowingString<'s> {
    /// Starts an append at the end of the `String`.
    pub fn new(string: &'s mut String) -> Self {
        let bytes = mem::take(string).into_bytes();
        Self { string, end: bytes.len(), committed: bytes.len(), bytes }
    }

    /// Returns a buffer of `len` bytes after the appended text. Its contents are unspecified.
    ///
    /// # Panics
    ///
    /// Panics if the `String` would be longer than `isize::MAX` bytes.
    pub fn room(&mut self, len: usize) -> &mut [u8] {
        let end = self.end.saturating_add(len);
        if self.bytes.len() < end {
            self.bytes.resize(end, 0);
        }
        &mut self.bytes[self.end..end]
    }

    /// Appends the first `written` bytes of the buffer if they are text. Otherwise appends the text at their start.
    /// Returns the number of bytes appended.
    pub fn keep(&mut self, written: usize) -> usize {
        let new = self.bytes.get(self.end..).unwrap_or_default();
        let new = &new[..written.min(new.len())];
        let len = match crate::text(new) {
            Some(text) => text.len(),
            None => crate::prefix_of_text(new).0.len(),
        };
        self.end += len;
        len
    }

    /// Commits the appended text.
    pub fn commit(mut self) {
        self.committed = self.end;
    }
}

impl Drop for GrowingString<'_> {
    fn drop(&mut self) {
        let mut bytes = mem::take(&mut self.bytes);
        bytes.truncate(self.committed);
        // SAFETY: the bytes up to `committed` are those of the `String`, followed by bytes that `keep` validated.
        // `room` returns only the bytes after `end`.
        *self.string = unsafe { String::from_utf8_unchecked(bytes) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_text_that_was_committed_is_appended() {
        let mut string = String::from("a");
        let mut growing = GrowingString::new(&mut string);
        growing.room(3).copy_from_slice("\u{20AC}".as_bytes());
        growing.keep(3);
        growing.room(4)[..2].copy_from_slice("\u{E9}".as_bytes());
        growing.keep(2);
        growing.commit();
        assert_eq!(string, "a\u{20AC}\u{E9}");

        let mut growing = GrowingString::new(&mut string);
        growing.room(1)[0] = b'x';
        growing.keep(1);
        drop(growing);
        assert_eq!(string, "a\u{20AC}\u{E9}");
    }

    #[test]
    fn bytes_that_are_not_text_are_not_appended() {
        for (bytes, written, text) in
            [(b"x\xFFy", 3, "x"), (b"\xE2\x82z", 3, ""), (b"ab\xC3", 3, "ab"), (b"ab\xC3", 99, "ab")]
        {
            let mut string = String::from("\u{E9}");
            let mut growing = GrowingString::new(&mut string);
            growing.room(3).copy_from_slice(bytes);
            assert_eq!(growing.keep(written), text.len());
            // The room starts after the text again.
            assert_eq!(growing.room(1).len(), 1);
            growing.commit();
            assert_eq!(string, String::from("\u{E9}") + text);
        }
    }
}
