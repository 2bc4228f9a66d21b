//! `GrpcFilter` with compressed messages.

use utf8_codec::inflate::{Deflate, InflateError, Inflater};
use utf8_codec::{Ascii, ErrorKind, ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::{
    GrpcFilter, GrpcProtocol, ProtobufError, ProtobufErrorKind, Schema, StringEdit, StringFilter,
};

use crate::support::compression::{gzip, zlib};
use crate::support::protobuf::{Found, Kind, Model, schema_of};
use crate::support::{Rng, some_partitions};

const LIMIT: u64 = 4 << 20;

type Compress = fn(&[u8]) -> Vec<u8>;

fn model() -> Model {
    Model { messages: vec![vec![(1, Kind::String), (2, Kind::Message(0))]] }
}

fn schema() -> Schema {
    schema_of(&model().file())
}

fn frame(flag: u8, message: &[u8]) -> Vec<u8> {
    [&[flag][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

fn filter(schema: &Schema, policy: ErrorPolicy, deflate: Deflate) -> GrpcFilter {
    let decoder = TextDecoder::new().with_error_policy(policy);
    let message = StringFilter::with_decoder(schema, "test.M0", decoder).unwrap();
    GrpcFilter::new(message).with_inflater(Inflater::new(deflate).with_max_length(LIMIT))
}

/// Returns what is forwarded, the offsets of the errors that are repaired, and the error.
fn run(mut body: GrpcFilter, chunks: &[&[u8]]) -> (Vec<u8>, Vec<u64>, Option<ProtobufError>) {
    let mut out = Vec::new();
    let mut repaired = Vec::new();
    let fed = chunks.iter().try_for_each(|chunk| {
        body.feed_with(chunk, |edit| match edit {
            StringEdit::Pass(range) => out.extend_from_slice(&chunk[range]),
            StringEdit::Insert(bytes) => out.extend_from_slice(bytes),
            StringEdit::IllFormed(error, _) => repaired.push(error.offset),
            _ => {}
        })
    });
    let finished = body.finish();
    assert!(fed.is_ok() || fed == finished);
    (out, repaired, finished.err())
}

fn place(error: &ProtobufError) -> (u64, Option<u64>, ProtobufErrorKind) {
    (error.offset, error.inflated_offset, error.kind)
}

#[test]
fn an_error_has_the_offset_of_the_frame_and_that_in_the_inflated_message() {
    use ProtobufErrorKind::{Inflate, InvalidLength, Text, Truncated};
    let schema = schema();
    let good = frame(1, &gzip(b"\x0A\x03na\x65"));
    let start = good.len() as u64;
    let ill_formed = b"\x0A\x01a\x0A\x03na\xFF";
    let at = |offset, kind| Some((start, Some(offset), kind));
    let text = |offset| at(offset, Text(ErrorKind::InvalidLead));
    let long = [&b"\x0A\x90\x4E"[..], &[b'a'; 10_000], b"\x0A\x01\xFF"].concat();
    let mut corrupt = gzip(ill_formed);
    corrupt[10] ^= 0x06;
    let trailing = [gzip(b"\x0A\x01a"), vec![0, 0]].concat();
    let cut = gzip(b"\x0A\x01a");
    for (second, expected) in [
        (frame(1, b""), None),
        (frame(1, &gzip(b"")), None),
        (frame(1, &[gzip(b"\x0A\x01"), gzip(b"a")].concat()), None),
        (frame(1, &gzip(ill_formed)), text(7)),
        (frame(1, &gzip(&long)), text(10_005)),
        (frame(1, &gzip(b"\x0A\x02\xC3")), at(3, Truncated)),
        (frame(1, &gzip(b"\x0A")), at(1, Truncated)),
        (frame(1, &gzip(b"\x12\x02\x0A\x04aaaa")), at(3, InvalidLength)),
        (frame(1, &corrupt), at(0, Inflate(InflateError::Corrupt))),
        (frame(1, &trailing), at(3, Inflate(InflateError::Corrupt))),
        (frame(1, &cut[..cut.len() - 1]), at(3, Inflate(InflateError::Truncated))),
        (frame(0, b"\x0A\x01\xFF"), Some((start + 7, None, Text(ErrorKind::InvalidLead)))),
    ] {
        let input = [&good[..], &second, &good].concat();
        for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace] {
            let is_repaired = policy != ErrorPolicy::Strict && matches!(expected, Some((_, _, Text(_))));
            some_partitions(&input, 30, |chunks| {
                let (out, _, error) = run(filter(&schema, policy, Deflate::gzip()), chunks);
                if is_repaired {
                    assert_eq!(error, None, "{chunks:02X?}");
                    return;
                }
                assert_eq!(error.as_ref().map(place), expected, "{chunks:02X?}");
                match error {
                    None => assert_eq!(out, input),
                    // Nothing of a held message is forwarded.
                    Some(error) if policy != ErrorPolicy::Strict => {
                        assert_eq!(out, input[..error.offset as usize]);
                    }
                    Some(error) => {
                        assert!(input.starts_with(&out) && out.len() as u64 >= error.offset, "{out:02X?}");
                    }
                }
            });
        }
    }
    let input = [good, frame(1, &gzip(ill_formed))].concat();
    let (_, _, error) = run(filter(&schema, ErrorPolicy::Strict, Deflate::gzip()), &[&input]);
    let expected = format!(
        "ill-formed UTF-8 at byte 7 (InvalidLead, 1 byte) in f1, in the compressed message at byte {start}"
    );
    assert_eq!(error.unwrap().to_string(), expected);
}

#[test]
fn a_body_that_ends_inside_a_compressed_message_is_truncated() {
    let schema = schema();
    let input = frame(1, &gzip(b"\x0A\x03na\x65"));
    for len in 1..input.len() {
        for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace] {
            some_partitions(&input[..len], 5, |chunks| {
                let (out, _, error) = run(filter(&schema, policy, Deflate::gzip()), chunks);
                assert_eq!(
                    error.as_ref().map(place),
                    Some((len as u64, None, ProtobufErrorKind::Truncated)),
                    "{chunks:02X?}"
                );
                assert!(policy == ErrorPolicy::Strict || out.is_empty());
            });
        }
    }
}

#[test]
fn only_a_message_with_an_error_is_not_compressed_anymore() {
    let mut rng = Rng::new(4);
    let schema = schema();
    let policy = ErrorPolicy::Substitute(Ascii::QUESTION_MARK);
    for round in 0..200 {
        let (mut input, mut expected) = (Vec::new(), Vec::new());
        let (compress, deflate): (Compress, fn() -> Deflate) =
            if round % 2 == 0 { (gzip, Deflate::gzip) } else { (zlib, Deflate::zlib) };
        for _ in 0..rng.below(5) {
            let message = model().message(&mut rng, 0, 30, 2);
            let Found { substituted, malformed: None, .. } = model().walk(&message) else { unreachable!() };
            let (flag, sent) = if rng.below(3) == 0 { (0, message.clone()) } else { (1, compress(&message)) };
            input.extend(frame(flag, &sent));
            expected.extend(if substituted == message { frame(flag, &sent) } else { frame(0, &substituted) });
        }
        some_partitions(&input, 10, |chunks| {
            let (out, _, error) = run(filter(&schema, policy, deflate()), chunks);
            assert_eq!((out, error), (expected.clone(), None), "{chunks:02X?}");
        });
        assert_eq!(*filter(&schema, policy, deflate()).repair(&input).unwrap(), *expected);
    }
}

#[test]
fn a_repair_of_a_whole_body_may_change_lengths() {
    let schema = schema();
    let message = b"\x12\x04\x0A\x02a\xFF";
    let good = frame(1, &gzip(b"\x0A\x01a"));
    let input = [&good[..], &frame(1, &gzip(message)), &frame(0, message), &good].concat();
    let fixed = frame(0, b"\x12\x06\x0A\x04a\xEF\xBF\xBD");
    let expected = [&good[..], &fixed, &fixed, &good].concat();
    let body = filter(&schema, ErrorPolicy::Replace, Deflate::gzip());
    assert_eq!(*body.repair(&input).unwrap(), *expected);
}

#[test]
fn the_compressed_text_at_the_end_of_a_stream_of_connect_is_checked() {
    let schema = schema();
    let body = |policy| filter(&schema, policy, Deflate::gzip()).with_protocol(GrpcProtocol::Connect);
    let good = frame(1, &gzip(b"\x0A\x01a"));
    for (text, repaired, error) in [
        (&b"{\"a\":\"\xC3\xA9\"}"[..], None, None),
        (b"{\"\xFF\"}", Some(&b"{\"?\"}"[..]), Some((2, ErrorKind::InvalidLead))),
        (b"{\"\xE2\x82", Some(b"{\"??"), Some((2, ErrorKind::Truncated))),
    ] {
        let input = [good.clone(), frame(3, &gzip(text))].concat();
        let expected = repaired.map_or(input.clone(), |text| [good.clone(), frame(2, text)].concat());
        some_partitions(&input, 30, |chunks| {
            let (_, _, found) = run(body(ErrorPolicy::Strict), chunks);
            let start = good.len() as u64;
            let error = error.map(|(at, kind)| (start, Some(at), ProtobufErrorKind::Text(kind)));
            assert_eq!(found.as_ref().map(place), error, "{chunks:02X?}");
            let (out, offsets, found) = run(body(ErrorPolicy::Replace), chunks);
            assert_eq!((&out, found), (&expected, None), "{chunks:02X?}");
            assert_eq!(offsets, error.map_or(vec![], |(_, at, _)| vec![at.unwrap()]));
        });
    }
}

#[test]
fn a_bomb_costs_at_most_the_limit() {
    use InflateError::{Ratio, TooLong};
    let schema = schema();
    let with_limit = |policy, limit| {
        let decoder = TextDecoder::new().with_error_policy(policy);
        let message = StringFilter::with_decoder(&schema, "test.M0", decoder).unwrap();
        GrpcFilter::new(message).with_inflater(Inflater::new(Deflate::gzip()).with_max_length(limit))
    };
    // A field of 32 MiB of bytes that the schema does not know, after an ill-formed string.
    let mut bomb = b"\x0A\x01\xFF\x1A\x80\x80\x80\x10".to_vec();
    bomb.resize(bomb.len() + (32 << 20), 0);
    let bomb = gzip(&bomb);
    let input = frame(1, &bomb);
    for (policy, limit, expected) in [
        (ErrorPolicy::Replace, LIMIT, Ratio(200)),
        (ErrorPolicy::Replace, 1 << 20, TooLong(1 << 20)),
        (ErrorPolicy::Replace, bomb.len() as u64 - 1, TooLong(bomb.len() as u64 - 1)),
    ] {
        let mut places = Vec::new();
        for len in [input.len(), 1, 7, 4096, 5000] {
            let chunks: Vec<_> = input.chunks(len).collect();
            let (out, _, error) = run(with_limit(policy, limit), &chunks);
            let error = error.unwrap();
            assert_eq!((error.offset, error.kind), (0, ProtobufErrorKind::Inflate(expected)));
            assert!(error.inflated_offset.unwrap() <= limit && out.is_empty());
            places.push(error.inflated_offset);
        }
        places.dedup();
        assert_eq!(places.len(), 1, "{places:?}");
    }

    // Many messages, each within the limit.
    let message = [&b"\x0A\x01\xFF\x1A\xA0\xF7\x36"[..], &vec![0; 900_000]].concat();
    let input = frame(1, &gzip(&message)).repeat(5);
    let error = with_limit(ErrorPolicy::Replace, LIMIT).repair(&input).unwrap_err();
    assert_eq!(error.kind, ProtobufErrorKind::Inflate(TooLong(LIMIT)));
    assert!(with_limit(ErrorPolicy::Replace, LIMIT).repair(&input[..input.len() / 5 * 4]).is_ok());
}
