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
    pub(crate) const EMPTY: Self = Self { bytes: [0; 32], len: 0 };

    /// Returns the text followed by unused bytes. Copying this fixed length is faster than copying only the text.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Appends a character. It always fits: the longest sequence of any encoding has 8 bytes, and its escape has 32.
    pub(crate) fn push(&mut self, character: char) {
        let start = usize::from(self.len);
        self.len += character.encode_utf8(&mut self.bytes[start..]).len() as u8;
    }

    /// Returns this text, the repair of a sequence or nothing, followed by one more piece. Both fit: in UTF-8 the longest
    /// sequence has 4 bytes and its escape 16, and the piece has at most as many.
    pub(crate) fn followed_by(mut self, next: &str) -> Self {
        for character in next.chars() {
            if usize::from(self.len) + character.len_utf8() <= self.bytes.len() {
                self.push(character);
            }
        }
        self
    }

    /// Returns the text.
    #[inline]
    pub fn as_str(&self) -> &str {
        let bytes = &self.bytes[..usize::from(self.len)];
        // SAFETY: the bytes are only changed by `push`, which writes whole characters.
        #[allow(unsafe_code)]
        unsafe {
            core::str::from_utf8_unchecked(bytes)
        }
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
    fn all_views_are_the_same_text() {
        let mut text = ShortStr::from('é');
        text.push('\u{1F980}');
        assert_eq!(text.as_str(), "é\u{1F980}");
        assert_eq!((text.as_ref(), text.to_string().as_str()), (text.as_str(), text.as_str()));
        assert_eq!(std::format!("{text:<4}|"), "é\u{1F980}  |");
    }
}
