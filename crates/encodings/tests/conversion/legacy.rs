//! The legacy encodings: the text, the errors and the offsets are those of `encoding_rs` for the whole input, for every
//! partition.

use utf8_codec::{ErrorKind, ErrorPolicy, Subset};
use utf8_codec_encodings::{Encoding, TranscodeProgress, TranscodeStatus, Transcoder, UnmappablePolicy};

use crate::support::encodings::{LEGACY, PAGES, by_feed};
use crate::support::legacy::{Part, decode, dirty, encode, index, places, repair, tables};
use crate::support::{Rng, every_partition, policies, some_partitions};

fn text_of(parts: &[Part]) -> String {
    parts.iter().flatten().map(String::as_str).collect()
}

/// Returns the output under a policy that repairs everything.
fn repaired(mut transcoder: Transcoder, chunks: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    chunks.iter().for_each(|chunk| transcoder.feed_into(chunk, &mut out).expect("it is repaired"));
    transcoder.finish_into(&mut out).expect("it is repaired");
    out
}

#[test]
fn random_input_agrees_with_the_whole_in_every_partition() {
    let mut rng = Rng::new(44);
    for &encoding in LEGACY {
        let index = index(encoding);
        for round in 0..40 {
            let input = dirty(&mut rng, &index, 1 + round % 9);
            let parts = decode(encoding, &input);
            let errors: Vec<_> = parts.iter().filter_map(|part| part.as_ref().err().copied()).collect();
            let policy = policies()[1 + round % (policies().len() - 1)];
            let expected = repair(&parts, &input, policy);
            every_partition(&input, |chunks| {
                let transcoder = Transcoder::new(encoding, Encoding::Utf8);
                let (out, found) = by_feed(transcoder.clone(), chunks);
                assert_eq!(String::from_utf8(out).unwrap(), text_of(&parts), "{encoding} {chunks:02X?}");
                assert_eq!(places(&found), errors, "{encoding} {chunks:02X?}");
                let out = repaired(transcoder.with_error_policy(policy), chunks);
                assert_eq!(String::from_utf8(out).unwrap(), expected, "{encoding} {policy:?} {chunks:02X?}");
            });
        }
        let input = dirty(&mut rng, &index, 300);
        let parts = decode(encoding, &input);
        let expected = by_feed(Transcoder::new(encoding, Encoding::Utf8), &[&input]);
        some_partitions(&input, 20, |chunks| {
            let found = by_feed(Transcoder::new(encoding, Encoding::Utf8), chunks);
            assert_eq!(found, expected, "{encoding} {chunks:02X?}");
            let out = repaired(
                Transcoder::new(encoding, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace),
                chunks,
            );
            assert_eq!(String::from_utf8(out).unwrap(), repair(&parts, &input, ErrorPolicy::Replace));
        });
    }
}

/// Chunks of 1, 2, 3 and 5 bytes cut every sequence at every byte.
#[test]
fn every_index_is_decoded_and_encoded_as_a_whole_and_in_parts() {
    for &encoding in LEGACY {
        let input = index(encoding).concat();
        let parts = decode(encoding, &input);
        let [Ok(text)] = &parts[..] else { panic!("{encoding}: {parts:?}") };
        for size in [1, 2, 3, 5, 4096] {
            let chunks: Vec<&[u8]> = input.chunks(size).collect();
            let (out, errors) = by_feed(Transcoder::new(encoding, Encoding::Utf8), &chunks);
            assert!(out == text.as_bytes() && errors.is_empty(), "{encoding} by {size}: {errors:?}");
        }
        // Some sequences are only decoded, such as those of two characters in Big5.
        let (bytes, missing) = encode(encoding, text, |_| String::new());
        for size in [1, 5, 4096] {
            let chunks: Vec<&[u8]> = text.as_bytes().chunks(size).collect();
            let (out, errors) = by_feed(Transcoder::new(Encoding::Utf8, encoding), &chunks);
            assert_eq!(places(&errors), missing, "{encoding} by {size}");
            assert!(out == bytes, "{encoding} by {size}");
        }
        let (back, errors) = by_feed(Transcoder::new(encoding, Encoding::Utf8), &[&bytes]);
        assert_eq!(errors, []);
        let mut kept = text.clone();
        missing
            .iter()
            .rev()
            .for_each(|&(at, len)| drop(kept.drain(at as usize..at as usize + usize::from(len))));
        // Characters that the standard encodes as similar ones.
        let same = back == kept.as_bytes();
        assert!(same || matches!(encoding, Encoding::Iso2022Jp), "{encoding}");
    }
}

#[test]
fn unmappable_characters_follow_the_chosen_policy() {
    let text = "a é€Ж漢ﾊ\u{A5}\u{3000}\u{E5E5}💩ა\u{2212}~\\z漢";
    for &encoding in LEGACY {
        let question = encode(encoding, text, |_| "?".into());
        let reference = encode(encoding, text, |it| format!("&#{};", u32::from(it)));
        some_partitions(text.as_bytes(), 10, |chunks| {
            let transcoder = Transcoder::new(Encoding::Utf8, encoding);
            let (_, errors) = by_feed(transcoder.clone(), chunks);
            assert_eq!(places(&errors), question.1, "{encoding}");
            assert!(errors.iter().all(|&(_, kind, _)| kind == ErrorKind::Unmappable));
            let with = |policy| repaired(transcoder.clone().with_unmappable_policy(policy), chunks);
            assert_eq!(with(UnmappablePolicy::QuestionMark), question.0, "{encoding}");
            assert_eq!(with(UnmappablePolicy::Reference), reference.0, "{encoding}");
            let replace = repaired(transcoder.with_error_policy(ErrorPolicy::ReplaceWith('?')), chunks);
            assert_eq!(replace, question.0, "{encoding}");
        });
    }
}

#[test]
fn references_in_iso_2022_jp_are_those_of_encoding_rs() {
    let transcoder = Transcoder::new(Encoding::Utf8, Encoding::Iso2022Jp)
        .with_unmappable_policy(UnmappablePolicy::Reference);
    let text = "a\x0E\x0F\x1B$B漢💩b";
    let (expected, _, _) = encoding_rs::ISO_2022_JP.encode(text);
    assert_eq!(repaired(transcoder, &[text.as_bytes()]), *expected);
}

/// encoding_rs selects ASCII before a character that ISO-2022-JP does not have, and a set before the output is full.
#[test]
fn a_skipped_character_selects_no_set() {
    let transcoder =
        Transcoder::new(Encoding::Utf8, Encoding::Iso2022Jp).with_error_policy(ErrorPolicy::Skip);
    let (text, kept) = ("漢💩漢a", "漢漢a");
    let (expected, _) = encode(Encoding::Iso2022Jp, kept, |_| String::new());
    every_partition(text.as_bytes(), |chunks| {
        assert_eq!(repaired(transcoder.clone(), chunks), expected, "{chunks:02X?}");
    });
    for size in Transcoder::MIN_OUTPUT..expected.len() {
        let (mut transcoder, mut room, mut out, mut rest) =
            (transcoder.clone(), vec![0; size], Vec::new(), text.as_bytes());
        loop {
            let TranscodeProgress { status, read, written, .. } = match rest {
                [] => transcoder.finish_into_slice(&mut room),
                _ => transcoder.feed_into_slice(rest, &mut room),
            };
            out.extend_from_slice(&room[..written]);
            if rest.is_empty() && status == TranscodeStatus::InputEmpty {
                break;
            }
            rest = &rest[read..];
        }
        assert_eq!(out, expected, "{size}");
    }
}

/// The steps through UTF-8 stop at characters that the target does not have, and at the end of the output.
#[test]
fn legacy_encodings_convert_to_every_other_encoding() {
    let mut rng = Rng::new(7);
    let others =
        [Encoding::Utf16Be, Encoding::Utf32Le, Encoding::Cesu8, Encoding::Latin1, Encoding::Windows1252];
    for (number, &from) in LEGACY.iter().enumerate() {
        let index = index(from);
        let to =
            [LEGACY[(number * 11 + 5) % LEGACY.len()], Encoding::Iso2022Jp, others[number % others.len()]];
        for to in to {
            let mut input = dirty(&mut rng, &index, 200);
            (0..400).for_each(|_| input.extend(&index[rng.below(index.len())]));
            input.truncate(4000);
            let text = repair(&decode(from, &input), &input, ErrorPolicy::Replace);
            let through = |from, to, bytes: &[&[u8]]| {
                let transcoder = Transcoder::new(from, to).with_error_policy(ErrorPolicy::Replace);
                repaired(transcoder, bytes)
            };
            let expected = through(Encoding::Utf8, to, &[text.as_bytes()]);
            for size in [1, 7, 1000, 4000] {
                let chunks: Vec<&[u8]> = input.chunks(size).collect();
                let out = through(from, to, &chunks);
                // Both characters of a sequence are replaced if the target does not have one of them.
                let same = out == expected || from == Encoding::Big5 || to == Encoding::Cesu8;
                assert!(same, "{from} to {to} by {size}");
            }
            let back = through(to, Encoding::Utf8, &[&through(from, to, &[&input])]);
            assert!(to != Encoding::Cesu8 || back == text.as_bytes(), "{from} to {to}");
        }
    }
}

#[test]
fn each_stream_of_a_transcoder_starts_in_ascii() {
    let (mut transcoder, mut text) = (Transcoder::new(Encoding::Iso2022Jp, Encoding::Utf8), String::new());
    for (stream, end) in [("\x1B$BF|", "日"), ("F|\x1B(J", "日F|"), ("\x1B(Ja", "日F|a")] {
        transcoder.feed_into(stream.as_bytes(), &mut text).unwrap();
        transcoder.finish_into(&mut text).unwrap();
        assert_eq!(text, end);
    }
}

#[test]
fn both_characters_of_a_sequence_are_judged_together() {
    let transcoder = Transcoder::new(Encoding::Big5, Encoding::Utf32Be);
    let all = b"\x88\x62\x88\x64\x88\xA3\x88\xA5";
    let expected = "\u{CA}\u{304}\u{CA}\u{30C}\u{EA}\u{304}\u{EA}\u{30C}";
    let expected: Vec<u8> = expected.chars().flat_map(|it| u32::from(it).to_be_bytes()).collect();
    every_partition(all, |chunks| {
        assert_eq!(by_feed(transcoder.clone(), chunks), (expected.clone(), vec![]))
    });
    let to_latin = Transcoder::new(Encoding::Big5, Encoding::Latin1);
    let errors = vec![(1, ErrorKind::Unmappable, 2)];
    assert_eq!(by_feed(to_latin.clone(), &[b"a\x88\x62b"]), (b"ab".to_vec(), errors));
    let reference = to_latin.with_unmappable_policy(UnmappablePolicy::Reference);
    assert_eq!(repaired(reference, &[b"a\x88\x62b"]), b"a&#202;&#772;b");
    let ascii = Transcoder::new(Encoding::Big5, Encoding::Utf8).with_subset(&Subset::ASCII);
    assert_eq!(by_feed(ascii, &[b"\x88\x62b"]).1, [(0, ErrorKind::OutsideSubset, 2)]);
}

#[test]
fn each_error_has_its_kind_and_place() {
    for (encoding, input, kind, len) in [
        (Encoding::ShiftJis, &b"\x81 "[..], ErrorKind::MissingContinuation, 1),
        (Encoding::ShiftJis, b"\xFD", ErrorKind::InvalidLead, 1),
        (Encoding::ShiftJis, b"\x81\xAD", ErrorKind::Unassigned, 2),
        (Encoding::ShiftJis, b"\x81", ErrorKind::Truncated, 1),
        (Encoding::Gb18030, b"\x81\x30\x81", ErrorKind::Truncated, 3),
        (Encoding::Gb18030, b"\x81\x30\x81a", ErrorKind::MissingContinuation, 1),
        (Encoding::Gb18030, b"\x84\x32\xA4\x39", ErrorKind::Unassigned, 4),
        (Encoding::Windows1253, b"\xAA", ErrorKind::Unassigned, 1),
        (Encoding::Iso2022Jp, b"\x1B$C", ErrorKind::InvalidLead, 1),
        (Encoding::Iso2022Jp, b"\x1B$", ErrorKind::Truncated, 1),
    ] {
        let input = [b"ab", input].concat();
        every_partition(&input, |chunks| {
            let errors = by_feed(Transcoder::new(encoding, Encoding::Utf8), chunks).1;
            assert_eq!(errors[0], (2, kind, len), "{encoding} {chunks:02X?}");
        });
    }
    let mut transcoder = Transcoder::new(Encoding::ShiftJis, Encoding::Utf8);
    let error = transcoder.feed_into(b"\x83\x65\xFD", &mut String::new()).unwrap_err();
    assert_eq!(error.to_string(), "ill-formed Shift_JIS at byte 2 (InvalidLead, 1 byte)");
}

/// `decode` of the Encoding Standard, §6.
#[test]
fn sniffing_follows_the_standard() {
    for &encoding in LEGACY {
        for bom in
            [&b""[..], b"\xEF\xBB\xBF", b"\xFF\xFE", b"\xFE\xFF", b"\xEF\xBB", b"\xFF", b"\x84\x31\x95\x33"]
        {
            for rest in [&b""[..], b"a\0b\0", b"\xEF\xBB\xBFa"] {
                let input = [bom, rest].concat();
                let (expected, ..) = tables(encoding).decode(&input);
                every_partition(&input, |chunks| {
                    let transcoder = Transcoder::new(encoding, Encoding::Utf8).with_sniffing(true);
                    let out = repaired(transcoder.with_error_policy(ErrorPolicy::Replace), chunks);
                    assert_eq!(String::from_utf8(out).unwrap(), expected, "{encoding} {chunks:02X?}");
                });
            }
        }
    }
}

#[test]
fn labels_are_those_of_the_standard() {
    let mut number = 0;
    for &encoding in Encoding::ALL {
        for alias in encoding.aliases() {
            assert_eq!(alias.parse(), Ok(encoding), "{alias}");
            match Encoding::for_label(alias) {
                Some(known) if LEGACY.contains(&encoding) => {
                    number += 1;
                    assert_eq!(known, encoding, "{alias}");
                }
                _ => {}
            }
        }
    }
    // 228 labels less those of UTF-8, UTF-16, windows-1252 and `replacement`, and less the names themselves.
    assert_eq!(number, 228 - 6 - 9 - 17 - 6 - LEGACY.len());
    assert_eq!("Shift-JIS".parse(), Ok(Encoding::ShiftJis));
    assert_eq!("CP 936".parse(), Ok(Encoding::Gbk));
    // These labels of the web are not names of mail.
    for name in ["iso-2022-kr", "csiso2022kr", "utf-7", "ms949", "cp949", "cp936", "ibm850", "x-unknown"] {
        assert_eq!(Encoding::for_label(name), None, "{name}");
        assert_eq!(name.parse::<Encoding>().is_err(), name == "x-unknown", "{name}");
    }
    assert_eq!(Encoding::for_label("ks_c_5601-1987"), Some(Encoding::EucKr));
}

#[test]
fn a_code_page_has_256_characters_and_no_others() {
    let all: Vec<u8> = (0..=255).collect();
    for &page in PAGES {
        let mut text = String::new();
        Transcoder::new(page, Encoding::Utf8).feed_into(&all, &mut text).unwrap();
        let mut characters: Vec<char> = text.chars().collect();
        let is_ascii = text.starts_with(&String::from_utf8(all[..128].to_vec()).unwrap());
        assert_eq!(is_ascii, !matches!(page, Encoding::Ibm037 | Encoding::Ibm500 | Encoding::Ibm1047));
        assert_eq!(by_feed(Transcoder::new(Encoding::Utf8, page), &[text.as_bytes()]), (all.clone(), vec![]));
        characters.sort_unstable();
        characters.dedup();
        assert_eq!(characters.len(), 256, "{page}");
        let others: String =
            (0..0x3000).filter_map(char::from_u32).filter(|it| !characters.contains(it)).collect();
        let (out, errors) = by_feed(Transcoder::new(Encoding::Utf8, page), &[others.as_bytes()]);
        assert_eq!((out.len(), errors.len()), (0, others.chars().count()), "{page}");
    }
}
