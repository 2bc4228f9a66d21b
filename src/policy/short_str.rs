//! Text without an allocation.

use core::fmt;
use core::ops::Deref;

/// A few characters that are not borrowed from anywhere: at most 32 bytes.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
pub struct ShortStr {
    bytes: [u8; 32],
    len: u8,
}

impl ShortStr {
    pub(crate) const EMPTY: Self = Self { bytes: [0; 32], len: 0 };

    /// The characters, and after them bytes without a meaning: a copy of fixed length is the fastest.
    #[cfg(feature = "alloc")]
    #[inline]
    pub(crate) const fn bytes(&self) -> &[u8; 32] {
        &self.bytes
    }

    /// Appends a character. There is room: 8 bytes, the longest sequence of any encoding, are 32 when each is escaped.
    pub(super) fn push(&mut self, character: char) {
        let start = usize::from(self.len);
        self.len += character.encode_utf8(&mut self.bytes[start..]).len() as u8;
    }

    /// The characters.
    #[inline]
    pub fn as_str(&self) -> &str {
        let bytes = &self.bytes[..usize::from(self.len)];
        // SAFETY: `push`, the only place that changes the bytes, writes whole characters.
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

impl fmt::Debug for ShortStr {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self.as_str(), f)
    }
}
