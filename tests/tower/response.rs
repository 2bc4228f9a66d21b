//! The layer for responses.

use core::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec::http::{BodyRules, Utf8BodyError};
use utf8_codec::tower::{CheckedBody, ValidateUtf8ResponseLayer};
use utf8_codec::{Ascii, ErrorPolicy, TextDecoder};

/// Returns the response to a request through the layer.
async fn respond(
    layer: &ValidateUtf8ResponseLayer,
    method: Method,
    response: http::response::Builder,
    text: &'static [u8],
) -> Response<CheckedBody<Full<Bytes>>> {
    let response = response.body(Full::new(Bytes::from_static(text))).unwrap();
    let response = std::sync::Mutex::new(Some(response));
    let service = layer.layer(service_fn(|_: Request<()>| {
        let response = response.lock().unwrap().take().unwrap();
        async { Ok::<_, Infallible>(response) }
    }));
    let request = Request::builder().method(method).body(()).unwrap();
    service.oneshot(request).await.unwrap()
}

/// Returns the head of the response, and its text.
async fn answer(
    layer: &ValidateUtf8ResponseLayer,
    method: Method,
    response: http::response::Builder,
    text: &'static [u8],
) -> (http::response::Parts, Result<Bytes, Utf8BodyError>) {
    let (parts, body) = respond(layer, method, response, text).await.into_parts();
    let text = body.collect().await.map(|text| text.to_bytes());
    (parts, text.map_err(|error| *error.downcast().expect("an error in the content")))
}

fn text_response() -> http::response::Builder {
    Response::builder()
        .header("content-type", "text/plain")
        .header("content-length", "4")
        .header("etag", "\"strong\"")
        .header("accept-ranges", "bytes")
        .header("content-digest", "sha-256=:AAAA:")
        .header("repr-digest", "sha-256=:AAAA:")
}

#[tokio::test]
async fn an_ill_formed_response_is_aborted_or_replaced() {
    let (parts, text) =
        answer(&ValidateUtf8ResponseLayer::new(), Method::GET, text_response(), b"ab\xE2\x82").await;
    assert_eq!(parts.status, StatusCode::OK);
    assert_eq!(parts.headers["content-length"], "4", "nothing was repaired");
    assert!(parts.headers.contains_key("etag"));
    assert_eq!(text.unwrap_err().utf8_error().unwrap().offset, 2);

    let holding = ValidateUtf8ResponseLayer::new().with_hold_limit(100);
    let (parts, text) = answer(&holding, Method::GET, text_response(), b"ab\xE2\x82").await;
    assert_eq!(parts.status, StatusCode::BAD_GATEWAY);
    assert!(!parts.headers.contains_key("etag"), "it is another response");
    assert!(text.unwrap().ends_with(br#""kind":"Truncated","offset":2,"len":2}"#));
    let (parts, text) = answer(&holding, Method::GET, text_response(), b"good").await;
    assert_eq!((parts.headers.len(), &text.unwrap()[..]), (6, &b"good"[..]));
    let (parts, _) =
        answer(&ValidateUtf8ResponseLayer::new().with_hold_limit(3), Method::GET, text_response(), b"good")
            .await;
    assert_eq!(parts.status, StatusCode::BAD_GATEWAY);

    let checking = ValidateUtf8ResponseLayer::new().with_header_check(true);
    let name = http::HeaderValue::from_bytes(b"\xE9").unwrap();
    let (parts, _) = answer(&checking, Method::GET, text_response().header("x-name", name), b"good").await;
    assert_eq!(parts.status, StatusCode::BAD_GATEWAY);
}

#[tokio::test]
async fn repairing_a_body_removes_the_fields_that_become_invalid() {
    let repairing = |policy| {
        let rules = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(policy));
        ValidateUtf8ResponseLayer::new().with_rules(rules)
    };
    let gone = ["content-digest", "repr-digest", "etag", "accept-ranges"];
    let (parts, text) =
        answer(&repairing(ErrorPolicy::Replace), Method::GET, text_response(), b"ab\xE2\x82").await;
    assert_eq!(text.unwrap(), "ab\u{FFFD}");
    assert!(
        gone.iter().chain(&["content-length"]).all(|name| !parts.headers.contains_key(*name)),
        "{parts:?}"
    );

    let question_mark = ErrorPolicy::Substitute(Ascii::QUESTION_MARK);
    let (parts, text) = answer(&repairing(question_mark), Method::GET, text_response(), b"ab\xE2\x82").await;
    assert_eq!(
        (text.unwrap(), &parts.headers["content-length"]),
        ("ab??".into(), &http::HeaderValue::from(4))
    );
    assert!(gone.iter().all(|name| !parts.headers.contains_key(*name)), "{parts:?}");

    let weak = Response::builder().header("content-type", "text/plain").header("etag", "W/\"weak\"");
    let (parts, _) = answer(&repairing(ErrorPolicy::Replace), Method::GET, weak, b"ab\xFF").await;
    assert!(parts.headers.contains_key("etag"), "a weak tag allows other bytes");

    // A held body is decoded before the response starts, so an unchanged body keeps its fields.
    let holding = repairing(ErrorPolicy::Replace).with_hold_limit(100);
    let (parts, _) = answer(&holding, Method::GET, text_response(), b"good").await;
    assert_eq!(parts.headers.len(), 6);
    let (parts, text) = answer(&holding, Method::GET, text_response(), b"ab\xE2\x82").await;
    assert_eq!((text.unwrap().len(), &parts.headers["content-length"]), (5, &http::HeaderValue::from(5)));
    assert!(gone.iter().all(|name| !parts.headers.contains_key(*name)), "{parts:?}");
}

#[tokio::test]
async fn responses_without_a_whole_body_are_not_checked() {
    let layer = ValidateUtf8ResponseLayer::new()
        .with_rules(BodyRules::for_responses().with_text_types(|_| true))
        .with_hold_limit(100);
    for (method, status) in [(Method::HEAD, 200), (Method::GET, 204), (Method::GET, 206), (Method::GET, 304)]
    {
        let (parts, text) = answer(&layer, method, text_response().status(status), b"\xBF\xFF").await;
        assert_eq!((parts.status.as_u16(), &text.unwrap()[..]), (status, &b"\xBF\xFF"[..]));
        assert_eq!(parts.headers.len(), 6);
    }
    let other = Response::builder().header("content-type", "text/plain; charset=latin1");
    let (parts, text) = answer(&ValidateUtf8ResponseLayer::new(), Method::GET, other, b"\xE9").await;
    assert_eq!((parts.status, &text.unwrap()[..]), (StatusCode::OK, &b"\xE9"[..]), "the client can read it");
    for (name, value) in [("content-encoding", "gzip"), ("content-range", "bytes 1-2/3"), ("x-no-type", "")] {
        let mut response = Response::builder().header(name, value);
        if name != "x-no-type" {
            response = response.header("content-type", "text/plain");
        }
        let (parts, text) = answer(&ValidateUtf8ResponseLayer::new(), Method::GET, response, b"\xE9").await;
        assert_eq!((parts.status, &text.unwrap()[..]), (StatusCode::OK, &b"\xE9"[..]), "{name}");
    }
}

#[tokio::test]
async fn a_response_without_a_body_has_the_same_fields() {
    for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace, ErrorPolicy::Substitute(Ascii::QUESTION_MARK)] {
        let rules = BodyRules::for_responses().with_decoder(TextDecoder::new().with_error_policy(policy));
        let layer = ValidateUtf8ResponseLayer::new().with_rules(rules);
        let (whole, _) = answer(&layer, Method::GET, text_response(), b"good").await;
        for (method, status) in [(Method::HEAD, 200), (Method::HEAD, 304), (Method::GET, 304)] {
            let (parts, _) = answer(&layer, method, text_response().status(status), b"").await;
            assert_eq!(parts.headers, whole.headers, "{policy:?} {status}");
        }
        for (method, status) in [(Method::HEAD, 206), (Method::GET, 206), (Method::CONNECT, 200)] {
            let (parts, _) = answer(&layer, method, text_response().status(status), b"").await;
            assert_eq!(parts.headers.len(), 6, "{policy:?} {status}");
        }
    }
}

/// Servers write the `Content-Length` of a response to `HEAD` from the size hint of its body.
#[tokio::test]
async fn a_response_to_head_announces_no_other_length() {
    for policy in [ErrorPolicy::Strict, ErrorPolicy::Replace, ErrorPolicy::Substitute(Ascii::QUESTION_MARK)] {
        let rules = BodyRules::for_responses().with_decoder(TextDecoder::new().with_error_policy(policy));
        let layer = ValidateUtf8ResponseLayer::new().with_rules(rules);
        let plain = || Response::builder().header("content-type", "text/plain");
        let announced =
            respond(&layer, Method::HEAD, plain(), b"ab\xE2\x82").await.body().size_hint().exact();
        let repaired = policy == ErrorPolicy::Replace;
        assert_eq!(announced, (!repaired).then_some(4), "{policy:?}");
        let png = || Response::builder().header("content-type", "image/png");
        assert_eq!(respond(&layer, Method::HEAD, png(), b"1").await.body().size_hint().exact(), Some(1));
    }
}

#[tokio::test]
async fn the_status_of_grpc_in_the_header_fields_is_not_lost() {
    let layer = ValidateUtf8ResponseLayer::new().with_header_check(true);
    let value = |bytes: &[u8]| http::HeaderValue::from_bytes(bytes).unwrap();
    let response =
        || Response::builder().header("content-type", "application/grpc").header("x-a", value(b"\xFF"));
    let only = response().header("grpc-status", "14").header("grpc-message", value(b"\xFF"));
    let (parts, _) = answer(&layer, Method::POST, only, b"").await;
    assert_eq!(
        (&parts.headers["grpc-status"], &parts.headers["grpc-message"]),
        (&value(b"14"), &value(b"\xFF"))
    );
    assert!(!parts.headers.contains_key("x-a"));
    let (parts, _) = answer(&layer, Method::POST, response(), b"").await;
    assert_eq!(parts.headers["grpc-status"], "13", "it has no status");
}
