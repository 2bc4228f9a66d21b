//! Compares the offset, length and kind of every error of every string of up to four bytes with the rule text of RFC
//! 3629.

use utf8_codec::{ErrorKind, Piece, Utf8Decoder, Utf8Error, from_utf8};
use utf8_codec_proofs::{Found, Grammar, rules};

fn grammar() -> Grammar {
    Grammar::read(rules::UTF_8, "UTF8-char")
}

/// Returns the kind of the error at `found` by RFC 3629 sections 3 and 4.
fn kind(bytes: &[u8], found: Found) -> ErrorKind {
    let lead = bytes[found.offset];
    let second = bytes.get(found.offset + 1).copied();
    match (lead, found.len, second) {
        _ if found.truncated => ErrorKind::Truncated,
        (0x80..=0xBF, ..) => ErrorKind::UnexpectedContinuation,
        (0xC0 | 0xC1, ..) => ErrorKind::Overlong,
        (0xF5..=0xFD, ..) => ErrorKind::AboveMax,
        (0xFE | 0xFF, ..) => ErrorKind::InvalidLead,
        (0xE0, 1, Some(0x80..=0x9F)) | (0xF0, 1, Some(0x80..=0x8F)) => ErrorKind::Overlong,
        (0xED, 1, Some(0xA0..=0xBF)) => ErrorKind::Surrogate,
        (0xF4, 1, Some(0x90..=0xBF)) => ErrorKind::AboveMax,
        _ => ErrorKind::MissingContinuation,
    }
}

/// Compares the errors of the decoder with those of the grammar. `before` is fed first, without errors.
fn check(grammar: &Grammar, expected: &mut Vec<Found>, bytes: &[u8]) {
    grammar.errors(bytes, expected);
    let mut decoder = Utf8Decoder::new();
    let mut next = 0;
    let mut compare = |error: Utf8Error| {
        let found = expected.get(next).unwrap_or_else(|| panic!("{bytes:02X?}: {error:?} is too many"));
        assert_eq!(
            (error.offset as usize, usize::from(error.len), error.kind),
            (found.offset, found.len, kind(bytes, *found)),
            "{bytes:02X?}"
        );
        next += 1;
    };
    for piece in decoder.feed(bytes) {
        if let Piece::IllFormed(error) = piece {
            compare(error);
        }
    }
    if let Err(error) = decoder.finish() {
        compare(error);
    }
    assert_eq!(next, expected.len(), "{bytes:02X?}");
    match (from_utf8(bytes), expected.first()) {
        (Ok(_), None) => {}
        (Err(error), Some(first)) => assert_eq!(error.offset as usize, first.offset, "{bytes:02X?}"),
        (found, first) => panic!("{bytes:02X?}: {found:?}, not {first:?}"),
    }
}

fn check_all(first: std::ops::RangeInclusive<u8>) {
    let (grammar, mut expected) = (grammar(), Vec::new());
    for a in first {
        check(&grammar, &mut expected, &[a]);
        for b in 0..=0xFF {
            check(&grammar, &mut expected, &[a, b]);
            for c in 0..=0xFF {
                check(&grammar, &mut expected, &[a, b, c]);
                for d in 0..=0xFF {
                    check(&grammar, &mut expected, &[a, b, c, d]);
                }
            }
        }
    }
}

#[test]
fn every_error_of_every_string_of_three_bytes() {
    let (grammar, mut expected) = (grammar(), Vec::new());
    for number in 0..1_u32 << 24 {
        let [_, bytes @ ..] = number.to_be_bytes();
        check(&grammar, &mut expected, &bytes);
    }
}

#[test]
#[ignore = "minutes"]
fn every_error_of_every_string_of_four_bytes() {
    std::thread::scope(|scope| {
        for part in 0..4_u8 {
            scope.spawn(move || check_all(part * 64..=part * 64 + 63));
        }
    });
}

/// The errors are at every position relative to the edges of vectors, in ASCII and in text with characters of 2, 3 and
/// 4 bytes.
#[test]
fn every_error_of_classes_of_four_bytes_at_every_position_of_a_vector() {
    let (grammar, mut expected) = (grammar(), Vec::new());
    let classes = [b'a', 0x80, 0x90, 0xBF, 0xC1, 0xC3, 0xE0, 0xE2, 0xED, 0xF0, 0xF2, 0xF4, 0xF5];
    let fills = ["abcdefgh", "é", "€", "𝄞"];
    // Near the ends of one vector of each kernel, of a group of vectors, and of a small chunk.
    let edges = [16, 32, 64, 128, 256, 384, 512];
    for (i, fill) in fills.iter().enumerate() {
        for edge in edges {
            for at in edge - 5..=edge + 1 {
                for tail in [0, 1, 70] {
                    let before = fill.repeat(at / fill.len());
                    let pad = "x".repeat(at - before.len());
                    let start = [before.as_bytes(), pad.as_bytes()].concat();
                    let after = fill.repeat(tail);
                    let mut bytes = [&start[..], &[0; 4], after.as_bytes()].concat();
                    for number in 0..classes.len().pow(4) {
                        if number % 4 != (i + at + tail) % 4 && edge > 64 {
                            continue;
                        }
                        let mut rest = number;
                        for byte in &mut bytes[at..at + 4] {
                            *byte = classes[rest % classes.len()];
                            rest /= classes.len();
                        }
                        check(&grammar, &mut expected, &bytes);
                    }
                }
            }
        }
    }
}
