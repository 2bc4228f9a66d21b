//! Every row of the grammar of UTF-8, each bound of it, and every wrong byte in every place, for every partition: text,
//! errors and pending bytes after each chunk are those of the definition in the Unicode Standard.

use utf8_codec::{BomPolicy, ErrorPolicy, Piece, TextDecoder, TextPiece, Utf8Decoder, Utf8Error, from_utf8};

use crate::support::cases::{cases, long_cases};
use crate::support::rows::{self, Decoded, Error, Found, UTF_8};
use crate::support::{Rng, every_partition, oracle, some_partitions};

fn facts(error: Utf8Error) -> Error {
    (error.offset, error.kind, error.len)
}

/// Returns what is decoded of every prefix of the input.
fn by_definition(input: &[u8]) -> Vec<Decoded> {
    (0..=input.len()).map(|end| rows::decode(&UTF_8, &input[..end])).collect()
}

/// Checks the decoder after each chunk.
fn check_decoder(expected: &[Decoded], chunks: &[&[u8]]) {
    let (mut decoder, mut end) = (Utf8Decoder::new(), 0);
    let mut found = Decoded::default();
    for chunk in chunks {
        for piece in decoder.feed(chunk) {
            match piece {
                Piece::Text(text) => found.code_points.extend(text.chars().map(u32::from)),
                Piece::Seam(character) => found.code_points.push(character.into()),
                Piece::IllFormed(error) => found.errors.push(facts(error)),
            }
        }
        end += chunk.len();
        found.pending = decoder.pending().len();
        assert_eq!(&found, &expected[end], "after {end} bytes of {chunks:02X?}");
    }
    found.errors.extend(decoder.finish().map_err(facts).err());
    assert_eq!(found.errors, expected[end].errors_of_stream(end), "{chunks:02X?}");
    assert_eq!((decoder.pending().len(), decoder.offset()), (0, end as u64));
    assert!(decoder.feed(b"z").eq([Piece::Text("z")]), "the decoder can be used again");
}

/// Returns the text of a policy that writes `replacement` for each error, before the end of the stream or at it. `strips` is
/// whether a BOM at the start is removed.
fn repaired(input: &[u8], strips: bool, replacement: &str, ends: bool) -> String {
    let (mut text, mut at) = (String::new(), 0);
    while at < input.len() {
        let (len, found) = rows::next(&UTF_8, &input[at..]);
        match found {
            Found::CodePoint(0xFEFF) if strips && at == 0 => {}
            Found::CodePoint(value) => text.push(char::from_u32(value).expect("a character")),
            Found::Incomplete if !ends => {}
            _ => text.push_str(replacement),
        }
        at += len;
    }
    text
}

/// Checks the text of a policy after each chunk.
fn check_policies(input: &[u8], expected: &[Decoded], chunks: &[&[u8]]) {
    for (policy, replacement) in
        [(ErrorPolicy::Strict, ""), (ErrorPolicy::Replace, "\u{FFFD}"), (ErrorPolicy::Skip, "")]
    {
        for bom in [BomPolicy::Keep, BomPolicy::Strip] {
            let strips = bom == BomPolicy::Strip;
            let mut decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(bom);
            let (mut text, mut errors, mut end) = (String::new(), Vec::new(), 0);
            let mut note = |piece: TextPiece<'_>, text: &mut String| {
                if let TextPiece::Repaired(_, error) | TextPiece::IllFormed(error) = piece {
                    errors.push(facts(error));
                }
                text.push_str(piece.text().unwrap_or_default());
            };
            for chunk in chunks {
                decoder.feed(chunk).for_each(|piece| note(piece, &mut text));
                end += chunk.len();
                let so_far = repaired(&input[..end], strips, replacement, false);
                assert_eq!(text, so_far, "{policy:?} {bom:?} after {end} bytes of {chunks:02X?}");
            }
            decoder.finish().into_iter().for_each(|piece| note(piece, &mut text));
            let whole = repaired(input, strips, replacement, true);
            assert_eq!(text, whole, "{policy:?} {bom:?} {chunks:02X?}");
            assert_eq!(errors, expected[end].errors_of_stream(end), "{policy:?} {bom:?} {chunks:02X?}");
        }
    }
}

fn check(input: &[u8]) {
    let expected = by_definition(input);
    every_partition(input, |chunks| check_decoder(&expected, chunks));
    let last = &expected[input.len()];
    let errors = last.errors_of_stream(input.len());
    assert_eq!(from_utf8(input).err().map(facts), errors.first().copied(), "{input:02X?}");
    assert_eq!(oracle::decode(input).1, errors, "the naive oracle, {input:02X?}");
}

#[test]
fn rows_contain_every_character_once() {
    let mut next = 0;
    for row in UTF_8 {
        let (first, last) = row.code_points;
        assert_eq!(first, next);
        let bounds = row.bounds(row.bytes.len());
        let (least, greatest) = (bounds.first().unwrap(), bounds.last().unwrap());
        assert_eq!((row.value(least), row.value(greatest)), (first, last));
        next = if last == 0xD7FF { 0xE000 } else { last + 1 };
    }
    assert_eq!(next, 0x11_0000);
}

#[test]
fn sequences_of_the_bounds_of_rows_are_decoded() {
    let sequences = rows::well_formed(&UTF_8);
    assert_eq!(sequences.len(), 2 + 4 + 4 + 8 + 4 + 8 + 8 + 16 + 8);
    for first in &sequences {
        check(first);
        for second in &sequences {
            let both = [&first[..], second].concat();
            let expected = by_definition(&both);
            assert_eq!(expected[both.len()].code_points.len(), 2);
            some_partitions(&both, 0, |chunks| check_decoder(&expected, chunks));
        }
    }
}

#[test]
fn a_sequence_without_its_last_bytes_is_one_error() {
    for start in rows::truncated(&UTF_8) {
        check(&start);
        for after in [&b"a"[..], b"\xC3\xA9", b"\xF4", b"\xFF"] {
            check(&[&start[..], after].concat());
        }
        let expected = by_definition(&start);
        assert_eq!(
            expected.iter().map(|decoded| decoded.pending).collect::<Vec<_>>(),
            Vec::from_iter(0..=start.len())
        );
    }
}

#[test]
fn a_wrong_byte_in_any_place_is_an_error_at_once() {
    for input in rows::wrong_bytes(&UTF_8) {
        check(&input);
        let between = [b"a", &input[..], b"Z"].concat();
        let expected = by_definition(&between);
        some_partitions(&between, 0, |chunks| check_decoder(&expected, chunks));
    }
}

/// Kernels read blocks. The wrong byte is at each position of a block.
#[test]
fn a_wrong_byte_among_long_text_is_an_error() {
    for (index, input) in rows::wrong_bytes(&UTF_8).iter().enumerate() {
        let (before, after) = (index % 131, index % 67);
        let text = "0123456789abcdef".repeat(10);
        let input = [&text.as_bytes()[..before], input, &text.as_bytes()[..after]].concat();
        let last = rows::decode(&UTF_8, &input);
        let errors = last.errors_of_stream(input.len());
        assert_eq!(from_utf8(&input).err().map(facts), errors.first().copied(), "{input:02X?}");
        let mut decoder = Utf8Decoder::new();
        let mut found: Vec<_> = decoder
            .feed(&input)
            .filter_map(|piece| if let Piece::IllFormed(error) = piece { Some(facts(error)) } else { None })
            .collect();
        found.extend(decoder.finish().map_err(facts).err());
        assert_eq!(found, errors, "{input:02X?}");
    }
}

#[test]
fn each_class_of_input_has_the_text_of_the_definition() {
    for input in cases() {
        let expected = by_definition(&input);
        some_partitions(&input, 3, |chunks| check_decoder(&expected, chunks));
        for size in [1, 2, 5, 64] {
            check_policies(&input, &expected, &input.chunks(size).collect::<Vec<_>>());
        }
    }
}

#[test]
fn random_sequences_have_the_text_of_the_definition() {
    let mut rng = Rng::new(3629);
    for _ in 0..10_000 {
        let input = rows::random(&UTF_8, &mut rng);
        let expected = by_definition(&input);
        some_partitions(&input, 2, |chunks| check_decoder(&expected, chunks));
        check_policies(&input, &expected, &input.chunks(1).collect::<Vec<_>>());
    }
}

#[test]
fn long_inputs_have_the_text_of_the_definition() {
    for input in long_cases() {
        let whole = rows::decode(&UTF_8, &input);
        for size in [1, 2, 3, 5, 64, 1460, input.len()] {
            let (mut decoder, mut text, mut errors) =
                (TextDecoder::new().with_error_policy(ErrorPolicy::Replace), String::new(), Vec::new());
            let mut note = |piece: TextPiece<'_>| {
                if let TextPiece::Repaired(_, error) = piece {
                    errors.push(facts(error));
                }
                text.push_str(piece.text().expect("repaired"));
            };
            input.chunks(size).for_each(|chunk| decoder.feed(chunk).for_each(&mut note));
            decoder.finish().into_iter().for_each(&mut note);
            assert_eq!(errors, whole.errors_of_stream(input.len()), "in chunks of {size}");
            assert_eq!(text, repaired(&input, false, "\u{FFFD}", true), "in chunks of {size}");
        }
    }
}

/// The Unicode Standard 17.0, section 3.9, tables 3-8 to 3-11 and the text of conformance clause C10: the bytes, and the
/// length of each maximal subpart, or 0 for a character.
#[test]
fn the_maximal_subparts_of_the_tables_of_unicode() {
    for (table, input, lengths) in [
        (
            "3-8, non-shortest forms",
            &b"\xC0\xAF\xE0\x80\xBF\xF0\x81\x82\x41"[..],
            &[1, 1, 1, 1, 1, 1, 1, 1, 0][..],
        ),
        ("3-9, surrogates", b"\xED\xA0\x80\xED\xBF\xBF\xED\xAF\x41", &[1, 1, 1, 1, 1, 1, 1, 1, 0]),
        (
            "3-10, other ill-formed sequences",
            b"\xF4\x91\x92\x93\xFF\x41\x80\xBF\x42",
            &[1, 1, 1, 1, 1, 0, 1, 1, 0],
        ),
        ("3-11, truncated sequences", b"\xE1\x80\xE2\xF0\x91\x92\xF1\xBF\x41", &[2, 1, 3, 2, 0]),
        ("C10", b"\xC2\x41\x42", &[1, 0, 0]),
    ] {
        let mut at = 0;
        let mut expected = Vec::new();
        for &len in lengths {
            expected.extend((len > 0).then_some((at, len)));
            at += u64::from(len.max(1));
        }
        every_partition(input, |chunks| {
            let mut decoder = Utf8Decoder::new();
            let mut found = Vec::new();
            for chunk in chunks {
                found.extend(decoder.feed(chunk).filter_map(|piece| match piece {
                    Piece::IllFormed(error) => Some((error.offset, error.len)),
                    _ => None,
                }));
            }
            assert_eq!(found, expected, "table {table}: {chunks:02X?}");
        });
    }
}
