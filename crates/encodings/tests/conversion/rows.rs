//! Every encoding that resembles UTF-8 against its rows: each bound, every wrong byte in every place, surrogates in every
//! order. Code pages against the WHATWG Encoding Standard.

use utf8_codec::ErrorPolicy;
use utf8_codec_encodings::{Encoding, Switches, Transcoder};

use crate::support::cases::{cases, length, unchecked};
use crate::support::encodings::{self, Errors, Open, by_feed};
use crate::support::{Rng, rows, some_partitions};

const STRICT: Open =
    Open { surrogates: false, lenient_java: false, reject_pairs: false, reject_fffe_ffff: false };
const SURROGATES: Open = Open { surrogates: true, ..STRICT };

/// The encodings with rows, under the switches that change them.
const DIALECTS: [(Encoding, Open); 12] = [
    (Encoding::Utf8, STRICT),
    (Encoding::Utf8Ucs4, STRICT),
    (Encoding::Utf8Ucs4, SURROGATES),
    (Encoding::Utf8Ucs4, Open { reject_fffe_ffff: true, ..STRICT }),
    (Encoding::Cesu8, STRICT),
    (Encoding::Cesu8, SURROGATES),
    (Encoding::ModifiedUtf8, STRICT),
    (Encoding::ModifiedUtf8, SURROGATES),
    (Encoding::ModifiedUtf8, Open { lenient_java: true, ..STRICT }),
    (Encoding::Wtf8, SURROGATES),
    (Encoding::Wtf8, Open { reject_pairs: true, ..SURROGATES }),
    (Encoding::Utf8b, SURROGATES),
];

/// The code points as UCS-4, and the errors.
fn by_definition(from: Encoding, open: Open, input: &[u8]) -> (Vec<u8>, Errors) {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    for (at, len, found) in encodings::decode(from, open, false, input) {
        match found {
            Ok(value) => out.extend(value.to_be_bytes()),
            Err(kind) => errors.push((at, kind, len)),
        }
    }
    (out, errors)
}

fn check(from: Encoding, open: Open, input: &[u8]) {
    let transcoder = Transcoder::new(from, Encoding::Utf32Be).with_switches(open.switches());
    let expected = by_definition(from, open, input);
    let check = |chunks: &[&[u8]]| {
        assert_eq!(by_feed(transcoder.clone(), chunks), expected, "{from} {open:?} {chunks:02X?}");
    };
    if input.len() <= 20 {
        some_partitions(input, 0, check);
    } else {
        [1, 3, input.len()].iter().for_each(|size| check(&input.chunks(*size).collect::<Vec<_>>()));
    }
}

#[test]
fn every_row_and_its_code_points_have_the_same_size() {
    for (encoding, open) in DIALECTS {
        for row in encodings::rows(encoding, open) {
            let bounds = row.bounds(row.bytes.len());
            let ends = [bounds.first(), bounds.last()].map(|sequence| row.value(sequence.unwrap()));
            assert_eq!(ends, [row.code_points.0, row.code_points.1], "{encoding} {row:X?}");
        }
    }
}

#[test]
fn sequences_of_bounds_are_converted_in_both_directions() {
    for (encoding, open) in DIALECTS {
        let rows = encodings::rows(encoding, open);
        for input in rows::well_formed(&rows) {
            check(encoding, open, &input);
            let (value, errors) = by_definition(encoding, open, &input);
            let is_lenient = open.lenient_java && matches!(input[0], 0x00 | 0xF0..);
            if errors.is_empty() && !is_lenient {
                let back = Transcoder::new(Encoding::Utf32Be, encoding).with_switches(open.switches());
                assert_eq!(by_feed(back, &[&value]), (input, vec![]), "{encoding} {open:?} {value:02X?}");
            }
        }
    }
}

#[test]
fn a_sequence_without_its_last_bytes_is_truncated() {
    for (encoding, open) in DIALECTS {
        for start in rows::truncated(&encodings::rows(encoding, open)) {
            check(encoding, open, &start);
            for after in [&b"a"[..], b"\xC3\xA9", b"\xED\xB0\x80", b"\xFD"] {
                check(encoding, open, &[&start[..], after].concat());
            }
        }
    }
}

#[test]
fn a_wrong_byte_in_any_place_is_ill_formed() {
    for (encoding, open) in DIALECTS {
        let transcoder = Transcoder::new(encoding, Encoding::Utf32Be).with_switches(open.switches());
        for input in rows::wrong_bytes(&encodings::rows(encoding, open)) {
            let expected = by_definition(encoding, open, &input);
            let bytes: Vec<_> = input.chunks(1).collect();
            for chunks in [&[&input[..]][..], &bytes] {
                assert_eq!(
                    by_feed(transcoder.clone(), chunks),
                    expected,
                    "{encoding} {open:?} {chunks:02X?}"
                );
            }
        }
    }
}

/// A low surrogate must follow a high one. Any other byte in any of its places is not a part of the pair.
#[test]
fn a_wrong_byte_in_a_low_surrogate_is_ill_formed() {
    let low = rows::Row { code_points: (0xDC00, 0xDFFF), bytes: &[(0xED, 0xED), (0xB0, 0xBF), (0x80, 0xBF)] };
    for (encoding, open) in DIALECTS {
        for input in rows::wrong_bytes(&[low]) {
            for high in [b"\xED\xA0\x80", b"\xED\xAF\xBF"] {
                check(encoding, open, &[high, &input[..]].concat());
            }
        }
    }
}

#[test]
fn each_class_of_input_is_converted_by_definition() {
    for (encoding, open) in DIALECTS {
        for input in cases() {
            check(encoding, open, &input);
        }
    }
}

#[test]
fn random_sequences_are_converted_by_definition() {
    let mut rng = Rng::new(2279);
    for (encoding, open) in DIALECTS {
        let rows = encodings::rows(encoding, open);
        for _ in 0..2_000 {
            check(encoding, open, &rows::random(&rows, &mut rng));
        }
    }
}

/// Every string of up to 3 of these: the bounds of both halves of a surrogate pair, and their neighbors.
fn strings() -> Vec<Vec<u32>> {
    let values = [0x61, 0xD7FF, 0xD800, 0xDBFF, 0xDC00, 0xDFFF, 0xE000, 0x1_0000, 0x10_FFFF];
    let mut strings: Vec<Vec<u32>> = vec![vec![]];
    for longest in 0..3 {
        for start in strings.clone().iter().filter(|string| string.len() == longest) {
            strings.extend(values.map(|value| [&start[..], &[value]].concat()));
        }
    }
    strings
}

/// Unicode definition D91: a high surrogate before a low one is one character.
fn joined(string: &[u32]) -> Vec<u32> {
    let mut joined: Vec<u32> = Vec::new();
    for &value in string {
        match joined.last_mut() {
            Some(high @ 0xD800..=0xDBFF) if (0xDC00..=0xDFFF).contains(&value) => {
                *high = 0x1_0000 + ((*high & 0x3FF) << 10) + (value & 0x3FF);
            }
            _ => joined.push(value),
        }
    }
    joined
}

/// Returns the output of a transcoder that repairs.
fn repaired(mut transcoder: Transcoder, chunks: &[&[u8]]) -> Vec<u8> {
    let mut out = Vec::new();
    chunks.iter().for_each(|chunk| transcoder.feed_into(chunk, &mut out).expect("repaired"));
    transcoder.finish_into(&mut out).expect("repaired");
    out
}

fn utf_8(string: &[u32]) -> Vec<u8> {
    let surrogate = |value: u32| char::from_u32(value).unwrap_or('\u{FFFD}');
    string.iter().map(|value| surrogate(*value)).collect::<String>().into_bytes()
}

/// A sequence of UTF-8 for each value, also for surrogates.
fn generalized(string: &[u32]) -> Vec<u8> {
    string.iter().flat_map(|value| unchecked(*value, length(*value))).collect()
}

/// WTF-8 sections 4 and 5: surrogate pairs are encoded and concatenated as one character, and surrogates are replaced in a
/// conversion to UTF-8.
#[test]
fn wtf_8_joins_surrogates_that_meet() {
    let to_wtf_8 = Transcoder::new(Encoding::Utf32Be, Encoding::Wtf8).with_switches(SURROGATES.switches());
    let same = Transcoder::new(Encoding::Wtf8, Encoding::Wtf8);
    let lossy = Transcoder::new(Encoding::Wtf8, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
    for string in strings() {
        let expected = generalized(&joined(&string));
        let ucs_4: Vec<u8> = string.iter().flat_map(|value| value.to_be_bytes()).collect();
        some_partitions(&ucs_4, 1, |chunks| {
            assert_eq!(by_feed(to_wtf_8.clone(), chunks).0, expected, "{string:X?}")
        });
        some_partitions(&generalized(&string), 1, |chunks| {
            assert_eq!(by_feed(same.clone(), chunks), (expected.clone(), vec![]), "{string:X?}");
            assert_eq!(repaired(lossy.clone(), chunks), utf_8(&joined(&string)), "{string:X?}");
        });
        // In a single string a pair in two sequences is ill-formed.
        let one = same.clone().with_switches(Switches::STRICT.with_reject_pairs(true));
        let is_one = joined(&string).len() == string.len();
        assert_eq!(by_feed(one, &[&generalized(&string)]).1.is_empty(), is_one, "{string:X?}");
    }
}

/// UTR #26 section 2, and `java.io.DataOutput`: a character above FFFF is two surrogates, each in 3 bytes.
#[test]
fn cesu_8_and_modified_utf_8_have_two_surrogates() {
    for string in strings() {
        let joined = joined(&string);
        let is_text = !joined.iter().any(|value| (0xD800..0xE000).contains(value));
        let units: Vec<u32> = joined
            .iter()
            .flat_map(|&value| match value {
                0x1_0000.. => vec![0xD7C0 + (value >> 10), 0xDC00 + (value & 0x3FF)],
                _ => vec![value],
            })
            .collect();
        for encoding in [Encoding::Cesu8, Encoding::ModifiedUtf8] {
            let decode = Transcoder::new(encoding, Encoding::Utf8);
            let lossy = decode.clone().with_error_policy(ErrorPolicy::Replace);
            some_partitions(&generalized(&units), 1, |chunks| {
                assert_eq!(repaired(lossy.clone(), chunks), utf_8(&joined), "{encoding} {string:X?}");
                assert_eq!(by_feed(decode.clone(), chunks).1.is_empty(), is_text, "{encoding} {string:X?}");
            });
            if is_text {
                let encode = Transcoder::new(Encoding::Utf8, encoding);
                assert_eq!(
                    by_feed(encode, &[&utf_8(&joined)]),
                    (generalized(&units), vec![]),
                    "{encoding} {string:X?}"
                );
            }
            // A character above FFFF in 4 bytes is in neither.
            let has_4_bytes = string.iter().any(|value| *value > 0xFFFF);
            assert!(
                !has_4_bytes || !by_feed(decode, &[&generalized(&string)]).1.is_empty(),
                "{encoding} {string:X?}"
            );
        }
    }
}

#[test]
fn unpaired_surrogates_of_utf_16_are_replaced() {
    for string in strings() {
        let units: Vec<u16> = string
            .iter()
            .flat_map(|&value| match value {
                0x1_0000.. => vec![(0xD7C0 + (value >> 10)) as u16, (0xDC00 + (value & 0x3FF)) as u16],
                _ => vec![value as u16],
            })
            .collect();
        let expected: String =
            char::decode_utf16(units.iter().copied()).map(|it| it.unwrap_or('\u{FFFD}')).collect();
        let bytes = |bytes: fn(u16) -> [u8; 2]| units.iter().copied().flat_map(bytes).collect::<Vec<u8>>();
        for (encoding, bytes) in
            [(Encoding::Utf16Le, bytes(u16::to_le_bytes)), (Encoding::Utf16Be, bytes(u16::to_be_bytes))]
        {
            let replace = Transcoder::new(encoding, Encoding::Utf8).with_error_policy(ErrorPolicy::Replace);
            some_partitions(&bytes, 1, |chunks| {
                assert_eq!(
                    repaired(replace.clone(), chunks),
                    expected.as_bytes(),
                    "{string:X?} {chunks:02X?}"
                );
            });
            // The text before an unpaired high surrogate is returned before the end is known.
            let mut transcoder = replace.clone();
            let (mut out, mut seen) = (Vec::new(), Vec::new());
            for unit in bytes.chunks(2) {
                transcoder.feed_into(unit, &mut out).expect("replaced");
                seen.extend_from_slice(unit);
                let held = usize::from(transcoder.pending().len() == 2);
                let whole = repaired(replace.clone(), &[&seen]);
                let held = if held == 1 { "\u{FFFD}".len() } else { 0 };
                assert_eq!(out, whole[..whole.len() - held], "{string:X?} {encoding}");
            }
        }
    }
}

/// PEP 383: each byte of ill-formed input is a surrogate of DC80..DCFF.
#[test]
fn utf_8b_keeps_every_byte() {
    let encode = Transcoder::new(Encoding::Wtf8, Encoding::Utf8b);
    for input in cases() {
        let mut expected = Vec::new();
        let mut rest = &input[..];
        while !rest.is_empty() {
            let (len, found) = rows::next(&rows::UTF_8, rest);
            let (bytes, after) = rest.split_at(len);
            match found {
                rows::Found::CodePoint(_) => expected.extend_from_slice(bytes),
                _ => bytes.iter().for_each(|byte| expected.extend(generalized(&[0xDC00 + u32::from(*byte)]))),
            }
            rest = after;
        }
        some_partitions(&input, 2, |chunks| {
            let decode = Transcoder::new(Encoding::Utf8b, Encoding::Wtf8);
            assert_eq!(by_feed(decode, chunks), (expected.clone(), vec![]), "{chunks:02X?}");
        });
        assert_eq!(by_feed(encode.clone(), &[&expected]), (input, vec![]));
    }
    // Other surrogates have no byte. A Python string has no pairs.
    let apart = Transcoder::new(Encoding::Utf8Ucs4, Encoding::Utf8b).with_switches(SURROGATES.switches());
    for value in 0xD7FF..=0xE000 {
        let (out, errors) = by_feed(apart.clone(), &[&generalized(&[value])]);
        match value {
            0xDC80..=0xDCFF => assert_eq!((out, errors), (vec![value as u8], vec![])),
            0xD800..=0xDFFF => assert_eq!((out, errors.len()), (vec![], 1), "{value:X}"),
            _ => assert_eq!((out, errors), (generalized(&[value]), vec![])),
        }
    }
    assert_eq!(by_feed(apart, &[&generalized(&[0xD83D, 0xDCA9])]).1.len(), 1);
}

#[test]
fn code_pages_have_the_indexes_of_the_whatwg_encoding_standard() {
    let whatwg = encoding_rs::WINDOWS_1252;
    for byte in 0..=u8::MAX {
        let (text, _) = whatwg.decode_without_bom_handling(core::slice::from_ref(&byte));
        let latin_1 = encoding_rs::mem::decode_latin1(core::slice::from_ref(&byte)).into_owned();
        for (encoding, text) in [(Encoding::Windows1252, &*text), (Encoding::Latin1, &latin_1)] {
            let decoded = by_feed(Transcoder::new(encoding, Encoding::Utf8), &[&[byte]]);
            assert_eq!(decoded, (text.as_bytes().to_vec(), vec![]), "{encoding} {byte:02X}");
            let encoded = by_feed(Transcoder::new(Encoding::Utf8, encoding), &[text.as_bytes()]);
            assert_eq!(encoded, (vec![byte], vec![]), "{encoding} {byte:02X}");
        }
        assert_eq!(encodings::windows_1252(byte), text.chars().next().map_or(0, u32::from));
    }
}
