//! Compressed messages of gRPC and Connect under the rules.

use data_encoding::BASE64;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderName, HeaderValue};
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::{ProtobufError, ProtobufErrorKind, StringFilter};
use utf8_codec_http::{
    BodyFilter, BodyRules, ContentFields, MessageKind, RejectReason, Rejection, Uncheckable,
};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::compression::{gzip, zlib};
use crate::support::protobuf::{STRING, descriptor, field, file, schema_of};
use crate::support::some_partitions;

const LIMIT: u64 = 4 << 20;

fn rules(policy: ErrorPolicy) -> BodyRules {
    let schema = schema_of(&file("proto3", "", &[descriptor("M", &[field("name", 1, STRING, "")])]));
    let decoder = TextDecoder::new().with_error_policy(policy);
    let message = StringFilter::with_decoder(&schema, "M", decoder).unwrap();
    BodyRules::new().with_protobuf(message).with_inflated_messages(LIMIT)
}

fn headers(content_type: &'static str, encoding: (&'static str, &'static str)) -> HeaderMap {
    let (name, value) = encoding;
    let fields =
        [(CONTENT_TYPE, content_type), (CONTENT_LENGTH, "99"), (HeaderName::from_static(name), value)];
    fields.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect()
}

fn frame(flag: u8, message: &[u8]) -> Vec<u8> {
    [&[flag][..], &(message.len() as u32).to_be_bytes(), message].concat()
}

/// Returns what is forwarded, whether the length is still announced, and the error.
fn run(
    rules: &BodyRules,
    mut headers: HeaderMap,
    chunks: &[&[u8]],
    end: EndHint,
) -> (Vec<u8>, bool, Option<ProtobufError>) {
    let body = rules.apply(MessageKind::Request, &mut headers, Script::of(chunks, end));
    let (data, _, reason) = drain(body.unwrap_or_else(|rejection| panic!("{rejection}")));
    let error = reason.map(|reason| match reason {
        RejectReason::Protobuf(error) => error,
        reason => panic!("{reason}"),
    });
    (data, headers.contains_key(CONTENT_LENGTH), error)
}

const GRPC: &str = "grpc-encoding";
const CONNECT: &str = "connect-content-encoding";

#[test]
fn the_declared_encoding_is_inflated() {
    use ProtobufErrorKind::Compressed;
    let good = b"\x0A\x03na\x65";
    let bad = b"\x0A\x03na\xFF";
    type Compress = fn(&[u8]) -> Vec<u8>;
    for (content_type, encoding, compress, is_inflated) in [
        ("application/grpc", (GRPC, "gzip"), gzip as Compress, true),
        ("application/grpc+proto", (GRPC, "deflate"), zlib, true),
        ("application/grpc-web", (GRPC, " GZIP"), gzip, true),
        ("application/connect+proto", (CONNECT, "gzip"), gzip, true),
        ("application/grpc", (GRPC, "identity"), gzip, false),
        ("application/grpc", (GRPC, "gzip, identity"), gzip, false),
        ("application/grpc", (GRPC, "snappy"), gzip, false),
        ("application/grpc", ("x-none", "gzip"), gzip, false),
    ] {
        let first = frame(1, &compress(good));
        let input = [&first[..], &frame(1, &compress(bad)), &frame(0, good)].concat();
        let repaired = [&first[..], &frame(0, b"\x0A\x03na?"), &frame(0, good)].concat();
        for end in EndHint::ALL {
            some_partitions(&input, 10, |chunks| {
                let headers = || headers(content_type, encoding);
                let (data, has_length, error) = run(&rules(ErrorPolicy::Strict), headers(), chunks, end);
                let error = error.unwrap();
                if !is_inflated {
                    assert_eq!((error.kind, error.offset, data.len()), (Compressed, 0, 0));
                    let passing = rules(ErrorPolicy::Replace).with_content_codings(Uncheckable::Pass);
                    let (data, has_length, error) = run(&passing, headers(), chunks, end);
                    assert_eq!((data, has_length, error), (input.clone(), true, None));
                    return;
                }
                assert_eq!((error.offset, error.inflated_offset), (first.len() as u64, Some(4)));
                assert!(has_length && input.starts_with(&data) && data.len() >= first.len());
                let (data, has_length, error) = run(&rules(ErrorPolicy::Replace), headers(), chunks, end);
                assert_eq!((data, has_length, error), (repaired.clone(), false, None));
            });
        }
    }
}

#[test]
fn a_problem_document_has_both_offsets() {
    let body = [frame(0, b""), frame(1, &gzip(b"\x0A\x03na\xFF"))].concat();
    let headers = headers("application/grpc", (GRPC, "gzip"));
    let (_, _, error) = run(&rules(ErrorPolicy::Strict), headers, &[&body], EndHint::Nothing);
    let rejection = Rejection::new(MessageKind::Request, RejectReason::Protobuf(error.unwrap()));
    let problem = rejection.problem_json();
    let expected = r#""kind":"InvalidLead","offset":5,"len":1,"field":"name","inflated_offset":4}"#;
    assert!(problem.ends_with(expected), "{problem}");
}

#[test]
fn the_offset_in_base64_is_that_of_the_frame() {
    let first = frame(1, &gzip(b"\x0A\x03na\x65"));
    // Longer than a block of the filter.
    let text: Vec<u8> = (0..2000_u32).map(|i| b'a' + (i * i % 23) as u8).collect();
    let second = frame(1, &gzip(&[b"\x0A\xD0\x0F", &text[..], b"\x0A\x01\xFF"].concat()));
    let input = [BASE64.encode(&first), BASE64.encode(&second)].concat().into_bytes();
    let start = BASE64.encode(&first).len() as u64;
    let headers = || headers("application/grpc-web-text", (GRPC, "gzip"));
    some_partitions(&input, 20, |chunks| {
        let (data, _, error) = run(&rules(ErrorPolicy::Strict), headers(), chunks, EndHint::Nothing);
        let error = error.unwrap();
        assert_eq!((error.offset, error.inflated_offset), (start, Some(2005)));
        assert!(input.starts_with(&data));
        let (_, _, error) = run(&rules(ErrorPolicy::Replace), headers(), chunks, EndHint::Nothing);
        assert_eq!(error.unwrap().kind, ProtobufErrorKind::Compressed);
    });
}

#[test]
fn the_output_of_a_chunk_with_many_bombs_is_returned_in_parts() {
    let message = [&b"\x0A\x01\xFF\x1A\xA0\xF7\x36"[..], &vec![0; 900_000]].concat();
    let bomb = frame(1, &gzip(&message));
    let rules = rules(ErrorPolicy::Replace);
    let mut fields = ContentFields::new();
    fields.add("content-type", b"application/grpc");
    fields.add(GRPC, b"gzip");
    let plan = rules.decide(&fields).unwrap();
    let mut filter = BodyFilter::new(&plan, &rules);
    filter.push(bomb.repeat(50).into());
    let mut parts = 0;
    let mut len = 0;
    while let Some(data) = filter.next() {
        let data = data.unwrap();
        assert!(data.len() < 3 << 20, "{}", data.len());
        parts += 1;
        len += data.len();
    }
    assert_eq!((len, filter.repaired()), (50 * (message.len() + 5), 50));
    assert!(parts >= 25, "{parts}");
}
