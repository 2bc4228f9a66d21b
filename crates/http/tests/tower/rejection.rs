//! `Rejection` in handlers, and in engines without a body type.

use core::convert::Infallible;

use axum::Router;
use axum::body::{Body, Bytes};
use axum::routing::post;
use http::{HeaderValue, Request, Response, StatusCode};
use http_body::Body as _;
use http_body_util::{BodyExt, Full};
use serde_json::Value;
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec::{Ascii, BomPolicy, ErrorKind, ErrorPolicy, Subset, TextDecoder, Utf8Error};
use utf8_codec_http::tower::{ValidateUtf8RequestLayer, ValidateUtf8ResponseLayer};
use utf8_codec_http::{
    BodyFilter, BodyKind, BodyRules, ContentFields, MessageKind, MultipartError, ProblemBody, RejectReason,
    Rejection, Uncheckable, Utf8Body,
};
use utf8_codec_media::content_type::ContentType;

async fn problem<B: http_body::Body>(response: Response<B>) -> (StatusCode, Value)
where
    B::Error: core::fmt::Debug,
{
    assert_eq!(response.headers()["content-type"], "application/problem+json");
    let status = response.status();
    let text = response.into_body().collect().await.expect("a body").to_bytes();
    let problem: Value = serde_json::from_slice(&text).expect("JSON");
    assert_eq!((&problem["type"], &problem["status"]), (&"about:blank".into(), &status.as_u16().into()));
    assert_eq!(problem["title"], status.canonical_reason().expect("a phrase"));
    (status, problem)
}

#[tokio::test]
async fn every_rejection_has_a_problem_document() {
    let error = Utf8Error::new(7, ErrorKind::Surrogate, 1);
    let name = http::HeaderName::from_static("x-name");
    for (reason, status, kind, offset) in [
        (RejectReason::Body(error), 400, "Surrogate", Some(7)),
        (RejectReason::Header(name.clone(), error), 400, "Surrogate", Some(7)),
        (RejectReason::Trailer(name, error), 400, "Surrogate", Some(7)),
        (RejectReason::Path(error), 400, "Surrogate", Some(7)),
        (RejectReason::Query(error), 400, "Surrogate", Some(7)),
        (RejectReason::Multipart(MultipartError::Boundary), 400, "Multipart", None),
        (RejectReason::ContentType(ContentType::parse(b"a").unwrap_err()), 400, "ContentType", Some(1)),
        (RejectReason::ConflictingCharset, 400, "ConflictingCharset", None),
        (RejectReason::ContentRange, 400, "ContentRange", None),
        (RejectReason::MissingContentType, 415, "MissingContentType", None),
        (RejectReason::MissingCharset, 415, "MissingCharset", None),
        (RejectReason::UnsupportedCharset, 415, "UnsupportedCharset", None),
        (RejectReason::DeclaredCharset { offset: 15 }, 415, "UnsupportedCharset", Some(15)),
        (RejectReason::ContentCoding, 415, "ContentCoding", None),
        (RejectReason::LengthPrefixed, 415, "LengthPrefixed", None),
        (RejectReason::TooLong { limit: 9 }, 413, "TooLong", None),
    ] {
        let request = Rejection::new(MessageKind::Request, reason.clone()).to_response();
        let (seen, document) = problem(request).await;
        assert_eq!((seen.as_u16(), &document["kind"]), (status, &kind.into()));
        assert_eq!(document["offset"].as_u64(), offset, "{kind}");
        assert_eq!(document["detail"], reason.to_string());
        // RFC 9110 §12.5.3.
        let codings = Rejection::new(MessageKind::Request, reason.clone()).accept_encoding();
        assert_eq!(codings, (reason == RejectReason::ContentCoding).then_some("identity"), "{kind}");
        let (seen, _) = problem(Rejection::new(MessageKind::Response, reason).to_response()).await;
        assert_eq!(seen, StatusCode::BAD_GATEWAY);
    }
}

#[tokio::test]
async fn the_body_of_a_response_ends_after_its_document() {
    let mut body = ProblemBody::from(Bytes::from_static(b"{}"));
    assert_eq!(Bytes::from(body.clone()), "{}");
    assert!(!body.is_end_stream());
    assert_eq!(body.frame().await.unwrap().unwrap().into_data().unwrap(), "{}");
    assert!(body.is_end_stream());
    assert!(body.frame().await.is_none());
}

/// A handler that checks the body itself and returns the response of a `Rejection`.
async fn by_hand(request: Request<Body>) -> Result<String, Response<ProblemBody>> {
    let (mut parts, body) = request.into_parts();
    let body = BodyRules::new()
        .apply(MessageKind::Request, &mut parts.headers, body)
        .map_err(|rejection| rejection.to_response())?;
    match body.collect().await {
        Ok(text) => Ok(text.to_bytes().len().to_string()),
        Err(error) => Err(Rejection::from_error(&*error).expect("the text is ill-formed").to_response()),
    }
}

/// A handler that finds the error of a checked body inside the error of axum.
async fn behind_a_layer(body: Body) -> Result<String, Response<ProblemBody>> {
    match axum::body::to_bytes(body, usize::MAX).await {
        Ok(text) => Ok(text.len().to_string()),
        Err(error) => Err(Rejection::from_error(&error).expect("the text is ill-formed").to_response()),
    }
}

#[tokio::test]
async fn axum_handlers_can_return_the_response_of_the_layer() {
    let layer = ValidateUtf8RequestLayer::streaming().with_rejection_response(|rejection| {
        let mut response = rejection.to_response();
        response.headers_mut().insert("x-from", HeaderValue::from_static("layer"));
        response
    });
    let app: Router = Router::new()
        .route("/hand", post(by_hand))
        .route("/layer", post(behind_a_layer).layer(layer))
        .route("/wrapped", post(async |body: Body| behind_a_layer(Body::new(Utf8Body::new(body))).await));
    for (path, content_type, text, status, kind) in [
        ("/hand", "text/plain", &b"a\xFF"[..], 400, "InvalidLead"),
        ("/hand", "text/plain; charset=latin1", b"a", 415, "UnsupportedCharset"),
        ("/layer", "text/plain", b"a\xFF", 400, "InvalidLead"),
        ("/layer", "text/plain; charset=latin1", b"a", 415, "UnsupportedCharset"),
        ("/wrapped", "text/plain", b"a\xFF", 400, "InvalidLead"),
    ] {
        let request =
            Request::post(path).header("content-type", content_type).body(Body::from(text)).unwrap();
        let response = app.clone().oneshot(request).await.unwrap();
        assert_eq!(response.headers().contains_key("x-from"), path == "/layer");
        let (seen, document) = problem(response).await;
        assert_eq!((seen.as_u16(), &document["kind"]), (status, &kind.into()), "{path}");
    }
    for path in ["/hand", "/layer", "/wrapped"] {
        let request =
            Request::post(path).header("content-type", "text/plain").body(Body::from("good")).unwrap();
        assert_eq!(app.clone().oneshot(request).await.unwrap().status(), StatusCode::OK);
    }
}

/// An engine that has header fields and chunks, and no body type.
fn engine(
    rules: &BodyRules,
    fields: &[(&str, &[u8])],
    chunks: &[&'static [u8]],
) -> Result<(BodyKind, Vec<u8>), RejectReason> {
    let mut content = ContentFields::new();
    fields.iter().for_each(|(name, value)| content.add(name, value));
    let plan = rules.decide(&content)?;
    let mut filter = BodyFilter::new(&plan, rules);
    let mut passed = Vec::new();
    // All chunks are fed before the first output is read, so the filter queues its output.
    chunks.iter().for_each(|chunk| filter.push(Bytes::from_static(chunk)));
    filter.finish();
    while let Some(data) = filter.next() {
        passed.extend_from_slice(&data?);
    }
    assert!(filter.next().is_none());
    assert_eq!(filter.offset(), chunks.iter().map(|chunk| chunk.len() as u64).sum::<u64>());
    Ok((plan.kind(), passed))
}

#[test]
fn an_engine_without_a_body_type_can_filter() {
    let rules = BodyRules::new().with_form_data(true);
    let form = b"--x\r\nContent-Disposition: form-data; name=a\r\n\r\ncaf\xC3\xA9\r\n--x--\r\n";
    for (content_type, kind, chunks) in [
        ("image/png", BodyKind::Pass, &[&b"\xFF\xFE"[..], b"\x80"][..]),
        ("application/json", BodyKind::Text, &[b"\"caf\xC3", b"\xA9\""]),
        ("application/x-www-form-urlencoded", BodyKind::UrlEncoded, &[b"a=caf%C", b"3%A9"]),
        ("multipart/form-data; boundary=x", BodyKind::FormData, &[form]),
    ] {
        let fields = [("Content-Type", content_type.as_bytes()), ("x-other", b"\xFF")];
        assert_eq!(engine(&rules, &fields, chunks), Ok((kind, chunks.concat())), "{content_type}");
    }
    let json = ("content-type", &b"application/json"[..]);
    let bad = RejectReason::Body(Utf8Error::new(1, ErrorKind::MissingContinuation, 1));
    assert_eq!(engine(&rules, &[json], &[b"a\xC3", b"b"]), Err(bad));
    for (field, reason) in [
        (("CONTENT-ENCODING", &b"gzip"[..]), RejectReason::ContentCoding),
        (("Content-Range", b"x"), RejectReason::ContentRange),
        (("content-type", b"text/plain"), RejectReason::ConflictingCharset),
    ] {
        assert_eq!(engine(&rules, &[json, field], &[]), Err(reason));
    }
    let twice = [json, json];
    assert!(engine(&rules, &twice, &[b"{}"]).is_ok(), "the same type twice is one type");

    let repair = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let mut content = ContentFields::new();
    content.add("content-type", b"text/plain");
    let plan = repair.decide(&content).expect("text");
    for (name, value, invalidates) in [
        ("Content-Length", "3", true),
        ("content-digest", "sha-256=:AAAA:", true),
        ("etag", "\"strong\"", true),
        ("etag", "W/\"weak\"", false),
        ("content-type", "text/plain", false),
    ] {
        assert_eq!(plan.invalidates(name, value.as_bytes()), invalidates, "{name}");
        assert!(
            !rules.decide(&content).expect("text").invalidates(name, value.as_bytes()),
            "nothing is repaired"
        );
    }
}

#[test]
fn a_field_is_removed_only_if_the_body_may_change() {
    const STRICT: TextDecoder = TextDecoder::new();
    let same_length = STRICT.with_error_policy(ErrorPolicy::Substitute(Ascii::QUESTION_MARK));
    let repair = STRICT.with_error_policy(ErrorPolicy::Replace);
    let form = "application/x-www-form-urlencoded";
    let form_data = "multipart/form-data; boundary=x";
    for (content_type, decoder, bytes, length) in [
        ("image/png", repair.clone(), false, false),
        ("text/plain", STRICT, false, false),
        ("text/plain", same_length.clone(), true, false),
        ("text/plain", repair, true, true),
        ("text/plain", STRICT.with_bom_policy(BomPolicy::Strip), true, true),
        ("text/plain", same_length.clone().with_bom_policy(BomPolicy::Strip), true, true),
        (form_data, STRICT, false, false),
        (form_data, same_length.clone(), true, false),
        (form_data, STRICT.with_bom_policy(BomPolicy::Strip), true, true),
        // A form has no BOM, and a repaired form is encoded again.
        (form, STRICT.with_bom_policy(BomPolicy::Strip), false, false),
        (form, same_length, true, true),
    ] {
        let mut content = ContentFields::new();
        content.add("content-type", content_type.as_bytes());
        let plan = BodyRules::new()
            .with_form_data(true)
            .with_decoder(decoder.clone())
            .decide(&content)
            .expect("checked");
        for (name, expected) in [("etag", bytes), ("accept-ranges", bytes), ("content-length", length)] {
            assert_eq!(plan.invalidates(name, b"1"), expected, "{content_type} {decoder:?} {name}");
        }
    }
}

#[test]
fn repairs_in_another_charset_are_the_same_when_split() {
    use crate::support::every_partition;
    // Shift_JIS with an invalid byte, and with half of a character at the end.
    let bytes = b"\x93\xFA\xFFa\x96\x7B\x81";
    let mut content = ContentFields::new();
    content.add("content-type", b"text/plain; charset=shift_jis");
    for (policy, expected, repaired) in [
        (ErrorPolicy::Replace, "日\u{FFFD}a本\u{FFFD}", 2),
        (ErrorPolicy::Escape, "日\\xffa本\\x81", 2),
        (ErrorPolicy::ReplaceWith('#'), "日#a本#", 2),
        (ErrorPolicy::Skip, "日a本", 2),
        (ErrorPolicy::Strict, "日", 0),
    ] {
        let rules =
            BodyRules::new().with_transcoding().with_decoder(TextDecoder::new().with_error_policy(policy));
        let plan = rules.decide(&content).expect("a known charset");
        every_partition(bytes, |chunks| {
            let (mut filter, mut text, mut failed) = (BodyFilter::new(&plan, &rules), Vec::new(), None);
            let mut drain = |filter: &mut BodyFilter| {
                while let Some(next) = filter.next() {
                    match next {
                        Ok(data) => text.extend_from_slice(&data),
                        Err(error) => failed = Some(error),
                    }
                }
            };
            for chunk in chunks {
                filter.push(Bytes::copy_from_slice(chunk));
                drain(&mut filter);
            }
            filter.finish();
            drain(&mut filter);
            assert_eq!((text, filter.repaired()), (expected.into(), repaired), "{policy:?} {chunks:02X?}");
            let is_strict = policy == ErrorPolicy::Strict;
            assert_eq!(failed.is_some(), is_strict, "{policy:?} {chunks:02X?}");
        });
    }
}

#[test]
fn errors_in_another_charset_are_the_same_when_split() {
    use crate::support::bodies::{EndHint, Script};
    use crate::support::every_partition;
    let rules = BodyRules::new().with_transcoding();
    for (charset, bytes, expected) in [
        ("shift_jis", &b"\x93\xFAa"[..], Ok("日a")),
        ("shift_jis", b"\x93\xFAa\x81", Err(3)),
        // The error is detected only at the fourth byte.
        ("gb18030", b"ab\x81\x30\x81\x21cd", Err(2)),
    ] {
        let content_type = format!("text/plain; charset={charset}");
        let mut content = ContentFields::new();
        content.add("content-type", content_type.as_bytes());
        let plan = rules.decide(&content).expect("a known charset");
        every_partition(bytes, |chunks| {
            for end_hint in EndHint::ALL {
                let body =
                    Utf8Body::with_filter(Script::of(chunks, end_hint), BodyFilter::new(&plan, &rules));
                let (text, _, error) = crate::support::bodies::drain(body);
                match expected {
                    Ok(expected) => assert!(error.is_none() && text == expected.as_bytes(), "{error:?}"),
                    Err(offset) => {
                        let Some(RejectReason::Transcode(error)) = error else { panic!("{error:?}") };
                        assert_eq!(error.offset, offset, "{charset} {chunks:02X?}");
                    }
                }
            }
        });
    }
}

#[test]
fn text_in_another_charset_is_compared_with_the_subset() {
    use crate::support::bodies::{EndHint, Script, drain};
    use crate::support::every_partition;
    static NO_ESC: Subset = Subset::new(&[0..=0x1A, 0x1C..=0xFFFC, 0xFFFE..=0x10_FFFF]);
    let mut content = ContentFields::new();
    content.add("content-type", b"text/plain; charset=shift_jis");
    for (policy, expected, repaired, failed) in [
        (ErrorPolicy::Strict, "日", 0, Some((2, ErrorKind::OutsideSubset))),
        (ErrorPolicy::Replace, "日\u{FFFD}[31m\u{FFFD}a\u{FFFD}", 3, None),
        (ErrorPolicy::Escape, "日\\x1b[31m\\xffa\\x1b", 3, None),
        (ErrorPolicy::Skip, "日[31ma", 3, None),
    ] {
        let rules = BodyRules::new()
            .with_transcoding()
            .with_decoder(TextDecoder::new().with_error_policy(policy).with_subset(&NO_ESC));
        let plan = rules.decide(&content).expect("a known charset");
        every_partition(b"\x93\xFA\x1B[31m\xFFa\x1B", |chunks| {
            let filter = BodyFilter::new(&plan, &rules);
            let (data, _, error) = drain(Utf8Body::with_filter(Script::of(chunks, EndHint::Size), filter));
            let error = error.map(|error| error.utf8_error().expect("an error of the text"));
            assert_eq!(
                (String::from_utf8(data), error.map(|it| (it.offset, it.kind))),
                (Ok(expected.into()), failed)
            );
            let mut filter = BodyFilter::new(&plan, &rules);
            chunks.iter().for_each(|chunk| filter.push(Bytes::copy_from_slice(chunk)));
            while filter.next().is_some() {}
            assert_eq!(filter.repaired(), repaired);
        });
    }
}

#[test]
fn half_a_character_in_another_charset_is_replaced() {
    use std::pin::pin;

    use crate::support::bodies::{EndHint, Script};
    use futures::executor::block_on;
    use http_body::Body as _;
    let rules = BodyRules::new()
        .with_transcoding()
        .with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let mut content = ContentFields::new();
    content.add("content-type", b"text/plain; charset=shift_jis");
    let plan = rules.decide(&content).expect("a known charset");
    for end_hint in [EndHint::EndStream, EndHint::Size] {
        let script = Script::of(&[b"a\x81"], end_hint);
        let mut body = pin!(Utf8Body::with_filter(script, BodyFilter::new(&plan, &rules)));
        for (expected, is_last) in [("a", false), ("\u{FFFD}", true)] {
            let text = block_on(body.frame()).unwrap().unwrap().into_data().unwrap();
            assert_eq!(text, expected);
            assert_eq!(body.is_end_stream(), is_last && end_hint == EndHint::EndStream);
            assert_eq!(body.size_hint().exact() == Some(0), is_last && end_hint == EndHint::Size);
        }
    }
}

#[test]
fn a_filter_ends_with_its_error() {
    let mut filter = BodyFilter::with_decoder(TextDecoder::new());
    filter.push(Bytes::from_static(b"a\xFFb"));
    assert_eq!(filter.next().unwrap().unwrap(), "a");
    assert!(matches!(filter.next(), Some(Err(RejectReason::Body(error))) if error.offset == 1));
    filter.push(Bytes::from_static(b"more"));
    filter.finish();
    assert!(filter.next().is_none());
    assert_eq!(format!("{filter:?}"), "BodyFilter { offset: 7, .. }");
}

#[test]
fn the_type_of_the_message_decides_which_response_it_is() {
    let mut rejection = Rejection::new(MessageKind::Request, RejectReason::LengthPrefixed);
    for (content_type, is_grpc) in [
        (None, false),
        (Some("application/grpc"), true),
        (Some("Application/GRPC+json"), true),
        (Some("application/grpc;a"), true),
        (Some("application/grpc-web+proto"), false),
        (Some("application/grpcx"), false),
        (Some("application/grp"), false),
    ] {
        rejection.content_type = content_type.map(HeaderValue::from_static);
        assert_eq!(rejection.is_grpc(), is_grpc, "{content_type:?}");
        let response = rejection.to_response();
        assert_eq!(response.status(), if is_grpc { 200 } else { 415 }, "{content_type:?}");
        assert_eq!(response.body().is_end_stream(), is_grpc, "{content_type:?}");
        assert_eq!(response.headers().get("grpc-status").is_some(), is_grpc, "{content_type:?}");
    }
    let name = "a%41".parse().unwrap();
    let reason = RejectReason::Header(name, utf8_codec::from_utf8(b"\xFF").unwrap_err());
    let rejection = Rejection::new(MessageKind::Response, reason);
    let message = "field a%2541: ill-formed UTF-8 at byte 0 (InvalidLead, 1 byte)";
    let fields = [("content-type", "application/grpc"), ("grpc-status", "13"), ("grpc-message", message)];
    assert_eq!(rejection.grpc_fields(), fields.map(|(name, value)| (name, value.to_owned())));
}

#[tokio::test]
async fn a_rejected_response_is_an_internal_error() {
    let rules = BodyRules::for_responses().with_length_prefixed(Uncheckable::Reject);
    let service =
        ValidateUtf8ResponseLayer::new().with_rules(rules).layer(service_fn(async |_: Request<()>| {
            let response = Response::builder().header("content-type", "application/grpc");
            Ok::<_, Infallible>(response.body(Full::<Bytes>::from("x")).unwrap())
        }));
    let response = service.oneshot(Request::new(())).await.unwrap();
    assert_eq!(
        (response.status(), &response.headers()["grpc-status"]),
        (StatusCode::OK, &HeaderValue::from_static("13"))
    );
}
