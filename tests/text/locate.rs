//! Lines and columns are compared with those of a loop over the characters, for every partition.

use utf8_codec::locate::{Columns, Locator};
use utf8_codec::{Ascii, LineEnding};

use crate::support::{Rng, every_partition, some_partitions};

const CR: LineEnding = LineEnding::Ascii(Ascii::new(b'\r').unwrap());
const A: LineEnding = LineEnding::Ascii(Ascii::new(b'a').unwrap());

const ALL: [LineEnding; 6] = [LineEnding::LfOrCrLf, LineEnding::Lf, LineEnding::CrLf, CR, LineEnding::Any, A];

/// Offset, line, and column in bytes, characters and UTF-16 units.
type Position = (u64, u64, [u64; 3]);

/// Returns the location of each character and of the end, and the offsets of the ends of the lines, before their
/// terminators.
fn by_hand(text: &str, ending: LineEnding) -> (Vec<Position>, Vec<u64>) {
    let (mut positions, mut ends, mut line, mut columns) = (Vec::new(), Vec::new(), 0, [0; 3]);
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
            let has_cr = after_cr && matches!(ending, LineEnding::CrLf | LineEnding::LfOrCrLf);
            ends.push(at as u64 - u64::from(has_cr));
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
    ends.push(text.len() as u64);
    (positions, ends)
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
    let (positions, _) = by_hand(text, ending);
    let start = Locator::new().with_line_ending(ending);
    let mut locator = start;
    let mut joined = start;
    for chunk in chunks {
        locator.push(chunk);
        let mut alone = start;
        alone.push(chunk);
        joined.join(&alone);
        assert_eq!(position(&joined), position(&locator), "{ending:?} {chunks:?}");
        assert!(positions.contains(&position(&locator)), "{ending:?} {chunks:?}");
    }
    assert_eq!(position(&locator), positions[positions.len() - 1], "{ending:?} {chunks:?}");
    assert_eq!(joined, locator);
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
        if character == '\r' && text.len().is_multiple_of(3) {
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
            let (positions, _) = by_hand(&text, ending);
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
                let (mut by_text, mut by_bytes) = (start, start);
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

#[cfg(feature = "alloc")]
mod index {
    use utf8_codec::locate::{Column, LineIndex};

    use super::*;

    fn units(columns: [u64; 3]) -> [Column; 3] {
        [Column::Bytes(columns[0]), Column::Characters(columns[1]), Column::Utf16(columns[2])]
    }

    fn check_index(text: &str, ending: LineEnding, chunks: &[&str]) {
        let (positions, ends) = by_hand(text, ending);
        let mut index = LineIndex::new(ending);
        chunks.iter().for_each(|chunk| index.push(chunk));
        assert_eq!((index.len(), index.lines()), (text.len() as u64, ends.len() as u64));
        assert_eq!(index.is_empty(), text.is_empty());
        for &(offset, line, columns) in &positions {
            let is_between =
                text[..offset as usize].ends_with('\r') && text[offset as usize..].starts_with('\n');
            if is_between && ending == LineEnding::Any {
                continue;
            }
            let location = index.location(offset).expect("it is in the text");
            let Columns { bytes, characters, utf16, .. } = location.columns;
            assert_eq!(
                (location.offset, location.line, [bytes, characters, utf16]),
                (offset, line, columns),
                "{text:?}"
            );
            for column in units(columns) {
                let end = ends[line as usize];
                assert_eq!(index.offset_of(line, column), Some(offset.min(end)), "{text:?} {ending:?}");
            }
        }
        for (line, &end) in ends.iter().enumerate() {
            assert_eq!(index.line(line as u64).expect("a line").end, end, "{text:?} {ending:?}");
            assert_eq!(index.offset_of(line as u64, Column::Utf16(u64::MAX)), Some(end));
        }
        assert_eq!((index.line(ends.len() as u64), index.location(text.len() as u64 + 1)), (None, None));
    }

    #[test]
    fn an_index_finds_locations_in_any_order() {
        for text in SAMPLES {
            for ending in ALL {
                every_partition(text.as_bytes(), |chunks| check_index(text, ending, &as_text(text, chunks)));
            }
        }
        let mut rng = Rng::new(64);
        for round in 0..8 {
            let text = long_text(&mut rng, 20 + 17 * round);
            for ending in ALL {
                some_partitions(text.as_bytes(), 3, |chunks| {
                    check_index(&text, ending, &as_text(&text, chunks));
                });
            }
        }
    }

    #[test]
    fn an_offset_inside_a_character_is_its_start() {
        let mut index = LineIndex::new(LineEnding::Lf);
        index.push(&"x".repeat(62));
        // Across the boundary of a block.
        index.push("🦀");
        index.push_ill_formed(3);
        for offset in 62..66 {
            let location = index.location(offset).expect("it is in the text");
            assert_eq!((location.offset, location.columns.utf16), (62, 62));
        }
        assert_eq!(index.location(66).expect("it is in the text").columns.utf16, 64);
        assert_eq!(index.location(68).expect("it is in the text").offset, 66);
        let end = index.location(69).expect("the end").columns;
        assert_eq!((end.bytes, end.characters, end.utf16), (69, 64, 65));
        assert_eq!(index.offset_of(0, Column::Utf16(63)), Some(62));
        assert_eq!(index.offset_of(0, Column::Characters(64)), Some(69));
    }

    #[test]
    fn ill_formed_sequences_have_the_locations_of_a_locator() {
        // The length of an ill-formed sequence, and the text after it.
        let pieces = [(0, "a\r"), (1, "\nb"), (3, "é\r"), (2, "🦀\r\n"), (2, "\n"), (1, "\r"), (0, "\nc")];
        for ending in ALL {
            let (mut locator, mut index) = (Locator::new().with_line_ending(ending), LineIndex::new(ending));
            for (bytes, text) in pieces.into_iter().cycle().take(60) {
                locator.push_ill_formed(bytes);
                index.push_ill_formed(bytes);
                assert_eq!(index.location(index.len()), Some(locator.location()), "{ending:?}");
                locator.push(text);
                index.push(text);
                assert_eq!(index.location(index.len()), Some(locator.location()), "{ending:?}");
            }
        }
    }

    #[test]
    fn an_ill_formed_sequence_across_two_blocks_is_one_character() {
        let mut index = LineIndex::new(LineEnding::Lf);
        index.push(&"x".repeat(62));
        index.push_ill_formed(3);
        let offsets = (61..=65).map(|at| index.location(at).expect("it is in the text").offset);
        assert!(offsets.eq([61, 62, 62, 62, 65]));
    }

    #[test]
    fn ascii_after_a_block_is_not_inside_a_character() {
        let text = ["x".repeat(63), "é".into(), "x".repeat(100)].concat();
        check_index(&text, LineEnding::Lf, &[&text]);
    }

    #[test]
    fn ascii_text_only_uses_memory_for_its_lines() {
        let mut index = LineIndex::new(LineEnding::Lf);
        index.push(&"ascii\n".repeat(1000));
        assert_eq!(index.lines(), 1001);
        let location = index.location(6 * 500 + 3).expect("it is in the text");
        assert_eq!((location.line, location.columns.utf16), (500, 3));
    }
}

#[test]
fn offsets_wrap() {
    let mut locator = Locator::new().with_line_ending(LineEnding::CrLf);
    locator.push_ill_formed(u64::MAX);
    locator.push("ab\r");
    assert_eq!((locator.location().offset, locator.location().columns.bytes), (2, 2));
    assert_eq!(locator.location().columns.characters, 4);
    let mut first = Locator::new();
    first.push("ab");
    let mut second = Locator::new();
    second.push_ill_formed(u64::MAX);
    first.join(&second);
    assert_eq!((first.location().offset, first.location().columns.bytes), (1, 1));
}

/// An index that follows edits is the index of the edited document.
#[test]
#[cfg(feature = "alloc")]
fn an_edited_index_is_that_of_the_edited_document() {
    use utf8_codec::locate::{Column, LineIndex};

    let same = |index: &LineIndex, document: &str, ending: LineEnding, step: usize| {
        let mut whole = LineIndex::new(ending);
        whole.push(document);
        assert_eq!((index.len(), index.lines()), (document.len() as u64, whole.lines()));
        for line in 0..=whole.lines() {
            assert_eq!(index.line(line), whole.line(line), "{ending:?}: line {line} of {document:?}");
        }
        for offset in (0..=document.len() as u64).step_by(step) {
            let location = whole.location(offset).expect("an offset of the document");
            assert_eq!(index.location(offset), Some(location), "{ending:?}: {offset} of {document:?}");
            let column = Column::Utf16(location.columns.utf16);
            assert_eq!(index.offset_of(location.line, column), whole.offset_of(location.line, column));
        }
    };
    let mut rng = Rng::new(2);
    for ending in ALL {
        // Short documents, and some that are longer than a leaf of the index.
        for (rounds, most, step) in [(40, 12, 1), (40, 12, 1), (40, 12, 1), (12, 900, 97)] {
            let (mut index, mut document) = (LineIndex::new(ending), String::new());
            for _ in 0..rounds {
                let characters = ["a", "\r", "\n", "\r\n", "é", "€", "💩", "a long line of ASCII, "];
                let text: String =
                    (0..rng.below(most)).map(|_| characters[rng.below(characters.len())]).collect();
                let mut cut = |before: usize| {
                    let position = before + rng.below(document.len() - before + 1);
                    (before..=position).rev().find(|&at| document.is_char_boundary(at)).unwrap_or(before)
                };
                let start = cut(0);
                // Most edits are short.
                let end = if most > 12 { cut(start) } else { cut(start).min(start) };
                let end = if rng.below(4) == 0 { end } else { start };
                document.replace_range(start..end, &text);
                index.splice(start as u64..end as u64, &text);
                same(&index, &document, ending, step);
            }
            index.splice(0..u64::MAX, "");
            assert!(index.is_empty());
            same(&index, "", ending, 1);
        }
    }
}

/// A CR and an LF that an edit puts next to each other are one terminator, wherever the index divides the document.
#[test]
#[cfg(feature = "alloc")]
fn an_edit_joins_and_separates_a_cr_and_an_lf() {
    use utf8_codec::locate::LineIndex;

    for len in (0..20).chain(1000..1050).chain(2030..2060) {
        let line = "a".repeat(len);
        let mut index = LineIndex::new(LineEnding::Any);
        index.push(&line);
        index.push("\rbbb\n");
        index.push(&line);
        assert_eq!(index.lines(), 3);
        let cr = len as u64;
        index.splice(cr + 1..cr + 4, "");
        assert_eq!((index.lines(), index.line(0), index.line(1)), (2, Some(0..cr), Some(cr + 2..2 * cr + 2)));
        index.splice(cr + 1..cr + 1, "é");
        assert_eq!((index.lines(), index.line(1)), (3, Some(cr + 1..cr + 3)));
        // An end inside a character is moved to its start.
        index.splice(cr + 1..cr + 2, "x");
        assert_eq!((index.lines(), index.line(1)), (3, Some(cr + 1..cr + 4)));
        index.splice(cr + 2..cr + 4, "");
        #[allow(clippy::reversed_empty_ranges, reason = "a range that ends before it starts is empty")]
        index.splice(cr + 2..0, "y");
        assert_eq!(index.line(1), Some(cr + 1..cr + 3));
    }
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
                            let expected = by_hand(&whole, ending).0.pop();
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
