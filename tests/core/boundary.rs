//! In well-formed text the boundaries are those of `str`. In other bytes a boundary is at most 3 bytes away.

use utf8_codec::Utf8Decoder;
use utf8_codec::boundary::{
    Splitter, Truncator, Unit, ceil_boundary, floor_boundary, truncate, unfinished_len,
};

use crate::support::{Rng, every_partition, some_partitions};

const TEXT: &str = "a\u{E9}\u{20AC}\u{1F980}\u{7FF}\u{FFFF}\u{10FFFF}z";

fn random_text(rng: &mut Rng, len: usize) -> String {
    String::from_utf8_lossy(&rng.dirty_text(len)).into_owned()
}

#[test]
fn floor_and_ceil_are_the_nearest_boundaries_of_a_str() {
    for index in 0..TEXT.len() + 5 {
        let floor = (0..=index).rev().find(|&i| TEXT.is_char_boundary(i)).unwrap();
        let ceil = (index..=TEXT.len()).find(|&i| TEXT.is_char_boundary(i)).unwrap_or(TEXT.len());
        assert_eq!(floor_boundary(TEXT.as_bytes(), index), floor, "{index}");
        assert_eq!(ceil_boundary(TEXT.as_bytes(), index), ceil, "{index}");
        assert_eq!(truncate(TEXT, index), &TEXT[..floor]);
    }
    assert_eq!((floor_boundary(b"", 3), ceil_boundary(b"", 3), unfinished_len(b"")), (0, 0, 0));
}

#[test]
fn in_ill_formed_bytes_a_boundary_is_at_most_three_bytes_away() {
    let mut rng = Rng::new(7);
    for round in 0..2_000 {
        let bytes = rng.dirty_text(1 + round % 40);
        for index in 0..=bytes.len() {
            assert!(index - floor_boundary(&bytes, index) <= 3);
            assert!(ceil_boundary(&bytes, index) - index <= 3);
        }
    }
    assert_eq!(floor_boundary(&[0x80; 9], 5), 2);
    assert_eq!(ceil_boundary(&[0x80; 9], 5), 8);
}

#[test]
fn the_unfinished_end_equals_the_pending_bytes() {
    let mut rng = Rng::new(77);
    for round in 0..20_000 {
        let bytes = rng.dirty_text(1 + round % 20);
        let mut decoder = Utf8Decoder::new();
        decoder.feed(&bytes).for_each(drop);
        assert_eq!(unfinished_len(&bytes), decoder.pending().len(), "{bytes:02X?}");
    }
}

const UNITS: [Unit; 3] = [Unit::Bytes, Unit::Utf16, Unit::Characters];

/// Splits the whole text into messages.
fn messages(text: &str, max: usize, unit: Unit) -> Vec<String> {
    let len_of = |text: &str| match unit {
        Unit::Bytes => text.len(),
        Unit::Utf16 => text.encode_utf16().count(),
        _ => text.chars().count(),
    };
    let mut messages = vec![String::new()];
    for character in text.chars() {
        let mut longer = messages.last().unwrap().clone();
        longer.push(character);
        if len_of(&longer) <= max {
            *messages.last_mut().unwrap() = longer;
        } else {
            messages.push(character.to_string());
        }
    }
    messages
}

#[test]
fn a_truncated_text_is_the_same_for_every_partition() {
    let text = "a\u{E9}\u{20AC}\u{1F980}zz";
    for (max, unit) in (0..=12).flat_map(|max| UNITS.map(|unit| (max, unit))) {
        let expected = &messages(text, max, unit)[0];
        if unit == Unit::Bytes {
            assert_eq!(truncate(text, max), expected);
        }
        every_partition(text.as_bytes(), |chunks| {
            let Some(chunks) = chunks.iter().map(|c| str::from_utf8(c).ok()).collect::<Option<Vec<_>>>()
            else {
                return;
            };
            let mut truncator = Truncator::new(max).with_unit(unit);
            let kept: String = chunks.iter().map(|chunk| truncator.truncate(chunk)).collect();
            assert_eq!(&kept, expected, "{max} {unit:?} {chunks:?}");
        });
    }
}

#[test]
fn messages_have_the_maximum_length_for_every_partition() {
    let mut rng = Rng::new(512);
    for round in 0..300 {
        let text = random_text(&mut rng, 1 + round % 30);
        for (max, unit) in [4, 5, 7, 10, 510].into_iter().flat_map(|max| UNITS.map(|unit| (max, unit))) {
            let expected = messages(&text, max, unit);
            some_partitions(text.as_bytes(), 5, |chunks| {
                let mut splitter = Splitter::new(max).unwrap().with_unit(unit);
                let mut got: Vec<String> = Vec::new();
                let mut decoder = Utf8Decoder::new();
                for chunk in chunks {
                    for piece in decoder.feed(chunk) {
                        let mut seam = [0; 4];
                        let piece = match piece {
                            utf8_codec::Piece::Text(text) => text,
                            utf8_codec::Piece::Seam(character) => character.encode_utf8(&mut seam),
                            utf8_codec::Piece::IllFormed(error) => panic!("{error}"),
                        };
                        for part in splitter.feed(piece) {
                            assert!(!part.text.is_empty());
                            if part.starts_message {
                                got.push(String::new());
                            }
                            got.last_mut().unwrap().push_str(part.text);
                        }
                    }
                }
                assert_eq!(got, expected, "{max} {unit:?} {chunks:02X?}");
            });
        }
    }
}

#[test]
fn an_ended_message_is_not_continued() {
    let mut splitter = Splitter::new(10).unwrap();
    assert!(splitter.feed("one").all(|part| part.starts_message));
    assert!(splitter.feed("more").all(|part| !part.starts_message));
    splitter.finish();
    assert!(splitter.feed("two").all(|part| part.starts_message));
    assert!((0..4).all(|max| Splitter::new(max).is_none()));
}

#[test]
fn a_stream_can_be_joined_inside_a_character() {
    let text = "\u{1F980}\u{20AC}z".as_bytes();
    for start in 0..text.len() {
        let (missing, rest) = text[start..].split_at(ceil_boundary(&text[start..], 0));
        assert_eq!(start + missing.len(), ceil_boundary(text, start));
        assert_eq!(Utf8Decoder::with_offset(start as u64).validate(rest), Ok(()));
    }
    // The fourth continuation byte is an error.
    assert_eq!(ceil_boundary(b"\x80\x80\x80\x80a", 0), 3);
}
