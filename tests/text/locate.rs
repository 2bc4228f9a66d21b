//! Lines and columns are compared with those of a loop over the characters, for every partition.

use utf8_codec::locate::{Columns, Locator};
use utf8_codec::{Ascii, LineEnding};

use crate::support::{Rng, every_partition, some_partitions};

const CR: LineEnding = LineEnding::Ascii(Ascii::new(b'\r').unwrap());
const A: LineEnding = LineEnding::Ascii(Ascii::new(b'a').unwrap());

const ALL: [LineEnding; 6] = [LineEnding::LfOrCrLf, LineEnding::Lf, LineEnding::CrLf, CR, LineEnding::Any, A];

/// Offset, line, and column in bytes, characters and UTF-16 units.
type Position = (u64, u64, [u64; 3]);

/// Returns the location of each character and of the end.
fn by_hand(text: &str, ending: LineEnding) -> Vec<Position> {
    let mut positions = Vec::new();
    let mut line = 0;
    let mut columns = [0; 3];
    for (at, character) in text.char_indices() {
        positions.push((at as u64, line, columns));
        let after_cr = text[..at].ends_with('\r');
        let is_end = match (ending, character) {
            (LineEnding::Lf | LineEnding::LfOrCrLf, '\n') | (LineEnding::Any, '\r') => true,
            (LineEnding::Ascii(byte), character) => character == char::from(byte),
            (LineEnding::CrLf, '\n') => after_cr,
            (LineEnding::Any, '\n') => !after_cr,
            _ => false,
        };
        if is_end {
            line += 1;
            columns = [0; 3];
        } else if ending == LineEnding::Any && character == '\n' {
            // The LF of a CR LF. The character after it is on the line that the CR began.
            assert!(after_cr);
        } else {
            columns[0] += character.len_utf8() as u64;
            columns[1] += 1;
            columns[2] += character.len_utf16() as u64;
        }
    }
    positions.push((text.len() as u64, line, columns));
    positions
}

fn position(locator: &Locator) -> Position {
    let location = locator.location();
    let Columns { bytes, characters, utf16, .. } = location.columns;
    (location.offset, location.line, [bytes, characters, utf16])
}

/// Returns chunks of whole characters. A boundary inside a character is moved to its start.
fn as_text<'t>(text: &'t str, chunks: &[&[u8]]) -> Vec<&'t str> {
    let (mut texts, mut from, mut at) = (Vec::new(), 0, 0);
    for chunk in chunks {
        at += chunk.len();
        let to = (from..=at).rev().find(|&to| text.is_char_boundary(to)).unwrap_or(from);
        texts.push(&text[from..to]);
        from = to;
    }
    texts
}

fn check(text: &str, ending: LineEnding, chunks: &[&str]) {
    let positions = by_hand(text, ending);
    let mut locator = Locator::new().with_line_ending(ending);
    for chunk in chunks {
        locator.push(chunk);
        assert!(positions.contains(&position(&locator)), "{ending:?} {chunks:?}");
    }
    assert_eq!(position(&locator), positions[positions.len() - 1], "{ending:?} {chunks:?}");
}

const SAMPLES: [&str; 8] =
    ["", "a\r\n\nb\r\r\n", "\r\n\r\n", "é\n€\r🦀", "\n\r\n\r", "no end", "🦀🦀", "\r\r\n\n\n\r"];

#[test]
fn every_partition_of_short_texts_has_the_same_locations() {
    for text in SAMPLES {
        for ending in ALL {
            every_partition(text.as_bytes(), |chunks| check(text, ending, &as_text(text, chunks)));
        }
    }
}

fn long_text(rng: &mut Rng, characters: usize) -> String {
    const ALPHABET: [char; 9] = ['a', ' ', '\n', '\r', 'é', '€', '🦀', '\u{7FF}', '\u{10FFFF}'];
    // As in real text, most characters are of one kind.
    let often = ALPHABET[rng.below(ALPHABET.len())];
    let mut pick = || if rng.below(4) == 0 { ALPHABET[rng.below(ALPHABET.len())] } else { often };
    let mut text = String::new();
    for _ in 0..characters {
        let character = pick();
        text.push(character);
        if character == '\r' && text.len() % 3 == 0 {
            text.push('\n');
        }
    }
    text
}

#[test]
fn long_texts_have_the_same_locations_for_every_partition() {
    let mut rng = Rng::new(18);
    for round in 0..8 {
        let text = long_text(&mut rng, 10 + 3 * round);
        for ending in ALL {
            some_partitions(text.as_bytes(), 3, |chunks| check(&text, ending, &as_text(&text, chunks)));
        }
    }
    // More characters than the 8-bit counters of a lane can count.
    for text in ["\n".repeat(40_000), "\r".repeat(40_000), "€\r\n".repeat(20_000), "🦀".repeat(9_000)] {
        for ending in ALL {
            let mut locator = Locator::new().with_line_ending(ending);
            locator.push(&text);
            let positions = by_hand(&text, ending);
            assert_eq!(position(&locator), positions[positions.len() - 1]);
        }
    }
}

/// [`Locator::push_ascii`] where the text is ASCII, and [`Locator::push`] elsewhere: the state is that of `push` alone.
#[test]
fn ascii_that_is_fed_as_bytes_has_the_same_locations() {
    let mut rng = Rng::new(19);
    let mut texts: Vec<String> = SAMPLES.iter().map(|&text| text.into()).collect();
    // Longer than the groups of bytes that are tested together.
    texts.extend((0..4).map(|_| long_text(&mut rng, 300)));
    texts.extend(["\n".repeat(3_000), format!("{}\r\nžluťoučký\n", "GET / HTTP/1.1\r\n".repeat(100))]);
    for text in texts {
        for ending in ALL {
            let start = Locator::new().with_line_ending(ending);
            some_partitions(text.as_bytes(), 3, |chunks| {
                let (mut by_text, mut by_bytes) = (start.clone(), start.clone());
                for chunk in as_text(&text, chunks) {
                    by_text.push(chunk);
                    let mut rest = chunk;
                    while !rest.is_empty() {
                        let ascii = rest.bytes().take_while(u8::is_ascii).count();
                        assert_eq!(by_bytes.push_ascii(rest.as_bytes()), ascii);
                        let other = rest[ascii..].bytes().take_while(|byte| !byte.is_ascii()).count();
                        by_bytes.push(&rest[ascii..ascii + other]);
                        rest = &rest[ascii + other..];
                    }
                    assert_eq!(by_bytes, by_text, "{ending:?} {chunk:?}");
                }
            });
        }
    }
}

#[test]
fn an_ill_formed_sequence_is_one_character() {
    let mut locator = Locator::new().with_line_ending(LineEnding::CrLf);
    locator.push("a\r");
    locator.push_ill_formed(3);
    // An ill-formed sequence is between the CR and the LF.
    locator.push("\nb");
    assert_eq!(position(&locator), (7, 0, [7, 5, 5]));
}

#[test]
fn offsets_wrap() {
    let mut locator = Locator::new().with_line_ending(LineEnding::CrLf);
    locator.push_ill_formed(u64::MAX);
    locator.push("ab\r");
    assert_eq!((locator.location().offset, locator.location().columns.bytes), (2, 2));
    assert_eq!(locator.location().columns.characters, 4);
}

/// The blocks and groups in which the last terminator is searched have 1,024 and 32 bytes.
#[test]
fn the_last_line_starts_at_every_distance_from_the_end() {
    for len in [1, 2, 31, 32, 33, 100, 1023, 1024, 1025, 2 * 1024 + 32] {
        for at in (0..len).filter(|at| len - at <= 128 || at % 251 == 0) {
            for terminator in ["\n", "\r", "\r\n"] {
                for last in ["a", "\n", "\r"] {
                    let mut text = "a".repeat(len - 1) + last;
                    let end = len.min(at + terminator.len());
                    text.replace_range(at..end, &terminator[..end - at]);
                    for ending in
                        [LineEnding::LfOrCrLf, LineEnding::Lf, LineEnding::CrLf, CR, LineEnding::Any]
                    {
                        for before in ["", "\r"] {
                            let mut locator = Locator::new().with_line_ending(ending);
                            locator.push(before);
                            locator.push(&text);
                            let whole = [before, &text].concat();
                            let expected = by_hand(&whole, ending).pop();
                            assert_eq!(
                                Some(position(&locator)),
                                expected,
                                "{ending:?} {before:?} {len} {at} {last:?}"
                            );
                        }
                    }
                }
            }
        }
    }
}
