//! The time limits of `Relay`, and its fairness to other tasks.

use core::future::{Future, poll_fn};
use core::pin::{Pin, pin};
use core::task::{Context, Poll};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt, ReadBuf, duplex};
use tokio::time::{Instant, sleep};
use utf8_codec::{ErrorPolicy, TextDecoder};
use utf8_codec_proxy::{Relay, RelayEnd};

use crate::support::relay::{piped, read_all, read_some};

#[tokio::test(start_paused = true)]
async fn only_a_connection_without_traffic_is_idle() {
    let relay = Relay::new().with_idle_timeout(Duration::from_secs(10));
    let (mut client, mut server, _, relayed) = piped(relay.clone(), 64);
    let start = Instant::now();
    for _ in 0..5 {
        sleep(Duration::from_secs(9)).await;
        client.write_all(b"x").await.unwrap();
        assert_eq!(read_some(&mut server, 1).await, b"x");
    }
    let outcome = relayed.await.unwrap();
    assert!(matches!(outcome.end, RelayEnd::Idle));
    let ended = start.elapsed();
    assert!((Duration::from_secs(55)..Duration::from_secs(56)).contains(&ended), "{ended:?}");

    // A connection whose peers do not read is also idle.
    let (mut client, _server, _, relayed) = piped(relay, 64);
    let start = Instant::now();
    client.write_all(&[b'x'; 100]).await.unwrap();
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::Idle));
    assert!(start.elapsed() < Duration::from_secs(11));
}

#[tokio::test(start_paused = true)]
async fn a_relay_without_an_idle_timeout_waits() {
    let (client, server, _, relayed) = piped(Relay::new(), 64);
    sleep(Duration::from_secs(86_400)).await;
    drop((client, server));
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::Closed));
    let (client, server, _, relayed) = piped(Relay::new().with_idle_timeout(Duration::MAX), 64);
    drop((client, server));
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_relay_without_limits_is_not_woken_for_years() {
    let ((_client, mut near), (mut far, _server)) = (duplex(64), duplex(64));
    let mut years = pin!(sleep(Duration::from_secs(86_400 * 365 * 20)));
    let mut polls = 0;
    let cancelled = poll_fn(|cx| {
        polls += 1;
        if polls > 100 { Poll::Ready(()) } else { years.as_mut().poll(cx) }
    });
    let outcome = Relay::new().run_until(&mut near, &mut far, |_, _| {}, cancelled).await;
    assert!(matches!(outcome.end, RelayEnd::Cancelled));
    assert!(polls < 100, "{polls} polls");
}

#[tokio::test(start_paused = true)]
async fn a_reply_may_come_long_after_the_end_of_the_requests() {
    let (mut client, mut server, _, relayed) = piped(Relay::new(), 64);
    client.write_all(b"request").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, b"request");
    sleep(Duration::from_secs(3600)).await;
    server.write_all(b"reply").await.unwrap();
    drop(server);
    assert_eq!(read_all(&mut client).await, b"reply");
    assert!(matches!(relayed.await.unwrap().end, RelayEnd::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_relay_drains_for_the_grace_period() {
    for (talks_for, closed) in [(3, true), (30, false)] {
        let ((client, mut near), (mut far, server)) = (duplex(64), duplex(64));
        let start = Instant::now();
        let peers = tokio::spawn(async move {
            sleep(Duration::from_secs(talks_for)).await;
            drop((client, server));
        });
        let grace = sleep(Duration::from_secs(10));
        let outcome = Relay::new().run_until(&mut near, &mut far, |_, _| {}, grace).await;
        assert_eq!(matches!(outcome.end, RelayEnd::Closed), closed, "{outcome:?}");
        assert_eq!(matches!(outcome.end, RelayEnd::Cancelled), !closed, "{outcome:?}");
        assert_eq!(start.elapsed().as_secs(), talks_for.min(10));
        peers.abort();
    }
}

/// An endless reader and writer that is always ready.
struct AlwaysReady {
    moved: Arc<Mutex<u64>>,
    byte: u8,
}

impl AsyncRead for AlwaysReady {
    fn poll_read(
        self: Pin<&mut Self>,
        _: &mut Context<'_>,
        to: &mut ReadBuf<'_>,
    ) -> Poll<std::io::Result<()>> {
        let room = to.remaining();
        to.initialize_unfilled().fill(self.byte);
        to.advance(room);
        *self.moved.lock().unwrap() += room as u64;
        Poll::Ready(Ok(()))
    }
}

impl AsyncWrite for AlwaysReady {
    fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, from: &[u8]) -> Poll<std::io::Result<usize>> {
        Poll::Ready(Ok(from.len()))
    }

    fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }

    fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<std::io::Result<()>> {
        Poll::Ready(Ok(()))
    }
}

/// Returns two peers that are always ready, and the number of bytes read from each.
fn always_ready(byte: u8) -> ([AlwaysReady; 2], [Arc<Mutex<u64>>; 2]) {
    let moved = [(); 2].map(|()| Arc::default());
    (moved.clone().map(|moved| AlwaysReady { moved, byte }), moved)
}

#[tokio::test(start_paused = true)]
async fn everything_progresses_while_both_sides_are_ready() {
    // The most expensive case: every byte is ill-formed.
    for (byte, most) in [(b'a', 1 << 20), (0xFF, 128 * 1024)] {
        let relay = Relay::with_decoder(TextDecoder::new().with_error_policy(ErrorPolicy::Replace));
        let relay = relay.with_max_duration(Duration::from_millis(50));
        let ([mut client, mut upstream], moved) = always_ready(byte);
        let relayed = tokio::spawn(async move { relay.run(&mut client, &mut upstream, |_, _| {}).await });
        let neighbor = tokio::spawn(async move {
            let (mut before, mut turns) = (0, 0);
            while !relayed.is_finished() {
                // The paused clock only advances here.
                tokio::time::advance(Duration::from_millis(1)).await;
                let [requests, responses] = moved.each_ref().map(|moved| *moved.lock().unwrap());
                let now = requests + responses;
                assert!(now - before <= most, "{} bytes before a neighbor had its turn", now - before);
                assert!(requests.abs_diff(responses) <= 256 * 1024, "{requests} and {responses}");
                (before, turns) = (now, turns + 1);
                assert!(turns < 200, "the timer starves");
            }
            assert!(before > 0);
            relayed.await.unwrap()
        });
        let outcome = neighbor.await.unwrap();
        assert!(matches!(outcome.end, RelayEnd::TooLong), "{:?}", outcome.end);
        assert!(outcome.reset);
    }
}

#[tokio::test]
async fn a_cancelled_relay_ends_in_the_same_poll() {
    let ([mut client, mut upstream], moved) = always_ready(b'a');
    let cancelled = {
        let moved = moved.clone();
        poll_fn(move |_| match *moved[0].lock().unwrap() {
            0..1_000_000 => Poll::Pending,
            _ => Poll::Ready(()),
        })
    };
    let outcome = Relay::new().run_until(&mut client, &mut upstream, |_, _| {}, cancelled).await;
    assert!(matches!(outcome.end, RelayEnd::Cancelled));
    assert!(outcome.requests.read < 2_000_000, "{}", outcome.requests.read);
}

#[tokio::test(start_paused = true)]
async fn a_connection_that_is_too_slow_or_too_long_ends() {
    let relay = Relay::new().with_min_rate(10);
    let (mut client, mut server, _, relayed) = piped(relay, 64);
    let start = Instant::now();
    // First 10 bytes per second are read and written, which is twice the minimum. Then 1 byte per second.
    let peers = tokio::spawn(async move {
        for round in 0_u32.. {
            sleep(Duration::from_secs(1)).await;
            let bytes = if round < 20 { &b"1234567890"[..] } else { b"1" };
            if client.write_all(bytes).await.is_err() {
                break;
            }
            let _ = server.read(&mut [0; 64]).await;
        }
    });
    let outcome = relayed.await.unwrap();
    assert!(matches!(outcome.end, RelayEnd::TooSlow) && outcome.reset);
    assert!((20..=30).contains(&start.elapsed().as_secs()), "{:?}", start.elapsed());
    peers.abort();
}
