//! Messages without content, and tunnels.

use core::convert::Infallible;

use bytes::Bytes;
use futures::FutureExt;
use http::{Method, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec::{BomPolicy, ErrorPolicy, TextDecoder};
use utf8_codec_http::tower::{CheckedBody, ValidateUtf8RequestLayer, ValidateUtf8ResponseLayer};
use utf8_codec_http::{BodyRules, MessageKind, MissingContentType, Rejection, Uncheckable};

use crate::support::bodies::{EndHint, Script, drain};
use crate::support::layers::{BAD, post, through};

/// Header fields for which a message with content is rejected, and the status.
const REJECTED: [(&str, &str, u16); 6] = [
    ("content-type", "text/plain; charset=iso-8859-1", 415),
    ("content-type", "text/plain; charset=utf-8; charset=latin1", 400),
    ("content-type", "text", 400),
    ("content-encoding", "gzip", 415),
    ("content-range", "bytes 1-2/9", 400),
    ("x-no-type", "", 415),
];

fn pending_body() -> impl http_body::Body<Data = Bytes, Error = Infallible> {
    http_body_util::StreamBody::new(futures::stream::pending::<Result<http_body::Frame<Bytes>, Infallible>>())
}

fn rules() -> BodyRules {
    BodyRules::new().with_form_data(true).with_missing_content_type(MissingContentType::Reject)
}

fn layers() -> [ValidateUtf8RequestLayer; 2] {
    [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()]
        .map(|layer| layer.with_rules(rules()))
}

fn fields(name: &'static str, value: &'static str) -> Vec<(&'static str, &'static str)> {
    match name {
        "content-type" | "x-no-type" => vec![(name, value)],
        _ => vec![("content-type", "text/plain"), (name, value)],
    }
}

#[tokio::test]
async fn a_request_without_content_is_not_rejected_for_its_header_fields() {
    for layer in layers() {
        for (name, value, status) in REJECTED {
            let fields = fields(name, value);
            for end_hint in EndHint::ALL {
                for chunks in [&[][..], &[&b""[..], b""]] {
                    let request = post(&fields).body(Script::of(chunks, end_hint)).unwrap();
                    let seen = through(&layer, request).await;
                    assert_eq!((seen.status, seen.handled), (StatusCode::OK, 1), "{fields:?} {end_hint:?}");
                    assert_eq!(seen.headers[name], value, "the handler reads the fields as they were sent");
                }
                for chunks in [&[&b"a"[..]][..], &[b"", b"a", b"b"]] {
                    let request = post(&fields).body(Script::of(chunks, end_hint)).unwrap();
                    let seen = through(&layer, request).await;
                    assert_eq!((seen.status.as_u16(), seen.handled), (status, 0), "{fields:?} {end_hint:?}");
                }
            }
        }
        for content_type in ["multipart/form-data; boundary=b", "multipart/form-data", "text/html"] {
            for end_hint in EndHint::ALL {
                let request =
                    post(&[("content-type", content_type)]).body(Script::of(&[], end_hint)).unwrap();
                assert_eq!(
                    through(&layer, request).await.status,
                    StatusCode::OK,
                    "{content_type} {end_hint:?}"
                );
            }
        }
    }
}

#[tokio::test]
async fn the_trailers_of_an_empty_message_are_checked() {
    for layer in layers() {
        for (value, status) in [(&b"caf\xC3\xA9"[..], 200), (b"caf\xE9", 400)] {
            let trailers = [("x-name".parse().unwrap(), http::HeaderValue::from_bytes(value).unwrap())];
            let body = Script::of(&[], EndHint::Nothing).with_trailers(trailers.into_iter().collect());
            let request = post(&[("content-type", "text/plain; charset=latin1")]).body(body).unwrap();
            assert_eq!(through(&layer, request).await.status.as_u16(), status);
        }
    }
}

/// The client may wait for the response before it sends the first message.
#[tokio::test]
async fn a_rejected_stream_of_grpc_is_answered_before_its_first_message() {
    let rejecting = BodyRules::new().with_length_prefixed(Uncheckable::Reject);
    for (content_type, rules) in [
        ("application/grpc", &rejecting),
        ("application/grpc-web-text+proto", &rejecting),
        ("application/connect+json", &rejecting),
        // Parameters that are malformed.
        ("application/grpc; a", &BodyRules::new()),
        ("application/grpc-web; a", &BodyRules::new()),
        ("application/connect+json; a=\"", &BodyRules::new()),
    ] {
        let post = || Request::post("/").version(http::Version::HTTP_2).header("content-type", content_type);
        let answer = |layer: ValidateUtf8RequestLayer| {
            let request = post().body(pending_body()).unwrap();
            through(&layer.with_rules(rules.clone()), request).now_or_never().expect(content_type)
        };
        for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
            let seen = answer(layer);
            let status = seen.headers.get("grpc-status").map(http::HeaderValue::as_bytes);
            let expected = content_type.starts_with("application/grpc").then_some(&b"3"[..]);
            let expected = expected.filter(|_| !content_type.contains("web"));
            assert_eq!((seen.handled, status), (0, expected), "{content_type}");
        }
        let layer = ValidateUtf8ResponseLayer::new().with_rules(rules.clone());
        let service = layer.layer(service_fn(async |_: Request<()>| {
            let response = Response::builder().header("content-type", content_type);
            Ok::<_, Infallible>(response.body(pending_body()).unwrap())
        }));
        let response = service.oneshot(Request::new(())).now_or_never().expect(content_type).unwrap();
        let is_rejected = response.status() == 502 || response.headers()["grpc-status"] == "13";
        assert!(is_rejected, "{content_type}");
    }
}

/// Whether a message has content is unknown if its body fails before its first byte.
#[tokio::test]
async fn a_rejected_message_whose_body_fails_is_not_forwarded() {
    for (name, value, status) in REJECTED {
        for chunks in [&[][..], &[&b""[..]]] {
            let body = || Script::of(chunks, EndHint::Nothing).with_failure("reset");
            let fields = fields(name, value);
            for layer in layers() {
                let seen = through(&layer, post(&fields).body(body()).unwrap()).await;
                assert_eq!((seen.status.as_u16(), seen.handled), (status, 0), "{fields:?}");
                assert_eq!(seen.headers["connection"], "close");
            }
            let service = ValidateUtf8ResponseLayer::new().with_rules(rules()).layer(service_fn(
                |_: Request<()>| async {
                    let response = fields
                        .iter()
                        .fold(Response::builder(), |response, (name, value)| response.header(*name, *value));
                    Ok::<_, Infallible>(response.body(body()).unwrap())
                },
            ));
            let response = service.oneshot(Request::new(())).await.unwrap();
            assert_eq!(response.status(), StatusCode::BAD_GATEWAY, "{fields:?}");
        }
    }
    let layer = ValidateUtf8RequestLayer::new().with_max_held_length(0);
    let body = Script::of(&[], EndHint::Nothing).with_failure("reset");
    let seen = through(&layer, post(&[("content-type", "text/plain")]).body(body).unwrap()).await;
    assert_eq!((seen.status, seen.handled), (StatusCode::IM_A_TEAPOT, 1), "the handler gets the failure");
}

#[tokio::test]
async fn a_response_without_content_is_not_rejected_for_its_header_fields() {
    for layer in [ValidateUtf8ResponseLayer::new(), ValidateUtf8ResponseLayer::new().with_max_held_length(9)]
    {
        let layer = layer.with_rules(rules());
        for (name, value, _) in REJECTED {
            for (end_hint, chunk) in
                EndHint::ALL.into_iter().flat_map(|hint| [(hint, &b""[..]), (hint, b"a")])
            {
                let service = layer.layer(service_fn(|_: Request<()>| async {
                    let response = fields(name, value)
                        .into_iter()
                        .fold(Response::builder(), |response, (name, value)| response.header(name, value));
                    Ok::<_, Infallible>(response.body(Script::of(&[chunk], end_hint)).unwrap())
                }));
                let response = service.oneshot(Request::new(())).await.unwrap();
                let expected = if chunk.is_empty() { 200 } else { 502 };
                assert_eq!(response.status().as_u16(), expected, "{name} {value} {end_hint:?}");
            }
        }
    }
}

#[tokio::test]
async fn the_tunnel_of_a_connect_passes_unchecked() {
    let bom = TextDecoder::new().with_bom_policy(BomPolicy::Strip).with_error_policy(ErrorPolicy::Replace);
    for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
        for rules in [rules(), BodyRules::new(), BodyRules::new().with_decoder(bom.clone())] {
            let layer = layer.clone().with_rules(rules).with_header_check(true);
            // The handler is called before the first byte of the tunnel arrives.
            let service = layer.layer(service_fn(async |request: Request<CheckedBody<Script>>| {
                assert_eq!(format!("{:?}", request.body()), "CheckedBody(Unchecked)");
                let data = request.into_body().collect().await.unwrap().to_bytes();
                Ok::<_, Infallible>(Response::new(Full::new(data)))
            }));
            let connect =
                Request::builder().method(Method::CONNECT).uri("a:1").header("content-type", "text/plain");
            let body = Script::of(&[b"\xEF\xBB\xBF\x82\x7E", BAD], EndHint::Nothing);
            let response = service.oneshot(connect.body(body).unwrap()).await.unwrap();
            let expected = [b"\xEF\xBB\xBF\x82\x7E", BAD].concat();
            assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), expected);
        }
        let checking = layer.with_header_check(true);
        let name = http::HeaderValue::from_bytes(b"\xFF").unwrap();
        let connect = Request::builder().method(Method::CONNECT).uri("a:1").header("x-name", name);
        let seen = through(&checking, connect.body(Script::of(&[], EndHint::Nothing)).unwrap()).await;
        assert_eq!(seen.status, StatusCode::BAD_REQUEST, "its header fields are checked");
    }
}

#[tokio::test]
async fn only_a_successful_response_to_connect_is_a_tunnel() {
    let layer = ValidateUtf8ResponseLayer::new().with_max_held_length(100);
    for (status, expected) in [(200, 200), (204, 204), (403, 502), (502, 502)] {
        let service = layer.layer(service_fn(async |_: Request<()>| {
            let response = Response::builder().status(status).header("content-type", "text/plain");
            Ok::<_, Infallible>(response.body(Full::<Bytes>::from(BAD)).unwrap())
        }));
        let connect = Request::builder().method(Method::CONNECT).uri("a:1").body(()).unwrap();
        assert_eq!(service.oneshot(connect).await.unwrap().status().as_u16(), expected, "{status}");
    }
}

/// Layers that respond themselves, such as those of tower-http for timeouts and CORS, need an empty body.
#[tokio::test]
async fn a_default_body_is_empty() {
    let body = CheckedBody::<Full<Bytes>>::default();
    assert!(http_body::Body::is_end_stream(&body));
    assert_eq!(http_body::Body::size_hint(&body).exact(), Some(0));
    assert!(body.collect().await.unwrap().to_bytes().is_empty());
}

/// The client may wait for the response before it sends the first line.
#[tokio::test]
async fn a_rejected_stream_of_another_type_is_awaited_until_the_timer_ends() {
    let fields = [("content-type", "application/x-ndjson"), ("content-encoding", "gzip")];
    for version in [http::Version::HTTP_11, http::Version::HTTP_2] {
        for layer in layers() {
            let request = || post(&fields).version(version).body(pending_body()).unwrap();
            assert!(through(&layer, request()).now_or_never().is_none(), "it may be empty");
            let timed = layer.with_drain_timer(|| core::future::ready(()));
            let answer = through(&timed, request()).now_or_never().expect("the timer has ended");
            assert_eq!((answer.status.as_u16(), answer.handled), (415, 0), "{version:?}");
        }
    }
}

#[test]
fn apply_rejects_a_body_of_unknown_length_at_its_first_byte() {
    for (name, value, status) in REJECTED {
        let mut headers = http::HeaderMap::new();
        for (name, value) in fields(name, value) {
            headers.insert(name, value.parse().unwrap());
        }
        let mut applied = |chunks: &[&[u8]], end_hint| {
            let body = Script::of(chunks, end_hint);
            match rules().apply(MessageKind::Request, &mut headers, body) {
                Ok(body) => drain(body),
                Err(rejection) => (Vec::new(), None, Some(rejection.reason)),
            }
        };
        for end_hint in EndHint::ALL {
            for chunks in [&[][..], &[&b""[..], b""]] {
                assert_eq!(applied(chunks, end_hint), (Vec::new(), None, None), "{name}: {value}");
            }
            for chunks in [&[&b"a"[..]][..], &[b"", b"a", b"b"]] {
                let (data, _, reason) = applied(chunks, end_hint);
                let rejection = Rejection::new(MessageKind::Request, reason.expect(value));
                assert_eq!((data, rejection.status().as_u16()), (Vec::new(), status), "{name}: {value}");
            }
        }
    }
}
