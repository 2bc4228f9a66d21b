//! The offset, the length and the kind of every error of every string of up to four bytes are those of RFC 3629.

use utf8_codec_kernels::grammar::{Kind, UTF_8};
use utf8_codec_kernels::{AtBoundary, ScanState, TextEnd, prefix, prefix_of_text, text, validate};

use crate::grammar::{Found, Grammar};

/// Returns the kind of the error at `found` by RFC 3629 sections 3 and 4.
fn kind(bytes: &[u8], found: Found) -> Kind {
    let lead = bytes[found.offset];
    let second = bytes.get(found.offset + 1).copied();
    match (lead, found.len, second) {
        _ if found.is_truncated => Kind::Truncated,
        (0x80..=0xBF, ..) => Kind::UnexpectedContinuation,
        (0xC0 | 0xC1, ..) => Kind::Overlong,
        (0xF5..=0xFD, ..) => Kind::AboveMax,
        (0xFE | 0xFF, ..) => Kind::InvalidLead,
        (0xE0, 1, Some(0x80..=0x9F)) | (0xF0, 1, Some(0x80..=0x8F)) => Kind::Overlong,
        (0xED, 1, Some(0xA0..=0xBF)) => Kind::Surrogate,
        (0xF4, 1, Some(0x90..=0xBF)) => Kind::AboveMax,
        _ => Kind::MissingContinuation,
    }
}

/// The grammar, and the errors that it finds.
struct Checker {
    grammar: Grammar,
    errors: Vec<Found>,
}

impl Checker {
    fn new() -> Self {
        Self { grammar: Grammar::utf_8(), errors: Vec::new() }
    }

    /// Compares the errors of a stream in one chunk with those of the grammar.
    fn check(&mut self, bytes: &[u8]) {
        self.grammar.errors(bytes, &mut self.errors);
        let mut at = 0;
        for &error in &self.errors {
            let (text, end) = prefix(AtBoundary::START, &bytes[at..]);
            at += text.len();
            let (len, found) = match end {
                TextEnd::IllFormed(rest) => UTF_8.walk(rest),
                TextEnd::Unfinished(state) => (usize::from(state.pending_len()), Some(Kind::Truncated)),
            };
            assert_eq!((at, len, found), (error.offset, error.len, Some(kind(bytes, error))), "{bytes:02X?}");
            at += len;
        }
        assert_eq!(prefix(AtBoundary::START, &bytes[at..]).0.len(), bytes.len() - at, "{bytes:02X?}");
        self.check_first(bytes);
    }

    /// Compares what the other functions know of the first error.
    fn check_first(&self, bytes: &[u8]) {
        let first = self.errors.first();
        assert_eq!(text(bytes).is_some(), first.is_none(), "{bytes:02X?}");
        let end = first.map_or(bytes.len(), |error| error.offset);
        assert_eq!(prefix_of_text(bytes).0.len(), end, "{bytes:02X?}");
        let mut state = ScanState::START;
        let found = validate(&mut state, bytes).map_err(|index| {
            // The sequence that has the byte at the index, or ends before it.
            index.get() - usize::from(ScanState::START.after(&bytes[..index.get()]).pending_len())
        });
        let expected = first.filter(|error| !error.is_truncated).map_or(Ok(()), |error| Err(error.offset));
        assert_eq!(found, expected, "{bytes:02X?}");
        if found.is_ok() {
            assert_eq!(state.pending(), &bytes[end..], "{bytes:02X?}");
        }
    }
}

fn check_all(first: core::ops::RangeInclusive<u8>) {
    let mut checker = Checker::new();
    for a in first {
        checker.check(&[a]);
        for b in 0..=0xFF {
            checker.check(&[a, b]);
            for c in 0..=0xFF {
                checker.check(&[a, b, c]);
                for d in 0..=0xFF {
                    checker.check(&[a, b, c, d]);
                }
            }
        }
    }
}

#[test]
#[ignore = "minutes in release mode"]
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
#[ignore = "a minute in release mode"]
fn every_error_of_classes_of_four_bytes_at_every_position_of_a_vector() {
    let mut checker = Checker::new();
    let classes = [b'a', 0x80, 0x90, 0xBF, 0xC1, 0xC3, 0xE0, 0xE2, 0xED, 0xF0, 0xF2, 0xF4, 0xF5];
    // Near the ends of one vector of each kernel, of a group of vectors, and of a small chunk.
    let edges = [16, 32, 64, 128, 256, 384, 512];
    for (i, fill) in ["abcdefgh", "é", "€", "𝄞"].into_iter().enumerate() {
        for edge in edges {
            for at in edge - 5..=edge + 1 {
                for tail in [0, 1, 70] {
                    let before = fill.repeat(at / fill.len());
                    let pad = "x".repeat(at - before.len());
                    let mut bytes = [&before, &pad, "0000", &fill.repeat(tail)].concat().into_bytes();
                    for number in 0..classes.len().pow(4) {
                        if number % 4 != (i + at + tail) % 4 && edge > 64 {
                            continue;
                        }
                        let mut rest = number;
                        for byte in &mut bytes[at..at + 4] {
                            *byte = classes[rest % classes.len()];
                            rest /= classes.len();
                        }
                        checker.check(&bytes);
                    }
                }
            }
        }
    }
}
