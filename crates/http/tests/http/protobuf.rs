//! Bodies of protobuf under the rules: one message, or the messages of gRPC.

use data_encoding::BASE64;
use http::header::{CONTENT_ENCODING, CONTENT_LENGTH, CONTENT_TYPE};
use http::{HeaderMap, HeaderValue};
use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::{ProtobufErrorKind, StringFilter};
use utf8_codec_http::{
    BodyFilter, BodyKind, BodyRules, ContentFields, MessageKind, RejectReason, Rejection, Uncheckable,
    Utf8Body,
};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::protobuf::{STRING, descriptor, field, file, schema_of};
use crate::support::{Rng, every_partition, some_partitions};

const TYPES: [&str; 11] = [
    "application/x-protobuf",
    "application/protobuf",
    "application/proto",
    "application/vnd.google.protobuf; proto=M; encoding=binary",
    "application/grpc",
    "application/grpc+proto",
    "application/grpc-web",
    "application/grpc-web+proto",
    "application/connect+proto",
    "application/grpc-web-text",
    "Application/gRPC-Web-Text+Proto",
];

fn is_in_base64(content_type: &str) -> bool {
    content_type.to_ascii_lowercase().contains("-text")
}

fn rules(policy: ErrorPolicy) -> BodyRules {
    let schema = schema_of(&file("proto3", "", &[descriptor("M", &[field("name", 1, STRING, "")])]));
    let decoder = TextDecoder::new().with_error_policy(policy);
    BodyRules::new().with_protobuf(StringFilter::with_decoder(&schema, "M", decoder).unwrap())
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
) -> Result<Utf8Body<Script>, RejectReason> {
    let body = rules.apply(MessageKind::Request, headers, Script::of(chunks, end));
    body.map_err(|rejection| rejection.reason)
}

/// A message, with the prefix of gRPC and in base64 if the type is one of these.
fn sent(content_type: &str, message: &[u8]) -> Vec<u8> {
    let prefix = [0, 0, 0, 0, message.len() as u8];
    let has_prefix = ["grpc", "gRPC", "connect"].iter().any(|name| content_type.contains(name));
    let body = [&prefix[..if has_prefix { 5 } else { 0 }], message].concat();
    if is_in_base64(content_type) { BASE64.encode(&body).into_bytes() } else { body }
}

/// Returns the offset in a sent body of the last byte of its message, and how many bytes are forwarded before it.
fn last_byte(content_type: &str, message: &[u8]) -> (u64, usize) {
    let sent = sent(content_type, message).len();
    if !is_in_base64(content_type) {
        return (sent as u64 - 1, sent - 1);
    }
    let last = 5 + message.len() - 1;
    ((4 * (last / 3) + last % 3) as u64, 4 * (last / 3))
}

#[test]
fn a_string_is_repaired_in_a_body_of_the_same_length() {
    let rules = rules(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
    for content_type in TYPES {
        let expected = sent(content_type, b"\x0A\x03a??");
        let each = |chunks: &[&[u8]]| {
            for end in EndHint::ALL {
                let mut headers = headers(content_type);
                let (data, _, error) = drain(body(&rules, &mut headers, chunks, end).unwrap());
                assert_eq!((&data, error.is_none()), (&expected, true), "{content_type} {end:?}");
                assert!(headers.contains_key(CONTENT_LENGTH));
            }
        };
        let sent = sent(content_type, b"\x0A\x03a\xE2\x82");
        if sent.len() <= 12 { every_partition(&sent, each) } else { some_partitions(&sent, 40, each) }
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
                let (offset, forwarded) = last_byte(content_type, b"\x0A\x02a\xFF");
                assert_eq!((&data[..], error.utf8_error().unwrap().offset), (&sent[..forwarded], offset));
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
        let expected = good.len() as u64 + last_byte(content_type, b"\x0A\x01\xFF").0;
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
            let forwarded = if is_in_base64(content_type) { sent.len() / 4 * 4 - 1 } else { sent.len() - 1 };
            assert_eq!(data, sent[..forwarded], "the last byte is held");
            assert!(error.unwrap().to_string().ends_with("(Truncated) in name"));
        }
    }
}

/// gRPC-Web, "Protocol differences vs gRPC over HTTP2": the body is a sequence of pieces in base64 with padding.
#[test]
fn base64_in_pieces_has_the_errors_and_repairs_of_its_bytes() {
    let substitute = rules(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
    let mut rng = Rng::new(7);
    for round in 0..60 {
        let mut messages = Vec::new();
        let mut repaired = Vec::new();
        let mut first = None;
        for _ in 0..1 + rng.below(3) {
            let mut text: Vec<u8> = "aé€😀".repeat(rng.below(4)).into_bytes();
            if rng.below(3) == 0 && !text.is_empty() {
                let at = rng.below(text.len());
                text[at] = 0xFF;
            }
            let message = [&[0x0A, text.len() as u8], &text[..]].concat();
            let prefix = [0, 0, 0, 0, message.len() as u8];
            let fixed = TextDecoder::new().with_error_policy(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
            let fixed = fixed.decode_whole(&text).unwrap().into_owned().into_bytes();
            if let Err(error) = utf8_codec::from_utf8(&text) {
                first.get_or_insert(messages.len() + 7 + error.offset as usize);
            }
            messages.extend([&prefix[..], &message].concat());
            repaired.extend([&prefix[..], &[0x0A, text.len() as u8], &fixed].concat());
        }
        // A frame of trailers.
        messages.extend(b"\x80\0\0\0\x02x:");
        repaired.extend(b"\x80\0\0\0\x02x:");
        let mut sent = Vec::new();
        let mut expected = Vec::new();
        let mut offsets = Vec::new();
        let mut at = 0;
        while at < messages.len() {
            let end = messages.len().min(at + 1 + rng.below(9));
            let start = sent.len();
            offsets.extend((0..end - at).map(|byte| start + byte / 3 * 4 + byte % 3));
            sent.extend(BASE64.encode(&messages[at..end]).into_bytes());
            expected.extend(BASE64.encode(&repaired[at..end]).into_bytes());
            at = end;
        }
        some_partitions(&sent, 12, |chunks| {
            let end = EndHint::ALL[round % 3];
            let content_type = "application/grpc-web-text";
            let (data, _, error) = drain(body(&substitute, &mut headers(content_type), chunks, end).unwrap());
            assert!(error.is_none() && data == expected, "{}", data.escape_ascii());
            let (data, _, error) =
                drain(body(&rules(ErrorPolicy::Strict), &mut headers(content_type), chunks, end).unwrap());
            let offset = error.map(|error| error.utf8_error().unwrap().offset as usize);
            assert_eq!(offset, first.map(|first| offsets[first]), "{chunks:02X?}");
            assert!(sent.starts_with(&data) && data.len() == offset.map_or(sent.len(), |at| at / 4 * 4));
        });
    }
}

#[test]
fn malformed_base64_is_an_error_at_its_byte() {
    use ProtobufErrorKind::{InvalidBase64, InvalidFlag, Truncated};

    for (sent, offset, kind) in [
        (&b"AAA"[..], 3, Truncated),
        (b"AAAAAA==", 8, Truncated), // 4 of the 5 bytes of a prefix
        (b"=AAA", 0, InvalidBase64),
        (b"A=AA", 1, InvalidBase64),
        (b"AA=A", 3, InvalidBase64),
        (b"AAAA\r\n", 4, InvalidBase64),
        (b"AA-_", 2, InvalidBase64),
        (b"AAAA=", 4, InvalidBase64),
        (b"AAAAAAA===", 8, InvalidBase64),
        (b"AAAAAAAC", 6, InvalidFlag),
        (b"AAAAAAAC*", 6, InvalidFlag),
    ] {
        every_partition(sent, |chunks| {
            let headers = &mut headers("application/grpc-web-text");
            let (_, _, error) =
                drain(body(&rules(ErrorPolicy::Strict), headers, chunks, EndHint::Nothing).unwrap());
            let Some(RejectReason::Protobuf(error)) = &error else {
                panic!("{error:?} {chunks:?}");
            };
            assert_eq!((error.offset, error.kind), (offset, kind), "{chunks:?}");
        });
    }
    for good in [&b""[..], b"AAAAAAA=", b"AA==AA==AAAA", b"AAAAAAB="] {
        every_partition(good, |chunks| {
            let headers = &mut headers("application/grpc-web-text");
            let body = body(&rules(ErrorPolicy::Strict), headers, chunks, EndHint::Nothing).unwrap();
            let (data, _, error) = drain(body);
            assert!(error.is_none() && data == good, "{error:?} {}", good.escape_ascii());
        });
    }
}

/// Prometheus: `encoding=delimited` is a stream of messages with a length before each.
#[test]
fn protobuf_that_is_not_one_message_is_not_checked_as_one() {
    let rules = rules(ErrorPolicy::Strict);
    let kind = |rules: &BodyRules, content_type: &str| {
        let mut fields = ContentFields::new();
        fields.add("content-type", content_type.as_bytes());
        rules.decide(&fields).map(|plan| plan.kind())
    };
    const TYPE: &str = "application/vnd.google.protobuf";
    assert_eq!(kind(&rules, TYPE), Ok(BodyKind::Protobuf));
    for encoding in ["delimited", "text", "compact-text"] {
        assert_eq!(kind(&rules, &format!("{TYPE}; encoding={encoding}")), Ok(BodyKind::Pass), "{encoding}");
    }
    let rejecting = rules.with_length_prefixed(Uncheckable::Reject);
    assert_eq!(kind(&rejecting, &format!("{TYPE}; encoding=delimited")), Err(RejectReason::LengthPrefixed));
    assert_eq!(kind(&rejecting, "application/connect+json"), Err(RejectReason::LengthPrefixed));
}

#[test]
fn compressed_messages_follow_the_rule_of_content_codings() {
    let strict = rules(ErrorPolicy::Strict);
    let mut coded = headers(TYPES[0]);
    coded.insert(CONTENT_ENCODING, HeaderValue::from_static("gzip"));
    assert_eq!(body(&strict, &mut coded, &[b"\0"], EndHint::Size).err(), Some(RejectReason::ContentCoding));
    let passing = strict.clone().with_content_codings(Uncheckable::Pass);
    let compressed: &[u8] = b"\x01\0\0\0\x02\xFF\xFF";
    for (rules, content_type, passes) in [
        (&strict, "application/grpc", false),
        (&passing, "application/grpc", true),
        (&strict, "application/connect+proto", false),
        (&passing, "application/grpc-web", true),
        (&strict, "application/grpc+json", true),
        (&BodyRules::new(), "application/grpc", true),
    ] {
        let body = body(rules, &mut headers(content_type), &[compressed], EndHint::Nothing).unwrap();
        assert_eq!(drain(body).2.is_none(), passes, "{content_type}");
    }
}
