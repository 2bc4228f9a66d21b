use core::task::Waker;

use tokio::io::{duplex, sink};

use super::*;

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
