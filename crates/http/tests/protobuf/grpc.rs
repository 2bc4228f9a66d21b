//! `GrpcFilter`: messages with their flag and length before them.

use utf8_codec::{Ascii, ErrorKind, ErrorPolicy, TextDecoder};
use utf8_codec_http::Uncheckable;
use utf8_codec_http::protobuf::{GrpcFilter, GrpcProtocol, ProtobufErrorKind, StringEdit, StringFilter};

use crate::support::protobuf::{Found, Kind, Model, schema_of};
use crate::support::{Rng, every_partition, some_partitions};

fn model() -> Model {
    Model { messages: vec![vec![(1, Kind::String), (2, Kind::Message(0))]] }
}

fn prefixed(flag: u8, message: &[u8]) -> Vec<u8> {
    [&[flag][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

fn verdict(mut body: GrpcFilter, chunks: &[&[u8]]) -> Option<(u64, ProtobufErrorKind)> {
    let fed = chunks.iter().try_for_each(|chunk| body.validate(chunk));
    let finished = body.finish();
    assert!(fed.is_ok() || fed == finished);
    finished.err().map(|error| (error.offset, error.kind))
}

#[test]
fn each_message_is_repaired_in_place() {
    let mut rng = Rng::new(3);
    let schema = schema_of(&model().file());
    let decoder = TextDecoder::new().with_error_policy(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
    for _ in 0..100 {
        let (mut input, mut expected) = (Vec::new(), Vec::new());
        for _ in 0..rng.below(4) {
            let message = model().message(&mut rng, 0, 30, 2);
            let Found { substituted, malformed: None, .. } = model().walk(&message) else { unreachable!() };
            input.extend(prefixed(0, &message));
            expected.extend(prefixed(0, &substituted));
        }
        some_partitions(&input, 5, |chunks| {
            let mut out = Vec::new();
            let mut body =
                GrpcFilter::new(StringFilter::with_decoder(&schema, "test.M0", decoder.clone()).unwrap());
            for chunk in chunks {
                let edit = |edit: StringEdit<'_>| match edit {
                    StringEdit::Pass(range) => out.extend_from_slice(&chunk[range]),
                    StringEdit::Insert(bytes) => out.extend_from_slice(bytes),
                    _ => {}
                };
                body.feed_with(chunk, edit).unwrap();
            }
            body.finish().unwrap();
            assert_eq!(out, expected);
        });
    }
}

#[test]
fn the_length_of_a_message_is_its_end() {
    let schema = schema_of(&model().file());
    use ProtobufErrorKind::*;
    for (input, expected) in [
        (&b""[..], None),
        (b"\0\0\0\0\0", None),
        (b"\0\0\0\0\0\0\0\0\0\0", None),
        (b"\0\0\0\0\x01\x0A", Some((5, InvalidLength))), // a tag without its length
        (b"\0\0\0\0\x02\x0A\x01", Some((6, InvalidLength))), // a string after the end
        (b"\0\0\0\0\x02\x12\x80", Some((6, InvalidLength))), // an unfinished length
        (b"\0\0\0\0\x01\x23", Some((6, UnpairedGroup))),
        (b"\0\x7F\xFF\xFF\xFF\x68\0", Some((7, Truncated))), // 2^31 - 1
        (b"\0\x80", Some((1, InvalidLength))),
        (b"\0\xFF\xFF\xFF\xFF\x68\0", Some((1, InvalidLength))),
        (b"\0\0\0\0\x03\x0A\x01\xFF", Some((7, Text(ErrorKind::InvalidLead)))),
        (b"\0\0\0\0\x03\x0A\x01", Some((7, Truncated))),
        (b"\0\0\0\0\x03", Some((5, Truncated))),
        (b"\0\0\0", Some((3, Truncated))),
        (b"\x01\0\0", Some((0, Compressed))),
        (b"\0\0\0\0\0\x02", Some((5, InvalidFlag))),
    ] {
        every_partition(input, |chunks| {
            let body = GrpcFilter::new(StringFilter::new(&schema, "test.M0").unwrap());
            assert_eq!(verdict(body, chunks), expected, "{chunks:02X?}");
        });
    }
}

#[test]
fn an_error_between_fields_has_no_path() {
    let schema = schema_of(&model().file());
    use ProtobufErrorKind::*;
    for (input, expected) in [
        (&b"\0\0\0\0\x02\x68\0\x02"[..], InvalidFlag), // after an unknown field
        (b"\0\0\0\0\x03\x0A\x01a\x02", InvalidFlag),
        (b"\0\0\0\0\x09\x12\0\x68\0", Truncated),
        (b"\0\0\0\0\x09\x0A\0\x12\0", Truncated),
    ] {
        every_partition(input, |chunks| {
            let mut body = GrpcFilter::new(StringFilter::new(&schema, "test.M0").unwrap());
            let _ = chunks.iter().try_for_each(|chunk| body.validate(chunk));
            let error = body.finish().unwrap_err();
            assert_eq!((error.kind, error.path()), (expected, &[][..]), "{chunks:02X?}");
        });
    }
}

/// gRPC-Web ("Message framing") and Connect ("Streaming-Response").
#[test]
fn a_stream_ends_with_the_last_frame_of_its_protocol() {
    let schema = schema_of(&model().file());
    use GrpcProtocol::{Connect, Grpc, GrpcWeb};
    use ProtobufErrorKind::*;
    const PASS: Uncheckable = Uncheckable::Pass;
    const REJECT: Uncheckable = Uncheckable::Reject;
    for (protocol, compressed, input, expected) in [
        (Grpc, PASS, &b"\x80"[..], Some((0, InvalidFlag))),
        (Grpc, PASS, b"\x02", Some((0, InvalidFlag))),
        (GrpcWeb, REJECT, b"\0\0\0\0\x03\x0A\x01a\x80\0\0\0\x02a\xFF", None),
        (GrpcWeb, REJECT, b"\x80\0\0\0\0", None),
        (GrpcWeb, REJECT, b"\x81\0\0\0\x01\xFF", None),
        (GrpcWeb, REJECT, b"\x80\0\0\0\x02a", Some((6, Truncated))),
        (GrpcWeb, REJECT, b"\x80\0\0\0\x01a\0", Some((6, InvalidFlag))),
        (GrpcWeb, REJECT, b"\x80\0\0\0\0\x80", Some((5, InvalidFlag))),
        (GrpcWeb, REJECT, b"\x01", Some((0, Compressed))),
        (GrpcWeb, PASS, b"\x02", Some((0, InvalidFlag))),
        (GrpcWeb, PASS, b"\x82", Some((0, InvalidFlag))),
        (Connect, REJECT, b"\0\0\0\0\x03\x0A\x01a\x02\0\0\0\x02{}", None),
        (Connect, REJECT, b"\x02\0\0\0\0", None),
        (Connect, REJECT, b"\x02\0\0\0\x02\xC3\xA9", None),
        (Connect, REJECT, b"\x02\0\0\0\x02a\xFF", Some((6, Text(ErrorKind::InvalidLead)))),
        (Connect, REJECT, b"\x02\0\0\0\x02a\xC3\xA9", Some((6, Text(ErrorKind::Truncated)))),
        (Connect, REJECT, b"\x02\0\0\0\x03a\xC3", Some((7, Truncated))),
        (Connect, REJECT, b"\x02\0\0\0\x01a\x02", Some((6, InvalidFlag))),
        (Connect, REJECT, b"\x03", Some((0, Compressed))),
        (Connect, PASS, b"\x01\0\0\0\x01\xFF\x03\0\0\0\x01\xFF", None),
        (Connect, PASS, b"\x80", Some((0, InvalidFlag))),
    ] {
        some_partitions(input, 20, |chunks| {
            let body = GrpcFilter::new(StringFilter::new(&schema, "test.M0").unwrap());
            let body = body.with_protocol(protocol).with_compressed_messages(compressed);
            assert_eq!(verdict(body, chunks), expected, "{protocol:?} {chunks:02X?}");
        });
    }
}

#[test]
fn the_text_at_the_end_of_a_stream_is_repaired() {
    let schema = schema_of(&model().file());
    let body = |policy| {
        let decoder = TextDecoder::new().with_error_policy(policy);
        let message = StringFilter::with_decoder(&schema, "test.M0", decoder).unwrap();
        GrpcFilter::new(message).with_protocol(GrpcProtocol::Connect)
    };
    let input = [prefixed(0, b"\x0A\x01\xFF"), prefixed(2, b"{\"\xFF\xC3\xA9\"}")].concat();
    let expected = [prefixed(0, b"\x0A\x01?"), prefixed(2, b"{\"?\xC3\xA9\"}")].concat();
    some_partitions(&input, 20, |chunks| {
        let mut body = body(ErrorPolicy::Replace);
        let mut out = Vec::new();
        for chunk in chunks {
            body.feed_with(chunk, |edit| match edit {
                StringEdit::Pass(range) => out.extend_from_slice(&chunk[range]),
                StringEdit::Insert(bytes) => out.extend_from_slice(bytes),
                _ => {}
            })
            .unwrap();
        }
        body.finish().unwrap();
        assert_eq!(out, expected);
    });
    let repaired = [prefixed(0, b"\x0A\x03\xEF\xBF\xBD"), prefixed(2, "{\"\u{FFFD}é\"}".as_bytes())].concat();
    assert_eq!(*body(ErrorPolicy::Replace).repair(&input).unwrap(), *repaired);
}

#[test]
fn compressed_messages_pass_by_choice() {
    let schema = schema_of(&model().file());
    let input = [prefixed(1, b"\xFF\xFF"), prefixed(1, b""), prefixed(0, b"\x0A\x01\xFF")].concat();
    some_partitions(&input, 20, |chunks| {
        let body = GrpcFilter::new(StringFilter::new(&schema, "test.M0").unwrap());
        let body = body.with_compressed_messages(Uncheckable::Pass);
        assert_eq!(verdict(body, chunks), Some((19, ProtobufErrorKind::Text(ErrorKind::InvalidLead))));
    });
}
