//! Memory of the body of a request that the layer holds.

use core::convert::Infallible;

use bytes::Bytes;
use http::{Request, Response};
use http_body_util::Full;
use tower::{Layer, ServiceExt, service_fn};
use utf8_codec_http::tower::{CheckedBody, ValidateUtf8RequestLayer};

use crate::allocations::held;
use crate::support::bodies::{EndHint, Script};
use crate::support::layers::post;

#[tokio::test]
async fn memory_for_a_body_is_not_reserved_before_its_bytes_arrive() {
    let layer = ValidateUtf8RequestLayer::new();
    let service = layer.layer(service_fn(async |_: Request<CheckedBody<Script>>| {
        Ok::<_, Infallible>(Response::new(Full::<Bytes>::default()))
    }));
    for len in [3, 64 * 1024] {
        let frame = vec![b'a'; len];
        let announced = (2 << 20) - 2 * len;
        let body = Script::of(&[&frame, &frame], EndHint::Size).that_stalls(announced as u64);
        let request = post(&[("content-type", "text/plain")]).body(body).unwrap();
        let before = held() as isize;
        let mut future = Box::pin(service.clone().oneshot(request));
        for _ in 0..8 {
            assert!(futures::poll!(&mut future).is_pending());
        }
        let after = held() as isize;
        // At most twice the bytes that have arrived.
        let bound = 8 * 1024 + 4 * len as isize;
        assert!(after - before < bound, "{} bytes are allocated for {}", after - before, 2 * len);
    }
}
