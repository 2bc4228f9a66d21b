//! `Relay` for line-based protocols.

use core::sync::atomic::{AtomicUsize, Ordering::Relaxed};
use core::time::Duration;
use std::sync::{Arc, Mutex};

use tokio::io::{AsyncReadExt, AsyncWriteExt, duplex, join, simplex};
use tokio::time::{sleep, timeout};
use utf8_codec::{Ascii, LineEnding};
use utf8_codec_proxy::{LineError, LineFilter, RejectedLine, Relay, RelayDirection, RelayEnd, RelayObserver};

use crate::support::relay::{piped, read_all, read_some, until_idle};

#[tokio::test]
async fn held_lines_are_delivered_whole_or_not_at_all() {
    let relay = Relay::new()
        .with_line_filter(LineFilter::new().with_stop_at_error(true))
        .with_linger(Duration::from_millis(10));
    let (mut client, mut server, _, relayed) = piped(relay.clone(), 64);
    client.write_all(b"ls\nrm /home").await.unwrap();
    assert_eq!(read_some(&mut server, 3).await, b"ls\n");
    client.write_all(b"\xFF/b\n").await.unwrap();
    assert_eq!(read_all(&mut server).await, b"");
    let outcome = relayed.await.unwrap();
    assert!(matches!(
        outcome.end,
        RelayEnd::RejectedLine(RelayDirection::Requests, RejectedLine { line: 2, .. })
    ));
    assert!(outcome.reset);

    let (mut client, mut server, _, relayed) = piped(relay, 64);
    client.write_all("ends without ä".as_bytes()).await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, "ends without ä".as_bytes());
    drop(server);
    assert!(!relayed.await.unwrap().reset);
}

/// An observer that replies to every rejected line.
#[derive(Clone, Default)]
struct Answering(Arc<Mutex<Vec<String>>>);

impl RelayObserver for Answering {
    fn rejected_line(&mut self, direction: RelayDirection, line: RejectedLine) -> Option<Vec<u8>> {
        self.0.lock().unwrap().push(format!("{direction}: {line}"));
        let reason = match line.reason {
            LineError::IllFormed(error) => error.kind.as_str(),
            _ => "too long",
        };
        Some(format!("bad line {}: {reason}\n", line.line).into_bytes())
    }
}

#[tokio::test(start_paused = true)]
async fn a_reply_is_written_between_two_lines() {
    for only_requests in [false, true] {
        let mut relay = Relay::new().with_line_filter(LineFilter::new().with_max_length(20));
        if only_requests {
            relay = relay.with_only(RelayDirection::Requests);
        }
        let ((mut client, mut near), (mut far, mut server)) = (duplex(256), duplex(256));
        let answering = Answering::default();
        let observer = answering.clone();
        let relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });

        // The server has sent half a line, so the reply is held until the line is complete.
        server.write_all(b"half a ").await.unwrap();
        client.write_all(b"good\nb\xFFd\n").await.unwrap();
        assert_eq!(read_some(&mut server, 5).await, b"good\n");
        until_idle().await;
        server.write_all(b"line\nnext\n").await.unwrap();
        let expected = b"half a line\nnext\nbad line 2: InvalidLead\n";
        assert_eq!(
            String::from_utf8(read_some(&mut client, expected.len()).await).unwrap().lines().count(),
            3
        );

        // No line is incomplete, so the reply is written at once.
        client.write_all(&[b'x'; 30]).await.unwrap();
        client.write_all(b"\nstill here\n").await.unwrap();
        assert_eq!(read_some(&mut server, 11).await, b"still here\n");
        assert_eq!(read_some(&mut client, 21).await, b"bad line 3: too long\n");
        drop((client, server));
        let outcome = relayed.await.unwrap();
        assert!(matches!(outcome.end, RelayEnd::Closed));
        assert_eq!(outcome.requests.rejected_lines, 2);
        let events = answering.0.lock().unwrap();
        assert_eq!(events.len(), 2, "{events:?}");
        assert!(events[0].starts_with("requests: line 2: ill-formed UTF-8 at byte 6"), "{events:?}");
    }
}

/// The terminator is that of the filter. Under `Any` an LF may still follow a CR.
#[tokio::test(start_paused = true)]
async fn a_reply_is_written_after_the_terminator_of_the_filter() {
    for (ending, bad, half, rest) in [
        (LineEnding::Ascii(Ascii::NUL), &b"\xFF\0"[..], &b"a\n"[..], &b"b\0"[..]),
        (LineEnding::CrLf, b"\xFF\n\r\n", b"a\n", b"b\r\n"),
        (LineEnding::Any, b"\xFF\r", b"a\r", b"\nb\n"),
    ] {
        let ((mut client, mut near), (mut far, mut server)) = (duplex(256), duplex(256));
        let relay = Relay::new().with_line_filter(LineFilter::new().with_line_ending(ending));
        let relay = relay.with_only(RelayDirection::Requests);
        let observer = Answering::default();
        let relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });
        server.write_all(half).await.unwrap();
        assert_eq!(read_some(&mut client, half.len()).await, half);
        client.write_all(bad).await.unwrap();
        // The clock advances when the relay waits.
        sleep(Duration::from_millis(20)).await;
        server.write_all(rest).await.unwrap();
        let expected = [rest, b"bad line 1: InvalidLead\n"].concat();
        assert_eq!(read_some(&mut client, expected.len()).await, expected, "{ending}");
        drop((client, server));
        let _ = relayed.await.unwrap();
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_that_does_not_read_its_replies_is_not_read_from() {
    let ((mut client, mut near), (mut far, _server)) = (duplex(1024), duplex(1024));
    let relay = Relay::new().with_line_filter(LineFilter::new());
    let answering = Answering::default();
    let observer = answering.clone();
    let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });
    let mut sent = 0;
    while let Ok(written) = timeout(Duration::from_millis(100), client.write(&b"\xFF\n".repeat(500))).await {
        sent += written.unwrap();
    }
    // The reply to each 2 bytes has about 30 bytes.
    assert!(sent < 40_000, "{sent} bytes were read");
}

#[tokio::test(start_paused = true)]
async fn replies_that_a_peer_does_not_read_are_limited() {
    let ((mut client, mut near), (mut far, _server)) = (duplex(64 * 1024), duplex(64 * 1024));
    let answering = Answering::default();
    let observer = answering.clone();
    let _relayed = tokio::spawn(async move {
        Relay::new().with_line_filter(LineFilter::new()).run(&mut near, &mut far, observer).await
    });
    client.write_all(b"\xFF\n").await.unwrap();
    assert_eq!(read_some(&mut client, 24).await, b"bad line 1: InvalidLead\n");
    while timeout(Duration::from_millis(100), client.write(&b"\xFF\n".repeat(32 * 1024))).await.is_ok() {}
    // 64 KiB in the pipe, 64 KiB that are queued or being written, and the replies to the last piece of 4 KiB.
    let replies = answering.0.lock().unwrap().len();
    assert!(replies * 28 < 192 * 1024, "{replies} replies");
}

/// An observer with long replies. It counts them.
#[derive(Clone, Default)]
struct LongReplies(Arc<AtomicUsize>);

impl RelayObserver for LongReplies {
    fn rejected_line(&mut self, _: RelayDirection, _: RejectedLine) -> Option<Vec<u8>> {
        self.0.fetch_add(1, Relaxed);
        Some([&[b'x'; 399][..], b"\n"].concat())
    }
}

#[tokio::test(start_paused = true)]
async fn the_replies_to_the_lines_of_one_read_are_limited() {
    const LINES: usize = 100_000;
    // After much text a read has 64 KiB.
    for good in [0, 200_000] {
        let (from_client, mut client) = simplex(1 << 20);
        let (mut replies, to_client) = simplex(1024);
        let mut near = join(from_client, to_client);
        let (mut far, mut server) = duplex(1 << 20);
        let observer = LongReplies::default();
        let count = Arc::clone(&observer.0);
        client
            .write_all(&[&b"good\n".repeat(good / 5), &b"\xFF\n".repeat(LINES)[..]].concat())
            .await
            .unwrap();
        let relay = Relay::new().with_line_filter(LineFilter::new());
        let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });
        until_idle().await;
        // The replies to 4 KiB of lines are being written.
        let early = count.load(Relaxed);
        assert!((1..=4096 / 2).contains(&early), "{early}");
        let mut all = vec![0; LINES * 400];
        timeout(Duration::from_secs(10), replies.read_exact(&mut all)).await.unwrap().unwrap();
        assert_eq!(count.load(Relaxed), LINES);
        client.write_all(b"last\n").await.unwrap();
        assert_eq!(
            read_some(&mut server, good + 5).await,
            [&b"good\n".repeat(good / 5), &b"last\n"[..]].concat()
        );
    }
}

#[tokio::test(start_paused = true)]
async fn replies_that_are_being_written_are_a_part_of_the_limit() {
    const PIPE: usize = 64 * 1024;
    let (from_client, mut client) = simplex(1 << 20);
    let (mut replies, to_client) = simplex(PIPE);
    let mut near = join(from_client, to_client);
    let (mut far, _server) = duplex(1 << 20);
    let observer = LongReplies::default();
    let count = Arc::clone(&observer.0);
    client.write_all(&b"\xFF\n".repeat(1 << 19)).await.unwrap();
    let _relayed = tokio::spawn(async move {
        Relay::new().with_line_filter(LineFilter::new()).run(&mut near, &mut far, observer).await
    });
    let (mut read, mut most, mut buffer) = (0, 0, vec![0; PIPE]);
    for _ in 0..100 {
        until_idle().await;
        most = most.max(count.load(Relaxed) * 400 - read);
        read += replies.read(&mut buffer).await.unwrap();
    }
    // In the pipe, queued or being written, and the replies to 4 KiB of lines.
    assert!(most < PIPE + 64 * 1024 + 2048 * 400, "{most} bytes");
}

#[tokio::test(start_paused = true)]
async fn two_peers_receive_all_replies_that_waited() {
    const LINES: usize = 20_000;
    let ((mut client, mut near), (mut far, mut server)) = (duplex(64 * 1024), duplex(64 * 1024));
    let observer = LongReplies::default();
    let relay = Relay::new().with_line_filter(LineFilter::new());
    let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });
    for peer in [&mut client, &mut server] {
        peer.write_all(&b"\xFF\n".repeat(LINES)).await.unwrap();
        peer.write_all(b"good\n").await.unwrap();
    }
    until_idle().await;
    let len = LINES * 400 + 5;
    let (to_client, to_server) = tokio::join!(read_some(&mut client, len), read_some(&mut server, len));
    for read in [to_client, to_server] {
        assert_eq!(read.windows(5).filter(|bytes| *bytes == b"good\n").count(), 1);
    }
}

#[tokio::test(start_paused = true)]
async fn a_peer_with_unread_replies_is_not_read_from() {
    let ((mut client, mut near), (mut far, _server)) = (duplex(1 << 20), duplex(1024));
    let answering = Answering::default();
    let observer = answering.clone();
    let _relayed = tokio::spawn(async move {
        let ticks = async {
            loop {
                sleep(Duration::from_millis(1)).await;
            }
        };
        Relay::new().with_line_filter(LineFilter::new()).run_until(&mut near, &mut far, observer, ticks).await
    });
    client.write_all(&b"\xFF\n".repeat(1 << 19)).await.unwrap();
    until_idle().await;
    let early = answering.0.lock().unwrap().len();
    sleep(Duration::from_millis(200)).await;
    let late = answering.0.lock().unwrap().len();
    assert!((1_000..1 << 17).contains(&early), "{early} replies");
    assert_eq!(late, early);
}

#[tokio::test(start_paused = true)]
async fn reading_continues_after_the_replies_were_written() {
    const ROOM: usize = 1 << 20;
    const LINES: usize = 200_000;
    let ((mut client, mut near), (mut far, _server)) = (duplex(ROOM), duplex(ROOM));
    let relay = Relay::new().with_line_filter(LineFilter::new());
    let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, Answering::default()).await });
    client.write_all(&b"\xFF\n".repeat(LINES)).await.unwrap();
    let (mut replies, mut buffer) = (0, vec![0; ROOM]);
    while replies < LINES {
        // The relay fills the buffer of the connection and waits.
        until_idle().await;
        let read = timeout(Duration::from_secs(10), client.read(&mut buffer)).await;
        let read = read.unwrap_or_else(|_| panic!("only {replies} replies")).unwrap();
        replies += buffer[..read].iter().filter(|&&byte| byte == b'\n').count();
    }
}

#[tokio::test(start_paused = true)]
async fn reading_continues_after_replies_waited_for_text() {
    const ROOM: usize = 1 << 20;
    const LINES: usize = 10_000;
    let ((mut client, mut near), (mut far, mut server)) = (duplex(ROOM), duplex(ROOM));
    let observer = LongReplies::default();
    let relay = Relay::new().with_line_filter(LineFilter::new());
    let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });
    let good = b"good\n".repeat(ROOM / 5 + 2_000);
    client.write_all(&good).await.unwrap();
    // The relay fills the buffer of the connection and waits, so the replies are queued.
    until_idle().await;
    server.write_all(&b"\xFF\n".repeat(LINES)).await.unwrap();
    until_idle().await;
    let read = read_some(&mut server, good.len() + LINES * 400).await;
    assert_eq!(read.iter().filter(|&&byte| byte == b'\n').count(), good.len() / 5 + LINES);
}

#[tokio::test]
async fn a_reply_is_written_before_the_start_of_the_next_line() {
    let relay = Relay::new().with_line_filter(LineFilter::new()).with_only(RelayDirection::Requests);
    let ((mut client, mut near), (mut far, mut server)) = (duplex(256), duplex(256));
    let observer = Answering::default();
    let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, observer).await });
    server.write_all(b"half a ").await.unwrap();
    assert_eq!(read_some(&mut client, 7).await, b"half a ");
    client.write_all(b"b\xFFd\ngood\n").await.unwrap();
    assert_eq!(read_some(&mut server, 5).await, b"good\n");
    server.write_all(b"line\nhalf the next").await.unwrap();
    let expected = b"line\nbad line 1: InvalidLead\nhalf the next";
    assert_eq!(read_some(&mut client, expected.len()).await, expected);
}

#[tokio::test]
async fn a_reply_is_written_although_both_peers_have_sent_lines() {
    let ((mut client, mut near), (mut far, mut server)) = (duplex(256), duplex(256));
    client.write_all(b"good\n").await.unwrap();
    server.write_all(b"\xFF\n").await.unwrap();
    let relay = Relay::new().with_line_filter(LineFilter::new());
    let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, Answering::default()).await });
    let expected = b"good\nbad line 1: InvalidLead\n";
    assert_eq!(read_some(&mut server, expected.len()).await, expected);
}

#[tokio::test]
async fn lines_are_read_after_the_other_direction_ended() {
    let ((mut client, mut near), (mut far, mut server)) = (duplex(1024), duplex(1024));
    let relay = Relay::new().with_line_filter(LineFilter::new());
    let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, Answering::default()).await });
    server.shutdown().await.unwrap();
    assert_eq!(read_all(&mut client).await, b"");
    // The replies would be longer than the queue.
    let lines = [&b"\xFF\n".repeat(10_000)[..], b"last\n"].concat();
    timeout(Duration::from_secs(20), client.write_all(&lines)).await.expect("all is read").unwrap();
    assert_eq!(read_some(&mut server, 5).await, b"last\n");
}

#[tokio::test(start_paused = true)]
async fn lines_are_read_if_their_replies_can_no_longer_be_written() {
    let ((mut client, mut near), (mut far, mut server)) = (duplex(1 << 20), duplex(1 << 20));
    let relay = Relay::new().with_line_filter(LineFilter::new()).with_only(RelayDirection::Requests);
    let _relayed = tokio::spawn(async move { relay.run(&mut near, &mut far, Answering::default()).await });
    // The replies wait for the end of a line that has no end.
    server.write_all(b"half a line").await.unwrap();
    assert_eq!(read_some(&mut client, 11).await, b"half a line");
    client.write_all(&b"\xFF\n".repeat(20_000)).await.unwrap();
    client.write_all(b"good\n").await.unwrap();
    until_idle().await;
    server.shutdown().await.unwrap();
    let read = timeout(Duration::from_secs(10), read_some(&mut server, 5)).await;
    assert_eq!(read.as_deref(), Ok(&b"good\n"[..]));
}

#[tokio::test]
async fn a_rejected_line_is_removed_from_between_two_lines() {
    let (mut client, mut server, _, _relayed) = piped(Relay::new().with_line_filter(LineFilter::new()), 64);
    client.write_all(b"one\nb\xFFd\ntwo\n").await.unwrap();
    assert_eq!(read_some(&mut server, 8).await, b"one\ntwo\n");
    server.write_all(b"three\n").await.unwrap();
    assert_eq!(read_some(&mut client, 6).await, b"three\n", "without a reply before it");
}
