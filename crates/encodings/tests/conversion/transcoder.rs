//! `Transcoder`: every pair of encodings, for every partition of the input and every output buffer size.

use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, Subset};
use utf8_codec_encodings::{Encoding, TranscodeStatus as Status, Transcoder};

use crate::support::encodings::{self, Errors, OWN, Open, by_feed, facts};
use crate::support::{Rng, every_partition, some_partitions};

/// Same as [`by_feed`], but with an output buffer of `room` bytes.
fn by_feed_into(mut transcoder: Transcoder, chunks: &[&[u8]], room: usize) -> (Vec<u8>, Errors) {
    let (mut out, mut errors, mut buffer) = (Vec::new(), Vec::new(), vec![0xEE; room]);
    for chunk in chunks {
        let mut rest = *chunk;
        loop {
            let progress = transcoder.feed_into_slice(rest, &mut buffer);
            rest = &rest[progress.read..];
            out.extend_from_slice(&buffer[..progress.written]);
            match progress.status {
                Status::InputEmpty => break,
                Status::OutputFull => assert!(progress.written > 0, "no progress into {room} bytes"),
                Status::IllFormed(error) => errors.push(facts(error)),
            }
        }
        assert!(rest.is_empty());
    }
    loop {
        let progress = transcoder.finish_into_slice(&mut buffer);
        out.extend_from_slice(&buffer[..progress.written]);
        match progress.status {
            Status::InputEmpty => break,
            Status::OutputFull => assert!(progress.written > 0),
            Status::IllFormed(error) => errors.push(facts(error)),
        }
    }
    (out, errors)
}

/// Returns the output and the errors of the naive decoder and encoder.
fn oracle(from: Encoding, to: Encoding, open: Open, input: &[u8]) -> (Vec<u8>, Errors) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    for (at, len, found) in encodings::decode(from, open, to == Encoding::Wtf8, input) {
        match found.and_then(|value| encodings::encode(to, open, value).ok_or(ErrorKind::Unmappable)) {
            Ok(bytes) => out.extend(bytes),
            Err(kind) => errors.push((at, kind, len)),
        }
    }
    (out, errors)
}

/// Random bytes that are often almost well-formed in the encoding.
fn dirty(rng: &mut Rng, encoding: Encoding, len: usize) -> Vec<u8> {
    const VALUES: [u32; 20] = [
        0x41,
        0x0A,
        0x00,
        0x7F,
        0xE9,
        0x80,
        0x20AC,
        0x7FF,
        0x800,
        0xFEFF,
        0xFFFE,
        0xFFFF,
        0xD83D,
        0xDCA9,
        0xDFFF,
        0x1F4A9,
        0x10FFFF,
        0x11_0000,
        0x400_0000,
        0x7FFF_FFFF,
    ];
    let open = Open { surrogates: true, ..Open::default() };
    let mut out = Vec::new();
    while out.len() < len {
        match (rng.below(8), encodings::encode(encoding, open, VALUES[rng.below(VALUES.len())])) {
            (0, _) => out.push(rng.next() as u8),
            (1, Some(bytes)) => out.extend(&bytes[..bytes.len() - 1]),
            (2, _) => out.extend(rng.dirty_text(3)),
            (_, Some(bytes)) => out.extend(bytes),
            _ => {}
        }
    }
    out.truncate(len);
    out
}

#[test]
fn every_pair_of_encodings_agrees_with_the_oracle() {
    let mut rng = Rng::new(4);
    for &from in OWN {
        for &to in OWN {
            for round in 0..40 {
                let bits = rng.below(16);
                let open = Open {
                    surrogates: bits & 1 != 0,
                    lenient_java: bits & 2 != 0,
                    reject_pairs: bits & 4 != 0,
                    reject_fffe_ffff: bits & 8 != 0,
                };
                let input = dirty(&mut rng, from, 1 + round % 9);
                let transcoder = Transcoder::new(from, to).with_switches(open.switches());
                let expected = oracle(from, to, open, &input);
                every_partition(&input, |chunks| {
                    let case = || format!("{from} to {to} {open:?} {chunks:02X?}");
                    assert_eq!(by_feed(transcoder.clone(), chunks), expected, "{}", case());
                    assert_eq!(by_feed_into(transcoder.clone(), chunks, 6), expected, "{}", case());
                });
            }
        }
    }
}

#[test]
fn long_samples_and_every_buffer_size_agree_with_the_oracle() {
    let mut rng = Rng::new(5);
    for (number, &from) in OWN.iter().enumerate() {
        for &to in OWN {
            let mut input = dirty(&mut rng, from, 90);
            // Runs of characters for the fast path, between other bytes.
            for value in
                "plain ASCII, longer than any block; Ещё немного кириллицы, 漢字 and 💩💩💩💩💩💩💩💩".chars()
            {
                input.extend(encodings::encode(from, Open::default(), value.into()).unwrap_or_default());
            }
            input.extend(dirty(&mut rng, from, 40));
            let open = Open::default();
            let expected = oracle(from, to, open, &input);
            let transcoder = Transcoder::new(from, to);
            some_partitions(&input, 10, |chunks| {
                assert_eq!(by_feed(transcoder.clone(), chunks), expected, "{from} to {to} {chunks:02X?}");
            });
            for room in (6 + number % 4..80).step_by(4) {
                assert_eq!(
                    by_feed_into(transcoder.clone(), &[&input], room),
                    expected,
                    "{from} to {to} room {room}"
                );
            }
        }
    }
}

/// All code points of the planes with assigned characters that differ from each other, and some of the others.
#[test]
fn code_points_round_trip_through_their_encodings() {
    let is_tested = |value: &u32| matches!(value, 0..0x2_0000 | 0x10_FF00..) || value.is_multiple_of(61);
    for &encoding in OWN {
        let (mut held, mut naive) = (Vec::new(), Vec::new());
        for value in (0..=0x10_FFFF).filter(is_tested).filter(|&value| char::from_u32(value).is_some()) {
            if let Some(sequence) = encodings::encode(encoding, Open::default(), value) {
                held.extend(value.to_be_bytes());
                naive.extend(sequence);
            }
        }
        match encoding {
            Encoding::Latin1 | Encoding::Windows1252 => assert_eq!(held.len() / 4, 256, "{encoding}"),
            _ => assert!(held.len() / 4 > 0x2_0000 - 0x800, "{encoding}"),
        }
        let (bytes, errors) = by_feed(Transcoder::new(Encoding::Utf32Be, encoding), &[&held]);
        assert_eq!(errors, [], "{encoding}");
        assert!(bytes == naive, "{encoding}");
        for size in [4099, 61] {
            let chunks: Vec<&[u8]> = bytes.chunks(size).collect();
            let (back, errors) = by_feed(Transcoder::new(encoding, Encoding::Utf32Be), &chunks);
            assert!(errors.is_empty() && back == held, "{encoding} by {size}");
        }
        // UTF-8 and UTF-16 have their own fast paths.
        let mut there = bytes.clone();
        let (utf_8, utf_16) = (Encoding::Utf8, Encoding::Utf16Le);
        for (from, to) in [(encoding, utf_8), (utf_8, utf_16), (utf_16, encoding)] {
            let (next, errors) = by_feed(Transcoder::new(from, to), &there.chunks(4099).collect::<Vec<_>>());
            assert_eq!(errors, [], "{from} to {to}");
            there = next;
        }
        assert!(there == bytes, "{encoding}");
    }
}

#[test]
fn code_points_up_to_31_bits_round_trip() {
    let mut rng = Rng::new(31);
    let mut values =
        vec![0x10_FFFF_u32, 0x11_0000, 0x1F_FFFF, 0x20_0000, 0x3FF_FFFF, 0x400_0000, 0x7FFF_FFFF];
    values.extend(
        (0..20_000)
            .map(|_| rng.next() as u32 >> 1 >> rng.below(12))
            .filter(|v| !(0xD800..0xE000).contains(v)),
    );
    let wide: Vec<u8> = values.iter().flat_map(|value| value.to_le_bytes()).collect();
    let (bytes, errors) = by_feed(Transcoder::new(Encoding::Utf32Le, Encoding::Utf8Ucs4), &[&wide]);
    assert_eq!(errors, []);
    let chunks: Vec<&[u8]> = bytes.chunks(5).collect();
    assert_eq!(by_feed(Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf32Le), &chunks), (wide, vec![]));
}

fn repaired(transcoder: Transcoder, chunks: &[&[u8]]) -> Vec<u8> {
    let (out, errors) = by_feed_into(transcoder, chunks, 7);
    assert_eq!(errors, []);
    out
}

#[test]
fn each_policy_repairs_input_and_unmappable_characters() {
    // U+00E9, an ill-formed byte, and U+20AC, which Latin-1 does not contain.
    let input = b"\xC3\xA9\xFF\xE2\x82\xAC.";
    for (policy, expected) in [
        (ErrorPolicy::Replace, &b"\xE9??."[..]),
        (ErrorPolicy::ReplaceWith('\u{A4}'), b"\xE9\xA4\xA4."),
        (ErrorPolicy::Substitute(utf8_codec::Ascii::QUESTION_MARK), b"\xE9????."),
        (ErrorPolicy::Escape, b"\xE9\\xff\\xe2\\x82\\xac."),
        (ErrorPolicy::Latin1, b"\xE9\xFF\xE2\x82\xAC."),
        // The replacement U+201A, which is byte 82 in windows-1252, is not in Latin-1 either.
        (ErrorPolicy::Windows1252, b"\xE9\xFF\xE2?\xAC."),
        (ErrorPolicy::Skip, b"\xE9."),
    ] {
        let transcoder = Transcoder::new(Encoding::Utf8, Encoding::Latin1).with_error_policy(policy);
        every_partition(input, |chunks| {
            assert_eq!(repaired(transcoder.clone(), chunks), expected, "{policy:?} {chunks:02X?}");
            let mut whole = transcoder.clone();
            for chunk in chunks {
                let _ = whole.feed_into_slice(chunk, &mut [0; 64]);
            }
            assert_eq!(whole.counters().of(ErrorKind::InvalidLead), 1);
            assert_eq!(whole.counters().of(ErrorKind::Unmappable), 1);
        });
    }
}

#[test]
fn an_adopted_subset_rejects_code_points_of_every_encoding() {
    for &encoding in OWN {
        let bytes = |value| encodings::encode(encoding, Open::default(), value).expect("Latin-1");
        let (a, e) = (bytes(0x61), bytes(0xE9));
        let input = [&a[..], &e, &a].concat();
        every_partition(&input, |chunks| {
            let transcoder = Transcoder::new(encoding, Encoding::Utf8).with_subset(&Subset::ASCII);
            let rejected = vec![(a.len() as u64, ErrorKind::OutsideSubset, e.len() as u8)];
            assert_eq!(by_feed(transcoder.clone(), chunks), (b"aa".to_vec(), rejected), "{encoding}");
            let mended = repaired(transcoder.with_error_policy(ErrorPolicy::Replace), chunks);
            assert_eq!(mended, "a\u{FFFD}a".as_bytes(), "{encoding}");
        });
    }
}

#[test]
fn a_subset_is_the_same_for_every_partition_of_long_input() {
    static SUBSET: Subset = Subset::all_of(&[Subset::NO_CONTROLS, Subset::NO_BIDI_CONTROLS]);
    let mut rng = Rng::new(6);
    for &from in OWN {
        for to in [Encoding::Utf8, Encoding::Utf16Le, Encoding::Cesu8, Encoding::Wtf8, Encoding::Latin1] {
            for round in 0..4 {
                let mut input = dirty(&mut rng, from, 20 * round);
                for i in 0..1 + 200 * round {
                    let text =
                        ["plain ASCII, ", "Ещё ", "漢字", "é\u{85}", "\u{2019}s", "\u{202E}", "💩", "\0"];
                    let text = if i % 60 < 50 { text[rng.below(3)] } else { text[rng.below(text.len())] };
                    for value in text.chars() {
                        input.extend(
                            encodings::encode(from, Open::default(), value.into()).unwrap_or_default(),
                        );
                    }
                }
                let (mut out, mut errors) = (Vec::new(), Vec::new());
                for (at, len, found) in encodings::decode(from, Open::default(), to == Encoding::Wtf8, &input)
                {
                    let inside = |value: u32| {
                        if SUBSET.contains(value) { Ok(value) } else { Err(ErrorKind::OutsideSubset) }
                    };
                    let encoded = found.and_then(inside).and_then(|value| {
                        encodings::encode(to, Open::default(), value).ok_or(ErrorKind::Unmappable)
                    });
                    match encoded {
                        Ok(bytes) => out.extend(bytes),
                        Err(kind) => errors.push((at, kind, len)),
                    }
                }
                let expected = (out, errors);
                let transcoder = Transcoder::new(from, to).with_subset(&SUBSET);
                for len in [1, 7, 97, 1_000, usize::MAX] {
                    let chunks: Vec<&[u8]> = input.chunks(len).collect();
                    assert_eq!(by_feed(transcoder.clone(), &chunks), expected, "{from} to {to} by {len}");
                }
                assert_eq!(by_feed_into(transcoder, &[&input], 700), expected, "{from} to {to}");
            }
        }
    }
}

/// Long stretches without surrogate pairs, stretches with many, and ill-formed bytes at any distance from both, because
/// the fast path changes its order of work between such stretches.
#[test]
fn long_stretches_with_and_without_pairs_agree_with_the_oracle() {
    let mut rng = Rng::new(11);
    let stretches = ["plain ASCII ", "Ещё ", "한국어，", "的💩", "💩", "a\0", "\0"];
    for (from, to) in [
        (Encoding::Utf8, Encoding::Cesu8),
        (Encoding::Cesu8, Encoding::Utf8),
        (Encoding::Utf8, Encoding::ModifiedUtf8),
        (Encoding::ModifiedUtf8, Encoding::Utf8),
    ] {
        for round in 0..6 {
            let open = Open { lenient_java: round % 2 == 0, ..Open::default() };
            let mut input = Vec::new();
            for _ in 0..1 + rng.below(6) {
                let text = stretches[rng.below(stretches.len())].repeat(1 + rng.below(150));
                for value in text.chars() {
                    input.extend(encodings::encode(from, open, value.into()).expect("has every character"));
                }
                if rng.below(3) == 0 {
                    input.extend(dirty(&mut rng, from, 6));
                }
            }
            let expected = oracle(from, to, open, &input);
            let transcoder = Transcoder::new(from, to).with_switches(open.switches());
            assert!(by_feed(transcoder.clone(), &[&input]) == expected, "{from} to {to}, round {round}");
            some_partitions(&input, 3, |chunks| {
                assert!(by_feed(transcoder.clone(), chunks) == expected, "{from} to {to}, round {round}");
            });
            let room = 6 + rng.below(5_000);
            assert!(by_feed_into(transcoder, &[&input], room) == expected, "{from} to {to}, room {room}");
        }
    }
}

/// Converts well-formed text in every encoding that contains it. The text is long enough for every fast path.
#[test]
fn long_text_round_trips_through_every_pair_of_encodings() {
    let words =
        ["plain ASCII ", "élève à Noël ", "Ещё ", "漢字、한국어", "💩🎉", "\u{2019}€…", "\0", "힣\u{E000}"];
    let mut rng = Rng::new(7);
    for kinds in 1..=words.len() {
        let mut text = String::new();
        while text.len() < 3_000 + 700 * kinds {
            text.push_str(if rng.below(3) == 0 { words[rng.below(kinds)] } else { words[kinds - 1] });
        }
        for &from in OWN {
            let has = |to, value: char| encodings::encode(to, Open::default(), value.into());
            for &to in OWN {
                let both = text.chars().filter(|&it| has(from, it).is_some() && has(to, it).is_some());
                let (mut input, mut expected) = (Vec::new(), Vec::new());
                for character in both {
                    input.extend(has(from, character).expect("both have it"));
                    expected.extend(has(to, character).expect("both have it"));
                }
                let found = by_feed(Transcoder::new(from, to), &[&input]);
                assert!(found == (expected, vec![]), "{from} to {to}, {kinds} kinds");
            }
        }
    }
}

#[test]
fn a_transcoder_can_be_used_again_after_its_end() {
    let mut transcoder = Transcoder::new(Encoding::Utf16Le, Encoding::Utf8);
    let mut out = String::new();
    transcoder.feed_into(b"a\0b", &mut out).expect("well-formed so far");
    assert_eq!(transcoder.finish_into(&mut out).map_err(facts), Err((2, ErrorKind::Truncated, 1)));
    assert_eq!(transcoder.finish_into(&mut out), Ok(()));
    transcoder.feed_into(b"c\0\0\xDC", &mut out).expect_err("a low surrogate");
    transcoder.feed_into(b"d\0", &mut out).expect("well-formed");
    assert_eq!((out.as_str(), transcoder.offset()), ("acd", 9));
}

#[test]
fn utf_8b_round_trips_any_bytes() {
    let mut rng = Rng::new(383);
    for round in 0..2_000 {
        let input = rng.dirty_text(1 + round % 8);
        every_partition(&input, |chunks| {
            assert_eq!(
                by_feed(Transcoder::new(Encoding::Utf8b, Encoding::Utf8b), chunks),
                (input.clone(), vec![])
            );
            let (escaped, errors) = by_feed(Transcoder::new(Encoding::Utf8b, Encoding::Wtf8), chunks);
            assert_eq!(errors, []);
            let (back, errors) = by_feed(Transcoder::new(Encoding::Wtf8, Encoding::Utf8b), &[&escaped]);
            assert_eq!((back, errors), (input.clone(), vec![]));
        });
    }
}

#[test]
fn an_error_names_the_source_encoding() {
    let titles = [
        (Encoding::Utf8, "UTF-8"),
        (Encoding::Utf8Ucs4, "UTF-8 of RFC 2279"),
        (Encoding::Cesu8, "CESU-8"),
        (Encoding::ModifiedUtf8, "Modified UTF-8"),
        (Encoding::Wtf8, "WTF-8"),
        (Encoding::Utf16Le, "UTF-16LE"),
        (Encoding::Utf16Be, "UTF-16BE"),
        (Encoding::Utf32Le, "UTF-32LE"),
        (Encoding::Utf32Be, "UTF-32BE"),
    ];
    let message = |mut transcoder: Transcoder, bytes: &[u8]| {
        let mut out = Vec::new();
        let error = transcoder.feed_into(bytes, &mut out).and_then(|()| transcoder.finish_into(&mut out));
        let error = error.expect_err("not well-formed in any of them");
        assert_eq!(error.source_encoding, transcoder.source());
        error.to_string()
    };
    for (encoding, title) in titles {
        let transcoder = Transcoder::new(encoding, Encoding::Utf8);
        let len = encoding.bom().map_or(0, |bom| if bom.len() == 3 { 1 } else { bom.len() - 1 });
        let bytes = if len == 1 { "1 byte".to_owned() } else { format!("{len} bytes") };
        let truncated = &b"\xE0\xA0\x80"[..if len == 1 { 1 } else { len }];
        assert_eq!(
            message(transcoder.clone(), truncated),
            format!("ill-formed {title} at byte 0 (Truncated, {bytes})")
        );

        let missing = message(transcoder.clone().with_bom_policy(BomPolicy::Require), b"");
        assert_eq!(missing, format!("no BOM at byte 0 (MissingBom, 0 bytes of {title})"));
        let bom = encoding.bom().expect("one");
        let unexpected = message(transcoder.clone().with_bom_policy(BomPolicy::Reject), bom);
        assert_eq!(unexpected, format!("BOM at byte 0 (UnexpectedBom, {} bytes of {title})", bom.len()));
        let outside = message(transcoder.with_subset(&Subset::ASCII), bom);
        let expected =
            format!("character outside the subset at byte 0 (OutsideSubset, {} bytes of {title})", bom.len());
        assert_eq!(outside, expected);
        let unmappable = message(Transcoder::new(encoding, Encoding::Latin1), bom);
        let expected =
            format!("character not in ISO 8859-1 at byte 0 (Unmappable, {} bytes of {title})", bom.len());
        assert_eq!(unmappable, expected);
    }
    // The message names the encoding of the BOM.
    let sniffing = Transcoder::new(Encoding::Utf8, Encoding::Utf8).with_sniffing(true);
    assert_eq!(message(sniffing, b"\xFF\xFEa"), "ill-formed UTF-16LE at byte 2 (Truncated, 1 byte)");
}

/// Many errors are repaired together if there is enough room. Into a small buffer they are repaired one at a time.
#[test]
fn many_errors_are_repaired_the_same_in_every_room() {
    let targets = [
        Encoding::Utf8,
        Encoding::Utf8Ucs4,
        Encoding::Utf8b,
        Encoding::Wtf8,
        Encoding::Cesu8,
        Encoding::ModifiedUtf8,
        Encoding::Utf16Le,
        Encoding::Utf16Be,
        Encoding::Utf32Le,
        Encoding::Utf32Be,
        Encoding::Latin1,
    ];
    let mut rng = Rng::new(71);
    let mut input = dirty(&mut rng, Encoding::Utf8, 2000);
    input.extend([0xFF; 700]);
    for len in [3, 20, 100, 500] {
        input.extend("na\u{EF}ve \u{202E}\u{1F4A9}\0".repeat(len).bytes());
        input.extend(dirty(&mut rng, Encoding::Utf8, 100));
    }
    for target in targets {
        for policy in crate::support::policies() {
            for subset in [None, Some(&Subset::NO_BIDI_CONTROLS)] {
                let mut new = Transcoder::new(Encoding::Utf8, target).with_error_policy(policy);
                if let Some(subset) = subset {
                    new = new.with_subset(subset);
                }
                let expected = by_feed_into(new.clone(), &[&input], 6);
                for (size, room) in
                    [(input.len(), 20_000), (100, 8192), (1, 1000), (977, 200), (input.len(), 1031)]
                {
                    let chunks: Vec<_> = input.chunks(size).collect();
                    let found = by_feed_into(new.clone(), &chunks, room);
                    assert!(found == expected, "{target:?} {policy:?} {size} {room}");
                }
            }
        }
    }
}
