use core::task::Waker;
use core::time::Duration;
use std::sync::{Arc, Mutex};

use test_support::Rng;
use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, sink};
use utf8_codec::{ErrorPolicy, TextDecoder, Utf8Error};

use super::*;
use crate::{LineFilter, Relay};

/// Returns the pumps of both directions of a connection that is not filtered.
fn pumps() -> [Pump; 2] {
    let setup =
        Setup { stage: Stage::Untouched, ending: LineEnding::LfOrCrLf, report_only: false, closes: false };
    [RelayDirection::Requests, RelayDirection::Responses].map(|direction| Pump::new(direction, setup.clone()))
}

#[test]
fn the_memory_of_replies_is_not_kept() {
    let [mut requests, mut responses] = pumps();
    requests.replies = vec![b'\n'; 100_000];
    assert!(requests.collect_replies(&mut responses));
    assert!(responses.has_many_replies());
    let mut cx = Context::from_waker(Waker::noop());
    let (mut from, _peer) = duplex(1);
    let mut ignored = |_: RelayDirection, _| {};
    while responses.poll_cycle(&mut cx, &mut from, &mut sink(), &mut ignored, true).is_ready() {}
    assert_eq!((responses.flow.written, responses.has_many_replies()), (100_000, false));
    let kept = [&requests.replies, &responses.queued_replies].map(Vec::capacity);
    assert_eq!(kept, [0, 0]);
}

#[test]
fn replies_are_limited_to_64_kib() {
    let [mut requests, mut responses] = pumps();
    requests.replies = vec![b'\n'; 64 * 1024 - 1];
    assert!(requests.collect_replies(&mut responses));
    assert!(!responses.has_many_replies());
    requests.replies = vec![b'\n'];
    assert!(requests.collect_replies(&mut responses));
    assert!(responses.has_many_replies());
}

#[test]
fn replies_to_a_direction_that_has_ended_or_stopped_are_not_kept() {
    for (ended, stop) in [(true, None), (false, Some(RelayEnd::Idle)), (true, Some(RelayEnd::Idle))] {
        let [mut requests, mut responses] = pumps();
        (responses.ended, responses.stop) = (ended, stop);
        requests.replies = vec![b'\n'; 10];
        assert!(requests.collect_replies(&mut responses));
        assert!(requests.replies.is_empty() && responses.queued_replies.is_empty());
    }
}

/// Records the errors, and the length of the longest read.
#[derive(Clone, Default)]
struct Recorder(Arc<Mutex<(Vec<Utf8Error>, usize)>>);

impl RelayObserver for Recorder {
    fn read(&mut self, _: RelayDirection, bytes: usize) {
        let longest = &mut self.0.lock().unwrap().1;
        *longest = bytes.max(*longest);
    }

    fn ill_formed(&mut self, _: RelayDirection, error: Utf8Error) {
        self.0.lock().unwrap().0.push(error);
    }
}

/// Sends the bytes through a relay. Returns what arrives, the errors, and the length of the longest read.
async fn relayed(relay: Relay, bytes: &[u8]) -> (Vec<u8>, Vec<Utf8Error>, usize) {
    let ((mut client, mut near), (mut far, mut server)) = (duplex(1 << 20), duplex(1 << 20));
    client.write_all(bytes).await.unwrap();
    client.shutdown().await.unwrap();
    let recorder = Recorder::default();
    let observer = recorder.clone();
    let relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });
    let mut received = Vec::new();
    server.read_to_end(&mut received).await.unwrap();
    drop((client, server));
    let _ = relayed.await.unwrap();
    let (errors, longest) = core::mem::take(&mut *recorder.0.lock().unwrap());
    (received, errors, longest)
}

#[tokio::test]
async fn big_and_small_buffers_deliver_the_same_bytes_errors_and_offsets() {
    let mut rng = Rng::new(53);
    let mut text = "ab é 日本語 \u{1F4A9}\n".repeat(25_000).into_bytes();
    for _ in 0..40 {
        text[300_000 + rng.below(100_000)] = 0xFF;
    }
    text.splice(450_000..450_000, [0xE2; 30_000]);
    let mut relays = vec![Relay::new().with_line_filter(LineFilter::new())];
    for policy in [ErrorPolicy::Strict, ErrorPolicy::Escape, ErrorPolicy::Skip, ErrorPolicy::Replace] {
        let decoder = TextDecoder::new().with_error_policy(policy);
        relays.push(Relay::with_decoder(decoder).with_linger(Duration::ZERO));
    }
    let mut results = Vec::new();
    for relay in &relays {
        results.push(relayed(relay.clone(), &text).await);
    }
    assert_eq!(results[4].0, String::from_utf8_lossy(&text).as_bytes());
    let _in_use: Vec<_> = (0..64).map(|_| Buffer::take(Size::Big)).collect();
    for (relay, (bytes, errors, longest)) in relays.into_iter().zip(results) {
        let with_small = relayed(relay, &text).await;
        assert_eq!((longest, with_small.2), (256 * 1024, 16 * 1024));
        assert!(with_small.0 == bytes && with_small.1 == errors, "{} errors", errors.len());
    }
}
