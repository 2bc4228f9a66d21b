//! The number of characters of text in the 7-bit encodings of the family of ISO/IEC 2022, and of its longest line.
//!
//! Not all of them can be decoded, but in all the length of a character follows from the last escape sequence (RFC 1468,
//! RFC 1554, RFC 1557, RFC 1922).

const ESC: u8 = 0x1B;
const SHIFT_OUT: u8 = 0x0E;
const SHIFT_IN: u8 = 0x0F;

/// Counts characters, without escape sequences and shifts.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Iso2022Counter {
    state: State,
    /// Whether a character of the sets G0 to G3 has two bytes.
    is_double: [bool; 4],
    is_shifted: bool,
    /// The number of bytes that are still part of the last character.
    after: u8,
    line: u64,
    characters: u64,
    longest_line: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
enum State {
    #[default]
    Text,
    Escape,
    /// An escape sequence: whether it designates a set with two bytes, and the last byte so far.
    Sequence(bool, u8),
}

impl Iso2022Counter {
    /// Continues after ASCII without an escape sequence or shift: its characters, the longest line that ended, and the
    /// length of the last one.
    pub(crate) fn after(characters: u64, longest_line: u64, line: u64) -> Self {
        Self { characters, longest_line, line, ..Self::default() }
    }

    /// Counts the next bytes, none of which is above `7F`.
    pub(crate) fn feed(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while let Some((&byte, after)) = rest.split_first() {
            if self.is_ascii() {
                let len = memchr::memchr3(ESC, SHIFT_OUT, SHIFT_IN, rest).unwrap_or(rest.len());
                self.ascii(&rest[..len]);
                rest = &rest[len..];
                if len > 0 {
                    continue;
                }
            }
            self.step(byte);
            rest = after;
        }
    }

    pub(crate) const fn characters(&self) -> u64 {
        self.characters
    }

    /// Returns the length of the longest line in characters.
    pub(crate) fn longest_line(&self) -> u64 {
        self.longest_line.max(self.line)
    }

    /// Whether the next byte is a character, unless it starts an escape sequence or is a shift.
    fn is_ascii(&self) -> bool {
        self.state == State::Text && self.after == 0 && !self.is_double[usize::from(self.is_shifted)]
    }

    fn ascii(&mut self, text: &[u8]) {
        self.longest_line = longest_line(text, self.line, self.longest_line, |line| line.len() as u64);
        if let Some(end) = memchr::memrchr(b'\n', text) {
            self.line = (text.len() - end - 1) as u64;
        } else {
            self.line += text.len() as u64;
        }
        self.characters += text.len() as u64;
    }

    fn step(&mut self, byte: u8) {
        match (self.state, byte) {
            (_, ESC) => (self.state, self.after) = (State::Escape, 0),
            // The next character is one of G2 or of G3.
            (State::Escape, b'N' | b'O') => {
                self.state = State::Text;
                self.character(1 + u8::from(self.is_double[if byte == b'N' { 2 } else { 3 }]));
            }
            (State::Escape, 0x20..=0x2F) => self.state = State::Sequence(byte == b'$', byte),
            (State::Sequence(is_double, _), 0x20..=0x2F) => self.state = State::Sequence(is_double, byte),
            (State::Sequence(is_double, last), 0x30..=0x7E) => {
                self.state = State::Text;
                self.designate(last, is_double);
            }
            (State::Escape | State::Sequence(..), _) => self.state = State::Text,
            (State::Text, SHIFT_OUT) => self.is_shifted = true,
            (State::Text, SHIFT_IN) => self.is_shifted = false,
            (State::Text, 0x21..=0x7E) if self.after > 0 => self.after -= 1,
            (State::Text, 0x21..=0x7E) if !self.is_ascii() => self.character(1),
            (State::Text, _) => {
                self.after = 0;
                self.ascii(&[byte]);
            }
        }
    }

    /// Sets the length of the characters of the set that a byte of an escape sequence names. `ESC $ B` names none and
    /// is about G0.
    fn designate(&mut self, byte: u8, is_double: bool) {
        match byte {
            b'$' | b'(' | b',' => self.is_double[0] = is_double,
            b')' | b'-' => self.is_double[1] = is_double,
            b'*' | b'.' => self.is_double[2] = is_double,
            b'+' | b'/' => self.is_double[3] = is_double,
            _ => {}
        }
    }

    /// Counts a character of which this number of bytes follows.
    fn character(&mut self, after: u8) {
        self.characters += 1;
        self.line += 1;
        self.after = after;
    }
}

/// Whether ASCII has an escape sequence or a shift.
pub(crate) fn has_escape(ascii: &[u8]) -> bool {
    memchr::memchr3(ESC, SHIFT_OUT, SHIFT_IN, ascii).is_some()
}

/// Returns the length of the longest line that ends in a text, at least `longest`. `column` is the number of characters
/// of the first line before the text.
pub(crate) fn longest_line(
    text: &[u8],
    mut column: u64,
    mut longest: u64,
    characters: impl Fn(&[u8]) -> u64,
) -> u64 {
    let mut rest = text;
    loop {
        // A line without more bytes has no more characters, so only the last end among that many bytes matters.
        let room = longest.checked_sub(column).map_or(0, |room| room + 1);
        let near = usize::try_from(room).map_or(rest.len(), |room| room.min(rest.len()));
        let end = match memchr::memrchr(b'\n', &rest[..near]) {
            Some(end) => end,
            None => {
                let Some(end) = memchr::memchr(b'\n', &rest[near..]) else { return longest };
                longest = longest.max(column + characters(&rest[..near + end]));
                near + end
            }
        };
        rest = &rest[end + 1..];
        column = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn escape_sequences_and_shifts_are_no_characters() {
        for (text, characters, longest_line) in [
            (&b"\x1B$B$3\x1B(B"[..], 1, 1),
            (b"a\x1B$B$3$s\x1B(Bb\nc\n", 7, 4),
            (b"\x1B$(D0!\x1B(J\\", 2, 2),
            (b"\x1B.A\x1BNi\x1B$A0!\x1B(B", 2, 2),
            // ISO-2022-KR and ISO-2022-CN.
            (b"\x1B$)C\x0E0!0\"\x0F ok\n", 6, 5),
            (b"\x1B$)A\x1B$*H\x0E=;\x1BN!1\x0F.", 3, 3),
            // A character that is cut by the end of a line.
            (b"\x1B$B$\n$3", 3, 1),
            (b"plain\n", 6, 5),
        ] {
            for len in 1..=text.len() {
                let mut counter = Iso2022Counter::default();
                text.chunks(len).for_each(|chunk| counter.feed(chunk));
                let counted = (counter.characters(), counter.longest_line());
                assert_eq!(counted, (characters, longest_line), "{}", text.escape_ascii());
            }
        }
    }
}
