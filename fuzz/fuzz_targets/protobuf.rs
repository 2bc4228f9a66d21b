//! `StringFilter` and `GrpcFilter`: the model, for every partition; `repair`; and a descriptor set of any bytes.
#![no_main]

use libfuzzer_sys::fuzz_target;
use test_support::protobuf::{Kind, Model, schema_of};
use utf8_codec_fuzz::Input;
use utf8_codec_http::Uncheckable;
use utf8_codec_http::protobuf::{GrpcFilter, GrpcProtocol, ProtobufError, Schema, StringEdit, StringFilter};

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    let _ = Schema::from_descriptor_set(input.bytes);

    use Kind::{Group, Message, Number, String};
    let model = Model {
        messages: vec![vec![(1, String), (2, Message(0)), (3, Group(0)), (4, Number), (100, String)]],
    };
    let schema = schema_of(&model.file());
    let validator = StringFilter::with_decoder(&schema, "test.M0", input.decoder()).expect("the message");
    let chunks = input.chunks();

    let mut strict = StringFilter::new(&schema, "test.M0").expect("the message");
    let verdict = feed(&chunks, |chunk| strict.validate(chunk)).and_then(|()| strict.finish());
    let found = model.walk(input.bytes);
    let texts = found.texts.iter().map(|(_, offset, kind, _)| (*offset, *kind));
    let malformed = found.malformed.iter().map(|(_, offset, kind)| (*offset, *kind));
    assert_eq!(verdict.err().map(|error| (error.offset, error.kind)), texts.chain(malformed).next());

    let message = |chunks: &[&[u8]]| {
        let (mut validator, mut out) = (validator.clone(), Vec::new());
        let fed = feed(chunks, |chunk| validator.feed_with(chunk, |edit| apply(edit, chunk, &mut out)));
        (fed.and_then(|()| validator.finish()), validator.counters(), out)
    };
    let (streamed, ..) = message(&[input.bytes]);
    assert_eq!(message(&chunks), message(&[input.bytes]));
    let repaired = validator.repair(input.bytes);
    assert_eq!(streamed, repaired.as_ref().map(drop).map_err(Clone::clone));
    assert!(repaired.is_err() || strict.repair(&repaired.expect("a message")).is_ok());

    let compressed = input.pick(5, &[Uncheckable::Reject, Uncheckable::Pass]);
    let protocol = input.pick(6, &[GrpcProtocol::Grpc, GrpcProtocol::GrpcWeb, GrpcProtocol::Connect]);
    let stream = |message: &StringFilter| {
        GrpcFilter::new(message.clone()).with_protocol(protocol).with_compressed_messages(compressed)
    };
    let grpc = |chunks: &[&[u8]]| {
        let mut body = stream(&validator);
        let mut out = Vec::new();
        let fed = feed(chunks, |chunk| body.feed_with(chunk, |edit| apply(edit, chunk, &mut out)));
        (fed.and_then(|()| body.finish()), body.counters(), out)
    };
    assert_eq!(grpc(&chunks), grpc(&[input.bytes]));
    let repaired = stream(&validator).repair(input.bytes);
    assert_eq!(grpc(&chunks).0, repaired.as_ref().map(drop).map_err(Clone::clone));
    assert!(repaired.is_err() || stream(&strict).repair(&repaired.expect("a body")).is_ok());
});

fn feed(
    chunks: &[&[u8]],
    feed: impl FnMut(&&[u8]) -> Result<(), ProtobufError>,
) -> Result<(), ProtobufError> {
    chunks.iter().try_for_each(feed)
}

fn apply(edit: StringEdit<'_>, chunk: &[u8], out: &mut Vec<u8>) {
    match edit {
        StringEdit::Pass(range) => out.extend_from_slice(&chunk[range]),
        StringEdit::Insert(bytes) => out.extend_from_slice(bytes),
        _ => {}
    }
}
