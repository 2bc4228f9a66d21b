//! The layer drains the rest of a rejected body.

use core::convert::Infallible;
use core::time::Duration;

use bytes::Bytes;
use http::StatusCode;
use http_body::Body;
use utf8_codec_http::tower::ValidateUtf8RequestLayer;

use crate::support::bodies::{EndHint, Script};
use crate::support::layers::{post, through};

/// A body that a test can inspect while a layer owns it.
struct Shared(std::sync::Arc<std::sync::Mutex<Script>>);

impl Body for Shared {
    type Data = Bytes;
    type Error = &'static str;

    fn poll_frame(
        self: core::pin::Pin<&mut Self>,
        cx: &mut core::task::Context<'_>,
    ) -> core::task::Poll<Option<Result<http_body::Frame<Bytes>, &'static str>>> {
        core::pin::Pin::new(&mut *self.0.lock().unwrap()).poll_frame(cx)
    }

    fn size_hint(&self) -> http_body::SizeHint {
        self.0.lock().unwrap().size_hint()
    }
}

/// Returns the number of unread frames of a rejected body, and whether the response closes the connection.
async fn drained(
    layer: &ValidateUtf8RequestLayer,
    request: http::request::Builder,
    body: Script,
) -> (usize, bool) {
    let rest = std::sync::Arc::new(std::sync::Mutex::new(body));
    let seen = through(layer, request.body(Shared(rest.clone())).unwrap()).await;
    assert!(seen.status.is_client_error());
    let left = rest.lock().unwrap().frames.len();
    (left, seen.headers.get("connection").is_some_and(|value| value == "close"))
}

fn two_seconds() -> tokio::time::Sleep {
    tokio::time::sleep(Duration::from_secs(2))
}

#[tokio::test(start_paused = true)]
async fn the_rest_of_a_rejected_body_is_drained_up_to_a_bound() {
    let json = [("content-type", "application/json")];
    let body = || Script::of(&[b"\xFF", b"abc", b"def", b"ghi"], EndHint::Nothing);
    for layer in [ValidateUtf8RequestLayer::streaming(), ValidateUtf8RequestLayer::new()] {
        for (drain, expected) in [(1_000, (0, false)), (3, (2, true)), (0, (3, true))] {
            let layer = layer.clone().with_max_drained_length(drain).with_drain_timer(two_seconds);
            assert_eq!(drained(&layer, post(&json), body()).await, expected, "drain {drain}");
        }
        // A body that is known to be longer than the limit is not read.
        let known = || Script::of(&[b"\xFF", b"abc", b"def", b"ghi"], EndHint::Size);
        for (drain, expected) in [(10, (0, false)), (9, (0, true)), (8, (3, true))] {
            let layer = layer.clone().with_max_drained_length(drain).with_drain_timer(two_seconds);
            assert_eq!(drained(&layer, post(&json), known()).await, expected, "drain {drain}");
        }
        // This body is pending before each frame. Without a timer the layer does not wait for the rest.
        assert_eq!(drained(&layer, post(&json), body()).await, (3, true));
        let timed = layer.clone().with_drain_timer(two_seconds);
        let http2 = post(&json).version(http::Version::HTTP_2);
        assert_eq!(drained(&timed, http2, body()).await, (3, false), "the stream is reset");
        let latin1 = [("content-type", "text/plain; charset=latin1")];
        assert_eq!(
            drained(&timed, post(&latin1), body()).await,
            (0, false),
            "rejected for its header fields"
        );
        assert_eq!(drained(&timed, post(&latin1).header("expect", "100-continue"), body()).await, (4, true));
    }
    let short = ValidateUtf8RequestLayer::new().with_max_held_length(4).with_drain_timer(two_seconds);
    let long = || Script::of(&[b"abc", b"def", b"ghi"], EndHint::Nothing);
    assert_eq!(drained(&short, post(&json), long()).await, (0, false), "too long");
    assert_eq!(
        drained(&short.with_max_drained_length(3), post(&json), long()).await,
        (0, true),
        "the end is not read"
    );
}

#[tokio::test(start_paused = true)]
async fn a_stalled_client_delays_a_response_up_to_the_timer() {
    let start = tokio::time::Instant::now();
    let json = [("content-type", "application/json")];
    let stalling = || Script::of(&[b"\xFF", b"abc"], EndHint::Size).that_stalls(1_000);
    for layer in [ValidateUtf8RequestLayer::streaming(), ValidateUtf8RequestLayer::new()] {
        assert_eq!(drained(&layer, post(&json), stalling()).await, (1, true));
        assert_eq!(start.elapsed(), Duration::ZERO, "nothing is awaited without a timer");
    }
    let mut waited = Duration::ZERO;
    for layer in [ValidateUtf8RequestLayer::streaming(), ValidateUtf8RequestLayer::new()] {
        let layer = layer.with_drain_timer(two_seconds);
        let latin1 = [("content-type", "text/plain; charset=latin1")];
        for fields in [json, latin1] {
            assert_eq!(drained(&layer, post(&fields), stalling()).await, (0, true));
            waited += Duration::from_secs(2);
            // The timers of tokio have a resolution of 1 ms.
            assert_eq!(start.elapsed().as_secs(), waited.as_secs());
        }
    }
    // The client sends a byte from time to time.
    let dripping = futures::stream::unfold((), |()| async {
        tokio::time::sleep(Duration::from_millis(300)).await;
        Some((Ok::<_, Infallible>(http_body::Frame::data(Bytes::from_static(b"\xFF"))), ()))
    });
    let body = http_body_util::StreamBody::new(Box::pin(dripping));
    let layer = ValidateUtf8RequestLayer::new().with_drain_timer(two_seconds);
    let before = tokio::time::Instant::now();
    let seen = through(&layer, post(&json).body(body).unwrap()).await;
    assert_eq!(
        (seen.status, seen.headers["connection"].as_bytes()),
        (StatusCode::BAD_REQUEST, &b"close"[..])
    );
    let elapsed = before.elapsed();
    assert!((Duration::from_millis(2_300)..Duration::from_millis(2_400)).contains(&elapsed), "{elapsed:?}");
}
