//! `Utf8Decoder` returns the same text, errors and offsets for every partition of the input.

use core::hash::{BuildHasher, BuildHasherDefault};
use std::hash::DefaultHasher;

use utf8_codec::{ErrorKind, Piece, Utf8Decoder, Utf8Error, from_utf8};

use crate::support::{Rng, every_partition, oracle, some_partitions};

type Outcome = (String, Vec<(u64, ErrorKind, u8)>);

fn facts(error: Utf8Error) -> (u64, ErrorKind, u8) {
    (error.offset, error.kind, error.len)
}

fn by_feed(chunks: &[&[u8]]) -> Outcome {
    let (mut decoder, mut text, mut errors) = (Utf8Decoder::new(), String::new(), Vec::new());
    for chunk in chunks {
        for piece in decoder.feed(chunk) {
            match piece {
                Piece::Text(good) => {
                    assert!(chunk.as_ptr_range().contains(&good.as_ptr()), "text is borrowed from the chunk");
                    text.push_str(good);
                }
                Piece::Seam(character) => text.push(character),
                Piece::IllFormed(error) => errors.push(facts(error)),
            }
        }
    }
    errors.extend(decoder.finish().map_err(facts).err());
    assert_eq!(decoder.finish(), Ok(()), "truncation is reported once");
    assert_eq!(decoder.offset(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    (text, errors)
}

fn by_validate(chunks: &[&[u8]]) -> Vec<(u64, ErrorKind, u8)> {
    let (mut decoder, mut errors) = (Utf8Decoder::new(), Vec::new());
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            let before = decoder.offset();
            match decoder.validate(rest) {
                Ok(()) => break,
                Err(error) => errors.push(facts(error)),
            }
            rest = &rest[(decoder.offset() - before) as usize..];
        }
    }
    errors.extend(decoder.finish().map_err(facts).err());
    errors
}

/// Reads one piece of each iterator, then drops the iterator.
fn by_early_drops(chunks: &[&[u8]]) -> Outcome {
    let (mut decoder, mut text, mut errors) = (Utf8Decoder::new(), String::new(), Vec::new());
    for chunk in chunks {
        let mut rest = *chunk;
        while !rest.is_empty() {
            let before = decoder.offset();
            match decoder.feed(rest).next() {
                Some(Piece::Text(good)) => text.push_str(good),
                Some(Piece::Seam(character)) => text.push(character),
                Some(Piece::IllFormed(error)) => errors.push(facts(error)),
                None => {}
            }
            rest = &rest[(decoder.offset() - before) as usize..];
        }
    }
    errors.extend(decoder.finish().map_err(facts).err());
    (text, errors)
}

fn check(input: &[u8], chunks: &[&[u8]]) {
    let expected = oracle::decode(input);
    assert_eq!(by_feed(chunks), expected, "feed {chunks:02X?}");
    assert_eq!(by_validate(chunks), expected.1, "validate {chunks:02X?}");
    assert_eq!(by_early_drops(chunks), expected, "early drops {chunks:02X?}");
}

#[test]
fn every_partition_of_short_samples_agrees_with_the_oracle() {
    let mut rng = Rng::new(3629);
    for round in 0..4_000 {
        let input = rng.dirty_text(1 + round % 8);
        every_partition(&input, |chunks| check(&input, chunks));
    }
}

#[test]
fn some_partitions_of_long_samples_agree_with_the_oracle() {
    let mut rng = Rng::new(2279);
    for round in 0..200 {
        let input = rng.dirty_text(9 + round);
        some_partitions(&input, 20, |chunks| check(&input, chunks));
    }
}

/// After many ASCII chunks the next one is predicted to be ASCII. The prediction must not skip the pending bytes.
#[test]
fn pending_bytes_are_not_lost_after_many_ascii_chunks() {
    const WORDS: [&[u8]; 20] = [b"good"; 20];
    let mut rng = Rng::new(64);
    for round in 0..4_000 {
        let begun = rng.dirty_text(1 + round % 6);
        let ascii = "ascii ".repeat(11);
        let mut input = WORDS.concat();
        input.extend_from_slice(&begun);
        input.extend_from_slice(&ascii.as_bytes()[..1 + rng.below(65)]);
        let (words, rest) = input.split_at(WORDS.concat().len());
        let (begun, ascii) = rest.split_at(begun.len());
        every_partition(begun, |chunks| {
            let chunks: Vec<_> = words.chunks(4).chain(chunks.iter().copied()).chain([ascii]).collect();
            check(&input, &chunks);
        });
    }
}

/// Two decoders are equal if they return the same pieces for any further input. That depends only on the offset and the
/// pending bytes.
#[test]
fn decoders_are_equal_if_offset_and_pending_bytes_are() {
    fn hash(decoder: &Utf8Decoder) -> u64 {
        BuildHasherDefault::<DefaultHasher>::default().hash_one(decoder)
    }
    fn after(chunk: &[u8]) -> Utf8Decoder {
        let mut decoder = Utf8Decoder::new();
        decoder.validate(chunk).expect("well-formed so far");
        decoder
    }
    // Each has 8 bytes, so that the offsets are the same.
    let streams = [
        &b"abcdefgh"[..],
        "жжжж".as_bytes(),
        b"abcdefg\xC3",
        b"abcdefg\xC4",
        b"abcdefg\xE2",
        b"abcdef\xE2\x82",
        b"abcdef\xE2\x83",
        b"abcdef\xF0\x9F",
        b"abcde\xF0\x9F\x92",
        b"abcde\xF0\x9F\x93",
        b"abcde\xF1\x9F\x92",
        b"\xC3\xA9\xC3\xA9\xC3\xA9g\xC3",
    ];
    for a in streams {
        for b in streams {
            let (one, other) = (after(a), after(b));
            assert_eq!(one == other, one.pending() == other.pending(), "{a:02X?} and {b:02X?}");
            if one == other {
                assert_eq!(hash(&one), hash(&other), "{a:02X?} and {b:02X?}");
            }
        }
    }
    assert_ne!(Utf8Decoder::new(), Utf8Decoder::with_offset(1));
}

#[test]
fn from_utf8_agrees_with_std_and_the_oracle() {
    let mut rng = Rng::new(3);
    for len in 0..=300 {
        for _ in 0..40 {
            let bytes = rng.dirty_text(len);
            let std = core::str::from_utf8(&bytes);
            match from_utf8(&bytes) {
                Ok(text) => assert_eq!(std, Ok(text)),
                Err(error) => {
                    let (_, errors) = oracle::decode(&bytes);
                    assert_eq!((error.offset, error.kind, error.len), errors[0], "{bytes:02X?}");
                    assert_eq!(std.map_err(|e| e.valid_up_to() as u64), Err(error.offset));
                }
            }
        }
        let text = "Zażółć gęślą jaźń 💩".repeat(len / 8);
        assert_eq!(from_utf8(text.as_bytes()), Ok(&*text));
    }
}
