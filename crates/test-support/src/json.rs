//! The oracle for the escapes of JSON: it reads the whole text as a list of bytes with their offsets.

use utf8_codec::json::EscapePolicy;
use utf8_codec::{ErrorKind, Subset, TextDecoder, TextPiece, Utf8Error};

use super::Rng;

/// An error: its offset, kind and length, and whether it is an escape.
pub type Error = (u64, ErrorKind, u8, bool);

pub fn error(error: Utf8Error) -> Error {
    (error.offset, error.kind, error.len, error.is_escaped())
}

#[derive(Clone, Copy)]
enum Item {
    Byte(u8, u64),
    Raw { error: Utf8Error, is_repaired: bool },
}

/// Returns the bytes of the text after the policies of the decoder, and its errors between them.
fn items(input: &[u8], mut decoder: TextDecoder) -> Vec<Item> {
    let mut items = Vec::new();
    let mut add = |start: u64, step: u64, piece: TextPiece<'_>| {
        if let TextPiece::Repaired(_, error) | TextPiece::IllFormed(error) = piece {
            items.push(Item::Raw { error, is_repaired: piece.text().is_ok() });
        }
        let text = piece.text().unwrap_or_default().bytes();
        items.extend(text.zip(0..).map(|(byte, at)| Item::Byte(byte, start + at * step)));
    };
    for (range, piece) in decoder.feed_ranges(input) {
        add(range.start as u64, u64::from(matches!(piece, TextPiece::Text(_))), piece);
    }
    if let Some(piece) = decoder.finish() {
        let (TextPiece::Repaired(_, error) | TextPiece::IllFormed(error)) = piece else { unreachable!() };
        add(error.offset, 0, piece);
    }
    items
}

/// Returns the number of bytes of `\uXXXX` that `items` start with, and its value if it is complete.
fn unit(items: &[Item]) -> (usize, Option<u32>) {
    let bytes: Vec<u8> = items
        .iter()
        .take(6)
        .map_while(|item| if let Item::Byte(byte, _) = item { Some(*byte) } else { None })
        .collect();
    let Some(digits) = bytes.strip_prefix(br"\u") else { return (0, None) };
    let count = digits.iter().take_while(|digit| digit.is_ascii_hexdigit()).count();
    let text: String = digits[..count].iter().map(|&digit| char::from(digit)).collect();
    (2 + count, u32::from_str_radix(&text, 16).ok().filter(|_| count == 4))
}

/// Returns the text of JSON without what is rejected, and the errors. The decoder repairs every error.
pub fn decode(
    input: &[u8],
    decoder: TextDecoder,
    policy: EscapePolicy,
    subset: Option<&Subset>,
) -> (String, Vec<Error>) {
    let mut items = items(input, decoder);
    let (mut text, mut errors, mut at) = (Vec::new(), Vec::new(), 0);
    while at < items.len() {
        let (byte, offset) = match items[at] {
            Item::Raw { error: raw, .. } => {
                errors.push(error(raw));
                at += 1;
                continue;
            }
            Item::Byte(byte, offset) => (byte, offset),
        };
        if byte == b'\\' {
            // A replacement after a backslash is text like any other.
            while let Some(&Item::Raw { error: raw, is_repaired: true }) = items.get(at + 1) {
                errors.push(error(raw));
                items.remove(at + 1);
            }
        }
        let (len, value) = unit(&items[at..]);
        let (kind, len) = match (len, value) {
            (0, _) => {
                let is_pair = matches!(items[at..], [_, Item::Byte(b'\\', _), ..]);
                let len = if byte == b'\\' && is_pair { 2 } else { 1 };
                text.extend_from_slice(&[byte; 2][..len]);
                at += len;
                continue;
            }
            (4.., _) if policy == EscapePolicy::Strict && is_second_half(&items[at..]) => {
                (Some(ErrorKind::UnpairedSurrogate), 4)
            }
            (len, None) => (Some(ErrorKind::IncompleteEscape), len),
            (_, Some(high @ 0xD800..=0xDBFF)) => match unit(&items[at + 6..]).1 {
                Some(low @ 0xDC00..=0xDFFF) => {
                    let code_point = 0x1_0000 + (high - 0xD800) * 0x400 + (low - 0xDC00);
                    (outside(code_point, subset), 12)
                }
                _ => (Some(ErrorKind::UnpairedSurrogate), 6),
            },
            (_, Some(0xDC00..=0xDFFF)) => (Some(ErrorKind::UnpairedSurrogate), 6),
            (_, Some(code_point)) => (outside(code_point, subset), 6),
        };
        let escape = items[at..at + len].iter().map(|item| match item {
            Item::Byte(byte, _) => *byte,
            Item::Raw { .. } => unreachable!(),
        });
        match (kind, policy) {
            (None, _) | (Some(_), EscapePolicy::Keep) => text.extend(escape),
            (Some(ErrorKind::IncompleteEscape), EscapePolicy::Replace) => text.extend(escape.map(|_| b'?')),
            (Some(_), EscapePolicy::Replace) => text.extend_from_slice(r"\uFFFD".repeat(len / 6).as_bytes()),
            _ => {}
        }
        errors.extend(kind.map(|kind| (offset, kind, len as u8, true)));
        at += len;
    }
    (String::from_utf8(text).expect("well-formed text"), errors)
}

/// Whether the first digits are those of the second half of a pair.
fn is_second_half(items: &[Item]) -> bool {
    let [_, _, Item::Byte(first, _), Item::Byte(second, _), ..] = items else { return false };
    b"dD".contains(first) && b"cdefCDEF".contains(second)
}

fn outside(code_point: u32, subset: Option<&Subset>) -> Option<ErrorKind> {
    let is_outside = subset.is_some_and(|subset| !subset.contains(code_point));
    is_outside.then_some(ErrorKind::OutsideSubset)
}

/// Returns `parts` random parts of JSON, most of them escapes, good and bad. `has_bytes` also adds ill-formed bytes.
pub fn dirty(rng: &mut Rng, parts: usize, has_bytes: bool) -> Vec<u8> {
    const GOOD: [&[u8]; 15] = [
        br"\uD83D\uDE00",
        br"\uD83D",
        br"\uDE00",
        br"\u0000",
        br"\u",
        br"\u1",
        br"\ud8",
        br"\uDc",
        b"\\",
        br"\\",
        b"u",
        b"0041",
        b"\"",
        b"\n",
        b"\xC3\xA9",
    ];
    const BAD: [&[u8]; 4] = [b"\xFF", b"\xC3", b"\xE2\x82", b"\xF0\x9F\x98"];
    let mut json = Vec::new();
    for _ in 0..parts {
        let is_bad = has_bytes && rng.below(4) == 0;
        json.extend_from_slice(if is_bad { rng.pick(&BAD) } else { rng.pick(&GOOD) });
    }
    json
}
