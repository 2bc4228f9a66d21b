//! `repair`: a complete message or body with any policy.

use std::borrow::Cow;

use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::{GrpcFilter, ProtobufErrorKind, Schema, StringFilter};

use crate::support::protobuf::{Kind, MESSAGE, Model, STRING, descriptor, field, file, schema_of};
use crate::support::{Rng, policies};

fn validator(schema: &Schema, message: &str, policy: ErrorPolicy) -> StringFilter {
    let decoder = TextDecoder::new().with_error_policy(policy);
    StringFilter::with_decoder(schema, message, decoder).unwrap()
}

#[test]
fn a_repaired_message_is_that_of_repaired_strings() {
    let mut rng = Rng::new(6);
    let mut longer = 0;
    for _ in 0..300 {
        let model = Model::random(&mut rng);
        let schema = schema_of(&model.file());
        let size = rng.pick(&[8, 60, 200, 20_000]);
        let input = model.message(&mut rng, 0, size, 3);
        for policy in policies() {
            let decoder = TextDecoder::new().with_error_policy(policy);
            let mut messages = validator(&schema, "test.M0", policy);
            let repaired = messages.repair(&input);
            let expected = match policy {
                ErrorPolicy::Strict => {
                    let _ = messages.validate(&input);
                    messages.finish().map(|()| input.clone())
                }
                _ => Ok(model.with_strings(Some(0), &mut &input[..], &|text| {
                    decoder.decode_whole(text).unwrap().into()
                })),
            };
            assert_eq!(repaired.as_deref(), expected.as_deref(), "{policy:?} {input:02X?}");
            longer += usize::from(expected.is_ok_and(|expected| expected.len() > input.len() + 100));
        }
    }
    assert!(longer > 100, "{longer}");
}

#[test]
fn a_repair_that_keeps_lengths_is_that_of_the_stream() {
    let mut rng = Rng::new(7);
    let model = Model { messages: vec![vec![(1, Kind::String), (2, Kind::Message(0)), (3, Kind::Group(0))]] };
    let schema = schema_of(&model.file());
    let messages = validator(&schema, "test.M0", ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
    for _ in 0..500 {
        let mut input = model.message(&mut rng, 0, 60, 3);
        let at = rng.below(input.len());
        input[at] = rng.next() as u8;
        let found = model.walk(&input);
        let repaired =
            messages.repair(&input).map_err(|error| (error.path().to_vec(), error.offset, error.kind));
        assert_eq!(
            repaired.as_deref(),
            found.malformed.as_ref().map_or(Ok(&found.substituted[..]), Err).map_err(Clone::clone).as_deref()
        );
    }
}

fn nested() -> Schema {
    let m = descriptor("M", &[field("s", 1, STRING, ""), field("m", 2, MESSAGE, ".M")]);
    schema_of(&file("proto3", "", &[m]))
}

#[test]
fn only_lengths_that_change_are_written_again() {
    let messages = validator(&nested(), "M", ErrorPolicy::Replace);
    for (input, expected) in [
        // Varints longer than needed: of a message with an error, and of one without.
        (
            &b"\x12\x83\x00\x0A\x01\xFF\x12\x83\x00\x0A\x01a"[..],
            &b"\x12\x05\x0A\x03\xEF\xBF\xBD\x12\x83\x00\x0A\x01a"[..],
        ),
        // The replacement has the length of the sequence.
        (b"\x12\x87\x00\x0A\x84\x00\xF0\x9F\xA6a", b"\x12\x87\x00\x0A\x84\x00\xEF\xBF\xBDa"),
        // A varint of 10 bytes, the maximum.
        (
            b"\x12\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00\x0A\x03\xF0\x9F\xA6",
            b"\x12\x85\x80\x80\x80\x80\x80\x80\x80\x80\x00\x0A\x03\xEF\xBF\xBD",
        ),
    ] {
        assert_eq!(messages.repair(input).as_deref(), Ok(expected));
    }
    let valid = b"\x12\x83\x00\x0A\x01a";
    assert!(matches!(messages.repair(valid), Ok(Cow::Borrowed(same)) if same == valid));
}

#[test]
fn lengths_of_100_levels_grow_with_their_content() {
    let nested_message = |text: &[u8]| {
        let of = |number, inner: &[u8]| crate::support::protobuf::message([(number, inner)]);
        (0..100).fold(of(1, text), |inner, _| of(2, &inner))
    };
    // The lengths of the outer levels get one byte more, or another two.
    for count in [1, 20, 40, 60, 120, 6000] {
        let messages = validator(&nested(), "M", ErrorPolicy::Replace);
        let expected = nested_message("\u{FFFD}".repeat(count).as_bytes());
        assert_eq!(messages.repair(&nested_message(&vec![0xFF; count])).as_deref(), Ok(&expected[..]));
    }
}

#[test]
fn a_repair_does_not_depend_on_what_was_fed_and_does_not_change_it() {
    let mut messages = validator(&nested(), "M", ErrorPolicy::Replace);
    messages.validate(b"\x0A\x05").unwrap();
    assert_eq!(messages.repair(b"\x0A\x01\xFF").as_deref(), Ok(&b"\x0A\x03\xEF\xBF\xBD"[..]));
    let error = messages.repair(b"\x0A\x02\xFF").unwrap_err();
    assert_eq!((error.offset, error.kind), (3, ProtobufErrorKind::Truncated));
    assert_eq!((messages.offset(), messages.counters().total()), (2, 0));
    messages.validate(b"text!").unwrap();
    messages.finish().unwrap();
}

#[test]
fn a_repaired_body_of_grpc_has_the_lengths_of_its_messages() {
    let body = |messages: &[(u8, &[u8])]| {
        let prefixed = |&(flag, message): &(u8, &[u8])| {
            [&[flag][..], &(message.len() as u32).to_be_bytes(), message].concat()
        };
        messages.iter().flat_map(prefixed).collect::<Vec<_>>()
    };
    let messages = validator(&nested(), "M", ErrorPolicy::Replace);
    let stream = GrpcFilter::new(messages).with_compressed_messages(utf8_codec_http::Uncheckable::Pass);
    let input = body(&[(0, b"\x12\x03\x0A\x01\xFF"), (1, b"\xFF"), (0, b""), (0, b"\x0A\x01a")]);
    let expected = body(&[(0, b"\x12\x05\x0A\x03\xEF\xBF\xBD"), (1, b"\xFF"), (0, b""), (0, b"\x0A\x01a")]);
    assert_eq!(stream.repair(&input).as_deref(), Ok(&expected[..]));
    assert!(matches!(stream.repair(&expected), Ok(Cow::Borrowed(_))));
    let error = stream.repair(&input[..input.len() - 1]).unwrap_err();
    assert_eq!((error.offset, error.kind), (28, ProtobufErrorKind::Truncated));
}
