//! `TextDecoder`: policies, BOM, counters.

use utf8_codec::{
    Ascii, BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder, TextPiece, Utf8Decoder, Utf8Error,
};

use crate::support::{Rng, every_partition, oracle, policies, some_partitions};

/// Returns the text, and the errors that the policy did not repair.
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
    assert_eq!(decoder.finish(), None, "the end is reported once");
    assert_eq!(decoder.offset(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    (text, errors)
}

#[test]
fn each_policy_matches_its_row_of_the_table() {
    let input = b"a\xE2\x82b\x93\xFF";
    for (policy, expected) in [
        (ErrorPolicy::Strict, "ab"),
        (ErrorPolicy::Replace, "a\u{FFFD}b\u{FFFD}\u{FFFD}"),
        (ErrorPolicy::ReplaceWith('#'), "a#b##"),
        (ErrorPolicy::ReplaceAsJava, "a\u{FFFD}b\u{FFFD}\u{FFFD}"),
        (ErrorPolicy::Substitute(Ascii::QUESTION_MARK), "a??b??"),
        (ErrorPolicy::Substitute(Ascii::new(b'!').unwrap()), "a!!b!!"),
        (ErrorPolicy::Escape, r"a\xe2\x82b\x93\xff"),
        (ErrorPolicy::Latin1, "a\u{E2}\u{82}b\u{93}\u{FF}"),
        (ErrorPolicy::Windows1252, "aâ‚b“ÿ"),
        (ErrorPolicy::Skip, "ab"),
    ] {
        some_partitions(input, 20, |chunks| {
            let (text, errors) = run(TextDecoder::new().with_error_policy(policy), chunks);
            assert_eq!(text, expected, "{policy:?} {chunks:02X?}");
            assert_eq!(errors.len(), if policy == ErrorPolicy::Strict { 3 } else { 0 });
        });
    }
    assert_eq!(Ascii::new(0x80), None);
}

#[test]
fn windows_1252_matches_the_whatwg_table() {
    #[rustfmt::skip]
    const INDEX: [u32; 32] = [
        0x20AC, 0x81, 0x201A, 0x192, 0x201E, 0x2026, 0x2020, 0x2021, 0x2C6, 0x2030, 0x160, 0x2039, 0x152, 0x8D, 0x17D,
        0x8F, 0x90, 0x2018, 0x2019, 0x201C, 0x201D, 0x2022, 0x2013, 0x2014, 0x2DC, 0x2122, 0x161, 0x203A, 0x153, 0x9D,
        0x17E, 0x178,
    ];
    for byte in 0x80..=0xFF_u8 {
        let expected = if byte < 0xA0 { INDEX[usize::from(byte) - 0x80] } else { u32::from(byte) };
        // A byte that may start a sequence is truncated by the end of the input.
        let (text, _) = run(TextDecoder::new().with_error_policy(ErrorPolicy::Windows1252), &[&[byte]]);
        assert_eq!(text.chars().map(u32::from).collect::<Vec<_>>(), [expected], "{byte:02X}");
        let (text, _) = run(TextDecoder::new().with_error_policy(ErrorPolicy::Latin1), &[&[byte]]);
        assert_eq!(text.chars().map(u32::from).collect::<Vec<_>>(), [u32::from(byte)], "{byte:02X}");
    }
}

#[test]
fn replacement_matches_std() {
    let mut rng = Rng::new(9);
    for round in 0..2_000 {
        let input = rng.dirty_text(round % 200);
        let (text, errors) = run(TextDecoder::new().with_error_policy(ErrorPolicy::Replace), &[&input]);
        assert_eq!((text, errors), (String::from_utf8_lossy(&input).into_owned(), vec![]));
    }
}

/// Replaces the bytes of each surrogate by one byte that is ill-formed.
fn without_surrogates(input: &[u8]) -> Vec<u8> {
    let (mut out, mut rest) = (Vec::new(), input);
    while let Some((&first, after)) = rest.split_first() {
        let len = match rest {
            [0xED, 0xA0..=0xBF, 0x80..=0xBF, ..] => 3,
            [0xED, 0xA0..=0xBF, ..] => 2,
            _ => 0,
        };
        out.push(if len > 0 { 0xFF } else { first });
        rest = if len > 0 { &rest[len..] } else { after };
    }
    out
}

#[test]
fn a_surrogate_is_one_replacement_character_as_in_java() {
    const BYTES: [u8; 8] = [b'a', 0x80, 0xA0, 0xBF, 0xE2, 0xED, 0xF0, 0xFF];
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::ReplaceAsJava);
    for number in 0..BYTES.len().pow(5) {
        let input: Vec<u8> = (0..5).map(|at| BYTES[number >> (3 * at) & 7]).collect();
        let expected = String::from_utf8_lossy(&without_surrogates(&input)).into_owned();
        every_partition(&input, |chunks| {
            assert_eq!(run(decoder.clone(), chunks), (expected.clone(), vec![]), "{chunks:02X?}");
        });
        #[cfg(feature = "alloc")]
        assert_eq!(decoder.decode_whole(&input).expect("repaired"), expected);
    }
    // A decoder that starts again is not inside a surrogate.
    let mut used = decoder;
    used.feed(b"\xED\xA0").for_each(drop);
    assert_eq!(run(used.restarted_at(1).restarted_at(0), &[b"\xA0"]).0, "\u{FFFD}");
}

#[test]
fn substitution_keeps_the_length() {
    let mut rng = Rng::new(10);
    for round in 0..500 {
        let input = rng.dirty_text(round % 60);
        let substitute = ErrorPolicy::Substitute(Ascii::QUESTION_MARK);
        assert_eq!(run(TextDecoder::new().with_error_policy(substitute), &[&input]).0.len(), input.len());
    }
    assert_eq!(Ascii::QUESTION_MARK.get(), b'?');
    let keep_len: Vec<_> = policies().into_iter().filter(|policy| policy.keeps_len()).collect();
    assert_eq!(keep_len, [ErrorPolicy::Strict, ErrorPolicy::Substitute(Ascii::QUESTION_MARK)]);
}

#[test]
fn every_policy_is_the_same_for_every_partition() {
    let mut rng = Rng::new(11);
    for round in 0..250 {
        let input = rng.dirty_text(1 + round % 24);
        let errors = oracle::decode(&input).1;
        for policy in policies() {
            for bom in [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject] {
                let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(bom);
                let expected = run(decoder.clone(), &[&input]);
                some_partitions(&input, 3, |chunks| {
                    assert_eq!(run(decoder.clone(), chunks), expected, "{policy:?} {bom:?} {chunks:02X?}");
                });
            }
            let mut decoder = TextDecoder::new().with_error_policy(policy);
            decoder.feed(&input).for_each(drop);
            let _ = decoder.finish();
            for &kind in ErrorKind::ALL {
                let expected = errors.iter().filter(|error| error.1 == kind).count() as u64;
                assert_eq!(decoder.counters().of(kind), expected, "{kind}");
            }
            assert_eq!(decoder.counters().total(), errors.len() as u64);
        }
    }
}

#[test]
fn the_bom_policy_applies_to_the_bom() {
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
            let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(*bom);
            some_partitions(input, 10, |chunks| {
                let got = run(decoder.clone(), chunks);
                assert_eq!(got, ((*text).to_owned(), errors.clone()), "{policy:?} {bom:?} {chunks:02X?}");
            });
        }
    }
}

#[test]
fn no_text_is_lost_when_the_iterator_is_dropped_early() {
    let input = b"\xEF\xBB\xBFab\xFFc\xE2\x82d";
    for bom in [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject] {
        let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(bom);
        for input in [&input[..], &input[3..]] {
            let expected = run(decoder.clone(), &[input]);
            let (mut decoder, mut text, mut errors) = (decoder.clone(), String::new(), Vec::new());
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
fn the_bytes_of_an_error_are_returned_across_chunks() {
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
fn offsets_wrap_after_the_maximum() {
    let input = b"a\x00\xC3\xA9b\xFF\xE2\x82";
    for back in 0..=input.len() as u64 {
        let at = u64::MAX - back;
        for policy in policies() {
            for decoder in [TextDecoder::new(), TextDecoder::new().with_subset(&Subset::NO_CONTROLS)] {
                let mut expected = Vec::new();
                let mut decoder = decoder.with_error_policy(policy);
                decoder.feed(input).for_each(|piece| expected.push(piece));
                expected.extend(decoder.finish());
                let mut decoder = decoder.restarted_at(at);
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

const BOMS: [BomPolicy; 4] = [BomPolicy::Keep, BomPolicy::Strip, BomPolicy::Require, BomPolicy::Reject];

#[test]
fn an_offset_that_wraps_to_0_is_not_the_start_of_the_stream() {
    // A decoder that only checks the offset would find a BOM at the offsets 0, 1 and 2.
    for before in ["x", "é", "€", "💩", "plain text"] {
        let input = [before.as_bytes(), b"\xEF\xBB\xBFa"].concat();
        let text = format!("{before}\u{FEFF}a");
        for bom in BOMS {
            for subset in [None, Some(&Subset::NO_NUL)] {
                let decoder = TextDecoder::new()
                    .with_bom_policy(bom)
                    .restarted_at(0_u64.wrapping_sub(before.len() as u64));
                let decoder = subset.map_or(decoder.clone(), |subset| decoder.with_subset(subset));
                some_partitions(&input, 5, |chunks| {
                    let mut decoder = decoder.clone();
                    let mut found = String::new();
                    for chunk in chunks {
                        for piece in decoder.feed(chunk) {
                            found.push_str(piece.text().expect("good text"));
                        }
                    }
                    assert_eq!(decoder.finish(), None);
                    assert_eq!(found, text, "{bom:?} {chunks:02X?}");
                });
                #[cfg(feature = "alloc")]
                {
                    let (mut decoder, mut found) = (decoder, String::new());
                    decoder.feed_into(&input, &mut found).expect("good text");
                    assert_eq!(found, text, "{bom:?}");
                }
            }
        }
    }
}

#[test]
fn a_decoder_at_an_offset_equals_a_new_one() {
    for bom in BOMS {
        let policies = TextDecoder::new()
            .with_error_policy(ErrorPolicy::Replace)
            .with_bom_policy(bom)
            .with_subset(&Subset::ASCII);
        let mut used = policies.clone();
        used.feed(b"a\xFF\xC3\xA9\xE2").for_each(drop);
        assert_ne!(used, policies);
        assert_eq!(used.restarted_at(0), policies);
        assert_eq!(used.restarted_at(7), policies.restarted_at(7));
        assert_eq!(used.restarted_at(0).counters().total(), 0);
    }
    // The BOM is required again.
    let mut decoder = TextDecoder::new().with_bom_policy(BomPolicy::Require);
    for _ in 0..2 {
        let errors: Vec<_> = decoder.feed(b"a").filter_map(|piece| piece.text().err()).collect();
        assert_eq!(errors, [Utf8Error::new(0, ErrorKind::MissingBom, 0)]);
        decoder = decoder.restarted_at(0);
    }
    // It is required at offset 0 only.
    assert_eq!(decoder.restarted_at(1).feed(b"a").next(), Some(TextPiece::Text("a")));
    assert_eq!(decoder.restarted_at(1).finish(), None);
}

#[test]
fn a_bom_may_follow_an_empty_start() {
    for (bom, missing) in [(BomPolicy::Strip, 0), (BomPolicy::Require, 1)] {
        let mut decoder = TextDecoder::new().with_bom_policy(bom);
        let ends = [decoder.finish(), decoder.finish()];
        assert_eq!(ends.iter().flatten().count(), missing);
        // It need not have one. The missing BOM was reported.
        for start in [&b"\xEF\xBB\xBFa"[..], b"a"] {
            let mut resumed = decoder.clone();
            let pieces: Vec<_> = resumed.feed(start).collect();
            assert_eq!(pieces, [TextPiece::Text("a")], "{bom:?}");
        }
    }
}

#[test]
fn decoders_with_different_pending_bytes_are_not_equal() {
    let beginnings: [&[u8]; 9] =
        [b"", b"\xC3", b"\xC4", b"\xE2", b"\xE2\x82", b"\xE2\x83", b"\xF0", b"\xF0\x9F", b"\xF0\x9F\x92"];
    let decoded = |bytes: &[u8]| {
        // The number of bytes is the same, so that only the pending bytes differ.
        let mut decoder = TextDecoder::new();
        decoder.feed(&b"abc"[..3 - bytes.len()]).for_each(drop);
        decoder.feed(bytes).for_each(drop);
        decoder
    };
    let validated = |bytes: &[u8]| {
        let mut decoder = Utf8Decoder::with_offset(3 - bytes.len() as u64);
        decoder.validate(bytes).expect("the start of a sequence");
        decoder
    };
    for a in beginnings {
        for b in beginnings {
            assert_eq!(decoded(a) == decoded(b), a == b, "{a:02X?} {b:02X?}");
            assert_eq!(validated(a) == validated(b), a == b, "{a:02X?} {b:02X?}");
        }
    }
    let decoder = TextDecoder::new();
    assert_ne!(decoder.clone(), decoder.clone().with_error_policy(ErrorPolicy::Skip));
    assert_ne!(decoder.clone(), decoder.clone().with_bom_policy(BomPolicy::Strip));
    assert_ne!(decoder.clone(), decoder.clone().with_subset(&Subset::BMP));
    assert_ne!(decoder, decoder.restarted_at(1));
}

#[test]
fn no_output_exceeds_the_length_limit_of_its_policy() {
    let mut policies = policies();
    policies.extend(['é', '€', '💩'].map(ErrorPolicy::ReplaceWith));
    for policy in policies {
        let (mut longest, mut shortest) = (0.0_f64, f64::MAX);
        let decoder = TextDecoder::new().with_error_policy(policy).with_subset(&Subset::ASCII);
        let mut check = |input: &[u8]| {
            let (text, errors) = run(decoder.clone(), &[input]);
            if !errors.is_empty() {
                return;
            }
            let (input, output) = (input.len() as u64, text.len() as u64);
            assert!(output <= policy.max_output_len(input).expect("no overflow"), "{policy:?}");
            assert!(output >= policy.min_output_len(input), "{policy:?}");
            assert!(!policy.keeps_len() || input == output, "{policy:?}");
            longest = longest.max(output as f64 / input as f64);
            shortest = shortest.min(output as f64 / input as f64);
        };
        for byte in 0..=0xFF_u8 {
            check(&[byte; 64]);
        }
        for sequence in ["é", "€", "💩", "\u{10FFFF}"] {
            check(sequence.repeat(16).as_bytes());
        }
        check(&b"\xF0\x90\x80".repeat(20));
        // Some input reaches the limit, so the limit is exact.
        assert_eq!(policy.max_output_len(64).map(|most| most as f64), Some(longest * 64.0), "{policy:?}");
        let least = policy.min_output_len(64) as f64;
        assert!(
            least == shortest * 64.0 || policy == ErrorPolicy::ReplaceWith('💩'),
            "{policy:?} {shortest}"
        );
        let doubles = policy.max_output_len(u64::MAX).is_some();
        assert_eq!(doubles, policy.max_output_len(1) == Some(1), "{policy:?}: `None` on overflow");
    }
}

#[test]
#[cfg(feature = "alloc")]
fn the_minimum_length_is_reached_for_every_length() {
    static NOTHING: Subset = Subset::new(&[]);
    let policies = [
        ErrorPolicy::Replace,
        ErrorPolicy::ReplaceWith('#'),
        ErrorPolicy::ReplaceWith('é'),
        ErrorPolicy::ReplaceWith('💩'),
        ErrorPolicy::Substitute(Ascii::QUESTION_MARK),
        ErrorPolicy::Escape,
        ErrorPolicy::Latin1,
        ErrorPolicy::Windows1252,
        ErrorPolicy::Skip,
    ];
    for policy in policies {
        for len in 0..=13 {
            // Characters of 4 bytes, and one of the rest.
            let text = "💩".repeat(len / 4) + ["", "a", "é", "€"][len % 4];
            let repaired = [None, Some(&Subset::BMP), Some(&NOTHING)].map(|subset| {
                let decoder = TextDecoder::new().with_error_policy(policy);
                let decoder = subset.map_or(decoder.clone(), |subset| decoder.with_subset(subset));
                decoder.decode_whole(text.as_bytes()).expect("every error is repaired").len() as u64
            });
            let shortest = repaired.into_iter().min();
            assert_eq!(Some(policy.min_output_len(len as u64)), shortest, "{policy:?} {len}");
        }
    }
}

#[test]
fn the_bytes_of_a_rejected_bom_are_returned() {
    let decoder = TextDecoder::new().with_bom_policy(BomPolicy::Reject);
    for decoder in [decoder.clone(), decoder.with_subset(&Subset::BMP)] {
        some_partitions(b"\xEF\xBB\xBFa\xFF", 20, |chunks| {
            let (mut decoder, mut rejected) = (decoder.clone(), Vec::new());
            for chunk in chunks {
                let mut pieces = decoder.feed(chunk);
                while let Some(piece) = pieces.next() {
                    if let TextPiece::IllFormed(error) = piece {
                        rejected.push((error.kind, pieces.rejected().to_vec()));
                    }
                }
            }
            let expected =
                [(ErrorKind::UnexpectedBom, b"\xEF\xBB\xBF".to_vec()), (ErrorKind::InvalidLead, vec![0xFF])];
            assert_eq!(rejected, expected, "{chunks:02X?}");
        });
    }
}
