//! Short text that is stored inline.

use core::fmt;
use core::ops::Deref;

/// An owned text of at most 32 bytes, stored inline.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShortStr {
    bytes: [u8; 32],
    len: u8,
}

impl ShortStr {
    /// The empty text.
    pub const EMPTY: Self = Self { bytes: [0; 32], len: 0 };

    /// Returns the text followed by unused bytes. Copying this fixed length is faster than copying only the text.
    #[inline]
    pub const fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Appends a character if it fits.
    pub fn push(&mut self, character: char) {
        self.try_push(character);
    }

    /// Appends a character if it fits. Returns whether it does.
    fn try_push(&mut self, character: char) -> bool {
        let mut sequence = [0; 4];
        let sequence = character.encode_utf8(&mut sequence).as_bytes();
        let start = usize::from(self.len);
        let Some(room) = self.bytes.get_mut(start..start + sequence.len()) else { return false };
        room.copy_from_slice(sequence);
        self.len += sequence.len() as u8;
        true
    }

    /// Returns this text followed by the start of another one, as far as its characters fit.
    #[must_use]
    pub fn followed_by(mut self, next: &str) -> Self {
        let _ = next.chars().all(|character| self.try_push(character));
        self
    }

    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        let bytes = &self.bytes[..usize::from(self.len)];
        // SAFETY: the bytes are only changed by `push`, which writes whole characters.
        unsafe { core::str::from_utf8_unchecked(bytes) }
    }
}

impl From<char> for ShortStr {
    fn from(character: char) -> Self {
        let mut text = Self::EMPTY;
        text.push(character);
        text
    }
}

impl Deref for ShortStr {
    type Target = str;

    fn deref(&self) -> &str {
        self.as_str()
    }
}

impl AsRef<str> for ShortStr {
    fn as_ref(&self) -> &str {
        self.as_str()
    }
}

impl fmt::Display for ShortStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.pad(self.as_str())
    }
}

impl fmt::Debug for ShortStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}

#[cfg(test)]
mod tests {
    use std::string::ToString;

    use super::*;

    #[test]
    fn a_character_that_does_not_fit_is_not_appended() {
        let full = "x".repeat(30);
        let text = ShortStr::EMPTY.followed_by(&full).followed_by("\u{E9}\u{20AC}");
        assert_eq!(text.as_str(), full.clone() + "\u{E9}");
        assert_eq!(text.followed_by("z").as_str(), full.clone() + "\u{E9}");
        assert_eq!(ShortStr::EMPTY.followed_by(&full).followed_by("\u{20AC}z").as_str(), full);
    }

    #[test]
    fn all_views_are_the_same_text() {
        let mut text = ShortStr::from('é');
        text.push('\u{1F980}');
        assert_eq!(text.as_str(), "é\u{1F980}");
        assert_eq!((text.as_ref(), text.to_string().as_str()), (text.as_str(), text.as_str()));
        assert_eq!(std::format!("{text:<4}|"), "é\u{1F980}  |");
    }
}
