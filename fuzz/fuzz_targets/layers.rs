//! The tower layers: for any fields and frames of a request, the handler reads checked text or is not called.
#![no_main]

use bytes::Bytes;
use core::convert::Infallible;
use futures::executor::block_on;
use http::{HeaderName, HeaderValue, Request, Response};
use http_body_util::{BodyExt, Full};
use libfuzzer_sys::fuzz_target;
use test_support::bodies::{EndHint, Script};
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec_fuzz::Input;
use utf8_codec_http::tower::{ValidateUtf8RequestLayer, ValidateUtf8ResponseLayer};

const NAMES: [HeaderName; 4] = [
    http::header::CONTENT_TYPE,
    http::header::CONTENT_ENCODING,
    http::header::CONTENT_RANGE,
    http::header::HOST,
];

fuzz_target!(|data: &[u8]| {
    let mut space = Vec::new();
    let Some(input) = Input::new(data, &mut space) else { return };
    // The first line is the query, the next lines are header values, and the rest is the body.
    let mut lines = input.bytes.splitn(4, |&byte| byte == b'\n');
    let mut line = || lines.next().unwrap_or_default();
    let Ok(request) = Request::post([b"/?", line()].concat().as_slice()).body(()) else { return };
    let (mut parts, ()) = request.into_parts();
    for name in [NAMES[0].clone(), NAMES[1 + usize::from(data[5]) % 3].clone()] {
        if let Ok(value) = HeaderValue::from_bytes(line()) {
            parts.headers.insert(name, value);
        }
    }
    let body = line();
    // A message without a body is not checked, and an empty frame is a body.
    if body.is_empty() {
        return;
    }
    let run = |chunks: &[&[u8]], layer: ValidateUtf8RequestLayer| {
        let handler = service_fn(|request: Request<_>| async {
            let read = BodyExt::collect(request.into_body()).await;
            Ok::<_, Infallible>(Response::new(Full::new(
                read.map(|data| data.to_bytes()).unwrap_or_default(),
            )))
        });
        let service = ValidateUtf8ResponseLayer::new()
            .layer(layer.with_query_check(true).with_header_check(true).layer(handler));
        let request = Request::from_parts(parts.clone(), Script::of(chunks, input.pick(6, &EndHint::ALL)));
        let (mut head, body) = block_on(service.oneshot(request)).expect("infallible").into_parts();
        // The header is set if the rejected body has not arrived completely.
        head.headers.remove(http::header::CONNECTION);
        let data: Bytes = block_on(body.collect()).map(|data| data.to_bytes()).unwrap_or_default();
        (head.status, head.headers, data)
    };
    let mut rest = input;
    rest.bytes = body;
    let held = run(&[body], ValidateUtf8RequestLayer::new());
    assert_eq!(run(&rest.chunks(), ValidateUtf8RequestLayer::new()), held);
    let streamed = run(&[body], ValidateUtf8RequestLayer::streaming());
    assert_eq!(run(&rest.chunks(), ValidateUtf8RequestLayer::streaming()), streamed);
    assert_eq!(streamed.0, held.0);
});
