//! `TextDecoder`: policies, BOM, counters.
#![allow(missing_docs)]

mod support;

use support::{Rng, oracle, policies, some_partitions};
use utf8_codec::{Ascii, BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder, TextPiece, Utf8Error};

/// The text, and the errors that the policy did not repair.
fn run(mut decoder: TextDecoder, chunks: &[&[u8]]) -> (String, Vec<Utf8Error>) {
    let (mut text, mut errors) = (String::new(), Vec::new());
    let mut note = |piece: TextPiece<'_>| match piece.text() {
        Ok(good) => text.push_str(good),
        Err(error) => errors.push(error),
    };
    for chunk in chunks {
        decoder.feed(chunk).for_each(&mut note);
    }
    decoder.finish().into_iter().for_each(&mut note);
    assert_eq!(decoder.finish(), None, "the end is told once");
    assert_eq!(decoder.offset(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    (text, errors)
}

#[test]
fn each_policy_does_what_its_row_says() {
    let input = b"a\xE2\x82b\x93\xFF";
    for (policy, expected) in [
        (ErrorPolicy::Strict, "ab"),
        (ErrorPolicy::Replace, "a\u{FFFD}b\u{FFFD}\u{FFFD}"),
        (ErrorPolicy::ReplaceWith('#'), "a#b##"),
        (ErrorPolicy::Substitute(Ascii::QUESTION_MARK), "a??b??"),
        (ErrorPolicy::Substitute(Ascii::new(b'!').unwrap()), "a!!b!!"),
        (ErrorPolicy::Escape, r"a\xe2\x82b\x93\xff"),
        (ErrorPolicy::Latin1, "a\u{E2}\u{82}b\u{93}\u{FF}"),
        (ErrorPolicy::Windows1252, "aâ‚b“ÿ"),
        (ErrorPolicy::Skip, "ab"),
    ] {
        some_partitions(input, 20, |chunks| {
            let (text, errors) = run(TextDecoder::new().on_error(policy), chunks);
            assert_eq!(text, expected, "{policy:?} {chunks:02X?}");
            assert_eq!(errors.len(), if policy == ErrorPolicy::Strict { 3 } else { 0 });
        });
    }
    assert_eq!(Ascii::new(0x80), None);
}

#[test]
fn windows_1252_is_the_table_of_the_whatwg() {
    #[rustfmt::skip]
    const INDEX: [u32; 32] = [
        0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D, 0x17D,
        0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D,
        0x17E, 0x178,
    ];
    for byte in 0x80..=0xFF_u8 {
        let expected = if byte < 0xA0 { INDEX[usize::from(byte) - 0x80] } else { u32::from(byte) };
        // Bytes that may start a sequence are broken off by the end.
        let (text, _) = run(TextDecoder::new().on_error(ErrorPolicy::Windows1252), &[&[byte]]);
        assert_eq!(text.chars().map(u32::from).collect::<Vec<_>>(), [expected], "{byte:02X}");
        let (text, _) = run(TextDecoder::new().on_error(ErrorPolicy::Latin1), &[&[byte]]);
        assert_eq!(text.chars().map(u32::from).collect::<Vec<_>>(), [u32::from(byte)], "{byte:02X}");
    }
}

#[test]
fn replacement_is_what_std_does() {
    let mut rng = Rng::new(9);
    for round in 0..2_000 {
        let input = rng.dirty_text(round % 200);
        let (text, errors) = run(TextDecoder::new().on_error(ErrorPolicy::Replace), &[&input]);
        assert_eq!((text, errors), (String::from_utf8_lossy(&input).into_owned(), vec![]));
    }
}

#[test]
fn substitution_keeps_the_length() {
    let mut rng = Rng::new(10);
    for round in 0..500 {
        let input = rng.dirty_text(round % 60);
        let substitute = ErrorPolicy::Substitute(Ascii::QUESTION_MARK);
        assert_eq!(run(TextDecoder::new().on_error(substitute), &[&input]).0.len(), input.len());
    }
}

#[test]
fn every_policy_is_the_same_for_every_partition_and_counts_by_kind() {
    let mut rng = Rng::new(11);
    for round in 0..250 {
        let input = rng.dirty_text(1 + round % 24);
        let errors = oracle::decode(&input).1;
        for policy in policies() {
            for bom in [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject] {
                let decoder = TextDecoder::new().on_error(policy).bom(bom);
                let expected = run(decoder, &[&input]);
                some_partitions(&input, 3, |chunks| {
                    assert_eq!(run(decoder, chunks), expected, "{policy:?} {bom:?} {chunks:02X?}");
                });
            }
            let mut decoder = TextDecoder::new().on_error(policy);
            decoder.feed(&input).for_each(drop);
            let _ = decoder.finish();
            for kind in ErrorKind::ALL {
                let expected = errors.iter().filter(|error| error.1 == kind).count() as u64;
                assert_eq!(decoder.counters().of(kind), expected, "{kind}");
            }
            assert_eq!(decoder.counters().total(), errors.len() as u64);
        }
    }
}

#[test]
fn the_bom_follows_its_policy() {
    let missing = |len| vec![Utf8Error::new(0, ErrorKind::MissingBom, len)];
    let unexpected = || vec![Utf8Error::new(0, ErrorKind::UnexpectedBom, 3)];
    let cases: [(BomPolicy, &[u8], &str, Vec<Utf8Error>); 14] = [
        (BomPolicy::Keep, b"\xEF\xBB\xBFa", "\u{FEFF}a", vec![]),
        (BomPolicy::Strip, b"\xEF\xBB\xBFa", "a", vec![]),
        (BomPolicy::Strip, b"\xEF\xBB\xBF\xEF\xBB\xBFa", "\u{FEFF}a", vec![]),
        (BomPolicy::Strip, b"a\xEF\xBB\xBF", "a\u{FEFF}", vec![]),
        (BomPolicy::Strip, b"\xEF\xBB\xBF", "", vec![]),
        (BomPolicy::Require, b"\xEF\xBB\xBFa", "a", vec![]),
        (BomPolicy::Require, b"a", "a", missing(0)),
        (BomPolicy::Require, "é".as_bytes(), "é", missing(0)),
        (BomPolicy::Require, b"", "", missing(0)),
        (BomPolicy::Require, b"\xFFa", "a", missing(1)),
        (BomPolicy::Require, b"\xEF\xBB", "", missing(2)),
        (BomPolicy::Reject, b"\xEF\xBB\xBFa", "a", unexpected()),
        (BomPolicy::Reject, b"\xEF\xBB\xBF", "", unexpected()),
        (BomPolicy::Reject, b"a\xEF\xBB\xBF", "a\u{FEFF}", vec![]),
    ];
    for policy in policies() {
        for (bom, input, text, errors) in &cases {
            let decoder = TextDecoder::new().on_error(policy).bom(*bom);
            some_partitions(input, 10, |chunks| {
                let got = run(decoder, chunks);
                assert_eq!(got, ((*text).to_owned(), errors.clone()), "{policy:?} {bom:?} {chunks:02X?}");
            });
        }
    }
}

#[test]
fn an_early_drop_loses_nothing() {
    let input = b"\xEF\xBB\xBFab\xFFc\xE2\x82d";
    for bom in [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject] {
        let decoder = TextDecoder::new().on_error(ErrorPolicy::Replace).bom(bom);
        for input in [&input[..], &input[3..]] {
            let expected = run(decoder, &[input]);
            let (mut decoder, mut text, mut errors) = (decoder, String::new(), Vec::new());
            while decoder.offset() < input.len() as u64 {
                let Some(piece) = decoder.feed(&input[decoder.offset() as usize..]).next() else { break };
                match piece.text() {
                    Ok(good) => text.push_str(good),
                    Err(error) => errors.push(error),
                }
            }
            assert_eq!((text, errors), expected, "{bom:?}");
        }
    }
}

#[test]
fn the_bytes_of_an_error_can_be_had_even_from_a_seam() {
    let mut decoder = TextDecoder::new();
    decoder.feed(b"a\xF0\x9F").for_each(drop);
    let mut pieces = decoder.feed(b"\x92!");
    assert_eq!(
        pieces.next(),
        Some(TextPiece::IllFormed(Utf8Error::new(1, ErrorKind::MissingContinuation, 3)))
    );
    assert_eq!(pieces.rejected(), b"\xF0\x9F\x92");
}

#[test]
fn offsets_start_again_behind_the_last_one() {
    let input = b"a\x00\xC3\xA9b\xFF\xE2\x82";
    for back in 0..=input.len() as u64 {
        let at = u64::MAX - back;
        for policy in policies() {
            for decoder in [TextDecoder::new(), TextDecoder::new().subset(Subset::NO_CONTROLS)] {
                let mut expected = Vec::new();
                let mut decoder = decoder.on_error(policy);
                decoder.feed(input).for_each(|piece| expected.push(piece));
                expected.extend(decoder.finish());
                let mut decoder = decoder.at(at);
                let mut found: Vec<_> = decoder.feed(input).collect();
                found.extend(decoder.finish());
                for piece in &mut found {
                    if let TextPiece::Repaired(_, error) | TextPiece::IllFormed(error) = piece {
                        error.offset = error.offset.wrapping_sub(at);
                    }
                }
                assert_eq!(found, expected, "{policy:?} at {at}");
            }
        }
    }
}
