//! `Relay` over duplex pipes and real sockets.
#![cfg(feature = "relay")]
#![allow(missing_docs)]

mod support;

use core::time::Duration;
use std::sync::{Arc, Mutex};

use support::every_partition;
use tokio::io::{AsyncReadExt, AsyncWriteExt, DuplexStream, duplex};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinHandle;
use tokio::time::{Instant, sleep, timeout};
use utf8_codec::proxy::{Direction, End, Outcome, Relay};
use utf8_codec::{ErrorKind, ErrorPolicy, TextDecoder, Utf8Error};

type Reports = Arc<Mutex<Vec<(Direction, Utf8Error)>>>;

/// A relay between pipes that hold `capacity` bytes: the client's end, the server's end, what is reported, the
/// outcome.
fn piped(relay: Relay, capacity: usize) -> (DuplexStream, DuplexStream, Reports, JoinHandle<Outcome>) {
    let ((client, mut near), (mut far, server)) = (duplex(capacity), duplex(capacity));
    let reports = Reports::default();
    let reported = Arc::clone(&reports);
    let relayed = tokio::spawn(async move {
        relay
            .run(&mut near, &mut far, |direction, error| reported.lock().unwrap().push((direction, error)))
            .await
    });
    (client, server, reports, relayed)
}

async fn accept_and_relay(
    relay: Relay,
    upstream: &TcpListener,
) -> (TcpStream, TcpStream, Reports, JoinHandle<Outcome>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let upstream_address = upstream.local_addr().unwrap();
    let reports = Reports::default();
    let reported = Arc::clone(&reports);
    let client = TcpStream::connect(listener.local_addr().unwrap()).await.unwrap();
    let relayed = tokio::spawn(async move {
        let (mut near, _) = listener.accept().await.unwrap();
        let mut far = TcpStream::connect(upstream_address).await.unwrap();
        relay
            .run(&mut near, &mut far, |direction, error| reported.lock().unwrap().push((direction, error)))
            .await
    });
    let (server, _) = upstream.accept().await.unwrap();
    client.set_nodelay(true).unwrap();
    (client, server, reports, relayed)
}

async fn read_all(from: &mut (impl AsyncReadExt + Unpin)) -> Vec<u8> {
    let mut bytes = Vec::new();
    timeout(Duration::from_secs(20), from.read_to_end(&mut bytes)).await.expect("an end").unwrap();
    bytes
}

async fn read_some(from: &mut (impl AsyncReadExt + Unpin), len: usize) -> Vec<u8> {
    let mut bytes = vec![0; len];
    timeout(Duration::from_secs(20), from.read_exact(&mut bytes)).await.expect("bytes").unwrap();
    bytes
}

#[tokio::test]
async fn a_relay_forwards_whole_characters_as_they_arrive() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (mut client, mut server, _, relayed) = accept_and_relay(Relay::new(), &upstream).await;
    client.write_all(b"h\xC3").await.unwrap();
    assert_eq!(read_some(&mut server, 1).await, b"h");
    let early = timeout(Duration::from_millis(50), server.read_u8()).await;
    assert!(early.is_err(), "half a character is not forwarded: {early:?}");
    client.write_all(b"\xA9\n").await.unwrap();
    assert_eq!(read_some(&mut server, 3).await, "é\n".as_bytes());

    for byte in "\u{1F4A9}".bytes() {
        server.write_all(&[byte]).await.unwrap();
        sleep(Duration::from_millis(5)).await;
    }
    assert_eq!(read_some(&mut client, 4).await, "\u{1F4A9}".as_bytes());
    drop((client, server));
    assert!(matches!(relayed.await.unwrap().end, End::Closed));
}

#[tokio::test]
async fn a_relay_delivers_and_reports_the_same_for_every_partition() {
    let input = b"a\xC3\xA9\xF0\x9F\xFF!";
    let expected = (Direction::Requests, Utf8Error::new(3, ErrorKind::MissingContinuation, 2));
    let mut partitions = Vec::new();
    every_partition(input, |chunks| partitions.push(chunks.iter().map(|c| c.to_vec()).collect::<Vec<_>>()));
    for chunks in partitions {
        let (mut client, mut server, reports, relayed) = piped(Relay::new(), 64);
        for chunk in &chunks {
            // The other side may be closed by now.
            let _ = client.write_all(chunk).await;
            tokio::task::yield_now().await;
        }
        assert_eq!(read_all(&mut server).await, "aé".as_bytes(), "{chunks:02X?}");
        drop((client, server));
        let outcome = relayed.await.unwrap();
        assert_eq!(*reports.lock().unwrap(), [expected], "{chunks:02X?}");
        assert!(matches!(outcome.end, End::IllFormed(direction, error) if (direction, error) == expected));
    }
}

#[tokio::test]
async fn half_close_is_kept_in_each_direction() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (mut client, mut server, _, relayed) = accept_and_relay(Relay::new(), &upstream).await;
    client.write_all(b"question").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, b"question");
    sleep(Duration::from_millis(50)).await;
    server.write_all("späte Antwort".as_bytes()).await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(read_all(&mut client).await, "späte Antwort".as_bytes());
    let outcome = relayed.await.unwrap();
    assert!(matches!(outcome.end, End::Closed));
    assert_eq!((outcome.requests.read, outcome.requests.written, outcome.responses.written), (8, 8, 14));

    let (mut client, mut server, _, relayed) = accept_and_relay(Relay::new(), &upstream).await;
    server.write_all(b"bye").await.unwrap();
    server.shutdown().await.unwrap();
    assert_eq!(read_all(&mut client).await, b"bye");
    client.write_all(b"still talking").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, b"still talking");
    assert!(matches!(relayed.await.unwrap().end, End::Closed));
}

#[tokio::test]
async fn the_answers_to_what_was_good_arrive_before_a_refused_connection_closes() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (mut client, mut server, reports, relayed) = accept_and_relay(Relay::new(), &upstream).await;
    client.write_all(b"good\n\xFF").await.unwrap();
    // Much more follows the error; closing on it without reading would reset the connection.
    client.write_all(&[b'x'; 300_000]).await.unwrap();
    assert_eq!(read_all(&mut server).await, b"good\n");
    server.write_all(b"answer\n").await.unwrap();
    drop(server);
    assert_eq!(read_all(&mut client).await, b"answer\n");
    drop(client);
    assert!(matches!(relayed.await.unwrap().end, End::IllFormed(Direction::Requests, _)));
    assert_eq!(reports.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn a_refused_connection_closes_though_neither_peer_does() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = Relay::new().linger(Duration::from_millis(50));
    let (mut client, mut server, reports, relayed) = accept_and_relay(relay, &upstream).await;
    server.write_all(b"good \xED\xA0\x80").await.unwrap();
    assert_eq!(read_all(&mut client).await, b"good ");
    assert_eq!(read_all(&mut server).await, b"");
    assert!(matches!(relayed.await.unwrap().end, End::IllFormed(Direction::Responses, _)));
    let expected = Utf8Error::new(5, ErrorKind::Surrogate, 1);
    assert_eq!(*reports.lock().unwrap(), [(Direction::Responses, expected)]);
}

#[tokio::test(start_paused = true)]
async fn a_slow_reader_still_gets_all_good_bytes_before_a_refusal() {
    let (mut client, mut server, _, relayed) = piped(Relay::new().linger(Duration::from_millis(1)), 64);
    let good = vec![b'g'; 10_000];
    let sent = [&good[..], b"\xFF"].concat();
    let writer = tokio::spawn(async move { client.write_all(&sent).await });
    for chunk in good.chunks(1_000) {
        sleep(Duration::from_secs(60)).await;
        assert_eq!(read_some(&mut server, chunk.len()).await, chunk);
    }
    writer.await.unwrap().unwrap();
    assert_eq!(read_all(&mut server).await, b"");
    drop(server);
    assert!(matches!(relayed.await.unwrap().end, End::IllFormed(..)));
}

#[tokio::test]
async fn an_end_inside_a_character_is_reported_and_its_repair_is_written_before_the_half_close() {
    let cut = (Direction::Requests, Utf8Error::new(3, ErrorKind::Truncated, 2));
    let replace = Relay::with_decoder(TextDecoder::new().on_error(ErrorPolicy::Replace));
    for (relay, expected) in [(Relay::new(), "end"), (replace, "end\u{FFFD}")] {
        let (mut client, mut server, reports, relayed) = piped(relay, 64);
        client.write_all(b"end\xE2\x82").await.unwrap();
        client.shutdown().await.unwrap();
        assert_eq!(read_all(&mut server).await, expected.as_bytes());
        server.write_all(b"noted").await.unwrap();
        drop(server);
        assert_eq!(read_all(&mut client).await, b"noted");
        relayed.await.unwrap();
        assert_eq!(*reports.lock().unwrap(), [cut]);
    }
}

#[tokio::test]
async fn the_direction_that_is_not_filtered_passes_untouched() {
    let (mut client, mut server, reports, relayed) = piped(Relay::new().only(Direction::Responses), 64);
    client.write_all(b"\xFF\xC3").await.unwrap();
    client.shutdown().await.unwrap();
    assert_eq!(read_all(&mut server).await, b"\xFF\xC3");
    server.write_all(b"ok\xC0").await.unwrap();
    assert_eq!(read_all(&mut client).await, b"ok");
    drop(server);
    assert!(matches!(relayed.await.unwrap().end, End::IllFormed(Direction::Responses, _)));
    assert_eq!(reports.lock().unwrap().len(), 1);
}

#[tokio::test]
async fn whoever_does_not_read_is_not_read_from_either() {
    // The worst repair makes four bytes of one.
    let relay = Relay::with_decoder(TextDecoder::new().on_error(ErrorPolicy::Escape));
    let (mut client, mut server, _, relayed) = piped(relay, 1024);
    let mut sent = 0;
    while let Ok(written) = timeout(Duration::from_millis(100), client.write(&[0xFF; 1000])).await {
        sent += written.unwrap();
    }
    assert!(sent <= 1024 + 16 * 1024, "{sent} bytes were taken from a client whose server reads nothing");
    drop(client);
    assert_eq!(read_all(&mut server).await, br"\xff".repeat(sent));
    drop(server);
    let outcome = relayed.await.unwrap();
    assert_eq!((outcome.requests.ill_formed, outcome.requests.read), (sent as u64, sent as u64));
}

#[tokio::test]
async fn both_directions_move_at_once_and_nothing_is_lost() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let (client, server, _, relayed) = accept_and_relay(Relay::new(), &upstream).await;
    let text = "grün 绿 \u{1F49A} ".repeat(200_000).into_bytes();
    let exchange = |stream: TcpStream, text: Vec<u8>| async move {
        let (mut read, mut write) = stream.into_split();
        let writer = tokio::spawn(async move { write.write_all(&text).await });
        let received = read_all(&mut read).await;
        writer.await.unwrap().unwrap();
        received
    };
    let (at_client, at_server) = tokio::join!(exchange(client, text.clone()), exchange(server, text.clone()));
    assert!(at_client == text && at_server == text);
    assert!(matches!(relayed.await.unwrap().end, End::Closed));
}

#[tokio::test]
async fn a_reset_inside_a_character_is_reported_and_ends_the_other_side_in_order() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let replace = Relay::with_decoder(TextDecoder::new().on_error(ErrorPolicy::Replace));
    for relay in [Relay::new(), replace] {
        let (mut client, mut server, reports, relayed) = accept_and_relay(relay, &upstream).await;
        client.write_all(b"ok \xC3").await.unwrap();
        assert_eq!(read_some(&mut server, 3).await, b"ok ");
        // Closing a socket with unread bytes resets the connection. By then the relay has taken the last byte.
        server.write_all(b"unread").await.unwrap();
        sleep(Duration::from_millis(50)).await;
        drop(client);
        assert_eq!(read_all(&mut server).await, b"", "no repair: it did not end in order");
        drop(server);
        let outcome = relayed.await.unwrap();
        assert!(matches!(outcome.end, End::Failed(Direction::Requests, _)), "{outcome:?}");
        let cut = (Direction::Requests, Utf8Error::new(3, ErrorKind::Truncated, 1));
        assert_eq!(*reports.lock().unwrap(), [cut]);
    }
}

#[tokio::test]
async fn a_server_that_resets_ends_the_connection_of_a_client_that_only_waits() {
    let upstream = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let relay = Relay::new().linger(Duration::from_millis(50));
    let (mut client, mut server, _, relayed) = accept_and_relay(relay, &upstream).await;
    server.write_all(b"partial").await.unwrap();
    assert_eq!(read_some(&mut client, 7).await, b"partial");
    client.write_all(b"unread").await.unwrap();
    sleep(Duration::from_millis(50)).await;
    drop(server);
    assert_eq!(read_all(&mut client).await, b"");
    assert!(matches!(relayed.await.unwrap().end, End::Failed(Direction::Responses, _)));
}

#[tokio::test(start_paused = true)]
async fn only_a_connection_on_which_nothing_moves_is_idle() {
    let relay = Relay::new().idle_timeout(Duration::from_secs(10));
    let (mut client, mut server, _, relayed) = piped(relay.clone(), 64);
    let start = Instant::now();
    for _ in 0..5 {
        sleep(Duration::from_secs(9)).await;
        client.write_all(b"x").await.unwrap();
        assert_eq!(read_some(&mut server, 1).await, b"x");
    }
    let outcome = relayed.await.unwrap();
    assert!(matches!(outcome.end, End::Idle));
    let ended = start.elapsed();
    assert!((Duration::from_secs(55)..Duration::from_secs(56)).contains(&ended), "{ended:?}");

    // Nor does anything move when a peer does not read.
    let (mut client, _server, _, relayed) = piped(relay, 64);
    let start = Instant::now();
    client.write_all(&[b'x'; 100]).await.unwrap();
    assert!(matches!(relayed.await.unwrap().end, End::Idle));
    assert!(start.elapsed() < Duration::from_secs(11));
}

#[tokio::test(start_paused = true)]
async fn a_relay_without_an_idle_timeout_waits() {
    let (client, server, _, relayed) = piped(Relay::new(), 64);
    sleep(Duration::from_secs(86_400)).await;
    drop((client, server));
    assert!(matches!(relayed.await.unwrap().end, End::Closed));
    let (client, server, _, relayed) = piped(Relay::new().idle_timeout(Duration::MAX), 64);
    drop((client, server));
    assert!(matches!(relayed.await.unwrap().end, End::Closed));
}

#[tokio::test(start_paused = true)]
async fn a_cancelled_relay_has_the_grace_that_its_caller_gives_it() {
    for (talks_for, closed) in [(3, true), (30, false)] {
        let ((client, mut near), (mut far, server)) = (duplex(64), duplex(64));
        let start = Instant::now();
        let peers = tokio::spawn(async move {
            sleep(Duration::from_secs(talks_for)).await;
            drop((client, server));
        });
        let grace = sleep(Duration::from_secs(10));
        let outcome = Relay::new().run_until(&mut near, &mut far, |_, _| {}, grace).await;
        assert_eq!(matches!(outcome.end, End::Closed), closed, "{outcome:?}");
        assert_eq!(matches!(outcome.end, End::Cancelled), !closed, "{outcome:?}");
        assert_eq!(start.elapsed().as_secs(), talks_for.min(10));
        peers.abort();
    }
}
