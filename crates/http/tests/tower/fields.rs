//! Header and trailer fields, paths and queries of requests.

use bytes::Bytes;
use http::{HeaderMap, Request, StatusCode};
use http_body_util::Full;
use utf8_codec::ErrorKind;
use utf8_codec_http::tower::ValidateUtf8RequestLayer;
use utf8_codec_http::{BodyRules, HttpCounters};

use crate::support::bodies::{EndHint, Script};
use crate::support::layers::{post, through};

#[tokio::test]
async fn header_values_paths_and_queries_are_checked_if_configured() {
    let request = |uri: &str, value: &[u8]| {
        let request = Request::get(uri).header("x-name", http::HeaderValue::from_bytes(value).unwrap());
        request.body(Full::<Bytes>::default()).unwrap()
    };
    let bad_path = "/a/%ED%A0%80?q=1";
    let bad_query = "/a?q=%C3%A9%ff&r=%zz%";
    let lenient = ValidateUtf8RequestLayer::new();
    let headers = lenient.clone().with_header_check(true);
    let path = lenient.clone().with_path_check(true);
    let query = lenient.clone().with_query_check(true);
    let extended = |value: &'static str| {
        let request = Request::get("/").header("content-disposition", value);
        request.body(Full::<Bytes>::default()).unwrap()
    };
    for (layer, request, expected) in [
        (&lenient, extended("attachment; filename*=UTF-8''caf%E9.txt"), None),
        (&headers, extended("attachment; filename*=UTF-8''caf%C3%A9.txt"), None),
        (
            &headers,
            extended("attachment; filename*=UTF-8''caf%E9.txt"),
            Some("field content-disposition: ill-formed UTF-8 at byte 32 (MissingContinuation, 1 byte)"),
        ),
        (&lenient, request(bad_path, b"\xE9"), None),
        (&lenient, request(bad_query, b"\xE9"), None),
        (&headers, request(bad_path, "é".as_bytes()), None),
        (
            &headers,
            request("/", b"Ren\xE9"),
            Some("field x-name: ill-formed UTF-8 at byte 3 (Truncated, 1 byte)"),
        ),
        (&path, request(bad_query, b"\xE9"), None),
        (&path, request(bad_path, b""), Some("path: ill-formed UTF-8 at byte 3 (Surrogate, 1 byte)")),
        (&query, request(bad_path, b""), None),
        (&query, request(bad_query, b""), Some("query: ill-formed UTF-8 at byte 4 (InvalidLead, 1 byte)")),
        (&query, request("/?q=%E2%82", b""), Some("query: ill-formed UTF-8 at byte 2 (Truncated, 2 bytes)")),
        (&query, request("/?q=%E2%82%AC%", b""), None),
    ] {
        let seen = through(layer, request).await;
        assert_eq!(seen.handled, usize::from(expected.is_none()));
        match expected {
            Some(detail) => assert_eq!(seen.problem()["detail"], detail),
            None => assert_eq!(seen.status, StatusCode::OK),
        }
    }
}

pub(crate) fn trailers(value: &[u8]) -> HeaderMap {
    let mut trailers = HeaderMap::new();
    trailers.insert("x-sum", http::HeaderValue::from_bytes(value).unwrap());
    trailers
}

#[tokio::test]
async fn trailers_of_every_body_are_checked() {
    let counters = HttpCounters::new();
    for content_type in ["text/plain", "image/png", "application/x-www-form-urlencoded"] {
        for end_hint in [EndHint::Nothing, EndHint::EndStream] {
            for layer in [ValidateUtf8RequestLayer::new(), ValidateUtf8RequestLayer::streaming()] {
                let request = |value: &[u8]| {
                    let body = Script::of(&[b"a=b"], end_hint).with_trailers(trailers(value));
                    post(&[("content-type", content_type)]).body(body).unwrap()
                };
                let layer = layer.with_counters(&counters);
                let seen = through(&layer, request(b"caf\xE9!")).await;
                let problem = seen.problem();
                assert_eq!(seen.status, StatusCode::BAD_REQUEST, "{content_type} {end_hint:?}");
                assert_eq!(
                    problem["detail"],
                    "trailer x-sum: ill-formed UTF-8 at byte 3 (MissingContinuation, 1 byte)"
                );
                assert_eq!((&problem["offset"], &problem["len"]), (&3.into(), &1.into()));
                let seen = through(&layer, request("caf\u{E9}".as_bytes())).await;
                assert_eq!((seen.status, &seen.text[..]), (StatusCode::OK, &b"a=b"[..]));
                let passing = layer.with_rules(BodyRules::new().with_trailer_check(false));
                assert_eq!(through(&passing, request(b"\xE9")).await.status, StatusCode::OK);
                let both = passing.with_header_check(true);
                assert_eq!(through(&both, request(b"\xE9")).await.status, StatusCode::BAD_REQUEST);
            }
        }
    }
    let now = counters.snapshot();
    assert_eq!((now.rejected(ErrorKind::MissingContinuation), now.rejected_otherwise), (12, 0));
}
