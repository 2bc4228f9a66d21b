//! The layer for responses.

use core::convert::Infallible;

use bytes::Bytes;
use http::{Method, Request, Response, StatusCode};
use http_body::Body;
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec::json::{EscapePolicy, JsonStrings};
use utf8_codec::{Ascii, BomPolicy, ErrorPolicy, TextDecoder};
use utf8_codec_http::tower::{CheckedBody, ValidateUtf8ResponseLayer};
use utf8_codec_http::{BodyFilter, BodyRules, ContentFields, HttpCounters, RejectReason, Uncheckable};

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
) -> (http::response::Parts, Result<Bytes, RejectReason>) {
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

    let holding = ValidateUtf8ResponseLayer::new().with_max_held_length(100);
    let (parts, text) = answer(&holding, Method::GET, text_response(), b"ab\xE2\x82").await;
    assert_eq!(parts.status, StatusCode::BAD_GATEWAY);
    assert!(!parts.headers.contains_key("etag"), "it is another response");
    assert!(text.unwrap().ends_with(br#""kind":"Truncated","offset":2,"len":2}"#));
    let (parts, text) = answer(&holding, Method::GET, text_response(), b"good").await;
    assert_eq!((parts.headers.len(), &text.unwrap()[..]), (6, &b"good"[..]));
    let (parts, _) = answer(
        &ValidateUtf8ResponseLayer::new().with_max_held_length(3),
        Method::GET,
        text_response(),
        b"good",
    )
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
    let holding = repairing(ErrorPolicy::Replace).with_max_held_length(100);
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
        .with_max_held_length(100);
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

fn rules_of(policy: ErrorPolicy) -> BodyRules {
    BodyRules::for_responses().with_decoder(TextDecoder::new().with_error_policy(policy))
}

/// The usual 304 has no `Content-Type` (RFC 9110 §15.4.5).
#[tokio::test]
async fn a_304_without_a_type_has_no_field_that_a_repair_would_invalidate() {
    let not_modified = || {
        let response =
            Response::builder().status(304).header("etag", "\"strong\"").header("accept-ranges", "bytes");
        response.header("last-modified", "Thu, 01 Jan 1970 00:00:00 GMT")
    };
    let strip = TextDecoder::new().with_bom_policy(BomPolicy::Strip);
    let json = JsonStrings::new().with_escape_policy(EscapePolicy::Replace);
    for (rules, is_changed) in [
        (rules_of(ErrorPolicy::Strict), false),
        (rules_of(ErrorPolicy::Replace), true),
        (rules_of(ErrorPolicy::Substitute(Ascii::QUESTION_MARK)), true),
        (BodyRules::for_responses().with_decoder(strip), true),
        (BodyRules::for_responses().with_json_strings(json), true),
        (BodyRules::for_responses().with_transcoding(), true),
    ] {
        let layer = ValidateUtf8ResponseLayer::new().with_rules(rules);
        for method in [Method::GET, Method::HEAD] {
            let (parts, _) = answer(&layer, method, not_modified(), b"").await;
            let kept = ["etag", "accept-ranges"].map(|name| parts.headers.contains_key(name));
            assert_eq!(kept, [!is_changed; 2], "{layer:?}");
            assert!(parts.headers.contains_key("last-modified"));
        }
        let png = || not_modified().header("content-type", "image/png");
        let weak = || Response::builder().status(304).header("etag", "W/\"weak\"");
        let fixed = || not_modified().header("cache-control", "no-transform");
        for response in [png(), weak(), fixed()] {
            let (parts, _) = answer(&layer, Method::GET, response, b"").await;
            assert!(parts.headers.contains_key("etag"), "{layer:?} {parts:?}");
        }
    }
}

/// Returns the names of the header fields that the handler receives.
async fn forwarded(rules: BodyRules, method: Method) -> Vec<String> {
    let service =
        ValidateUtf8ResponseLayer::new().with_rules(rules).layer(service_fn(async |request: Request<()>| {
            let mut names: Vec<_> = request.headers().keys().map(ToString::to_string).collect();
            names.sort();
            Ok::<_, Infallible>(Response::new(Full::<Bytes>::from(names.join(" "))))
        }));
    let request = Request::builder().method(method).header("range", "bytes=5-").header("accept", "*/*");
    let request = request.header("if-range", "Thu, 01 Jan 1970 00:00:00 GMT").body(()).unwrap();
    let names = service.oneshot(request).await.unwrap().into_body().collect().await.unwrap().to_bytes();
    String::from_utf8(names.to_vec()).unwrap().split(' ').map(str::to_owned).collect()
}

#[tokio::test]
async fn a_layer_that_repairs_asks_for_the_whole_body() {
    for method in [Method::GET, Method::HEAD, Method::POST] {
        assert_eq!(
            forwarded(rules_of(ErrorPolicy::Strict), method.clone()).await,
            ["accept", "if-range", "range"]
        );
        assert_eq!(forwarded(rules_of(ErrorPolicy::Replace), method).await, ["accept"]);
    }
}

#[tokio::test]
async fn a_body_that_must_not_be_transformed_is_not_repaired() {
    let fields = |response: http::response::Builder, control: &str| {
        response.header("cache-control", control).header("etag", "\"a\"").header("content-length", "3")
    };
    let text = || Response::builder().header("content-type", "text/plain");
    let reject = || rules_of(ErrorPolicy::Replace).with_no_transform(Uncheckable::Reject);
    let pass = || rules_of(ErrorPolicy::Replace).with_no_transform(Uncheckable::Pass);
    for control in
        ["no-transform", "public, No-Transform", "private=\"a, b\", no-transform", "max-age=1,no-transform"]
    {
        for rules in [pass(), rules_of(ErrorPolicy::Replace)] {
            for layer in
                [ValidateUtf8ResponseLayer::new(), ValidateUtf8ResponseLayer::new().with_max_held_length(9)]
            {
                let layer = layer.with_rules(rules.clone());
                let (parts, body) = answer(&layer, Method::GET, fields(text(), control), b"ab\xFF").await;
                assert_eq!((&body.unwrap()[..], parts.headers.len()), (&b"ab\xFF"[..], 4), "{control}");
            }
        }
        let streaming = ValidateUtf8ResponseLayer::new().with_rules(reject());
        let (parts, body) = answer(&streaming, Method::GET, fields(text(), control), b"ab\xFF").await;
        assert_eq!(
            (body.unwrap_err().utf8_error().unwrap().offset, parts.headers.len()),
            (2, 4),
            "{control}"
        );
        let holding = ValidateUtf8ResponseLayer::new().with_rules(reject()).with_max_held_length(9);
        let (parts, _) = answer(&holding, Method::GET, fields(text(), control), b"ab\xFF").await;
        assert_eq!(parts.status, StatusCode::BAD_GATEWAY, "{control}");
        let (parts, body) = answer(&holding, Method::GET, fields(text(), control), b"abc").await;
        assert_eq!((&body.unwrap()[..], parts.headers.len()), (&b"abc"[..], 4), "{control}");
    }
    for control in
        ["no-store", "private=\"a, no-transform\"", "x=\"\\\", no-transform\"", "no-transforms", ""]
    {
        let layer = ValidateUtf8ResponseLayer::new().with_rules(reject());
        let (parts, body) = answer(&layer, Method::GET, fields(text(), control), b"ab\xFF").await;
        assert_eq!((body.unwrap(), parts.headers.len()), ("ab\u{FFFD}".into(), 2), "{control}");
    }
}

/// Rules that change nothing check the body as any other.
#[tokio::test]
async fn a_strict_check_is_no_transformation() {
    for rules in [BodyRules::for_responses(), BodyRules::new()] {
        let layer = ValidateUtf8ResponseLayer::new().with_rules(rules).with_max_held_length(9);
        let response =
            Response::builder().header("content-type", "text/plain").header("cache-control", "no-transform");
        assert_eq!(answer(&layer, Method::GET, response, b"\xFF").await.0.status, StatusCode::BAD_GATEWAY);
    }
}

/// The BOM would be removed, and cannot be required otherwise.
#[test]
fn a_required_bom_is_not_skipped_by_a_message_that_must_not_be_changed() {
    let rules = BodyRules::new().with_decoder(TextDecoder::new().with_bom_policy(BomPolicy::Require));
    for content_type in ["text/plain", "application/json", "text/html"] {
        let mut fields = ContentFields::new();
        fields.add("Content-Type", content_type.as_bytes());
        assert!(rules.decide(&fields).is_ok());
        fields.add("Cache-Control", b"no-transform");
        assert_eq!(rules.decide(&fields).unwrap_err(), RejectReason::NoTransform, "{content_type}");
    }
}

#[test]
fn every_kind_of_body_can_be_checked_without_a_change() {
    let repair = TextDecoder::new().with_error_policy(ErrorPolicy::Replace).with_bom_policy(BomPolicy::Strip);
    let json = JsonStrings::new().with_escape_policy(EscapePolicy::Replace);
    let rules = BodyRules::new().with_decoder(repair).with_form_data(true).with_json_strings(json);
    let rules = rules.with_transcoding();
    let form = b"--b\r\nContent-Disposition: form-data; name=a\r\n\r\n\xFF\r\n--b--";
    let json_form = b"--b\r\nContent-Disposition: form-data; name=a\r\nContent-Type: application/json\r\n\r\n\"\\uD800\"\r\n--b--";
    for (content_type, body, expected) in [
        ("text/plain", &b"\xEF\xBB\xBFa\xFF"[..], "InvalidLead 4"),
        ("text/plain", b"\xEF\xBB\xBFa", "passed"),
        ("application/json", b"\"\\uD800\"", "UnpairedSurrogate 1"),
        ("application/x-www-form-urlencoded", b"a=%FF", "InvalidLead 2"),
        ("multipart/form-data; boundary=b", form, "InvalidLead 47"),
        ("multipart/form-data; boundary=b", json_form, "UnpairedSurrogate 80"),
        ("text/html", b"<p>\xFF", "InvalidLead 3"),
        ("text/html", b"<meta charset=windows-1251>\xFF", "UnsupportedCharset 14"),
        ("text/plain; charset=windows-1251", b"\xFF", "UnsupportedCharset"),
    ] {
        let mut fields = ContentFields::new();
        fields.add("Content-Type", content_type.as_bytes());
        fields.add("Cache-Control", b"no-transform");
        let decided = rules.decide(&fields).map(|plan| {
            assert!(!plan.invalidates("etag", b"\"a\""), "{content_type}");
            BodyFilter::new(&plan, &rules)
        });
        let result = decided.and_then(|mut filter| {
            filter.push(Bytes::from_static(body));
            filter.finish();
            let mut passed = Vec::new();
            while let Some(data) = filter.next() {
                passed.extend_from_slice(&data?);
            }
            assert_eq!(passed, body, "{content_type}");
            Ok(())
        });
        let shown = match result {
            Ok(()) => "passed".to_owned(),
            Err(reason) => match reason.offset_and_len() {
                Some((offset, _)) => format!("{} {offset}", reason.kind()),
                None => reason.kind().to_owned(),
            },
        };
        assert_eq!(shown, expected, "{content_type}");
    }
}

#[tokio::test]
async fn the_status_of_grpc_in_the_header_fields_is_not_lost() {
    let counters = HttpCounters::new();
    let layer = ValidateUtf8ResponseLayer::new().with_header_check(true).with_counters(&counters);
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
    assert_eq!((counters.snapshot().repaired, counters.snapshot().rejected_total()), (1, 0));
    let (parts, _) = answer(&layer, Method::POST, response(), b"").await;
    assert_eq!(parts.headers["grpc-status"], "13", "it has no status");
    let of_type = |content_type: &[u8]| {
        let response = Response::builder().header("content-type", value(content_type));
        response.header("grpc-status", "14").header("x-a", value(b"\xFF")).header("x-b", value(b"\xFF"))
    };
    for content_type in ["application/grpc+proto", "application/grpc-web", "application/grpc-web-text+proto"]
    {
        let before = counters.snapshot().repaired;
        let (parts, _) = answer(&layer, Method::POST, of_type(content_type.as_bytes()), b"").await;
        assert_eq!((parts.status, &parts.headers["grpc-status"]), (StatusCode::OK, &value(b"14")));
        assert_eq!(parts.headers["content-type"], content_type);
        assert_eq!(counters.snapshot().repaired, before + 2, "{content_type}");
    }
    let repaired = counters.snapshot().repaired;
    for content_type in ["text/plain", "application/json", "application/connect+json", "application/grpcx"] {
        let (parts, _) = answer(&layer, Method::POST, of_type(content_type.as_bytes()), b"").await;
        assert_eq!(parts.status, StatusCode::BAD_GATEWAY, "{content_type}");
    }
    let (parts, _) = answer(&layer, Method::POST, of_type(b"application/grpc; a=\"\xFF\""), b"").await;
    assert_eq!(parts.headers["grpc-status"], "13", "the type is never removed");
    assert_eq!(counters.snapshot().repaired, repaired);
}
