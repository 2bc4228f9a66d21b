//! Recognition of the encodings of the family of ISO/IEC 2022 that have 7 bits.

const ESC: u8 = 0x1B;

/// Searches for the escape sequence that designates a set with two bytes for each character.
#[derive(Clone, Copy, Debug)]
pub(super) struct Escapes {
    state: State,
    label: Option<&'static str>,
}

/// The start of an escape sequence at the end of the stream so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Nothing,
    Escape,
    Dollar,
    /// `ESC $` and the byte that names the element to which the set is designated.
    Element(u8),
}

impl Escapes {
    pub(super) const NONE: Self = Self { state: State::Nothing, label: None };

    /// Returns the label of the encoding, if a sequence was found.
    pub(super) const fn label(&self) -> Option<&'static str> {
        self.label
    }

    pub(super) fn feed(&mut self, chunk: &[u8]) {
        let mut rest = chunk;
        while self.label.is_none() {
            if self.state == State::Nothing {
                rest = &rest[kernels::first_position(rest, ESC).unwrap_or(rest.len())..];
            }
            let Some((&byte, after)) = rest.split_first() else { return };
            rest = after;
            (self.state, self.label) = match (self.state, byte) {
                (_, ESC) => (State::Escape, None),
                (State::Escape, b'$') => (State::Dollar, None),
                (State::Dollar, b'(' | b')' | b'*' | b'+') => (State::Element(byte), None),
                (state, byte) => (State::Nothing, label(state, byte)),
            };
        }
    }
}

/// Returns the encoding that has the escape sequence with this last byte: RFC 1468, RFC 1554 and JIS X 0213; RFC 1557;
/// RFC 1922.
const fn label(state: State, last: u8) -> Option<&'static str> {
    match (state, last) {
        (State::Dollar, b'@' | b'A' | b'B') => Some("ISO-2022-JP"),
        (State::Element(b'('), b'C' | b'D' | b'O' | b'P' | b'Q') => Some("ISO-2022-JP"),
        (State::Element(b')'), b'C') => Some("ISO-2022-KR"),
        (State::Element(b')'), b'A' | b'E' | b'G') => Some("ISO-2022-CN"),
        (State::Element(b'*'), b'H') | (State::Element(b'+'), b'I'..=b'M') => Some("ISO-2022-CN"),
        _ => None,
    }
}
