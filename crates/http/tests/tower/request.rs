//! The layer for requests: the bodies that it checks and rejects, and the header fields that it changes.

use core::convert::Infallible;

use bytes::Bytes;
use http::{HeaderMap, Request, Response, StatusCode};
use http_body_util::{BodyExt, Full};
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec::{BomPolicy, ErrorKind, ErrorPolicy, TextDecoder};
use utf8_codec_http::tower::{CheckedBody, ValidateUtf8RequestLayer};
use utf8_codec_http::{
    BodyRules, BoxError, HttpCounters, MissingCharset, MissingContentType, RejectReason, Rejection,
    Uncheckable,
};

use super::fields::trailers;
use crate::support::bodies::{EndHint, Script};
use crate::support::layers::{BAD, post, send, through};
use crate::support::policies;

#[tokio::test]
async fn only_media_types_of_text_are_checked() {
    let layer = ValidateUtf8RequestLayer::new();
    for text in [
        "application/json",
        "application/JSON; charset=UTF8",
        "application/vnd.api+json",
        "text/plain",
        "text/html; charset=\"utf-8\"",
        "text/event-stream",
        "application/x-www-form-urlencoded",
        "application/xml",
        "image/svg+xml",
        "application/x-ndjson",
        "application/problem+json",
    ] {
        let seen = send(&layer, &[("content-type", text)], BAD).await;
        assert_eq!((seen.status, seen.handled), (StatusCode::BAD_REQUEST, 0), "{text}");
        let problem = seen.problem();
        assert_eq!(problem["type"], "about:blank");
        assert_eq!(problem["title"], "Bad Request");
        assert_eq!(problem["status"], 400);
        assert_eq!(problem["detail"], "ill-formed UTF-8 at byte 7 (Surrogate, 1 byte)");
        assert_eq!(
            (&problem["offset"], &problem["kind"], &problem["len"]),
            (&7.into(), &"Surrogate".into(), &1.into())
        );
        assert_eq!(
            send(&layer, &[("content-type", text)], "{\"é\": 1}".as_bytes()).await.status,
            StatusCode::OK
        );
    }
    for other in
        ["application/octet-stream", "image/png", "multipart/form-data; boundary=x", "application/zip"]
    {
        let seen = send(&layer, &[("content-type", other)], BAD).await;
        assert_eq!((seen.status, &seen.text[..], seen.handled), (StatusCode::OK, BAD, 1), "{other}");
    }
    let everything = ValidateUtf8RequestLayer::new().with_rules(BodyRules::new().with_text_types(|_| true));
    let png = [("content-type", "image/png")];
    assert_eq!(send(&everything, &png, BAD).await.status, StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_body_without_a_type_is_handled_as_configured() {
    let layer = |missing| {
        ValidateUtf8RequestLayer::new()
            .with_rules(BodyRules::new().with_missing_content_type(missing))
            .with_max_drained_length(0)
    };
    let default = ValidateUtf8RequestLayer::new();
    for layer in [default, layer(MissingContentType::Check)] {
        let seen = send(&layer, &[], BAD).await;
        assert_eq!((seen.status, seen.handled), (StatusCode::BAD_REQUEST, 0));
        assert_eq!(seen.problem()["kind"], "Surrogate");
        assert_eq!(send(&layer, &[], b"good").await.status, StatusCode::OK);
        let hidden = send(&layer, &[("content-encoding", "nonsense")], b"good").await;
        assert_eq!(hidden.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    assert_eq!(send(&layer(MissingContentType::Pass), &[], BAD).await.status, StatusCode::OK);
    let rejecting = layer(MissingContentType::Reject);
    let seen = send(&rejecting, &[], b"good").await;
    assert_eq!((seen.status, seen.handled), (StatusCode::UNSUPPORTED_MEDIA_TYPE, 0));
    assert_eq!(seen.problem()["kind"], "MissingContentType");
    // A message without a body needs no type, with any decoder.
    let bom = TextDecoder::new().with_bom_policy(BomPolicy::Require);
    let requiring = ValidateUtf8RequestLayer::new().with_rules(BodyRules::new().with_decoder(bom));
    for layer in [rejecting, requiring] {
        assert_eq!(send(&layer, &[], b"").await.status, StatusCode::OK);
    }
}

#[tokio::test]
async fn a_request_that_cannot_be_checked_needs_a_rule() {
    const CODING: u16 = 415;
    const RANGE: u16 = 400;
    let json = ("content-type", "application/json");
    let rules = BodyRules::new();
    for (rules, coding, range) in [
        (rules.clone(), CODING, RANGE),
        (rules.clone().with_content_codings(Uncheckable::Pass), 200, RANGE),
        (rules.with_content_ranges(Uncheckable::Pass), CODING, 200),
    ] {
        for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
            let layer = layer.with_rules(rules.clone());
            let answer = async |field| {
                let seen = send(&layer, &[json, field], b"{}").await;
                assert_eq!(seen.handled, usize::from(seen.status == StatusCode::OK), "{field:?}");
                if seen.status != StatusCode::OK {
                    assert_eq!(seen.problem()["status"], seen.status.as_u16());
                }
                seen.status.as_u16()
            };
            for coding_of_it in ["gzip", "identity, gzip", "zstd", "nonsense", "identity;q=1", "\u{e9}"] {
                assert_eq!(answer(("content-encoding", coding_of_it)).await, coding, "{coding_of_it}");
            }
            for range_of_it in ["bytes 1-5/9", "x", "", "bytes", "*/9"] {
                assert_eq!(answer(("content-range", range_of_it)).await, range, "{range_of_it}");
            }
            for checked in [
                ("content-encoding", "Identity"),
                ("content-encoding", ""),
                ("content-encoding", "identity,, identity"),
                ("content-range", "bytes */9"),
            ] {
                assert_eq!(answer(checked).await, 200, "{checked:?}");
                let seen = send(&layer, &[json, checked], BAD).await;
                assert_eq!(
                    (seen.status, &seen.problem()["kind"]),
                    (StatusCode::BAD_REQUEST, &"Surrogate".into())
                );
            }
            let image = [("content-type", "image/png"), ("content-range", "x"), ("content-encoding", "x")];
            assert_eq!(send(&layer, &image, BAD).await.status, StatusCode::OK, "not a text type");
        }
    }
}

#[tokio::test]
async fn an_invalid_content_type_needs_a_rule() {
    let passing = BodyRules::new().with_malformed_content_type(Uncheckable::Pass);
    for (rules, status) in [(BodyRules::new(), 400), (passing, 200)] {
        let layer = ValidateUtf8RequestLayer::new().with_rules(rules);
        for malformed in
            ["", "text", "text/plain charset=utf-8", "text/plain; charset", "text/plain, text/html"]
        {
            let seen = send(&layer, &[("content-type", malformed)], BAD).await;
            assert_eq!(
                (seen.status.as_u16(), seen.handled),
                (status, usize::from(status == 200)),
                "{malformed}"
            );
            if status != 200 {
                assert_eq!(seen.problem()["kind"], "ContentType");
            }
        }
        let two = [("content-type", "text/plain"), ("content-type", "image/png")];
        assert_eq!(send(&layer, &two, BAD).await.status.as_u16(), status);
        let contradiction = [("content-type", "text/plain; charset=utf-8; charset=latin1")];
        assert_eq!(
            send(&layer, &contradiction, b"a").await.status.as_u16(),
            400,
            "the type is in the grammar"
        );
    }
}

#[tokio::test]
async fn a_form_is_checked_after_percent_decoding() {
    let form = [("content-type", "application/x-www-form-urlencoded")];
    for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
        let seen = send(&layer, &form, b"a=%E9").await;
        assert_eq!(seen.status, StatusCode::BAD_REQUEST);
        let problem = seen.problem();
        assert_eq!((&problem["kind"], &problem["offset"]), (&"Truncated".into(), &2.into()));
        let seen = send(&layer, &form, b"a=%C3%A9&b=%zz").await;
        assert_eq!((seen.status, &seen.text[..]), (StatusCode::OK, &b"a=%C3%A9&b=%zz"[..]));
    }
    // The `Content-Length` of a repaired form is that of the repaired body.
    let replace = BodyRules::new().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let fields = [form[0], ("content-length", "3")];
    let holding = ValidateUtf8RequestLayer::new().with_rules(replace.clone());
    let seen = send(&holding, &fields, b"a=\xFF").await;
    assert_eq!((&seen.text[..], &seen.headers["content-length"]), (&b"a=%EF%BF%BD"[..], &11.into()));
    let streaming = ValidateUtf8RequestLayer::streaming().with_rules(replace);
    assert!(!send(&streaming, &fields, b"a=\xFF").await.headers.contains_key("content-length"));
}

#[tokio::test]
async fn a_form_must_have_exactly_one_boundary() {
    let layer = ValidateUtf8RequestLayer::new().with_rules(BodyRules::new().with_form_data(true));
    let form = b"--a\r\nContent-Disposition: form-data; name=x\r\n\r\n--b\r\n--a--";
    for (parameters, status) in [
        ("boundary=a", StatusCode::OK),
        ("boundary=a; Boundary=\"a\"", StatusCode::OK),
        ("boundary=a; boundary=b", StatusCode::BAD_REQUEST),
        ("boundary=a; boundary*=utf-8''b", StatusCode::BAD_REQUEST),
        ("boundary*0=a", StatusCode::BAD_REQUEST),
        ("charset=utf-8", StatusCode::BAD_REQUEST),
    ] {
        let content_type = format!("multipart/form-data; {parameters}");
        let seen = send(&layer, &[("content-type", &content_type)], form).await;
        assert_eq!(seen.status, status, "{parameters}");
        if status != StatusCode::OK {
            assert_eq!(seen.problem()["kind"], "Multipart");
        }
    }
}

#[tokio::test]
async fn charsets_follow_the_rules() {
    let layer = |rules| ValidateUtf8RequestLayer::new().with_rules(rules);
    let status = async |layer: &ValidateUtf8RequestLayer, content_type, text: &'static [u8]| {
        send(layer, &[("content-type", content_type)], text).await.status.as_u16()
    };
    let default = layer(BodyRules::new());
    assert_eq!(status(&default, "text/plain", b"\xE9").await, 400);
    assert_eq!(status(&default, "text/plain; charset=latin1", b"\xE9").await, 415);
    assert_eq!(status(&default, "text/plain; charset=utf-8; charset=latin1", b"a").await, 400);
    assert_eq!(status(&default, "text/plain; charset=utf-8; CHARSET=\"UTF8\"", b"a").await, 200);
    assert_eq!(status(&default, "text/plain; charset", b"a").await, 400);
    let pass = layer(
        BodyRules::new().with_other_charset(Uncheckable::Pass).with_missing_charset(MissingCharset::Pass),
    );
    assert_eq!(status(&pass, "text/plain; charset=latin1", b"\xE9").await, 200);
    assert_eq!(status(&pass, "text/plain", b"\xE9").await, 200);
    assert_eq!(status(&pass, "text/plain; charset=utf-8", b"\xE9").await, 400);
    let reject = layer(BodyRules::new().with_missing_charset(MissingCharset::Reject));
    assert_eq!(status(&reject, "text/plain", b"a").await, 415);
    assert_eq!(status(&reject, "application/json", b"1").await, 200, "JSON has no such parameter");

    let two = post(&[("content-type", "text/plain"), ("content-type", "application/json")]);
    let seen = through(&default, two.body(Full::from("a")).unwrap()).await;
    assert_eq!(
        (seen.status, seen.problem()["kind"].as_str()),
        (StatusCode::BAD_REQUEST, Some("ConflictingCharset"))
    );
}

#[tokio::test]
async fn another_charset_is_transcoded_and_the_content_type_changed() {
    use http_body::Body as _;
    use tower::Service as _;
    use utf8_codec_http::MessageKind;

    let rules = BodyRules::new().with_transcoding();
    for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
        let layer = layer.with_rules(rules.clone());
        let fields =
            [("content-type", "text/plain; format=flowed; charset=Shift_JIS"), ("content-digest", "x")];
        let seen = send(&layer, &fields, b"\x93\xFA\x96\x7B").await;
        assert_eq!((seen.status, &seen.text[..]), (StatusCode::OK, "日本".as_bytes()));
        assert_eq!(seen.headers["content-type"], "text/plain; format=\"flowed\"; charset=utf-8");
        assert!(!seen.headers.contains_key("content-digest"));

        let seen = send(&layer, &fields, b"\x93\xFA\x96").await;
        let problem = seen.problem();
        assert_eq!((&problem["kind"], &problem["offset"]), (&"Truncated".into(), &2.into()));
        let seen = send(&layer, &[("content-type", "text/plain; charset=klingon")], b"a").await;
        assert_eq!(seen.status, StatusCode::UNSUPPORTED_MEDIA_TYPE);
    }
    // The length is the same, but the bytes are different.
    let sums = [("content-digest", "sha-256=:AAAA:")]
        .map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap()));
    for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
        let script =
            Script::of(&[b"\0\xE9"], EndHint::Nothing).with_trailers(HeaderMap::from_iter(sums.clone()));
        let request = post(&[("content-type", "text/plain; charset=utf-16be")]).body(script).unwrap();
        let mut service =
            layer.with_rules(rules.clone()).layer(service_fn(async |request: Request<CheckedBody<_>>| {
                let body = request.into_body().collect().await.unwrap();
                assert_eq!(body.trailers(), Some(&HeaderMap::new()), "the digest is of the original bytes");
                assert_eq!(body.to_bytes(), "\u{E9}");
                Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
            }));
        assert_eq!(service.ready().await.unwrap().call(request).await.unwrap().status(), StatusCode::OK);
    }
    // A character that is pending in the decoder is returned with the next byte.
    let mut fields =
        post(&[("content-type", "text/plain; charset=iso-2022-jp")]).body(()).unwrap().into_parts().0.headers;
    let repair = rules.clone().with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
    let script = Script::of(&[b"\x1B$", b"a"], EndHint::Size);
    let mut body = repair.apply(MessageKind::Request, &mut fields, script).unwrap();
    let mut hints = vec![(body.size_hint(), 0)];
    while let Some(frame) = body.frame().await {
        let data = frame.unwrap().into_data().unwrap();
        hints.iter_mut().for_each(|(_, after)| *after += data.len() as u64);
        hints.push((body.size_hint(), 0));
    }
    assert!(hints.iter().all(|(hint, after)| hint.upper().is_none_or(|upper| *after <= upper)), "{hints:?}");
    // A character of 2 bytes, split at every position, and a long text, which is returned in several frames.
    let long = "日本語".repeat(20_000);
    let (bytes, ..) = (b"\x93\xFA\x96\x7B\x8C\xEA".repeat(20_000), ());
    for cut in [0, 1, 4_001, bytes.len() - 1] {
        let body = Script::of(&[&bytes[..cut], &bytes[cut..]], EndHint::EndStream);
        let layer = ValidateUtf8RequestLayer::new().with_rules(rules.clone());
        let request = post(&[("content-type", "text/plain; charset=sjis")]).body(body).unwrap();
        let seen = through(&layer, request).await;
        assert_eq!(seen.status, StatusCode::OK);
        assert!(seen.text == long.as_bytes());
    }
}

#[tokio::test]
async fn a_body_is_held_up_to_a_limit() {
    let json = [("content-type", "application/json")];
    let layer = ValidateUtf8RequestLayer::new().with_max_held_length(8);
    assert_eq!(send(&layer, &json, b"12345678").await.status, StatusCode::OK);
    for end_hint in EndHint::ALL {
        let body = Script::of(&[b"1234", b"56789"], end_hint);
        let seen = through(&layer, post(&json).body(body).unwrap()).await;
        assert_eq!((seen.status, seen.handled), (StatusCode::PAYLOAD_TOO_LARGE, 0), "{end_hint:?}");
        assert_eq!(seen.problem()["kind"], "TooLong");
        let body = Script::of(&[b"1234", b"", b"5678"], end_hint);
        assert_eq!(through(&layer, post(&json).body(body).unwrap()).await.text, "12345678");
        // The limit is for all frames together.
        for (last, status) in [(b"678".as_slice(), StatusCode::OK), (b"6789", StatusCode::PAYLOAD_TOO_LARGE)]
        {
            let body = Script::of(&[b"123", b"45", last], end_hint);
            assert_eq!(through(&layer, post(&json).body(body).unwrap()).await.status, status);
        }
    }
    let png = [("content-type", "image/png")];
    assert_eq!(send(&layer, &png, b"not text, however long").await.status, StatusCode::OK);
    assert_eq!(send(&layer, &[], b"it may be text").await.status, StatusCode::PAYLOAD_TOO_LARGE);
}

#[tokio::test]
async fn a_limit_does_not_depend_on_an_announced_length() {
    let texts: [&[u8]; 4] = [b"abc\xFF\xFF\xFF", b"abcd\xFF\xFF", b"abcdef", b"\xEF\xBB\xBFabcd"];
    // A strict body may have an error before the limit.
    for policy in policies().into_iter().filter(|policy| *policy != ErrorPolicy::Strict) {
        let decoder = TextDecoder::new().with_error_policy(policy).with_bom_policy(BomPolicy::Strip);
        let rules = BodyRules::new().with_decoder(decoder);
        let layer = ValidateUtf8RequestLayer::new().with_max_held_length(4).with_rules(rules);
        for text in texts {
            let mut statuses = Vec::new();
            for end_hint in EndHint::ALL {
                let body = Script::of(&[&text[..2], &text[2..]], end_hint);
                statuses.push(through(&layer, post(&[]).body(body).unwrap()).await.status);
            }
            assert!(
                statuses.iter().all(|status| *status == statuses[0]),
                "{policy:?} {text:02X?}: {statuses:?}"
            );
        }
    }
}

#[tokio::test]
async fn a_streaming_handler_reads_the_text_before_the_error() {
    let json = [("content-type", "application/json")];
    let layer = ValidateUtf8RequestLayer::streaming();
    let seen = send(&layer, &json, BAD).await;
    assert_eq!((seen.status, seen.handled), (StatusCode::BAD_REQUEST, 1), "not the teapot of the handler");
    assert_eq!(seen.problem()["offset"], 7);
    // The handler responds to an error of the inner body.
    for layer in [layer, ValidateUtf8RequestLayer::new()] {
        let body = Script::of(&[b"ab\xE2"], EndHint::Nothing).with_failure("reset");
        let seen = through(&layer, post(&json).body(body).unwrap()).await;
        assert_eq!((seen.status, seen.handled), (StatusCode::IM_A_TEAPOT, 1));
    }
}

#[tokio::test]
async fn a_handler_that_fails_because_of_the_body_is_answered() {
    let service = ValidateUtf8RequestLayer::streaming().layer(service_fn(
        async |request: Request<CheckedBody<Full<Bytes>>>| {
            let text = request.into_body().collect().await?.to_bytes();
            Ok::<_, BoxError>(Response::new(Full::new(text)))
        },
    ));
    let request = post(&[("content-type", "text/plain")]).body(Full::from(BAD)).unwrap();
    assert_eq!(service.oneshot(request).await.unwrap().status(), StatusCode::BAD_REQUEST);
}

#[tokio::test]
async fn a_handler_can_convert_the_error_to_a_rejection() {
    let layer = ValidateUtf8RequestLayer::streaming();
    let service = layer.layer(service_fn(async |request: Request<CheckedBody<Full<Bytes>>>| {
        let error = request.into_body().collect().await.unwrap_err();
        assert_eq!(RejectReason::find(&*error).unwrap().utf8_error().unwrap().offset, 7);
        let wrapped = std::io::Error::other(error);
        let rejection = Rejection::from_error(&wrapped).expect("a rejection");
        assert_eq!(rejection.reason.kind(), "Surrogate");
        Ok::<_, Infallible>(rejection.to_response().map(|body| Full::new(Bytes::from(body))))
    }));
    let request = post(&[("content-type", "text/plain")]).body(Full::from(BAD)).unwrap();
    assert_eq!(service.oneshot(request).await.unwrap().status(), StatusCode::BAD_REQUEST);
    assert!(Rejection::from_error(&std::io::Error::other("reset")).is_none());
}

#[tokio::test]
async fn a_body_without_text_is_wrapped_for_its_trailers_only() {
    let checking = ValidateUtf8RequestLayer::new();
    let passing = checking.clone().with_rules(BodyRules::new().with_trailer_check(false));
    for (layer, expected) in [(checking, "CheckedBody(Streaming)"), (passing, "CheckedBody(Unchecked)")] {
        let service = layer.layer(service_fn(async |request: Request<CheckedBody<Script>>| {
            Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(format!("{:?}", request.body())))))
        }));
        let body = Script::of(&[b"\xFF"], EndHint::Nothing);
        let request = post(&[("content-type", "image/png")]).body(body).unwrap();
        let response = service.oneshot(request).await.unwrap();
        assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), expected);
    }
}

#[tokio::test]
async fn the_body_of_a_handler_ends_after_its_last_frame() {
    for end_hint in EndHint::ALL {
        for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
            let service = layer.layer(service_fn(async |request: Request<CheckedBody<Script>>| {
                let (data, trailers, error) = crate::support::bodies::drain(request.into_body());
                assert!(trailers.is_some() && error.is_none());
                Ok::<_, Infallible>(Response::new(Full::new(Bytes::from(data))))
            }));
            let body = Script::of(&[b"abc", b"def"], end_hint).with_trailers(trailers(b"ok"));
            let request = post(&[("content-type", "text/plain")]).body(body).unwrap();
            let response = service.oneshot(request).await.unwrap();
            assert_eq!(response.into_body().collect().await.unwrap().to_bytes(), "abcdef");
        }
    }
}

#[tokio::test]
async fn the_response_to_a_rejected_request_can_be_replaced() {
    let layer = ValidateUtf8RequestLayer::new().with_rejection_response(|rejection: &Rejection| {
        assert!(matches!(rejection.reason, RejectReason::Body(error) if error.kind == ErrorKind::Surrogate));
        assert_eq!(rejection.content_type.as_ref().unwrap(), "text/plain");
        Response::builder().status(422).body(Bytes::from(rejection.reason.kind())).unwrap()
    });
    let seen = send(&layer, &[("content-type", "text/plain")], BAD).await;
    assert_eq!((seen.status.as_u16(), &seen.text[..]), (422, &b"Surrogate"[..]));
}

#[tokio::test]
async fn all_clones_of_a_layer_share_their_counters() {
    let counters = HttpCounters::new();
    for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
        let layer = layer.with_counters(&counters);
        send(&layer, &[("content-type", "text/plain")], BAD).await;
        send(&layer.clone(), &[("content-type", "text/plain")], b"good").await;
        send(&layer, &[("content-type", "text/plain; charset=x")], b"other").await;
        send(&layer, &[("content-type", "image/png")], BAD).await;
    }
    let now = counters.snapshot();
    assert_eq!((now.bodies, now.bytes), (4, 2 * (BAD.len() + 4) as u64));
    assert_eq!((now.rejected(ErrorKind::Surrogate), now.rejected_otherwise, now.rejected_total()), (2, 2, 4));
}
