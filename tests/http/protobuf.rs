//! Bodies of protobuf under the rules: one message, or the messages of gRPC.

use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use utf8_codec::http::{
    BodyFilter, BodyRules, ContentFields, MessageKind, Reason, Rejection, UncheckablePolicy, Utf8Body,
};
use utf8_codec::protobuf::StringValidator;
use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::every_partition;
use crate::support::protobuf::{STRING, descriptor, field, file, schema_of};

const TYPES: [&str; 4] =
    ["application/x-protobuf", "application/protobuf", "application/grpc", "application/grpc+proto"];

fn rules(policy: ErrorPolicy) -> BodyRules {
    let schema = schema_of(&file("proto3", "", &[descriptor("M", &[field("name", 1, STRING, "")])]));
    let decoder = TextDecoder::new().with_error_policy(policy);
    BodyRules::new().with_protobuf(StringValidator::with_decoder(&schema, "M", decoder).unwrap())
}

fn headers(content_type: &'static str) -> HeaderMap {
    let fields = [(CONTENT_TYPE, content_type), (CONTENT_LENGTH, "9")];
    fields.map(|(name, value)| (name, HeaderValue::from_static(value))).into_iter().collect()
}

fn body(
    rules: &BodyRules,
    headers: &mut HeaderMap,
    chunks: &[&[u8]],
    end: EndHint,
) -> Result<Utf8Body<Script>, Reason> {
    let body = rules.apply(MessageKind::Request, headers, Script::of(chunks, end));
    body.map_err(|rejection| rejection.reason)
}

/// A message, with the prefix of gRPC if the type is that.
fn sent(content_type: &str, message: &[u8]) -> Vec<u8> {
    let prefix = [0, 0, 0, 0, message.len() as u8];
    [&prefix[..if content_type.contains("grpc") { 5 } else { 0 }], message].concat()
}

#[test]
fn a_string_is_repaired_in_a_body_of_the_same_length() {
    let rules = rules(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
    for content_type in TYPES {
        let expected = sent(content_type, b"\x0A\x03a??");
        every_partition(&sent(content_type, b"\x0A\x03a\xE2\x82"), |chunks| {
            for end in EndHint::ALL {
                let mut headers = headers(content_type);
                let (data, _, error) = drain(body(&rules, &mut headers, chunks, end).unwrap());
                assert_eq!((&data, error.is_none()), (&expected, true), "{content_type} {end:?}");
                assert!(headers.contains_key(CONTENT_LENGTH));
            }
        });
    }
}

#[test]
fn an_error_has_its_offset_and_field() {
    for content_type in TYPES {
        let sent = sent(content_type, b"\x0A\x02a\xFF");
        every_partition(&sent, |chunks| {
            for end in EndHint::ALL {
                let body =
                    body(&rules(ErrorPolicy::Strict), &mut headers(content_type), chunks, end).unwrap();
                let (data, _, error) = drain(body);
                let error = error.unwrap();
                assert_eq!(
                    (&data[..], error.utf8_error().unwrap().offset),
                    (&sent[..sent.len() - 1], sent.len() as u64 - 1)
                );
                let problem = Rejection::from_error(&error).unwrap().problem_json();
                assert!(problem.ends_with(r#","len":1,"field":"name"}"#), "{problem}");
            }
        });
    }
}

#[test]
fn offsets_go_on_after_the_end_of_a_text() {
    for content_type in TYPES {
        let rules = rules(ErrorPolicy::Strict);
        let mut fields = ContentFields::new();
        fields.add("content-type", content_type.as_bytes());
        let mut filter = BodyFilter::new(&rules.decide(&fields).unwrap(), &rules);
        let [good, bad] = [b"\x0A\x01a", b"\x0A\x01\xFF"].map(|message| sent(content_type, message));
        let expected = (good.len() + bad.len() - 1) as u64;
        filter.push(good.into());
        filter.finish();
        filter.push(bad.into());
        let error = core::iter::from_fn(|| filter.next()).find_map(Result::err).unwrap();
        assert_eq!(error.utf8_error().unwrap().offset, expected, "{content_type}");
    }
}

#[test]
fn a_truncated_message_is_an_error_at_the_end_of_the_body() {
    for content_type in TYPES {
        for end in EndHint::ALL {
            let sent = sent(content_type, b"\x0A\x02ab");
            let sent = &sent[..sent.len() - 1];
            let rules = rules(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
            let (data, _, error) = drain(body(&rules, &mut headers(content_type), &[sent], end).unwrap());
            assert_eq!(data, sent[..sent.len() - 1], "the last byte is held");
            assert!(error.unwrap().to_string().ends_with("(Truncated) in name"));
        }
    }
}

#[test]
fn compressed_messages_follow_the_rule_of_content_codings() {
    let strict = rules(ErrorPolicy::Strict);
    let mut coded = headers(TYPES[0]);
    coded.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    assert_eq!(body(&strict, &mut coded, &[], EndHint::Nothing).err(), Some(Reason::ContentCoding));
    let passing = strict.clone().with_content_codings(UncheckablePolicy::Pass);
    let compressed: &[u8] = b"\x01\0\0\0\x02\xFF\xFF";
    for (rules, content_type, passes) in [
        (&strict, "application/grpc", false),
        (&passing, "application/grpc", true),
        (&strict, "application/grpc+json", true),
        (&BodyRules::new(), "application/grpc", true),
    ] {
        let body = body(rules, &mut headers(content_type), &[compressed], EndHint::Nothing).unwrap();
        assert_eq!(drain(body).2.is_none(), passes, "{content_type}");
    }
}
