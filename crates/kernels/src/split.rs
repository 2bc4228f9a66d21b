//! The parts of a text between occurrences of an ASCII byte.

use crate::Positions;

/// An iterator over the parts of a text that end at a byte, without that byte. What follows the last one is not returned.
#[derive(Clone, Debug)]
pub struct SplitAtByte<'t> {
    text: &'t str,
    /// The position of the next part.
    start: usize,
    /// An ASCII byte, which is never inside a character.
    byte: u8,
    positions: Positions,
}

impl<'t> SplitAtByte<'t> {
    /// Starts at the first byte of the text. The highest bit of `byte` is ignored.
    pub const fn new(text: &'t str, byte: u8) -> Self {
        Self { text, start: 0, byte: byte & 0x7F, positions: Positions::START }
    }

    /// Returns the next part whose end `is_end` accepts. It is called with the bytes of the part.
    #[inline]
    pub fn next_where(&mut self, is_end: impl Fn(&[u8]) -> bool) -> Option<&'t str> {
        let bytes = self.text.as_bytes();
        loop {
            let at = self.positions.next(bytes, self.byte)?;
            let part = bytes.get(self.start..at)?;
            if is_end(part) {
                self.start = at + 1;
                debug_assert!(core::str::from_utf8(part).is_ok());
                // SAFETY: both ends of the part are an end of the text or next to an ASCII byte, because `start` is
                // only set to positions after one and `positions` is used with no other slice and no other byte.
                return Some(unsafe { core::str::from_utf8_unchecked(part) });
            }
        }
    }

    /// Calls `f` for each part in turn. Keeps the position of the part in a register.
    #[inline]
    pub fn fold<B>(mut self, init: B, mut f: impl FnMut(B, &'t str) -> B) -> B {
        let bytes = self.text.as_bytes();
        let mut all = init;
        let mut start = self.start;
        while let Some((base, found)) = self.positions.next_found(bytes, self.byte) {
            for &position in found {
                let end = base + usize::from(position);
                let Some(part) = bytes.get(start..end) else { return all };
                start = end + 1;
                debug_assert!(core::str::from_utf8(part).is_ok());
                // SAFETY: same as in `next_where`.
                all = f(all, unsafe { core::str::from_utf8_unchecked(part) });
            }
        }
        all
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_parts_are_those_of_str() {
        let texts = ["", "\n", "a\nb\r\nc", "\u{E9}\n\n\u{20AC}\u{1F980}\r\n", "no end"];
        let long = "gr\u{FC}n \u{20AC}\n".repeat(300);
        for text in texts.into_iter().chain([&*long]) {
            let expected: Vec<&str> = match text.rsplit_once('\n') {
                Some((ended, _)) => ended.split('\n').collect(),
                None => Vec::new(),
            };
            let mut split = SplitAtByte::new(text, b'\n');
            let one_by_one: Vec<&str> = core::iter::from_fn(|| split.next_where(|_| true)).collect();
            assert_eq!(one_by_one, expected);
            let folded = SplitAtByte::new(text, b'\n').fold(Vec::new(), |mut all, part| {
                all.push(part);
                all
            });
            assert_eq!(folded, expected);
        }
        let mut split = SplitAtByte::new("a\nb\r\nc\r\n", b'\n');
        assert_eq!(split.next_where(|part| part.ends_with(b"\r")), Some("a\nb\r"));
    }

    /// A continuation byte as the byte would cut characters.
    #[test]
    fn the_byte_is_ascii() {
        let text = "\u{E9})\u{E9}";
        let mut split = SplitAtByte::new(text, 0xA9);
        assert_eq!((split.next_where(|_| true), split.next_where(|_| true)), (Some("\u{E9}"), None));
    }
}
