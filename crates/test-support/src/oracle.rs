//! The naive oracle: a literal implementation of RFC 3629 §4. It is slow and short, and shares no code with the crate.

use utf8_codec::ErrorKind;

/// Returns the length of the sequence at the start of `input`, which is not empty, and the kind of its error if it is
/// ill-formed.
fn sequence(input: &[u8]) -> (usize, Option<ErrorKind>) {
    use ErrorKind::*;
    let (len, low, high, below, above) = match input[0] {
        0x00..=0x7F => return (1, None),
        0x80..=0xBF => return (1, Some(UnexpectedContinuation)),
        0xC0..=0xC1 => return (1, Some(Overlong)),
        0xC2..=0xDF => (2, 0x80, 0xBF, Overlong, Overlong),
        0xE0 => (3, 0xA0, 0xBF, Overlong, Overlong),
        0xED => (3, 0x80, 0x9F, Surrogate, Surrogate),
        0xE1..=0xEF => (3, 0x80, 0xBF, Overlong, Overlong),
        0xF0 => (4, 0x90, 0xBF, Overlong, Overlong),
        0xF4 => (4, 0x80, 0x8F, AboveMax, AboveMax),
        0xF1..=0xF3 => (4, 0x80, 0xBF, Overlong, Overlong),
        0xF5..=0xFD => return (1, Some(AboveMax)),
        0xFE..=0xFF => return (1, Some(InvalidLead)),
    };
    for i in 1..len {
        match input.get(i) {
            None => return (i, Some(Truncated)),
            Some(0x00..=0x7F | 0xC0..=0xFF) => return (i, Some(MissingContinuation)),
            Some(&second) if i == 1 && second < low => return (1, Some(below)),
            Some(&second) if i == 1 && second > high => return (1, Some(above)),
            Some(_) => {}
        }
    }
    (len, None)
}

/// Returns the well-formed text of a whole stream, and every ill-formed maximal subpart as (offset, kind, length).
pub fn decode(input: &[u8]) -> (String, Vec<(u64, ErrorKind, u8)>) {
    let (mut text, mut errors, mut at) = (Vec::new(), Vec::new(), 0);
    while at < input.len() {
        let (len, error) = sequence(&input[at..]);
        match error {
            None => text.extend_from_slice(&input[at..at + len]),
            Some(kind) => errors.push((at as u64, kind, len as u8)),
        }
        at += len;
    }
    (String::from_utf8(text).expect("well-formed text"), errors)
}
