//! `Subset`: a character outside it is reported like an ill-formed sequence, for every partition.

use core::ops::RangeInclusive;

use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder, TextPiece};

use crate::support::{Rng, every_partition, some_partitions};

static CYRILLIC: Subset = Subset::new(&[0x20..=0x7E, 0x400..=0x4FF, 0x1F4A9..=0x1F4A9]);

static NOT_ASCII_BUT_A: Subset = Subset::new(&[0x80..=0x10_FFFF, 0x61..=0x61]);

type Errors = Vec<(u64, ErrorKind, u8)>;

/// Returns the text, the errors and the rejected bytes of a strict decoder, and the text of a repairing decoder.
fn decode(subset: &'static Subset, chunks: &[&[u8]]) -> (String, Errors, Vec<Vec<u8>>, String) {
    let (mut text, mut errors, mut rejected) = (String::new(), Vec::new(), Vec::new());
    let mut decoder = TextDecoder::new().with_subset(subset);
    for chunk in chunks {
        let mut pieces = decoder.feed(chunk);
        while let Some(piece) = pieces.next() {
            match piece.text() {
                Ok(good) => {
                    assert!(!good.is_empty());
                    text.push_str(good);
                }
                Err(error) => {
                    errors.push((error.offset, error.kind, error.len));
                    rejected.push(pieces.rejected().to_vec());
                }
            }
        }
    }
    if let Some(TextPiece::IllFormed(error)) = decoder.finish() {
        errors.push((error.offset, error.kind, error.len));
    }
    assert_eq!(decoder.counters().total(), errors.len() as u64);
    (text, errors, rejected, repaired(subset, chunks))
}

fn repaired(subset: &'static Subset, chunks: &[&[u8]]) -> String {
    let mut decoder = TextDecoder::new().with_subset(subset).with_error_policy(ErrorPolicy::Replace);
    let mut out = String::new();
    for chunk in chunks {
        // Every iterator is dropped after one piece. The decoder must then be positioned after the returned text.
        let mut rest = *chunk;
        while !rest.is_empty() {
            let before = decoder.offset();
            let piece = decoder.feed(rest).next();
            out.push_str(piece.as_ref().map_or("", |piece| piece.text().expect("repaired")));
            rest = &rest[(decoder.offset() - before) as usize..];
        }
    }
    if let Some(piece) = decoder.finish() {
        out.push_str(piece.text().expect("repaired"));
    }
    out
}

/// The naive oracle: decodes without a subset, then checks every character.
fn oracle(subset: &Subset, input: &[u8]) -> (String, Errors, String) {
    let (mut text, mut errors, mut repaired) = (String::new(), Vec::new(), String::new());
    let mut at = 0;
    for chunk in input.utf8_chunks() {
        for character in chunk.valid().chars() {
            if subset.contains(character) {
                text.push(character);
                repaired.push(character);
            } else {
                errors.push((at, ErrorKind::OutsideSubset, character.len_utf8() as u8));
                repaired.push('\u{FFFD}');
            }
            at += character.len_utf8() as u64;
        }
        at += chunk.invalid().len() as u64;
        if !chunk.invalid().is_empty() {
            repaired.push('\u{FFFD}');
        }
    }
    for (offset, kind, len) in crate::support::oracle::decode(input).1 {
        errors.push((offset, kind, len));
    }
    errors.sort_by_key(|&(offset, ..)| offset);
    (text, errors, repaired)
}

#[test]
fn every_partition_agrees_with_the_oracle() {
    let mut rng = Rng::new(10646);
    for round in 0..3_000 {
        let input = rng.dirty_text(1 + round % 9);
        let (text, errors, repaired) = oracle(&CYRILLIC, &input);
        let rejected: Vec<_> = errors
            .iter()
            .filter(|(_, kind, _)| *kind != ErrorKind::Truncated)
            .map(|&(offset, _, len)| input[offset as usize..][..usize::from(len)].to_vec())
            .collect();
        every_partition(&input, |chunks| {
            let expected = (text.clone(), errors.clone(), rejected.clone(), repaired.clone());
            assert_eq!(decode(&CYRILLIC, chunks), expected, "{chunks:02X?}");
        });
    }
}

#[test]
fn long_samples_agree_with_the_oracle() {
    let mut rng = Rng::new(10647);
    for round in 0..60 {
        let input = rng.dirty_text(20 + round);
        let (text, errors, repaired) = oracle(&Subset::NO_CONTROLS, &input);
        some_partitions(&input, 10, |chunks| {
            let (got, told, _, mended) = decode(&Subset::NO_CONTROLS, chunks);
            assert_eq!(
                (got, told, mended),
                (text.clone(), errors.clone(), repaired.clone()),
                "{chunks:02X?}"
            );
        });
    }
}

#[test]
fn the_presets_contain_the_documented_characters() {
    for code_point in 0..=0x11_0000_u32 {
        let character = char::from_u32(code_point);
        let plane_end = code_point & 0xFFFE == 0xFFFE && code_point <= 0x10_FFFF;
        let noncharacter = plane_end || (0xFDD0..=0xFDEF).contains(&code_point);
        let control =
            character.is_some_and(char::is_control) && !matches!(character, Some('\t' | '\n' | '\r'));
        let bidi = matches!(code_point, 0x61C | 0x200E..=0x200F | 0x202A..=0x202E | 0x2066..=0x2069);
        assert_eq!(Subset::ASCII.contains(code_point), code_point < 0x80);
        assert_eq!(Subset::LATIN_1.contains(code_point), code_point < 0x100);
        assert_eq!(Subset::BMP.contains(code_point), code_point < 0x1_0000);
        assert_eq!(Subset::NO_NUL.contains(code_point), code_point != 0);
        assert_eq!(Subset::NO_CONTROLS.contains(code_point), !control, "{code_point:X}");
        assert_eq!(Subset::NO_BIDI_CONTROLS.contains(code_point), !bidi, "{code_point:X}");
        assert_eq!(Subset::NO_NONCHARACTERS.contains(code_point), !noncharacter, "{code_point:X}");
    }
}

#[test]
fn the_presets_of_protocols_match_their_specifications() {
    for code_point in 0..=0x11_0000_u32 {
        let scalar = char::from_u32(code_point).is_some();
        let noncharacter = code_point & 0xFFFE == 0xFFFE || (0xFDD0..=0xFDEF).contains(&code_point);
        let white = matches!(code_point, 0x9 | 0xA | 0xD);
        let c0 = code_point < 0x20;
        let del_or_c1 = matches!(code_point, 0x7F..=0x9F);
        let is = |subset: Subset, expected: bool| {
            assert_eq!(subset.contains(code_point), expected, "{code_point:X} {subset:?}");
        };
        // RFC 9839, 4.2: %x9 / %xA / %xD / %x20-D7FF / %xE000-FFFD / %x10000-10FFFF
        is(Subset::XML_CHARACTERS, scalar && (white || !c0) && !matches!(code_point, 0xFFFE | 0xFFFF));
        // RFC 9839, 4.3: no surrogates, no noncharacters, and no controls except these three.
        is(Subset::UNICODE_ASSIGNABLES, scalar && (white || !c0) && !del_or_c1 && !noncharacter);
        // MQTT 5.0, 1.5.4: MUST NOT, and SHOULD NOT.
        is(Subset::MQTT_5, scalar && code_point != 0);
        is(Subset::MQTT_5_RECOMMENDED, scalar && !c0 && !del_or_c1 && !noncharacter);
        // RFC 7493, 2.1.
        is(Subset::I_JSON, scalar && !noncharacter);
        // RFC 8259, 2 and 7.
        is(Subset::JSON_TEXT, scalar && (white || !c0));
        // YAML 1.2.2, [1] c-printable.
        is(
            Subset::YAML_PRINTABLE,
            scalar
                && (white || !c0)
                && (!del_or_c1 || code_point == 0x85)
                && !matches!(code_point, 0xFFFE | 0xFFFF),
        );
    }
}

/// Many unordered ranges, some of which overlap or adjoin.
static SCATTERED: [RangeInclusive<u32>; 70] = {
    let mut ranges = [const { 0..=0 }; 70];
    let mut i = 0;
    while i < ranges.len() as u32 {
        let start = i * 7919 % 70 * 0x3B3;
        ranges[i as usize] = start..=start + 0x3B2 - i % 3 * 0x40;
        i += 1;
    }
    ranges
};

#[test]
fn every_preset_finds_each_character_outside_it() {
    static PRESETS: [Subset; 19] = [
        Subset::ASCII,
        Subset::LATIN_1,
        Subset::BMP,
        Subset::NO_NUL,
        Subset::NO_CONTROLS,
        Subset::NO_BIDI_CONTROLS,
        Subset::NO_NONCHARACTERS,
        Subset::XML_CHARACTERS,
        Subset::UNICODE_ASSIGNABLES,
        Subset::MQTT_5,
        Subset::MQTT_5_RECOMMENDED,
        Subset::I_JSON,
        Subset::JSON_TEXT,
        Subset::YAML_PRINTABLE,
        Subset::all_of(&[Subset::NO_CONTROLS, Subset::NO_BIDI_CONTROLS, Subset::NO_NONCHARACTERS]),
        Subset::new(&[]),
        Subset::new(&[0x20..=0x7E, 0x400..=0x4FF, 0x1F4A9..=0x1F4A9]),
        Subset::new(&SCATTERED),
        // Only together do these ranges contain all characters of a lead byte.
        Subset::new(&[0x20..=0x7E, 0xA5..=0xBF, 0x80..=0xA4, 0x9000..=0x10_FFFF, 0x100..=0x8FFF]),
    ];
    let filler = 90;
    for subset in &PRESETS {
        let fill = 'a';
        // Tests all characters near a limit of a range, and all frequent ones.
        let near = |character: &char| {
            *character < '\u{3000}' || !(0x30..0xFD0).contains(&(*character as u32 & 0xFFF))
        };
        for character in ('\0'..=char::MAX).filter(near) {
            let before = character as usize % filler;
            let mut text = String::with_capacity(filler + 4);
            (0..before).for_each(|_| text.push(fill));
            text.push(character);
            (before..filler).for_each(|_| text.push(fill));
            let mut decoder = TextDecoder::new().with_subset(subset);
            let error = decoder.feed(text.as_bytes()).find_map(|piece| piece.text().err());
            let expected = if !subset.contains(fill) && before > 0 {
                Some(0)
            } else if !subset.contains(character) {
                Some(before as u64)
            } else if !subset.contains(fill) {
                Some(character.len_utf8() as u64)
            } else {
                None
            };
            assert_eq!(error.map(|error| error.offset), expected, "{character:?} {subset:?}");
        }
    }
}

/// Long ASCII at the start of a chunk is validated and searched at once. What follows it is not.
#[test]
fn long_ascii_before_any_other_bytes_agrees_with_the_oracle() {
    let specials = [
        &b"\0"[..],
        b"\x7F",
        b"\xC3\xA9",
        b"\xC2\x80",
        b"\xE2\x80\xAE",
        b"\xEF\xBB\xBF",
        b"\xF0\x9F\x92\xA9",
        b"\xFF",
        b"\x80",
        b"\xED\xA0\x80",
        b"\xE2\x80",
    ];
    for special in specials {
        for at in (0..1_400).step_by(29).chain([255, 256, 257, 1_023, 1_024, 1_025]) {
            for len in [at, 1_400, 2_500] {
                let mut input = vec![b'a'; len];
                input.splice(at.min(len)..at.min(len), special.iter().copied());
                for subset in [&CYRILLIC, &Subset::NO_CONTROLS, &NOT_ASCII_BUT_A] {
                    let (text, errors, mended) = oracle(subset, &input);
                    for chunks in [vec![&input[..]], vec![&input[..at / 2], &input[at / 2..]]] {
                        let (got, found, _, repaired) = decode(subset, &chunks);
                        let is_right =
                            (got, found, repaired) == (text.clone(), errors.clone(), mended.clone());
                        assert!(is_right, "{special:02X?} at {at} of {len}, {subset:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_carry_before_long_text_agrees_with_the_oracle() {
    let text = "plain text, longer than the fewest bytes for vectors, ".repeat(30).into_bytes();
    for sequence in [&b"\xF0\x9F\x92"[..], b"\xF4\x8F\xBF", b"\xF0\x9F", b"\xE2\x80"] {
        for at in 0..72 {
            let mut bytes = text.clone();
            bytes.splice(at..at, sequence.iter().copied());
            // The address of the text decides where vectors start.
            for shift in 0..32 {
                let bytes = [&vec![b'x'; shift], &bytes[..]].concat();
                let (text, errors, _, _) = decode(&Subset::NO_CONTROLS, &[&bytes[shift..]]);
                assert_eq!(errors, [(at as u64, ErrorKind::MissingContinuation, sequence.len() as u8)]);
                assert!(
                    core::str::from_utf8(text.as_bytes())
                        .is_ok_and(|text| text.len() == bytes.len() - shift - sequence.len())
                );
            }
        }
    }
}

#[test]
fn the_bom_policy_applies_before_long_ascii() {
    let input = [b'a'; 5_000];
    for bom in [BomPolicy::Strip, BomPolicy::Keep, BomPolicy::Reject, BomPolicy::Require] {
        for start in [&b""[..], b"\xEF\xBB\xBF"] {
            let stream = [start, &input].concat();
            let mut decoder = TextDecoder::new().with_bom_policy(bom).with_subset(&Subset::NO_CONTROLS);
            let mut errors = Vec::new();
            let mut text = String::new();
            for piece in decoder.feed(&stream) {
                match piece.text() {
                    Ok(good) => text.push_str(good),
                    Err(error) => errors.push((error.offset, error.kind, error.len)),
                }
            }
            let (kept, expected) = match (bom, start) {
                (BomPolicy::Require, []) => ("", vec![(0, ErrorKind::MissingBom, 0)]),
                (BomPolicy::Reject, [_, ..]) => ("", vec![(0, ErrorKind::UnexpectedBom, 3)]),
                (BomPolicy::Keep, [_, ..]) => ("\u{FEFF}", vec![]),
                _ => ("", vec![]),
            };
            assert_eq!(errors, expected, "{bom:?}");
            assert!(text == kept.to_owned() + &"a".repeat(5_000), "{bom:?}");
            assert_eq!(decoder.offset(), stream.len() as u64);
        }
    }
}

#[test]
fn a_subset_of_subsets_is_their_intersection() {
    let both = Subset::all_of(&[Subset::NO_NUL, Subset::LATIN_1]);
    assert!(both.contains('é') && !both.contains('\0') && !both.contains('€'));
}

#[test]
fn the_bom_policy_applies_before_the_subset() {
    for (bom, expected) in [
        (BomPolicy::Strip, vec![]),
        (BomPolicy::Require, vec![]),
        (BomPolicy::Keep, vec![(0, ErrorKind::OutsideSubset, 3)]),
        (BomPolicy::Reject, vec![(0, ErrorKind::UnexpectedBom, 3)]),
    ] {
        every_partition(b"\xEF\xBB\xBFab", |chunks| {
            let mut decoder = TextDecoder::new().with_bom_policy(bom).with_subset(&Subset::ASCII);
            let (mut text, mut errors) = (String::new(), Vec::new());
            for chunk in chunks {
                for piece in decoder.feed(chunk) {
                    match piece.text() {
                        Ok(good) => text.push_str(good),
                        Err(error) => errors.push((error.offset, error.kind, error.len)),
                    }
                }
            }
            assert!(decoder.finish().is_none());
            assert_eq!((text.as_str(), &errors), ("ab", &expected), "{bom:?} {chunks:02X?}");
        });
    }
}

#[cfg(feature = "codec")]
#[test]
fn the_terminator_of_a_line_need_not_be_in_the_subset() {
    use bytes::BytesMut;
    use tokio_util::codec::Decoder;
    use utf8_codec::codec::Utf8LinesCodec;

    let strict = TextDecoder::new().with_subset(&CYRILLIC);
    let mut codec = Utf8LinesCodec::with_decoder(strict.clone());
    let mut buffer = BytesMut::from("жук\r\né\n\nend\n".as_bytes());
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().expect("inside"), "жук");
    let error = codec
        .decode(&mut buffer)
        .unwrap()
        .unwrap()
        .expect_err("é is outside")
        .utf8_error()
        .expect("a text error");
    assert_eq!((error.offset, error.kind, error.len), (8, ErrorKind::OutsideSubset, 2));
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().expect("inside"), "");

    let mut codec = Utf8LinesCodec::with_decoder(strict.with_error_policy(ErrorPolicy::Replace));
    // The terminator ends the unfinished sequence. The subset does not apply to the terminator.
    let mut buffer = BytesMut::from(&b"\xC3\xA9\n\xC3\n"[..]);
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().expect("repaired"), "\u{FFFD}");
    assert_eq!(codec.decode(&mut buffer).unwrap().unwrap().expect("repaired"), "\u{FFFD}");
}
