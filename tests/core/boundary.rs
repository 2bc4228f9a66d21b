//! In well-formed text the boundaries are those of `str`. In other bytes a boundary is at most 3 bytes away.

use utf8_codec::Utf8Decoder;
use utf8_codec::boundary::{ceil_boundary, floor_boundary, truncate, unfinished_len};

use crate::support::Rng;

const TEXT: &str = "a\u{E9}\u{20AC}\u{1F980}\u{7FF}\u{FFFF}\u{10FFFF}z";

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
