//! `TextDecoder::decode_chunk` and `feed_ranges` agree with `feed` for every partition, and `decode_chunk` borrows where
//! possible.

use core::ops::Range;
use std::borrow::Cow;

use utf8_codec::{BomPolicy, DecodeError, ErrorKind, ErrorPolicy, Subset, TextDecoder, TextPiece, Utf8Error};

use crate::support::{Rng, every_partition, oracle, policies, some_partitions};

const BOMS: [BomPolicy; 4] = [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject];

/// The text, the errors that the policy does not repair, and the decoder at the end.
type Outcome = (String, Vec<Utf8Error>, TextDecoder);

/// Every error policy and BOM policy, with and without a subset.
fn every_decoder() -> Vec<TextDecoder> {
    let mut decoders = Vec::new();
    for policy in policies() {
        for bom in BOMS {
            let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(bom);
            decoders.extend([decoder.clone(), decoder.with_subset(&Subset::NO_CONTROLS)]);
        }
    }
    decoders
}

fn finish(mut decoder: TextDecoder, mut text: String, mut errors: Vec<Utf8Error>) -> Outcome {
    if let Some(end) = decoder.finish() {
        match end.text() {
            Ok(end) => text.push_str(end),
            Err(error) => errors.push(error),
        }
    }
    (text, errors, decoder)
}

fn by_feed(mut decoder: TextDecoder, chunks: &[&[u8]]) -> Outcome {
    let (mut text, mut errors) = (String::new(), Vec::new());
    for chunk in chunks {
        for piece in decoder.feed(chunk) {
            match piece.text() {
                Ok(good) => text.push_str(good),
                Err(error) => errors.push(error),
            }
        }
    }
    finish(decoder, text, errors)
}

/// Whether the text of a chunk is one contiguous part of the chunk.
fn can_be_borrowed(mut decoder: TextDecoder, chunk: &[u8]) -> bool {
    let pieces: Vec<_> = decoder.feed(chunk).collect();
    matches!(pieces[..], [] | [TextPiece::Text(_)])
}

fn by_push(mut decoder: TextDecoder, chunks: &[&[u8]]) -> Outcome {
    let (mut text, mut errors) = (String::new(), Vec::new());
    for &chunk in chunks {
        let mut rest = chunk;
        loop {
            let borrows = can_be_borrowed(decoder.clone(), rest);
            let before = decoder.offset();
            match decoder.decode_chunk(rest) {
                Ok(good) => {
                    assert_eq!(matches!(good, Cow::Borrowed(_)), borrows, "{rest:02X?}");
                    assert_eq!(decoder.offset() - before, rest.len() as u64);
                    text.push_str(&good);
                    break;
                }
                Err(DecodeError { error, text: good, read, .. }) => {
                    assert_eq!(decoder.offset() - before, read as u64);
                    text.push_str(&good);
                    errors.push(error);
                    rest = &rest[read..];
                }
            }
        }
    }
    finish(decoder, text, errors)
}

/// Reads the text from the chunk by its ranges, and checks that the ranges are in order.
fn by_ranges(mut decoder: TextDecoder, chunks: &[&[u8]]) -> Outcome {
    let (mut text, mut errors) = (String::new(), Vec::new());
    let input = chunks.concat();
    let (mut at, keeps_bom) = (0, decoder.bom_policy() == BomPolicy::Keep);
    for chunk in chunks {
        let mut last = 0;
        let mut pieces = decoder.feed_ranges(chunk);
        while let Some((Range { start, end }, piece)) = pieces.next() {
            assert!(last <= start && start <= end, "{last} {start}..{end}");
            assert!(!keeps_bom || last == start, "no byte is left out");
            last = end;
            match piece {
                TextPiece::Text(good) => assert_eq!(good.as_bytes(), &chunk[start..end]),
                TextPiece::Seam(_) => assert!((1..4).contains(&end) && start == 0, "{start}..{end}"),
                // The error for a missing BOM has no bytes; the bytes before the range may be pending.
                TextPiece::IllFormed(error) if error.len == 0 => assert_eq!((start, end), (0, 0)),
                TextPiece::Repaired(_, error) | TextPiece::IllFormed(error) => {
                    assert_eq!((at + end) as u64, error.offset + u64::from(error.len), "{error}");
                    let in_chunk = &input[(at + start).max(error.offset as usize)..at + end];
                    assert_eq!(&chunk[start..end], in_chunk);
                    if error.kind != ErrorKind::MissingBom && error.kind != ErrorKind::UnexpectedBom {
                        let rejected = pieces.rejected();
                        assert!(rejected.ends_with(in_chunk));
                        assert_eq!(rejected.len(), usize::from(error.len));
                    }
                }
            }
            match piece.text() {
                Ok(good) => text.push_str(good),
                Err(error) => errors.push(error),
            }
        }
        assert!(!keeps_bom || chunk.len() - last <= 3);
        at += chunk.len();
    }
    finish(decoder, text, errors)
}

fn check(decoder: TextDecoder, chunks: &[&[u8]], expected: &Outcome) {
    assert_eq!(by_push(decoder.clone(), chunks), *expected, "{decoder:?} {chunks:02X?}");
    assert_eq!(by_ranges(decoder.clone(), chunks), *expected, "{decoder:?} {chunks:02X?}");
}

#[test]
fn every_partition_agrees_with_feed() {
    let mut rng = Rng::new(17);
    for round in 0..40 {
        let mut input = rng.dirty_text(1 + round % 8);
        if round % 3 == 0 {
            input.splice(0..0, *b"\xEF\xBB\xBF").for_each(drop);
            input.truncate(8);
        }
        if round % 5 == 0 {
            input[round % 2] = 7;
        }
        for decoder in every_decoder() {
            let expected = by_feed(decoder.clone(), &[&input]);
            every_partition(&input, |chunks| check(decoder.clone(), chunks, &expected));
        }
    }
}

#[test]
fn random_partitions_agree_with_feed() {
    let mut rng = Rng::new(18);
    for round in 0..8 {
        let input = rng.dirty_text(20 + 24 * round);
        for decoder in every_decoder() {
            let expected = by_feed(decoder.clone(), &[&input]);
            some_partitions(&input, 4, |chunks| check(decoder.clone(), chunks, &expected));
        }
    }
}

#[test]
fn text_and_errors_are_those_of_the_oracle() {
    let mut rng = Rng::new(19);
    for round in 0..300 {
        let input = rng.dirty_text(1 + round % 40);
        let (text, errors) = oracle::decode(&input);
        let errors: Vec<_> =
            errors.iter().map(|&(offset, kind, len)| Utf8Error::new(offset, kind, len)).collect();
        some_partitions(&input, 3, |chunks| {
            for by in [by_push, by_ranges] {
                let found = by(TextDecoder::new(), chunks);
                assert_eq!((found.0, found.1), (text.clone(), errors.clone()), "{chunks:02X?}");
            }
        });
    }
}

#[test]
fn long_text_in_a_subset_is_borrowed_whole() {
    let text = "\u{20AC}\u{1F980}a".repeat(5_000);
    let mut decoder = TextDecoder::new().with_subset(&Subset::NO_CONTROLS);
    assert!(
        matches!(decoder.decode_chunk(text.as_bytes()), Ok(Cow::Borrowed(found)) if found.as_ptr() == text.as_ptr())
    );
}

#[test]
fn an_error_has_the_text_before_it_and_displays_none() {
    let mut decoder = TextDecoder::new();
    assert_eq!(decoder.decode_chunk(b"secret gr\xC3").unwrap(), "secret gr");
    let failed = decoder.decode_chunk(b"\xBCn\xFFrest").unwrap_err();
    assert_eq!(
        (failed.error, &*failed.text, failed.read),
        (Utf8Error::new(12, ErrorKind::InvalidLead, 1), "\u{FC}n", 3)
    );
    assert_eq!(failed.to_string(), "ill-formed UTF-8 at byte 12 (InvalidLead, 1 byte)");
    let debug = format!("{failed:?}");
    assert!(debug.contains("text: 3 bytes") && !debug.contains('\u{FC}'), "{debug}");
    assert_eq!(Utf8Error::from(failed.clone()), failed.error);
    assert_eq!(failed.utf8_error(), Some(failed.error));
    assert_eq!(decoder.decode_chunk(b"rest").unwrap(), "rest", "the rest can be decoded");
    #[cfg(feature = "std")]
    {
        assert_eq!(Utf8Error::find(&failed), Some(failed.error));
        let boxed: Box<dyn core::error::Error + Send + Sync> = failed.clone().into();
        assert_eq!(Utf8Error::find(&*boxed), Some(failed.error));
        assert_eq!(std::io::Error::from(failed).kind(), std::io::ErrorKind::InvalidData);
    }
}

#[test]
fn an_error_at_the_first_byte_consumes_no_byte() {
    let mut decoder = TextDecoder::new();
    assert_eq!(decoder.decode_chunk(b"\xE2\x82").unwrap(), "");
    let failed = decoder.decode_chunk(b"abc").unwrap_err();
    assert_eq!((failed.error.offset, failed.error.len, &*failed.text, failed.read), (0, 2, "", 0));
    assert_eq!(decoder.decode_chunk(b"abc").unwrap(), "abc");

    let mut decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace);
    decoder.decode_chunk(b"\xE2\x82").unwrap();
    let found: Vec<_> = decoder.feed_ranges(b"abc").map(|(range, _)| range).collect();
    assert_eq!(found, [0..0, 0..3]);
}
