//! Messages of protobuf: their types by path, and U+FFFD in a body that is held.

use core::convert::Infallible;

use bytes::Bytes;
use data_encoding::BASE64;
use futures::FutureExt;
use http::header::{CONTENT_LENGTH, CONTENT_TYPE};
use http::{Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_http::protobuf::Schema;
use utf8_codec_http::tower::{ValidateUtf8RequestLayer, ValidateUtf8ResponseLayer};
use utf8_codec_http::{BodyRules, MessageKind, ProtobufTypes};

use crate::support::bodies::{EndHint, Script};
use crate::support::layers::through;
use crate::support::protobuf::{BYTES, STRING, bytes, descriptor, field, file, message, schema_of};

/// `service S { rpc Do(M) returns (B); }`, where `M` has a string and `B` has bytes.
fn schema() -> Schema {
    let m = descriptor("M", &[field("name", 1, STRING, "")]);
    let mut file = file("proto3", "p", &[m, descriptor("B", &[field("data", 1, BYTES, "")])]);
    let method = message([(1, &b"Do"[..]), (2, b".p.M"), (3, b".p.B")]);
    bytes(&mut file, 6, message([(1, &b"S"[..]), (2, &method)]));
    schema_of(&file)
}

fn rules(policy: ErrorPolicy) -> BodyRules {
    let decoder = TextDecoder::new().with_error_policy(policy);
    let types = ProtobufTypes::with_decoder(&schema(), decoder);
    BodyRules::new().with_protobuf_types(types.with_message("/m", MessageKind::Request, "p.M").unwrap())
}

fn post<B>(path: &str, content_type: &str, body: B) -> Request<B> {
    let request = Request::post(path).header(CONTENT_TYPE, content_type);
    request.header(CONTENT_LENGTH, 9).body(body).unwrap()
}

#[tokio::test]
async fn a_held_message_is_repaired_with_u_fffd_and_a_stream_with_question_marks() {
    const FFFD: &[u8] = b"\x0A\x05a\xEF\xBF\xBDb";
    let prefixed = |message: &[u8]| [&[0, 0, 0, 0, message.len() as u8], message].concat();
    for (path, content_type, sent, held, streamed) in [
        ("/m", "application/protobuf", b"\x0A\x03a\xFFb".to_vec(), FFFD.to_vec(), b"\x0A\x03a?b".to_vec()),
        (
            "/p.S/Do",
            "application/grpc",
            prefixed(b"\x0A\x03a\xFFb"),
            prefixed(FFFD),
            prefixed(b"\x0A\x03a?b"),
        ),
        (
            "/p.S/Do",
            "application/grpc-web-text+proto",
            BASE64.encode(&prefixed(b"\x0A\x03a\xFFb")).into_bytes(),
            BASE64.encode(&prefixed(FFFD)).into_bytes(),
            BASE64.encode(&prefixed(b"\x0A\x03a?b")).into_bytes(),
        ),
    ] {
        let rules = rules(ErrorPolicy::Replace);
        for (layer, expected) in [
            (ValidateUtf8RequestLayer::new(), &held),
            (ValidateUtf8RequestLayer::streaming(), &streamed),
            (ValidateUtf8RequestLayer::new().with_max_held_length(held.len() - 1), &Vec::new()),
        ] {
            for (cut, end) in (0..sent.len()).flat_map(|cut| EndHint::ALL.map(|end| (cut, end))) {
                let body = Script::of(&[&sent[..cut], &sent[cut..]], end);
                let layer = layer.clone().with_rules(rules.clone());
                let seen = through(&layer, post(path, content_type, body)).await;
                if expected.is_empty() {
                    assert_eq!(seen.handled, 0, "the repaired message is too long");
                    continue;
                }
                assert_eq!((seen.status, &seen.text[..]), (StatusCode::OK, &expected[..]), "{cut} {end:?}");
                let len = if expected == &held { held.len() } else { 9 };
                assert_eq!(seen.headers[CONTENT_LENGTH], len.to_string());
            }
        }
    }
}

/// The client may wait for the response before it sends the first message.
#[tokio::test]
async fn a_stream_that_cannot_be_checked_is_rejected_before_its_first_message() {
    for (name, value) in [("content-encoding", "gzip"), ("content-range", "bytes 1-2/9")] {
        for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
            let frames = futures::stream::pending::<Result<http_body::Frame<Bytes>, Infallible>>();
            let mut request = post("/p.S/Do", "application/grpc", http_body_util::StreamBody::new(frames));
            request.headers_mut().insert(name, value.parse().unwrap());
            request.headers_mut().remove(CONTENT_LENGTH);
            let layer = layer.with_rules(rules(ErrorPolicy::Strict));
            let seen = through(&layer, request).now_or_never().expect(name);
            assert_eq!((seen.handled, &seen.headers["grpc-status"]), (0, &"3".parse().unwrap()), "{name}");
        }
    }
}

#[tokio::test]
async fn a_held_message_without_an_error_is_not_changed() {
    let layer = ValidateUtf8RequestLayer::new().with_rules(rules(ErrorPolicy::Replace));
    let body = Script::of(&[b"\x0A\x83\x00a\xC3", b"\xA9"], EndHint::Nothing);
    let seen = through(&layer, post("/m", "application/protobuf", body)).await;
    assert_eq!(
        (&seen.text[..], &seen.headers[CONTENT_LENGTH]),
        (&b"\x0A\x83\x00a\xC3\xA9"[..], &"9".parse().unwrap())
    );
    let body = Script::of(&[b"\x0A\x02\xFF"], EndHint::Nothing);
    let seen = through(&layer, post("/m", "application/protobuf", body)).await;
    assert_eq!((seen.status, seen.handled), (StatusCode::BAD_REQUEST, 0), "truncated");
}

#[tokio::test]
async fn the_path_of_the_request_decides_the_types_of_both_messages() {
    let ill_formed = b"\x0A\x01\xFF";
    let types = ProtobufTypes::new(&schema()).with_message("/m", MessageKind::Response, "p.M").unwrap();
    let types = types.with_message("/b", MessageKind::Request, "p.B").unwrap();
    for (path, request_passes, response_passes) in [
        ("/m", true, false),
        ("/m?query", true, false),
        ("/b", true, true),
        ("/p.S/Do", false, true),
        ("/other", true, true),
    ] {
        let rules = BodyRules::new().with_protobuf_types(types.clone());
        let layer = ValidateUtf8RequestLayer::new().with_rules(rules.clone());
        let body = Script::of(&[ill_formed], EndHint::Nothing);
        let seen = through(&layer, post(path, "application/protobuf", body)).await;
        assert_eq!(seen.status == StatusCode::OK, request_passes, "{path}");

        let layer = ValidateUtf8ResponseLayer::new().with_max_held_length(9).with_rules(rules);
        let service = layer.layer(service_fn(async |_: Request<()>| {
            let response = Response::builder().header(CONTENT_TYPE, "application/protobuf");
            Ok::<_, Infallible>(response.body(Full::<Bytes>::from(&ill_formed[..])).unwrap())
        }));
        let response = service.oneshot(post(path, "text/plain", ())).await.unwrap();
        assert_eq!(response.status() == StatusCode::OK, response_passes, "{path}");
        drop(response.into_body().collect().await.unwrap());
    }
    assert!(ProtobufTypes::new(&schema()).with_message("/", MessageKind::Request, "p.C").is_err());
}
