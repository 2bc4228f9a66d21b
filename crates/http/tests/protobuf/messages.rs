//! `StringFilter` against a model, however the message is cut.

use utf8_codec::{Ascii, ErrorKind, ErrorPolicy, Subset, TextDecoder};
use utf8_codec_http::protobuf::{ProtobufError, ProtobufErrorKind, Schema, StringEdit, StringFilter};

use crate::support::protobuf::{
    GROUP, Kind, MESSAGE, Model, STRING, bytes, descriptor, field, file, message, number, schema_of, tag,
};
use crate::support::{Rng, every_partition, policies, some_partitions};

/// The forwarded bytes, the repaired errors with their paths, and the error of the whole.
type Outcome = (Vec<u8>, Vec<(Vec<u32>, u64, ProtobufErrorKind, u8)>, Option<ProtobufError>);

fn outcome(mut validator: StringFilter, chunks: &[&[u8]]) -> Outcome {
    let (mut out, mut errors) = (Vec::new(), Vec::new());
    let fed = chunks.iter().try_for_each(|chunk| {
        validator.feed_with(chunk, |edit| match edit {
            StringEdit::Pass(range) => out.extend_from_slice(&chunk[range]),
            StringEdit::Insert(bytes) => out.extend_from_slice(bytes),
            StringEdit::IllFormed(error, path) => {
                let kind = ProtobufErrorKind::Text(error.kind);
                errors.push((path.numbers().collect(), error.offset, kind, error.len));
            }
            _ => unreachable!(),
        })
    });
    let finished = validator.finish();
    assert!(fed.is_ok() || fed == finished, "the error stays until the end");
    (out, errors, finished.err())
}

fn substituting(schema: &Schema, message: &str) -> StringFilter {
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
    StringFilter::with_decoder(schema, message, decoder).unwrap()
}

/// Compares both policies with the model, for some partitions or all of them.
fn compare(model: &Model, schema: &Schema, input: &[u8], every: bool) {
    let found = model.walk(input);
    let check = |chunks: &[&[u8]]| {
        let (out, errors, error) = outcome(substituting(schema, "test.M0"), chunks);
        let malformed = error.map(|error| (error.path().to_vec(), error.offset, error.kind));
        assert_eq!(malformed, found.malformed, "{input:02X?} as {chunks:02X?}");
        assert_eq!(errors, found.texts, "{input:02X?} as {chunks:02X?}");
        let truncated = found.malformed.as_ref().is_some_and(|error| error.2 == ProtobufErrorKind::Truncated);
        let end = found.malformed.as_ref().map_or(input.len(), |error| error.1 as usize);
        // An unfinished character at the end of a truncated string is held.
        assert!(
            found.substituted[..end].starts_with(&out) && end - out.len() <= if truncated { 3 } else { 0 }
        );

        let (out, errors, error) = outcome(StringFilter::new(schema, "test.M0").unwrap(), chunks);
        let Some((path, offset, kind, len)) = found.texts.first() else { return };
        let error = error.unwrap();
        assert_eq!((error.path(), error.offset, error.kind, error.len), (&path[..], *offset, *kind, *len));
        assert!(errors.is_empty() && out == input[..*offset as usize]);
    };
    if every { every_partition(input, check) } else { some_partitions(input, 10, check) }
}

#[test]
fn messages_of_random_schemas_agree_with_the_model() {
    let mut rng = Rng::new(1);
    for _ in 0..400 {
        let model = Model::random(&mut rng);
        let schema = schema_of(&model.file());
        let size = rng.pick(&[4, 8, 60, 200]);
        let mut input = model.message(&mut rng, 0, size, 3);
        compare(&model, &schema, &input, input.len() <= 10);
        // A few wrong bytes, then a missing end.
        for _ in 0..1 + rng.below(3) {
            let at = rng.below(input.len());
            input[at] = rng.pick(&[0, 1, 3, 4, 7, 0x0A, 0x0B, 0x0C, 0x80, 0xFF, rng.clone().next() as u8]);
        }
        compare(&model, &schema, &input, input.len() <= 10);
        input.truncate(rng.below(input.len()));
        compare(&model, &schema, &input, input.len() <= 10);
    }
}

#[test]
fn every_short_input_of_structural_bytes_agrees_with_the_model() {
    let model = Model { messages: vec![vec![(1, Kind::String), (2, Kind::Message(0)), (3, Kind::Group(0))]] };
    let schema = schema_of(&model.file());
    // Tags of the string, the message, the group and its end, and of a number; lengths; parts of characters.
    const BYTES: [u8; 9] = [0x0A, 0x12, 0x1B, 0x1C, 0x20, 0x01, 0x02, 0x80, 0xC3];
    // The second one starts a message of 5 bytes, and a field in it.
    for (start, len) in [(&b""[..], 5), (b"\x12\x05\x20\x01", 4)] {
        for mut index in 0..9_usize.pow(len) {
            let mut input = start.to_vec();
            for _ in 0..len {
                input.push(BYTES[index % 9]);
                index /= 9;
            }
            compare(&model, &schema, &input, true);
        }
    }
}

fn one_string() -> Schema {
    schema_of(&file("proto3", "", &[descriptor("M", &[field("s", 1, STRING, "")])]))
}

#[test]
fn varints_have_at_most_ten_bytes() {
    let validate = |bytes: &[u8]| outcome(StringFilter::new(&one_string(), "M").unwrap(), &[bytes]).2;
    let padded = |byte, zeros, last| [&[byte][..], &vec![0x80; zeros], &[last]].concat();
    for (input, expected) in [
        (padded(0x8A, 8, 0), Some((10, ProtobufErrorKind::Truncated))), // the tag of `s` in 10 bytes, without its length
        (padded(0x8A, 9, 0), Some((9, ProtobufErrorKind::VarintTooLong))),
        (padded(0x10, 9, 1), None), // a value of field 2
        (padded(0x10, 9, 2), Some((10, ProtobufErrorKind::VarintTooLong))), // 2^64
        (padded(0x10, 9, 0x7F), Some((10, ProtobufErrorKind::VarintTooLong))),
        (padded(0x8A, 8, 2), Some((9, ProtobufErrorKind::VarintTooLong))),
        (padded(0x0A, 9, 2), Some((10, ProtobufErrorKind::VarintTooLong))), // a length
        (padded(0x10, 10, 1), Some((10, ProtobufErrorKind::VarintTooLong))),
        ([b"\x13", &padded(0x94, 8, 0)[..]].concat(), None), // the end of a group in 10 bytes
        ([b"\x13", &padded(0x94, 8, 1)[..]].concat(), Some((10, ProtobufErrorKind::UnpairedGroup))),
        (b"\x0A\xFF\xFF\xFF\xFF\x07".to_vec(), Some((6, ProtobufErrorKind::Truncated))), // 2^31 - 1
        (b"\x0A\x80\x80\x80\x80\x08".to_vec(), Some((5, ProtobufErrorKind::InvalidLength))), // 2^31
        (b"\xF8\xFF\xFF\xFF\x0F\0".to_vec(), None),                                      // field 2^29 - 1
        (b"\x80\x80\x80\x80\x10\0".to_vec(), Some((4, ProtobufErrorKind::InvalidTag))),
    ] {
        assert_eq!(validate(&input).map(|error| (error.offset, error.kind)), expected, "{input:02X?}");
    }
}

#[test]
fn a_message_is_an_error_at_the_first_byte_that_shows_it() {
    use ProtobufErrorKind::*;
    let in_group = b"\x83\x01"; // field 16
    for (start, shown, kind, path) in [
        (&b""[..], 0x86, InvalidTag, &[][..]), // wire type 6, the first of several bytes
        (b"", 0xFF, InvalidTag, &[]),
        (b"", 0x8C, UnpairedGroup, &[]), // the end of a group where none is open
        (b"", 0x0C, UnpairedGroup, &[]),
        (in_group, 0x8C, UnpairedGroup, &[16]), // another field
        (in_group, 0x0C, UnpairedGroup, &[16]),
        (b"\x83\x01\x84", 0x02, UnpairedGroup, &[16]),
        (b"\x83\x01\x84", 0x81, Truncated, &[16]), // field 16 in more bytes than needed
        (b"\x88\x80\x80\x80", 0x90, InvalidTag, &[]), // field 2^29, with more bytes to come
        (b"\x0A\x80\x80\x80\x80", 0x88, InvalidLength, &[1]), // 2^31, with more bytes to come
        (b"\x1A\x05\x0A", 0x84, InvalidLength, &[3, 1]), // 3 bytes are left of the message
    ] {
        let m = descriptor("M", &[field("s", 1, STRING, ""), field("m", 3, MESSAGE, ".M")]);
        let schema = schema_of(&file("proto3", "", &[m]));
        every_partition(&[start, &[shown]].concat(), |chunks| {
            let error = outcome(StringFilter::new(&schema, "M").unwrap(), chunks).2.unwrap();
            assert_eq!((error.kind, error.path()), (kind, path), "{chunks:02X?}");
            let shows = start.len() + usize::from(kind == Truncated);
            assert_eq!(error.offset, shows as u64, "{chunks:02X?}");
        });
    }
}

#[test]
fn messages_nest_in_at_most_100_others() {
    let m = descriptor(
        "M",
        &[field("s", 1, STRING, ""), field("m", 2, MESSAGE, ".M"), field("g", 3, GROUP, ".M")],
    );
    let schema = schema_of(&file("proto3", "", &[m]));
    for in_groups in [false, true] {
        let nested = |levels| {
            (0..levels).fold(b"\x0A\x01\xFF".to_vec(), |inner, _| match in_groups {
                true => [b"\x1B", &inner[..], b"\x1C"].concat(),
                false => message([(2, &inner[..])]),
            })
        };
        for (levels, kind) in
            [(100, ProtobufErrorKind::Text(ErrorKind::InvalidLead)), (101, ProtobufErrorKind::TooDeep)]
        {
            some_partitions(&nested(levels), 10, |chunks| {
                let error = outcome(StringFilter::new(&schema, "M").unwrap(), chunks).2.unwrap();
                assert_eq!((error.kind, error.path().len()), (kind, 101));
            });
        }
    }
}

#[test]
fn strings_that_readers_do_not_verify_are_a_choice() {
    let m = descriptor("M", &[field("s", 1, STRING, "")]);
    let schema = schema_of(&file("proto2", "", &[m]));
    let validator = StringFilter::new(&schema, "M").unwrap();
    let input = b"\x0A\x02a\xFF";
    assert_eq!(outcome(validator.clone(), &[input]).2, None);
    let checked = validator.with_unverified_strings(true);
    assert_eq!(outcome(checked, &[input]).2.unwrap().offset, 3);
}

#[test]
fn every_policy_keeps_the_length() {
    let schema = one_string();
    let input = [&b"\x0A\x06a\xE2\x82b\xFF\0"[..], b"\x0A\x01\xC3"].concat();
    for policy in policies() {
        let decoder = TextDecoder::new().with_error_policy(policy);
        every_partition(&input, |chunks| {
            let validator = StringFilter::with_decoder(&schema, "M", decoder.clone()).unwrap();
            let (out, _, error) = outcome(validator, chunks);
            match policy {
                ErrorPolicy::Strict => assert_eq!(error.unwrap().offset, 3),
                _ => assert_eq!((&out[..], error), (&b"\x0A\x06a??b?\0\x0A\x01?"[..], None)),
            }
        });
    }
}

#[test]
fn characters_outside_the_subset_are_errors() {
    let decoder = TextDecoder::new().with_subset(&Subset::NO_NUL);
    every_partition(b"\x0A\x03\xC3\xA9\0", |chunks| {
        let validator = StringFilter::with_decoder(&one_string(), "M", decoder.clone()).unwrap();
        let error = outcome(validator, chunks).2.unwrap();
        assert_eq!((error.offset, error.kind), (4, ProtobufErrorKind::Text(ErrorKind::OutsideSubset)));
    });
}

#[test]
fn errors_name_fields_and_show_no_payload() {
    let inner = descriptor("Inner", &[field("text", 2, STRING, "")]);
    let outer = descriptor("Outer", &[field("inner", 70, MESSAGE, ".p.Inner")]);
    let schema = schema_of(&file("proto3", "p", &[inner, outer]));
    let validate =
        |input: &[u8]| outcome(StringFilter::new(&schema, "p.Outer").unwrap(), &[input]).2.unwrap();

    let error = validate(&message([(70, &message([(2, &b"secret\xFF"[..])])[..])]));
    assert_eq!((error.path(), error.names()), (&[70, 2][..], "inner.text"));
    assert_eq!(error.to_string(), "ill-formed UTF-8 at byte 11 (InvalidLead, 1 byte) in inner.text");
    let error = validate(&message([(70, &message([(5, &b"secret"[..])])[..7])]));
    assert_eq!(error.to_string(), "malformed protobuf message at byte 4 (InvalidLength) in inner.5");
    assert!(StringFilter::new(&schema, "p.Other").is_err_and(|error| error.to_string().contains("p.Other")));
}

#[test]
fn after_the_end_the_next_message_starts_at_0() {
    let mut validator = StringFilter::new(&one_string(), "M").unwrap();
    for _ in 0..2 {
        assert_eq!(validator.validate(b"\x0A\x05a\xFF").unwrap_err().offset, 3);
        assert_eq!(validator.validate(b"").unwrap_err().offset, 3, "until the end");
        assert_eq!(validator.finish().unwrap_err().offset, 3);
        validator.validate(b"\x0A\x05a").unwrap();
        let error = validator.finish().unwrap_err();
        assert_eq!((error.offset, error.kind, error.path()), (3, ProtobufErrorKind::Truncated, &[1][..]));
        assert_eq!(validator.finish(), Ok(()));
    }
    assert_eq!(validator.counters().total(), 2);
}

#[test]
fn a_long_string_is_one_edit_for_each_chunk() {
    let mut input = Vec::new();
    bytes(&mut input, 1, "é".repeat(5000));
    number(&mut input, 2, 7);
    tag(&mut input, 3, 1);
    input.extend([0xFF; 8]);
    let mut validator = StringFilter::new(&one_string(), "M").unwrap();
    // The prefix has 3 bytes, so no chunk ends inside a character.
    for chunk in [&input[..1003], &input[1003..]] {
        let mut edits = Vec::new();
        validator.feed_with(chunk, |edit| edits.push(format!("{edit:?}"))).unwrap();
        assert_eq!(edits, [format!("Pass(0..{})", chunk.len())]);
    }
    assert_eq!(validator.finish(), Ok(()));
}
